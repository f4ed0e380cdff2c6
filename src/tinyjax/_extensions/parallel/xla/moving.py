"""Arrays on several devices of XLA's: their shardings, placement, and moves between processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import permutations
from typing import Any, Final, TypeAlias, TypeGuard

import numpy as np
from jaxlib.xla_client import (
    ArrayCopySemantics,
    GSPMDSharding,
    HloSharding,
    HostBufferSemantics,
    OpSharding,
    batched_copy_array_to_devices_with_sharding,
    batched_device_put,
)

from tinyjax import dtypes, errors
from tinyjax._extensions.parallel import named_sharding, sharded_array
from tinyjax._extensions.parallel.meshes import mesh_of_ids
from tinyjax._extensions.parallel.placement import Placement
from tinyjax._extensions.parallel.sharding import (
    Part,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    on_first,
)
from tinyjax.core.devices import CPU, PER_PROCESS, device_at, group, platform_at
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.tracing import jaxpr as jx, staging, trace as tr
from tinyjax.core.values import Array, ConcreteArray, ShapedArray, concrete, operands as opd
from tinyjax.core.xla import compilation, executable
from tinyjax.core.xla.backend import backend, backend_of, buffer_of, physical, result_handler

# Shardings as XLA knows them, and arrays of the parts that devices hold.


def _hlo_sharding(sharding: Sharding, ndim: int) -> HloSharding:
    if not isinstance(sharding, named_sharding.NamedSharding):
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
    """Return the sharding for jaxlib, in C++ alone: no class of ours or of jax takes part."""
    return GSPMDSharding(
        backend_of(sharding.ids).device_list(sharding.ids), _hlo_sharding(sharding, ndim)
    )


def _candidates(
    sharding: named_sharding.NamedSharding, ndim: int
) -> Iterator[named_sharding.NamedSharding]:
    """Go through the ways in which axes of its mesh divide arrays of so many axes."""

    def divide(axis: int, names: tuple[str, ...], entries: tuple[object, ...]) -> Iterator[Any]:
        if axis == ndim:
            yield named_sharding.NamedSharding(sharding.mesh, PartitionSpec(*entries).stripped())
            return
        for count in range(len(names) + 1):
            for chosen in permutations(names, count):
                rest = tuple([name for name in names if name not in chosen])
                yield from divide(axis + 1, rest, (*entries, chosen))

    yield from divide(0, sharding.mesh.axis_names, ())


@lru_cache(maxsize=4096)
def by_axes(
    like: named_sharding.NamedSharding, text: str, shape: tuple[int, ...]
) -> named_sharding.NamedSharding | None:
    """Return XLA's sharding in terms of a mesh's axes; None where these do not express it."""
    target = HloSharding.from_string(text)
    for candidate in _candidates(like, len(shape)):
        if _hlo_sharding(candidate, len(shape)) == target:
            return candidate if candidate.divides(shape) else None
    return None


def of_parts(
    aval: ShapedArray,
    sharding: Sharding,
    parts: Sequence[dtypes.HostArray],
    semantics: HostBufferSemantics = HostBufferSemantics.ZERO_COPY,
) -> sharded_array.ShardedArray:
    """Make an array from the parts of this process's devices.

    Args:
        aval: the type of the array.
        sharding: how it lies.
        parts: the data for each device of this process, which nobody writes to, as XLA holds it.
        semantics: how long nobody does.

    Raises:
        ShardingError: none of the devices is of this process.
    """
    every = backend_of(sharding.ids).device_list(sharding.ids)
    devices = [every[place] for place in sharding.addressable_places]
    if not devices:
        raise errors.ShardingError(
            f"all devices of {sharding!r} are of other processes. Every process that takes part "
            "has a device in the mesh, as tinyjax.make_mesh arranges all."
        )
    shards = batched_device_put(
        physical(aval),
        placed(sharding, aval.ndim),
        [*parts],
        devices,
        host_buffer_semantics=semantics,
        enable_x64=True,
    )
    return sharded_array.ShardedArray(aval, sharding, shards)


# Arrays on several devices: put there, and moved.


def put(x: Array, sharding: Sharding) -> Array:
    """Put an array with data where a sharding says.

    Raises:
        ShardingError: an array of its shape cannot lie so.
    """
    if not isinstance(x, ConcreteArray | sharded_array.ShardedArray):
        tr.raise_not_concrete(x)
    sharding.check(x.shape)
    if sharding.is_abstract:
        raise errors.ShardingError(
            f"{sharding!r} names no devices, so that no array lies so. AbstractMesh is for "
            "programs that are lowered and compiled, but not run."
        )
    _check_memory(sharding)
    if sharding == on_first():
        local = x if isinstance(x, ConcreteArray) else x.gathered
        if local.aval is not local.aval.plain:
            local = ConcreteArray(local.host, local.aval.plain)
        buffer_of(local, backend())
        return local
    at = moved(x, sharding)
    return (
        at if at.sharding is sharding else sharded_array.ShardedArray(x.aval, sharding, at.shards)
    )


def _check_memory(sharding: Sharding) -> None:
    """Raise where an array is to lie in another memory of a device than its own."""
    kind, device = sharding.memory_kind, device_at(sharding.ids[0])
    if kind not in [memory.kind for memory in device.addressable_memories()]:
        raise errors.ShardingError(
            f"arrays on {device!r} lie in its own memory, but memory_kind is {kind!r}. Put them on "
            "the processor: tinyjax.device_put(x, tinyjax.devices('cpu')[0])."
        )


def moved(x: Array, sharding: Sharding) -> sharded_array.ShardedArray:
    """Return an array with a sharding, or with an equivalent one."""
    if isinstance(x, sharded_array.ShardedArray):
        if x.sharding.is_equivalent_to(sharding, x.ndim):
            return x
        if x.sharding.is_fully_addressable and sharding.is_fully_addressable:
            here, there = (platform_at(s.ids[0]) for s in (x.sharding, sharding))
            if here is there is not CPU:
                return _between_devices(x, sharding)
            # The processor's devices share its memory: a program that moves parts takes up to four
            # times as long. What goes between platforms goes by way of it.
            if not x.sharding.summed and not sharding.summed:
                return _recut(x, sharding)
        elif x.sharding.ids == sharding.ids:
            if (
                x.sharding.summed
                and sharding.summed
                and isinstance(sharding, named_sharding.NamedSharding)
            ):
                x = _resharded(x, sharding.update(spec=sharding.spec.without_sums))
            return _resharded(x, sharding)
        elif (
            isinstance(x.sharding, named_sharding.NamedSharding)
            and not x.sharding.is_fully_addressable
            and not sharding.is_fully_addressable
        ):  # all processes get all of it
            x = _resharded(x, x.sharding.update(spec=PartitionSpec()))
        x = x.gathered
    if not isinstance(x, ConcreteArray):
        tr.raise_not_concrete(x)
    if sharding == on_first():
        return sharded_array.ShardedArray(x.aval, sharding, buffer_of(x, backend()))
    if x.nbytes >= _LEAST_FILLED and opd.is_splat(x) and _may_be_filled(sharding):
        return _filled(x, sharding)
    return _divided(x.aval, sharding, x.host)


def lent(host: dtypes.HostArray, sharding: SingleDeviceSharding) -> sharded_array.ShardedArray:
    """Send data of the user's to a device; it has been read when this returns."""
    aval = ShapedArray(host.shape, host.dtype)
    x = of_parts(aval, sharding, [host], HostBufferSemantics.IMMUTABLE_UNTIL_TRANSFER_COMPLETES)
    x.block_until_ready()
    return x


