"""Dropping compiled programs, of which tests and searches make more than a process can keep.

Linux gives a process 65,530 mappings of memory; a program takes about ten, and half a megabyte. The
reference programs that jax compiles are never dropped by themselves, and LLVM aborts the process
when it gets no more.
"""

import gc
import sys
from itertools import count
from typing import Final

_tried = count(1)
_KEPT_FOR: Final = 50


def forget() -> None:
    """Drop the programs that both libraries have compiled, as far as these are loaded."""
    for name, clear in (("jax", "clear_caches"), ("tinyjax", "clear_caches")):
        if name in sys.modules:
            getattr(sys.modules[name], clear)()
    gc.collect()


def forget_sometimes() -> None:
    """Drop them once in fifty calls."""
    if not next(_tried) % _KEPT_FOR:
        forget()
