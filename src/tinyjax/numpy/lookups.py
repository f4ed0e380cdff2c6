"""Indices that are data: one gather, or one scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.primitive import Primitive
from tinyjax.core.trace import bind1
from tinyjax.numpy.index_parsing import Lookup
from tinyjax.primitives.gather import canonical_fill
from tinyjax.primitives.gather_scatter import (
    GatherDimensionNumbers,
    GatherParams,
    ScatterDimensionNumbers,
    ScatterParams,
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
)
from tinyjax.primitives.modes import GatherScatterMode
from tinyjax.primitives.shape import reshape

_SCATTER: Final[dict[str, Primitive[ScatterParams]]] = {
    "set": scatter_p,
    "add": scatter_add_p,
    "mul": scatter_mul_p,
    "min": scatter_min_p,
    "max": scatter_max_p,
}


def taken_at(
    x: Array,
    lookup: Lookup,
    mode: GatherScatterMode,
    fill_value: ArrayLike | None,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Array:
    """Take what an index looks up, in the index's shape."""
    sizes = list(x.shape)
    for axis in lookup.axes:
        sizes[axis] = 1
    params = GatherParams(
        GatherDimensionNumbers(lookup.window_dims, sorted(lookup.axes), lookup.axes),
        tuple(sizes),
        mode,
        canonical_fill(fill_value, x.dtype),
        indices_are_sorted,
        unique_indices,
    )
    return reshape(bind1(gather_p, (x, lookup.indices), params), lookup.shape)


def updated_at(
    x: Array,
    lookup: Lookup,
    places: Sequence[int],
    update: Array,
    kind: str,
    mode: GatherScatterMode,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Array:
    """Update what an index looks up along some axes, ``places``."""
    numbers = ScatterDimensionNumbers(lookup.window_dims, places, lookup.axes)
    is_single = lookup.indices.ndim == 1
    params = ScatterParams(
        numbers, mode, indices_are_sorted or is_single, unique_indices or is_single
    )
    return bind1(_SCATTER[kind], (x, lookup.indices, update), params)
