"""Arrays as text. NumPy's print options apply to these arrays too."""

from __future__ import annotations

import numpy as np
from numpy import get_printoptions, iterable, printoptions, set_printoptions
from numpy.exceptions import ComplexWarning

from tinyjax.core.tracing import checking
from tinyjax.core.values import integers as ints, operands as opd
from tinyjax.core.values.array import ArrayLike
from tinyjax.errors import ArgumentError, shortened

__all__ = ["ComplexWarning", "get_printoptions", "iterable", "printoptions", "set_printoptions"]


@checking.explained
def array_repr(
    arr: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return an array as text, with its dtype.

    Args:
        arr: the array.
        max_line_width: the most characters in a line.
        precision: the most digits after the point.
        suppress_small: whether to print very small numbers as 0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.array_repr(jnp.array([1.23456, 2.0]), precision=2)
        'Array([1.23, 2.  ], dtype=float32)'
    """
    x = opd.as_array(arr)
    text = np.array2string(
        x.concrete("a text"),
        max_line_width=_count(max_line_width, "max_line_width"),
        precision=_count(precision, "precision"),
        suppress_small=suppress_small,
        separator=", ",
        prefix="Array(",
    )
    weak = ", weak_type=True" if x.weak_type else ""
    return f"Array({text}, dtype={x.dtype.name}{weak})"


@checking.explained
def array_str(
    a: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return the elements of an array as text.

    Args:
        a: the array.
        max_line_width: the most characters in a line.
        precision: the most digits after the point.
        suppress_small: whether to print very small numbers as 0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.array_str(jnp.array([1.0, 2.0]))
        '[1. 2.]'
    """
    host = opd.as_array(a).concrete("a text")
    width = _count(max_line_width, "max_line_width")
    return np.array_str(host, width, _count(precision, "precision"), suppress_small)


def _count(value: int | None, name: str) -> int | None:
    if value is None:
        return None
    count = ints.integer(value, name)
    if count < 0:
        raise ArgumentError(f"{name} must not be negative, but got {shortened(count)}.")
    return count
