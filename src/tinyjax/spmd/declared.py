"""The primitive ``shard_map``, its parameters, and the types of the parts that devices have."""

from __future__ import annotations

from typing import Final

import attrs

from tinyjax.core.avals import NOWHERE, ShapedArray
from tinyjax.core.devices import PartitionSpec
from tinyjax.core.jaxpr import Jaxpr
from tinyjax.core.primitive import Params, Primitive
from tinyjax.core.sharding import AnyMesh, NamedSharding

#: How operands are divided, or results joined.
Specs = tuple[PartitionSpec, ...]

#: Of what each device has a copy.
COPIES: Final = PartitionSpec()


@attrs.frozen(repr=False)
class ShardMapParams(Params):
    """A program for each device of a mesh.

    Attributes:
        jaxpr: the program, of the parts that one device has.
        mesh: the devices.
        in_specs: how the operands are divided.
        out_specs: how the results are joined.
    """

    jaxpr: Jaxpr
    mesh: AnyMesh
    in_specs: Specs
    out_specs: Specs


shard_map_p: Primitive[ShardMapParams] = Primitive("shard_map", ShardMapParams)


def local_type(aval: ShapedArray, mesh: AnyMesh, spec: PartitionSpec) -> ShapedArray:
    """The type of a device's part of an array, which varies along the axes that divide it.

    Raises:
        ShardingError: the array cannot be divided so.
    """
    shape = NamedSharding(mesh, spec).shard_shape(aval.shape)
    return aval.plain.with_shape(shape).with_varying(frozenset(spec.names))


def global_type(aval: ShapedArray, mesh: AnyMesh, spec: PartitionSpec) -> ShapedArray:
    """The type of an array of which devices have parts of a type."""
    sharding = NamedSharding(mesh, spec)
    shape = tuple([n * sharding.factor(i) for i, n in enumerate(aval.shape)])
    return aval.with_shape(shape).with_varying(NOWHERE).lying(sharding)
