"""Programs compiled by XLA, or loaded where they were kept."""

from __future__ import annotations

from contextlib import suppress

from jaxlib.xla_client import CompileOptions, DeviceList, LoadedExecutable

from tinyjax.config import settings
from tinyjax.xla.announcing import waiting
from tinyjax.xla.backend import Backend
from tinyjax.xla.compilation import Flags, Placement
from tinyjax.xla.interruptible import aside
from tinyjax.xla.lapack import prepare_calls
from tinyjax.xla.options import compile_options, compiling


def load_or_compile(
    on: Backend,
    text: str,
    flags: Flags = (),
    placement: Placement | None = None,
) -> LoadedExecutable:
    """Load a program from the cache on disk, if there is one and it is there, or compile it.

    Args:
        on: the client.
        text: the program's module.
        flags: XLA's, and their values.
        placement: on which devices it runs; None for the first.

    Raises:
        ArgumentError: XLA has no such flag, or it does not take the value.
    """
    devices = on.devices if placement is None else on.device_list(placement.ids)
    options = compile_options(flags, placement)
    with compiling(flags):
        return aside(lambda: _load_or_compile(on, text, options, devices), waiting=waiting())


def _load_or_compile(
    on: Backend, text: str, options: CompileOptions, devices: DeviceList
) -> LoadedExecutable:
    prepare_calls(text)
    if not settings().cache_dir:
        return on.client.compile_and_load(text.encode(), devices, options)
    # Most processes have no such cache, and need not load what it takes.
    from tinyjax.xla.disk_cache import disk_cache, program_key  # noqa: PLC0415

    kept = disk_cache()
    key = program_key(text, options.SerializeAsString(), on.compiler)
    code = kept.load(key)
    if code is not None:
        try:
            return on.client.deserialize_executable(code, devices, options)
        except (RuntimeError, ValueError) as error:  # whole, but not to XLA's liking
            kept.discard(key, str(error))
    loaded = on.client.compile_and_load(text.encode(), devices, options)
    with suppress(RuntimeError):  # one that XLA cannot serialise, every process compiles
        kept.store(key, loaded.serialize())
    return loaded
