"""Probability distributions."""

from tinyjax.scipy.stats import norm

__all__ = ["norm"]
