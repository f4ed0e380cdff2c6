"""Sorting several arrays together, and the largest elements of one.

Floats are ordered with NaN last (all NaN equal, whatever their sign) and both zeros equal, though
in an array sorted alone ``-0.0`` comes first; complex numbers by their real part, then their
imaginary part. Both are linear once the order is known: a tangent is gathered with the indices
that sorted its primal.

XLA and NumPy sort plain integers several times faster than anything else. So floats are sorted as
integers in the order of their values, and what goes along with a key of up to 32 bits is gathered
by indices that were sorted in the low bits below the key. On one core, 10^6 elements:

====================  ==========  ================  =====  =====================
ms                    XLA, plain  XLA, as integers  NumPy  NumPy, as integers
====================  ==========  ================  =====  =====================
float32                      190                40    2.6  (the same)
float32 and indices          180                38     90                     11
====================  ==========  ================  =====  =====================
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.integers import integer as as_integer
from tinyjax.core.primitive import ZERO, HostArray, MappedAxis, Params, Primitive, Tangent
from tinyjax.core.stablehlo import Lowering, boolean, int_array, integer
from tinyjax.core.trace import bind
from tinyjax.dtypes import DType
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.primitives.families import check_kind
from tinyjax.primitives.gather import GatherDimensionNumbers, GatherScatterMode, gather
from tinyjax.primitives.shape import expand_dims, full, iota, move_batch_axis


@attrs.frozen(repr=False)
class SortParams(Params):
    """The axis; how many operands, the first ones, are compared; whether ties keep their order."""

    axis: int
    num_keys: int
    is_stable: bool


sort_p: Primitive[SortParams] = Primitive("sort", SortParams, orders=True)


def _comparable(x: HostArray) -> list[HostArray]:
    """The real arrays that NumPy compares in place of a key, most significant first."""
    if dtypes.is_complex(x.dtype):
        return [x.real, x.imag]
    if dtypes.is_extended(x.dtype):
        return [x.astype(np.float32)]
    return [x]


_FEW = 2000


def _order(keys: Sequence[HostArray], axis: int) -> HostArray:
    """The indices that sort the keys, first key first, keeping the order of what is equal."""
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


def _ordinal(x: HostArray) -> HostArray:
    """Integers in the order of the elements; equal ones for what is equal."""
    match x.dtype.kind:
        case "f":
            x = np.where(x == 0, x.dtype.type(0), x)
            x = np.where(np.isnan(x), x.dtype.type(np.nan), x)
            return _total_order(x)
        case "u":  # the low half of the numbers goes below zero, so that 32 bits suffice
            return x.astype(np.int64) - (1 << (8 * x.dtype.itemsize - 1))
        case _:
            return x


def _total_order(x: HostArray) -> HostArray:
    """Signed integers in IEEE 754's total order of floats, in which -0 is less than 0.

    It is the order of the bits as integers, once those of negative numbers are inverted.
    """
    bits = x.view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _from_total_order(bits: HostArray, dtype: DType) -> HostArray:
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits).view(dtype)


def _has_negative_zero(x: HostArray) -> bool:
    return bool((np.signbit(x) & (x == 0)).any())


@sort_p.def_impl
def _sort_impl(operands: Sequence[HostArray], params: SortParams) -> Sequence[HostArray]:
    if len(operands) == 1 and not dtypes.is_complex(operands[0].dtype):
        (x,) = (part for key in operands for part in _comparable(key))
        if x.dtype.kind == "f" and _has_negative_zero(x):
            one_nan = np.where(np.isnan(x), x.dtype.type(np.nan), x)
            ordered = np.sort(_total_order(one_nan), params.axis)
            out = _from_total_order(ordered, x.dtype)
        else:
            out = np.sort(x, params.axis)
        return (out.astype(operands[0].dtype, copy=False),)
    order = _order(operands[: params.num_keys], params.axis)
    return [np.take_along_axis(x, order, params.axis) for x in operands]


@sort_p.def_abstract_eval
def _sort_type(avals: Sequence[ShapedArray], params: SortParams) -> Sequence[ShapedArray]:
    first = avals[0]
    if any(a.shape != first.shape for a in avals):
        raise ShapeError(
            f"sort needs operands of one shape, but got {' and '.join(map(str, avals))}."
        )
    if not 0 <= params.axis < first.ndim:
        raise ShapeError(f"sort needs an axis of {first.shape}, but got {params.axis}.")
    if not 1 <= params.num_keys <= len(avals):
        raise ArgumentError(
            f"sort of {len(avals)} operands needs from 1 to {len(avals)} keys, but got "
            f"num_keys={params.num_keys}."
        )
    return list(avals)


@sort_p.def_lowering
def _sort_lowering(
    lowering: Lowering, operands: Sequence[str], params: SortParams
) -> Sequence[str]:
    avals = lowering.avals_in
    key = avals[0]
    if not key.size:
        return operands
    if params.num_keys == 1 and not dtypes.is_complex(key.dtype):
        if len(avals) == 1:
            return (_lower_sort_alone(lowering, operands[0], key, params),)
        if key.dtype.itemsize <= 4:
            return _lower_sort_packed(lowering, operands, params)
    scalars = [ShapedArray((), a.dtype) for a in avals]

    def body(args: list[str]) -> list[str]:
        pairs: list[tuple[str, str, ShapedArray]] = []
        for i, aval in enumerate(scalars[: params.num_keys]):
            x, y = args[2 * i], args[2 * i + 1]
            if dtypes.is_complex(aval.dtype):
                part = aval.with_dtype(dtypes.real_part(aval.dtype))
                for name in ("stablehlo.real", "stablehlo.imag"):
                    a, b = (lowering.op1(name, (z,), (aval,), part) for z in (x, y))
                    pairs.append((a, b, part))
            else:
                pairs.append((x, y, aval))
        return [_lower_less(lowering, pairs)]

    region = lowering.region([s for s in scalars for _ in range(2)], body, (_FLAG,))
    attributes = {"dimension": integer(params.axis), "is_stable": boolean(params.is_stable)}
    return lowering.op("stablehlo.sort", operands, attributes, (region,))


_FLAG = ShapedArray((), dtypes.bool_)


def _lower_sort_alone(
    lowering: Lowering, operand: str, aval: ShapedArray, params: SortParams
) -> str:
    """Sort one real array; floats as integers."""
    if not dtypes.is_float(aval.dtype):
        return _lower_sort_integers(lowering, operand, aval, params.axis)
    operand, ieee = _lower_ieee(lowering, operand, aval)
    bits, bits_aval = _lower_total_order(lowering, operand, ieee, one_zero=False)
    bits = _lower_sort_integers(lowering, bits, bits_aval, params.axis)
    bits = _lower_invert_negative(lowering, bits, bits_aval)
    out = lowering.op1("stablehlo.bitcast_convert", (bits,), (bits_aval,), ieee)
    return out if ieee is aval else lowering.op1("stablehlo.convert", (out,), (ieee,), aval)


def _lower_sort_packed(
    lowering: Lowering, operands: Sequence[str], params: SortParams
) -> list[str]:
    """Sort indices below a key of at most 32 bits, and gather every operand by them."""
    avals, key = lowering.avals_in, lowering.avals_in[0]
    if dtypes.is_float(key.dtype):
        operand, ieee = _lower_ieee(lowering, operands[0], key)
        ordinal, narrow = _lower_total_order(lowering, operand, ieee, one_zero=True)
    else:
        ordinal, narrow = operands[0], key
    wide = key.with_dtype(dtypes.int64).strip_weak()
    pair = (wide, wide)
    packed = lowering.op1("stablehlo.convert", (ordinal,), (narrow,), wide)
    if key.dtype == dtypes.uint32:  # the low half goes below zero, so that 32 bits suffice
        packed = lowering.op1(
            "stablehlo.subtract", (packed, lowering.full(1 << 31, wide)), pair, wide
        )
    packed = lowering.op1("stablehlo.shift_left", (packed, lowering.full(32, wide)), pair, wide)
    (places,) = lowering.emit(
        "stablehlo.iota", (), (), (wide,), {"iota_dimension": integer(params.axis)}
    )
    packed = lowering.op1("stablehlo.or", (packed, places), pair, wide)
    packed = _lower_sort_integers(lowering, packed, wide, params.axis)
    low = lowering.op1("stablehlo.and", (packed, lowering.full(0xFFFFFFFF, wide)), pair, wide)
    indices = wide.with_dtype(dtypes.uint32)
    order = lowering.op1("stablehlo.convert", (low,), (wide,), indices)
    others = [i for i in range(key.ndim) if i != params.axis]
    numbers = (
        f"#stablehlo.gather<collapsed_slice_dims = [{params.axis}], "
        f"operand_batching_dims = {others}, start_indices_batching_dims = {others}, "
        f"start_index_map = [{params.axis}], index_vector_dim = {key.ndim}>"
    )
    attributes = {"dimension_numbers": numbers, "slice_sizes": int_array([1] * key.ndim)}
    return [
        lowering.op1("stablehlo.gather", (x, order), (aval, indices), aval, attributes)
        for x, aval in zip(operands, avals, strict=True)
    ]


def _lower_sort_integers(lowering: Lowering, operand: str, aval: ShapedArray, axis: int) -> str:
    """Sort with the one comparison that XLA knows how to do fast."""
    scalar = ShapedArray((), aval.dtype)

    def less(args: list[str]) -> list[str]:
        attributes = {"comparison_direction": "#stablehlo<comparison_direction LT>"}
        return [lowering.op1("stablehlo.compare", args, (scalar, scalar), _FLAG, attributes)]

    region = lowering.region((scalar, scalar), less, (_FLAG,))
    attributes = {"dimension": integer(axis), "is_stable": boolean(True)}
    return lowering.op1("stablehlo.sort", (operand,), (aval,), aval, attributes, (region,))


def _lower_ieee(lowering: Lowering, operand: str, aval: ShapedArray) -> tuple[str, ShapedArray]:
    """Convert float8, whose formats have NaN and zeros in other places, to float32."""
    if aval.dtype not in dtypes.FLOAT8:
        return operand, aval
    ieee = aval.with_dtype(dtypes.float32)
    return lowering.op1("stablehlo.convert", (operand,), (aval,), ieee), ieee


def _lower_total_order(
    lowering: Lowering, operand: str, aval: ShapedArray, one_zero: bool
) -> tuple[str, ShapedArray]:
    """Floats to integers in their order: one NaN, the greatest, and one zero where asked for."""

    def replace_where(how: str, x: str, other: str, value: float) -> str:
        flags = aval.with_dtype(dtypes.bool_)
        attributes = {"comparison_direction": f"#stablehlo<comparison_direction {how}>"}
        found = lowering.op1("stablehlo.compare", (x, other), (aval, aval), flags, attributes)
        instead = lowering.full(value, aval)
        return lowering.op1("stablehlo.select", (found, instead, x), (flags, aval, aval), aval)

    operand = replace_where("NE", operand, operand, float("nan"))
    if one_zero:
        operand = replace_where("EQ", operand, lowering.full(0.0, aval), 0.0)
    signed = aval.with_dtype(np.dtype(f"i{aval.dtype.itemsize}"))
    bits = lowering.op1("stablehlo.bitcast_convert", (operand,), (aval,), signed)
    return _lower_invert_negative(lowering, bits, signed), signed


def _lower_invert_negative(lowering: Lowering, bits: str, aval: ShapedArray) -> str:
    """Invert all bits but the sign of negative integers; done twice, it does nothing."""
    pair, width = (aval, aval), 8 * aval.dtype.itemsize
    sign = lowering.op1(
        "stablehlo.shift_right_arithmetic", (bits, lowering.full(width - 1, aval)), pair, aval
    )
    most = lowering.full((1 << (width - 1)) - 1, aval)
    mask = lowering.op1("stablehlo.and", (sign, most), pair, aval)
    return lowering.op1("stablehlo.xor", (bits, mask), pair, aval)


def _lower_less(lowering: Lowering, pairs: Sequence[tuple[str, str, ShapedArray]]) -> str:
    """Write the lexicographic comparison of two rows of real scalars, with NaN the greatest."""
    flag = _FLAG

    def compare(a: str, b: str, how: str, aval: ShapedArray) -> str:
        attributes = {"comparison_direction": f"#stablehlo<comparison_direction {how}>"}
        return lowering.op1("stablehlo.compare", (a, b), (aval, aval), flag, attributes)

    def both(op: str, a: str, b: str) -> str:
        return lowering.op1(f"stablehlo.{op}", (a, b), (flag, flag), flag)

    def less(a: str, b: str, aval: ShapedArray) -> str:
        smaller = compare(a, b, "LT", aval)
        if not dtypes.is_float(aval.dtype):
            return smaller
        nan_last = both("and", compare(a, a, "EQ", aval), compare(b, b, "NE", aval))
        return both("or", smaller, nan_last)

    result: str | None = None
    for a, b, aval in reversed(pairs):
        smaller = less(a, b, aval)
        if result is not None:
            tie = lowering.op1("stablehlo.not", (less(b, a, aval),), (flag,), flag)
            result = both("or", smaller, both("and", tie, result))
        else:
            result = smaller
    assert result is not None, "a sort has at least one key"
    return result


@sort_p.def_jvp
def _sort_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: SortParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    if all(t is ZERO for t in tangents):
        return bind(sort_p, primals, params), [ZERO] * len(primals)
    places = iota(primals[0].shape, dtypes.int32, params.axis)
    *outs, order = bind(sort_p, (*primals, places), params)
    return outs, [t if t is ZERO else _permuted(t, order, params.axis) for t in tangents]


@sort_p.def_batch
def _sort_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: SortParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    moved = [move_batch_axis(x, axis, 0, mapped.size) for x, axis in zip(values, axes, strict=True)]
    outs = bind(sort_p, moved, attrs.evolve(params, axis=params.axis + 1))
    return outs, [0] * len(outs)


def sort(
    operands: Sequence[Array], axis: int, num_keys: int = 1, is_stable: bool = True
) -> Sequence[Array]:
    """Sort arrays along an axis, all by the order of the first ``num_keys`` of them.

    Args:
        operands: at least one array; all of one shape, of any dtypes.
        axis: counted from the front.
        num_keys: how many operands are compared; later ones decide where earlier ones are equal.
        is_stable: whether elements with equal keys keep their order.

    Returns:
        As many arrays as operands, each permuted in the same way.

    Raises:
        ShapeError: the shapes differ, or there is no such axis.
        ArgumentError: there are fewer operands than keys.
    """
    params = SortParams(axis, as_integer(num_keys, "num_keys"), is_stable)
    return bind(sort_p, tuple(operands), params)


def _permuted(x: Array, order: Array, axis: int) -> Array:
    """Take the elements along an axis at distinct places, for each of the other axes its own."""
    if not order.size:
        return full(order.shape, 0, x.dtype)
    others = tuple(i for i in range(x.ndim) if i != axis)
    numbers = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    places = expand_dims(order, (order.ndim,))
    mode = GatherScatterMode.PROMISE_IN_BOUNDS
    return gather(x, places, numbers, (1,) * x.ndim, unique_indices=True, mode=mode)


# top_k: along the last axis


@attrs.frozen(repr=False)
class TopKParams(Params):
    """How many elements are wanted."""

    k: int


top_k_p: Primitive[TopKParams] = Primitive("top_k", TopKParams, orders=True)


@top_k_p.def_impl
def _top_k_impl(operands: Sequence[HostArray], params: TopKParams) -> Sequence[HostArray]:
    (x,) = operands
    # XLA's top_k takes floats in their total order, signs of zeros and of NaN included
    (y,) = _comparable(x)
    descending = ~(_total_order(y) if y.dtype.kind == "f" else y)
    order = np.argsort(descending, -1, kind="stable")[..., : params.k]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


@top_k_p.def_abstract_eval
def _top_k_type(avals: Sequence[ShapedArray], params: TopKParams) -> Sequence[ShapedArray]:
    (x,) = avals
    check_kind("top_k", x, "iuf")
    if not x.shape or not 0 <= params.k <= x.shape[-1]:
        raise ShapeError(
            f"top_k needs 0 <= k <= the size of the axis, but got k={params.k} for {x}."
        )
    shape = (*x.shape[:-1], params.k)
    return x.with_shape(shape), ShapedArray(shape, dtypes.int32)


@top_k_p.def_lowering
def _top_k_lowering(
    lowering: Lowering, operands: Sequence[str], params: TopKParams
) -> Sequence[str]:
    return lowering.op("chlo.top_k", operands, {"k": integer(params.k)})


@top_k_p.def_jvp
def _top_k_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: TopKParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    (t,) = tangents
    values, indices = bind(top_k_p, primals, params)
    return (values, indices), (
        t if t is ZERO else _permuted(t, indices, values.ndim - 1),
        ZERO,
    )


@top_k_p.def_batch
def _top_k_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: TopKParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    x = move_batch_axis(values[0], axes[0], 0, mapped.size)
    return bind(top_k_p, (x,), params), (0, 0)


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
    params = TopKParams(as_integer(k, "k"))
    values, indices = bind(top_k_p, (x,), params)
    return values, indices
