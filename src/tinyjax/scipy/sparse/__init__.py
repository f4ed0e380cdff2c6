"""Linear systems of functions, by SciPy's names."""

from __future__ import annotations

from tinyjax.scipy.sparse import linalg

__all__ = ["linalg"]
