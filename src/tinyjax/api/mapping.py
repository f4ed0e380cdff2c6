"""``vmap``: a function of one example as a function of many."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tinyjax import tree
from tinyjax.core.array import Array, canonical_axis
from tinyjax.core.calling import FlatFunction, argument_path, as_arrays, leaf_path
from tinyjax.core.checking import checked
from tinyjax.core.primitive import MappedAxis
from tinyjax.errors import ArgumentError, BatchSizeError
from tinyjax.frames import describe_function
from tinyjax.primitives.shape import move_batch_axis
from tinyjax.transforms.batching import batch_flat
from tinyjax.tree import PyTreeDef

P = ParamSpec("P")
R = TypeVar("R")


def _is_none(x: object) -> bool:
    return x is None


@checked
def vmap(
    fun: Callable[P, R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
) -> Callable[P, R]:
    """Map a function over an axis of its arguments, as one program and without a loop.

    Args:
        fun: takes and returns arrays in any containers.
        in_axes: which axis of each argument to map over: an int, None for an argument that all
            examples share, or a tuple with one entry per positional argument, each of which may be
            a tree that is a prefix of the argument. Keyword arguments are mapped over axis 0.
        out_axes: where to put the mapped axis in the results; None for a result that is the same
            for all examples. An int, or a tree that is a prefix of the result.
        axis_name: the name by which collectives in ``fun`` refer to the axis.
        axis_size: the number of examples; needed only where no argument is mapped.

    Returns:
        A function of the same signature whose mapped arguments and results have one more axis.

    Raises:
        BatchSizeError: when called, if the mapped axes differ in size, or there are none.
        AxisError: when called, if an axis is out of range.
        TreeMismatchError: when called, if ``in_axes`` or ``out_axes`` is no prefix of its tree.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> xs, y = jnp.arange(6.0).reshape(3, 2), jnp.array([1.0, 2.0])
        >>> tinyjax.vmap(jnp.dot, in_axes=(0, None))(xs, y)
        Array([ 2.,  8., 14.], dtype=float32)
    """
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)

    @wraps(fun)
    def mapped(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves, in_tree = tree.flatten((args, kwargs))
        arrays = as_arrays(leaves, fun, in_tree)
        axes = _argument_axes(fun, in_axes, args, kwargs, in_tree)
        for i, (array, axis) in enumerate(zip(arrays, axes, strict=True)):
            if axis is not None:
                name = (
                    f"in_axes of {argument_path(fun, in_tree, i)}"
                    if array.ndim <= abs(axis)
                    else ""
                )
                axes[i] = canonical_axis(axis, array.ndim, name)
        size = _mapped_size(fun, arrays, axes, in_tree, axis_size)
        flat = FlatFunction(fun, in_tree)
        outs, found = batch_flat(flat, MappedAxis(size, axis_name), arrays, axes, fun)
        wanted = tree.flatten_prefix(out_axes, flat.out_tree, _is_none, "out_axes")
        moved = [
            _place(fun, out, axis, to, size, flat.out_tree, i)
            for i, (out, axis, to) in enumerate(zip(outs, found, wanted, strict=True))
        ]
        result: R = tree.unflatten(flat.out_tree, moved)
        return result

    return mapped


def _argument_axes(
    fun: Callable[..., Any],
    in_axes: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_tree: PyTreeDef,
) -> list[int | None]:
    if isinstance(in_axes, int):
        return [in_axes] * in_tree.num_leaves
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ArgumentError(
            f"in_axes has {len(in_axes)} entries, but {describe_function(fun)} was called with "
            f"{len(args)} positional arguments. Give an axis (or None) for each, or one int for "
            "all."
        )
    given = tree.flatten_prefix(in_axes, tree.structure(args), _is_none, "in_axes")
    for axis in given:
        if axis is not None and not isinstance(axis, int):
            raise ArgumentError(f"in_axes holds {axis!r}; it may hold ints and None.")
    axes: list[int | None] = given
    return axes + [0] * (in_tree.num_leaves - len(axes))


def _mapped_size(
    fun: Callable[..., Any],
    arrays: list[Array],
    axes: list[int | None],
    in_tree: PyTreeDef,
    axis_size: int | None,
) -> int:
    sizes = {i: arrays[i].shape[axis] for i, axis in enumerate(axes) if axis is not None}
    distinct = set(sizes.values())
    if axis_size is not None:
        distinct.add(axis_size)
    if len(distinct) == 1:
        return distinct.pop()
    if not distinct:
        raise BatchSizeError(
            f"vmap of {describe_function(fun)} maps over no argument, so it does not know how many "
            "examples there are. Give axis_size, or map over at least one argument."
        )
    lines = [
        f"  {argument_path(fun, in_tree, i)} has size {n} along axis {axes[i]}"
        for i, n in sizes.items()
    ]
    if axis_size is not None:
        lines.append(f"  axis_size is {axis_size}")
    raise BatchSizeError(
        f"vmap of {describe_function(fun)} needs mapped axes of one size:\n"
        + "\n".join(lines)
        + "\n"
        "Make the sizes equal, or give None in in_axes for arguments that all examples share."
    )


def _place(
    fun: Callable[..., Any],
    out: Array,
    axis: int | None,
    to: int | None,
    size: int,
    out_tree: PyTreeDef,
    position: int,
) -> Array:
    if to is None:
        if axis is None:
            return out
        path = leaf_path("result", out_tree, position)
        raise ArgumentError(
            f"out_axes is None for {path} of {describe_function(fun)}, but that differs from "
            "example to "
            "example. Give the axis where the examples should go."
        )
    ndim = out.ndim + (axis is None)
    return move_batch_axis(out, axis, canonical_axis(to, ndim, "out_axes"), size)
