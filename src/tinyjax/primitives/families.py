"""Families: whole rule sets for primitives that differ only in a formula.

An elementwise primitive is one declaration: how NumPy computes it, what StableHLO calls it, the
kinds of dtype it takes (``b`` bool, ``i`` and ``u`` integers, ``f`` floats, ``c`` complex), and the
derivative. Operands have equal shapes and dtypes; broadcasting and promotion happen before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.lowering import lower_jaxpr
from tinyjax.core.primitive import (
    NO_PARAMS,
    ZERO,
    MappedAxis,
    NoParams,
    Primitive,
    Tangent,
)
from tinyjax.core.staging import stage
from tinyjax.core.trace import EVAL, bind, bind1, current_trace, evaluate_broadcast
from tinyjax.dtypes import DType, HostArray, HostResult, kind
from tinyjax.errors import DifferentiationError, DtypeError, ShapeError
from tinyjax.primitives.shape import move_batch_axis
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Value, Values

P = TypeVar("P")

HostFunction = Callable[..., HostArray]
#: ``(tangent, result, *operands) -> tangent of the result``.
Derivative = Callable[..., Array]
#: ``(builder, *operands) -> result``.
HloFormula = Callable[..., Value]

_KIND_NAMES = {
    "b": "bool",
    "i": "signed integer",
    "u": "unsigned integer",
    "f": "float",
    "c": "complex",
}


def check_kind(name: str, aval: ShapedArray, kinds: str) -> None:
    """Raise unless the dtype's kind is one of ``kinds``."""
    if kind(aval.dtype) not in kinds:
        raise DtypeError(
            f"{name} does not take {aval.dtype.name}: it takes "
            f"{', '.join(_KIND_NAMES[k] for k in kinds)}. Convert the operand with .astype(...)."
        )


def elementwise_type(name: str, avals: Sequence[ShapedArray], kinds: str) -> ShapedArray:
    """The common type of operands that must have one shape and dtype.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or are not of the kinds taken.
    """
    first = avals[0]
    for aval in avals:
        if aval is first:
            continue
        if aval.shape != first.shape:
            raise ShapeError(
                f"{name} needs operands of one shape, but got {' and '.join(map(str, avals))}. "
                f"The function of tinyjax.numpy broadcasts; this primitive does not."
            )
        if aval.dtype != first.dtype:
            raise DtypeError(
                f"{name} needs operands of one dtype, but got {' and '.join(map(str, avals))}. "
                "The function of tinyjax.numpy promotes; this primitive does not."
            )
    check_kind(name, first, kinds)
    if first.weak_type and not all(a.weak_type for a in avals):
        return first.strip_weak()
    return first


def def_elementwise_batch(primitive: Primitive[P], broadcasts: bool = False) -> None:
    """Register the batch rule of a primitive that works element by element, whatever its arity.

    Args:
        primitive: the primitive.
        broadcasts: whether its ``impl`` rule broadcasts as NumPy does. What has no batch axis is
            then evaluated as it is, beside what has it in front.
    """

    @primitive.def_batch
    def elementwise_batch(
        mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: P
    ) -> tuple[Sequence[Array], Sequence[int | None]]:
        first = axes[0]
        axis = first if first is not None else next(a for a in axes if a is not None)
        if len(values) > 1:
            if broadcasts and axis == 0 and current_trace() is EVAL:
                # where a type is weak, types are worked out too, from operands of one shape
                for x, a in zip(values, axes, strict=True):
                    if x.weak_type or (a is not None and a != 0):
                        break
                else:
                    return (evaluate_broadcast(primitive, values, params),), (0,)
            # a loop runs faster than a comprehension's frame
            moved: list[Array] = []
            for x, a in zip(values, axes, strict=True):
                moved.append(x if a == axis else move_batch_axis(x, a, axis, mapped.size))
            values = moved
        outs = bind(primitive, values, params)
        return outs, [axis] * len(outs)


def def_elementwise_lowering(primitive: Primitive[P], hlo: str | HloFormula) -> None:
    """Register the lowering to one operation without attributes, or by a formula."""
    if isinstance(hlo, str):
        primitive.def_lowering(lambda b, operands, params: b.emit(hlo, operands, b.results))
    else:
        primitive.def_lowering(lambda b, operands, params: (hlo(b, *operands),))


def composed(fun: Callable[..., Array]) -> HloFormula:
    """Make a formula of StableHLO of a function that applies other primitives.

    Args:
        fun: takes the operands, and returns the one result.
    """

    def formula(b: Lowering, *operands: Value) -> Value:
        (out,) = lower_formula(b, lambda *xs: [fun(*xs)], operands)
        return out

    return formula


def lower_formula(b: Lowering, fun: Callable[..., Sequence[Array]], operands: Values) -> Values:
    """Write what a function does with other primitives.

    Args:
        b: where.
        fun: takes and returns arrays.
        operands: its arguments.
    """
    staged = stage(fun, [ShapedArray(x.shape, x.dtype) for x in operands], fun)
    assert not staged.consts, "the formula of a lowering holds scalars only"
    return lower_jaxpr(b, staged.jaxpr, operands)


