"""Hypergeometric functions."""

from __future__ import annotations

from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.numpy import promotion as pm
from tinyjax.special import hypergeometric as shy


def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Return the confluent hypergeometric function, Kummer's M.

    Args:
        a: real; there is no derivative in it.
        b: real, not 0, -1, ...; nor in it.
        x: real. All three broadcast.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.hyp1f1(1.0, 2.0, 1.0)), 6)
        1.718282
    """
    operands = pm.broadcast(pm.promote_inexact(*pm.arrays("hyp1f1", a, b, x)), "hyp1f1")
    return tr.bind1(shy.hyp1f1, operands, prim.NO_PARAMS)


def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Return Gauss's hypergeometric function.

    Compiled, it loses digits within 0.001 of 1 where ``c - a - b`` is near a whole number.

    Args:
        a: real; there is no derivative in it.
        b: real; nor in it.
        c: real, not 0, -1, ...; nor in it.
        x: real, at most 1. All four broadcast.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.hyp2f1(1.0, 1.0, 2.0, 0.5)), 6)
        1.386294
    """
    operands = pm.broadcast(pm.promote_inexact(*pm.arrays("hyp2f1", a, b, c, x)), "hyp2f1")
    return tr.bind1(shy.hyp2f1, operands, prim.NO_PARAMS)
