"""Values with shadows: the same computed in a wider precision, through every operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf, log, log10
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames, tracebacks
from tinyjax._extensions.accuracy import doubled
from tinyjax.core.control_flow.cond import switch
from tinyjax.core.control_flow.primitives import CondParams, ScanParams, WhileParams
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.tracing import calling, jaxpr as jx, program_rules, trace as tr
from tinyjax.core.tracing.primitive import Arrays, Primitive
from tinyjax.core.values import Array, ShapedArray, operands as opd
from tinyjax.dtypes import DType, HostArray

P = TypeVar("P")
R = TypeVar("R")

#: A value in a wider precision: one array, or a high and a low part of float64.
Parts: TypeAlias = tuple[Array, ...]

#: Primitives whose results are data, and exact whatever the operands are.
_DATA: Final = {"bitcast_convert_type", "random_bits", "rng_bit_generator", "nextafter"}
#: Primitives that call functions which take their own types: results count as exact.
_OPAQUE: Final = {"pure_callback", "io_callback", "debug_callback", "host_call", "ffi_call"}
#: What is not just applied to shadows.
_SPECIAL: Final = {*_DATA, *_OPAQUE, "error_if", "ffi_effect", "convert_element_type"}
#: The dtypes with a wide one of one part.
_NARROW: Final = frozenset(d for d in dtypes.ALL if dtypes.is_float(d) and d != dtypes.float64)
_MOST_CONSTANTS: Final = 1000


def wide(dtype: DType) -> DType:
    """Return the dtype of the shadow of values of a dtype; of float64 that of both parts."""
    if dtypes.is_complex(dtype):
        return dtypes.complex128
    return dtypes.float64 if dtypes.is_inexact(dtype) else dtype


def most_digits(dtype: DType) -> float:
    """Return the number of decimal digits of a dtype."""
    return -log10(float(dtypes.finfo(dtype).eps) / 2)


class ShadowTracer(tr.Tracer):
    """A value and its shadow, and in reports the operation that both come from.

    Attributes:
        value: what the program computes.
        parts: the shadow. That of an integer or a bool is what it would have been.
        primitive: the operation, if it is kept.
        params: its parameters.
        operands: its operands.
        place: the value's place among its results.
        source: the user's line.
        loops: the iterations around it, the outermost first.
        examples: the batch axes of the value, with the number of examples.
        born: the size of the values that were computed before.
    """

    __slots__ = (
        *("aval", "born", "examples", "loops", "operands", "params", "parts", "place"),
        *("primitive", "source", "value"),
    )

    aval: ShapedArray
    params: Any
    operands: Sequence[Array]
    place: int
    source: frames.Source | None
    loops: tuple[Any, ...]
    examples: tuple[tuple[int, int], ...]

    def __init__(self, trace: tr.Trace, value: Array, parts: Parts) -> None:
        self._trace = trace
        self.value: Array = value
        self.parts: Parts = parts
        self.primitive: Primitive[Any] | None = None
        self.born: int = 0
        self.aval = value._aval or value.aval

    def concrete(self, purpose: str) -> HostArray:
        assert isinstance(self._trace, ShadowTrace), "it makes them"
        return self._trace.read(self, purpose)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        return np.array(self.concrete("a NumPy array"), dtype)

    def components(self) -> Sequence[Array]:
        return self.value, *self.parts

    def named_data(self) -> dict[str, object]:
        return {"value": self.value} if tr.is_known(self.value) else {}


class ShadowTrace(tr.Trace):
    """A trace that computes values with their shadows.

    Attributes:
        unshadowed: what is not looked into.
        estimated: those of float64 whose own rounding is not computed.
        constants: the shadows of constants that were met lately.
    """

    __slots__ = ("constants", "estimated", "unshadowed")

    transformation: ClassVar[str] = "digits"

    def __init__(self, parent: tr.Trace, fun: Callable[..., object] | None = None) -> None:
        super().__init__(parent, fun)
        self.unshadowed: dict[str, None] = {}
        self.estimated: dict[str, None] = {}
        self.constants: dict[int, tuple[Array, Array]] = {}

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        """Apply a primitive to values and shadows; the usual case, narrow floats, is fast."""
        if program_rules.PROGRAM in primitive.rules.extensions:
            return self.process_program(primitive, args, params)
        owned, usual = False, primitive.name not in _SPECIAL
        values: list[Array] = []
        for x in args:
            if type(x) is ShadowTracer and x._trace is self:
                owned = True
                values.append(x.value)
            else:
                values.append(x)
            usual = usual and (x._aval or x.aval).dtype in _NARROW
        token = tr.set_trace(self.parent)
        try:
            outs = self.parent.process(primitive, values, params)
            usual = usual and len(outs) == 1 and (outs[0]._aval or outs[0].aval).dtype in _NARROW
            if not owned and (
                primitive.name in doubled.MOVING
                or not any(dtypes.is_inexact(x.dtype) for x in outs)
            ):
                return outs
            if usual:
                shadows = [
                    x.parts[0] if type(x) is ShadowTracer and x._trace is self else self.constant(x)
                    for x in args
                ]
                parts = self.apply_wide(primitive, shadows, params, outs)
            else:
                parts = self.shadows(primitive, args, values, params, outs)
            pairs = zip(outs, parts, strict=True)
            tracers = [x if p[0] is x else ShadowTracer(self, x, p) for x, p in pairs]
            return self.remember(tracers, primitive, args, params)
        finally:
            tr.reset_trace(token)

    def remember(
        self, outs: Arrays, primitive: Any, args: Sequence[Array], params: object
    ) -> Arrays:
        """Return the results of an operation, which a report keeps."""
        return outs

    def choose(self, primitive: Primitive[Any], x: Array) -> None:
        """Note that integers or bools choose among floats."""

    def read(self, x: ShadowTracer, purpose: str) -> HostArray:
        """Return the data of a value that Python reads, which decides for its shadow."""
        return x.value.concrete(purpose)

    def shadowed(self, x: Array) -> Array:
        """Return a constant with an exact shadow, if it is of floats; under the parent."""
        return ShadowTracer(self, x, self.parts(x)) if dtypes.is_inexact(x.dtype) else x

    def value(self, x: Array) -> Array:
        """Return what the program computes."""
        return x.value if isinstance(x, ShadowTracer) and self.owns(x) else x

    def parts(self, x: Array) -> Parts:
        """Return the shadow of a value; that of a constant is exact."""
        if isinstance(x, ShadowTracer) and self.owns(x):
            return x.parts
        if x.dtype == dtypes.float64:
            return x, sh.zeros_like(x)
        same = x.dtype == wide(x.dtype)
        return (x if same else ew.convert_element_type(x, wide(x.dtype)),)

    def constant(self, x: Array) -> Array:
        """Return the shadow of a narrow constant; literals are met often."""
        known = self.constants.get(id(x))
        if known is None or known[0] is not x:
            if len(self.constants) > _MOST_CONSTANTS:
                self.constants.clear()
            known = self.constants[id(x)] = x, self.parts(x)[0]
        return known[1]

    def shadows(
        self, primitive: Primitive[P], args: Arrays, values: Arrays, params: P, outs: Arrays
    ) -> Sequence[Parts]:
        """Apply an operation to shadows, under the parent; return those of its results."""
        name, discrete = primitive.name, not any(dtypes.is_inexact(x.dtype) for x in outs)
        if name in _DATA or name in _OPAQUE or primitive.effectful:
            if name not in _DATA and not discrete:
                self.unshadowed[f"results of {name}"] = None
            return [self.parts(x) for x in outs]
        operands = [self._operand(primitive, x, discrete) for x in args]
        if discrete and all(p[0] is value for p, value in zip(operands, values, strict=True)):
            return [(x,) for x in outs]
        if any(x.dtype == dtypes.complex128 for x in outs):
            raise errors.DtypeError(
                f"{self.transformation}: {primitive} computes complex128, and there is no wider "
                "precision for it. Compute with complex64, or with real and imaginary parts."
            )
        if name == "convert_element_type":
            return [_converted(operands[0], outs[0].dtype)]
        if any(len(p) == 2 for p in operands) or any(x.dtype == dtypes.float64 for x in outs):
            pairs = [self.parts(p[0]) if len(p) == 1 else p for p in operands]
            results, is_exact = doubled.apply(primitive, pairs, widened(params))
            if not is_exact:
                self.estimated[name] = None
            return [p[: len(self.parts(x))] for p, x in zip(results, outs, strict=True)]
        return self.apply_wide(primitive, [p[0] for p in operands], params, outs)

    def _operand(self, primitive: Primitive[P], x: Array, discrete: bool) -> Parts:
        """Return the shadow of an operand; where it chooses among floats, its value decides."""
        if discrete or dtypes.is_inexact(x.dtype):
            return self.parts(x)
        self.choose(primitive, x)
        return (self.value(x),)

    def apply_wide(
        self, primitive: Primitive[P], shadows: Arrays, params: P, outs: Arrays
    ) -> Sequence[Parts]:
        """Apply a primitive to shadows of one part; where it takes none, results are exact."""
        try:
            return [(x,) for x in self.parent.process(primitive, shadows, widened(params))]
        except errors.TinyjaxError:
            self.unshadowed[f"results of {primitive}"] = None
            return [self.parts(x) for x in outs]

    def process_program(self, primitive: Primitive[P], args: Arrays, params: P) -> Sequence[Array]:
        """Run the programs of a primitive on values with shadows; loops stay loops if recorded."""
        loop = _LOOPS.get(type(params))
        if loop is None or isinstance(self.parent, tr.EvalTrace):
            with tr.use_trace(self):
                return program_rules.evaluate_stepwise(primitive, args, params)
        with tr.use_trace(self.parent):
            return loop(self, args, params)

    def flat(self, values: Sequence[Array]) -> list[Array]:
        """Return values and the parts of their shadows, one after the other."""
        return [y for x in values for y in (self.value(x), *self.parts(x))]

    def tracers(self, avals: Sequence[ShapedArray], flat: Sequence[Array]) -> list[Array]:
        """Return values of these types of which ``flat`` gave the parts."""
        rest = iter(flat)
        counts = [2 if aval.dtype == dtypes.float64 else 1 for aval in avals]
        return [
            ShadowTracer(self, next(rest), tuple([next(rest) for _ in range(n)])) for n in counts
        ]

    def run(self, jaxpr: jx.Jaxpr, flat: Sequence[Array]) -> list[Array]:
        """Run a program on values and parts, with this trace above the current one."""
        with tr.on_top(self):
            outs = jx.eval_jaxpr(jaxpr, self.tracers(jaxpr.in_avals, flat))
        return self.flat(outs)


def _cond(trace: ShadowTrace, args: Sequence[Array], params: CondParams) -> list[Array]:
    branches = [lambda *flat, b=b: trace.run(b, flat) for b in params.branches]
    outs = switch(trace.value(args[0]), branches, *trace.flat(args[1:]))
    return trace.tracers(params.branches[0].out_avals, outs)


def _scan(trace: ShadowTrace, args: Sequence[Array], params: ScanParams) -> list[Array]:
    n, m = params.num_consts, params.num_consts + params.num_carry
    consts, carry, xs = trace.flat(args[:n]), trace.flat(args[n:m]), trace.flat(args[m:])

    def body(carry: list[Array], xs: list[Array]) -> tuple[list[Array], list[Array]]:
        outs = trace.run(params.jaxpr, [*consts, *carry, *xs])
        return outs[: len(carry)], outs[len(carry) :]

    last, ys = scan(body, carry, xs, params.length, params.reverse, params.unroll)
    return trace.tracers(params.jaxpr.out_avals, [*last, *ys])


def _while(trace: ShadowTrace, args: Sequence[Array], params: WhileParams) -> list[Array]:
    n, m = params.num_condition, params.num_condition + params.num_body
    fixed, consts, state = trace.flat(args[:n]), trace.flat(args[n:m]), trace.flat(args[m:])
    outs = while_loop(
        lambda state: trace.run(params.condition, [*fixed, *state])[0],
        lambda state: trace.run(params.body, [*consts, *state]),
        state,
    )
    return trace.tracers(params.body.out_avals, outs)


_LOOPS: Final[dict[type, Callable[[ShadowTrace, Sequence[Array], Any], list[Array]]]] = {
    CondParams: _cond,
    ScanParams: _scan,
    WhileParams: _while,
}


def widened(params: P) -> P:
    """Return parameters with a wide dtype in place of a narrow one."""
    dtype, changed = getattr(params, "dtype", None), params
    if dtype is not None and dtypes.is_inexact(dtype):
        attributes: Any = params
        changed = attrs.evolve(attributes, dtype=wide(dtype))
    return changed


def _converted(parts: Parts, dtype: DType) -> Parts:
    """Return the shadow of a conversion: that of the operand, in the precision of the result."""
    high = ew.convert_element_type(parts[0], wide(dtype))
    if dtype != dtypes.float64:
        return (high,)
    return high, parts[1] if len(parts) == 2 else sh.zeros_like(high)


def error_of(value: Array, parts: Parts) -> Array:
    """Return the absolute error of a value, of float64: 0 where both are one infinity, or NaN."""
    high = parts[0]
    wide_value = ew.convert_element_type(value, high.dtype)
    error = ew.sub(wide_value, high)
    error = ew.abs_(error if len(parts) == 1 else ew.sub(error, parts[1]))
    both_nan = ew.and_(ew.ne(wide_value, wide_value), ew.ne(high, high))
    same = ew.or_(both_nan, ew.and_(ew.eq(wide_value, high), ew.not_(ew.is_finite(error))))
    infinite = ew.select(ew.is_finite(error), error, sh.full_like(error, inf))
    return ew.select(same, sh.zeros_like(error), infinite)


def digits_of(value: Array, parts: Parts) -> Array:
    """Return the number of right decimal digits of each element, of float32."""
    if not dtypes.is_inexact(value.dtype):
        right = ew.convert_element_type(ew.eq(value, parts[0]), dtypes.float32)
        return ew.div(right, ew.sub(sh.full_like(right, 1.0), right))
    error, size = error_of(value, parts), ew.abs_(parts[0])
    least, most = sh.zeros_like(error), sh.full_like(error, most_digits(value.dtype))
    digits = ew.div(ew.log(ew.div(error, size)), sh.full_like(error, -log(10.0)))
    digits = ew.select(ew.eq(error, least), most, ew.min_(ew.max_(digits, least), most))
    digits = ew.select(ew.eq(digits, digits), digits, least)
    return ew.convert_element_type(digits, dtypes.float32)


def run(
    trace: ShadowTrace, fun: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[tree.PyTreeDef, list[Array]]:
    """Call a function under a trace; return the structure of its result, and the leaves."""
    leaves, in_tree = tree.flatten_arguments(args, kwargs)
    flat = calling.FlatFunction(fun, in_tree)
    arrays = [opd.as_array(x) for x in leaves]
    tracers = [trace.shadowed(x) for x in arrays]
    with tr.Running(trace, arrays):
        outs = flat(*tracers)
    return flat.out_tree, outs


def digits(fun: Callable[..., R]) -> Callable[..., tuple[R, Any]]:
    """Return a function that returns what ``fun`` does, and how many digits of it are right.

    Every operation is done a second time in higher precision, in loops and branches and derivatives
    too: float64 beside float32, bfloat16 and float16, double-double beside float64, complex128
    beside complex64. Arguments and constants count as exact. Where the values of the two differ in
    a decision, both go on as the program itself does.

    Args:
        fun: the function, with all transformations that it has.

    Returns:
        A function of the same arguments that returns ``(result, digits)``: the second is a tree
        like the result, of float32 arrays of the same shapes. A digit count is between 0 and that
        of the dtype, 7.2 for float32; of an integer or a bool it is infinite where it is right, and
        0 elsewhere. It can be transformed as any function of arrays.

    Raises:
        DtypeError: when called, if an operation computes complex128.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import accuracy
        >>> value, right = accuracy.digits(lambda x: jnp.exp(x) - 1)(1e-5)
        >>> round(float(right), 1)
        2.9
        >>> value, right = accuracy.digits(jnp.expm1)(1e-5)
        >>> round(float(right), 1)
        7.2
    """

    @partial(tracebacks.folded, named=fun)
    def digits_at(*args: Any, **kwargs: Any) -> Any:
        trace = ShadowTrace(tr.current_trace(), fun)
        out_tree, outs = run(trace, fun, args, kwargs)
        right = [digits_of(trace.value(x), trace.parts(x)) for x in outs]
        values = [trace.value(x) for x in outs]
        return tree.unflatten(out_tree, values), tree.unflatten(out_tree, right)

    return digits_at
