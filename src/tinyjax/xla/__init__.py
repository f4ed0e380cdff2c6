"""XLA: devices, compiled programs and their caches. The only room that imports jaxlib.

Loading jaxlib's shared library takes half of the time that ``import tinyjax`` would take, and
eager programs on CPU never need it. So the parts of this room are loaded when first asked for.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

# XLA would greet every process on standard error; it reads this when it is loaded.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

if TYPE_CHECKING:
    from tinyjax.xla.backend import to_device as to_device
    from tinyjax.xla.executable import CacheInfo as CacheInfo
    from tinyjax.xla.executable import Executable as Executable
    from tinyjax.xla.executable import cache_clear as cache_clear
    from tinyjax.xla.executable import cache_info as cache_info
    from tinyjax.xla.executable import executable_for as executable_for
    from tinyjax.xla.executable import match_donations as match_donations

_HOMES: Final = {
    "to_device": "backend",
    "CacheInfo": "executable",
    "Executable": "executable",
    "cache_clear": "executable",
    "cache_info": "executable",
    "executable_for": "executable",
    "match_donations": "executable",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tinyjax.xla' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(f"tinyjax.xla.{home}"), name)
    return found
