"""XLA: devices, compiled programs and their caches. The only room that imports jaxlib.

Loading jaxlib's shared library takes half of the time that ``import tinyjax`` would take, and
eager programs on CPU never need it. So the parts of this room are loaded when first asked for.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tinyjax.core.platforms import finder
from tinyjax.core.sharded_array import evaluator, placer
from tinyjax.lazy import loader

# XLA would greet every process on standard error; it reads this when it is loaded.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

if TYPE_CHECKING:
    from tinyjax.xla.backend import has_started as has_started
    from tinyjax.xla.background import compile_all as compile_all
    from tinyjax.xla.compilation import Compilation as Compilation
    from tinyjax.xla.compilation import Flags as Flags
    from tinyjax.xla.disk_cache import DiskCacheInfo as DiskCacheInfo
    from tinyjax.xla.disk_cache import disk_cache_clear as disk_cache_clear
    from tinyjax.xla.disk_cache import disk_cache_info as disk_cache_info
    from tinyjax.xla.dispatch import Launch as Launch
    from tinyjax.xla.dispatch import PlacedLaunch as PlacedLaunch
    from tinyjax.xla.dispatch import call_key as call_key
    from tinyjax.xla.dispatch import launch_arrays as launch_arrays
    from tinyjax.xla.dispatch import launch_mixed as launch_mixed
    from tinyjax.xla.dispatch import not_launched as not_launched
    from tinyjax.xla.dispatch import register_nodes as register_nodes
    from tinyjax.xla.dispatch import short_call as short_call
    from tinyjax.xla.exchange import bytes_of as bytes_of
    from tinyjax.xla.exchange import check_same as check_same
    from tinyjax.xla.exchange import digest_of as digest_of
    from tinyjax.xla.exchange import exchanged as exchanged
    from tinyjax.xla.executable import CacheInfo as CacheInfo
    from tinyjax.xla.executable import Executable as Executable
    from tinyjax.xla.executable import cache_clear as cache_clear
    from tinyjax.xla.executable import cache_info as cache_info
    from tinyjax.xla.executable import compile_anew as compile_anew
    from tinyjax.xla.executable import compiled as compiled
    from tinyjax.xla.executable import executable_for as executable_for
    from tinyjax.xla.executable import held as held
    from tinyjax.xla.executable import is_compiled as is_compiled
    from tinyjax.xla.executable import match_donations as match_donations
    from tinyjax.xla.foreign import include_dir as include_dir
    from tinyjax.xla.foreign import register_batch_partitionable as register_batch_partitionable
    from tinyjax.xla.foreign import register_target as register_target
    from tinyjax.xla.foreign import register_type as register_type
    from tinyjax.xla.hlo import called_by as called_by
    from tinyjax.xla.hlo import computations_of as computations_of
    from tinyjax.xla.lowering import lowered as lowered
    from tinyjax.xla.lowering import lowered_for as lowered_for
    from tinyjax.xla.modules import from_portable as from_portable
    from tinyjax.xla.modules import parse as parse
    from tinyjax.xla.modules import to_artifact as to_artifact
    from tinyjax.xla.modules import to_computation as to_computation
    from tinyjax.xla.modules import to_portable as to_portable
    from tinyjax.xla.options import as_flags as as_flags
    from tinyjax.xla.placements import Placement as Placement
    from tinyjax.xla.placing import on_devices as on_devices
    from tinyjax.xla.placing import placement_of as placement_of
    from tinyjax.xla.processes import Connection as Connection
    from tinyjax.xla.processes import Limits as Limits
    from tinyjax.xla.processes import connect as connect
    from tinyjax.xla.processes import serve as serve
    from tinyjax.xla.profiling import OpEvent as OpEvent
    from tinyjax.xla.profiling import Profile as Profile
    from tinyjax.xla.profiling import SpanEvent as SpanEvent
    from tinyjax.xla.profiling import annotation as annotation
    from tinyjax.xla.profiling import profile_of as profile_of
    from tinyjax.xla.profiling import read_profile as read_profile
    from tinyjax.xla.profiling import start_profile as start_profile
    from tinyjax.xla.sharded import call_sharded as call_sharded
    from tinyjax.xla.sharded import of_arrays as of_arrays
    from tinyjax.xla.sharded import put as put
    from tinyjax.xla.sharded import runs_on_host as runs_on_host
    from tinyjax.xla.sharded_executable import COLLECTIVES as COLLECTIVES
    from tinyjax.xla.sharded_executable import ShardedExecutable as ShardedExecutable
    from tinyjax.xla.sharded_executable import of_parts as of_parts
    from tinyjax.xla.tiers import decide as decide
    from tinyjax.xla.tiers import forget as forget
    from tinyjax.xla.tiers import run as run
    from tinyjax.xla.tiers import run_alone as run_alone
    from tinyjax.xla.versions import COMPILER as COMPILER

_LATER: Final = {
    "backend": "has_started",
    "background": "compile_all",
    "compilation": "Compilation Flags",
    "disk_cache": "DiskCacheInfo disk_cache_clear disk_cache_info",
    "dispatch": (
        "Launch PlacedLaunch call_key launch_arrays launch_mixed not_launched register_nodes "
        "short_call"
    ),
    "exchange": "bytes_of check_same digest_of exchanged",
    "executable": (
        "CacheInfo Executable cache_clear cache_info compile_anew compiled executable_for "
        "held is_compiled match_donations"
    ),
    "foreign": "include_dir register_batch_partitionable register_target register_type",
    "lowering": "lowered lowered_for",
    "hlo": "called_by computations_of",
    "modules": "from_portable parse to_artifact to_computation to_portable",
    "options": "as_flags",
    "placements": "Placement",
    "placing": "on_devices placement_of",
    "processes": "Connection Limits connect serve",
    "profiling": "OpEvent Profile SpanEvent annotation profile_of read_profile start_profile",
    "sharded": "call_sharded of_arrays put runs_on_host",
    "sharded_executable": "COLLECTIVES ShardedExecutable of_parts",
    "tiers": "decide forget run run_alone",
    "versions": "COMPILER",
}

#: The parts that decide whether a program is compiled: to ask jaxlib for its version takes 10 ms.
_WITHOUT_JAXLIB: Final = ("compilation", "placements", "placing", "tiers")


def _evaluate(primitive: Any, args: Any, params: Any) -> Any:
    import_module("tinyjax.xla.sharded")  # puts its own in the place of this
    return evaluator[0](primitive, args, params)


evaluator[:] = [_evaluate]
finder[:] = [lambda name: import_module("tinyjax.xla.plugins").load(name)]
placer[:] = [lambda x, sharding: import_module("tinyjax.xla.sharded").put(x, sharding)]


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    _load = loader(__name__, _LATER)
    _needing_none = {name for part in _WITHOUT_JAXLIB for name in _LATER[part].split()}

    def __getattr__(name: str) -> Any:
        """Load a part; one that needs jaxlib, after the check that it knows the one installed."""
        if name not in _needing_none:
            import_module("tinyjax.xla.versions")
        return _load(name)
