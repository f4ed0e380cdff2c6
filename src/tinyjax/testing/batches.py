"""What ``vmap`` means: a loop. And which operands to map over, along which axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from tinyjax.dtypes import HostArray
from tinyjax.testing.comparing import hosts

__all__ = ["axes_to_map", "loop", "stacked"]

Axes: TypeAlias = tuple[int | None, ...]


def stacked(rng: np.random.Generator, x: HostArray, axis: int | None, size: int) -> HostArray:
    """Several operands in one: the operand with its elements in another order, ``size`` times."""
    if axis is None:
        return x
    copies = [rng.permutation(x.reshape(-1)).reshape(x.shape) for _ in range(size)]
    return np.stack(copies, axis)


def loop(
    fun: Callable[..., Any], axes: Sequence[int | None], size: int, operands: Sequence[HostArray]
) -> list[HostArray]:
    """Apply a function to every slice, and stack the results.

    Args:
        fun: takes arrays, and returns a tree of them.
        axes: of each operand that from which slices are taken; None gives it whole.
        size: of the mapped axis.
        operands: what to take slices of.

    Returns:
        The arrays of the result, each with the mapped axis in front.
    """
    outs = [
        hosts(
            fun(
                *(
                    x if axis is None else np.take(x, i, axis)
                    for x, axis in zip(operands, axes, strict=True)
                )
            )
        )
        for i in range(size)
    ]
    return [np.stack([out[k] for out in outs]) for k in range(len(outs[0]))]


def axes_to_map(ndims: Sequence[int], most: int, rng: np.random.Generator) -> list[Axes]:
    """The ways to map over operands: which of them, and along which axes.

    Args:
        ndims: how many axes each operand has before it is mapped.
        most: of more ways than these, some are drawn: all operands along the first axis, all along
            the last, and each alone, are among them.
        rng: where they are drawn from.
    """
    every: list[Axes] = [
        axes
        for axes in product(*[(None, *range(n + 1)) for n in ndims])
        if any(axis is not None for axis in axes)
    ]
    if len(every) <= most:
        return every
    first: list[Axes] = [(0,) * len(ndims), tuple(ndims)]
    first += [
        tuple([n if i == k else None for i in range(len(ndims))]) for k, n in enumerate(ndims)
    ]
    places = rng.permutation(len(every))[: max(0, most - len(first))]
    return [*dict.fromkeys([*first, *[every[i] for i in places]])]
