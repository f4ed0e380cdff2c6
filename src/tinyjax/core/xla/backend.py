"""The devices: a client of XLA on this machine, and buffers in its memory.

jaxlib's process-wide settings are shared with jax, so none is set here: the one a transfer would
need is passed with each call. Data goes to the device without a copy where its memory is aligned,
which is why only memory that nobody writes to may be sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any, Final

from jaxlib import xla_client
from jaxlib._jax import ResultHandler
from jaxlib.xla_client import (
    ArrayCopySemantics,
    ArrayImpl,
    Client,
    Device,
    DeviceList,
    HloSharding,
    Sharding as XlaSharding,
    SingleDeviceSharding,
    array_result_handler,
    batched_copy_array_to_devices_with_sharding,
    batched_device_put,
)

from tinyjax import dtypes, errors
from tinyjax.core.devices import CPU, PER_PLATFORM, Platform, all_devices, make_known, platform_at
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.xla import threads, versions


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
    """A client with its devices, the first of which runs programs by default.

    Attributes:
        client: XLA's client.
        device: the first device of this process.
        devices: the same as a list, as compiling wants it.
        placement: the sharding of buffers on it.
    """

    def __init__(self, client: Client) -> None:
        self.client: Client = client
        threads.note_client(self.client)
        self._by_id: dict[int, Device] = {device.id: device for device in self.client.devices()}
        self.device: Device = self.client.local_devices()[0]
        self.devices: DeviceList = DeviceList((self.device,))
        self.placement: SingleDeviceSharding = _Placement(self.device)
        self._lists: dict[tuple[int, ...], DeviceList] = {}

    def device_list(self, ids: tuple[int, ...]) -> DeviceList:
        """Return devices by their numbers, among all platforms'; lists of equal devices are one."""
        devices = self._lists.get(ids)
        if devices is None:
            own = [self._by_id[i % PER_PLATFORM] for i in ids]
            devices = self._lists[ids] = DeviceList(tuple(own))
        return devices

    @property
    def identity(self) -> str:
        """The key of all that a compiled program depends on besides its text."""
        return f"{self.client.platform}:{self.client.platform_version}:{self.device.id}"

    @property
    def compiler(self) -> str:
        """The identity of the compiler: programs may be kept for the same one only."""
        return f"{self.identity}:{versions.COMPILER}"

    def put(self, host: dtypes.HostArray, aval: av.ShapedArray) -> ArrayImpl:
        """Send data that nobody will write to; aligned memory is not copied."""
        dtype = dtypes.PHYSICAL.get(aval.dtype)
        if dtype is not None:
            host, aval = dtypes.to_physical(host), aval.with_dtype(dtype)
        return batched_device_put(aval, self.placement, [host], [self.device], enable_x64=True)

    def copy(self, buffer: ArrayImpl) -> ArrayImpl:
        """Return a buffer on the first device of the same data, which need not be there yet."""
        always = [ArrayCopySemantics.ALWAYS_COPY]
        (copied,) = batched_copy_array_to_devices_with_sharding(
            [buffer], [self.devices], [self.placement], always
        )
        return copied

    def handlers(self, avals: Sequence[av.ShapedArray]) -> list[ResultHandler]:
        """Return the functions that make device arrays of a program's results."""
        return [result_handler(physical(a), self.placement) for a in avals]


def result_handler(aval: av.ShapedArray, sharding: XlaSharding) -> ResultHandler:
    """Return the function that makes a device array of its parts, which are what they should be."""
    return array_result_handler(aval, sharding, True, **versions.UNCHECKED)


def physical(aval: av.ShapedArray) -> av.ShapedArray:
    """Return the type as which XLA holds values of a type."""
    dtype = dtypes.PHYSICAL.get(aval.dtype)
    return aval if dtype is None else aval.with_dtype(dtype, aval.weak_type)


#: The clients of this process: of programs without callbacks, by None, and of those with callbacks,
#: by how many callbacks they run inside of.
_made: Final[dict[int | None, Backend]] = {}
#: XLA ends the process where two threads start it at once.
_making: Final = Lock()
threads.hold_at_forks(_making)


def backend(depth: int | None = None) -> Backend:
    """Return the backend, made when first needed.

    Args:
        depth: for programs with callbacks, the number of callbacks that they run within.
    """
    cached = _made.get(depth)
    if cached is None:
        with _making:
            cached = _made.get(depth)
            if cached is None:
                devices = len(all_devices()) if depth is None else 1
                client = xla_client.make_cpu_client(asynchronous=depth is None, num_devices=devices)
                cached = _made[depth] = Backend(client)
    return cached


#: The clients of other platforms than the processor's, by their names.
_others: Final[dict[str, Backend]] = {}


def backend_of(ids: Sequence[int]) -> Backend:
    """Return the backend of devices, by their numbers, which are of one platform."""
    platform = platform_at(ids[0])
    return backend() if platform is CPU else _others[platform.name]


def add_platform(client: Client, name: str, maker: str, rules: str) -> Platform:
    """Make the devices of a client known, as a platform of their own.

    Args:
        client: XLA's client, on none of whose devices anything ran before.
        name: the platform's name, such as "gpu".
        maker: its other name, such as "cuda".
        rules: the platform for which lowering rules are taken.
    """
    other = Backend(client)
    devices = client.local_devices()
    assert [device.id for device in devices] == [*range(len(devices))], "so XLA numbers them"

    def stats(number: int) -> dict[str, int] | None:
        try:
            numbers: dict[str, int] | None = devices[number].memory_stats()
        except RuntimeError:  # of a client that does not know
            return None
        return numbers

    kinds = tuple([device.device_kind for device in devices])
    platform = Platform(name, maker, rules, kinds, stats)
    _others[name] = other
    make_known(platform)
    return platform


def has_started() -> bool:
    """Return whether this process has made its devices, so that it cannot join others."""
    return None in _made


def install(joint: Backend) -> None:
    """Take a client that was made together with other processes for this process's."""
    with _making:
        assert not has_started(), "programs run on it"
        _made[None] = joint


def load(array: ConcreteArray) -> None:
    """Put an array's data on the first device, if it is not there."""
    buffer_of(array, backend())


def buffer_of(array: Array, target: Backend) -> Any:
    """Return an array's device buffer, made from its host data when first needed."""
    if type(array) is not ConcreteArray:
        raise errors.ArgumentError(
            f"a program that was compiled for one device was called with an array that lies by "
            f"{array.sharding!r}. Lower it for such arrays: jit(f).lower(x), or give the sharding "
            "to ShapeDtypeStruct."
        )
    buffer = array._buffer
    if buffer is None:
        host = array.host
        aval = array.aval
        if not host.flags.c_contiguous:
            aligned = opd.aligned(host.shape, host.dtype)
            aligned[...] = host
            host = aligned
        buffer = array._buffer = target.put(host, aval)
        if host is array._host and opd.is_copied(host):
            array._aval, array._host = aval, None  # one copy is enough
    return buffer
