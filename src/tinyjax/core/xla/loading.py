"""Programs compiled by XLA, or loaded where they were kept, and the LAPACK that they call by name.

Loading SciPy's copy of LAPACK takes longer than loading tinyjax, so it happens when a program that
calls it is first compiled or loaded. jax registers the same functions under the same names, before
or after: XLA takes a name twice where it means the same function.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from jaxlib import lapack, xla_client
from jaxlib.xla_client import CompileOptions, DeviceList, LoadedExecutable

from tinyjax import config
from tinyjax.core.xla import backend, compilation, forks, waiting
from tinyjax.core.xla.options import compiling

if TYPE_CHECKING:
    from tinyjax.core.xla.disk_cache import DiskCache

_MARK: Final = "lapack_"
#: Functions of the plugin for GPUs that compute on the processor.
_MARK_OF_GPUS: Final = "cuhybrid_"


def prepare_calls(text: str) -> None:
    """Make LAPACK ready where a program calls it."""
    if _MARK in text:
        _prepare()
    if _MARK_OF_GPUS in text:
        _prepare_for_gpus()


@cache
def _prepare_for_gpus() -> None:
    of_plugins: Any = import_module("jaxlib.gpu_solver")  # which looks for them when it is loaded
    of_plugins.initialize_hybrid_kernels()


@cache
def _prepare() -> None:
    for platform, targets in lapack.registrations().items():
        for name, function, version in targets:
            xla_client.register_custom_call_target(name, function, platform, version)
    for name in lapack.batch_partitionable_targets():
        xla_client.register_custom_call_as_batch_partitionable(name)
    # Any routine's name will do: asking for one is what loads SciPy's library.
    lapack.prepare_lapack_call("potrf_ffi", np.float32)


#: The identities of programs that were loaded, and of some that took the place of one that died.
_not_compiled: Final[set[int]] = set()


def load_or_compile(
    on: backend.Backend,
    text: str,
    name: str,
    flags: compilation.Flags,
    options: CompileOptions,
    devices: DeviceList,
) -> LoadedExecutable:
    """Load a program from the cache on disk, if there is one and it is there, or compile it.

    Args:
        on: the client.
        text: the program's module.
        name: the program's name.
        flags: XLA's, and their values.
        options: the compiler's, the flags among them.
        devices: those that it runs on.

    Raises:
        ArgumentError: XLA has no such flag, or it does not take the value.
    """
    with compiling(flags):
        kept = _place(on, text, options) if config.settings().cache_dir else None
        if kept is not None:
            loaded = waiting.step("load", name, lambda: _load(on, text, kept, options, devices))
            if loaded is not None:
                return loaded
        return waiting.step("compile", name, lambda: _compile(on, text, kept, options, devices))


def _place(on: backend.Backend, text: str, options: CompileOptions) -> tuple[DiskCache, bytes]:
    """Return the cache on disk, and what the program is called there."""
    # Most processes have no such cache, and need not load what it takes.
    from tinyjax.core.xla.disk_cache import disk_cache, program_key  # noqa: PLC0415

    return disk_cache(), program_key(text, options.SerializeAsString(), on.compiler)


def _load(
    on: backend.Backend,
    text: str,
    kept: tuple[DiskCache, bytes],
    options: CompileOptions,
    devices: DeviceList,
) -> LoadedExecutable | None:
    prepare_calls(text)
    folder, key = kept
    code = folder.load(key)
    if code is not None:
        try:
            return from_code(on, code, options, devices)
        except (RuntimeError, ValueError) as error:  # whole, but not to XLA's liking
            folder.discard(key, str(error))
    return None


def from_code(
    on: backend.Backend, code: bytes, options: CompileOptions, devices: DeviceList
) -> LoadedExecutable:
    """Load a program from its machine code."""
    loaded: LoadedExecutable = on.client.deserialize_executable(code, devices, options)
    _not_compiled.add(id(loaded))
    return loaded


def is_compiled_here(loaded: LoadedExecutable) -> bool:
    """Whether a program can be serialised: of one that was loaded, XLA writes what does not run."""
    return id(loaded) not in _not_compiled


def _compile(
    on: backend.Backend,
    text: str,
    kept: tuple[DiskCache, bytes] | None,
    options: CompileOptions,
    devices: DeviceList,
) -> LoadedExecutable:
    prepare_calls(text)
    with forks.without_python():
        loaded = on.client.compile_and_load(text.encode(), devices, options)
    if kept is not None:
        folder, key = kept
        with suppress(RuntimeError):  # one that XLA cannot serialise, every process compiles
            folder.store(key, loaded.serialize())
    return loaded
