"""Meshes: devices in a grid whose axes have names, and the mesh that is in force."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, ContextDecorator
from contextvars import ContextVar
from enum import Enum
from math import prod
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tinyjax import config
from tinyjax._base import lazy, records
from tinyjax._extensions.parallel.sharding import places_of
from tinyjax.core.devices import (
    PER_PLATFORM,
    Device,
    all_devices,
    device_at,
    devices_on,
    group,
    is_device,
    platform_at,
)
from tinyjax.core.values.integers import integers, listed
from tinyjax.errors import ShardingError, shortened


class AxisType(Enum):
    """The way in which the sharding along an axis of a mesh is determined.

    Along an ``Auto`` axis XLA chooses shardings that the program does not give. Along an
    ``Explicit`` axis the types of values have shardings: each operation determines that of its
    result, or raises an error. Within ``shard_map`` axes are ``Manual``: the program computes one
    device's part.

    Example:
        >>> import tinyjax
        >>> mesh = tinyjax.make_mesh((1,), ("x",), axis_types=(tinyjax.sharding.AxisType.Auto,))
        >>> mesh.axis_types
        (Auto,)
    """

    Auto = "Auto"
    Explicit = "Explicit"
    Manual = "Manual"

    def __repr__(self) -> str:
        return self.value


def _device_ids(devices: object) -> NDArray[np.int64]:
    try:
        grid = np.asarray(devices, dtype=object)
        entries = [*grid.flat]
    except (ValueError, RuntimeError, MemoryError):
        raise ShardingError(
            f"devices of a mesh form a grid of at most 32 axes, but got {shortened(devices)}."
        ) from None
    ids: list[int] = []
    for device in entries:
        if not is_device(device):
            raise ShardingError(
                f"a mesh is made of tinyjax.devices(), which are {list(all_devices())}, but "
                f"got {shortened(device)}." + MORE_DEVICES
            )
        ids.append(device.number)
    if len({*ids}) != len(ids):
        raise ShardingError("a mesh has every device at most once.")
    return np.array(ids, np.int64).reshape(grid.shape)


#: How to have more devices, after a blank.
MORE_DEVICES: Final = (
    " The setting num_cpu_devices (in the environment TINYJAX_NUM_CPU_DEVICES) says how many the "
    "processor is divided into."
)


def mesh_of_ids(
    ids: Sequence[int],
    axis_sizes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: Sequence[AxisType] | AxisType | None = None,
) -> Mesh:
    """Return a mesh of devices by their numbers, row by row."""
    devices = np.empty(tuple(axis_sizes), object)
    devices.ravel()[:] = [device_at(i) for i in ids]
    return Mesh(devices, axis_names, axis_types)


def _types(axis_types: object, names: Sequence[str]) -> tuple[AxisType, ...]:
    """Return the types of a mesh's axes, where one type may be given for all."""
    if axis_types is None or isinstance(axis_types, AxisType):
        types: tuple[object, ...] = (axis_types or AxisType.Auto,) * len(names)
    else:
        types = tuple(listed(axis_types, "axis_types"))
    members = tuple([one for one in types if isinstance(one, AxisType)])
    if len(members) != len(types) or len(types) != len(names):
        raise ShardingError(
            f"axis_types of a mesh is AxisType.Auto or AxisType.Explicit, for all axes or for each "
            f"of {tuple(names)}, but got {shortened(axis_types)}."
        )
    return members


