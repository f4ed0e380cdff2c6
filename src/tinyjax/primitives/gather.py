"""gather: many slices of one array at once, at places that are data.

The last axis of the indices holds index vectors. Each says where a slice (a window) of fixed size
starts, by giving a coordinate for some of the operand's axes; the windows are the result's offset
axes, the index vectors' own axes its batch axes. The dimension numbers are XLA's (StableHLO
specification, "gather"), but for the index vectors, which are always last.
"""

from collections.abc import Sequence
from enum import Enum
from math import prod

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array, ArrayLike, as_array, splat
from tinyjax.core.avals import ShapedArray
from tinyjax.core.primitive import ZERO, HostArray, MappedAxis, Primitive, Tangent
from tinyjax.core.stablehlo import Lowering, boolean, int_array
from tinyjax.core.trace import bind1
from tinyjax.dtypes import DType
from tinyjax.errors import ArgumentError, DtypeError, ShapeError
from tinyjax.primitives.reduce import highest, lower_reduce, lowest
from tinyjax.primitives.shape import concatenate, moveaxis, reshape

Axes = tuple[int, ...]
Scalar = bool | int | float | complex


def _axes(given: Sequence[int]) -> Axes:
    return tuple([int(axis) for axis in given])


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
    def from_any(cls, mode: "str | GatherScatterMode | None") -> "GatherScatterMode":
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

    offset_dims: Axes = attrs.field(converter=_axes)
    collapsed_slice_dims: Axes = attrs.field(converter=_axes)
    start_index_map: Axes = attrs.field(converter=_axes)
    operand_batching_dims: Axes = attrs.field(default=(), converter=_axes)
    start_indices_batching_dims: Axes = attrs.field(default=(), converter=_axes)


@attrs.frozen
class GatherParams:
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


# What gather and scatter have in common


