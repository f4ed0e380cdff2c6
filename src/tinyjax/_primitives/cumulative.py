"""Running sums, products, extrema and logarithms of sums along an axis.

All are the loop ``y[i] = combine(y[i - 1], x[i])``. Their derivatives need the linear recurrence
``y[i] = a[i] * y[i - 1] + b[i]``, whose own derivative and transpose are again such recurrences.
That keeps every derivative, of any order, linear in the length, and right at zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.primitives import (
    elementwise as ew,
    families,
    identities,
    rules,
    shape as sh,
    slicing,
)
from tinyjax.core.primitives.broadcast import Combine, accumulator
from tinyjax.core.primitives.reduce import highest, lowest
from tinyjax.core.stablehlo import SSAValue, Values, builder, types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import Primitive, primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av, operands as opd


@attrs.frozen(eq=False, repr=False)
class CumulativeParams(prim.Params):
    """The axis, and whether to run along it from the end."""

    axis: int
    reverse: bool


def _check_axis(name: str, x: av.ShapedArray, axis: int) -> None:
    if not 0 <= axis < x.ndim:
        raise errors.ShapeError(f"{name} needs an axis of {x.shape}, but got {axis}.")


def _carrier(dtype: dtypes.DType) -> dtypes.DType:
    """Return the dtype in which a running result is kept: of 64 bits, or 1s end at ``2**24``."""
    if not dtypes.is_inexact(dtype):
        return dtype
    return dtypes.complex128 if dtypes.is_complex(dtype) else dtypes.float64


_BLOCK: Final = 1 << 16


def _accumulated(
    fun: np.ufunc, x: dtypes.HostArray, axis: int, wide: dtypes.DType
) -> dtypes.HostArray:
    """Accumulate in a wider dtype, by blocks that stay in the processor's cache."""
    out = opd.memory(x.shape, x.dtype)
    rows, outs = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
    step = max(1, _BLOCK * len(rows) // max(x.size, 1))
    block = np.empty((min(step, len(rows)), *rows.shape[1:]), wide)
    for start in range(0, len(rows), step):
        part, last = block[: len(rows) - start], block[-1:].copy()
        part[...] = rows[start : start + step]
        if start:
            fun(last, part[:1], part[:1])
        fun.accumulate(part, 0, wide, part)
        outs[start : start + step] = part
    return out


def _lower_loop(
    b: Lowering,
    operands: Values,
    params: CumulativeParams,
    start: builder.Scalar,
    combine: Callable[..., SSAValue],
    wide: dtypes.DType,
) -> SSAValue:
    """Write a loop along the axis that carries the last result.

    A loop that writes slices in place runs faster than a window reduction, and compiles much faster
    than pairwise combination.

    Args:
        b: where.
        operands: the arrays.
        params: the axis, and the way along it.
        start: what is carried at first.
        combine: writes the next result: of the builder, the last one and an element of each array.
        wide: the dtype that it carries.
    """
    x = operands[0]
    axis, n = params.axis, x.shape[params.axis]
    if not x.size:
        return x
    part = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    # XLA converts whole arrays of bfloat16 in each iteration
    stored = dtypes.float32 if dtypes.is_extended(x.dtype) else x.dtype
    counting = dtypes.int32 if n < 2**31 else dtypes.int64

    def count(value: int) -> SSAValue:
        return b.scalar(value, counting)

    def body(args: list[SSAValue]) -> Values:
        step, last, out, *arrays = args
        place = b.sub(count(n - 1), step) if params.reverse else step
        starts = [place if i == axis else count(0) for i in range(x.ndim)]
        elements = [b.convert(b.dynamic_slice(a, starts, part), wide) for a in arrays]
        result = combine(b, last, *elements)
        out = b.dynamic_update_slice(out, b.convert(result, stored), starts)
        return [b.add(step, count(1)), result, out, *arrays]

    arrays = [b.convert(a, stored) for a in operands]
    initial = (count(0), b.full(start, hlo.tensor(part, wide)), b.full_like(arrays[0], 0), *arrays)
    out = b.while_(initial, lambda args: [b.compare(args[0], count(n), "LT")], body)[2]
    return b.convert(out, x.dtype)


def _def_batch(primitive: Primitive[CumulativeParams]) -> None:
    """Register a batch rule that leaves the batch axis where it is."""

    @primitive.def_batch
    def batch(
        mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: CumulativeParams
    ) -> prim.BatchResult:
        axis = next(a for a in axes if a is not None)
        moved = [
            x if a == axis else sh.move_batch_axis(x, a, axis, mapped.size)
            for x, a in zip(values, axes, strict=True)
        ]
        inner = CumulativeParams(params.axis + (axis <= params.axis), params.reverse)
        return (tr.bind1(primitive, moved, inner),), (axis,)


# The linear recurrence y[i] = a[i] * y[i - 1] + b[i], from y[-1] = 0

linear_recurrence_p: Final = Primitive("linear_recurrence", CumulativeParams, repeatable=True)
prim.mark(prim.MATERIALIZES, False, linear_recurrence_p)

_FEW = 16


@linear_recurrence_p.def_impl
def _recurrence_impl(operands: prim.Hosts, params: CumulativeParams) -> prim.Hosts:
    a, b = (np.moveaxis(x, params.axis, 0) for x in operands)
    if params.reverse:
        a, b = a[::-1], b[::-1]
    shape = b.shape
    columns = prod(shape[1:])
    out = np.empty(shape, b.dtype)
    if 0 < columns <= _FEW and b.dtype.kind in "fc":
        # Few long columns: Python's numbers are faster than an operation of NumPy for each row.
        flat = out.reshape(-1, columns)
        for j in range(columns):
            left = a.reshape(-1, columns)[:, j].tolist()
            right = b.reshape(-1, columns)[:, j].tolist()
            pairs = zip(left, right, strict=True)
            ys = accumulate(pairs, lambda y, ab: ab[0] * y + ab[1], initial=0.0)
            next(ys)
            flat[:, j] = np.array(list(ys), np.result_type(b.dtype, np.float64))
    else:
        wide = _carrier(b.dtype)
        y = np.zeros(shape[1:], wide)
        for i in range(shape[0]):
            y = a[i].astype(wide) * y + b[i].astype(wide)
            out[i] = y
    if params.reverse:
        out = out[::-1]
    return (np.moveaxis(out, 0, params.axis),)


@linear_recurrence_p.def_abstract_eval
def _recurrence_type(avals: prim.Avals, params: CumulativeParams) -> prim.Avals:
    x = families.elementwise_type("linear_recurrence", avals, "fc")
    _check_axis("linear_recurrence", x, params.axis)
    return (x,)


@linear_recurrence_p.def_lowering
def _recurrence_lowering(b: Lowering, operands: Values, params: CumulativeParams) -> Values:
    def combine(b: Lowering, last: SSAValue, factor: SSAValue, term: SSAValue) -> SSAValue:
        return b.add(b.mul(factor, last), term)

    return (_lower_loop(b, operands, params, 0, combine, _carrier(b.results[0].dtype)),)


@linear_recurrence_p.def_jvp
def _recurrence_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: CumulativeParams
) -> prim.JvpResult:
    (a, b), (ta, tb) = primals, tangents
    out = tr.bind1(linear_recurrence_p, primals, params)
    driven: prim.Tangent = prim.ZERO if ta is prim.ZERO else ew.mul(ta, _shifted(out, params, 0))
    driven = rules.instantiate(rules.add_tangents(driven, tb), b)
    return (out,), (tr.bind1(linear_recurrence_p, (a, driven), params),)


