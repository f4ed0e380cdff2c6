"""``vmap``: a function of one example as a function of many."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache, partial
from typing import Any, ParamSpec, TypeAlias, TypeVar

import attrs

from tinyjax import errors, tree
from tinyjax._base import lazy
from tinyjax._base.frames import describe_function
from tinyjax.core import devices
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing import calling
from tinyjax.core.tracing.calling import HOLDERS, whole_places
from tinyjax.core.tracing.checking import checked
from tinyjax.core.tracing.primitive import MappedAxis
from tinyjax.core.tracing.watching import watched
from tinyjax.core.transforms.batching import batch_flat
from tinyjax.core.values import avals as av, integers as ints
from tinyjax.core.values.array import Array
from tinyjax.core.values.integers import integer

P = ParamSpec("P")
R = TypeVar("R")


@lru_cache(maxsize=256)
def _axis(size: int, **options: Any) -> MappedAxis:
    """Make one axis for all calls with the same options."""
    return MappedAxis(size, **options)


def _is_none(x: object) -> bool:
    return x is None


#: Applies a function to every slice of its arguments, as ``batch_flat`` does.
ApplyBatched: TypeAlias = Callable[
    [
        Callable[..., Sequence[Array]],
        MappedAxis,
        Sequence[Any],
        Sequence[int | None],
        Callable[..., object],
    ],
    tuple[list[Array], list[int | None]],
]


def _in_chunks(chunk_size: int | None, threads: int | None = None) -> ApplyBatched | None:
    """Return the division into chunks or threads; None to run all examples at once.

    Args:
        chunk_size: the number of examples in a chunk; None for all.
        threads: the number of threads; None without threads.
    """
    module = lazy.hook("chunking") if chunk_size or threads else None
    return None if module is None else module.Chunking(chunk_size, threads)


@checked
def vmap(
    fun: Callable[P, R],
    in_axes: int | tuple[Any, ...] | list[Any] | dict[str, Any] | None = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    *,
    spmd_axis_name: Hashable | tuple[Hashable, ...] | None = None,
    chunk_size: int | None = None,
    threads: int | None = None,
) -> Callable[P, R]:
    """Map a function over an axis of its arguments, as one program and without a loop.

    Args:
        fun: takes and returns arrays in any containers.
        in_axes: the axis of each argument to map over: an int, None for an argument that all
            examples share, or a tuple with one entry per positional argument. An entry may be a
            tree that is a prefix of the argument. Keyword arguments are mapped over axis 0. An
            argument that all examples share is passed on unchanged, and need not be an array.
        out_axes: where to put the mapped axis in the results; None for a result that is the same
            for all examples. An int, or a tree that is a prefix of the result.
        axis_name: the name by which collectives in ``fun`` refer to the axis.
        axis_size: the number of examples; needed only where no argument is mapped.
        spmd_axis_name: the axis of a mesh, or several, over which ``with_sharding_constraint`` in
            ``fun`` divides the mapped axis, where types record no division, and ``shard_map`` in
            ``fun``, where there is no ``axis_name``.
        chunk_size: how many examples to compute at once, to save memory. A ``scan`` goes through
            the chunks, and a smaller chunk holds the examples that are left over. The results are
            the same.
        threads: into how many parts to divide the examples, each computed by a thread of its own,
            so that they use as many cores of the processor. Each part is compiled as by ``jit``;
            parts differ in size by one at most, and those of one size share a program. ``fun`` is
            traced at each call, so give a jitted function if it takes long to trace. The parts also
            run in threads where the function that ``vmap`` returns is differentiated, or mapped
            again. Where it is a part of a compiled program, they are parts of that program, and XLA
            decides. With ``chunk_size``, each thread goes through its part in chunks. The results
            are to the bit those of ``jit(vmap(fun), tier="compiled")`` called with one part after
            another; XLA may round last bits otherwise in a batch of another size.

    Returns:
        A function of the same signature whose mapped arguments and results have one more axis.

    Raises:
        BatchSizeError: when called, if the mapped axes differ in size, or there are none.
        AxisError: when called, if an axis is out of range.
        TreeMismatchError: when called, if ``in_axes`` or ``out_axes`` is not a prefix of its tree.
        ArgumentError: ``in_axes`` is a dict; or ``chunk_size`` or ``threads`` is not positive, or
            is given with an ``axis_name``, since a collective would see some examples only.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> xs, y = jnp.arange(6.0).reshape(3, 2), jnp.array([1.0, 2.0])
        >>> tinyjax.vmap(jnp.dot, in_axes=(0, None))(xs, y)
        Array([ 2.,  8., 14.], dtype=float32)
        >>> tinyjax.vmap(jnp.dot, in_axes=(0, None), chunk_size=2)(xs, y)
        Array([ 2.,  8., 14.], dtype=float32)
    """
    check_positive("vmap", chunk_size=chunk_size, threads=threads)
    if axis_name is not None and (chunk_size or threads):
        raise errors.ArgumentError(
            f"vmap was given {'chunk_size' if chunk_size else 'threads'} and the axis_name "
            f"{errors.shortened(axis_name)}, but a collective over a named axis needs all examples "
            "at once. Leave out one of the two."
        )
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, dict | str):
        raise errors.ArgumentError(
            "vmap in_axes must be an int, None, or a tuple with one entry per positional "
            f"argument, but got {errors.shortened(in_axes)}."
        )
    axis = _axis if spmd_axis_name is None else devices.ops().spmd_axis(spmd_axis_name)
    batched = _in_chunks(chunk_size, threads)
    make = partial(axis, name=axis_name)
    return map_over(fun, in_axes, out_axes, make, axis_size, batched)


def _no_axis(path: str, array: Array, axis: int, fun: Callable[..., Any]) -> errors.AxisError:
    return errors.AxisError(
        f"vmap was requested to map its argument along axis {axis}, which implies that its rank "
        f"should be at least {axis + 1 if axis >= 0 else -axis}, but is only {array.ndim} (its "
        f"shape is {array.shape}). Change in_axes of {path} of {describe_function(fun)}: give None "
        "for an argument that is the same for all examples; or call the function itself.",
        axis,
        array.ndim,
    )


def over_basis(
    fun: Callable[[Any], R], out_axes: Any = 0, chunk_size: int | None = None, last: bool = False
) -> Callable[[Any], R]:
    """``vmap`` over the directions of a Jacobian, which stand first, or last."""
    axis = -1 if last else 0
    make = partial(_axis, of_basis=True, last=last)
    return map_over(fun, axis, out_axes, make, batched=_in_chunks(chunk_size))


def map_over(
    fun: Callable[P, R],
    in_axes: Any,
    out_axes: Any,
    make: Callable[[int], MappedAxis],
    axis_size: int | None = None,
    batched: ApplyBatched | None = None,
) -> Callable[P, R]:
    """Map a function over an axis of its arguments.

    Args:
        fun: the function.
        in_axes: the axes of arguments, as those of ``vmap``.
        out_axes: the axes of results.
        make: makes the mapped axis, of a size.
        axis_size: the size; None for that of the arguments.
        batched: applies the function to all examples; None for ``batch_flat``.
    """

    @partial(watched, named=fun)
    def mapped(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves, in_tree = tree.flatten_arguments(args, kwargs)
        axes = _argument_axes(fun, in_axes, args, kwargs, in_tree)
        arrays = [  # what is not mapped over is handed on as it is
            x if isinstance(x, Array) or axes[i] is None else _argument(x, fun, in_tree, i)
            for i, x in enumerate(leaves)
        ]
        for i, (array, axis) in enumerate(zip(arrays, axes, strict=True)):
            if axis is not None and not 0 <= axis < array.ndim:
                if not -array.ndim <= axis < array.ndim:
                    raise _no_axis(calling.argument_path(fun, in_tree, i), array, axis, fun)
                axes[i] = axis + array.ndim
        size = _mapped_size(fun, arrays, axes, in_tree, axis_size)
        flat = calling.FlatFunction(fun, in_tree)
        refs = [i for i in whole_places(leaves) if axes[i] is not None]
        if refs:
            outs, sources = _over_refs(
                flat, arrays, axes, make(size), batched or batch_flat, leaves, refs
            )
        else:
            over = make(size)
            if av.Where.in_use:
                mapped = [x.aval for x, axis in zip(arrays, axes, strict=True) if axis is not None]
                where = av.where_of(mapped)
                if where is not None:
                    over = attrs.evolve(over, where=where.mapped_over(arrays, axes))
            try:
                outs, sources = (batched or batch_flat)(flat, over, arrays, axes, fun)
            except errors.DivergenceError as error:
                outs, sources = lazy.hook("divergence").in_groups(
                    error, flat, over, arrays, axes, fun
                )
        if type(out_axes) is int:  # nearly always
            targets = [out_axes] * len(outs)
        else:
            targets = tree.flatten_prefix(out_axes, flat.out_tree, _is_none, "out_axes")
            _check_axes("out_axes", targets)
        if targets != sources:
            outs = [
                _place(fun, out, axis, to, size, flat.out_tree, i)
                for i, (out, axis, to) in enumerate(zip(outs, sources, targets, strict=True))
            ]
        result: R = tree.unflatten(flat.out_tree, outs)
        return result

    return mapped


def _argument(x: object, fun: Callable[..., Any], in_tree: tree.PyTreeDef, i: int) -> Array:
    """Return an argument as an array; a holder of one array is replaced by it."""
    holder = HOLDERS.get(type(x))
    if holder is not None and holder.is_one:
        return holder.opened(x)[0][0]
    return calling.as_argument(x, fun, in_tree, i)


def _over_refs(
    flat: calling.FlatFunction,
    arrays: Sequence[Any],
    axes: Sequence[int | None],
    mapped: MappedAxis,
    batched: ApplyBatched,
    leaves: Sequence[Any],
    refs: Sequence[int],
) -> tuple[list[Array], list[int | None]]:
    """``batch_flat`` of a function that is mapped over references.

    Args:
        flat: the function.
        arrays: its arguments, and the contents of the references.
        axes: the mapped axes.
        mapped: the axis of the examples.
        batched: applies a function to all examples.
        leaves: the arguments.
        refs: which of these are references.
    """
    parts = HOLDERS[type(leaves[refs[0]])].parts(leaves, refs, describe_function(flat.fun))

    def run(*examples: Any) -> list[Array]:
        own = parts.own(examples)
        outs = flat(*own)
        return [*outs, *parts.final_contents(own)]

    with parts.mapped("vmap"):
        all_axes = [*axes, *[axes[i] for i in refs]]
        outs, mapped_outs = parts.with_states(
            lambda states: batched(
                run,
                mapped,
                [*arrays, *states],
                all_axes if states else axes,
                flat.fun,
            )
        )
    n = len(outs) - len(parts.written_leaves)
    parts.keep(
        [
            sh.move_batch_axis(x, axis, all_axes[i] or 0, mapped.size)
            for i, x, axis in zip(parts.written_leaves, outs[n:], mapped_outs[n:], strict=True)
        ]
    )
    return outs[:n], mapped_outs[:n]


def check_positive(function: str, **options: int | None) -> None:
    """Raise ArgumentError unless each option is None or positive."""
    for name, number in options.items():
        if number is not None and number < 1:
            raise errors.ArgumentError(
                f"{name} of {function} must be positive, but it is {number}."
            )


def _argument_axes(
    fun: Callable[..., Any],
    in_axes: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_tree: tree.PyTreeDef,
) -> list[int | None]:
    if type(in_axes) is int and (not kwargs or in_axes == 0):  # nearly always
        return [in_axes] * in_tree.num_leaves
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise errors.ArgumentError(
            "in_axes must be an int, None, or a tuple of entries corresponding to the positional "
            f"arguments, but it has {len(in_axes)} entries, and "
            f"{describe_function(fun)} was called with {len(args)} positional arguments. "
            "Give an axis (or None) for each, or one int for all."
        )
    flat_axes = tree.flatten_prefix(in_axes, tree.structure(args), _is_none, "in_axes")
    _check_axes("in_axes", flat_axes)
    axes: list[int | None] = flat_axes
    return axes + [0] * (in_tree.num_leaves - len(axes))


def _check_axes(name: str, axes: Sequence[Any]) -> None:
    for axis in axes:
        if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
            raise errors.ArgumentError(
                f"{name} must be an int, None, or (nested) container with those types "
                f"as leaves, but it holds {axis!r}."
            )


def _mapped_size(
    fun: Callable[..., Any],
    arrays: list[Any],
    axes: list[int | None],
    in_tree: tree.PyTreeDef,
    axis_size: int | None,
) -> int:
    if len(arrays) == 1 and axes[0] is not None and axis_size is None:  # as most have
        size: int = arrays[0].shape[axes[0]]
        return size
    sizes = {i: arrays[i].shape[axis] for i, axis in enumerate(axes) if axis is not None}
    distinct: set[int] = set(sizes.values())
    if axis_size is not None:
        distinct.add(integer(axis_size, "axis_size of vmap"))
    if len(distinct) == 1:
        return distinct.pop()
    if not distinct:
        raise errors.BatchSizeError(
            f"vmap of {describe_function(fun)} must be passed at least one argument that is mapped "
            "(must have at least one non-None value in in_axes) or be given axis_size: it does not "
            "know how many examples there are."
        )
    lines = [
        f"  {calling.argument_path(fun, in_tree, i)} has size {n} along axis {axes[i]}"
        for i, n in sizes.items()
    ]
    if axis_size is not None:
        lines.append(f"  axis_size is {axis_size}")
    raise errors.BatchSizeError(
        f"vmap of {describe_function(fun)} got inconsistent sizes for array axes to be mapped:\n"
        + "\n".join(lines)
        + "\n"
        "Make the sizes equal, or give None in in_axes for arguments that all examples share."
    )


def _place(
    fun: Callable[..., Any],
    out: Array,
    axis: int | None,
    out_axis: int | None,
    size: int,
    out_tree: tree.PyTreeDef,
    position: int,
) -> Array:
    if out_axis is None:
        if axis is None:
            return out
        path = calling.leaf_path("result", out_tree, position)
        raise errors.ArgumentError(
            "at vmap out_axes, got axis spec None but output was batched: "
            f"{path} of {describe_function(fun)} differs from example to example. Give the axis "
            "where the examples should go."
        )
    ndim = out.ndim + (axis is None)
    return sh.move_batch_axis(out, axis, ints.canonical_axis(out_axis, ndim, "out_axes"), size)
