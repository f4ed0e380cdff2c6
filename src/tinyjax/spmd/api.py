"""``shard_map`` as users call it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from tinyjax import tree
from tinyjax.core.array import Array
from tinyjax.core.calling import FlatFunction, as_arrays
from tinyjax.core.devices import PartitionSpec, is_place
from tinyjax.core.sharding import AnyMesh, NamedSharding, get_mesh
from tinyjax.core.staging import Staged, stage
from tinyjax.core.trace import on_devices
from tinyjax.core.varying import named
from tinyjax.errors import ArgumentError, ShardingError, described
from tinyjax.frames import describe_function, imitate
from tinyjax.spmd.declared import local_type
from tinyjax.spmd.program import bind_shard_map
from tinyjax.transforms.varying import on_axes
from tinyjax.tree import PyTreeDef

P = ParamSpec("P")
R = TypeVar("R")


@overload
def shard_map(
    f: Callable[P, R],
    /,
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: AnyMesh | None = ...,
    axis_names: Collection[str] = ...,
    check_vma: bool = ...,
) -> Callable[P, R]: ...
@overload
def shard_map(
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: AnyMesh | None = ...,
    axis_names: Collection[str] = ...,
    check_vma: bool = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def shard_map(
    f: Callable[P, R] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = None,
    mesh: AnyMesh | None = None,
    axis_names: Collection[str] = frozenset(),
    check_vma: bool = True,
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Run a function on each device of a mesh, on its own part of the arguments.

    The function sees parts only. Across devices it computes by the collectives of ``tinyjax.lax``
    (``psum``, ``all_gather``, ``ppermute`` and kin), which name axes of the mesh as they name the
    axes of ``vmap``. Arguments on the host are computed with on the host, as though the axes were
    those of ``vmap``; under ``jit``, or where an argument lies on the devices, they compute.

    Args:
        f: takes and returns arrays in any containers, positionally. Without it, a decorator is
            returned.
        out_specs: how the results are joined: a prefix of their tree, with a ``PartitionSpec`` at
            each leaf. Along the axes of the mesh that one does not name, all devices must have the
            same result.
        in_specs: how the arguments are divided, likewise a prefix of their tuple. Along the axes
            that one does not name, devices get copies.
        mesh: the devices; by default those of the mesh in force (``set_mesh``). An ``AbstractMesh``
            is for programs that are compiled and not run.
        axis_names: must be empty, or name all axes of the mesh.
        check_vma: must be True: it is always checked that results are the same where they have to.

    Returns:
        A function of whole arguments to whole results. It can be transformed, and ``f`` may take
        derivatives itself: with respect to what all devices have, the sum of their parts.

    Raises:
        ShardingError: no mesh is in force; or when called, if an argument cannot be divided, a
            result is not the same on all devices although ``out_specs`` says so, or devices would
            wait in a collective for others that never come there.
        DifferentiationError: when called, if a cotangent varies of what all devices have.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import P, lax
        >>> mesh = tinyjax.make_mesh((1,), ("data",))
        >>> @tinyjax.shard_map(mesh=mesh, in_specs=P("data"), out_specs=P())
        ... def mean(part):
        ...     return lax.pmean(part.mean(), "data")
        >>> mean(jnp.arange(8.0))
        Array(3.5, dtype=float32)
    """
    if f is None:

        def decorate(f: Callable[P, R]) -> Callable[P, R]:
            return shard_map(
                f,
                out_specs=out_specs,
                in_specs=in_specs,
                mesh=mesh,
                axis_names=axis_names,
                check_vma=check_vma,
            )

        return decorate
    if not callable(f):
        raise ArgumentError(f"shard_map takes a function, but got {described(f)}.")
    if not check_vma:
        raise ArgumentError(
            "shard_map has no check_vma=False: that results are the same on all devices where "
            "out_specs says so is always checked."
        )
    fun = f

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise ArgumentError(
                f"{describe_function(fun)}, given to shard_map, takes arguments by position only, "
                f"but got {', '.join(kwargs)} by name."
            )
        found: R = _call(fun, args, _mesh(mesh, axis_names), in_specs, out_specs)
        return found

    imitate(call, fun)
    return call


