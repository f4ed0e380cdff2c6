"""The primitive ``shard_map``, its parameters, and the types of the parts that devices have."""

from __future__ import annotations

from typing import Final

import attrs

from tinyjax._extensions.parallel import inside, meshes, named_sharding, types
from tinyjax._extensions.parallel.mesh_rule import along
from tinyjax._extensions.parallel.sharding import PartitionSpec
from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.core.values import avals as av

#: How operands are divided, or results joined.
Specs = tuple[PartitionSpec, ...]

#: Of what each device has a copy.
COPIES: Final = PartitionSpec()


@attrs.frozen(eq=False, repr=False)
class ShardMapParams(prim.Params):
    """A program for each device of a mesh.

    Attributes:
        jaxpr: the program, of the parts that one device has.
        mesh: the devices.
        in_specs: the specifications of the operands.
        out_specs: the specifications of the results.
        axes: the axes of the mesh along which each device runs it. Along the others all devices run
            one program.
        checks: whether devices are checked to have the same values where they must.
    """

    jaxpr: jx.Jaxpr
    mesh: meshes.AnyMesh
    in_specs: Specs
    out_specs: Specs
    axes: tuple[str, ...]
    checks: bool = True

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """These axes, with their sizes."""
        return tuple([axis for axis in self.mesh.shape_tuple if axis[0] in self.axes])

    @property
    def is_partial(self) -> bool:
        """Return whether it is one program along some axes of the mesh."""
        return len(self.axes) < len(self.mesh.axis_names)


shard_map_p: prim.Primitive[ShardMapParams] = prim.Primitive("shard_map", ShardMapParams)


def local_type(
    aval: av.ShapedArray, mesh: meshes.AnyMesh, axes: tuple[str, ...], spec: PartitionSpec
) -> av.ShapedArray:
    """Return the type of a device's part of an array, which also varies along the dividing axes.

    Its sharding along other axes is that of the array.

    Args:
        aval: the type of the array.
        mesh: the devices.
        axes: the axes of the mesh along which they have parts.
        spec: how the array is divided.

    Raises:
        ShardingError: it cannot be divided so.
    """
    shape = named_sharding.NamedSharding(mesh, spec).shard_shape(aval.shape)
    whole = inside.part_type(aval, axes, mesh.explicit_axes)
    part = whole.plain.with_shape(shape)
    part = types.with_varying(part, types.across(part) | along(spec))
    return whole.sharding.typed(part) if whole.sharding_or_none is not None else part


def global_type(aval: av.ShapedArray, mesh: meshes.AnyMesh, spec: PartitionSpec) -> av.ShapedArray:
    """Return the type of a whole array whose parts on devices have a given type.

    Args:
        aval: the type of the parts.
        mesh: the devices.
        spec: how the parts are joined.
    """
    sharding = named_sharding.NamedSharding(mesh, spec)
    shape = tuple([n * sharding.factor(i) for i, n in enumerate(aval.shape)])
    entries = [(*spec.axes(i), *names) for i, names in enumerate(types.entries(aval))]
    told = spec.with_partitions(entries)
    if types.is_summed(aval):
        rest = aval.sharding.spec
        told = told.update(
            unreduced=spec.unreduced | rest.unreduced, reduced=spec.reduced | rest.reduced
        )
    whole = types.with_varying(aval.plain.with_shape(shape), types.across(aval) - along(spec))
    return named_sharding.NamedSharding(mesh, told).typed(whole)
