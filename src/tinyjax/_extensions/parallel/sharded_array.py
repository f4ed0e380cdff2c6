"""Arrays whose data is not on the first device alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, Protocol

import attrs
import numpy as np

from tinyjax import errors
from tinyjax._base import lazy
from tinyjax._extensions.parallel.sharding import (
    DefaultPlace,
    Part,
    Sharding,
    SingleDeviceSharding,
    holders,
)
from tinyjax._extensions.parallel.types import entries
from tinyjax.core.devices import Device, device_at, first_device
from tinyjax.core.values import Array, avals as av, integers as ints
from tinyjax.core.values.array import DeviceBuffer
from tinyjax.core.values.concrete import (
    ConcreteArray,
    PlacedArray,
    fetched,
    raise_donated,
    wait_for,
)
from tinyjax.dtypes import DTypeLike, HostArray


class ShardedBuffer(DeviceBuffer, Protocol):
    """The parts of an array: a buffer on each device, each such a buffer itself."""

    @property
    def _arrays(self) -> Sequence[ShardedBuffer]: ...
    def unsafe_buffer_pointer(self) -> int: ...


@attrs.frozen(eq=False, repr=False)
class Shard:
    """The part of an array that one device holds.

    Attributes:
        device: the device.
        index: the slices of the array that it is.
        replica_id: the number of this copy of the part, counted from 0.
        data: the part, as an array on that device.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> (shard,) = jnp.arange(3).addressable_shards
        >>> isinstance(shard, tinyjax.Shard), shard.index, shard.data
        (True, (slice(None, None, None),), Array([0, 1, 2], dtype=int32))
    """

    device: Device
    index: Part
    replica_id: int
    data: Array

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


class ShardedArray(PlacedArray):
    """An array whose data is on devices, as its sharding describes.

    Its data is copied to the host on request only, and the copy is kept.
    """

    __slots__ = ("__weakref__", "_gathered", "shards")

    _sharding: Sharding

    def __init__(
        self,
        aval: av.ShapedArray,
        sharding: Sharding,
        shards: ShardedBuffer,
        is_typed: bool = False,
    ) -> None:
        # a type may say already how values lie, where it is to say it
        self._aval = aval if is_typed else sharding.typed(aval)
        self._sharding = sharding
        self._gathered: ConcreteArray | None = None
        self.shards: ShardedBuffer = shards

    @property
    def sharding(self) -> Sharding:
        return self._sharding.plain

    @property
    def device(self) -> Any:
        """The array's device, or its sharding if there are several."""
        sharding = self._sharding
        return sharding.device if isinstance(sharding, SingleDeviceSharding) else sharding

    def devices(self) -> set[Device]:
        return self._sharding.device_set

    @property
    def committed(self) -> bool:
        return type(self._sharding) is not DefaultPlace

    @property
    def is_fully_replicated(self) -> bool:
        return self._sharding.is_fully_replicated

    @property
    def is_fully_addressable(self) -> bool:
        return self._sharding.is_fully_addressable

    @property
    def addressable_shards(self) -> list[Shard]:
        counts: dict[str, int] = {}
        copies: list[int] = []
        parts = self._sharding.parts(self.shape)
        for part, term in zip(parts, self._sharding.terms, strict=True):
            key = f"{part}{term}"
            copy = counts[key] = counts.get(key, -1) + 1
            copies.append(copy)
        return [
            Shard(device_at(self._sharding.ids[place]), parts[place], copies[place], self._part(i))
            for i, place in enumerate(self._sharding.addressable_places)
        ]

    @property
    def global_shards(self) -> list[Shard]:
        if not self.is_fully_addressable:
            self._raise_elsewhere()
        return self.addressable_shards

    def addressable_data(self, index: int) -> Array:
        number = ints.integer(index, "index")
        count = len(self._sharding.addressable_places)
        if not 0 <= number < count:
            raise errors.IndexingError(
                f"the array lies on {count} devices of this process, but the part on number "
                f"{number} was asked for."
            )
        return self._part(number)

    def unsafe_buffer_pointer(self) -> int:
        if len(self._sharding.ids) > 1:
            raise errors.ShardingError(
                f"an array on {len(self._sharding.ids)} devices has as many addresses: ask a part, "
                "x.addressable_data(0).unsafe_buffer_pointer()."
            )
        return self.shards._arrays[0].unsafe_buffer_pointer()

    def _part(self, number: int) -> Array:
        """Return the part on one of this process's devices, by its place among them."""
        device = device_at(self._sharding.ids[self._sharding.addressable_places[number]])
        aval = self.aval.plain.with_shape(self._sharding.shard_shape(self.shape))
        buffer = self.shards._arrays[number]
        if device == first_device():
            return ConcreteArray(None, aval, buffer)
        return ShardedArray(aval, SingleDeviceSharding(device), buffer)

    def __iter__(self) -> Iterator[Array]:
        # rows of what is divided along them lie nowhere that types could tell
        divided = self.shape and entries(self.aval)[0]
        return iter(self.gathered) if divided else super().__iter__()

    # Data on the host

    @property
    def gathered(self) -> ConcreteArray:
        """The same array with its data on the host."""
        if self.shards.is_deleted():
            raise_donated(self)
        array = self._gathered
        if array is None:
            array = self._gathered = ConcreteArray(self._gather(), self.aval.plain)
        return array

    def read(self) -> HostArray:
        """Return the data without keeping it; of a replicated array, memory that a device has."""
        if self.shards.is_deleted():
            raise_donated(self)
        if self._gathered is not None:
            return self._gathered.host
        return self._gather()

    def _gather(self) -> HostArray:
        if len(self._sharding.ids) == 1:  # jaxlib would load jax to give the parts
            return fetched(self.shards, self.dtype)
        buffers = self.shards._arrays
        parts = self._sharding.parts(self.shape)
        if self.is_fully_replicated:
            return fetched(buffers[0], self.dtype)
        if not self.is_fully_addressable:
            self._raise_elsewhere()
        host = np.empty(self.shape, self.dtype)
        seen: set[str] = set()
        for part, term, buffer in zip(parts, self._sharding.terms, buffers, strict=True):
            key = f"{part}{term}"
            if key not in seen:  # others hold copies
                seen.add(key)
                if term == 0:  # that of the first device
                    host[part] = fetched(buffer, self.dtype)
                else:
                    host[part] += fetched(buffer, self.dtype)
        return host

    def _raise_elsewhere(self) -> NoReturn:
        raise errors.NotAddressableError(
            f"parts of this array, {self.aval} on {self._sharding}, lie in other processes. In all "
            "processes, compute what is small or replicate it, tinyjax.device_put(x, "
            "NamedSharding(mesh, P())), or gather it on the hosts, "
            "multihost_utils.process_allgather(x, tiled=True). x.addressable_shards are the parts "
            "in this process."
        )

    @property
    def _is_readable(self) -> bool:
        """Return whether this process has all of the data."""
        return self.is_fully_replicated or self.is_fully_addressable

    def concrete(self, purpose: str) -> HostArray:
        return self.gathered.concrete(purpose)

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> HostArray:
        return self.gathered.__array__(dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self.gathered.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.gathered.__dlpack_device__()

    def __repr__(self) -> str:
        return repr(self.gathered) if self._is_readable else self._described()

    def __str__(self) -> str:
        return str(self.gathered) if self._is_readable else self._described()

    def _repr_html_(self) -> str:
        """Show in a notebook which devices hold which part; the parts stay where they are."""
        where = f"{self.aval} on {len(self.sharding.ids)} devices: {self.sharding}"
        text: str = lazy.hook("display").shown_grid(where, holders(self.sharding, self.shape))
        return text

    def _described(self) -> str:
        return f"Array(shape={self.shape}, dtype={self.dtype.name})"

    def __format__(self, spec: str) -> str:
        return format(self.gathered, spec)

    def __reduce__(self) -> Any:
        """Pickle the data; a loaded array lies on the first device."""
        return self.gathered.__reduce__()

    def is_deleted(self) -> bool:
        return self.shards.is_deleted()

    def delete(self) -> None:
        self._gathered = None
        self.shards.delete()

    def on_device_size_in_bytes(self) -> int:
        shape = self._sharding.shard_shape(self.shape)
        return len(self._sharding.ids) * self.aval.with_shape(shape).size * self.dtype.itemsize

    def block_until_ready(self) -> Array:
        wait_for(self.shards)
        return self


def shards_of(x: Array) -> list[Shard]:
    """Return the one part of an array that lies whole on the first device."""
    return [Shard(first_device(), (slice(None),) * x.ndim, 0, x)]
