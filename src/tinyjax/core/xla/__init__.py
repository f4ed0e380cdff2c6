"""XLA: a device, programs compiled for it, and their caches.

Loading jaxlib's shared library takes half of the time that ``import tinyjax`` would take, and
eager programs on CPU never need it. So the parts of this room are loaded when first asked for.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Final

from tinyjax.lazy import HOMES, namespace

# XLA would greet every process on standard error; it reads this when it is loaded.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

#: The parts that decide whether a program is compiled. They work without loading jaxlib.
_WITHOUT_JAXLIB: Final = {"compilation", "threads"}


_names, _load, __dir__ = namespace(
    __name__,
    {
        "backend": "has_started load",
        "compilation": "Compilation CompilerOptions Flags Runner place run run_alone",
        "disk_cache": "DiskCacheInfo disk_cache_clear disk_cache_info own_secret",
        "executable": (
            "CacheInfo CallingExecutable DeviceExecutable Executable cache_clear cache_info "
            "compile_all compile_anew compiled held is_compiled"
        ),
        "lowering": "lowered",
        "modules": "parse to_computation",
        "options": "as_flags",
        "versions": "COMPILER",
    },
)
_needing_none = _WITHOUT_JAXLIB | {
    name
    for name, (home, _) in HOMES[__name__].items()
    if home.rpartition(".")[2] in _WITHOUT_JAXLIB
}


def __getattr__(name: str) -> Any:
    """Load a part; one that needs jaxlib, after the check that it knows the one installed."""
    if name not in _needing_none:
        import_module("tinyjax.core.xla.versions")
    return _load(name)
