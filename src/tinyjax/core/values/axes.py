"""Axes as functions take them: counted from the front, or, negative, from the end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from tinyjax.core.values.integers import integer, one_or_more
from tinyjax.errors import ArgumentError, AxisError, shortened

Axis: TypeAlias = int | Sequence[int] | None


def canonical_axis(axis: int, ndim: int, what: str = "axis") -> int:
    """Return ``axis`` counted from the front.

    Raises:
        ArgumentError: it is not an int; a bool is none.
        AxisError: it is out of range.
    """
    if type(axis) is not int:
        if isinstance(axis, bool):
            raise ArgumentError(f"{what} must be an int, but got {axis} (bool).")
        axis = integer(axis, what)
    if not -ndim <= axis < ndim:
        raise AxisError(
            f"{what} {shortened(axis)} is out of bounds for array of dimension "
            f"{ndim}: it must be in [{-ndim}, {ndim}).",
            axis,
            ndim,
        )
    return axis + ndim if axis < 0 else axis


def canonical_axes(axis: Axis, ndim: int, what: str = "axis") -> tuple[int, ...]:
    """Return sorted axes counted from the front; None means all of them.

    Raises:
        ArgumentError: one is not an int; a bool is none.
        AxisError: one is out of range or repeated.
    """
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int:
        return (canonical_axis(axis, ndim, what),)
    axes = tuple(sorted([canonical_axis(a, ndim, what) for a in one_or_more(axis, what)]))
    for a, b in pairwise(axes):
        if a == b:
            raise AxisError(f"{what} {a} is repeated in {shortened(axis)}.", a, ndim)
    return axes
