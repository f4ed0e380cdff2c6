"""Functions of the library that are replayed, and the operators on the host."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import isnan
from types import FunctionType
from typing import Any, Final, TypeAlias, TypeVar

import attrs
import numpy as np
from numpy import asarray, ndarray

from tinyjax import dtypes, errors
from tinyjax._base import frames, tracebacks
from tinyjax._base.tracebacks import shorten
from tinyjax._extensions.host import data_at_hand
from tinyjax.config import Process, local_settings
from tinyjax.core.tracing import checking, kernels, primitive as prim, trace as tr
from tinyjax.core.tracing.kernels import KernelCache, KernelError
from tinyjax.core.tracing.primitive import NO_PARAMS, Kernel
from tinyjax.core.tracing.trace import EVAL, IGNORE, current_trace, reset_errors, set_errors
from tinyjax.core.values import Array, ConcreteArray, ShapedArray, avals as av, operands as opd
from tinyjax.core.values.concrete import from_host
from tinyjax.core.values.operands import PYTHON_NUMBERS, met_splats

# Operators of arrays that are quick where both operands are floats of one type that was met.


Operator: TypeAlias = Callable[[Array, Any], Array]
Beside: TypeAlias = Callable[[str, float, ShapedArray], object]
_FLOATS: Final = (dtypes.float32, dtypes.float64)


def at_once(
    usual: Operator, primitive: prim.Primitive[Any], beside: Beside, *, is_reflected: bool
) -> Operator:
    """Make an operator that is quick with two arrays of one type, or an array and a number.

    Args:
        usual: the operator that works for all; it must be the primitive where both operands are
            floats of one type that is not weak.
        primitive: the primitive.
        beside: makes the array of a number for an operand's type, and caches it.
        is_reflected: whether the array is the second operand.
    """
    # by the operands' type; nothing where a type has no fast path
    cache: KernelCache[tuple[Kernel, ShapedArray] | tuple[()]] = KernelCache(1024)
    known = cache.kernels.get

    def learn(aval: ShapedArray, other: object) -> bool:
        """Record the fast path for a type, and return whether it is one of plain floats."""
        entry: tuple[Kernel, ShapedArray] | tuple[()] = ()
        if aval.where is None and aval.dtype in _FLOATS and not aval.weak_type:
            call = primitive.host_function((aval, aval), NO_PARAMS)
            if call is not None:
                (aval_out,) = primitive.rules.abstract_eval((aval, aval), NO_PARAMS)
                entry = call, aval_out
        cache.keep(aval, entry)
        if entry and type(other) is float:
            beside(primitive.name, other, aval)
        return bool(entry)

    def operator(x: Array, other: object) -> Array:
        way = usual
        if current_trace() is EVAL:
            aval = x._aval or x.aval
            entry = known(aval)
            if entry:
                kind = type(other)
                y = met_splats.get((other, kind, aval)) if kind in PYTHON_NUMBERS else other
                if type(y) is ConcreteArray and y._aval is aval:
                    first, second = (y._host, x._host) if is_reflected else (x._host, y._host)
                    if first is not None and second is not None:
                        call, aval_out = entry
                        token = set_errors(IGNORE)
                        try:
                            out = call(first, second)
                        except MemoryError:  # of which the usual way tells the size
                            return usual(x, other)
                        finally:
                            reset_errors(token)
                        return from_host(out if type(out) is ndarray else asarray(out), aval_out)
            elif entry is None and learn(aval, other):
                way = operator
        try:
            return way(x, other)
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

#: Values that are part of a call's key; others are not replayed.
_PLAIN: Final = frozenset((bool, int, str, type(None)))


def replayed(fun: F) -> F:
    """Replay repeated eager calls of a function that is composed of primitives.

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
    stands_in: Any = frames.imitate(_replaying(fun), fun)
    replaying: F = stands_in
    return replaying


def _replaying(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that replays calls of another, without calls for each argument."""
    cache: KernelCache[Kernel] = KernelCache()
    known = cache.kernels.get

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if current_trace() is not EVAL:
                return fun(*args, **kwargs)
            here = id(local_settings() or Process.settings)
            x = args[0] if len(args) == 1 and not kwargs else None
            if type(x) is ConcreteArray and x._host is not None and x._aval is not None:
                key: tuple[object, ...] = (here, x._aval)
                hosts: Sequence[dtypes.HostArray] = (x._host,)
            else:
                parts: list[object] = [here]
                data: list[dtypes.HostArray] = []
                for x in args:
                    kind = type(x)
                    if kind is ConcreteArray and x._host is not None and x._aval is not None:
                        data.append(x._host)
                        parts.append(x._aval)
                    elif kind in _PLAIN or (kind is float and x and not isnan(x)):
                        parts.append(kind)
                        parts.append(x)
                    elif not _add(x, parts, data):
                        return fun(*args, **kwargs)
                for name, x in kwargs.items():
                    parts.append(name)
                    if type(x) in _PLAIN:
                        parts.append(type(x))
                        parts.append(x)
                    elif not _add(x, parts, data):
                        return fun(*args, **kwargs)
                key, hosts = tuple(parts), data
            kernel = known(key)
            if kernel is not None:
                try:
                    return kernel(*hosts)
                except KernelError:  # the operations say what is wrong
                    pass
            result = fun(*args, **kwargs)
            if next(cache.calls[key]) in kernels.CALLS:
                # loaded with what records programs
                from tinyjax._extensions.host.recording import make_program  # noqa: PLC0415

                cache.make(key, make_program, fun, args, kwargs, hosts, result)
        except Exception as error:
            try:
                checking.explain(fun, args, kwargs, error)
            except errors.ArgumentError as explanation:
                tracebacks.shorten(explanation, sys._getframe())
                raise
            tracebacks.shorten(error, sys._getframe())
            raise
        return result

    return call


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
    elif isinstance(x, float):  # 0.0 is equal to -0.0, and no NaN to any
        key += (kind, repr(x) if not x or isnan(x) else x)
    elif isinstance(x, (list, tuple)) and kind in (list, tuple) and depth < checking.DEEPEST:
        if kind is tuple and _PLAIN.issuperset(kinds := (*map(type, x),)):
            key += (kinds, x)  # a shape or axes mostly, taken whole
            return True
        key += (kind, len(x))
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
        fun: takes the data of ``args``, and raises ``KernelError`` for data that it does not
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
        return from_host(asarray(fun(*hosts)), aval)
    except KernelError:
        return None
    finally:
        tr.reset_errors(token)
