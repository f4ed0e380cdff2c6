"""``pmap``: ``vmap`` of a function, compiled, with each example on a device of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, Final, ParamSpec, Protocol, TypeVar

from tinyjax import errors, tree
from tinyjax._base.frames import Applied, imitate, wraps
from tinyjax._base.tracebacks import folded
from tinyjax._extensions.parallel import meshes, named_sharding, sharding
from tinyjax._extensions.parallel.constraint import with_sharding_constraint
from tinyjax._extensions.parallel.types import SimulatedAxis
from tinyjax.core import jit
from tinyjax.core.api.mapping import map_over, vmap
from tinyjax.core.devices import Device, check_platform, devices_of, first_device, group
from tinyjax.core.jit import stages
from tinyjax.core.tracing import checking
from tinyjax.core.values import avals as av, integers as ints, operands as opd

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class PmapFunction(Protocol[P, R_co]):
    """The result of ``pmap``."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @property
    def lower(self) -> Callable[P, stages.Lowered]:
        """The function that stages and lowers for arguments, as that of ``jit`` does."""


#: The axis where the caller does not name it.
_NAMELESS: Final = "of pmap"


def _by_position(in_axes: Any, args: tuple[Any, ...], static: Collection[int]) -> tuple[Any, ...]:
    """Return the axes of arguments by position; None for one that is static."""
    axes = (in_axes,) * len(args) if isinstance(in_axes, int | None) else tuple(in_axes)
    return tuple([None if i in static else a for i, a in enumerate(axes)])


@checking.checked
def pmap(  # noqa: PLR0913 (JAX's signature)
    fun: Callable[P, R],
    axis_name: str | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> PmapFunction[P, R]:
    """Map a function over an axis of its arguments, of which each device takes one element.

    In new programs, ``jit`` of arrays that are divided over a mesh does the same for axes of any
    length, and ``shard_map`` specifies the work of each device.

    Args:
        fun: the function. Arguments given by name are mapped over their first axis.
        axis_name: the name of the axis for collectives in it.
        in_axes: as for ``vmap``.
        out_axes: as for ``vmap``.
        static_broadcasted_argnums: arguments by position that are no arrays.
        devices: the devices to take, in this order; by default those of this process.
        backend: the platform.
        axis_size: the length of the axis.
        donate_argnums: positional arguments whose memory may be reused.

    Raises:
        ArgumentError: when called, if no argument has the axis.
        PlatformError: there is no such platform.
        ShardingError: when called, if the axis is longer than there are devices.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> normalized = tinyjax.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")
        >>> normalized(jnp.array([[3.0, 4.0]]))  # one device, which has one row
        Array([[1., 1.]], dtype=float32)
    """
    check_platform(backend)
    name = _NAMELESS if axis_name is None else axis_name
    vmap(fun, in_axes, out_axes, axis_name=name, axis_size=axis_size)  # raises what it would
    static = {*ints.one_or_more(static_broadcasted_argnums, "static_broadcasted_argnums of pmap")}
    donated = ints.one_or_more(donate_argnums, "donate_argnums of pmap")
    programs: dict[int, jit.JitFunction[..., Any]] = {}

    applied = Applied("pmap", fun)

    def program_for(size: int) -> jit.JitFunction[..., Any]:
        there = devices_of(group().process_index, backend) if devices is None else devices
        mesh = _mesh_of(there, size, name)

        def program(*args: Any, **kwargs: Any) -> Any:
            axes = _by_position(in_axes, args, static)
            pairs = [pair for i, pair in enumerate(zip(args, axes, strict=True)) if i not in static]

            def of_arrays(*arrays: Any, **kwargs: Any) -> Any:
                dynamic = iter(arrays)
                every = [x if i in static else next(dynamic) for i, x in enumerate(args)]
                return fun(*every, **kwargs)

            of_each = tuple([axis for _, axis in pairs])
            axis = partial(SimulatedAxis, name=name)
            mapped = map_over(imitate(of_arrays, applied), of_each, out_axes, axis, axis_size)
            arrays = [_divided(x, axis, mesh) for x, axis in pairs]
            return _divided(mapped(*arrays, **_divided(kwargs, 0, mesh)), out_axes, mesh)

        named = wraps(applied)(program)
        return jit.jit(named, static_argnums=tuple(static), donate_argnums=donated)

    def program_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> jit.JitFunction[..., Any]:
        axes = _by_position(in_axes, args, static)
        size = _length([*_pairs(args, axes), *_pairs(kwargs, 0)], axis_size)
        if size not in programs:
            programs[size] = program_for(size)
        return programs[size]

    def lower(*args: P.args, **kwargs: P.kwargs) -> stages.Lowered:
        return program_of(args, kwargs).lower(*args, **kwargs)

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        result: R = program_of(args, kwargs)(*args, **kwargs)
        return result

    imitation: Any = folded(call, fun)
    imitation.lower = lower
    mapped: PmapFunction[P, R] = imitation
    return mapped


def _mesh_of(devices: Sequence[Device], size: int, name: str) -> meshes.Mesh:
    """Return the mesh of the first devices."""
    if size > len(devices):
        raise errors.ShardingError(
            f"pmap maps over an axis of {size} elements, but there are {len(devices)} devices for "
            "them. The setting num_cpu_devices divides the processor into more; vmap needs one."
        )
    return meshes.Mesh(list(devices[:size]), name)


def _length(arguments: Sequence[tuple[Any, int | None]], axis_size: int | None) -> int:
    """Return the length of the axis that arguments are mapped over."""
    for x, axis in arguments:
        shape = () if axis is None else _shape(x)
        if shape:
            return shape[ints.canonical_axis(axis or 0, len(shape), "in_axes of pmap")]
    if axis_size is None:
        raise errors.ArgumentError(
            "pmap needs an argument with an axis that it maps over: one says how many devices "
            "compute."
        )
    return axis_size


def _shape(x: Any) -> tuple[int, ...]:
    return x.shape if isinstance(x, av.ShapeDtypeStruct) else opd.as_array(x).shape


def _pairs(values: Any, axes: Any) -> list[tuple[Any, int | None]]:
    """Return the leaves of trees with the axes that a prefix of these says."""
    leaves, treedef = tree.flatten(values)
    of_each = tree.flatten_prefix(axes, treedef, lambda x: x is None, "axes of pmap")
    return [*zip(leaves, of_each, strict=True)]


def _divided(values: Any, axes: Any, mesh: meshes.Mesh) -> Any:
    """Divide arrays over the devices along the axes that a prefix says; copy the others."""
    if mesh.size == 1 and mesh.devices.item() == first_device():
        return values
    laid = [
        with_sharding_constraint(x, named_sharding.NamedSharding(mesh, _along(axis, x, mesh)))
        for x, axis in _pairs(values, axes)
    ]
    return tree.unflatten(tree.structure(values), laid)


def _along(axis: int | None, x: Any, mesh: meshes.Mesh) -> sharding.PartitionSpec:
    if axis is None:
        return sharding.PartitionSpec()
    return sharding.PartitionSpec(*[None] * (axis % opd.as_array(x).ndim), mesh.axis_names[0])
