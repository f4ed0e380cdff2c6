"""``nox -s cuda_compile``: compile every row of tests/specs for an H100 that is not there.

XLA's plugin for CUDA compiles for the description of a GPU. Nothing is run: what is seen is that
XLA takes the programs for that platform, and which it does not take. Arguments are names of rows.
"""

import os
import re
import sys
from collections import Counter
from importlib import import_module
from typing import Any, Final

import numpy as np
from jaxlib.mlir import ir

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import tinyjax
from specs import Spec, all_specs
from tinyjax import NamedSharding, P, lax
from tinyjax._extensions.parallel.placement import Placement
from tinyjax._extensions.parallel.xla import plugins
from tinyjax._extensions.parallel.xla.lowering import lowered_for
from tinyjax._extensions.parallel.xla.sharded_executable import placed_options
from tinyjax.core import discovery
from tinyjax.core.lowering import write_module
from tinyjax.core.tracing.jaxpr import Jaxpr
from tinyjax.core.values.operands import as_array
from tinyjax.core.xla import modules
from tinyjax.core.xla.options import compile_options
from tinyjax.errors import PlatformError
from tinyjax.sharding import AbstractMesh

#: The GPU, as XLA describes it.
H100: Final = """
gpu_device_info {
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: 233472
  threads_per_core_limit: 2048
  core_count: 132
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000
  l2_cache_size: 52428800
  clock_rate_ghz: 1.98
  device_memory_size: 84942979072
  shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 }
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 8 patch: 0 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
#: Functions of the processor, which tests of ``ffi_call`` call by name.
_OF_THE_CPU: Final = re.compile('call_target_name = "(lapack_)')


class Compiler:
    """Compiles for several such GPUs."""

    def __init__(self, count: int) -> None:
        topology = _client.make_c_api_device_topology(
            _api, "", target_config=H100, topology=f"1x1x{count}"
        )
        self._devices: tuple[Any, ...] = tuple(topology._make_compile_only_devices())

    def compile(self, text: str, placement: Placement | None = None) -> Any:
        """Return the executable that XLA makes of a module."""
        devices = _client.DeviceList(self._devices)
        options = compile_options(()) if placement is None else placed_options((), placement)
        with modules.context() as here:
            import_module("jaxlib.mlir.dialects.sdy").register_dialect(here)
            module = ir.Module.parse(text)
        return self._devices[0].client.compile(module, devices, options)


def _loaded() -> Any:
    """Load XLA's plugin, with its functions; its assembler is a program of another package."""
    plugin, tools = discovery.installed(), plugins.toolkit()
    if plugin is None or tools is None:
        raise SystemExit("there is no plugin, or no assembler: nox -s cuda_compile installs them.")
    os.environ["PATH"] = f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # Without a GPU the fastest of several ways cannot be found by trial.
    flags = f"--xla_gpu_cuda_data_dir={tools} --xla_gpu_autotune_level=0"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}"
    api = plugins.load_api(plugin)
    plugins.register_calls(plugin, api)
    return api


_client: Final[Any] = import_module("jaxlib.xla_client")
_api: Final[Any] = _loaded()


def _compile_row(row: Spec, compiler: Compiler) -> str:
    """Compile the first case of a row; return "compiled", or what stands in the way."""
    case = row.cases[0]
    operands = case.sample(row.rng("smooth"), row.dtypes[-1] if case.generic else None)

    def fun(*args: Any) -> Any:
        return row.fun(*args, **case.params)

    jaxpr = tinyjax.make_jaxpr(fun)(*map(as_array, operands)).jaxpr
    try:
        text, _ = write_module(jaxpr, "row", platform="cuda")
    except PlatformError:  # of LAPACK's routines for GPUs there is none
        return "not on GPUs"
    called = _OF_THE_CPU.search(text)
    try:
        compiler.compile(text)
    except RuntimeError as error:
        if called is not None and f"No FFI handler registered for {called[1]}" in str(error):
            return f"calls {called[1]}"
        return f"WRONG: {error}"
    return "compiled"


def _collectives(compiler: Compiler) -> dict[str, Counter[str]]:
    """The collectives in a step divided by XLA over four GPUs, and in one by ``shard_map``."""
    mesh = AbstractMesh((4,), "data")
    whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    w, x = np.ones((8, 8), np.float32), np.ones((16, 8), np.float32)

    def loss(w: Any, x: Any) -> Any:
        return tinyjax.numpy.mean((x @ w) ** 2)

    @tinyjax.shard_map(mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
    def mapped(w: Any, x: Any) -> Any:
        return lax.psum(loss(w, x), "data")

    def compiled(jaxpr: Jaxpr) -> Counter[str]:
        placement = Placement((0, 1, 2, 3), (whole, rows), (whole,))
        text = lowered_for(placement, jaxpr, "step")[0]
        hlo = compiler.compile(text, placement).hlo_modules()[0].to_string()
        return Counter(re.findall(r" (all-reduce|all-gather|collective-permute)(?:-start)?\(", hlo))

    programs = {"divided": tinyjax.grad(loss), "shard_map": mapped}
    return {name: compiled(tinyjax.make_jaxpr(f)(w, x).jaxpr) for name, f in programs.items()}


def main() -> int:
    on, chosen = Compiler(1), {*sys.argv[1:]}
    rows = [row for row in all_specs() if not chosen or row.name in chosen]
    outcomes: dict[str, list[str]] = {}
    for row in rows:
        said = _compile_row(row, on)
        outcomes.setdefault(said, []).append(row.name)
        print(f"{row.name}: {said}", flush=True)
    collectives = _collectives(Compiler(4))
    print()
    for said, names in outcomes.items():
        print(f"{len(names)} of {len(rows)} {said}: {', '.join(names)}")
    print(f"collectives on four GPUs: {collectives}")
    wrong = any(said.startswith("WRONG") for said in outcomes)
    return 1 if wrong or any(c != {"all-reduce": 1} for c in collectives.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
