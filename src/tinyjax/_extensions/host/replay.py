"""Functions of the library that are replayed, and the operators on the host."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from math import isnan
from types import FunctionType
from typing import Any, Final, TypeAlias, TypeVar
from weakref import WeakSet

import attrs
import numpy as np
from numpy import asarray, ndarray

from tinyjax import dtypes, errors
from tinyjax._base import frames, tracebacks
from tinyjax._base.tracebacks import shorten
from tinyjax._extensions.host import NotHereError, Program, data_at_hand, fall_back
from tinyjax.config import settings
from tinyjax.core.tracing import Primitive, checking, primitive as prim, trace as tr
from tinyjax.core.tracing.primitive import NO_PARAMS, Kernel
from tinyjax.core.tracing.trace import EVAL, IGNORE, current_trace, reset_errors, set_errors
from tinyjax.core.values import Array, ConcreteArray, ShapedArray, avals as av, operands as opd
from tinyjax.core.values.operands import PYTHON_NUMBERS, met_splats

# Operators of arrays that are quick where both operands are floats of one type that was met.


Operator: TypeAlias = Callable[[Array, Any], Array]
Beside: TypeAlias = Callable[[str, float, ShapedArray], object]
_FLOATS: Final = (dtypes.float32, dtypes.float64)
_MOST_TYPES: Final = 1024


def at_once(
    usual: Operator, primitive: Primitive[Any], beside: Beside, *, is_reflected: bool
) -> Operator:
    """Make an operator that is quick with two arrays of one type, or an array and a number.

    Args:
        usual: the operator that works for all; it must be the primitive where both operands are
            floats of one type that is not weak.
        primitive: the primitive.
        beside: makes the array of a number for an operand's type, and caches it.
        is_reflected: whether the array is the second operand.
    """
    types: dict[ShapedArray, tuple[Kernel, ShapedArray]] = {}

    def learn(x: Array, other: object) -> bool:
        """Record the fast path for the operands' type, if both are floats of one plain type.

        Returns:
            Whether the fast path is known now; it was not before.
        """
        aval = x.aval
        if aval.where is not None or aval.dtype not in _FLOATS or aval.weak_type:
            return False
        if type(other) is float:
            beside(primitive.name, other, aval)
        elif type(other) is not ConcreteArray or other.aval is not aval:
            return False
        if aval in types:  # x was of no known type until now
            return True
        call = primitive.host_function((aval, aval), NO_PARAMS)
        if call is None:
            return False
        (aval_out,) = primitive.rules.abstract_eval((aval, aval), NO_PARAMS)
        if len(types) >= _MOST_TYPES:
            types.clear()
        types[aval] = call, aval_out
        return True

    def operator(x: Array, other: object) -> Array:
        aval = x._aval
        if aval is not None and aval in types and current_trace() is EVAL:
            kind = type(other)
            y = met_splats.get((other, kind, aval)) if kind in PYTHON_NUMBERS else other
            if type(y) is ConcreteArray and y._aval is aval:
                first, second = (y._host, x._host) if is_reflected else (x._host, y._host)
                if first is not None and second is not None:
                    function, aval_out = types[aval]
                    token = set_errors(IGNORE)
                    try:
                        out = function(first, second)
                    finally:
                        reset_errors(token)
                    return ConcreteArray(out if type(out) is ndarray else asarray(out), aval_out)
        elif current_trace() is EVAL and learn(x, other):
            return operator(x, other)
        try:
            return usual(x, other)
        except Exception as error:
            shorten(error, sys._getframe())
            raise

    return frames.imitate(operator, usual)


# Replaying: repeated eager calls of a function as one pass over NumPy.
#
# A function that is composed of many primitives spends most of a small eager call in Python: on
# broadcasting and promotion, on looking up types, on wrapping each intermediate result. The types
# of the arguments decide all of that. So once a function decorated with ``replayed`` has been
# called several times with arguments of the same types, it is staged, and the equations are
# written as one Python function of NumPy arrays: a call then costs the ``impl`` rules and little
# else.
#
# The program is used only if it repeats the call it was made at bit for bit. Calls under a
# transformation, or under a debugger, never get here, nor do programs with effects or large
# arrays.


F = TypeVar("F", bound=Callable[..., Any])

#: A program is made at one of these calls with arguments of the same types: that takes as long as
#: some twenty calls. Of two products of matrices that lie elsewhere BLAS may round one otherwise.
CALLS: Final = (16, 64, 256)
#: So many kinds of calls of one function are remembered.
MOST_KINDS: Final = 256
#: Values that are part of a call's key; others are not replayed.
_PLAIN: Final = frozenset((bool, int, str, type(None)))


class ReplayPrograms:
    """The programs of one function, by the keys of its calls.

    Attributes:
        entries: those that were made.
        calls: how many calls of each kind there have been, which threads share.
    """

    __slots__ = ("__weakref__", "calls", "entries")

    def __init__(self) -> None:
        self.entries: dict[tuple[object, ...], Program] = {}
        self.calls: dict[tuple[object, ...], Iterator[int]] = {}
        _all.add(self)

    def is_due(self, key: tuple[object, ...]) -> bool:
        """Count a call of a kind without a program, and return whether to make one."""
        calls = self.calls.get(key)
        if calls is None:
            if len(self.calls) >= MOST_KINDS:
                self.calls.clear()
            calls = self.calls.setdefault(key, count(1))
        return next(calls) in CALLS

    def keep(self, key: tuple[object, ...], program: Program | None) -> None:
        """Keep the program of calls of a kind, if there is one."""
        if len(self.entries) >= MOST_KINDS:
            self.entries.clear()
        if program is not None:
            self.entries[key] = program

    def make(
        self,
        key: tuple[object, ...],
        fun: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        hosts: Sequence[dtypes.HostArray],
        result: Any,
    ) -> None:
        """Make the program of calls of a kind; see ``make_program``."""
        # loaded with what records programs
        from tinyjax._extensions.host.recording import make_program  # noqa: PLC0415

        self.keep(key, make_program(fun, args, kwargs, hosts, result))


_all: Final[WeakSet[ReplayPrograms]] = WeakSet()


def _forget_all() -> None:
    for programs in [*_all]:
        programs.calls.clear()
        programs.entries.clear()


prim.on_replaced.append(_forget_all)


def replayed(fun: F) -> F:
    """Replay repeated eager calls of a function that is composed of primitives.

    It is one function, since a call of another takes a tenth of an eager operation.

    Args:
        fun: takes arrays, numbers, texts, dtypes, None, and lists or tuples of these. It returns
            arrays in any containers. What it does may depend on the types of arrays, and on the
            values of anything else, but not on their data.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax._extensions.host.replay import replayed
        >>> @replayed
        ... def spread(x):
        ...     return jnp.max(x) - jnp.min(x)
        >>> [float(spread(jnp.arange(3.0))) for _ in range(20)][-1]
        2.0
    """
    programs = ReplayPrograms()
    known = programs.entries.get

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if current_trace() is not EVAL:
                return fun(*args, **kwargs)
            if len(args) == 1 and not kwargs:  # most calls, without the loop that follows
                (x,) = args
                if type(x) is ConcreteArray and x._host is not None:
                    program = known((id(settings()), x._aval))
                    if program is not None:
                        try:
                            return program(x._host)
                        except Exception as error:  # let the operations say what is wrong
                            result = fun(x)
                            fall_back(error)
                            return result
            # The most frequent case is inlined, to save a call of a function for each argument.
            key: list[object] = [id(settings())]  # of which there is one record of each kind
            hosts: list[dtypes.HostArray] = []
            for x in args:
                kind = type(x)
                if kind is ConcreteArray and x._host is not None and x._aval is not None:
                    hosts.append(x._host)
                    key.append(x._aval)
                elif kind in _PLAIN or (kind is float and x and not isnan(x)):
                    key.append(kind)
                    key.append(x)
                elif kind is tuple and _PLAIN.issuperset(parts := (*map(type, x),)):
                    # a shape or axes mostly, taken whole and not part by part
                    key.append(parts)
                    key.append(x)
                elif not _add(x, key, hosts):
                    return fun(*args, **kwargs)
            if kwargs:
                for name, x in kwargs.items():
                    key.append(name)
                    kind = type(x)
                    if kind in _PLAIN:
                        key.append(kind)
                        key.append(x)
                    elif not _add(x, key, hosts):
                        return fun(*args, **kwargs)
            signature = tuple(key)
            program = known(signature)
            if program is not None:
                try:
                    return program(*hosts)
                except Exception as error:  # let the operations say what is wrong
                    result = fun(*args, **kwargs)
                    fall_back(error)
                    return result
            result = fun(*args, **kwargs)
            if programs.is_due(signature):
                programs.make(signature, fun, args, kwargs, hosts, result)
        except Exception as error:
            try:
                checking.explain(fun, args, kwargs, error)
            except errors.ArgumentError as explanation:
                tracebacks.shorten(explanation, sys._getframe())
                raise
            tracebacks.shorten(error, sys._getframe())
            raise
        return result

    stands_in: Any = frames.imitate(call, fun)
    replaying: F = stands_in
    return replaying


def replay_functions(module: dict[str, Any], plain: str = "") -> None:
    """Replay the public functions that a module defines, as ``replayed`` does one.

    Args:
        module: the module's namespace; its last line passes ``globals()``.
        plain: the functions that are not replayed, with spaces between. A function that is one
            primitive gains nothing by it.
    """
    left_out = plain.split()
    replacements: dict[FunctionType, FunctionType] = {}
    for name, fun in [*module.items()]:
        is_own = isinstance(fun, FunctionType) and fun.__module__ == module["__name__"]
        if is_own and not fun.__name__.startswith("_") and fun.__name__ not in left_out:
            module[name] = replacements[fun] = replacements.get(fun) or replayed(fun)


def _add(x: object, key: list[object], hosts: list[dtypes.HostArray], depth: int = 0) -> bool:
    """Add an argument to the key of a call, and its data to the operands.

    Returns:
        Whether that can be done.
    """
    kind = type(x)
    if isinstance(x, ConcreteArray):
        aval = x._aval or x.aval
        # what was made of a Python number may be converted from that
        if kind is not ConcreteArray or (aval.weak_type and hasattr(x, "_number")):
            return False
        key.append(aval)
        hosts.append(opd.raw_host(x) if x._host is None else x._host)
    elif kind in _PLAIN or isinstance(x, (np.dtype, type)):
        key += (kind, x)
    elif isinstance(x, float):
        key += (
            kind,
            repr(x) if not x or isnan(x) else x,
        )  # 0.0 is equal to -0.0, and no NaN to any
    elif isinstance(x, (list, tuple)) and kind in (list, tuple):
        key += (kind, len(x))
        if depth >= checking.DEEPEST:
            return False
        for part in x:  # faster than all() of a generator
            if not _add(part, key, hosts, depth + 1):
                return False
    else:
        return False
    return True


def require_eager() -> None:
    """Raise if a call is recorded, since evaluation computes otherwise than a recording.

    Raises:
        ConcretizationError: it is recorded to be replayed.
    """
    if current_trace().replays:
        raise errors.ConcretizationError("evaluation has a way of its own.")


@attrs.frozen(eq=False, repr=False)
class _HostParams(prim.Params):
    """A function of NumPy arrays that gives the result of an equation, and the result's type."""

    fun: prim.Kernel
    aval: av.ShapedArray


