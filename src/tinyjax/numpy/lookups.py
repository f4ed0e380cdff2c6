"""Indices that are data: one gather, or one scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tinyjax._primitives import gather_scatter, modes, scatter_mul
from tinyjax._primitives.scatter import canonical_fill
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, ArrayLike
from tinyjax.numpy import index_parsing

_SCATTER: Final[dict[str, prim.Primitive[gather_scatter.ScatterParams]]] = {
    "set": gather_scatter.scatter_p,
    "add": gather_scatter.scatter_add_p,
    "mul": scatter_mul.scatter_mul_p,
    "min": gather_scatter.scatter_min_p,
    "max": gather_scatter.scatter_max_p,
}


def taken_at(
    x: Array,
    lookup: index_parsing.Lookup,
    mode: modes.GatherScatterMode,
    fill_value: ArrayLike | None,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Array:
    """Return the elements that an index looks up, in the index's shape."""
    sizes = list(x.shape)
    for axis in lookup.axes:
        sizes[axis] = 1
    params = gather_scatter.GatherParams(
        gather_scatter.GatherDimensionNumbers(lookup.window_dims, sorted(lookup.axes), lookup.axes),
        tuple(sizes),
        mode,
        canonical_fill(fill_value, x.dtype),
        indices_are_sorted,
        unique_indices,
    )
    return sh.reshape(tr.bind1(gather_scatter.gather_p, (x, lookup.indices), params), lookup.shape)


def updated_at(
    x: Array,
    lookup: index_parsing.Lookup,
    places: Sequence[int],
    update: Array,
    kind: str,
    mode: modes.GatherScatterMode,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Array:
    """Update the elements that an index looks up along some axes, ``places``."""
    numbers = gather_scatter.ScatterDimensionNumbers(lookup.window_dims, places, lookup.axes)
    is_single = lookup.indices.ndim == 1
    params = gather_scatter.ScatterParams(
        numbers, mode, indices_are_sorted or is_single, unique_indices or is_single
    )
    return tr.bind1(_SCATTER[kind], (x, lookup.indices, update), params)
