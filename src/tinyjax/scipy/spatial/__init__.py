"""Space, by SciPy's names."""

from __future__ import annotations

from tinyjax.scipy.spatial import distance, transform

__all__ = ["distance", "transform"]
