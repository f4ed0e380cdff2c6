"""Ends of intervals, rounded outwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

#: The lower and the upper end; float64, numbers or arrays.
Ends = tuple[Any, Any]

#: The operations that IEEE 754 rounds correctly are off by half a unit in the last place.
EXACT: Final = 1
#: What NumPy's elementary functions are off by is at most four units.
LIBRARY: Final = 5


def outward(ends: Ends, steps: int) -> Ends:
    """Move the ends outwards by so many units in the last place."""
    lower, upper = ends
    for _ in range(steps):
        lower, upper = np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)
    return lower, upper


def increasing(function: Callable[..., Any], ends: Ends) -> Ends:
    """The ends of the values of an increasing function."""
    return outward((function(ends[0]), function(ends[1])), LIBRARY)


def decreasing(function: Callable[..., Any], ends: Ends) -> Ends:
    """The ends of the values of a decreasing function."""
    return outward((function(ends[1]), function(ends[0])), LIBRARY)


def summed(ends: Ends, axis: Any, keepdims: bool) -> Ends:
    """The ends of a sum, in whatever order it is taken.

    The error of summing n numbers is at most about n units of rounding of the sum of their
    magnitudes (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2); twice that covers
    the rounding of the bound itself.
    """
    found = []
    for end, sign in zip(ends, (-1, 1), strict=True):
        value = np.sum(end, axis=axis, keepdims=keepdims)
        count = np.size(end) / max(np.size(value), 1)
        sizes = np.sum(np.abs(end), axis=axis, keepdims=keepdims)
        found.append(value + sign * 2 * count * np.finfo(np.float64).eps * sizes)
    return outward((found[0], found[1]), EXACT)