def _into_driving(ct: Array, a: Array, b: prim.UndefinedPrimal, params: CumulativeParams) -> Array:
    backwards = CumulativeParams(params.axis, not params.reverse)
    # y[i] enters y[i + 1] with a[i + 1]; the last one enters nothing
    return tr.bind1(linear_recurrence_p, (_shifted(a, backwards, 0), ct), backwards)


rules.def_transposes(linear_recurrence_p, "the coefficients", _into_driving)


_def_batch(linear_recurrence_p)


def linear_recurrence(a: Array, b: Array, axis: int, reverse: bool = False) -> Array:
    """Return ``y`` with ``y[i] = a[i] * y[i - 1] + b[i]`` along an axis, starting from zero.

    Args:
        a: floats or complex numbers.
        b: of ``a``'s type.
        axis: counted from the front.
        reverse: whether to run from the end: ``y[i] = a[i] * y[i + 1] + b[i]``.

    Raises:
        ShapeError: the shapes differ, or there is no such axis.
        DtypeError: the dtypes differ, or are not inexact.
    """
    return tr.bind1(linear_recurrence_p, (a, b), CumulativeParams(axis, reverse))


def _shifted(x: Array, params: CumulativeParams, first: bool | int | float) -> Array:
    """Return the element before each one along the axis, in the direction of the recurrence."""
    by = -1 if params.reverse else 1
    return slicing.pad_in_dim(x, by, -by, params.axis, first) if x.shape[params.axis] else x


