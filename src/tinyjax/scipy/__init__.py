"""SciPy's functions on tinyjax arrays: ``linalg``, ``special`` and ``stats``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tinyjax.scipy import special, stats

if TYPE_CHECKING:
    from tinyjax.scipy import linalg as linalg

__all__ = ["linalg", "special", "stats"]


def __getattr__(name: str) -> Any:
    if name != "linalg":
        raise AttributeError(f"module 'tinyjax.scipy' has no attribute '{name}'")
    return import_module("tinyjax.scipy.linalg")
