"""Elementwise functions, with NumPy's broadcasting and JAX's promotion."""

import builtins

import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array, ArrayLike, ConcreteArray, as_array
from tinyjax.dtypes import DTypeLike
from tinyjax.errors import ArgumentError
from tinyjax.numpy.promotion import (
    broadcast,
    broadcast_to_shape,
    broadcast_shapes,
    convert,
    inexact,
    inexact_operands,
    operands,
    promote_dtypes,
)
from tinyjax.primitives import elementwise as ew
from tinyjax.primitives.shape import full_like


def add(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x + y``; for bools the logical or."""
    return ew.add(*operands("add", x, y))


def subtract(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x - y``."""
    return ew.sub(*operands("subtract", x, y))


def multiply(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x * y``; for bools the logical and."""
    return ew.mul(*operands("multiply", x, y))


def true_divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x / y`` as a float."""
    return ew.div(*inexact_operands("divide", x, y))


divide = true_divide


def negative(x: ArrayLike, /) -> Array:
    """Return ``-x``."""
    return ew.neg(as_array(x))


def sin(x: ArrayLike, /) -> Array:
    """Return the sine."""
    return ew.sin(inexact(x))


def cos(x: ArrayLike, /) -> Array:
    """Return the cosine."""
    return ew.cos(inexact(x))


def tanh(x: ArrayLike, /) -> Array:
    """Return the hyperbolic tangent."""
    return ew.tanh(inexact(x))


def exp(x: ArrayLike, /) -> Array:
    """Return the exponential."""
    return ew.exp(inexact(x))


def greater(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Say where ``x > y``."""
    return ew.gt(*operands("greater", x, y))


def power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x**y``."""
    if isinstance(y, int):
        return ew.integer_pow(as_array(x), y)
    return ew.pow_(*inexact_operands("power", x, y))