@attrs.frozen
class Windows:
    """Where windows of an array lie: what gather and scatter share.

    Attributes:
        shape: of the array.
        sizes: of a window, one per axis of the array.
        collapsed: the axes that are left out of the windows.
        index_map: the axis that each entry of an index vector is about.
        batching: the axes that go along with an axis of the indices.
        indices_batching: those axes of the indices.
    """

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    collapsed: Axes
    index_map: Axes
    batching: Axes
    indices_batching: Axes

    @property
    def window_axes(self) -> Axes:
        """The axes that appear in the windows."""
        left_out = (*self.collapsed, *self.batching)
        return tuple([i for i in range(len(self.shape)) if i not in left_out])

    @property
    def window_shape(self) -> tuple[int, ...]:
        """The shape of one window as it appears in a gather's result."""
        return tuple([self.sizes[i] for i in self.window_axes])

    @property
    def last_starts(self) -> tuple[int, ...]:
        """For each entry of an index vector, the greatest that is in bounds."""
        return tuple([self.shape[i] - self.sizes[i] for i in self.index_map])

    def check(self, name: str, x: ShapedArray, indices: ShapedArray) -> None:
        """Raise unless the numbers fit the types of operand and indices."""
        if not dtypes.is_integer(indices.dtype):
            raise DtypeError(f"{name} needs integer indices, but got {indices}.")
        if not indices.ndim or indices.shape[-1] != len(self.index_map):
            raise ShapeError(
                f"{name} needs an index vector of length {len(self.index_map)} in the last axis of "
                f"the indices, one entry for each axis in {self.index_map}, but got {indices}."
            )
        left_out = (*self.collapsed, *self.batching)
        for axes in (self.index_map, left_out):
            if any(not 0 <= i < x.ndim for i in axes) or len(set(axes)) != len(axes):
                raise ShapeError(f"{name} needs distinct axes of {x}, but got {axes}.")
        if set(self.batching) & set(self.index_map):
            raise ShapeError(
                f"{name}: axes {self.batching} are batched, so no index can be about them, but "
                f"{self.index_map} are indexed."
            )
        if len(self.sizes) != x.ndim or any(
            not 0 <= m <= n for m, n in zip(self.sizes, x.shape, strict=False)
        ):
            raise ShapeError(
                f"{name} needs a window size for each axis of {x}, at most the axis's own, but got "
                f"{self.sizes}."
            )
        if any(self.sizes[i] != 1 for i in left_out):
            raise ShapeError(
                f"{name}: windows must have size 1 along the axes {left_out} that they leave out, "
                f"but their sizes are {self.sizes}."
            )
        if len(self.batching) != len(self.indices_batching) or any(
            not 0 <= j < indices.ndim - 1 or x.shape[i] != indices.shape[j]
            for i, j in zip(self.batching, self.indices_batching, strict=False)
        ):
            raise ShapeError(
                f"{name} needs batched axes of equal size, but axes {self.batching} of {x} and "
                f"{self.indices_batching} of the indices {indices} differ or do not exist."
            )

    @property
    def only_axis(self) -> int | None:
        """The axis that is indexed, where windows are whole along all others."""
        if len(self.index_map) != 1 or self.collapsed != self.index_map or self.batching:
            return None
        axis = self.index_map[0]
        shape, sizes = self.shape, self.sizes
        whole = sizes[:axis] == shape[:axis] and sizes[axis + 1 :] == shape[axis + 1 :]
        return axis if whole else None

    def in_bounds(self, indices: HostArray) -> HostArray:
        """Say of each index vector whether its window lies within the array."""
        last = np.array(self.last_starts, np.int64)
        return np.asarray(((indices >= 0) & (indices <= last)).all(-1))

    def positions(self, indices: HostArray) -> tuple[list[int], list[HostArray], Axes]:
        """Coordinates of the windows, moved into bounds.

        Returns:
            The axes that have coordinates: those in which a window is not the whole axis. For each,
            an array that broadcasts to the index vectors' axes followed by the next axes. The axes
            among those that appear in the windows.
        """
        batch = indices.ndim - 1
        index_map, shape, sizes = self.index_map, self.shape, self.sizes
        axes = [
            i
            for i in range(len(shape))
            if i in self.collapsed or i in self.batching or i in index_map or sizes[i] != shape[i]
        ]
        inner = tuple([i for i in axes if i not in self.collapsed and i not in self.batching])
        coordinates = []
        for i in axes:
            if i in index_map:
                entries = indices[..., index_map.index(i)]
                start = np.clip(entries, 0, shape[i] - sizes[i]).astype(np.intp, copy=False)
            elif i in self.batching:
                along = self.indices_batching[self.batching.index(i)]
                line = [1] * batch
                line[along] = shape[i]
                start = np.arange(shape[i]).reshape(line)
            else:
                start = np.zeros((1,) * batch, np.intp)
            if inner:
                start = start.reshape(start.shape + (1,) * len(inner))
                if i in inner:
                    line = [1] * start.ndim
                    line[batch + inner.index(i)] = sizes[i]
                    start = start + np.arange(sizes[i]).reshape(line)
            coordinates.append(start)
        return axes, coordinates, inner

    def lines(self, axes: Sequence[int], coordinates: Sequence[HostArray]) -> HostArray:
        """Number positions in row-major order over the axes that have coordinates."""
        found: HostArray = np.zeros((), np.intp)
        for axis, coordinate in zip(axes, coordinates, strict=True):
            found = found * self.shape[axis] + coordinate
        return found

    def order(self, inner: Axes, batch: int, offset_dims: Axes, ndim: int) -> list[int]:
        """How to permute axes ordered as batch, ``inner``, rest into those of a gather's result."""
        window = self.window_axes
        whole = [i for i in window if i not in inner]
        places = {axis: batch + k for k, axis in enumerate((*inner, *whole))}
        offsets = {
            dim: places[axis] for dim, axis in zip(offset_dims, self.window_axes, strict=True)
        }
        rest = iter(range(batch))
        return [offsets[i] if i in offsets else next(rest) for i in range(ndim)]


def wide_indices(indices: HostArray) -> HostArray:
    """Indices as int32 or int64; what is beyond int64 comes out below zero, and out of bounds."""
    dtype = indices.dtype
    if dtype in (dtypes.int32, dtypes.int64):
        return indices
    return indices.astype(dtypes.int32 if dtype.itemsize < 4 else dtypes.int64)


