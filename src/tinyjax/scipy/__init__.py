"""SciPy's functions on tinyjax arrays: ``special`` and ``stats``."""

from __future__ import annotations

from tinyjax.scipy import special, stats

__all__ = ["special", "stats"]
