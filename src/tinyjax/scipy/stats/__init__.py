"""Probability distributions."""

from __future__ import annotations

from tinyjax.scipy.stats import norm

__all__ = ["norm"]
