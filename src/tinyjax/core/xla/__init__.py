"""XLA: a device, programs compiled for it, and their caches.

Loading jaxlib's shared library takes half of the time that ``import tinyjax`` would take, and eager
programs on CPU never need it. So the parts of this package are loaded on first use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from tinyjax._base import lazy

# XLA would greet every process on standard error; it reads this when it is loaded.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")


def checked_namespace(
    module: str, table: Mapping[str, str], free: str = ""
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Make a namespace as ``lazy.namespace`` does, of parts that import jaxlib.

    Before any part is loaded, the version of the installed jaxlib is checked.

    Args:
        module: the module's name.
        table: the homes of names.
        free: the homes that load without jaxlib, with blanks between them.
    """
    names, load, listed = lazy.namespace(module, table)
    homes = {f"{module}.{part}" for part in free.split()}
    needing_none = {
        *free.split(),
        *[n for n, (home, _) in lazy.HOMES[module].items() if home in homes],
    }

    def load_checked(name: str) -> Any:
        if name not in needing_none:
            import_module("tinyjax.core.xla.versions")
        return load(name)

    return names, load_checked, listed


# Free are the parts that decide whether a program is compiled, that write it, and its files.
_names, __getattr__, __dir__ = checked_namespace(
    __name__,
    {
        "backend": "backend_of has_started load",
        "compilation": (
            "Compilation CompilerOptions Flags evaluation forget_programs functions_in history "
            "is_absent place run run_alone run_compiled"
        ),
        "disk_cache": (
            "DiskCacheInfo disk_cache_clear disk_cache_info disk_cache_place own_secret"
        ),
        "executable": (
            "CacheInfo DeviceExecutable Executable cache_clear cache_info "
            "compile_all compile_anew compiled executables_of is_compiled"
        ),
        "lowering": "lowered",
        "modules": "parse to_computation",
        "options": "as_flags",
        "versions": "COMPILER",
    },
    "compilation disk_cache lowering products threads updates",
)
