"""Integrals of samples, by SciPy's name."""

from __future__ import annotations

from tinyjax.numpy import trapezoid

__all__ = ["trapezoid"]