def unary(
    name: str,
    impl: HostFunction,
    hlo: str | HloFormula,
    kinds: str,
    derivative: Derivative | None,
    result: Callable[[DType], DType] | None = None,
) -> Primitive[NoParams]:
    """Declare an elementwise primitive with one operand.

    Args:
        name: the primitive's name.
        impl: the NumPy function.
        hlo: the StableHLO (or CHLO) operation, or ``(builder, *operands) -> result``.
        kinds: the kinds of dtype it takes.
        derivative: ``(tangent, out, x) -> tangent``; None where the derivative is zero everywhere.
        result: the dtype of the result; that of the operand by default.
    """
    primitive: Primitive[NoParams] = Primitive(name, NoParams)

    @primitive.def_impl
    def unary_impl(operands: Sequence[HostArray], params: NoParams) -> Sequence[HostResult]:
        return (impl(operands[0]),)

    @primitive.def_abstract_eval
    def unary_type(avals: Sequence[ShapedArray], params: NoParams) -> Sequence[ShapedArray]:
        (x,) = avals
        if kind(x.dtype) not in kinds:
            check_kind(name, x, kinds)
        if result is None:
            return (x,)
        dtype = result(x.dtype)
        return (ShapedArray(x.shape, dtype, x.weak_type and dtype == x.dtype),)

    def_elementwise_lowering(primitive, hlo)

    @primitive.def_jvp
    def unary_jvp(
        primals: Sequence[Array], tangents: Sequence[Tangent], params: NoParams
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        (x,), (t,) = primals, tangents
        out = bind1(primitive, primals, params)
        if t is ZERO or derivative is None:
            return (out,), (ZERO,)
        return (out,), (derivative(t, out, x),)

    def_elementwise_batch(primitive)
    return primitive


def binary(
    name: str,
    impl: HostFunction,
    hlo: str | HloFormula,
    kinds: str,
    derivatives: tuple[Derivative, Derivative] | None,
    broadcasts: bool = False,
) -> Primitive[NoParams]:
    """Declare an elementwise primitive with two operands of one type.

    Args:
        name: the primitive's name.
        impl: the NumPy function.
        hlo: the StableHLO (or CHLO) operation, or ``(builder, *operands) -> result``.
        kinds: the kinds of dtype it takes.
        derivatives: for each operand ``(tangent, out, x, y) -> tangent``; None where both are zero.
        broadcasts: whether ``impl`` broadcasts, as NumPy's own functions do.
    """
    primitive: Primitive[NoParams] = Primitive(name, NoParams)

    @primitive.def_impl
    def binary_impl(operands: Sequence[HostArray], params: NoParams) -> Sequence[HostResult]:
        return (impl(operands[0], operands[1]),)

    @primitive.def_abstract_eval
    def binary_type(avals: Sequence[ShapedArray], params: NoParams) -> Sequence[ShapedArray]:
        x, y = avals
        if x is y and kind(x.dtype) in kinds:  # nearly always
            return (x,)
        return (elementwise_type(name, avals, kinds),)

    def_elementwise_lowering(primitive, hlo)

    @primitive.def_jvp
    def binary_jvp(
        primals: Sequence[Array], tangents: Sequence[Tangent], params: NoParams
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        (x, y), (tx, ty) = primals, tangents
        out = bind1(primitive, primals, params)
        if derivatives is None:
            return (out,), (ZERO,)
        total: Tangent = ZERO
        if tx is not ZERO:
            total = derivatives[0](tx, out, x, y)
        if ty is not ZERO:
            second = derivatives[1](ty, out, x, y)
            total = second if total is ZERO else add_arrays(total, second)
        return (out,), (total,)

    def_elementwise_batch(primitive, broadcasts or isinstance(impl, np.ufunc))
    return primitive


_adder: list[Primitive[NoParams]] = []


def declare_addition(primitive: Primitive[NoParams]) -> None:
    """Name the primitive that adds tangents; elementwise.add_p, declared with these families."""
    _adder.append(primitive)


def add_arrays(x: Array, y: Array) -> Array:
    """Add two tangents of one type."""
    return bind1(_adder[0], (x, y), NO_PARAMS)


def not_linear(primitive: str, operand: str) -> DifferentiationError:
    """The error of a transpose rule that is asked about an operand it is not linear in."""
    return DifferentiationError(
        f"'{primitive}' is not linear in {operand}, so it has no transpose there. A function "
        "given to "
        "a transposition must be linear in the arguments that are transposed."
    )


def add_tangents(x: Tangent, y: Tangent) -> Tangent:
    """Add two tangents, either of which may be ``ZERO``."""
    if x is ZERO:
        return y
    if y is ZERO:
        return x
    return add_arrays(x, y)
