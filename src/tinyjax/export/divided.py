"""Programs for several devices: exported for a mesh of a form, and called on any devices.

Such a program is a jaxpr whose shardings and types name the grid of a mesh, without its devices. A
call puts devices in: those that its arguments lie on, or those of the mesh in force.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from tinyjax.core.devices import Device, device_at
from tinyjax.core.tracing.jaxpr import Jaxpr, Lit, effects
from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.operands import first_element
from tinyjax.errors import ArgumentError, ExportError
from tinyjax.export.platforms import calls_python
from tinyjax.export.symbolic_programs import Rewriting, closed
from tinyjax.export.unsized import literal_splat
from tinyjax.parallel import meshes, named_sharding as ns, sharded_array as sa, types as ty
from tinyjax.parallel.constraint import constrain
from tinyjax.parallel.placement import Placement
from tinyjax.parallel.sharding import PartitionSpec, on_first
from tinyjax.parallel.types import OnMesh
from tinyjax.parallel.xla.lowering import CallsPythonError, lowered_for

#: How arguments or results lie; None where that is left to XLA.
Shardings = tuple[ns.NamedSharding | None, ...]


@attrs.frozen(eq=False)
class Divided:
    """A program for several devices.

    Attributes:
        name: the function's name.
        jaxpr: the program; the arrays that the function closed over are its first parameters.
        ins: how its parameters lie.
        outs: how its results lie.
    """

    name: str
    jaxpr: Jaxpr
    ins: Shardings
    outs: Shardings

    @property
    def mesh(self) -> meshes.AbstractMesh:
        """The mesh of the first parameter or result that says how it lies."""
        for sharding in (*self.ins, *self.outs):
            if sharding is not None:
                return sharding.mesh.abstract_mesh
        raise ExportError("a program for several devices says of nothing how it lies.")

    @property
    def nr_devices(self) -> int:
        """The number of devices that it runs on."""
        return self.mesh.size

    @property
    def text(self) -> str:
        """The program as StableHLO."""
        whole = ns.NamedSharding(self.mesh, PartitionSpec())
        ins = tuple([x or whole for x in self.ins])
        placement = Placement(self.mesh.ids, ins, self.outs, is_abstract=True)
        return lowered_for(placement, self.jaxpr, self.name)[0]

    def on(self, devices: Sequence[Device]) -> Divided:
        """Return the program for given devices."""

        def with_devices(mesh: meshes.AnyMesh) -> meshes.Mesh:
            grid = np.empty(len(devices), object)
            grid[:] = devices
            return meshes.Mesh(grid.reshape(mesh.axis_sizes), mesh.axis_names, mesh.axis_types)

        return self._remeshed(with_devices)

    def _remeshed(self, change: Callable[[meshes.AnyMesh], meshes.AnyMesh]) -> Divided:
        other = _Remeshing(change)
        ins, outs = other.value(self.ins), other.value(self.outs)
        return Divided(self.name, other.program(self.jaxpr), ins, outs)


def divided_of(name: str, jaxpr: Jaxpr, placement: Placement) -> Divided:
    """Return a program as it is exported.

    Raises:
        ExportError: it calls Python functions.
    """
    if effects(jaxpr).any:
        raise calls_python(name)
    ins = tuple([x if isinstance(x, ns.NamedSharding) else None for x in placement.ins])
    outs = tuple([x if isinstance(x, ns.NamedSharding) else None for x in placement.outs])
    divided = Divided(name, closed(jaxpr), ins, outs)._remeshed(lambda mesh: mesh.abstract_mesh)
    try:
        assert divided.text, "it can be lowered"
    except CallsPythonError:
        raise calls_python(name) from None
    return divided


class _Remeshing(Rewriting):
    """Programs on other meshes."""

    def __init__(self, change: Callable[[meshes.AnyMesh], meshes.AnyMesh]) -> None:
        super().__init__()
        self._change = change

    def aval(self, aval: ShapedArray) -> ShapedArray:
        if aval.told is None:
            return aval
        sharding = self.value(aval.sharding)
        return aval.at(OnMesh(sharding, ty.across(aval)))

    def literal(self, x: Lit) -> Lit:
        aval = self.aval(x.aval)
        return x if aval is x.aval else Lit(literal_splat(first_element(x.value.host), aval), aval)

    def value(self, value: Any) -> Any:
        if isinstance(value, ns.NamedSharding):
            return value.update(mesh=self._change(value.mesh))
        if isinstance(value, meshes.Mesh | meshes.AbstractMesh):
            return self._change(value)
        return super().value(value)


def devices_of(name: str, arrays: Sequence[Array], nr_devices: int) -> tuple[Device, ...] | None:
    """Return the devices that a program is called on; None within a program that does not say it.

    Args:
        name: the program's name.
        arrays: the arguments.
        nr_devices: how many devices it is for.

    Raises:
        ArgumentError: they are not as many.
    """
    ids: tuple[int, ...] | None = None
    for x in arrays:
        value = x
        while isinstance(value, Tracer) and value.components():
            value = value.components()[0]
        sharding = value.sharding if isinstance(value, sa.ShardedArray) else value.aval.sharding
        if isinstance(sharding, ns.NamedSharding) and not sharding.is_abstract:
            ids = sharding.ids
            break
    if ids is None and not (mesh := meshes.get_mesh()).empty:
        ids = mesh.ids
    if ids is None and any(isinstance(x, Tracer) for x in arrays):
        return None
    ids = on_first().ids if ids is None else ids
    if len(ids) != nr_devices:
        raise ArgumentError(
            f"'{name}' was exported for {nr_devices} devices, but is called with arguments "
            f"on {len(ids)}. Put them on a mesh of as many, tinyjax.device_put(x, sharding), or "
            "call it within tinyjax.set_mesh(mesh)."
        )
    return tuple([device_at(i) for i in ids])


def laid(arrays: Sequence[Array], shardings: Shardings, mesh: meshes.AnyMesh) -> list[Array]:
    """Return arrays that lie as a program takes or gives them; else undivided."""
    whole = ns.NamedSharding(mesh, PartitionSpec())
    return [constrain(x, s or whole) for x, s in zip(arrays, shardings, strict=True)]
