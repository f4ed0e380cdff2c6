"""Windows: where slices of one array lie, at places that are data.

What gather and scatter share: which places index vectors mean, and how NumPy reads and writes
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import records
from tinyjax.core.primitives import families
from tinyjax.core.primitives.broadcast import lower_reduce
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.values import ShapedArray, integers as ints, operands as opd
from tinyjax.dtypes import HostArray

Axes = tuple[int, ...]


def as_axes(axes: Sequence[int]) -> Axes:
    """Convert to a tuple of ints."""
    return ints.integers(axes, "axes and sizes of windows")


@attrs.frozen(eq=False, repr=False)
class Windows(records.Record):
    """The windows of an array: the common part of gather and scatter.

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
            raise errors.DtypeError(f"{name} needs integer indices, but got {indices}.")
        if not indices.ndim or indices.shape[-1] != len(self.index_map):
            raise errors.ShapeError(
                f"{name} needs an index vector of length {len(self.index_map)} in the last axis of "
                f"the indices, one entry for each axis in {self.index_map}, but got {indices}."
            )
        left_out = (*self.collapsed, *self.batching)
        for axes in (self.index_map, left_out):
            if any(not 0 <= i < x.ndim for i in axes) or len(set(axes)) != len(axes):
                raise errors.ShapeError(f"{name} needs distinct axes of {x}, but got {axes}.")
        if set(self.batching) & set(self.index_map):
            raise errors.ShapeError(
                f"{name}: axes {self.batching} are batched, so no index can be about them, but "
                f"{self.index_map} are indexed."
            )
        if len(self.sizes) != x.ndim or any(
            not 0 <= m <= n for m, n in zip(self.sizes, x.shape, strict=False)
        ):
            raise errors.ShapeError(
                f"{name} needs a window size for each axis of {x}, at most the axis's own, but got "
                f"{self.sizes}."
            )
        if any(self.sizes[i] != 1 for i in left_out):
            raise errors.ShapeError(
                f"{name}: windows must have size 1 along the axes {left_out} that they leave out, "
                f"but their sizes are {self.sizes}."
            )
        if len(self.batching) != len(self.indices_batching) or any(
            not 0 <= j < indices.ndim - 1 or x.shape[i] != indices.shape[j]
            for i, j in zip(self.batching, self.indices_batching, strict=False)
        ):
            raise errors.ShapeError(
                f"{name} needs batched axes of equal size, but axes {self.batching} of {x} and "
                f"{self.indices_batching} of the indices {indices} differ or do not exist."
            )

    def check_places(self, name: str, what: str, places: Axes, ndim: int) -> None:
        """Raise unless the axes of windows have increasing places among so many axes."""
        if (
            len(places) != len(self.window_axes)
            or tuple(sorted(set(places))) != places
            or any(not 0 <= i < ndim for i in places)
        ):
            raise errors.ShapeError(
                f"{name} needs an increasing {what} for each of the axes {self.window_axes} of a "
                f"window, but got {places}."
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
        """Return, for each index vector, whether its window lies within the array."""
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
                start = np.reshape(start, start.shape + (1,) * len(inner))
                if i in inner:
                    line = [1] * start.ndim
                    line[batch + inner.index(i)] = sizes[i]
                    start = start + np.arange(sizes[i]).reshape(line)
            coordinates.append(np.asarray(start))
        return axes, coordinates, inner

    def lines(self, axes: Sequence[int], coordinates: Sequence[HostArray]) -> HostArray:
        """Number positions in row-major order over the axes that have coordinates."""
        numbers: HostArray = np.zeros((), np.intp)
        for axis, coordinate in zip(axes, coordinates, strict=True):
            numbers = np.asarray(numbers * self.shape[axis] + coordinate)
        return numbers

    def order(self, inner: Axes, batch: int, offset_dims: Axes, ndim: int) -> list[int]:
        """Return the permutation from axes batch, ``inner``, rest to those of a gather's result."""
        window = self.window_axes
        whole = [i for i in window if i not in inner]
        places = {axis: batch + k for k, axis in enumerate((*inner, *whole))}
        offsets = {
            dim: places[axis] for dim, axis in zip(offset_dims, self.window_axes, strict=True)
        }
        rest = iter(range(batch))
        return [offsets[i] if i in offsets else next(rest) for i in range(ndim)]


def wide_indices(indices: HostArray) -> HostArray:
    """Return indices as int32 or int64; those beyond int64 become negative, out of bounds."""
    dtype = indices.dtype
    if dtype in (dtypes.int32, dtypes.int64):
        return indices
    return indices.astype(dtypes.int32 if dtype.itemsize < 4 else dtypes.int64)


def lower_wide_indices(b: Lowering, indices: hlo.SSAValue) -> hlo.SSAValue:
    """Write the conversion of ``wide_indices``."""
    if indices.dtype in (dtypes.int32, dtypes.int64):
        return indices
    return b.convert(indices, dtypes.int32 if indices.dtype.itemsize < 4 else dtypes.int64)


def lower_last_starts(b: Lowering, windows: Windows, indices: hlo.SSAValue) -> hlo.SSAValue:
    """Write the greatest start in bounds for every entry of the indices."""
    most = int(np.iinfo(indices.dtype).max)
    last = np.array([min(n, most) for n in windows.last_starts], indices.dtype)
    return b.broadcast_in_dim(b.constant(last), indices.shape, (indices.ndim - 1,))


def lower_clipped(b: Lowering, indices: hlo.SSAValue, windows: Windows) -> hlo.SSAValue:
    """Write index vectors whose windows lie within the array, moved where they do not."""
    last = lower_last_starts(b, windows, indices)
    return b.op("stablehlo.clamp", b.full_like(indices, 0), indices, last)


def lower_in_bounds(b: Lowering, indices: hlo.SSAValue, windows: Windows) -> hlo.SSAValue:
    """Write whether the window of each index vector lies within the array."""
    above = b.compare(indices, b.full_like(indices, 0), "GE")
    below = b.compare(indices, lower_last_starts(b, windows, indices), "LE")
    return lower_reduce(b, b.and_(above, below), (indices.ndim - 1,), Lowering.and_, True)


# Reading and writing with NumPy


def gathered(windows: Windows, x: HostArray, indices: HostArray, offset_dims: Axes) -> HostArray:
    """Read windows; those out of bounds are moved into them."""
    batch = indices.ndim - 1
    ndim = batch + len(offset_dims)
    if not prod(indices.shape[:-1]) or 0 in windows.window_shape:
        sizes = iter(indices.shape[:-1])
        inside = dict(zip(offset_dims, windows.window_shape, strict=True))
        shape = [inside[i] if i in inside else next(sizes) for i in range(ndim)]
        return np.empty(shape, x.dtype)
    axis = windows.only_axis
    if axis is not None:
        taken = (*x.shape[:axis], *indices.shape[:-1], *x.shape[axis + 1 :])
        out = opd.aligned(taken, x.dtype) if opd.is_large(taken, x.dtype) else None
        elements = x.take(indices[..., 0], axis, out, mode="clip")
        natural = (*range(axis), *range(axis + batch, ndim))
        if offset_dims == natural:
            return np.asarray(elements)
        rest = [i for i in range(ndim) if i not in natural]
        order = windows.order((), batch, offset_dims, ndim)
        return elements.transpose((*rest, *natural)).transpose(order)
    axes, coordinates, inner = windows.positions(indices)
    whole = [i for i in range(x.ndim) if i not in axes]
    moved = x.transpose((*axes, *whole))
    # without coordinates every window is the array itself
    elements = moved[tuple(coordinates)] if axes else moved.reshape((1,) * batch + moved.shape)
    elements = np.broadcast_to(elements, (*indices.shape[:-1], *elements.shape[batch:]))
    return elements.transpose(windows.order(inner, batch, offset_dims, ndim))


def scattered(
    windows: Windows,
    x: HostArray,
    indices: HostArray,
    updates: HostArray,
    window_dims: Axes,
    ufunc: np.ufunc | None,
    clip: bool,
    unique: bool,
) -> HostArray:
    """Return a copy with windows combined with updates.

    Args:
        windows: where they lie.
        x: the array.
        indices: index vectors.
        updates: one window for each.
        window_dims: the updates' axes that run within a window.
        ufunc: what combines; None where the update replaces.
        clip: whether windows out of bounds are moved into them, rather than left out.
        unique: whether no two of them overlap.
    """
    if not updates.size or not x.size:
        return np.array(x)
    batch = indices.ndim - 1
    if windows.only_axis == 0 and window_dims[:1] in ((), (batch,)):
        lines = indices[..., 0].reshape(-1)
        return _scattered_rows(x, lines, updates, ufunc, clip, unique)
    axes, coordinates, inner = windows.positions(indices)
    whole = [i for i in range(x.ndim) if i not in axes]
    # Bring the axes with coordinates to the front, and number their positions in row-major order.
    perm = (*axes, *whole)
    moved = opd.memory([x.shape[axis] for axis in perm], x.dtype)
    moved[...] = x.transpose(perm)
    width = prod(x.shape[i] for i in whole)
    places = windows.lines(axes, coordinates)
    window_shape = [windows.sizes[i] for i in inner]
    places = np.broadcast_to(places, (*indices.shape[:-1], *window_shape))
    order = windows.order(inner, batch, window_dims, updates.ndim)
    rows = updates.transpose(np.argsort(order)).reshape(-1, width)
    lines = places.reshape(-1)
    if not clip:
        inside = windows.in_bounds(indices)
        if not families.all_hold(inside):
            inside = inside.reshape(inside.shape + (1,) * len(inner))
            within = np.broadcast_to(inside, places.shape).reshape(-1)
            lines, rows = lines[within], rows[within]
    _combine(moved.reshape(-1, width), lines, rows, ufunc, unique)
    return moved.transpose(np.argsort(perm))


def _scattered_rows(
    x: HostArray,
    lines: HostArray,
    updates: HostArray,
    ufunc: np.ufunc | None,
    clip: bool,
    unique: bool,
) -> HostArray:
    """The case of an index along the first axis, which is most frequent."""
    n = len(x)
    out = opd.memory(x.shape, x.dtype)
    out[...] = x
    flat = out.reshape(n, -1)
    rows = updates.reshape(len(lines), -1)
    if lines.min() < 0 or lines.max() >= n:
        if clip:
            lines = np.clip(lines, 0, n - 1)
        else:
            within = (lines >= 0) & (lines < n)
            lines, rows = lines[within], rows[within]
    _combine(flat, lines, rows, ufunc, unique)
    return out


#: Rows of so many elements are combined one after the other; of all rows fewer elements than these
#: are not worth the numbers of their places.
_WIDE: Final = 512
_FEW: Final = 400


def _combine(
    flat: HostArray, lines: HostArray, rows: HostArray, ufunc: np.ufunc | None, unique: bool
) -> None:
    """Combine rows into the given lines of a matrix; a line may come several times."""
    width = flat.shape[1]
    if ufunc is None:
        flat[lines] = rows  # of repeated lines NumPy keeps the last
    elif len(lines) == 1 or unique:
        flat[lines] = ufunc(flat[lines], rows)
    elif width >= _WIDE:
        for line, row in zip(lines.tolist(), rows, strict=True):
            here = flat[line]
            ufunc(here, row, out=here)
    elif (
        (width == 1 or rows.size >= _FEW)
        and flat.dtype.kind in "iuf"
        and not dtypes.is_extended(flat.dtype)
    ):
        # Of single elements ufunc.at is faster than sorting first.
        places = lines if width == 1 else np.add.outer(lines * width, np.arange(width)).reshape(-1)
        ufunc.at(flat.reshape(-1), places, rows.reshape(-1))
    elif rows.size < _FEW:
        ufunc.at(flat, lines, rows)
    elif len(lines):
        order = np.argsort(lines, kind="stable")
        lines = lines[order]
        first = np.flatnonzero(np.concatenate(([True], lines[1:] != lines[:-1])))
        chosen = lines[first]
        together = np.add if ufunc is np.subtract else ufunc
        flat[chosen] = ufunc(flat[chosen], together.reduceat(rows[order], first, axis=0))