#: Arrays of one value, of at least so many bytes, are filled on their device. Smaller ones are sent
#: in less time than XLA takes to compile the program that fills them.
_LEAST_FILLED: Final = 1 << 24


def _may_be_filled(
    sharding: Sharding,
) -> TypeGuard[SingleDeviceSharding | named_sharding.NamedSharding]:
    known = isinstance(sharding, SingleDeviceSharding | named_sharding.NamedSharding)
    return known and sharding.is_fully_addressable and not sharding.summed


def _filled(
    x: ConcreteArray, sharding: SingleDeviceSharding | named_sharding.NamedSharding
) -> sharded_array.ShardedArray:
    """Return an array of one value, which each device fills by itself."""
    number = ConcreteArray(np.asarray(opd.first_element(x.host)), x.aval.with_shape(()))
    program = staging.stage(lambda n: [broadcast_in_dim(n, x.shape, ())], (number.aval,))
    whole = sharding.update(spec=PartitionSpec())
    return _computed(program.jaxpr, "fill", number, whole, sharding)


def _between_devices(
    x: sharded_array.ShardedArray, sharding: Sharding
) -> sharded_array.ShardedArray:
    """Move an array between devices of a platform that have memories of their own."""
    if x.sharding.ids == sharding.ids:
        return _resharded(x, sharding)
    if len(x.sharding.ids) == len(sharding.ids) == 1:
        if x.shards.is_deleted():
            concrete.raise_donated(x)
        target = placed(sharding, x.ndim)
        devices = backend_of(sharding.ids).device_list(sharding.ids)
        shards: Any = x.shards
        (copy,) = batched_copy_array_to_devices_with_sharding(
            [shards], [devices], [target], [ArrayCopySemantics.ALWAYS_COPY]
        )
        return sharded_array.ShardedArray(x.aval, sharding, copy)
    return moved(x.gathered, sharding)