# The family


def cumulative(
    name: str,
    fun: np.ufunc,
    combine: Combine,
    kinds: str,
    start: Callable[[dtypes.DType], builder.Scalar],
    derivative: rules.Derivative | None,
    compares: bool = False,
) -> Primitive[CumulativeParams]:
    """Declare ``y[i] = combine(y[i - 1], x[i])`` along an axis.

    Args:
        name: the primitive's name.
        fun: NumPy's function of two operands.
        combine: writes the operation on slices.
        kinds: the kinds of dtype it takes.
        start: what stands before the first element, by dtype.
        derivative: ``(tangent, out, x, params) -> tangent``; None where it is linear.
        compares: whether that compares elements with the result.
    """
    primitive = Primitive(name, CumulativeParams, repeatable=True)
    prim.mark(prim.MATERIALIZES, False, primitive)
    carrier = accumulator if compares else _carrier

    def kernel(dtype: dtypes.DType, shape: tuple[int, ...], axis: int) -> Callable[..., Any]:
        wide = carrier(dtype)
        if prod(shape) < prim.MANY:
            return lambda x: fun.accumulate(x, axis, wide).astype(dtype, copy=False)
        if wide != dtype:
            return lambda x: _accumulated(fun, x, axis, wide)
        return lambda x: fun.accumulate(x, axis, dtype, opd.memory(shape, dtype))

    @primitive.def_impl
    def cumulative_impl(operands: prim.Hosts, params: CumulativeParams) -> prim.Hosts:
        (x,) = operands
        ordered = np.flip(x, params.axis) if params.reverse else x
        out = kernel(ordered.dtype, ordered.shape, params.axis)(ordered)
        return (np.flip(out, params.axis) if params.reverse else out,)

    @primitive.def_host
    def cumulative_host(avals: prim.Avals, params: CumulativeParams) -> prim.Kernel | None:
        return None if params.reverse else kernel(avals[0].dtype, avals[0].shape, params.axis)

    @primitive.def_abstract_eval
    def cumulative_type(avals: prim.Avals, params: CumulativeParams) -> prim.Avals:
        (x,) = avals
        rules.check_kind(name, x, kinds)
        _check_axis(name, x, params.axis)
        return (x,)

    @primitive.def_lowering
    def cumulative_lowering(b: Lowering, operands: Values, params: CumulativeParams) -> Values:
        dtype = operands[0].dtype
        return (_lower_loop(b, operands, params, start(dtype), combine, carrier(dtype)),)

    if derivative is None:
        rules.def_linear(primitive, repeats=True)
    else:
        rules.def_derivatives(primitive, derivative, prepare=identities.once if compares else None)
    _def_batch(primitive)
    return primitive


def _cumprod_derivative(t: Array, out: Array, x: Array, params: CumulativeParams) -> Array:
    # y[i] = x[i] * y[i - 1], so that dy[i] = x[i] * dy[i - 1] + y[i - 1] * dx[i]
    driven = ew.mul(t, _shifted(out, params, 1))
    # the first element multiplies no tangent: were it infinite, not even that of zero
    factors = ew.select(_is_first(x, params), sh.zeros_like(x), x)
    return linear_recurrence(factors, driven, params.axis, params.reverse)


def _is_first(x: Array, params: CumulativeParams) -> Array:
    """Return the mask of the first elements along the axis, in the direction of the recurrence."""
    places = sh.iota(x.shape, dtypes.int32, params.axis)
    return ew.eq(places, sh.full_like(places, x.shape[params.axis] - 1 if params.reverse else 0))


