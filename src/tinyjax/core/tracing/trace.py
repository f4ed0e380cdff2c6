"""Traces and tracers, and ``bind``: the one mechanism.

``bind`` passes a primitive, its operands and its parameters to the current trace, and the trace
applies its rule. The current trace is context-local, and starts as ``EvalTrace``. A trace knows its
parent and runs its rules with the parent as the current trace. A tracer belongs to the trace it
points to; to any other trace it is a constant. That alone keeps nested derivatives apart.
"""

from __future__ import annotations

import gc
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, Token, copy_context
from math import prod
from operator import attrgetter
from types import FrameType, MethodType
from typing import Any, ClassVar, Final, NoReturn, Self, TypeAlias, TypeVar
from weakref import ref

import attrs
import numpy as np
from numpy import asarray, ndarray

from tinyjax import tree
from tinyjax._base import lazy
from tinyjax._base.frames import Source, applied_by, describe_function
from tinyjax._base.tracebacks import shorten
from tinyjax.config import Mixed, Settings, settings
from tinyjax.core.devices import Default, default_elsewhere, may_be_elsewhere, ops
from tinyjax.core.stablehlo.types import MOST_AXES, MOST_ELEMENTS, check_axes, check_size
from tinyjax.core.tracing.primitive import (
    MANY,
    ApplyTranspose,
    Arrays,
    BatchAxes,
    BatchResult,
    BatchRule,
    JvpResult,
    JvpRule,
    MappedAxis,
    Primitive,
    Tangent,
    Tangents,
)
from tinyjax.core.values import integers as ints
from tinyjax.core.values.array import Array, DeviceBuffer
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray, PlacedArray, from_host
from tinyjax.dtypes import DTypeLike, HostArray, are_wide
from tinyjax.errors import (
    ArgumentError,
    ConcretizationError,
    JaxprTypeError,
    LeakedTracerError,
    OutOfMemoryError,
    ShapeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)

P = TypeVar("P")
R = TypeVar("R")


class Adapter:
    """Additions of an extension to the steps of the transformations above a trace.

    A trace hands its adapters on to those above it. An extension adds one to a trace that it makes.
    By default a method does what the core does alone. Several adapters compose: the rule that one
    of them calls is the primitive's with those before it around it.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> class Counting(extend.Adapter):
        ...     count = 0
        ...     def jvp(self, primitive, rule, primals, tangents, params):
        ...         Counting.count += 1
        ...         return rule(primals, tangents, params)
        >>> class Below(extend.Trace):
        ...     def process(self, primitive, args, params):
        ...         return self.parent.process(primitive, args, params)
        >>> trace = Below(extend.current_trace())
        >>> trace.adapters = (*trace.adapters, Counting())
        >>> with extend.Running(trace):
        ...     _ = tinyjax.jvp(lambda x: jnp.sin(x) * x, (2.0,), (1.0,))
        >>> Counting.count
        2
    """

    __slots__ = ()

    def parameter_type(self, recorder: Trace, aval: ShapedArray) -> ShapedArray:
        """Return the type of a parameter of the program that is recorded.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax import extend
            >>> extend.Adapter().parameter_type(extend.current_trace(), jnp.ones(2).aval)
            ShapedArray(float32[2])
        """
        return aval

    def constant_type(self, recorder: Trace, aval: ShapedArray) -> ShapedArray:
        """Return the type that a value of another trace has in the program that is recorded.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax import extend
            >>> extend.Adapter().constant_type(extend.current_trace(), jnp.ones(2).aval)
            ShapedArray(float32[2])
        """
        return aval

    def source(self, recorder: Trace, source: Source | None) -> Source | None:
        """Return the source of an equation of a tangent map that is recorded.

        Example:
            >>> from tinyjax import extend
            >>> extend.Adapter().source(extend.current_trace(), None) is None
            True
        """
        return source

    def record(
        self, recorder: Any, primitive: Primitive[P], args: Arrays, params: P, source: Source | None
    ) -> Arrays | None:
        """Record an equation and return its results; None leaves that to others.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import extend
            >>> class Printing(extend.Adapter):
            ...     def record(self, recorder, primitive, args, params, source):
            ...         print(primitive)
            >>> class Below(extend.Trace):
            ...     pass
            >>> trace = Below(extend.current_trace())
            >>> trace.adapters = (Printing(),)
            >>> with extend.Running(trace):
            ...     _ = tinyjax.make_jaxpr(jnp.sin)(1.0)
            sin
        """
        return None

    def jvp(
        self,
        primitive: Primitive[P],
        rule: JvpRule[P],
        primals: Arrays,
        tangents: Tangents,
        params: P,
    ) -> JvpResult:
        """Apply a ``jvp`` or ``linearize`` rule under the parent of a ``JVPTrace``.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax import extend, lax
            >>> x = jnp.float32(0.0)
            >>> extend.Adapter().jvp(lax.sin_p, lax.sin_p.rules.jvp, [x], [x + 1], extend.NO_PARAMS)
            ((Array(0., dtype=float32),), (Array(1., dtype=float32),))
        """
        return rule(primals, tangents, params)

    def tangents(self, trace: Trace, primals: Arrays, tangents: list[Tangent]) -> list[Tangent]:
        """Return the tangents of values that leave a ``JVPTrace``.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax import extend
            >>> trace, x = extend.current_trace(), jnp.float32(1.0)
            >>> extend.Adapter().tangents(trace, [x], [x])
            [Array(1., dtype=float32)]
        """
        return tangents

    def batch(
        self, rule: BatchRule[P], mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: P
    ) -> BatchResult:
        """Apply a ``batch`` or ``collective`` rule under the parent of a ``BatchTrace``.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> from tinyjax import extend
            >>> class Printing(extend.Adapter):
            ...     def batch(self, rule, mapped, values, axes, params):
            ...         print(mapped.size, axes)
            ...         return rule(mapped, values, axes, params)
            >>> class Below(extend.Trace):
            ...     def process(self, primitive, args, params):
            ...         return self.parent.process(primitive, args, params)
            >>> trace = Below(extend.current_trace())
            >>> trace.adapters = (Printing(),)
            >>> with extend.Running(trace):
            ...     _ = tinyjax.vmap(jnp.sin)(jnp.ones(3))
            3 [0]
        """
        return rule(mapped, values, axes, params)

    def cotangents(self, outs: Sequence[Any], cotangents: Tangents) -> Tangents:
        """Return the cotangents of a program's results, with which a backward pass begins.

        Example:
            >>> from tinyjax import extend
            >>> extend.Adapter().cotangents([], [extend.ZERO])
            [<ZeroTangent.ZERO: 0>]
        """
        return cotangents

    def transposing(self, eqns: Sequence[Any], rule: ApplyTranspose) -> ApplyTranspose:
        """Return the function that applies transpose rules in a backward pass.

        Example:
            >>> from tinyjax.extend import Adapter
            >>> rule = lambda eqn, cotangents, operands: cotangents
            >>> Adapter().transposing([], rule) is rule
            True
        """
        return rule


