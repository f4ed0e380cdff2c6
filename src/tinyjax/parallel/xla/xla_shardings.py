"""Shardings as XLA knows them, and arrays of the parts that devices hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Any

from jaxlib.xla_client import GSPMDSharding, HloSharding, OpSharding, batched_device_put

from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.xla import backend
from tinyjax.dtypes import HostArray
from tinyjax.errors import ShardingError
from tinyjax.parallel.named_sharding import NamedSharding
from tinyjax.parallel.sharded_array import ShardedArray
from tinyjax.parallel.sharding import PartitionSpec, Sharding


def _hlo_sharding(sharding: Sharding, ndim: int) -> HloSharding:
    if not isinstance(sharding, NamedSharding):
        return HloSharding.replicate()
    mesh, spec = sharding.mesh, sharding.spec
    factors = [sharding.factor(axis) for axis in range(ndim)]
    summed = sharding.summed
    if all(n == 1 for n in factors) and not summed:
        return HloSharding.replicate()
    used = [*[name for axis in range(ndim) for name in spec.axes(axis)], *summed]
    order = [*used, *[name for name in mesh.axis_names if name not in used]]
    groups = (
        (mesh.size_of(summed), OpSharding.Type.UNREDUCED),
        (len(mesh.ids) // mesh.size_of(used), OpSharding.Type.REPLICATED),
    )
    return HloSharding.iota_tile(
        (*factors, *[n for n, _ in groups if n > 1]),
        reshape_dims=mesh.axis_sizes,
        transpose_perm=[mesh.axis_names.index(name) for name in order],
        subgroup_types=[kind for n, kind in groups if n > 1],
    )


@lru_cache(maxsize=4096)
def placed(sharding: Sharding, ndim: int) -> GSPMDSharding:
    """The same for jaxlib; all of it is in C++, so that no class of ours or of jax takes part."""
    return GSPMDSharding(
        backend.backend_of(sharding.ids).device_list(sharding.ids), _hlo_sharding(sharding, ndim)
    )


def _candidates(sharding: NamedSharding, ndim: int) -> Iterator[NamedSharding]:
    """Go through the ways in which axes of its mesh divide arrays of so many axes."""

    def divide(axis: int, left: tuple[str, ...], entries: tuple[object, ...]) -> Iterator[Any]:
        if axis == ndim:
            yield NamedSharding(sharding.mesh, PartitionSpec(*entries).stripped())
            return
        for count in range(len(left) + 1):
            for chosen in permutations(left, count):
                rest = tuple([name for name in left if name not in chosen])
                yield from divide(axis + 1, rest, (*entries, chosen))

    yield from divide(0, sharding.mesh.axis_names, ())


@lru_cache(maxsize=4096)
def by_axes(like: NamedSharding, text: str, shape: tuple[int, ...]) -> NamedSharding | None:
    """A sharding that XLA has chosen, by axes of a mesh; None where these do not express it."""
    target = HloSharding.from_string(text)
    for candidate in _candidates(like, len(shape)):
        if _hlo_sharding(candidate, len(shape)) == target:
            divides = all(n % candidate.factor(axis) == 0 for axis, n in enumerate(shape))
            return candidate if divides else None
    return None


def of_parts(aval: ShapedArray, sharding: Sharding, parts: Sequence[HostArray]) -> ShardedArray:
    """Make an array of what this process's devices are to hold.

    Args:
        aval: the type of the array.
        sharding: how it lies.
        parts: the data for each device of this process, which nobody writes to, as XLA holds it.

    Raises:
        ShardingError: none of the devices is of this process.
    """
    every = backend.backend_of(sharding.ids).device_list(sharding.ids)
    devices = [every[place] for place in sharding.addressable_places]
    if not devices:
        raise ShardingError(
            f"all devices of {sharding!r} are of other processes. Every process that takes part "
            "has a device in the mesh, as tinyjax.make_mesh arranges all."
        )
    shards = batched_device_put(
        backend.physical(aval), placed(sharding, aval.ndim), [*parts], devices, enable_x64=True
    )
    return ShardedArray(aval, sharding, shards)