def _divided(
    aval: ShapedArray, sharding: Sharding, host: dtypes.HostArray
) -> sharded_array.ShardedArray:
    """Put data of the host where a sharding says."""
    if aval.dtype in dtypes.PHYSICAL:
        host = dtypes.to_physical(host)
    copies: dict[str, dtypes.HostArray] = {}
    parts: list[dtypes.HostArray] = []
    slices, terms = sharding.parts(aval.shape), sharding.terms
    for place in sharding.addressable_places:
        if terms[place]:  # of a sum all of which the first device has
            shape = host[slices[place]].shape
            parts.append(np.zeros(shape, host.dtype))
            continue
        key = str(slices[place])
        part = copies.get(key)
        if part is None:
            part = np.asarray(host[slices[place]])  # of a number NumPy gives no array
            if not part.flags.c_contiguous:
                part = opd.aligned(part.shape, part.dtype)
                part[...] = host[slices[place]]
            copies[key] = part
        parts.append(part)
    return of_parts(aval, sharding, parts)


def _recut(x: sharded_array.ShardedArray, sharding: Sharding) -> sharded_array.ShardedArray:
    """Divide an array otherwise, all of whose parts are in this process, by copying these."""
    if x.shards.is_deleted():
        concrete.raise_donated(x)
    dtype = physical(x.aval).dtype
    buffers = x.shards._arrays
    has = [concrete.fetched(buffer, dtype) for buffer in buffers]
    cuts, places = _cuts(x.sharding, sharding, x.shape)
    parts: list[dtypes.HostArray] = []
    for shape, pieces in cuts:
        part = opd.aligned(shape, dtype)
        for there, source, here in pieces:
            part[there] = has[source][here]
        parts.append(part)
    return of_parts(x.aval, sharding, [parts[place] for place in places])


#: How one part is put together: its shape; and which of it comes from which part of the source.
_Cut: TypeAlias = tuple[tuple[int, ...], tuple[tuple[Part, int, Part], ...]]


@lru_cache(maxsize=4096)
def _cuts(
    source: Sharding, target: Sharding, shape: tuple[int, ...]
) -> tuple[Sequence[_Cut], Sequence[int]]:
    """Return the pieces by which an array changes from one division to another.

    Args:
        source: its sharding.
        target: the new sharding.
        shape: its shape.

    Returns:
        The pieces of the target's distinct parts, and the index of each device's part.
    """

    def bounds(sharding: Sharding) -> list[tuple[tuple[int, int], ...]]:
        return [
            tuple([s.indices(n)[:2] for s, n in zip(part, shape, strict=True)])
            for part in sharding.parts(shape)
        ]

    sources = {part: place for place, part in enumerate(bounds(source))}  # others hold copies
    targets = bounds(target)
    distinct = [*dict.fromkeys(targets)]
    cuts: list[_Cut] = []
    for part in distinct:
        pieces: list[tuple[Part, int, Part]] = []
        for own, place in sources.items():
            target_slices: list[slice] = []
            source_slices: list[slice] = []
            for (start, stop), (first, last) in zip(part, own, strict=True):
                low, high = max(start, first), min(stop, last)
                target_slices.append(slice(low - start, high - start))
                source_slices.append(slice(low - first, high - first))
            if all(s.start < s.stop for s in target_slices):
                pieces.append((tuple(target_slices), place, tuple(source_slices)))
        cuts.append((tuple([stop - start for start, stop in part]), tuple(pieces)))
    return cuts, [distinct.index(part) for part in targets]


