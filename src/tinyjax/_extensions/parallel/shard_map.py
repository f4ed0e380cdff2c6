"""``shard_map``: the public function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from functools import lru_cache, reduce
from typing import Any, Final, ParamSpec, Required, TypedDict, TypeVar, Unpack, overload

import attrs
import numpy as np

from tinyjax import config, tree
from tinyjax._base.frames import Applied, describe_function, imitate
from tinyjax._base.tracebacks import folded
from tinyjax._extensions.parallel import collective, meshes, named_sharding, putting, types
from tinyjax._extensions.parallel.constraint import constrain
from tinyjax._extensions.parallel.inside import on_axes, part_type
from tinyjax._extensions.parallel.mesh_rule import named
from tinyjax._extensions.parallel.primitive import COPIES, ShardMapParams, local_type
from tinyjax._extensions.parallel.program import bind_shard_map
from tinyjax._extensions.parallel.sharded_array import ShardedArray
from tinyjax._extensions.parallel.sharding import PartitionSpec
from tinyjax.core.devices import is_place
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.tracing import calling, checking, jaxpr as jx, primitive as prim, staging
from tinyjax.core.values import Array, ConcreteArray, avals as av
from tinyjax.errors import ArgumentError, ShardingError, check_function, shortened
from tinyjax.tree.treedef import leaf_paths

P = ParamSpec("P")
R = TypeVar("R")

M = TypeVar("M", meshes.Mesh, meshes.AbstractMesh)


class ShardMapOptions(TypedDict, total=False):
    """Options of ``shard_map``."""

    out_specs: Required[Any]
    in_specs: Any
    mesh: meshes.AnyMesh | None
    axis_names: Collection[str]
    check_vma: bool


@overload
def shard_map(f: Callable[P, R], /, **options: Unpack[ShardMapOptions]) -> Callable[P, R]: ...
@overload
def shard_map(**options: Unpack[ShardMapOptions]) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def shard_map(
    f: Callable[P, R] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = None,
    mesh: meshes.AnyMesh | None = None,
    axis_names: Collection[str] = frozenset(),
    check_vma: bool = True,
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Run a function on each device of a mesh, on its own part of the arguments.

    The function sees parts only. Devices communicate by the collectives of ``tinyjax.lax``
    (``psum``, ``all_gather``, ``ppermute`` and kin), which name axes of the mesh as they name the
    axes of ``vmap``. If all arguments are on the host, so is the computation, as though the axes
    were those of ``vmap``. Under ``jit``, or if an argument is on the devices, the devices compute.

    Args:
        f: takes and returns arrays in any containers, positionally. Without it, a decorator is
            returned.
        out_specs: how the results are joined: a prefix of their tree, with a ``PartitionSpec`` at
            each leaf. Along the axes of the mesh that one does not name, all devices must have the
            same result.
        in_specs: how the arguments are divided, likewise a prefix of their tuple. Along the axes
            that one does not name, devices get copies. None gives all devices the whole argument;
            numbers and objects are then passed as they are.
        mesh: the devices; by default those of the mesh in force (``set_mesh``). An ``AbstractMesh``
            is for programs that are compiled and not run.
        axis_names: the axes of the mesh along which each device runs the function; by default all,
            or inside another such function all remaining ones. Along the other axes XLA divides the
            function like any program.
        check_vma: whether to check that results are equal on the devices that must share them.
            Without the check this is up to the function; derivatives taken inside it are each
            device's own, and ``psum`` transposes to ``psum``, as under ``vmap``.

    Returns:
        A function of whole arguments to whole results. It can be transformed, and ``f`` may take
        derivatives itself. A derivative in a value that all devices have is the sum over the
        devices.

    Raises:
        ShardingError: no mesh is in force. When called, if an argument cannot be divided, a result
            differs between devices against ``out_specs``, or devices would deadlock in a
            collective.
        DifferentiationError: when called, if the cotangent of a value that all devices have varies.

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

    def decorate(f: Callable[P, R]) -> Callable[P, R]:
        check_function("shard_map", f, "f")
        return _mapped(f, mesh, axis_names, _Divided(in_specs, out_specs), check_vma)

    return decorate if f is None else decorate(f)


@attrs.frozen
class _Divided:
    """The specifications of arguments and results, and the caller's names for them.

    Attributes:
        ins: a prefix of the tuple of arguments with specs; None for those of the types.
        outs: a prefix of the result's tree with specs.
        names: the parameters' names.
    """

    ins: Any
    outs: Any
    names: tuple[str, str] = ("in_specs", "out_specs")


def _mapped(
    fun: Callable[P, R],
    mesh: meshes.AnyMesh | None,
    axis_names: Collection[str],
    divided: _Divided,
    checks: bool,
) -> Callable[P, R]:
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise ArgumentError(
                f"{describe_function(fun)}, given to shard_map, takes arguments by position only, "
                f"but got {', '.join(kwargs)} by name."
            )
        grid = _mesh(mesh)
        result: R = _call(fun, args, grid, _axes(grid, axis_names), divided, checks)
        return result

    return folded(call, fun)


#: The arguments of ``smap`` are divided as their types say.
_INFERRED: Final = object()


@overload
def smap(
    f: Callable[P, R], /, *, out_axes: Any, axis_name: str, in_axes: Any = ...
) -> Callable[P, R]: ...
@overload
def smap(
    *, out_axes: Any, axis_name: str, in_axes: Any = ...
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@checking.explained
def smap(
    f: Callable[P, R] | None = None, /, *, out_axes: Any, axis_name: str, in_axes: Any = _INFERRED
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Run a function on each device along one axis of the mesh in force, with the axes of ``vmap``.

    Args:
        f: as for ``shard_map``, which this is with ``axis_names={axis_name}``. Without it, a
            decorator is returned.
        out_axes: the axis along which the results are joined, an int, or None where all devices
            have the same; or a prefix of the result's tree with these.
        axis_name: the axis of the mesh.
        in_axes: the axis along which the arguments are divided, likewise, one for all or a tuple
            with one for each; by default that of their types, on a mesh with an ``Explicit`` axis.

    Raises:
        ArgumentError: an axis is neither None nor an int from 0 on, or there is not one name.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("data",))):
        ...     total = tinyjax.smap(
        ...         lambda x: lax.psum(x.sum(), "data"), in_axes=0, out_axes=None, axis_name="data"
        ...     )
        ...     print(total(jnp.arange(4.0)))
        6.0
    """
    name: object = axis_name
    if isinstance(name, (tuple, list)):
        raise ArgumentError(f"smap takes one axis_name, but got {shortened(axis_name)}.")

    def spec(axis: object) -> PartitionSpec:
        if axis is None:
            return PartitionSpec()
        if not isinstance(axis, int) or isinstance(axis, bool) or not 0 <= axis < hlo.MOST_AXES:
            raise ArgumentError(
                f"axes of smap are None or ints from 0 to {hlo.MOST_AXES - 1}, or trees of these, "
                f"but got {shortened(axis)}."
            )
        return PartitionSpec(*[None] * axis, axis_name)

    def specs(axes: Any) -> Any:
        return tree.map(spec, axes, is_leaf=lambda x: x is None)

    ins = None if in_axes is _INFERRED else specs(in_axes)
    divided = _Divided(ins, specs(out_axes), ("in_axes", "out_axes"))

    def decorate(f: Callable[P, R]) -> Callable[P, R]:
        check_function("smap", f, "f")
        return _mapped(f, None, {axis_name}, divided, checks=True)

    return decorate if f is None else decorate(f)


