"""Programs compiled by XLA, or loaded where they were kept."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from jaxlib.xla_client import CompileOptions, DeviceList, LoadedExecutable

from tinyjax import config
from tinyjax.core.xla import backend, compilation, foreign, forks, waiting
from tinyjax.core.xla.options import compiling

if TYPE_CHECKING:
    from tinyjax.core.xla.disk_cache import DiskCache

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
    foreign.prepare_calls(text)
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
    foreign.prepare_calls(text)
    with forks.without_python():
        loaded = on.client.compile_and_load(text.encode(), devices, options)
    if kept is not None:
        folder, key = kept
        with suppress(RuntimeError):  # one that XLA cannot serialise, every process compiles
            folder.store(key, loaded.serialize())
    return loaded