class _Grid:
    """The common part of meshes with devices and without: a grid whose axes have names."""

    __slots__ = ()

    axis_sizes: tuple[int, ...]
    axis_names: tuple[str, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """The numbers of the devices, row by row."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The number of devices."""
        return prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        """Return whether this is the empty mesh, which ``get_mesh`` returns where none is set."""
        return not self.axis_names

    @property
    def shape(self) -> OrderedDict[str, int]:
        """The sizes of the axes, by their names."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[str, int], ...]:
        """The names of the axes and their sizes."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def explicit_axes(self) -> tuple[str, ...]:
        """The axes along which the types of values track their shardings."""
        return self._axes_of(AxisType.Explicit)

    @property
    def auto_axes(self) -> tuple[str, ...]:
        """The axes along which XLA chooses how values lie."""
        return self._axes_of(AxisType.Auto)

    @property
    def manual_axes(self) -> tuple[str, ...]:
        """The axes along which programs are per device."""
        return self._axes_of(AxisType.Manual)

    def _axes_of(self, kind: AxisType) -> tuple[str, ...]:
        types = zip(self.axis_names, self.axis_types, strict=True)
        return tuple([name for name, of in types if of is kind])

    @property
    def are_all_axes_auto(self) -> bool:
        """Return whether XLA chooses along every axis, and there are axes."""
        return {*self.axis_types} == {AxisType.Auto}

    @property
    def are_all_axes_explicit(self) -> bool:
        """Return whether types determine shardings along every axis, and there are axes."""
        return {*self.axis_types} == {AxisType.Explicit}

    @property
    def are_all_axes_manual(self) -> bool:
        """Return whether programs are per device along every axis, and there are axes."""
        return {*self.axis_types} == {AxisType.Manual}

    def types_with(self, types: Mapping[str, AxisType]) -> list[AxisType]:
        """Return the types of the axes, some of which are others.

        Example:
            >>> from tinyjax.sharding import AbstractMesh, AxisType
            >>> AbstractMesh((2, 4), ("x", "y")).types_with({"y": AxisType.Explicit})
            [Auto, Explicit]
        """
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return [types.get(name, before) for name, before in pairs]

    def size_of(self, names: Sequence[str]) -> int:
        """Return the product of the sizes of some axes.

        Example:
            >>> from tinyjax.sharding import AbstractMesh
            >>> AbstractMesh((2, 4), ("x", "y")).size_of(("x", "y"))
            8
        """
        shape = self.shape
        return prod([shape[name] for name in names])

    def __str__(self) -> str:
        shape = ", ".join([f"{name!r}: {n}" for name, n in self.shape_tuple])
        return f"{type(self).__name__}({shape or ()}, axis_types={self.axis_types})"


@records.leaf
@attrs.frozen(init=False, repr=False)
class Mesh(_Grid, ContextDecorator):
    """Devices in a grid whose axes have names.

    Attributes:
        ids: the numbers of the devices, row by row.
        axis_sizes: the shape of the grid.
        axis_names: the names of its axes.
        axis_types: who says how values lie along each.

    Example:
        >>> import tinyjax
        >>> tinyjax.sharding.Mesh(tinyjax.devices()[:1], "data").axis_sizes
        (1,)
    """

    ids: tuple[int, ...]
    axis_sizes: tuple[int, ...]
    axis_names: tuple[str, ...]
    axis_types: tuple[AxisType, ...]

    def __init__(
        self,
        devices: object,
        axis_names: str | Sequence[str],
        axis_types: Sequence[AxisType] | AxisType | None = None,
    ) -> None:
        """Arrange devices.

        Args:
            devices: an array of devices, or nested lists; as many axes as names.
            axis_names: the names; one may stand alone.
            axis_types: ``AxisType.Auto``, which is the default, or ``AxisType.Explicit``, for all
                or for each.

        Raises:
            ShardingError: the names are not as many as the axes, or not distinct; a device is none
                of ``tinyjax.devices()``, or there twice; or an axis is of another type.
        """
        names = (axis_names,) if isinstance(axis_names, str) else axis_names
        names = tuple(listed(names, "axis_names"))
        ids = _device_ids(devices)
        if ids.ndim != len(names) or len({*names}) != len(names):
            raise ShardingError(
                f"a mesh has a name of its own for each axis, but its devices have the shape "
                f"{ids.shape} and the names are {names}."
            )
        types = _types(axis_types, names)
        self.__attrs_init__(tuple(ids.ravel().tolist()), ids.shape, names, types)

    def __reduce__(self) -> tuple[Any, ...]:
        return mesh_of_ids, (self.ids, self.axis_sizes, self.axis_names, self.axis_types)

    def update(
        self,
        devices: object = None,
        axis_names: str | Sequence[str] | None = None,
        axis_types: Sequence[AxisType] | AxisType | None = None,
    ) -> Mesh:
        """Return a mesh of other devices, or with axes of other names or types.

        Args:
            devices: an array of devices; by default those of this mesh.
            axis_names: the names of the axes; by default the same.
            axis_types: who says how values lie along each; by default the same.

        Raises:
            ShardingError: as for ``Mesh``.

        Example:
            >>> import tinyjax
            >>> tinyjax.make_mesh((1,), ("data",)).update(axis_names="rows").axis_names
            ('rows',)
        """
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def of_types(self, axis_types: Sequence[AxisType] | AxisType) -> Mesh:
        """Return the same devices on axes of other types.

        Example:
            >>> import tinyjax
            >>> from tinyjax.sharding import AxisType
            >>> mesh = tinyjax.make_mesh((1,), ("data",), axis_types=(AxisType.Auto,))
            >>> mesh.of_types(AxisType.Explicit).axis_types
            (Explicit,)
        """
        mesh = object.__new__(Mesh)  # of devices that were checked
        types = _types(axis_types, self.axis_names)
        mesh.__attrs_init__(self.ids, self.axis_sizes, self.axis_names, types)
        return mesh

    @property
    def devices(self) -> NDArray[Any]:
        """The devices, as an array of the mesh's shape."""
        grid = np.empty(self.axis_sizes, object)
        grid.ravel()[:] = [device_at(i) for i in self.ids]
        return grid

    @property
    def device_ids(self) -> NDArray[np.int64]:
        """Their numbers, as an array of the mesh's shape."""
        return np.array([i % PER_PLATFORM for i in self.ids], np.int64).reshape(self.axis_sizes)

    @property
    def local_devices(self) -> list[Device]:
        """Those of this process."""
        return [device_at(self.ids[place]) for place in self._local_places]

    @property
    def _local_places(self) -> Sequence[int]:
        return places_of(group().process_index, self.ids)

    @property
    def is_multi_process(self) -> bool:
        """Return whether some devices belong to other processes."""
        return len(self._local_places) != len(self.ids)

    @property
    def local_mesh(self) -> Mesh:
        """The part of this process.

        Raises:
            ShardingError: its devices are no block of the grid.
        """
        if not self.is_multi_process:
            return self
        places = np.unravel_index([*self._local_places], self.axis_sizes)
        block = tuple([slice(min(p), max(p) + 1) for p in places]) if self._local_places else ()
        devices = self.devices[block]
        if devices.size != len(self._local_places):
            raise ShardingError(
                f"the devices of process {group().process_index} are no block of {self}. "
                "Arrange them so that those of a process are neighbours, as tinyjax.devices() has "
                "them."
            )
        return Mesh(devices, self.axis_names, self.axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The same grid without devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def _repr_html_(self) -> str | None:
        """Show in a notebook where each device is."""
        if self.empty:
            return None
        platform = platform_at(self.ids[0]).name.upper()
        cells = np.array([f"{platform} {i}" for i in self.device_ids.flat], object)
        text: str = lazy.hook("display").shown_grid(str(self), cells.reshape(self.axis_sizes))
        return text

    def __repr__(self) -> str:
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
            f"axis_types={self.axis_types})"
        )

    def __enter__(self) -> Mesh:
        scope = _in_force(self)
        scope.__enter__()
        _entered.set((*_entered.get(), scope))
        return self

    def __exit__(self, *exception: Any) -> None:
        *rest, scope = _entered.get()
        _entered.set(tuple(rest))
        scope.__exit__(*exception)


@records.leaf
@attrs.frozen(init=False)
class AbstractMesh(_Grid):
    """The grid of a mesh without its devices, as many of which need not exist.

    Programs can be lowered and compiled for such a mesh, but not run. ``compile()`` returns the
    memory and the communication that they would need.

    Attributes:
        axis_sizes: the shape of the grid.
        axis_names: the names of its axes.
        axis_types: who says how values lie along each.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import NamedSharding, P
        >>> mesh = tinyjax.sharding.AbstractMesh((64, 4), ("data", "model"))
        >>> rows = NamedSharding(mesh, P("data"))
        >>> x = tinyjax.ShapeDtypeStruct((4096, 8), jnp.float32, sharding=rows)
        >>> tinyjax.jit(jnp.sum).lower(x).compile().memory_analysis().argument_size_in_bytes
        2048
    """

    axis_sizes: tuple[int, ...]
    axis_names: tuple[str, ...]
    axis_types: tuple[AxisType, ...]

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: str | Sequence[str],
        axis_types: Sequence[AxisType] | AxisType | None = None,
    ) -> None:
        """Make a grid.

        Args:
            axis_sizes: the sizes of its axes.
            axis_names: their names; one may stand alone.
            axis_types: ``AxisType.Auto``, which is the default, or ``AxisType.Explicit``, for all
                or for each.

        Raises:
            ShardingError: the names are not as many as the sizes, or not distinct; a size is not
                positive; or an axis is of another type.
        """
        several = (axis_names,) if isinstance(axis_names, str) else axis_names
        names = tuple(listed(several, "the axis_names of AbstractMesh"))
        if not all(isinstance(name, Hashable) for name in names):
            raise ShardingError(f"axis_names are texts, but got {shortened(names)}.")
        sizes = integers(axis_sizes, "the axis_sizes of AbstractMesh")
        if len(sizes) != len(names) or len({*names}) != len(names) or any(n < 1 for n in sizes):
            raise ShardingError(
                "a mesh has a positive size and a name of its own for each axis, but the sizes are "
                f"{sizes} and the names are {names}."
            )
        self.__attrs_init__(sizes, names, _types(axis_types, names))

    def update(
        self,
        axis_sizes: Sequence[int] | None = None,
        axis_names: str | Sequence[str] | None = None,
        axis_types: Sequence[AxisType] | AxisType | None = None,
    ) -> AbstractMesh:
        """Return a grid with axes of other sizes, names or types.

        Args:
            axis_sizes: the sizes of its axes; by default the same.
            axis_names: their names; by default the same.
            axis_types: who says how values lie along each; by default the same.

        Raises:
            ShardingError: as for ``AbstractMesh``.

        Example:
            >>> from tinyjax.sharding import AbstractMesh
            >>> AbstractMesh((2, 4), ("x", "y")).update(axis_sizes=(4, 2)).axis_sizes
            (4, 2)
        """
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def update_axis_types(self, name_to_type: Mapping[str, AxisType]) -> AbstractMesh:
        """Return a grid with some axes of other types.

        Args:
            name_to_type: the types, by the names of the axes.

        Raises:
            ShardingError: there is no such axis, or as for ``AbstractMesh``.

        Example:
            >>> from tinyjax.sharding import AbstractMesh, AxisType
            >>> mesh = AbstractMesh((2, 4), ("x", "y"))
            >>> mesh.update_axis_types({"y": AxisType.Explicit}).axis_types
            (Auto, Explicit)
        """
        unknown = {*name_to_type} - {*self.axis_names}
        if unknown:
            raise ShardingError(
                f"update_axis_types was given types of {sorted(unknown)}, but the axes of the mesh "
                f"are {self.axis_names}."
            )
        return self.of_types(self.types_with(name_to_type))

    def of_types(self, axis_types: Sequence[AxisType] | AxisType) -> AbstractMesh:
        """Return the same grid with axes of other types.

        Example:
            >>> from tinyjax.sharding import AbstractMesh, AxisType
            >>> AbstractMesh((2, 4), ("x", "y")).of_types(AxisType.Explicit).axis_types
            (Explicit, Explicit)
        """
        return AbstractMesh(self.axis_sizes, self.axis_names, axis_types)

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(range(self.size))

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh itself."""
        return self


#: A mesh with devices, or without.
AnyMesh: TypeAlias = Mesh | AbstractMesh


# The mesh in force


_in_force: Final = config.make_user_context(None)
_entered: Final[ContextVar[tuple[AbstractContextManager[object], ...]]] = ContextVar(
    "tinyjax_meshes", default=()
)
#: What keeps meshes in force that were set without a block.
_for_good: Final[list[AbstractContextManager[object]]] = []


def get_mesh() -> Mesh:
    """Return the mesh that ``set_mesh`` has put in force; the empty mesh where there is none.

    Example:
        >>> import tinyjax
        >>> tinyjax.sharding.get_mesh().empty
        True
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("x",))):
        ...     tinyjax.sharding.get_mesh().axis_names
        ('x',)
    """
    mesh: Mesh | None = _in_force.value
    if mesh is None:
        mesh = object.__new__(Mesh)
        mesh.__attrs_init__((), (), (), ())
    return mesh


def use_mesh(mesh: Mesh) -> AbstractContextManager[object]:
    """Put a mesh in force for a block."""
    scope: AbstractContextManager[object] = _in_force(None if mesh.empty else mesh)
    return scope


class set_mesh:  # noqa: N801 (JAX's name)
    """Put a mesh in force, for good or for a block: specifications without a mesh refer to it.

    Args:
        mesh: the mesh; None for none.

    Raises:
        ShardingError: it is no mesh.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import P
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("data",))):
        ...     tinyjax.device_put(jnp.arange(4), P("data")).sharding.spec
        P('data',)
    """

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ShardingError(f"set_mesh takes a Mesh or None, but got {shortened(mesh)}.")
        if mesh is not None and mesh.manual_axes:
            raise ShardingError(
                f"set_mesh was given {mesh}, but axes are Manual within shard_map alone."
            )
        self._mesh = mesh
        self._scope = _in_force(mesh)
        self._scope.__enter__()
        _for_good.append(self._scope)

    def __enter__(self) -> Mesh | None:
        return self._mesh

    def __exit__(self, *exception: Any) -> None:
        _for_good.remove(self._scope)
        self._scope.__exit__(*exception)


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: str | Sequence[str],
    axis_types: Sequence[AxisType] | AxisType | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """Return a mesh of the first devices.

    Args:
        axis_shapes: the sizes of its axes.
        axis_names: their names.
        axis_types: ``AxisType.Explicit``, which is the default, or ``AxisType.Auto``, for all or
            for each.
        devices: the devices to take; by default ``tinyjax.devices()``.

    Raises:
        ShardingError: there are not as many devices, or names are missing or doubled.

    Example:
        >>> import tinyjax
        >>> tinyjax.make_mesh((1, 1), ("data", "model"))
        Mesh(axis_sizes=(1, 1), axis_names=('data', 'model'), axis_types=(Explicit, Explicit))
    """
    sizes = integers(axis_shapes, "the axis_shapes of make_mesh")
    available = devices_on() if devices is None else listed(devices, "the devices of make_mesh")
    count = prod(sizes)
    if count > len(available) or any(size < 1 for size in sizes):
        raise ShardingError(
            f"a mesh of the shape {sizes} takes {count} devices, but there are {len(available)}."
            + MORE_DEVICES
        )
    grid = np.empty(count, object)
    grid[:] = available[:count]
    return Mesh(
        grid.reshape(sizes), axis_names, AxisType.Explicit if axis_types is None else axis_types
    )