def _mesh(mesh: meshes.AnyMesh | None) -> meshes.AnyMesh:
    here = meshes.get_mesh()
    grid = here if mesh is None else mesh
    if here.manual_axes and here.abstract_mesh == grid:  # inside another shard_map
        grid = here
    if grid.empty:
        raise ShardingError(
            "shard_map needs a mesh of devices: give mesh=tinyjax.make_mesh(shape, names), or put "
            "one in force by tinyjax.set_mesh."
        )
    outside = [name for name in types.manual_axes() if name in grid.axis_names]
    return _manual(grid, tuple(outside)) if outside else grid


def _axes(mesh: meshes.AnyMesh, axis_names: Collection[str]) -> tuple[str, ...]:
    """Return the axes of a mesh along which each device runs a function, in the mesh's order."""
    outside = types.manual_axes()
    names = {*axis_names} or {*mesh.axis_names} - {*outside}
    wrong = names - {*mesh.axis_names}
    if wrong:
        raise ShardingError(
            f"axis_names of shard_map has {named(frozenset(wrong))}, but the axes of the mesh are "
            f"{mesh.axis_names}."
        )
    again = names.intersection(outside)
    if again or not names:
        raise ShardingError(
            f"shard_map is called inside a function given to shard_map, which each device along "
            f"{named(frozenset(outside))} runs already. Name other axes: axis_names={{...}}."
        )
    return tuple([name for name in mesh.axis_names if name in names])