def _mesh(mesh: AnyMesh | None, axis_names: Collection[str]) -> AnyMesh:
    found = get_mesh() if mesh is None else mesh
    if found.empty:
        raise ShardingError(
            "shard_map needs a mesh of devices: give mesh=tinyjax.make_mesh(shape, names), or put "
            "one in force by tinyjax.set_mesh."
        )
    if axis_names and {*axis_names} != {*found.axis_names}:
        raise ShardingError(
            f"shard_map takes all axes of the mesh, {found.axis_names}, but axis_names has "
            f"{', '.join(axis_names)}. Name an axis in no specification, and devices along it "
            "compute the same."
        )
    if on_devices.get() is not None:
        raise ShardingError("shard_map is called inside a function given to shard_map.")
    return found


def _call(
    fun: Callable[..., Any], args: tuple[Any, ...], mesh: AnyMesh, in_specs: Any, out_specs: Any
) -> Any:
    leaves, in_tree = tree.flatten_arguments(args, {})
    arrays = as_arrays(leaves, fun, in_tree)
    args_tree = tree.structure(args)
    if in_specs is None:
        specs = [PartitionSpec(*x.aval.entries) for x in arrays]
    else:
        specs = _specs(in_specs, args_tree, mesh, "in_specs")
    for (path, _), x, spec in zip(tree.leaves_with_path(args), arrays, specs, strict=True):
        what = f"{tree.path_str('args', path)} of {describe_function(fun)}, given to shard_map"
        NamedSharding(mesh, spec).check(x.shape, what)
    flat = FlatFunction(fun, in_tree)
    parts = [local_type(x.aval, mesh, spec) for x, spec in zip(arrays, specs, strict=True)]
    with on_axes(mesh.shape_tuple):
        staged = stage(flat, parts, fun)
    joined = _specs(out_specs, flat.out_tree, mesh, "out_specs")
    _check_results(fun, staged, joined, flat.out_tree)
    outs: Sequence[Array] = bind_shard_map(staged, arrays, mesh, specs, joined)
    return tree.unflatten(flat.out_tree, outs)


def _specs(given: Any, treedef: PyTreeDef, mesh: AnyMesh, name: str) -> list[PartitionSpec]:
    found: list[PartitionSpec] = []
    for spec in tree.flatten_prefix(given, treedef, is_place, name):
        if not isinstance(spec, PartitionSpec) or spec.UNCONSTRAINED in spec.partitions:
            raise ShardingError(
                f"{name} of shard_map is a tree of PartitionSpecs, which leave nothing open, but "
                f"one is {spec!r}."
            )
        found.append(NamedSharding(mesh, spec).spec)
    return found


def _check_results(
    fun: Callable[..., Any],
    staged: Staged,
    out_specs: Sequence[PartitionSpec],
    out_tree: PyTreeDef,
) -> None:
    """Check that what devices are to have the same of does not vary between them.

    Raises:
        ShardingError: it may.
    """
    paths = tree.leaves_with_path(tree.unflatten(out_tree, range(out_tree.num_leaves)))
    for (path, _), spec, aval in zip(paths, out_specs, staged.jaxpr.out_avals, strict=True):
        what = tree.path_str("result", path)
        if len(spec) > aval.ndim:
            raise ShardingError(
                f"out_specs of shard_map has {spec} for {what} of {describe_function(fun)}, which "
                f"is {aval}: there are not as many axes."
            )
        wrong = aval.varying - {*spec.names}
        if wrong:
            raise ShardingError(
                f"{what} of {describe_function(fun)} may differ between the devices along "
                f"{named(wrong)}, but its out_specs, {spec}, says that they have the same. "
                "Combine theirs, by lax.psum or lax.pmean, or name the axis in out_specs."
            )