def lower_wide_indices(
    lowering: Lowering, operand: str, aval: ShapedArray
) -> tuple[str, ShapedArray]:
    """Write the conversion of ``wide_indices``."""
    if aval.dtype in (dtypes.int32, dtypes.int64):
        return operand, aval
    wide = aval.with_dtype(dtypes.int32 if aval.dtype.itemsize < 4 else dtypes.int64)
    return lowering.op1("stablehlo.convert", (operand,), (aval,), wide), wide


def lower_last_starts(lowering: Lowering, windows: Windows, indices: ShapedArray) -> str:
    """Write the greatest start in bounds for every entry of the indices."""
    most = int(np.iinfo(indices.dtype).max)
    last = np.array([min(n, most) for n in windows.last_starts], indices.dtype)
    entry = ShapedArray(last.shape, indices.dtype)
    return lowering.broadcast(lowering.constant(last), entry, indices, (indices.ndim - 1,))


def _lower_in_bounds(
    lowering: Lowering, operand: str, indices: ShapedArray, windows: Windows
) -> tuple[str, ShapedArray]:
    flags = indices.with_dtype(dtypes.bool_)

    def compare(bound: str, how: str) -> str:
        attributes = {"comparison_direction": f"#stablehlo<comparison_direction {how}>"}
        return lowering.op1(
            "stablehlo.compare", (operand, bound), (indices, indices), flags, attributes
        )

    above = compare(lowering.full(0, indices), "GE")
    below = compare(lower_last_starts(lowering, windows, indices), "LE")
    both = lowering.op1("stablehlo.and", (above, below), (flags, flags), flags)
    out = flags.with_shape(indices.shape[:-1])
    axes = (indices.ndim - 1,)
    return lower_reduce(lowering, both, flags, out, axes, "stablehlo.and", True), out


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


def _gather_windows(
    x: HostArray, indices: HostArray, windows: Windows, offset_dims: Axes
) -> HostArray:
    axes, coordinates, inner = windows.positions(indices)
    batch = indices.ndim - 1
    whole = [i for i in range(x.ndim) if i not in axes]
    moved = x.transpose((*axes, *whole))
    # without coordinates every window is the array itself
    found = moved[tuple(coordinates)] if axes else moved.reshape((1,) * batch + moved.shape)
    found = np.broadcast_to(found, (*indices.shape[:-1], *found.shape[batch:]))
    return found.transpose(windows.order(inner, batch, offset_dims, batch + len(offset_dims)))


@gather_p.def_impl
def _gather_impl(operands: Sequence[HostArray], params: GatherParams) -> Sequence[HostArray]:
    x, indices = operands
    numbers = params.dimension_numbers
    indices = wide_indices(indices)
    batch = indices.ndim - 1
    windows = gather_windows(x.shape, params)
    ndim = batch + len(numbers.offset_dims)
    out: HostArray
    if not prod(indices.shape[:-1]) or 0 in windows.window_shape:
        sizes = iter(indices.shape[:-1])
        inside = dict(zip(numbers.offset_dims, windows.window_shape, strict=True))
        shape = [inside[i] if i in inside else next(sizes) for i in range(ndim)]
        return (np.empty(shape, x.dtype),)
    axis = windows.only_axis
    if axis is not None:
        out = x.take(indices[..., 0], axis, mode="clip")
        natural = (*range(axis), *range(axis + batch, ndim))
        if numbers.offset_dims != natural:
            rest = [i for i in range(ndim) if i not in natural]
            order = windows.order((), batch, numbers.offset_dims, ndim)
            out = out.transpose((*rest, *natural)).transpose(order)
    else:
        out = _gather_windows(x, indices, windows, numbers.offset_dims)
    if params.mode is GatherScatterMode.FILL_OR_DROP:
        inside_bounds = windows.in_bounds(indices)
        if not inside_bounds.all():
            line = iter(indices.shape[:-1])
            shape = [1 if i in numbers.offset_dims else next(line) for i in range(ndim)]
            fill = _fill_value(params, x.dtype)
            out = np.where(inside_bounds.reshape(shape), out, fill)
    return (out,)


@gather_p.def_abstract_eval
def _gather_type(avals: Sequence[ShapedArray], params: GatherParams) -> Sequence[ShapedArray]:
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
    return (ShapedArray(shape, x.dtype),)


