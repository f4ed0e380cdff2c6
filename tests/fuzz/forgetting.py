"""Dropping compiled programs during a search, which makes more of them than a process can keep."""

import gc
import sys
from itertools import count
from typing import Final

from tinyjax import xla

_tried = count(1)
#: Linux gives a process 65,530 mappings of memory, of which a program takes ten and more.
_KEPT_FOR: Final = 50


def forget_sometimes() -> None:
    """Drop the programs that both libraries have compiled, once in fifty calls."""
    if next(_tried) % _KEPT_FOR:
        return
    xla.cache_clear()
    if jax := sys.modules.get("jax"):
        jax.clear_caches()
    gc.collect()