#: A call of such a function. It stands in programs to replay only, so nothing finds it by its name.
_host_call_p: Final[prim.Primitive[_HostParams]] = prim.Primitive(
    "host_call", _HostParams, repeatable=True
)
del prim.registry[_host_call_p.name]


@_host_call_p.def_host
def _host_of_call(avals: prim.Avals, params: _HostParams) -> prim.Kernel:
    return params.fun


@_host_call_p.def_abstract_eval
def _host_call_type(avals: prim.Avals, params: _HostParams) -> prim.Avals:
    return (params.aval,)


def is_evaluating() -> bool:
    """Return whether ``by_host`` may evaluate, before its function is made or sizes compared."""
    trace = current_trace()
    return trace is EVAL or trace.replays


def by_host(fun: prim.Kernel, args: Sequence[Array], aval: av.ShapedArray) -> Array | None:
    """Evaluate a composition of primitives by one function of NumPy arrays.

    Args:
        fun: takes the data of ``args``, and raises ``NotHereError`` for data that it does not
            support. It is called again for other arrays of the same types, so it must not contain
            values of these.
        args: the arrays.
        aval: the type of the result.

    Returns:
        The result. It is None where the caller must apply its primitives: under a transformation or
        a debugger, for arrays that are not on the host, and for unsupported data.

    Example:
        >>> import numpy as np, tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax._extensions.host.replay import by_host
        >>> def spread(x):
        ...     host = by_host(np.ptp, (x,), jnp.max(x).aval)
        ...     return jnp.max(x) - jnp.min(x) if host is None else host
        >>> float(spread(jnp.arange(3.0))), float(tinyjax.jit(spread)(jnp.arange(3.0)))
        (2.0, 2.0)
    """
    trace = current_trace()
    if trace.replays:
        return tr.bind1(_host_call_p, args, _HostParams(fun, aval))
    hosts: list[dtypes.HostArray] = []
    for x in args:
        host = data_at_hand(x)
        if host is None:
            return None
        hosts.append(host)
    token = tr.set_errors(tr.IGNORE)
    try:
        return ConcreteArray(asarray(fun(*hosts)), aval)
    except NotHereError:
        return None
    finally:
        tr.reset_errors(token)