def of_arrays(
    aval: ShapedArray, sharding: Sharding, arrays: Sequence[Array]
) -> sharded_array.ShardedArray:
    """Make an array of arrays that lie on this process's devices, in their order, and are kept."""
    on = backend()
    buffers: list[Any] = [
        x.shards if isinstance(x, sharded_array.ShardedArray) else buffer_of(x, on) for x in arrays
    ]
    join = result_handler(physical(aval), placed(sharding, aval.ndim))
    return sharded_array.ShardedArray(aval, sharding, join(buffers))


def _resharded(x: sharded_array.ShardedArray, sharding: Sharding) -> sharded_array.ShardedArray:
    """Return an array divided otherwise over the same devices, by a program that does no more."""
    var = jx.Var(x.aval)
    return _computed(jx.Jaxpr((var,), (), (var,)), "reshard", x, x.sharding, sharding)


def _computed(
    program: jx.Jaxpr, name: str, x: Array, lies: Sharding, sharding: Sharding
) -> sharded_array.ShardedArray:
    """Return the result of a program of one array, on the devices where it is to lie.

    Args:
        program: takes the array.
        name: its name.
        x: the array.
        lies: how the program takes it.
        sharding: how the result lies.
    """
    placement = Placement(sharding.ids, (lies,), (sharding,))
    request = compilation.Compilation(program, name, placement=placement)
    (result,) = executable.compiled(request)([x])
    assert isinstance(result, sharded_array.ShardedArray), "it lies on other devices than the first"
    return result


# Data that every process has, brought to all of them: by a program on one device of each.


def exchanged(data: dtypes.HostArray, processes: Sequence[int]) -> dtypes.HostArray:
    """Return the data of each of several processes, one row for each.

    All of these processes call this, in the same order among their programs.

    Args:
        data: bytes (``uint8[n]``), as many in every process.
        processes: the numbers of the processes, of which this is one.
    """
    mesh = mesh_of_ids([p * PER_PROCESS for p in processes], (len(processes),), ("processes",))
    aval = ShapedArray((len(processes), *data.shape), np.dtype(np.uint8))
    rows = named_sharding.NamedSharding(mesh, PartitionSpec("processes"))
    row = np.array(data[None], np.uint8)  # of its own, which nobody writes to
    return put(
        of_parts(aval, rows, [row]), named_sharding.NamedSharding(mesh, PartitionSpec())
    ).__array__()


def bytes_of(array: Array) -> dtypes.HostArray:
    """Return the data of an array, which this process has, as bytes."""
    host = array.concrete("its data")
    host = dtypes.to_physical(host) if host.dtype in dtypes.PHYSICAL else host
    return np.frombuffer(np.ascontiguousarray(host).tobytes(), np.uint8)


def digest_of(array: Array) -> bytes:
    """Return a digest of an array: of its type alone, where others have parts of its data."""
    is_here = array.is_fully_addressable or array.is_fully_replicated
    data = bytes_of(array).tobytes() if is_here else b""
    return sha256(f"{array.shape}{array.dtype.name}".encode() + data).digest()


def check_same(array: Array, sharding: Sharding) -> None:
    """Check that all processes of a sharding have the same data for an array.

    Raises:
        ProcessesDifferError: they have not.
    """
    processes = sorted({device_at(i).process_index for i in sharding.ids})
    if group().process_index not in processes:
        return  # the error arrives when it puts its part
    rows = exchanged(np.frombuffer(digest_of(array), np.uint8), processes)
    others = [p for p, row in zip(processes, rows, strict=True) if (row != rows[0]).any()]
    if others:
        raise errors.ProcessesDifferError(
            f"device_put was called with the same sharding in several processes, but in {others} "
            f"with other data than in {processes[0]}. Give all the same, or make the array of what "
            "each process has: tinyjax.make_array_from_process_local_data(sharding, local_data)."
        )
