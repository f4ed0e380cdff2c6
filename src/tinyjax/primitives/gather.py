"""gather: many slices of one array at once, at places that are data.

The last axis of the indices holds index vectors. Each says where a slice (a window) of fixed size
starts, by giving a coordinate for some of the operand's axes; the windows are the result's offset
axes, the index vectors' own axes its batch axes. The dimension numbers are XLA's (StableHLO
specification, "gather"), but for the index vectors, which are always last.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array, ArrayLike, as_array, is_array_like, splat
from tinyjax.core.avals import ShapedArray
from tinyjax.core.integers import described, integers, listed
from tinyjax.core.primitive import (
    Arrays,
    Avals,
    BatchAxes,
    BatchResult,
    Hosts,
    MappedAxis,
    Params,
    Primitive,
)
from tinyjax.core.trace import bind1
from tinyjax.dtypes import DType, HostArray
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.primitives.reduce import highest, lowest
from tinyjax.primitives.rules import def_derivatives
from tinyjax.primitives.shape import moveaxis, reshape
from tinyjax.primitives.slicing import concatenate
from tinyjax.primitives.windows import (
    Axes,
    Windows,
    as_axes,
    gathered,
    lower_in_bounds,
    lower_wide_indices,
    wide_indices,
)
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values, boolean, int_array

Scalar = bool | int | float | complex


class GatherScatterMode(Enum):
    """What happens to a window that does not lie within the operand.

    ``CLIP`` moves it until it fits. ``FILL_OR_DROP`` fills it when gathering and drops the update
    when scattering. ``PROMISE_IN_BOUNDS`` says that there is none; one that comes all the same is
    moved when gathering and dropped when scattering, which is what costs XLA nothing.
    """

    CLIP = "clip"
    FILL_OR_DROP = "fill"
    PROMISE_IN_BOUNDS = "promise_in_bounds"

    @classmethod
    def from_any(cls, mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """Return the mode meant by a name; None means ``FILL_OR_DROP``.

        Raises:
            ArgumentError: there is no mode of that name.
        """
        if isinstance(mode, cls):
            return mode
        if mode is None or mode == "drop":
            return cls.FILL_OR_DROP
        for member in cls:
            if member.value == mode:
                return member
        raise ArgumentError(
            f"expected a mode for indices out of bounds, 'clip', 'fill', 'drop' or "
            f"'promise_in_bounds', but got {mode!r}."
        )


Mode = str | GatherScatterMode | None


@attrs.frozen
class GatherDimensionNumbers:
    """How the axes of operand, indices and result of a gather belong together.

    Attributes:
        offset_dims: the result's axes that run within a window; the others are the index vectors'.
        collapsed_slice_dims: the operand's axes that are left out of the windows, which have size
            one there.
        start_index_map: the operand's axis that each entry of an index vector is about.
        operand_batching_dims: the operand's axes that go along with an axis of the indices.
        start_indices_batching_dims: those axes of the indices.
    """

    offset_dims: Axes = attrs.field(converter=as_axes)
    collapsed_slice_dims: Axes = attrs.field(converter=as_axes)
    start_index_map: Axes = attrs.field(converter=as_axes)
    operand_batching_dims: Axes = attrs.field(default=(), converter=as_axes)
    start_indices_batching_dims: Axes = attrs.field(default=(), converter=as_axes)


@attrs.frozen(repr=False)
class GatherParams(Params):
    """The dimension numbers, and what is known about the indices.

    ``fill_value`` is None for the dtype's own: NaN, or the least signed and greatest unsigned
    integer, or True.
    """

    dimension_numbers: GatherDimensionNumbers
    slice_sizes: tuple[int, ...]
    mode: GatherScatterMode
    fill_value: Scalar | None = None
    indices_are_sorted: bool = False
    unique_indices: bool = False


# gather

gather_p: Primitive[GatherParams] = Primitive("gather", GatherParams)


def gather_windows(shape: tuple[int, ...], params: GatherParams) -> Windows:
    """The windows of a gather from an array of the given shape."""
    numbers = params.dimension_numbers
    return Windows(
        shape,
        params.slice_sizes,
        numbers.collapsed_slice_dims,
        numbers.start_index_map,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
    )


def _fill_value(params: GatherParams, dtype: DType) -> HostArray:
    value = params.fill_value
    if value is None:
        if dtypes.is_inexact(dtype):
            value = float("nan")
        else:
            value = lowest(dtype) if dtype.kind == "i" else highest(dtype)
    return np.array(value).astype(dtype)


@gather_p.def_impl
def _gather_impl(operands: Hosts, params: GatherParams) -> Hosts:
    x, indices = operands
    offset_dims = params.dimension_numbers.offset_dims
    indices = wide_indices(indices)
    windows = gather_windows(x.shape, params)
    out = gathered(windows, x, indices, offset_dims)
    if params.mode is GatherScatterMode.FILL_OR_DROP and out.size:
        inside = windows.in_bounds(indices)
        if not inside.all():
            line = iter(inside.shape)
            shape = [1 if i in offset_dims else next(line) for i in range(out.ndim)]
            out = np.where(inside.reshape(shape), out, _fill_value(params, x.dtype))
    return (out,)


@gather_p.def_abstract_eval
def _gather_type(avals: Avals, params: GatherParams) -> Avals:
    x, indices = avals
    numbers = params.dimension_numbers
    windows = gather_windows(x.shape, params)
    windows.check("gather", x, indices)
    offsets = numbers.offset_dims
    ndim = indices.ndim - 1 + len(offsets)
    if (
        len(offsets) != len(windows.window_axes)
        or tuple(sorted(set(offsets))) != offsets
        or any(not 0 <= i < ndim for i in offsets)
    ):
        raise ShapeError(
            f"gather needs an increasing offset axis of the result for each of the axes "
            f"{windows.window_axes} of a window, but got {offsets}."
        )
    inside = dict(zip(offsets, windows.window_shape, strict=True))
    rest = iter(indices.shape[:-1])
    shape = tuple([inside[i] if i in inside else next(rest) for i in range(ndim)])
    return (ShapedArray(shape, x.dtype, x.weak_type),)


@gather_p.def_lowering
def _gather_lowering(b: Lowering, operands: Values, params: GatherParams) -> Values:
    (x, indices), (out,) = operands, b.results
    numbers = params.dimension_numbers
    indices = lower_wide_indices(b, indices)
    text = (
        "#stablehlo.gather<"
        f"offset_dims = {list(numbers.offset_dims)}, "
        f"collapsed_slice_dims = {sorted(numbers.collapsed_slice_dims)}, "
        f"operand_batching_dims = {list(numbers.operand_batching_dims)}, "
        f"start_indices_batching_dims = {list(numbers.start_indices_batching_dims)}, "
        f"start_index_map = {list(numbers.start_index_map)}, "
        f"index_vector_dim = {indices.ndim - 1}>"
    )
    gathered = b.op(
        "stablehlo.gather",
        x,
        indices,
        result=out,
        dimension_numbers=text,
        slice_sizes=int_array(params.slice_sizes),
        indices_are_sorted=boolean(params.indices_are_sorted),
    )
    if params.mode is not GatherScatterMode.FILL_OR_DROP or not params.slice_sizes:
        return (gathered,)
    inside = lower_in_bounds(b, indices, gather_windows(x.shape, params))
    batch = [i for i in range(gathered.ndim) if i not in numbers.offset_dims]
    chosen = b.broadcast_in_dim(inside, out.shape, batch)
    filled = b.broadcast_in_dim(b.constant(_fill_value(params, out.dtype)), out.shape, ())
    return (b.select(chosen, gathered, filled),)


# what is filled in does not depend on the operand
def_derivatives(
    gather_p,
    lambda t, out, x, indices, params: bind1(
        gather_p, (t, indices), attrs.evolve(params, fill_value=0)
    ),
)


@gather_p.def_batch
def _gather_batch(
    mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: GatherParams
) -> BatchResult:
    (x, indices), (x_axis, indices_axis) = values, axes
    numbers, sizes = params.dimension_numbers, params.slice_sizes

    def shifted(given: Axes) -> Axes:
        return tuple([i + 1 for i in given])

    if x_axis is not None:
        x = moveaxis(x, x_axis, 0)
        numbers = attrs.evolve(
            numbers,
            collapsed_slice_dims=shifted(numbers.collapsed_slice_dims),
            start_index_map=shifted(numbers.start_index_map),
            operand_batching_dims=shifted(numbers.operand_batching_dims),
        )
    offsets = shifted(numbers.offset_dims)
    if indices_axis is None:
        # the batch axis is one more axis of the windows
        numbers = attrs.evolve(numbers, offset_dims=(0, *offsets))
        sizes = (mapped.size, *sizes)
    else:
        indices = moveaxis(indices, indices_axis, 0)
        along = shifted(numbers.start_indices_batching_dims)
        if x_axis is None:
            numbers = attrs.evolve(numbers, offset_dims=offsets, start_indices_batching_dims=along)
        else:
            if not mapped.size:
                (out,) = _gather_type(
                    (x.aval.with_shape(x.shape[1:]), indices.aval.with_shape(indices.shape[1:])),
                    params,
                )
                return (splat(0, out.with_shape((0, *out.shape))),), (0,)
            numbers = attrs.evolve(
                numbers,
                offset_dims=offsets,
                operand_batching_dims=(0, *numbers.operand_batching_dims),
                start_indices_batching_dims=(0, *along),
            )
            sizes = (1, *sizes)
    batched = attrs.evolve(
        params,
        dimension_numbers=numbers,
        slice_sizes=sizes,
        # sorted and unique within each example, not among all of them
        indices_are_sorted=params.indices_are_sorted and indices_axis is None,
        unique_indices=params.unique_indices and (indices_axis is None or x_axis is not None),
    )
    return (bind1(gather_p, (x, indices), batched),), (0,)


def canonical_fill(value: ArrayLike | None, dtype: DType) -> Scalar | None:
    """Bring a fill value to the form that parameters hold; NaN is the floats' own."""
    if value is None:
        return None
    if not is_array_like(value):
        raise ArgumentError(f"a fill value must be a number, but got {described(value)}.")
    host = np.asarray(value)
    dtypes.check(host.dtype)
    if host.shape:
        raise ArgumentError(f"a fill value must be a scalar, but got shape {host.shape}.")
    scalar: Scalar = host.astype(dtype).astype(np.dtype(object)).item()
    if dtypes.kind(dtype) in "fc":
        scalar = complex(scalar) if dtype.kind == "c" else float(scalar.real)
        if np.isnan(scalar):
            return None
    return scalar


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Mode = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Take windows of an array, at starts that are data.

    Args:
        operand: any dtype.
        start_indices: integers; the last axis holds index vectors.
        dimension_numbers: which axes belong together.
        slice_sizes: the size of a window along each axis of the operand.
        unique_indices: a promise that no two windows overlap.
        indices_are_sorted: a promise that the index vectors are in order.
        mode: of windows out of bounds; by default they are moved inside (``"clip"``).
        fill_value: what stands in them with ``"fill"``; by default NaN for floats, the least
            integer for signed and the greatest for unsigned ones, True for bools.

    Returns:
        An array with the index vectors' axes and, at ``offset_dims``, the windows'.

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are no integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.primitives.gather import GatherDimensionNumbers, gather
        >>> x = jnp.array([[1, 2], [3, 4], [5, 6]])
        >>> rows = GatherDimensionNumbers((1,), (0,), (0,))
        >>> gather(x, jnp.array([[2], [0]]), rows, (1, 2))
        Array([[5, 6],
               [1, 2]], dtype=int32)
    """
    x, indices = as_array(operand), as_array(start_indices)
    if not isinstance(dimension_numbers, GatherDimensionNumbers):
        raise ArgumentError(
            "dimension_numbers of gather must be GatherDimensionNumbers, but got "
            f"{described(dimension_numbers)}."
        )
    params = GatherParams(
        dimension_numbers,
        as_axes(slice_sizes),
        GatherScatterMode.CLIP if mode is None else GatherScatterMode.from_any(mode),
        canonical_fill(fill_value, x.dtype),
        indices_are_sorted,
        unique_indices,
    )
    return bind1(gather_p, (x, indices), params)


def take_front(src: Array, idxs: Sequence[Array], axes: Sequence[int]) -> Array:
    """Take one element of each of several axes, at each of several places.

    Args:
        src: any dtype.
        idxs: for each of the axes a vector of indices, all of one length and dtype; one out of
            bounds is moved into them.
        axes: distinct axes of ``src``.

    Returns:
        An array with the indices' axis in front of ``src``'s other axes.
    """
    x, along = as_array(src), integers(axes, "axes")
    indices = [as_array(i) for i in listed(idxs, "idxs")]
    if len(indices) != len(along) or not indices or any(i.ndim != 1 for i in indices):
        raise ShapeError(
            f"index_take needs a vector of indices for each of the axes {along}, but got "
            f"{', '.join(str(i.aval) for i in indices) or 'none'}."
        )
    columns = [reshape(i, (*i.shape, 1)) for i in indices]
    sizes = tuple([1 if i in along else n for i, n in enumerate(x.shape)])
    numbers = GatherDimensionNumbers(
        tuple(range(1, x.ndim - len(along) + 1)), tuple(sorted(along)), along
    )
    return gather(x, concatenate(columns, 1), numbers, sizes, mode="clip")
