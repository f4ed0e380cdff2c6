"""Loops over slices of arrays: ``map``, made of ``scan``, and ``associative_scan``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tinyjax import tree
from tinyjax._base.frames import Applied, describe_function
from tinyjax.core.control_flow.common import Body
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.primitives.shape import expand_dims, move_batch_axis, reshape, rev
from tinyjax.core.primitives.slicing import concatenate, slice_in_dim
from tinyjax.core.tracing.calling import FlatFunction, as_arrays
from tinyjax.core.tracing.checking import checked
from tinyjax.core.tracing.primitive import MappedAxis
from tinyjax.core.transforms.batching import batch_flat
from tinyjax.core.values import Array, integers as ints
from tinyjax.core.values.operands import as_array
from tinyjax.errors import ArgumentError
from tinyjax.tree.treedef import in_words

_role = "applies"  # see ``frames.Role``

S = TypeVar("S")
Y = TypeVar("Y")


@checked
def map_(f: Callable[[Any], Y], xs: Any, *, batch_size: int | None = None) -> Y:
    """Apply a function to every slice of arrays along their first axis, one after the other.

    It computes what ``vmap`` computes, by a loop, in the memory of one slice or of ``batch_size``
    slices.

    Args:
        f: takes one slice of ``xs``.
        xs: a tree of arrays whose first axes have the same size.
        batch_size: how many slices to compute at once, by ``vmap``; 0 for all.

    Returns:
        The results, stacked along a new first axis.

    Raises:
        ArgumentError: ``xs`` differ in length, or ``batch_size`` is negative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.map(lambda x: x * x, jnp.arange(4))
        Array([0, 1, 4, 9], dtype=int32)
    """

    def iteration(_: None, x: Any) -> tuple[None, Y]:
        return None, f(x)

    result: Y
    if batch_size is None:
        _, result = scan(Body(iteration, f, "map"), None, xs)
        return result
    batch_size = ints.integer(batch_size, "batch_size of map")
    if batch_size < 0:
        raise ArgumentError(f"batch_size of map must not be negative, but it is {batch_size}.")
    leaves, in_tree = tree.flatten(((xs,), {}))
    arrays = as_arrays(leaves, f, in_tree)
    lengths = {x.shape[0] if x.shape else None for x in arrays}
    if len(lengths) != 1 or None in lengths:
        _, result = scan(Body(iteration, f, "map"), None, xs)  # which says what is wrong
        return result
    length = arrays[0].shape[0]
    batch_size = batch_size or length
    batches, rest = divmod(length, max(batch_size, 1))
    flat = FlatFunction(f, in_tree)

    def many(*slices: Array) -> list[Array]:
        mapped = MappedAxis(slices[0].shape[0])
        outs, axes = batch_flat(flat, mapped, slices, [0] * len(slices), Applied("map", f))
        return [
            move_batch_axis(out, axis, 0, mapped.size) for out, axis in zip(outs, axes, strict=True)
        ]

    parts_of_outs: list[Sequence[Array]] = []
    if batches or not rest:
        full_batches = [
            reshape(slice_in_dim(x, 0, batches * batch_size), (batches, batch_size, *x.shape[1:]))
            for x in arrays
        ]
        _, outs = scan(lambda _, slices: (None, many(*slices)), None, full_batches)
        parts_of_outs.append([reshape(y, (batches * batch_size, *y.shape[2:])) for y in outs])
    if rest:
        parts_of_outs.append(many(*(slice_in_dim(x, length - rest, length) for x in arrays)))
    joined = [
        concatenate(parts, 0) if len(parts) > 1 else parts[0]
        for parts in zip(*parts_of_outs, strict=True)
    ]
    result = tree.unflatten(flat.out_tree, joined)
    return result


@checked
def associative_scan(
    fn: Callable[[Any, Any], Any], elems: S, reverse: bool = False, axis: int = 0
) -> S:
    """Compute all prefix sums under an associative function, in logarithmic depth and linear work.

    Neighbours are combined; their scan gives the results at odd positions, and combining once more
    gives those at even positions (Blelloch, "Prefix sums and their applications", 1990).

    Args:
        fn: associative; takes two trees like ``elems``, of several slices each, and returns one.
        elems: a tree of arrays that agree in the size of ``axis``.
        reverse: whether to combine from the last slice to the first.
        axis: the axis to scan along.

    Raises:
        ArgumentError: there is no array, the sizes differ, or ``fn`` changes a type.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.associative_scan(jnp.add, jnp.arange(5))
        Array([ 0,  1,  3,  6, 10], dtype=int32)
    """
    leaves, treedef = tree.flatten(elems)
    arrays = as_arrays(leaves, fn, tree.structure(((elems,), {})))
    axes = [ints.canonical_axis(axis, x.ndim, "associative_scan: axis") for x in arrays]
    sizes = {x.shape[a] for x, a in zip(arrays, axes, strict=True)}
    if len(sizes) != 1:
        raise ArgumentError(
            "arrays of associative_scan must have the same first dimension, or size along axis "
            f"{axis}, but got sizes "
            f"{sorted(sizes)}."
        )
    (size,) = sizes
    if reverse:
        arrays = [rev(x, (a,)) for x, a in zip(arrays, axes, strict=True)]

    def combine(xs: Sequence[Array], ys: Sequence[Array]) -> list[Array]:
        out = fn(tree.unflatten(treedef, xs), tree.unflatten(treedef, ys))
        leaves, out_tree = tree.flatten(out)
        if out_tree != treedef:
            raise ArgumentError(
                f"{describe_function(fn)} must return what it is given, for associative_scan: "
                f"{in_words(treedef)}, but it returned {in_words(out_tree)}."
            )
        outs = [as_array(x) for x in leaves]
        for x, y in zip(outs, xs, strict=True):
            if (x.shape, x.dtype) != (y.shape, y.dtype):
                raise ArgumentError(
                    f"{describe_function(fn)} must return arrays of the types it is given, for "
                    f"associative_scan: {y.aval}, but it returned {x.aval}."
                )
        return outs

    def cut(xs: Sequence[Array], start: int, stop: int, stride: int = 1) -> list[Array]:
        return [slice_in_dim(x, start, stop, stride, a) for x, a in zip(xs, axes, strict=True)]

    def scanned(xs: Sequence[Array], n: int) -> Sequence[Array]:
        if n < 2:
            return xs
        half = n // 2
        pairs = combine(cut(xs, 0, 2 * half, 2), cut(xs, 1, 2 * half, 2))
        odd = scanned(pairs, half)
        evens = (n - 1) // 2  # the even places after the first
        even = combine(cut(odd, 0, evens), cut(xs, 2, n, 2)) if evens else []
        first = cut(xs, 0, 1)
        if evens:
            first = [concatenate(p, a) for *p, a in zip(first, even, axes, strict=True)]
        return [_interleave(x, y, a) for x, y, a in zip(first, odd, axes, strict=True)]

    outs = scanned(arrays, size)
    if reverse:
        outs = [rev(x, (a,)) for x, a in zip(outs, axes, strict=True)]
    result: S = tree.unflatten(treedef, outs)
    return result


def _interleave(x: Array, y: Array, axis: int) -> Array:
    """Take slices of ``x`` and ``y`` in turn; ``x`` has as many as ``y``, or one more."""
    n = y.shape[axis]
    head = slice_in_dim(x, 0, n, 1, axis)
    pairs = concatenate([expand_dims(head, (axis + 1,)), expand_dims(y, (axis + 1,))], axis + 1)
    shape = (*x.shape[:axis], 2 * n, *x.shape[axis + 1 :])
    together = reshape(pairs, shape)
    if x.shape[axis] == n:
        return together
    return concatenate([together, slice_in_dim(x, n, n + 1, 1, axis)], axis)
