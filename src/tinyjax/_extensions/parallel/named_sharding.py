"""Shardings that divide the axes of an array over the axes of a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import attrs
import numpy as np

from tinyjax import errors
from tinyjax._base import lazy, records
from tinyjax._extensions.parallel import meshes
from tinyjax._extensions.parallel.sharding import (
    Entries,
    Part,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    as_sharding,
    holders,
    memory_kind_field,
)
from tinyjax._extensions.parallel.types import typed
from tinyjax.core import devices
from tinyjax.core.values import ShapedArray


@records.leaf
@attrs.frozen(repr=False, cache_hash=True)  # calls of programs are found by it
class NamedSharding(Sharding):
    """The axes of an array are divided over the axes of a mesh.

    Attributes:
        mesh: the mesh; or one without devices, for programs that are compiled but not run.
        spec: the axes of the mesh that divide each axis of the array. Along the others, devices
            hold copies.
        memory_kind: the kind of the devices' memory.

    Raises:
        ShardingError: the mesh has no such axis, or one is named twice.

    Example:
        >>> import tinyjax
        >>> from tinyjax import P, NamedSharding
        >>> NamedSharding(tinyjax.make_mesh((1,), ("x",)), P("x"))
        NamedSharding(mesh=Mesh('x': 1, axis_types=(Explicit,)), spec=P('x',), memory_kind=device)
    """

    mesh: meshes.AnyMesh = attrs.field()
    spec: PartitionSpec = attrs.field()
    memory_kind: str = memory_kind_field()

    @mesh.validator
    def _check_mesh(self, _attribute: object, value: object) -> None:
        if not isinstance(value, meshes.Mesh | meshes.AbstractMesh):
            raise errors.ShardingError(
                f"mesh of NamedSharding must be a Mesh, but got {errors.described(value)}."
            )

    @spec.validator
    def _check_spec(self, _attribute: object, value: object) -> None:
        if not isinstance(value, PartitionSpec):
            raise errors.ShardingError(
                f"spec of NamedSharding must be a PartitionSpec, but got {errors.described(value)}."
            )

    def __attrs_post_init__(self) -> None:
        names = self.spec.names
        for name in names:
            if name not in self.mesh.axis_names:
                raise errors.ShardingError(
                    f"{self.spec} names the axis {name!r}, but the axes of the mesh are "
                    f"{self.mesh.axis_names}."
                )
        if self.spec.unreduced or self.spec.reduced:
            self._check_sums()
        if len({*names}) != len(names):
            raise errors.ShardingError(
                f"{self.spec} names an axis twice: an axis of the mesh divides one axis of the "
                "array at most."
            )

    def _check_sums(self) -> None:
        """Check that types track the axes along which devices have parts of a sum."""
        told = self.mesh.explicit_axes
        for name in sorted(self.spec.unreduced | self.spec.reduced):
            if name not in told:
                raise errors.ShardingError(
                    f"{self.spec} says that values are unreduced or reduced along {name!r}, which "
                    f"is no axis of {self.mesh} that is Explicit: only types tell of this. "
                    "make_mesh makes axes so, unless it is given axis_types."
                )

    @property
    def ids(self) -> tuple[int, ...]:
        return self.mesh.ids

    @property
    def is_abstract(self) -> bool:
        return isinstance(self.mesh, meshes.AbstractMesh)

    @property
    def axis_names(self) -> tuple[str, ...]:
        return self.mesh.axis_names

    def size_of(self, names: Sequence[str]) -> int:
        return self.mesh.size_of(names)

    def factor(self, axis: int) -> int:
        """Return the number of parts that an axis of the array is divided into.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.sharding.AbstractMesh((4,), ("data",)), P("data"))
            >>> rows.factor(0), rows.factor(1)
            (4, 1)
        """
        return self.mesh.size_of(self.spec.axes(axis))

    def check(self, shape: Sequence[int], what: str = "the array") -> None:
        if len(self.spec) > len(shape):
            raise errors.ShardingError(
                f"{self.spec} is for arrays with at least {len(self.spec)} axes, but {what} has "
                f"the shape {tuple(shape)}."
            )
        for axis, n in enumerate(shape):
            factor = self.factor(axis)
            if n % factor:
                raise errors.ShardingError(
                    f"axis {axis} of {what}, of the shape {tuple(shape)}, cannot be divided over "
                    f"{' and '.join(map(repr, self.spec.axes(axis)))} of {self.mesh}: {n} is no "
                    f"multiple of {factor}. Pad it, or divide another axis."
                )

    def divides(self, shape: Sequence[int]) -> bool:
        return not any(n % self.factor(axis) for axis, n in enumerate(shape))

    def parts(self, shape: Sequence[int]) -> tuple[Part, ...]:
        return _parts(self, tuple(shape))

    @property
    def is_fully_replicated(self) -> bool:
        return not self.summed and all(self.factor(axis) == 1 for axis in range(len(self.spec)))

    @property
    def summed(self) -> tuple[str, ...]:
        unreduced = self.spec.unreduced
        if not unreduced:
            return ()
        return tuple([n for n, size in self.mesh.shape_tuple if n in unreduced and size > 1])

    @property
    def terms(self) -> Sequence[int]:
        return _terms(self) if self.summed else super().terms

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        if self is other:  # nearly always
            return True
        if self.is_abstract != other.is_abstract or self.memory_kind != other.memory_kind:
            return False
        if isinstance(other, SingleDeviceSharding):
            return self.ids == other.ids
        if not isinstance(other, NamedSharding):
            return False
        if self.mesh == other.mesh and self.spec.stripped() == other.spec.stripped():
            return True
        if self.summed != other.summed or (self.summed and self.mesh != other.mesh):
            return False
        # what is divided over axes of size 1 is not divided
        shape = tuple([self.factor(i) * other.factor(i) for i in range(ndim)])
        return self.ids == other.ids and self.parts(shape) == other.parts(shape)

    def update(
        self,
        *,
        mesh: meshes.AnyMesh | None = None,
        spec: PartitionSpec | None = None,
        memory_kind: str | None = None,
    ) -> NamedSharding:
        """Return the sharding with another mesh, specification or kind of memory.

        Example:
            >>> import tinyjax
            >>> rows = tinyjax.NamedSharding(tinyjax.make_mesh((1,), ("x",)), tinyjax.P("x"))
            >>> rows.update(spec=tinyjax.P(None, "x")).spec
            P(None, 'x')
        """
        return NamedSharding(
            self.mesh if mesh is None else mesh,
            self.spec if spec is None else spec,
            memory_kind=self.memory_kind if memory_kind is None else memory_kind,
        )

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return self.update(memory_kind=kind)

    def stripped(self) -> NamedSharding:
        """Return the same sharding without trailing empty entries of the specification.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> mesh = tinyjax.sharding.AbstractMesh((2,), ("data",))
            >>> NamedSharding(mesh, P("data", None)).stripped().spec
            P('data',)
        """
        spec = self.spec.stripped()
        return self if spec is self.spec else self.update(spec=spec)

    def batched(self, axis: int, names: tuple[str, ...] = ()) -> NamedSharding:
        # a mesh whose axes types tell of has no others to choose from
        entry = names if names or self.mesh.explicit_axes else PartitionSpec.UNCONSTRAINED
        return self.update(spec=self.spec.inserted(axis, entry))

    @property
    def is_decided(self) -> bool:
        return PartitionSpec.UNCONSTRAINED not in self.spec.partitions

    @property
    def is_explicit(self) -> bool:
        return bool(self.mesh.explicit_axes) and not self.mesh.auto_axes

    @property
    def explicit_axes(self) -> tuple[str, ...]:
        return self.mesh.explicit_axes

    @property
    def without_sums(self) -> NamedSharding:
        spec = self.spec.without_sums
        return self if spec is self.spec else self.update(spec=spec)

    def part_sharding(self, names: Sequence[str]) -> NamedSharding | None:
        here = self._with_types(names, meshes.AxisType.Manual)
        if here.mesh.are_all_axes_manual:
            return None
        if here.mesh == self.mesh:
            return self
        entries = [
            x
            if x is PartitionSpec.UNCONSTRAINED
            else [n for n in here.spec.axes(i) if n not in names]
            for i, x in enumerate(here.spec)
        ]
        return here.update(spec=here.spec.with_partitions(entries))

    def hidden(self, names: Sequence[str]) -> NamedSharding:
        told = [name for name in names if name in self.mesh.explicit_axes]
        return self._with_types(told, meshes.AxisType.Auto) if told else self

    def _with_types(self, names: Sequence[str], kind: meshes.AxisType) -> NamedSharding:
        """Return the same sharding with axes of the mesh that types no longer track."""
        spec = self.spec
        changed = spec.update(
            unreduced=spec.unreduced.difference(names), reduced=spec.reduced.difference(names)
        )
        mesh = self.mesh.of_types(self.mesh.types_with(dict.fromkeys(names, kind)))
        return self.update(mesh=mesh, spec=changed)

    def constraint_text(self, ndim: int, mesh_name: str) -> str:
        # along axes of the mesh of which types do not tell XLA may divide as it likes
        return self._text(ndim, mesh_name, "?" if self.mesh.auto_axes else "")

    def in_types(self, ndim: int) -> NamedSharding | None:
        told = self.mesh.explicit_axes
        if not told:
            return None
        entries = [tuple([name for name in self.spec.axes(i) if name in told]) for i in range(ndim)]
        # it is not of the type in which memory a value lies
        return NamedSharding(self.mesh, self.spec.with_partitions(entries))

    def typed(self, aval: ShapedArray) -> ShapedArray:
        told = self.in_types(aval.ndim)
        if told is None:
            return aval.plain
        return typed(aval, told)

    def beside(self, entries: Entries) -> NamedSharding:
        if not self.mesh.auto_axes or {*self.spec.names} & {*self.mesh.explicit_axes}:
            return self
        partitions: list[object] = []
        for axis, told in enumerate(entries):
            entry = self.spec[axis] if axis < len(self.spec) else None
            free = entry is PartitionSpec.UNCONSTRAINED and not told
            partitions.append(entry if free else (*told, *self.spec.axes(axis)))
        return self.update(spec=self.spec.with_partitions(partitions))

    def decided(self, now: Sharding) -> NamedSharding:
        mesh = now.mesh if isinstance(now, NamedSharding) else None
        if (
            isinstance(mesh, meshes.Mesh) and mesh.abstract_mesh == self.mesh
        ):  # of the devices there are
            return self.update(mesh=mesh).decided(now)
        if self.is_decided:
            return self
        used = {*self.spec.names}
        kept = now.spec if isinstance(now, NamedSharding) and now.mesh == self.mesh else None
        entries: list[object] = []
        for axis, entry in enumerate(self.spec):
            free = entry is PartitionSpec.UNCONSTRAINED
            stays = () if kept is None or not free else kept.axes(axis)
            entries.append(entry if not free else () if used & {*stays} else stays)
        return self.update(spec=self.spec.with_partitions(entries))

    @property
    def mesh_text(self) -> str | None:
        if len(self.ids) == 1:
            return None
        axes = ", ".join([f'"{name}"={n}' for name, n in self.mesh.shape_tuple])
        return f"<[{axes}]>"

    def text(self, ndim: int, mesh_name: str) -> str:
        return self._text(ndim, mesh_name, "")

    def _text(self, ndim: int, mesh_name: str, more: str) -> str:
        """Return the sharding as Shardy writes it; ``more`` allows axes to be divided further."""
        entries = [*self.spec, *[None] * (ndim - len(self.spec))]
        axes = [
            ["?"]
            if entry is PartitionSpec.UNCONSTRAINED
            else [*[f'"{name}"' for name in self.spec.axes(i)], *([more] if more else [])]
            for i, entry in enumerate(entries)
        ]
        shown = ", ".join([f"{{{', '.join(x)}}}" for x in axes])
        summed = ", ".join([f'"{name}"' for name in self.summed])
        sums = f", unreduced={{{summed}}}" if summed else ""
        return f"<@{mesh_name}, [{shown}]{sums}>"

    def _repr_html_(self) -> str | None:
        """Show in a notebook which devices hold which part of an array."""
        if self.is_abstract:
            return None
        shape = [self.factor(axis) for axis in range(len(self.spec))]
        head = f"{self.spec!r} over {self.mesh}"
        text: str = lazy.hook("display").shown_grid(head, holders(self, shape))
        return text

    def __repr__(self) -> str:
        return (
            f"NamedSharding(mesh={self.mesh}, spec={self.spec!r}, memory_kind={self.memory_kind})"
        )


@lru_cache(maxsize=4096)
def _terms(sharding: NamedSharding) -> Sequence[int]:
    mesh = sharding.mesh
    numbers: list[int] = []
    for place in np.ndindex(*mesh.axis_sizes):
        number = 0
        for name, n, at in zip(mesh.axis_names, mesh.axis_sizes, place, strict=True):
            if name in sharding.spec.unreduced:
                number = number * n + at
        numbers.append(number)
    return numbers


@lru_cache(maxsize=4096)
def _parts(sharding: NamedSharding, shape: tuple[int, ...]) -> tuple[Part, ...]:
    sharding.check(shape)
    mesh, spec = sharding.mesh, sharding.spec
    sizes = mesh.shape
    parts: list[Part] = []
    for place in np.ndindex(*mesh.axis_sizes):
        at = dict(zip(mesh.axis_names, place, strict=True))
        part: list[slice] = []
        for axis, n in enumerate(shape):
            names, number = spec.axes(axis), 0
            for name in names:
                number = number * sizes[name] + at[name]
            length = n // mesh.size_of(names)
            divided = length != n
            part.append(slice(number * length, (number + 1) * length) if divided else slice(None))
        parts.append(tuple(part))
    return tuple(parts)


def resolve(where: object, function: str) -> Sharding:
    """Return the sharding of an argument: a specification alone refers to the mesh in force.

    A sharding on the abstract mesh of the mesh in force refers to the latter, too.

    Args:
        where: a device, a sharding or a specification.
        function: the function that takes it, for messages.

    Raises:
        ShardingError: it is none of these, or a specification where no mesh is in force.
    """
    match where:
        case devices.Device() | SingleDeviceSharding():
            sharding = as_sharding(where)
            if not all(map(devices.is_device, sharding.device_set)):
                raise errors.ShardingError(
                    f"{function}: there is no device {sharding.device_set.pop()!r}: "
                    f"tinyjax.devices() are {list(devices.all_devices())}." + meshes.MORE_DEVICES
                )
            return sharding
        case NamedSharding(mesh=meshes.AbstractMesh()):
            mesh = meshes.get_mesh()
            return NamedSharding(mesh, where.spec) if mesh.abstract_mesh == where.mesh else where
        case Sharding():
            return where
        case PartitionSpec():
            mesh = meshes.get_mesh()
            if mesh.empty:
                raise errors.ShardingError(
                    f"{function} was given {where!r}, but no mesh is in force for it. Write `with "
                    "tinyjax.set_mesh(mesh):` around the call, or give NamedSharding(mesh, spec)."
                )
            return NamedSharding(mesh, where)
        case _:
            raise errors.ShardingError(
                f"{function} takes a device, a sharding or a PartitionSpec, but got "
                f"{errors.shortened(where)}."
            )


def declared(where: Sharding | PartitionSpec) -> Sharding:
    """Return the sharding of arrays from the arguments of a ``ShapeDtypeStruct``.

    Raises:
        ShardingError: it is a specification, and no mesh is in force.
    """
    return resolve(where, "ShapeDtypeStruct") if isinstance(where, PartitionSpec) else where


def checked(
    where: object, shape: Sequence[int], function: str, what: str, pads: bool = False
) -> Sharding:
    """Return the sharding of an argument, for an array whose shape allows it.

    Args:
        where: the argument.
        shape: the shape.
        function: the function that takes it, for messages.
        what: what messages call the array.
        pads: whether XLA may pad axes that are not divisible, where types record no sharding.

    Raises:
        ShardingError: it does not; or as for ``resolve``.
    """
    sharding = resolve(where, function)
    if pads and sharding.in_types(len(shape)) is None and len(sharding.spec) <= len(shape):
        return sharding
    sharding.check(shape, f"{what} of {function}")
    return sharding
