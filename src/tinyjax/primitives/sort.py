"""Sorting several arrays together, and the largest elements of one.

Floats are ordered with NaN last (all NaN equal, whatever their sign) and both zeros equal; complex
numbers by their real part, then their imaginary part. Both are linear once the order is known: a
tangent is gathered with the indices that sorted its primal.
"""

from collections.abc import Sequence

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.primitive import ZERO, HostArray, MappedAxis, Primitive, Tangent
from tinyjax.core.stablehlo import Lowering, boolean, integer
from tinyjax.core.trace import bind
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.primitives.families import check_kind
from tinyjax.primitives.gather import GatherDimensionNumbers, GatherScatterMode, gather
from tinyjax.primitives.shape import expand_dims, full, iota, move_batch_axis


@attrs.frozen
class SortParams:
    """The axis; how many operands, the first ones, are compared; whether ties keep their order."""

    axis: int
    num_keys: int
    is_stable: bool


sort_p: Primitive[SortParams] = Primitive("sort", SortParams)


def _comparable(x: HostArray) -> list[HostArray]:
    """The real arrays that NumPy compares in place of a key, most significant first."""
    if dtypes.is_complex(x.dtype):
        return [x.real, x.imag]
    if x.dtype.kind == "V":  # ml_dtypes' floats
        return [x.astype(np.float32)]
    return [x]


def _order(keys: Sequence[HostArray], axis: int) -> HostArray:
    """The indices that sort the keys, first key first, keeping the order of what is equal."""
    parts = [part for key in keys for part in _comparable(key)]
    if len(parts) == 1:
        return np.argsort(parts[0], axis, kind="stable")
    return np.asarray(np.lexsort(parts[::-1], axis))


def _has_negative_zero(x: HostArray) -> bool:
    return bool((np.signbit(x) & (x == 0)).any())


@sort_p.def_impl
def _sort_impl(operands: Sequence[HostArray], params: SortParams) -> Sequence[HostArray]:
    if len(operands) == 1:
        (x,) = operands
        # Equal elements are indistinguishable but for the two zeros, so the fastest sort will do:
        # 0.6 ms against 7 ms for the stable one, on 10^5 float32.
        if x.dtype.kind in "biu" or (x.dtype.kind == "f" and not _has_negative_zero(x)):
            return (np.sort(x, params.axis),)
        if x.dtype.kind == "f":
            return (np.sort(x, params.axis, kind="stable"),)
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
    scalars = [ShapedArray((), a.dtype) for a in lowering.avals_in]

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

    flag = ShapedArray((), dtypes.bool_)
    region = lowering.region([s for s in scalars for _ in range(2)], body, (flag,))
    attributes = {"dimension": integer(params.axis), "is_stable": boolean(params.is_stable)}
    return lowering.op("stablehlo.sort", operands, attributes, (region,))


def _lower_less(lowering: Lowering, pairs: Sequence[tuple[str, str, ShapedArray]]) -> str:
    """Write the lexicographic comparison of two rows of real scalars, with NaN the greatest."""
    flag = ShapedArray((), dtypes.bool_)

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
    params = SortParams(axis, num_keys, is_stable)
    # checked here, where a mistake is the caller's, and not by NumPy
    sort_p.rules.abstract_eval([x.aval for x in operands], params)
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


@attrs.frozen
class TopKParams:
    """How many elements are wanted."""

    k: int


top_k_p: Primitive[TopKParams] = Primitive("top_k", TopKParams)


@top_k_p.def_impl
def _top_k_impl(operands: Sequence[HostArray], params: TopKParams) -> Sequence[HostArray]:
    (x,) = operands
    descending = ~_total_order(x)
    order = np.argsort(descending, -1, kind="stable")[..., : params.k]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


def _total_order(x: HostArray) -> HostArray:
    """Integers in the order in which XLA's top_k sees the elements.

    For floats that is IEEE 754's total order, in which -0 is less than 0 and NaN has a sign: it is
    the order of their bits as integers once those of negative numbers are inverted.
    """
    if dtypes.kind(x.dtype) in "iu":
        return x
    bits = x.view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


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
    params = TopKParams(k)
    top_k_p.rules.abstract_eval((x.aval,), params)
    values, indices = bind(top_k_p, (x,), params)
    return values, indices
