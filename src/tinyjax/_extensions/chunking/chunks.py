"""Examples in chunks, one after another: a ``scan`` goes through them, to save memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.control_flow.scan import scan
from tinyjax.core.primitives import shape as sh, slicing
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.transforms.batching import batch_flat
from tinyjax.core.values import Array


def in_chunks(
    flat: Callable[..., Sequence[Array]],
    mapped: prim.MappedAxis,
    arrays: Sequence[Any],
    axes: Sequence[int | None],
    chunk_size: int,
    fun: Callable[..., Any],
) -> tuple[list[Array], list[int | None]]:
    """Apply a function to every slice of its arguments, with no more than some at a time."""
    size = mapped.size
    chunks, rest = divmod(size, chunk_size)
    whole = chunks * chunk_size
    examples = [
        sh.moveaxis(x, axis, 0) for x, axis in zip(arrays, axes, strict=True) if axis is not None
    ]
    in_axes = [None if axis is None else 0 for axis in axes]
    outs_axes: list[int | None] = []

    def of_some(*slices: Array) -> list[Array]:
        nonlocal outs_axes
        rows = iter(slices)
        args = [x if a is None else next(rows) for x, a in zip(arrays, axes, strict=True)]
        number = slices[0].shape[0] if slices else size
        chunk = prim.MappedAxis(number, of_basis=mapped.of_basis, last=mapped.last)
        outs, outs_axes = batch_flat(flat, chunk, args, in_axes, fun)
        return outs

    slices = [
        sh.reshape(slicing.slice_in_dim(x, 0, whole), (chunks, chunk_size, *x.shape[1:]))
        for x in examples
    ]
    if not slices:  # the same for all examples: one is enough
        return of_some(), outs_axes
    _, stacked = scan(lambda _, xs: (None, of_some(*xs)), None, slices)
    if not rest:
        last = [sh.reshape(slicing.slice_in_dim(y, 0, 1), y.shape[1:]) for y in stacked]
    else:
        last = of_some(*(slicing.slice_in_dim(x, whole, size) for x in examples))
    joined = []
    for y, end, axis in zip(stacked, last, outs_axes, strict=True):
        if axis is None:
            joined.append(end)
            continue
        apart = sh.moveaxis(y, 0, axis)
        together = sh.reshape(apart, (*apart.shape[:axis], whole, *apart.shape[axis + 2 :]))
        joined.append(slicing.concatenate([together, end], axis) if rest else together)
    return joined, outs_axes