class Trace:
    """An interpreter of primitives.

    Attributes:
        parent: the trace that this one's rules run under; evaluation is its own parent.
        adapters: additions of extensions to the transformations above it.
        live: whether the transformation still runs; its tracers are invalid afterwards.
        fun: the user's function being transformed, for messages.
        keeps_lines: whether it, or one that it passes primitives to, records the user's lines.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> seen = []
        >>> _ = tinyjax.vmap(lambda x: seen.append(type(x._trace)) or x)(jnp.ones(2))
        >>> issubclass(seen[0], tinyjax.core.Trace)
        True
    """

    __slots__ = ("__weakref__", "adapters", "axes", "fun", "keeps_lines", "live", "parent")

    #: What messages call the transformation.
    transformation: ClassVar[str] = "a transformation"
    #: Whether what it records is run in place of evaluation.
    replays: ClassVar[bool] = False
    #: Whether it evaluates, and nobody looks at how.
    evaluates: ClassVar[bool] = False
    #: Whether it writes equations down instead of computing.
    recording: ClassVar[bool] = False
    #: Whether it writes all of them down, and hands nothing to its parent.
    stages: ClassVar[bool] = False

    def __init__(
        self, parent: Trace | None = None, fun: Callable[..., object] | None = None
    ) -> None:
        self.parent: Trace = self if parent is None else parent
        self.fun: Callable[..., object] | None = fun
        self.live: bool = True
        #: The named axes of this trace and its parents, once they were requested.
        self.axes: tuple[MappedAxis, ...] | None = () if parent is None else None
        self.keeps_lines: bool = parent is not None and parent.keeps_lines
        self.adapters: tuple[Adapter, ...] = () if parent is None else parent.adapters

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        """Apply this trace's rule for a primitive.

        Example:
            >>> import tinyjax
            >>> from tinyjax import extend
            >>> x = tinyjax.numpy.zeros(2)
            >>> (y,) = extend.current_trace().process(tinyjax.lax.sin_p, [x], extend.NO_PARAMS)
            >>> y
            Array([0., 0.], dtype=float32)
        """
        raise NotImplementedError

    def owns(self, value: Array) -> bool:
        """Return whether a value is a tracer of this trace; to it, all others are constants.

        Example:
            >>> import tinyjax
            >>> from tinyjax import extend
            >>> _ = tinyjax.jit(lambda x: print(extend.current_trace().owns(x)) or x)(1.0)
            True
        """
        return isinstance(value, Tracer) and value._trace is self

    def process_custom_call(self, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        """Apply a function that has rules of its own for derivatives or batching.

        By default this trace looks through the call: where an argument, or what the function closes
        over, is one of its tracers, it interprets the function's operations. Otherwise the call
        goes to the parent, which chooses between function and rules. Its choice runs under this
        trace.

        Example:
            >>> import tinyjax
            >>> from tinyjax import extend
            >>> square = tinyjax.custom_jvp(lambda x: x * x)
            >>> _ = square.defjvp(lambda primals, tangents: (primals[0] ** 2, tangents[0]))
            >>> tinyjax.vmap(square)(tinyjax.numpy.array([3.0]))  # ``vmap``'s trace processes it
            Array([9.], dtype=float32)
        """
        if call.touches(self, args):
            with use_trace(self):
                return call.fun(*args)
        return self.parent.process_custom_call(call.under_trace(self), args)

    def mapped_axis(self) -> MappedAxis | None:
        """Return the axis that the transformation maps over, if it does.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> _ = tinyjax.vmap(lambda x: print(x._trace.mapped_axis().size) or x)(jnp.ones(3))
            3
        """
        return None

    @property
    def main(self) -> Trace:
        """The identity of the trace: itself."""
        return self

    def describe(self) -> str:
        """Name the transformation and the function it is applied to.

        Example:
            >>> from tinyjax import extend
            >>> extend.current_trace().describe()
            'evaluation'
        """
        return self.applied + (f" of {describe_function(self.fun)}" if self.fun else "")

    @property
    def applied(self) -> str:
        """The user's transformation that it is a part of: ``grad``, where it is a linearization.

        Example:
            >>> import tinyjax
            >>> _ = tinyjax.grad(lambda x: print(x._trace.applied) or x)(2.0)
            grad
        """
        if self.fun is None:
            return self.transformation
        return applied_by(self.fun, self.transformation)


#: Primals and tangents to results and theirs, all flat; either kind of tangent may be ``ZERO``.
DerivativeRule: TypeAlias = Callable[
    [Sequence[Array], Sequence[Tangent]], tuple[Sequence[Array], Sequence[Tangent]]
]
#: Arguments, batched at the front or not, and which are, to results and which are.
BatchingRule: TypeAlias = Callable[
    [MappedAxis, Sequence[Array], Sequence[bool]], tuple[Sequence[Array], Sequence[bool]]
]


@attrs.frozen(eq=False, repr=False)
class CustomCall(ABC):
    """A function of arrays with its own rule for derivatives, or for batching.

    Traces pass it on as they do primitives (``Trace.process_custom_call``), but with callables, so
    that Python control flow in them works as long as data is there. Each callable is called with
    the trace that its arguments belong to as the current one.

    Attributes:
        fun: the function.
        name: its name in messages and StableHLO.
        jvp: its derivative, if it has its own.
        batch: its batched form, if it has its own.
        key: the identity of the user's function, which detects recursion; None for a call that was
            recorded, which cannot recurse.
        holds: the user's functions, to be searched for tracers.
        batch_rule: the user's function for batching.
        reverse: whether the derivative is defined by its transpose, which does not show the
            dependences of tangents.
        consts: the closed-over values of a function that was recorded before.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> class Looking(extend.Trace):
        ...     def process_custom_call(self, call, args):
        ...         print(isinstance(call, extend.CustomCall), call.name)
        ...         return self.parent.process_custom_call(call, args)
        >>> square = tinyjax.custom_jvp(lambda x: x * x)
        >>> _ = square.defjvp(lambda primals, tangents: (primals[0] ** 2, tangents[0]))
        >>> with extend.Running(Looking(extend.current_trace())):
        ...     _ = square(jnp.float32(3.0))
        True <lambda>
    """

    fun: Callable[..., Sequence[Array]]
    name: str
    jvp: DerivativeRule | None = None
    batch: BatchingRule | None = None
    key: int | None = None
    holds: Sequence[object] = ()
    batch_rule: object = None
    reverse: bool = False
    consts: Sequence[Array] = ()

    @property
    @abstractmethod
    def closes_over_tracer(self) -> bool:
        """Return whether the user's functions close over a live tracer."""

    @abstractmethod
    def touches(self, trace: Trace, args: Sequence[Array]) -> bool:
        """Return whether an argument, or a closed-over value, is a tracer of this trace."""

    @abstractmethod
    def in_context(
        self,
        context: Callable[[], AbstractContextManager[object]],
        convert: Callable[[Array], Array] | None = None,
    ) -> Self:
        """Return the same call whose callables run within a context.

        Args:
            context: makes the context, each time a callable runs.
            convert: is applied to each result, and each tangent, before the context is left.
        """

    @abstractmethod
    def batched(self, trace: Any, args: Sequence[Array]) -> Sequence[Array]:
        """Apply the call under a ``BatchTrace``."""

    @abstractmethod
    def differentiated(self, trace: Any, args: Sequence[Array]) -> Sequence[Array]:
        """Apply the call under a ``JVPTrace``."""

    @abstractmethod
    def record(self, trace: Trace, args: Sequence[Array]) -> Sequence[Array]:
        """Stage the function and bind the result, with its rules, under a trace that records."""

    def under_trace(self, trace: Trace) -> Self:
        """Return the same call whose callables run under a trace, on top of the current one."""
        return self.in_context(lambda: on_top(trace))


class _Protocol:
    """One of NumPy's protocols, whose implementation is loaded when NumPy first asks for it.

    NumPy looks it up on the class at each operation, so the attribute replaces itself by the
    implementation.

    Args:
        name: the attribute's.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, tracer: Tracer | None, owner: type) -> Callable[..., Any]:
        method = getattr(lazy.hook("numpy_protocols"), self._name.strip("_"))
        setattr(Tracer, self._name, method)
        return method if tracer is None else MethodType(method, tracer)


class Tracer(Array):
    """A value that represents data while a trace runs.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.vmap(lambda x: print(isinstance(x, tinyjax.core.Tracer)) or x)(jnp.ones(1))
        True
        Array([1.], dtype=float32)
    """

    __slots__ = ("__weakref__", "_trace")

    _trace: Trace
    _host: HostArray | None = None
    _aval: ShapedArray | None = None
    _buffer: DeviceBuffer | None = None

    __array_ufunc__ = _Protocol("__array_ufunc__")
    __array_function__ = _Protocol("__array_function__")

    def concrete(self, purpose: str) -> HostArray:
        if not self._trace.live:
            raise_leaked(self)
        kind = _CONVERSIONS.get(purpose, ConcretizationError)
        problem = f"needs the data of an array, but {self.aval} is traced"
        raise self._refusal(kind, problem, purpose)

    def data_of(self, primal: Array, purpose: str) -> HostArray:
        """Return the data of the primal value of a tracer with derivatives.

        Raises:
            ConcretizationError: what is computed from the data would have no derivative, and
                nobody would notice: ``math.sin(x)``.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> _ = tinyjax.grad(lambda x: print(x.data_of(jnp.ones(2), "a test")) or x)(1.0)
            [1. 1.]
        """
        conversion = _WITHOUT_DERIVATIVE.get(purpose)
        if conversion is None:
            return primal.concrete(purpose)
        problem = f"has no derivative, but {self.aval} is differentiated"
        raise self._refusal(ConcretizationError, problem, purpose, conversion)

    def _refusal(
        self, kind: type[ConcretizationError], problem: str, purpose: str, conversion: str = ""
    ) -> ConcretizationError:
        """Make an error with advice: on SciPy's function, if that asks for the data."""
        advice, location = lazy.hook("advice").on_data(self, purpose, conversion)
        return kind(f"{purpose} {problem} by {self.describe_trace()}. {advice}").at(location)

    def origin_traces(self) -> Iterable[Trace]:
        """Return the traces whose arguments the value depends on.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> _ = tinyjax.vmap(lambda x: print(len([*x.origin_traces()])) or x)(jnp.ones(3))
            1
        """
        return (self._trace,)

    def advise(self) -> str:
        """Return advice on how the value can be known while the program is recorded.

        Example:
            >>> import tinyjax
            >>> _ = tinyjax.jit(lambda x: print(x.advise()) or x)(1.0)
            Make the argument static (static_argnums=...), or compute this outside of the function.
        """
        return str(lazy.hook("advice").compute_outside(self))

    def components(self) -> Sequence[Array]:
        """Return the values of enclosing traces that this one is made of.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> _ = tinyjax.vmap(lambda x: print(x.components()) or x)(jnp.ones(3))
            (Array([1., 1., 1.], dtype=float32),)
        """
        return ()

    def describe_trace(self) -> str:
        """Name the transformation that traces the value, and the arguments that it depends on.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> _ = tinyjax.vmap(lambda x: print(x.describe_trace()[:4]) or x)(jnp.ones(3))
            vmap
        """
        return self._trace.describe()

    def describe_origin(self) -> str:
        """Return where the value was made, after a blank; nothing where that is not known.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> _ = tinyjax.vmap(lambda x: print(repr(x.describe_origin())) or x)(jnp.ones(3))
            ''
        """
        return ""

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> HostArray:
        if not self._trace.live:
            raise_leaked(self)
        advice, location = lazy.hook("advice").on_array()
        raise TracerArrayConversionError(
            f"a NumPy array needs the data of an array, but {self.aval} is traced by "
            f"{self.describe_trace()}. {advice}"
        ).at(location)

    def __reduce__(self) -> NoReturn:
        raise ConcretizationError(
            f"a value of type {self.aval} that is traced by {self._trace.describe()} cannot be "
            "pickled: it has no data. Return it from the function, and pickle the result."
        )

    def named_data(self) -> dict[str, object]:
        """Return the known data by name, to be printed.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> _ = tinyjax.vmap(lambda x: print(x.named_data()) or x)(jnp.ones(3))
            {'batch': Array([1., 1., 1.], dtype=float32), 'axis': 0}
        """
        return {}

    def __repr__(self) -> str:
        known = ", ".join(f"{name}={value}" for name, value in self.named_data().items())
        return f"{type(self).__name__}<{self.aval}>{f'({known})' if known else ''}"

    def _repr_html_(self) -> str:
        """Return a notebook's description of the tracer and its trace."""
        escape = lazy.hook("display").escape
        of = escape(self._trace.describe())
        return f"<code>{escape(repr(self))}</code> stands for a value that is traced by {of}"

    def __format__(self, spec: str) -> str:
        return format(self.concrete("a formatted number")[()], spec) if spec else repr(self)


def is_known(value: Array) -> bool:
    """Return whether some of a value's data is known: for a tracer, that of its parts."""
    return not isinstance(value, Tracer) or bool(value.named_data())


#: The purposes that make numbers or bytes of floats, and how they are written.
_WITHOUT_DERIVATIVE: Final = {
    "a Python float": "float({})",
    "a Python complex": "complex({})",
    "a Python scalar": "{}.item()",
    "a list": "{}.tolist()",
    "bytes": "{}.tobytes()",
    "a buffer": "memoryview({})",
    "unsafe_buffer_pointer": "{}.unsafe_buffer_pointer()",
    "the start or step of arange": "jnp.arange({})",
}

_CONVERSIONS: Final = {
    "a Python bool": TracerBoolConversionError,
    "a Python index": TracerIntegerConversionError,
}


def _error_state(**kinds: Any) -> tuple[ContextVar[Any], Any]:
    """Find the context variable behind ``np.errstate``, and its value for these arguments.

    Overflow and NaN are values here, as in XLA, not warnings. Setting the
    variable to a value made once is faster than entering ``np.errstate`` at every operation.
    """
    before = copy_context()
    with np.errstate(**kinds):
        for variable, value in copy_context().items():
            if variable not in before or before[variable] is not value:
                return variable, value
    return ContextVar("no_error_state"), None


_errors, IGNORE = _error_state(all="ignore")
#: Raises ``FloatingPointError`` where a number has no counterpart in another dtype.
RAISE_INVALID: Final = _error_state(all="ignore", invalid="raise")[1]
set_errors: Final[Callable[[Any], Token[Any]]] = _errors.set
reset_errors: Final[Callable[[Token[Any]], None]] = _errors.reset
_DEFAULT_ERRORS: Final = _error_state(all="warn", under="ignore")[1]


def current_errors() -> Any:
    """Return NumPy's treatment of overflow and NaN here, to be set again."""
    return _errors.get(_DEFAULT_ERRORS)


class EvalTrace(Trace):
    """Evaluates: NumPy computes, by each primitive's ``host`` or ``impl`` rule."""

    __slots__ = ()

    transformation = "evaluation"
    evaluates = True

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        """Evaluate a primitive, without calls of functions: each takes as long as a lookup."""
        rules = primitive.rules
        if rules.evaluate is not None:
            check_concrete(args)
            try:
                return rules.evaluate(args, params)
            except MemoryError as error:
                raise_out_of_memory(error, primitive, [x.aval for x in args], params)
        # Types are looked up, with the function for them: their rule takes longer than NumPy. One
        # and two operands have code of their own: a loop over them takes longer than that, too.
        try:
            if len(args) == 2:
                x, y = args
                first, second = x._host, y._host
                hosts: Sequence[HostArray] = (
                    _host_of(x) if first is None else first,
                    _host_of(y) if second is None else second,
                )
                avals, call = rules.types[params, x._aval or x.aval, y._aval or y.aval]
            elif len(args) == 1:
                (x,) = args
                first = x._host
                hosts = (_host_of(x) if first is None else first,)
                avals, call = rules.types[params, x._aval or x.aval]
            else:
                leaves: list[HostArray] = []
                key: list[object] = [params]
                for arg in args:
                    host = arg._host
                    leaves.append(_host_of(arg) if host is None else host)
                    key.append(arg._aval or arg.aval)
                hosts = leaves
                avals, call = rules.types[tuple(key)]
        except (AttributeError, KeyError, TypeError):  # no array, new types, parameters unhashable
            pass
        else:
            token = set_errors(IGNORE)
            try:
                outs = rules.impl(hosts, params) if call is None else call(*hosts)
            except (ValueError, MemoryError) as error:
                if isinstance(error, ValueError) and not _TOO_LARGE.search(str(error)):
                    raise
                rules.types.clear()  # staging has typed it: say in our words what is too large
            else:
                if len(avals) == 1:  # nearly always, and faster than the comprehension
                    if call is None:
                        (outs,) = outs
                    return (from_host(outs if type(outs) is ndarray else asarray(outs), avals[0]),)
                pairs = zip(outs, avals, strict=True)
                return [from_host(asarray(out), aval) for out, aval in pairs]
            finally:
                reset_errors(token)
        try:  # not in the handler: what is raised here is not of its error
            return _evaluate_first(primitive, args, params)
        except Exception as error:
            shorten(error, sys._getframe())
            raise

    def process_custom_call(self, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        with use_trace(self):
            return call.fun(*args)


class PlacedTrace(EvalTrace):
    """Evaluates where the default device is another than the processor's first.

    Each operation runs there as a program of its own.
    """

    __slots__ = ()

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        if default_elsewhere() is None:  # the platform that was wanted is not there
            return super().process(primitive, args, params)
        check_concrete(args)
        evaluate = primitive.rules.evaluate
        if evaluate is not None:
            return evaluate(args, params)
        return ops().evaluate(primitive, args, params)


#: What NumPy says of sizes that no array has.
_TOO_LARGE: Final = re.compile("array is too big|Maximum allowed dimension|negative dimensions")


def raise_out_of_memory(
    error: MemoryError, primitive: Primitive[P], avals: Sequence[ShapedArray], params: P
) -> NoReturn:
    """Raise the error that says which operation had not enough memory, for which results."""
    if isinstance(error, OutOfMemoryError):
        raise error
    outs = primitive.check_types(avals, params) or ()
    size = sum(prod(aval.shape) * aval.dtype.itemsize for aval in outs)
    raise OutOfMemoryError(
        f"{primitive} of {', '.join(map(str, avals)) or 'nothing'} gives "
        f"{', '.join(map(str, outs)) or 'a result'}, {size / 2**30:,.1f} GiB, for which there is "
        f"not enough memory. {OutOfMemoryError.ADVICE}"
    ) from error


def _evaluate_first(primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
    """Evaluate a primitive on operands of types that it has not met, and check the results'.

    Raises:
        ShapeError: a result has more elements than memory has addresses, or more axes than arrays
            of NumPy's can have.
        JaxprTypeError: the ``impl`` rule gives other types than the ``abstract_eval`` rule says.
        OutOfMemoryError: there is not enough memory.
    """
    hosts: list[HostArray] = []
    avals: list[ShapedArray] = []
    for arg in args:
        if type(arg) is not ConcreteArray:
            check_concrete(args)
            return ops().evaluate(primitive, args, params)
        host = arg._host
        hosts.append(arg.host if host is None else host)
        avals.append(arg._aval or arg.aval)
    said = primitive.check_types(avals, params)
    for aval in said or ():
        if aval not in avals:
            _check_size(primitive, aval)
    token = set_errors(IGNORE)
    try:
        # what is large goes where XLA reads it in place, also the first time
        call = primitive.host_function(avals, params) if hosts and hosts[0].size >= MANY else None
        outs = primitive.rules.impl(hosts, params) if call is None else call(*hosts)
        if not isinstance(outs, (list, tuple)):
            outs = (outs,)
    except (ValueError, MemoryError) as error:
        primitive.rules.types.clear()
        if _TOO_LARGE.search(str(error)):
            raise ShapeError(
                f"{primitive} of {', '.join(map(str, avals)) or 'nothing'} needs an array that is "
                "larger than memory has addresses."
            ) from None
        if isinstance(error, ValueError):
            raise
        raise_out_of_memory(error, primitive, avals, params)
    finally:
        reset_errors(token)
    arrays = [*map(asarray, outs)]
    if said is None:
        return [*map(ConcreteArray, arrays)]
    if [*map(_type_of, arrays)] == [*map(_type_of, said)]:
        return [*map(from_host, arrays, said)]
    primitive.rules.types.clear()
    raise JaxprTypeError(
        f"the impl rule of '{primitive}' gives "
        f"{', '.join(str(ShapedArray(x.shape, x.dtype)) for x in arrays)}, but its "
        f"abstract_eval rule says {', '.join(map(str, said))}: they must agree."
    )


_type_of: Final[Callable[[Any], object]] = attrgetter("dtype", "shape")


def _check_size(primitive: Primitive[Any], aval: ShapedArray) -> None:
    """Raise if arrays of a type cannot be made: their size is unknown, or too large."""
    symbolic = isinstance(aval.size, ints.SymbolicSize)
    if symbolic or aval.size > MOST_ELEMENTS or aval.ndim > MOST_AXES:
        primitive.rules.types.clear()
        if symbolic:
            raise ints.unknown_sizes(aval)
        check_size(aval.shape)
        check_axes(aval.shape)


class _NotOnHostError(TypeError):
    """An operand has no data, or lies on other devices than the first."""


def _host_of(arg: Array) -> HostArray:
    if type(arg) is not ConcreteArray:
        raise _NotOnHostError
    return arg.host


def check_concrete(args: Sequence[Array]) -> None:
    """Raise where an operand of an evaluation is a tracer, or no array at all."""
    for arg in args:
        if not isinstance(arg, ConcreteArray | PlacedArray):
            raise_not_concrete(arg)


def raise_not_concrete(arg: object) -> NoReturn:
    """Raise the error of a value that cannot be evaluated."""
    if isinstance(arg, Tracer):
        raise_leaked(arg)
    raise ArgumentError(
        f"a primitive takes arrays, but got {type(arg).__name__}. Convert it with jnp.asarray(...)."
    )


def raise_leaked(tracer: Tracer) -> NoReturn:
    """Raise the error of a tracer that outlived its trace."""
    raise LeakedTracerError(
        f"a value of type {tracer.aval} that was traced by {tracer._trace.describe()} is used "
        f"after that transformation ended.{tracer.describe_origin()} It was probably stored in a "
        "global, an attribute or a list by the function; return it from the function instead."
    )


EVAL: Final = EvalTrace()
#: The same where the default device is another.
PLACED: Final = PlacedTrace()
#: Threads begin with the default, whatever others have set.
_current: ContextVar[Trace] = ContextVar(
    "tinyjax_trace", default=PLACED if may_be_elsewhere(settings()) else EVAL
)

#: The line of the equation that is being evaluated under a transformation: what is staged
#: meanwhile comes from that line, and not from the one that started the transformation.
_evaluated: ContextVar[Source | None] = ContextVar("tinyjax_evaluated_source", default=None)

evaluated_source: Callable[[], Source | None] = _evaluated.get
set_evaluated_source: Callable[[Source | None], Token[Source | None]] = _evaluated.set

#: Return the trace to which operations go here. Outside of transformations it evaluates them.
current_trace: Callable[[], Trace] = _current.get
set_trace: Callable[[Trace], Token[Trace]] = _current.set
reset_trace: Callable[[Token[Trace]], None] = _current.reset


def bind(primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
    """Apply a primitive under the current trace.

    Args:
        primitive: what to apply.
        args: its operands; arrays only, of types that the primitive takes.
        params: an instance of the primitive's parameter class.

    Returns:
        The results, always as a sequence.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> from tinyjax.core.primitives import elementwise as ew
        >>> (out,) = extend.bind(ew.neg, [jnp.float32(3.0)], extend.NO_PARAMS)
        >>> out
        Array(-3., dtype=float32)
    """
    return _current.get().process(primitive, args, params)


def bind1(primitive: Primitive[P], args: Sequence[Array], params: P) -> Array:
    """Apply a primitive that has one result, and return that.

    ``bind`` does the same for primitives with any number of results. The operation goes to the
    current trace, so that it is evaluated, differentiated, batched or recorded.

    Args:
        primitive: the primitive.
        args: its operands: arrays or tracers. They are neither promoted nor broadcast.
        params: an object of the primitive's class of parameters; ``NO_PARAMS`` where it has none.

    Raises:
        MissingRuleError: the primitive lacks the rule that the current trace applies.
        TinyjaxError: its rules refuse the operands.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> from tinyjax.core.primitives import elementwise as ew
        >>> extend.bind1(ew.neg, [jnp.float32(3.0)], extend.NO_PARAMS)
        Array(-3., dtype=float32)
    """
    (out,) = _current.get().process(primitive, args, params)
    return out


def enclosing_traces() -> Iterator[Trace]:
    """Go through the traces that are running here, the innermost first, without evaluation."""
    trace = _current.get()
    while trace.parent is not trace:
        yield trace
        trace = trace.parent


def is_in_program() -> bool:
    """Return whether a function is being staged."""
    return any(trace.stages for trace in enclosing_traces())


def enclosing_axes() -> tuple[MappedAxis, ...]:
    """Return the named axes of each enclosing ``vmap``, the innermost first.

    What is staged under them may depend on their sizes.
    """
    trace, inner = _current.get(), list[Trace]()
    while trace.axes is None:
        inner.append(trace)
        trace = trace.parent
    axes = trace.axes
    for trace in reversed(inner):
        axis = trace.mapped_axis()
        if axis is not None and axis.name is not None:
            axes = (axis, *axes)
        trace.axes = axes
    return axes


def at_own_lines(fun: Callable[..., R], *args: Any) -> R:
    """Call a user's rule, whose operations are attributed to its own lines."""
    token = _evaluated.set(None)
    try:
        return fun(*args)
    finally:
        _evaluated.reset(token)


@contextmanager
def assigned(variable: ContextVar[R], value: R) -> Iterator[None]:
    """Give a variable a value within a block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


@contextmanager
def use_trace(trace: Trace) -> Iterator[None]:
    """Make ``trace`` the current one within a block.

    A transformation runs the user's function in such a block. Rules run with the trace's parent as
    the current one.

    Args:
        trace: handles each operation of the block, on whatever thread or task runs it.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> def fun(x):
        ...     with extend.use_trace(x._trace.parent):
        ...         size = float(jnp.float32(2.0) * 3)  # not traced
        ...     return size * x
        >>> tinyjax.jit(fun)(1.0)
        Array(6., dtype=float32, weak_type=True)
    """
    token = _current.set(trace)
    try:
        yield
    finally:
        _current.reset(token)


def eval_context() -> AbstractContextManager[None]:
    """Evaluate, within a block, whatever transformations run around it.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> def fun(x):
        ...     with tinyjax.core.eval_context():
        ...         size = float(jnp.sin(0.0)) + 2
        ...     return size * x
        >>> tinyjax.jit(fun)(3.0)
        Array(6., dtype=float32, weak_type=True)
    """
    return use_trace(base_trace())


@contextmanager
def on_top(trace: Trace) -> Iterator[None]:
    """Run under a trace, put on top of the current one; it may be one that has ended."""
    parent, live = trace.parent, trace.live
    trace.parent, trace.live = _current.get(), True
    try:
        with use_trace(trace):
            yield
    finally:
        trace.parent, trace.live = parent, live


def base_trace() -> EvalTrace:
    """Return the trace that evaluates, as the settings are here."""
    return _base_for(settings())


def _base_for(current: Settings) -> EvalTrace:
    if current.debugging:
        base: EvalTrace = lazy.hook("debugging").base
        return base
    is_elsewhere = may_be_elsewhere(current)
    if is_elsewhere:
        Default.moved = True
    if current.guarding:
        guard: EvalTrace = lazy.hook("guarding").base
        return guard
    return PLACED if is_elsewhere else EVAL


def choose_base(current: Settings) -> Callable[[], None]:
    """Make the trace that evaluates here the one that the settings ask for; return the undoing."""
    trace, base = _current.get(), _base_for(current)
    if not isinstance(trace, EvalTrace) or trace is base:
        return lambda: None
    token = _current.set(base)
    return lambda: _current.reset(token)


class Running:
    """Makes a trace current for the length of its transformation, and ends it afterwards.

    A class is faster here than a generator as a context manager.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> class Counter(extend.Trace):
        ...     count = 0
        ...     def process(self, primitive, operands, params):
        ...         Counter.count += 1
        ...         return self.parent.process(primitive, operands, params)
        >>> trace = Counter(extend.current_trace())
        >>> with extend.Running(trace):
        ...     _ = jnp.sin(jnp.float32(1.0)) * jnp.float32(2.0)
        >>> Counter.count, trace.live
        (2, False)
    """

    __slots__ = ("_mixed", "_token", "_trace")

    def __init__(self, trace: Trace, operands: Iterable[object] = ()) -> None:
        self._trace = trace
        self._mixed = Mixed() if are_wide(operands) else None

    def __enter__(self) -> None:
        if self._mixed is not None:
            self._mixed.__enter__()
        self._token = _current.set(self._trace)

    def __exit__(self, *exception: object) -> None:
        _current.reset(self._token)
        self._trace.live = False
        if self._mixed is not None:
            self._mixed.__exit__()


def refresh_locals(frame: FrameType | None) -> None:
    """Drop the values that frames keep of deleted variables, if their variables were inspected.

    Before Python 3.13 a frame keeps the dict of its variables once somebody has read it. Code that
    raises an error reads it, to hide the frames of this package.
    """
    while frame is not None:
        getattr(frame, "f_locals")  # noqa: B009 (as a statement it would look useless)
        frame = frame.f_back


def leak_check(trace: Trace, fun: object) -> Callable[[], None]:
    """Return a check that no tracer outlives its trace (setting ``check_leaks``).

    Callers drop their own references to the trace and to its tracers before they run the check, so
    whatever is left was stored somewhere by the user's function. Auxiliary data that ``fun`` keeps
    is no leak: its tracers are taken off later.
    """
    reference, description = ref(trace), trace.describe()

    def check() -> None:
        if reference() is None:  # nearly always, and collecting takes long
            return
        refresh_locals(sys._getframe(1))
        gc.collect()
        left = reference()
        if left is None:
            return
        kept = {id(leaf) for leaf in tree.leaves(getattr(fun, "aux", None))}
        tracers = [r for r in gc.get_referrers(left) if isinstance(r, Tracer) and id(r) not in kept]
        if tracers:
            raise LeakedTracerError(
                f"{description} ended, but {len(tracers)} of its traced values live on, the first "
                f"of type {tracers[0].aval}. The function probably stored them in a global, an "
                "attribute or a list; return them instead."
            )

    return check
