import enum
from collections.abc import Callable, Mapping

from jaxlib import _hlo, _jax
from jaxlib._hlo import HloSharding as HloSharding, Layout as Layout, OpSharding as OpSharding
from jaxlib._jax import (
    Array as Array,
    ArrayCopySemantics as ArrayCopySemantics,
    ArrayImpl as ArrayImpl,
    Client as Client,
    CompileOptions as CompileOptions,
    Device as Device,
    DeviceAssignment as DeviceAssignment,
    DeviceList as DeviceList,
    GSPMDSharding as GSPMDSharding,
    HostBufferSemantics as HostBufferSemantics,
    LoadedExecutable as LoadedExecutable,
    Memory as Memory,
    PjRtLayout as PjRtLayout,
    Sharding as Sharding,
    SingleDeviceSharding as SingleDeviceSharding,
    array_result_handler as array_result_handler,
    batched_block_until_ready as batched_block_until_ready,
    batched_copy_array_to_devices_with_sharding as batched_copy_array_to_devices_with_sharding,
    batched_device_put as batched_device_put,
    custom_call_targets as custom_call_targets,
)
from typing_extensions import CapsuleType

_NameValueMapping = Mapping[str, str | int | list[int] | float | bool]
_xla = _jax
hlo = _hlo

XlaRuntimeError = _jax.JaxRuntimeError

_version: int
_ifrt_version: int

class CustomCallTargetTraits(enum.IntFlag):
    DEFAULT = 0
    COMMAND_BUFFER_COMPATIBLE = 1

def make_cpu_client(
    asynchronous: bool = ...,
    distributed_client: _jax.DistributedRuntimeClient | None = ...,
    node_id: int = ...,
    num_nodes: int = ...,
    collectives: _jax.CpuCollectives | None = ...,
    num_devices: int | None = ...,
    get_local_topology_timeout_minutes: int | None = ...,
    get_global_topology_timeout_minutes: int | None = ...,
    transfer_server_factory: None = ...,
) -> Client: ...
def make_c_api_client(
    plugin_name: str,
    options: _NameValueMapping | None = ...,
    distributed_client: _jax.DistributedRuntimeClient | None = ...,
    transfer_server_factory: None = ...,
    force_dcn_cross_host_transfers: bool = ...,
    sort_devices_by_process_index: bool = ...,
) -> Client: ...
def generate_pjrt_gpu_plugin_options() -> _NameValueMapping: ...
def load_pjrt_plugin_dynamically(plugin_name: str, library_path: str) -> CapsuleType: ...
def initialize_pjrt_plugin(plugin_name: str) -> None: ...
def pjrt_plugin_loaded(plugin_name: str) -> bool: ...
def pjrt_plugin_initialized(plugin_name: str) -> bool: ...
def register_custom_call_handler(platform: str, handler: Callable[..., None]) -> None: ...
def register_custom_type_handler(platform: str, handler: Callable[..., None]) -> None: ...
def register_custom_type(
    type_name: str, type_id: Mapping[str, CapsuleType], platform: str = ...
) -> None: ...
def register_custom_call_as_batch_partitionable(target_name: str) -> None: ...
def register_custom_call_target(
    name: str,
    fn: CapsuleType | Mapping[str, CapsuleType],
    platform: str = ...,
    api_version: int = ...,
    traits: CustomCallTargetTraits = ...,
) -> None: ...
