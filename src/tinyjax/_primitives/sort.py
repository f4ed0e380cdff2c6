"""Sorting several arrays together, and the largest elements of one.

Floats are ordered with NaN last (all NaN equal, whatever their sign) and both zeros equal, though
in an array sorted alone ``-0.0`` comes first; complex numbers by their real part, then their
imaginary part. Both are linear once the order is known: a tangent is gathered with the indices
that sorted its primal.

XLA and NumPy sort plain integers several times faster than anything else. So floats are sorted as
integers in the order of their values. Operands along with a key of up to 32 bits are gathered by
indices, which were sorted in the low bits below the key. On one core, 10^6 elements:

====================  ==========  ================  =====  =====================
ms                    XLA, plain  XLA, as integers  NumPy  NumPy, as integers
====================  ==========  ================  =====  =====================
float32                      190                40    2.6  (the same)
float32 and indices          180                38     90                     11
====================  ==========  ================  =====  =====================
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._primitives import gather_scatter, modes
from tinyjax.core.primitives import shape as sh
from tinyjax.core.primitives.rules import check_kind
from tinyjax.core.stablehlo import Lowering, SSAValue, Values, types as hlo
from tinyjax.core.stablehlo.builder import Block
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av, integers as ints, operands as opd


@attrs.frozen(eq=False, repr=False)
class SortParams(prim.Params):
    """The axis; how many operands, the first ones, are compared; whether ties keep their order."""

    axis: int
    num_keys: int
    is_stable: bool


sort_p: Final = prim.Primitive("sort", SortParams, orders=True, repeatable=True)


def _comparable(x: dtypes.HostArray) -> list[dtypes.HostArray]:
    """Return the real arrays that NumPy compares in place of a key, most significant first."""
    if dtypes.is_complex(x.dtype):
        return [x.real, x.imag]
    if dtypes.is_extended(x.dtype):
        return [x.astype(np.float32)]
    return [x]


_FEW: Final = 2000
#: Real types of NumPy's own.
_NATIVE: Final = frozenset("?bhilqBHILQefd")


def _order(keys: Sequence[dtypes.HostArray], axis: int) -> dtypes.HostArray:
    """Return the indices that sort the keys, first key first, stably."""
    parts = [part for key in keys for part in _comparable(key)]
    if len(parts) > 1:
        return np.asarray(np.lexsort(parts[::-1], axis))
    (x,) = parts
    if x.size <= _FEW or x.dtype.itemsize > 4:
        return np.argsort(x, axis, kind="stable")
    packed = _ordinal(x).astype(np.int64) << 32
    places = np.arange(x.shape[axis])
    packed |= places.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    packed.sort(axis)
    return packed & 0xFFFFFFFF


def _ordinal(x: dtypes.HostArray) -> dtypes.HostArray:
    """Return integers in the order of the elements, equal for equal ones."""
    match x.dtype.kind:
        case "f":
            x = np.where(x == 0, x.dtype.type(0), x)
            x = np.where(np.isnan(x), x.dtype.type(np.nan), x)
            return _total_order(x)
        case "u":  # the low half of the numbers goes below zero, so that 32 bits suffice
            return x.astype(np.int64) - (1 << (8 * x.dtype.itemsize - 1))
        case _:
            return x


def _total_order(x: dtypes.HostArray) -> dtypes.HostArray:
    """Signed integers in IEEE 754's total order of floats, in which -0 is less than 0.

    It is the order of the bits as integers, once those of negative numbers are inverted.
    """
    return _invert_negative(x.view(f"i{x.dtype.itemsize}"))


def _invert_negative(bits: dtypes.HostArray) -> dtypes.HostArray:
    """Invert all bits but the sign of negative integers; done twice, it does nothing."""
    inverted = bits >> (8 * bits.dtype.itemsize - 1)  # a selection takes ten times as long
    inverted &= np.iinfo(bits.dtype).max
    inverted ^= bits
    return inverted


#: By the size of floats, integers of that size, and -0.0 as one: the least.
_NEGATIVE_ZEROS: Final = {n: (np.dtype(f"i{n}"), np.iinfo(f"i{n}").min) for n in (1, 2, 4, 8)}


def _has_negative_zero(x: dtypes.HostArray) -> bool:
    signed, bits = _NEGATIVE_ZEROS[x.dtype.itemsize]
    return x.size > 0 and bool(np.minimum.reduce(x.view(signed), None) == bits)


@sort_p.def_impl
def _sort_impl(operands: prim.Hosts, params: SortParams) -> prim.Hosts:
    x = operands[0]
    if len(operands) == 1 and not dtypes.is_complex(x.dtype):
        (x,) = _comparable(x)
        if x.dtype.kind == "f" and _has_negative_zero(x):
            one_nan = np.where(np.isnan(x), x.dtype.type(np.nan), x)
            ordered = np.sort(_total_order(one_nan), params.axis)
            out = _invert_negative(ordered).view(x.dtype)
        else:
            out = opd.copied(x, x.dtype)
            out.sort(params.axis)
        return (out.astype(operands[0].dtype, copy=False),)
    if params.num_keys == x.ndim == 1 and x.size <= _FEW and x.dtype.char in _NATIVE:
        order = x.argsort(kind="stable")  # what follows would have to find that out
        return [y[order] for y in operands]
    order = _order(operands[: params.num_keys], params.axis)
    if order.ndim == 1:
        return [x[order] for x in operands]
    return [np.take_along_axis(x, order, params.axis) for x in operands]


@sort_p.def_host
def _sort_host(avals: prim.Avals, params: SortParams) -> prim.Kernel | None:
    x, axis = avals[0], params.axis
    if len(avals) > 1 or not x.size or dtypes.is_complex(x.dtype) or dtypes.is_extended(x.dtype):
        return None
    is_float = x.dtype.kind == "f"

    def ordered_line(host: dtypes.HostArray) -> dtypes.HostResult:
        out = opd.copied(host, host.dtype)
        out.sort()
        # of numbers in order the first zero is found in no time
        first = out.searchsorted(zero)
        if first < size and not out[first]:
            (result,) = _sort_impl((host,), params)
            return result
        return out

    if is_float and x.ndim == 1:
        zero, size = np.zeros((), x.dtype), x.size
        return ordered_line

    def ordered(host: dtypes.HostArray) -> dtypes.HostResult:
        if is_float and _has_negative_zero(host):
            (result,) = _sort_impl((host,), params)
            return result
        out = opd.copied(host, host.dtype)
        out.sort(axis)
        return out

    return ordered


@sort_p.def_abstract_eval
def _sort_type(avals: prim.Avals, params: SortParams) -> prim.Avals:
    first = avals[0]
    if any(a.shape != first.shape for a in avals):
        raise errors.ShapeError(
            f"sort needs operands of one shape, but got {' and '.join(map(str, avals))}."
        )
    if not 0 <= params.axis < first.ndim:
        raise errors.ShapeError(f"sort needs an axis of {first.shape}, but got {params.axis}.")
    if not 1 <= params.num_keys <= len(avals):
        raise errors.ArgumentError(
            f"sort of {len(avals)} operands needs from 1 to {len(avals)} keys, but got "
            f"num_keys={params.num_keys}."
        )
    for key in avals[: params.num_keys]:
        check_kind("sort", key, "biufc")
    return list(avals)


@sort_p.def_lowering
def _sort_lowering(b: Lowering, operands: Values, params: SortParams) -> Values:
    key = operands[0]
    if not key.size:
        return operands
    if params.num_keys == 1 and not dtypes.is_complex(key.dtype):
        if len(operands) == 1:
            return (_lower_sort_alone(b, key, params.axis),)
        if key.dtype.itemsize <= 4:
            return _lower_sort_packed(b, operands, params.axis)

    def less(args: list[SSAValue]) -> Values:
        pairs: list[tuple[SSAValue, SSAValue]] = []
        for x, y in zip(args[: 2 * params.num_keys : 2], args[1::2], strict=False):
            if dtypes.is_complex(x.dtype):
                pairs += [(b.real(x), b.real(y)), (b.imag(x), b.imag(y))]
            else:
                pairs.append((x, y))
        return [_lower_less(b, pairs)]

    return _lower_sort(b, operands, params.axis, params.is_stable, less)


def _lower_sort(b: Lowering, operands: Values, axis: int, stable: bool, less: Block) -> Values:
    """Sort arrays together by a comparison of two scalars of each."""
    scalars = [hlo.tensor((), x.dtype) for x in operands for _ in range(2)]
    attributes = {"dimension": hlo.integer(axis), "is_stable": hlo.boolean(stable)}
    types = [x.type for x in operands]
    return b.emit("stablehlo.sort", operands, types, attributes, (b.region(scalars, less),))


def _lower_sort_alone(b: Lowering, x: SSAValue, axis: int) -> SSAValue:
    """Sort one real array; floats as integers."""
    if not dtypes.is_float(x.dtype):
        return _lower_sort_integers(b, x, axis)
    ieee = _lower_ieee(b, x)
    bits = _lower_sort_integers(b, _lower_total_order(b, ieee, one_zero=False), axis)
    return b.convert(b.bitcast(_lower_invert_negative(b, bits), ieee.dtype), x.dtype)


def _lower_sort_packed(b: Lowering, operands: Values, axis: int) -> Values:
    """Sort indices below a key of at most 32 bits, and gather every operand by them."""
    key = ordinal = operands[0]
    if dtypes.is_float(key.dtype):
        ordinal = _lower_total_order(b, _lower_ieee(b, key), one_zero=True)
    packed = b.convert(ordinal, dtypes.int64)
    if key.dtype == dtypes.uint32:  # the low half goes below zero, so that 32 bits suffice
        packed = b.sub(packed, b.full_like(packed, 1 << 31))
    packed = b.shift_left(packed, b.full_like(packed, 32))
    packed = b.or_(packed, b.iota(packed.type, axis))
    packed = _lower_sort_integers(b, packed, axis)
    order = b.convert(b.and_(packed, b.full_like(packed, 0xFFFFFFFF)), dtypes.uint32)
    others = [i for i in range(key.ndim) if i != axis]
    numbers = (
        f"#stablehlo.gather<collapsed_slice_dims = [{axis}], "
        f"operand_batching_dims = {others}, start_indices_batching_dims = {others}, "
        f"start_index_map = [{axis}], index_vector_dim = {key.ndim}>"
    )
    sizes = hlo.int_array([1] * key.ndim)
    return [
        b.op("stablehlo.gather", x, order, dimension_numbers=numbers, slice_sizes=sizes)
        for x in operands
    ]


def _lower_sort_integers(b: Lowering, x: SSAValue, axis: int) -> SSAValue:
    """Sort with the one comparison that XLA knows how to do fast."""
    (out,) = _lower_sort(b, (x,), axis, True, lambda pair: [b.compare(pair[0], pair[1], "LT")])
    return out


def _lower_ieee(b: Lowering, x: SSAValue) -> SSAValue:
    """Convert float8, whose formats have NaN and zeros in other places, to float32."""
    return b.convert(x, dtypes.float32) if x.dtype in dtypes.FLOAT8 else x


def _lower_total_order(b: Lowering, x: SSAValue, one_zero: bool) -> SSAValue:
    """Convert floats to integers in their order: one NaN, the greatest; optionally one zero."""
    x = b.select(b.compare(x, x, "NE"), b.full_like(x, float("nan")), x)
    if one_zero:
        zero = b.full_like(x, 0.0)
        x = b.select(b.compare(x, zero, "EQ"), zero, x)
    return _lower_invert_negative(b, b.bitcast(x, np.dtype(f"i{x.dtype.itemsize}")))


def _lower_invert_negative(b: Lowering, bits: SSAValue) -> SSAValue:
    """Invert all bits but the sign of negative integers; done twice, it does nothing."""
    width = 8 * bits.dtype.itemsize
    sign = b.shift_right_arithmetic(bits, b.full_like(bits, width - 1))
    return b.xor(bits, b.and_(sign, b.full_like(bits, (1 << (width - 1)) - 1)))


def _lower_less(b: Lowering, pairs: Sequence[tuple[SSAValue, SSAValue]]) -> SSAValue:
    """Write the lexicographic comparison of two rows of real scalars, with NaN the greatest."""

    def less(x: SSAValue, y: SSAValue) -> SSAValue:
        smaller = b.compare(x, y, "LT")
        if not dtypes.is_float(x.dtype):
            return smaller
        return b.or_(smaller, b.and_(b.compare(x, x, "EQ"), b.compare(y, y, "NE")))

    *first, last = pairs
    result = less(*last)
    for x, y in reversed(first):
        result = b.or_(less(x, y), b.and_(b.not_(less(y, x)), result))
    return result


@sort_p.def_jvp
def _sort_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: SortParams) -> prim.JvpResult:
    places = sh.iota(primals[0].shape, dtypes.int32, params.axis)
    *outs, order = tr.bind(sort_p, (*primals, places), params)
    return outs, [t if t is prim.ZERO else _permuted(t, order, params.axis) for t in tangents]


sh.def_simple_batch(sort_p, lambda params, size: attrs.evolve(params, axis=params.axis + 1))


def sort(
    operands: Sequence[Array], axis: int, num_keys: int = 1, is_stable: bool = True
) -> Sequence[Array]:
    """Sort arrays along an axis, all by the order of the first ``num_keys`` of them.

    Args:
        operands: at least one array; all of the same shape, of any dtypes.
        axis: counted from the front.
        num_keys: how many operands are compared; later ones decide where earlier ones are equal.
        is_stable: whether elements with equal keys keep their order.

    Returns:
        As many arrays as operands, each permuted in the same way.

    Raises:
        ShapeError: the shapes differ, or there is no such axis.
        ArgumentError: there are fewer operands than keys.
    """
    params = SortParams(axis, ints.integer(num_keys, "num_keys"), is_stable)
    return tr.bind(sort_p, tuple(operands), params)


def _permuted(x: Array, order: Array, axis: int) -> Array:
    """Take the elements along an axis at distinct places, for each of the other axes its own."""
    if not order.size:
        return sh.full(order.shape, 0, x.dtype)
    others = tuple(i for i in range(x.ndim) if i != axis)
    numbers = gather_scatter.GatherDimensionNumbers((), (axis,), (axis,), others, others)
    places = sh.expand_dims(order, (order.ndim,))
    mode = modes.GatherScatterMode.PROMISE_IN_BOUNDS
    params = gather_scatter.GatherParams(numbers, (1,) * x.ndim, mode, unique_indices=True)
    return tr.bind1(gather_scatter.gather_p, (x, places), params)


# top_k: along the last axis


@attrs.frozen(eq=False, repr=False)
class TopKParams(prim.Params):
    """The number of elements to return."""

    k: int


top_k_p: Final = prim.Primitive("top_k", TopKParams, orders=True, repeatable=True)
prim.mark(prim.MATERIALIZES, False, sort_p, top_k_p)


@top_k_p.def_impl
def _top_k_impl(operands: prim.Hosts, params: TopKParams) -> prim.Hosts:
    (x,) = operands
    # XLA's top_k takes floats in their total order, signs of zeros and of NaN included
    (y,) = _comparable(x)
    order = _greatest(y, params.k)
    if order is None:
        order = _order([~_as_integers(y)], y.ndim - 1)[..., : params.k]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


def _as_integers(x: dtypes.HostArray) -> dtypes.HostArray:
    return _total_order(x) if x.dtype.kind == "f" else x


def _greatest(x: dtypes.HostArray, k: int) -> dtypes.HostArray | None:
    """Return the indices of the greatest numbers along the last axis, in descending order, stably.

    Returns:
        None where to sort all is as fast: k is not small, or very many are equal.
    """
    n = x.shape[-1]
    if x.size <= _FEW or not 0 < 16 * k <= n:
        return None
    num_sets = isqrt(n * k)
    rows, end = x.reshape(-1, n), n - n % num_sets
    # at least k are as great as the k-th greatest of the maxima of disjoint sets
    maxima = rows[:, :end].reshape(len(rows), -1, num_sets).max(1)
    if np.isnan(maxima).any() or np.isnan(rows[:, end:]).any():
        return _greatest(_total_order(x), k)
    least = np.partition(maxima, num_sets - k)[:, num_sets - k, None]
    row, place = np.nonzero(rows >= least)
    if len(row) > rows.size // 8:
        return None
    order = np.lexsort((~_as_integers(rows[row, place]), row))
    first = np.searchsorted(row, np.arange(len(rows)))
    return np.asarray(place[order[first[:, None] + np.arange(k)]].reshape(*x.shape[:-1], k))


@top_k_p.def_abstract_eval
def _top_k_type(avals: prim.Avals, params: TopKParams) -> prim.Avals:
    (x,) = avals
    check_kind("top_k", x, "iuf")
    if not x.shape or not 0 <= params.k <= x.shape[-1]:
        raise errors.ShapeError(
            f"top_k needs 0 <= k <= the size of the axis, but got k={params.k} for {x}."
        )
    shape = (*x.shape[:-1], params.k)
    return x.with_shape(shape), av.ShapedArray(shape, dtypes.int32)


@top_k_p.def_lowering
def _top_k_lowering(b: Lowering, operands: Values, params: TopKParams) -> Values:
    return b.emit("chlo.top_k", operands, b.results, {"k": hlo.integer(params.k)})


@top_k_p.def_jvp
def _top_k_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: TopKParams) -> prim.JvpResult:
    values, indices = tr.bind(top_k_p, primals, params)
    (moved,) = (t if t is prim.ZERO else _permuted(t, indices, values.ndim - 1) for t in tangents)
    return (values, indices), (moved, prim.ZERO)


sh.def_simple_batch(top_k_p)


def top_k(x: Array, k: int) -> tuple[Array, Array]:
    """Return the ``k`` greatest elements along the last axis, greatest first, and their indices.

    Args:
        x: integers or floats, at least one axis; NaN is the greatest, unless its sign is set.
        k: at most the size of the last axis.

    Returns:
        The values, and where they stood (int32); of equal elements the first comes first.

    Raises:
        ShapeError: ``k`` is negative or larger than the axis.
        DtypeError: ``x`` is bool or complex.
    """
    params = TopKParams(ints.integer(k, "k"))
    values, indices = tr.bind(top_k_p, (x,), params)
    return values, indices
