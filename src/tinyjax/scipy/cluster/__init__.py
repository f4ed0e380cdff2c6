"""Clusters, by SciPy's names."""

from __future__ import annotations

from tinyjax.scipy.cluster import vq

__all__ = ["vq"]
