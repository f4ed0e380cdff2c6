"""Axes of the mesh whose types are others for a while: ``auto_axes`` and ``explicit_axes``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, overload

from tinyjax import tree
from tinyjax.core.values.array import Array
from tinyjax.errors import ArgumentError, ShardingError, described
from tinyjax.frames import describe_function, imitate
from tinyjax.parallel.constraint import hide, unsaid
from tinyjax.parallel.meshes import AbstractMesh, AxisType, Mesh, get_mesh, mesh_of_ids, use_mesh
from tinyjax.parallel.placing import constrained

P = ParamSpec("P")
R = TypeVar("R")


def get_abstract_mesh() -> AbstractMesh:
    """Return the mesh in force, without its devices; one that is empty where there is none.

    Example:
        >>> import tinyjax
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("data",))):
        ...     print(tinyjax.sharding.get_abstract_mesh())
        AbstractMesh('data': 1, axis_types=(Explicit,))
    """
    return get_mesh().abstract_mesh


@contextmanager
def use_abstract_mesh(mesh: AbstractMesh) -> Iterator[None]:
    """Arrange the devices of the mesh in force otherwise, within a block.

    Args:
        mesh: the axes: as many devices in all as there are.

    Raises:
        ShardingError: there is no mesh in force, or it has another number of devices.

    Example:
        >>> import tinyjax
        >>> from tinyjax.sharding import AbstractMesh, get_abstract_mesh, use_abstract_mesh
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("data",))):
        ...     with use_abstract_mesh(AbstractMesh((1, 1), ("rows", "columns"))):
        ...         print(get_abstract_mesh())
        AbstractMesh('rows': 1, 'columns': 1, axis_types=(Auto, Auto))
    """
    before = get_mesh()
    if not isinstance(mesh, AbstractMesh):
        raise ShardingError(f"use_abstract_mesh takes an AbstractMesh, but got {described(mesh)}.")
    if before.size != mesh.size:
        raise ShardingError(
            f"use_abstract_mesh arranges the devices of the mesh in force otherwise, but {mesh} is "
            f"of {mesh.size}, and that has {before.size}."
        )
    with use_mesh(mesh_of_ids(before.ids, mesh.axis_sizes, mesh.axis_names, mesh.axis_types)):
        yield


@overload
def auto_axes(
    f: Callable[P, R], /, *, axes: str | Sequence[str] | None = ..., out_sharding: Any = ...
) -> Callable[..., R]: ...
@overload
def auto_axes(
    *, axes: str | Sequence[str] | None = ..., out_sharding: Any = ...
) -> Callable[[Callable[P, R]], Callable[..., R]]: ...
def auto_axes(
    f: Callable[P, R] | None = None,
    /,
    *,
    axes: str | Sequence[str] | None = None,
    out_sharding: Any = None,
) -> Callable[..., R] | Callable[[Callable[P, R]], Callable[..., R]]:
    """Let XLA choose how values lie within a function: axes of the mesh are ``Auto`` there.

    Args:
        f: takes and returns arrays in any containers. Without it, a decorator is returned.
        axes: the axes of the mesh; by default all.
        out_sharding: how the results lie: a sharding, or a ``PartitionSpec`` of the mesh in force,
            or a prefix of the result's tree with these. It may be given at each call instead.

    Returns:
        The function, which takes ``out_sharding=`` besides its arguments.

    Raises:
        ArgumentError: when called, if nothing says how the results lie.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import P
        >>> from tinyjax.sharding import AxisType, auto_axes
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("data",), AxisType.Explicit)):
        ...     x = tinyjax.reshard(jnp.ones((4, 4)), P("data"))
        ...     print(tinyjax.typeof(auto_axes(jnp.matmul)(x, x.T, out_sharding=P(None, "data"))))
        float32[4,4@data]
    """
    if f is None:
        return lambda f: auto_axes(f, axes=axes, out_sharding=out_sharding)
    fun, names = _function(f, "auto_axes"), _names(axes)

    def call(*args: Any, out_sharding: Any = out_sharding, **kwargs: Any) -> R:
        if out_sharding is None:
            raise ArgumentError(
                f"{describe_function(fun)}, given to auto_axes, needs out_sharding=P(...): how "
                "its results lie, which XLA chooses within it."
            )
        mesh = get_mesh()
        args, kwargs = tree.map(lambda x: _hidden(x, names), (args, kwargs))
        types = _types(mesh, names, AxisType.Auto)
        with use_mesh(mesh if mesh.empty else mesh.of_types(types)):
            result: R = fun(*args, **kwargs)
        return constrained(result, out_sharding, "auto_axes", "result", written="typed")

    imitate(call, fun)
    return call


@overload
def explicit_axes(
    f: Callable[P, R], /, *, axes: str | Sequence[str] | None = ..., in_sharding: Any = ...
) -> Callable[..., R]: ...
@overload
def explicit_axes(
    *, axes: str | Sequence[str] | None = ..., in_sharding: Any = ...
) -> Callable[[Callable[P, R]], Callable[..., R]]: ...
def explicit_axes(
    f: Callable[P, R] | None = None,
    /,
    *,
    axes: str | Sequence[str] | None = None,
    in_sharding: Any = None,
) -> Callable[..., R] | Callable[[Callable[P, R]], Callable[..., R]]:
    """Let types say how values lie within a function: axes of the mesh are ``Explicit`` there.

    Args:
        f: takes arrays in any containers, positionally, and returns such. Without it, a decorator
            is returned.
        axes: the axes of the mesh in force; by default all.
        in_sharding: how the arguments lie: a ``PartitionSpec`` for all of them, or a prefix of
            their tuple with these. It may be given at each call instead.

    Returns:
        The function, which takes ``in_sharding=`` besides its arguments. The types of its results
        do not tell of these axes.

    Raises:
        ArgumentError: when called, if nothing says how the arguments lie.
        ShardingError: when called, if it has no such axis.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import P
        >>> from tinyjax.sharding import AxisType, explicit_axes
        >>> @explicit_axes(in_sharding=P("data"))
        ... def twice(x):
        ...     print(tinyjax.typeof(x))
        ...     return 2 * x
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("data",), AxisType.Auto)):
        ...     print(tinyjax.typeof(twice(jnp.ones((4, 2)))))
        float32[4@data,2]
        float32[4,2]
    """
    if f is None:
        return lambda f: explicit_axes(f, axes=axes, in_sharding=in_sharding)
    fun, names = _function(f, "explicit_axes"), _names(axes)

    def call(*args: Any, in_sharding: Any = in_sharding) -> R:
        mesh = get_mesh()
        if in_sharding is None or mesh.empty:
            raise ArgumentError(
                f"{describe_function(fun)}, given to explicit_axes, needs in_sharding=P(...), how "
                "its arguments lie, on the mesh in force: `with tinyjax.set_mesh(mesh):`."
            )
        with use_mesh(mesh.of_types(_types(mesh, names, AxisType.Explicit))):
            result = fun(*constrained(args, in_sharding, "explicit_axes", "args"))
        hidden: R = tree.map(lambda x: _hidden(x, names or mesh.axis_names), result)
        return hidden

    imitate(call, fun)
    return call


def _function(f: Callable[..., R], name: str) -> Callable[..., R]:
    if not callable(f):
        raise ArgumentError(f"{name} takes a function, but got {described(f)}.")
    return f


def _names(axes: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return (axes,) if isinstance(axes, str) else None if axes is None else tuple(axes)


def _types(mesh: Mesh, names: tuple[str, ...] | None, of: AxisType) -> list[AxisType]:
    """The types of a mesh's axes, where some of them, or all, are to be of one type."""
    for name in names or ():
        if name not in mesh.axis_names and not mesh.empty:
            raise ShardingError(f"the mesh in force, {mesh}, has no axis {name!r}.")
    manual = mesh.manual_axes  # along which each device runs what is staged
    chosen = mesh.axis_names if names is None else names
    return mesh.types_with({name: of for name in chosen if name not in manual})


def _hidden(x: Any, names: tuple[str, ...] | None) -> Any:
    """An array whose type does not tell how it lies along some axes of the mesh, or all."""
    if not isinstance(x, Array):
        return x
    return unsaid(x) if names is None else hide(x, names)