def _extremum_derivative(t: Array, out: Array, x: Array, params: CumulativeParams) -> Array:
    # the tangent is the mean of those of the elements that are equal to the extremum so far
    first = _is_first(x, params)
    stays = ew.and_(ew.eq(out, _shifted(out, params, 0)), ew.not_(first))
    takes_part = ew.or_(ew.eq(x, out), first)
    wide = _carrier(x.dtype)  # what stays is 1 - 1 / n for n ties
    stay, takes_part = [ew.convert_element_type(mask, wide) for mask in (stays, takes_part)]
    count = linear_recurrence(stay, takes_part, params.axis, params.reverse)
    some = ew.max_(count, sh.full_like(count, 1))  # NaN equals nothing
    keeps = ew.div(ew.mul(stay, _shifted(count, params, 0)), some)
    driven = ew.mul(ew.convert_element_type(t, wide), ew.div(takes_part, some))
    mean = linear_recurrence(keeps, driven, params.axis, params.reverse)
    return ew.convert_element_type(mean, x.dtype)


def _cumlogsumexp_derivative(t: Array, out: Array, x: Array, params: CumulativeParams) -> Array:
    # the weights exp(y[i - 1] - y[i]) and exp(x[i] - y[i]); all zero where y is -inf
    dtype = x.dtype
    # of n equal terms the weights are 1 - 1 / n and 1 / n
    t, out, x = [ew.convert_element_type(z, _carrier(dtype)) for z in (t, out, x)]
    before, zero = _shifted(out, params, -float("inf")), sh.zeros_like(out)
    nothing = ew.eq(out, sh.full_like(out, -float("inf")))
    keep = ew.select(nothing, zero, ew.exp_share(before, x))
    take = ew.select(nothing, zero, ew.exp_share(x, before))
    mean = linear_recurrence(keep, ew.mul(t, take), params.axis, params.reverse)
    return ew.convert_element_type(mean, dtype)


cumsum_p: Primitive[CumulativeParams] = cumulative(
    "cumsum",
    np.add,
    Lowering.add,
    "iufc",
    lambda _: 0,
    None,
)
cumprod_p: Primitive[CumulativeParams] = cumulative(
    "cumprod",
    np.multiply,
    Lowering.mul,
    "iufc",
    lambda _: 1,
    _cumprod_derivative,
)
cummax_p: Primitive[CumulativeParams] = cumulative(
    "cummax", np.maximum, Lowering.max, "biufc", lowest, _extremum_derivative, True
)
cummin_p: Primitive[CumulativeParams] = cumulative(
    "cummin", np.minimum, Lowering.min, "biufc", highest, _extremum_derivative, True
)
cumlogsumexp_p: Primitive[CumulativeParams] = cumulative(
    "cumlogsumexp",
    np.logaddexp,
    ew.lower_logaddexp,
    "f",
    lowest,
    _cumlogsumexp_derivative,
)


rules.def_transposes(cumsum_p, lambda ct, x, params: cumsum(ct, params.axis, not params.reverse))


def cumsum(x: Array, axis: int, reverse: bool = False) -> Array:
    """Return the running sum along an axis, in ``x``'s dtype; from the end if ``reverse``."""
    return tr.bind1(cumsum_p, (x,), CumulativeParams(axis, reverse))


def cumprod(x: Array, axis: int, reverse: bool = False) -> Array:
    """Return the running product along an axis, in ``x``'s dtype; from the end if ``reverse``."""
    return tr.bind1(cumprod_p, (x,), CumulativeParams(axis, reverse))


def cummax(x: Array, axis: int, reverse: bool = False) -> Array:
    """Return the greatest element so far along an axis; from the end if ``reverse``."""
    return tr.bind1(cummax_p, (x,), CumulativeParams(axis, reverse))


def cummin(x: Array, axis: int, reverse: bool = False) -> Array:
    """Return the least element so far along an axis; from the end if ``reverse``."""
    return tr.bind1(cummin_p, (x,), CumulativeParams(axis, reverse))


def cumlogsumexp(x: Array, axis: int, reverse: bool = False) -> Array:
    """Return ``log(cumsum(exp(x)))`` along an axis, safe from overflow; optionally from the end."""
    return tr.bind1(cumlogsumexp_p, (x,), CumulativeParams(axis, reverse))