def _call(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    mesh: meshes.AnyMesh,
    axes: tuple[str, ...],
    divided: _Divided,
    checks: bool,
) -> Any:
    leaves, in_tree = tree.flatten_arguments(args, {})
    args_tree = tree.structure(args)
    if divided.ins is not None:
        specs = tree.flatten_prefix(divided.ins, args_tree, is_place, divided.names[0])
        kept = [x is None and not _is_array(leaf) for x, leaf in zip(specs, leaves, strict=True)]
        if any(kept):
            rest = [i for i, own in enumerate(kept) if not own]
            of_rest = imitate(_with_kept(fun, args_tree, leaves, kept), fun)
            divided = attrs.evolve(divided, ins=tuple([specs[i] for i in rest]))
            return _call(of_rest, tuple([leaves[i] for i in rest]), mesh, axes, divided, checks)
    arrays = calling.as_arrays(leaves, fun, in_tree)
    if divided.ins is None:
        specs = [_typed_spec(x.aval, axes) for x in arrays]
    else:
        specs = _specs(divided.ins, args_tree, mesh, axes, divided.names[0])
    for (path, _), x, spec in zip(tree.leaves_with_path(args), arrays, specs, strict=True):
        what = f"{tree.path_str('args', path)} of {describe_function(fun)}, given to shard_map"
        named_sharding.NamedSharding(mesh, spec).check(x.shape, what)
    flat = calling.FlatFunction(fun, in_tree)
    arrays = [_summed_as(x, mesh, axes, spec) for x, spec in zip(arrays, specs, strict=True)]
    parts = [local_type(x.aval, mesh, axes, spec) for x, spec in zip(arrays, specs, strict=True)]
    here = frozenset(axes)
    inside = (
        meshes.use_mesh(_manual(mesh, axes)) if isinstance(mesh, meshes.Mesh) else nullcontext()
    )
    with inside, on_axes(mesh, axes, checks, own=not checks):
        own = [types.with_varying(aval, aval.varying | here) for aval in parts]
        staged = staging.stage(flat, parts if checks else own, Applied("shard_map", fun))
    joined = _specs(divided.outs, flat.out_tree, mesh, axes, divided.names[1])
    if checks:
        _check_results(fun, staged, here, joined, flat.out_tree)
    else:
        with on_axes(mesh, axes, checks):
            staged = _taken_to_be_shared(staged, parts, here, joined)
    if any(spec.unreduced for spec in joined):
        with on_axes(mesh, axes, checks):
            staged = _taken_as_parts(staged, joined)
    like = ShardMapParams(staged.jaxpr, mesh, (), (), axes, checks)
    outs = list(bind_shard_map(staged, arrays, like, specs, joined))
    if not like.is_partial:  # else a result tells how it lies as its type does, or XLA
        told = zip(outs, joined, strict=True)
        outs = [_as_written(x, named_sharding.NamedSharding(mesh, spec)) for x, spec in told]
    if any(spec is not spec.without_sums for spec in joined):  # of the host they lie nowhere yet
        outs = [_summed_as(x, mesh, axes, spec) for x, spec in zip(outs, joined, strict=True)]
    return tree.unflatten(flat.out_tree, outs)


def _is_array(leaf: object) -> bool:
    return isinstance(leaf, Array | np.ndarray | np.generic)