@gather_p.def_lowering
def _gather_lowering(
    lowering: Lowering, operands: Sequence[str], params: GatherParams
) -> Sequence[str]:
    (x, indices), (out,) = lowering.avals_in, lowering.avals_out
    numbers = params.dimension_numbers
    index, indices = lower_wide_indices(lowering, operands[1], indices)
    text = (
        "#stablehlo.gather<"
        f"offset_dims = {list(numbers.offset_dims)}, "
        f"collapsed_slice_dims = {sorted(numbers.collapsed_slice_dims)}, "
        f"operand_batching_dims = {list(numbers.operand_batching_dims)}, "
        f"start_indices_batching_dims = {list(numbers.start_indices_batching_dims)}, "
        f"start_index_map = {list(numbers.start_index_map)}, "
        f"index_vector_dim = {indices.ndim - 1}>"
    )
    gathered = lowering.op1(
        "stablehlo.gather",
        (operands[0], index),
        (x, indices),
        out,
        {
            "dimension_numbers": text,
            "slice_sizes": int_array(params.slice_sizes),
            "indices_are_sorted": boolean(params.indices_are_sorted),
        },
    )
    if params.mode is not GatherScatterMode.FILL_OR_DROP or not params.slice_sizes:
        return (gathered,)
    windows = gather_windows(x.shape, params)
    flags, flag = _lower_in_bounds(lowering, index, indices, windows)
    batch = [i for i in range(out.ndim) if i not in numbers.offset_dims]
    everywhere = out.with_dtype(dtypes.bool_)
    chosen = lowering.broadcast(flags, flag, everywhere, batch)
    fill = lowering.constant(_fill_value(params, out.dtype))
    filled = lowering.broadcast(fill, ShapedArray((), out.dtype), out, ())
    return (
        lowering.op1("stablehlo.select", (chosen, gathered, filled), (everywhere, out, out), out),
    )


@gather_p.def_jvp
def _gather_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: GatherParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    _, indices = primals
    t = tangents[0]
    out = bind1(gather_p, primals, params)
    if t is ZERO:
        return (out,), (ZERO,)
    # what is filled in does not depend on the operand
    return (out,), (bind1(gather_p, (t, indices), attrs.evolve(params, fill_value=0)),)


# Its transpose is a scatter, and is registered where that is: in primitives.scatter.


@gather_p.def_batch
def _gather_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: GatherParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
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
    host = np.asarray(value)
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
        mode: of windows out of bounds; ``"fill"`` by default.
        fill_value: what stands in them; by default NaN for floats, the least integer for signed and
            the greatest for unsigned ones, True for bools.

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
    params = GatherParams(
        dimension_numbers,
        _axes(slice_sizes),
        GatherScatterMode.from_any(mode),
        canonical_fill(fill_value, x.dtype),
        indices_are_sorted,
        unique_indices,
    )
    # the types are checked here, where a mistake is the caller's, and not by NumPy
    gather_p.rules.abstract_eval((x.aval, indices.aval), params)
    return bind1(gather_p, (x, indices), params)


def index_take(src: Array, idxs: Sequence[Array], axes: Sequence[int]) -> Array:
    """Take one element of each of several axes, at each of several places.

    Args:
        src: any dtype.
        idxs: for each of the axes a vector of indices, all of one length and dtype; one out of
            bounds is moved into them.
        axes: distinct axes of ``src``.

    Returns:
        An array with the indices' axis in front of ``src``'s other axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.primitives.gather import index_take
        >>> index_take(jnp.array([[1, 2], [3, 4]]), (jnp.array([0, 1]), jnp.array([1, 0])), (0, 1))
        Array([2, 3], dtype=int32)
    """
    columns = [reshape(i, (*i.shape, 1)) for i in idxs]
    sizes = tuple([1 if i in axes else n for i, n in enumerate(src.shape)])
    numbers = GatherDimensionNumbers(
        tuple(range(1, src.ndim - len(axes) + 1)), tuple(sorted(axes)), tuple(axes)
    )
    return gather(src, concatenate(columns, 1), numbers, sizes, mode="clip")
