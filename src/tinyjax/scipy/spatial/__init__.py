"""Space, by SciPy's names."""

from __future__ import annotations

from tinyjax.scipy.spatial import transform

__all__ = ["transform"]
