"""The device: a client of XLA on this machine, and buffers in its memory.

jaxlib's process-wide settings are shared with jax, so none is set here: the one a transfer would
need is passed with each call. Data goes to the device without a copy where its memory is aligned,
which is why only memory that nobody writes to may be sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jaxlib
import numpy as np
from jaxlib import xla_client
from jaxlib.xla_client import (
    ArrayImpl,
    Client,
    Device,
    DeviceList,
    HloSharding,
    SingleDeviceSharding,
    array_result_handler,
    batched_device_put,
)

from tinyjax.core.array import Array, ConcreteArray
from tinyjax.core.avals import ShapedArray
from tinyjax.dtypes import PHYSICAL, HostArray, to_physical
from tinyjax.xla.forks import note_client


class _Placement(SingleDeviceSharding):
    """A sharding on one device, with the few things that jaxlib asks a sharding for."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._devices: DeviceList = DeviceList((device,))

    @property
    def memory_kind(self) -> None:
        return None

    @property
    def _internal_device_list(self) -> DeviceList:
        return self._devices

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> HloSharding:
        return HloSharding.replicate()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class Backend:
    """One client with its first device, on which programs run.

    Attributes:
        client: XLA's client.
        device: the device.
        devices: the same as a list, as compiling wants it.
        placement: the sharding of every buffer.
    """

    def __init__(self, asynchronous: bool = True) -> None:
        self.client: Client = xla_client.make_cpu_client(asynchronous=asynchronous)
        note_client(self.client)
        self.device: Device = self.client.devices()[0]
        self.devices: DeviceList = DeviceList((self.device,))
        self.placement: _Placement = _Placement(self.device)

    @property
    def identity(self) -> str:
        """What a compiled program depends on besides its text."""
        return f"{self.client.platform}:{self.client.platform_version}:{self.device.id}"

    @property
    def compiler(self) -> str:
        """Which compiler this is: programs may be kept for others of the same only."""
        return f"{self.identity}:jaxlib {jaxlib.__version__}"

    def put(self, host: HostArray, aval: ShapedArray) -> ArrayImpl:
        """Send data that nobody will write to; aligned memory is not copied."""
        dtype = PHYSICAL.get(aval.dtype)
        if dtype is not None:
            host, aval = to_physical(host), aval.with_dtype(dtype)
        return batched_device_put(aval, self.placement, [host], [self.device], enable_x64=True)

    def handlers(self, avals: Sequence[ShapedArray]) -> list[Any]:
        """Return the functions that make device arrays of a program's results."""
        return [
            array_result_handler(
                a.with_dtype(PHYSICAL.get(a.dtype, a.dtype), a.weak_type),
                self.placement,
                True,
                True,
            )
            for a in avals
        ]


@lru_cache(maxsize=1)
def backend() -> Backend:
    """Return the backend, made when first needed (3 ms)."""
    return Backend()


def buffer_of(array: Array, on: Backend) -> Any:
    """Return an array's device buffer, made from its host data when first needed."""
    assert isinstance(array, ConcreteArray), "only data can be sent to a device"
    buffer = array._buffer
    if buffer is None:
        host = array.host
        if not host.flags.c_contiguous:
            host = np.ascontiguousarray(host)
        buffer = array._buffer = on.put(host, array.aval)
    return buffer


def to_device(array: Array) -> None:
    """Make sure that an array has its data on the device."""
    buffer_of(array, backend())