def _with_kept(
    fun: Callable[..., Any], args_tree: tree.PyTreeDef, leaves: Sequence[Any], fixed: Sequence[bool]
) -> Callable[..., Any]:
    """Return a function of the leaves that are not kept: the others it is given as they are."""

    def of_rest(*rest: Any) -> Any:
        others = iter(rest)
        every = [x if own else next(others) for x, own in zip(leaves, fixed, strict=True)]
        return fun(*tree.unflatten(args_tree, every))

    return of_rest


def _typed_spec(aval: av.ShapedArray, axes: tuple[str, ...]) -> PartitionSpec:
    """Return the specification in an argument's type along axes of the mesh."""
    entries = [[name for name in names if name in axes] for names in types.entries(aval)]
    spec = aval.sharding.spec if aval.sharding_or_none is not None else PartitionSpec()
    here = frozenset(axes)
    return PartitionSpec(*entries, unreduced=spec.unreduced & here, reduced=spec.reduced & here)


def _summed_as(x: Array, mesh: meshes.AnyMesh, axes: tuple[str, ...], spec: PartitionSpec) -> Array:
    """Return an array as the sum of the devices' parts that a specification requires.

    Its sharding along other axes of the mesh than those of the program stays the same.
    """
    own = x.aval.sharding.spec if x.aval.sharding_or_none is not None else COPIES
    here = frozenset(axes)
    if (own.unreduced & here, own.reduced & here) == (spec.unreduced, spec.reduced):
        return x
    rest = types.entries(part_type(x.aval, axes, None))
    told = PartitionSpec(
        *[(*spec.axes(i), *names) for i, names in enumerate(rest)],
        unreduced=spec.unreduced | (own.unreduced - here),
        reduced=spec.reduced | (own.reduced - here),
    )
    return constrain(x, named_sharding.NamedSharding(mesh, told))


def _as_written(x: Array, sharding: named_sharding.NamedSharding) -> Array:
    """Return a result with the sharding of its specification, if they are equivalent."""
    on_host = isinstance(x, ConcreteArray) and isinstance(sharding.mesh, meshes.Mesh)
    if on_host and config.follows_jax:
        return putting.put(x, sharding, "shard_map")
    if not isinstance(x, ShardedArray) or not x.sharding.is_equivalent_to(sharding, x.ndim):
        return x
    return ShardedArray(x.aval, sharding, x.shards)


def _taken_as_parts(staged: staging.Staged, out_specs: Sequence[PartitionSpec]) -> staging.Staged:
    """Return a program whose varying results are partial sums where the specification has them."""

    def recasts(*outs: Array) -> list[Array]:
        return [
            reduce(lambda x, name: collective.recast(x, name, "U"), sorted(spec.unreduced), x)
            for x, spec in zip(outs, out_specs, strict=True)
        ]

    return staging.Staged(staging.extend(staged.jaxpr, recasts), staged.consts)


@lru_cache(maxsize=256)
def _manual(mesh: M, axes: tuple[str, ...]) -> M:
    """Return the mesh as it is within the function: each device runs it along some axes."""
    return mesh.of_types(mesh.types_with(dict.fromkeys(axes, meshes.AxisType.Manual)))


def _taken_to_be_shared(
    staged: staging.Staged, parts: prim.Avals, axes: types.Axes, out_specs: Sequence[PartitionSpec]
) -> staging.Staged:
    """Return a program of parts whose results do not vary where they must be equal.

    Args:
        staged: the program, whose arguments are each device's own.
        parts: the types of the parts that devices have.
        axes: the axes of the mesh along which they run it.
        out_specs: how results are joined.
    """
    n = len(staged.consts)

    def run(*args: Array) -> list[Array]:
        own = [x if i < n else _each(x, axes) for i, x in enumerate(args)]
        outs = jx.eval_jaxpr(staged.jaxpr, own)
        apart = [{*spec.names} | spec.unreduced for spec in out_specs]
        return [collective.unvary(x, axes - names) for x, names in zip(outs, apart, strict=True)]

    program = staging.stage(run, [*staged.jaxpr.in_avals[:n], *parts])
    assert not program.consts, "a program is closed"
    return staging.Staged(program.jaxpr, staged.consts)


