"""Hypergeometric functions."""

from __future__ import annotations

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.primitive import NO_PARAMS
from tinyjax.core.trace import bind1
from tinyjax.numpy.promotion import arrays, broadcast, promote_inexact
from tinyjax.special import hypergeometric as sh


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
    operands = broadcast(promote_inexact(*arrays("hyp1f1", a, b, x)), "hyp1f1")
    return bind1(sh.hyp1f1, operands, NO_PARAMS)


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
    operands = broadcast(promote_inexact(*arrays("hyp2f1", a, b, c, x)), "hyp2f1")
    return bind1(sh.hyp2f1, operands, NO_PARAMS)