def _each(x: Array, axes: types.Axes) -> Array:
    """Return a value as each device's own along axes, whatever they share of it."""
    return reduce(lambda x, name: collective.recast(x, name, "V"), sorted(map(str, axes)), x)


def _specs(
    specs: Any,
    treedef: tree.PyTreeDef,
    mesh: meshes.AnyMesh,
    axes: tuple[str, ...],
    name: str,
) -> list[PartitionSpec]:
    result: list[PartitionSpec] = []
    for spec in tree.flatten_prefix(specs, treedef, is_place, name):
        if spec is None and name == "in_specs":
            result.append(PartitionSpec())
            continue
        if not isinstance(spec, PartitionSpec) or spec.UNCONSTRAINED in spec.partitions:
            raise ShardingError(
                f"{name} of shard_map is a tree of PartitionSpecs, which leave nothing open, but "
                f"one is {spec!r}."
            )
        told = named_sharding.NamedSharding(mesh, spec).spec
        if told.without_sums is not told and len(axes) < len(mesh.axis_names):
            raise ShardingError(
                f"{name} of shard_map has {spec!r}, but each device runs the function along "
                f"{', '.join(axes)} only, and XLA takes parts of sums along all axes of a mesh or "
                "none. Let devices add first: tinyjax.reshard(x, P(...)) outside, lax.psum inside."
            )
        named_axes = [*told.names, *sorted(told.unreduced | told.reduced)]
        others = [axis for axis in named_axes if axis not in axes]
        if others:
            raise ShardingError(
                f"{name} of shard_map has {spec!r}, but each device runs the function along "
                f"{', '.join(axes)} only. Along other axes XLA divides it: leave them out."
            )
        result.append(spec)
    return result


def _check_results(
    fun: Callable[..., Any],
    staged: staging.Staged,
    axes: types.Axes,
    out_specs: Sequence[PartitionSpec],
    out_tree: tree.PyTreeDef,
) -> None:
    """Check that values which must be equal on all devices do not vary between them.

    Raises:
        ShardingError: it may.
    """
    paths = leaf_paths(out_tree)
    for path, spec, aval in zip(paths, out_specs, staged.jaxpr.out_avals, strict=True):
        what = tree.path_str("result", path)
        if len(spec) > aval.ndim:
            raise ShardingError(
                f"out_specs of shard_map has {spec} for {what} of {describe_function(fun)}, which "
                f"is {aval}: there are not as many axes."
            )
        _check_shared(f"{what} of {describe_function(fun)}", aval, spec)
        wrong = (aval.varying & axes) - {*spec.names} - spec.unreduced
        if wrong:
            raise ShardingError(
                f"{what} of {describe_function(fun)} may differ between the devices along "
                f"{named(wrong)}, but its out_specs, {spec}, says that they have the same. "
                "Combine theirs, by lax.psum or lax.pmean, or name the axis in out_specs."
            )


def _check_shared(what: str, aval: av.ShapedArray, spec: PartitionSpec) -> None:
    """Check that a result is unreduced or reduced as its specification requires.

    Raises:
        ShardingError: it is not.
    """
    if types.across(aval) not in types.SHARING and not spec.unreduced:
        return
    kept = {"U": spec.unreduced, "R": spec.reduced | {*spec.names}}
    for share in types.across(aval):
        if isinstance(share, types.Share) and share.name not in kept[share.letter]:
            raise ShardingError(
                f"{what} is {aval}, but its out_specs, {spec}, does not say so of {share.name!r}. "
                + ("Let devices add it first, by lax.psum." if share.letter == "U" else _SAY)
            )
    for name in sorted(spec.unreduced):
        if name not in types.across(aval) and types.Share("U", name) not in types.across(aval):
            raise ShardingError(
                f"{what} is {aval}, of which all devices along {name!r} have the same, but its "
                f"out_specs, {spec}, says that each has a part of a sum."
            )


_SAY: Final = "Name the axis there in reduced."
