"""Values between the elements of an array, by SciPy's name."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Final, Literal

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.integers import is_one_of, listed
from tinyjax.core.replay import replayed
from tinyjax.dtypes import DType
from tinyjax.errors import ArgumentError, ShapeError, shortened
from tinyjax.numpy.promotion import array_of

__all__ = ["map_coordinates"]

Mode = Literal["constant", "nearest", "wrap", "mirror", "reflect"]


def _mirror(index: Array, size: int) -> Array:
    if size == 1:
        return jnp.zeros_like(index)
    half = size - 1
    return jnp.abs((index + half) % (2 * half) - half)


def _reflect(index: Array, size: int) -> Array:
    return (_mirror(2 * index + 1, 2 * size + 1) - 1) // 2


_INSIDE: Final[dict[str, Callable[[Array, int], Array]]] = {
    "constant": lambda index, size: jnp.clip(index, 0, size - 1),
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirror,
    "reflect": _reflect,
}


def _rounded(x: Array) -> Array:
    """To the nearest integer; halves away from zero."""
    if not dtypes.is_float(x.dtype):
        return x
    whole = jnp.trunc(x)
    return jnp.where(jnp.abs(x - whole) >= 0.5, whole + jnp.sign(x), whole)


def _neighbours(at: Array, order: int, dtype: DType) -> list[tuple[Array, Array]]:
    """The indices of the elements around, and their weights."""
    if order == 0:
        return [(_rounded(at).astype(dtype), jnp.ones_like(at))]
    lower = jnp.floor(at)
    share = at - lower
    index = lower.astype(dtype)
    return [(index, 1 - share), (index + 1, share)]


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """How far the elements next to each other along each axis lie apart, in elements."""
    return tuple([math.prod(shape[i + 1 :]) for i in range(len(shape))])


@replayed
def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike],
    order: int,
    mode: Mode = "constant",
    cval: ArrayLike = 0.0,
) -> Array:
    """Interpolate an array at any places.

    Args:
        input: any number of axes.
        coordinates: for each axis an array of places, in units of elements; all of the same shape.
        order: 0 for the nearest element, 1 for linear interpolation.
        mode: what is outside: ``"constant"`` for ``cval``, ``"nearest"`` for the nearest element,
            ``"wrap"`` for the array again, ``"mirror"`` and ``"reflect"`` for the array reversed,
            without and with the elements at the border repeated.
        cval: what is outside, for ``"constant"``.

    Returns:
        An array of the shape of the coordinates, of the dtype of ``input``; integers are rounded.

    Raises:
        ShapeError: there are not as many coordinates as axes.
        ArgumentError: the order is neither 0 nor 1, or there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy.ndimage import map_coordinates
        >>> x = jnp.array([[0.0, 1.0], [2.0, 3.0]])
        >>> map_coordinates(x, [jnp.array([0.5]), jnp.array([0.5])], order=1)
        Array([1.5], dtype=float32)
    """
    a = array_of("map_coordinates", input)
    places = [array_of("map_coordinates", c) for c in listed(coordinates, "coordinates")]
    if len(places) != a.ndim:
        raise ShapeError(
            f"map_coordinates needs coordinates for each axis of shape {a.shape}, but got "
            f"{len(places)}."
        )
    if mode not in _INSIDE:
        raise ArgumentError(
            f"map_coordinates takes {', '.join(map(repr, _INSIDE))} for mode, but got {mode!r}."
        )
    if not is_one_of(order, (0, 1)):
        raise ArgumentError(f"map_coordinates takes 0 or 1 for order, but got {shortened(order)}.")
    outside = jnp.asarray(cval, a.dtype)
    flat = jnp.ravel(a)
    dtype = dtypes.int32 if a.size <= np.iinfo(np.int32).max else dtypes.int64
    nodes: list[list[tuple[Array, Array, Array]]] = []
    for place, size, stride in zip(places, a.shape, _strides(a.shape), strict=True):
        nodes.append([])
        for index, weight in _neighbours(place, order, dtype):
            inside = _INSIDE[mode](index, size)
            nodes[-1].append((inside * stride, inside == index, weight))
    total: Array | None = None
    for corner in product(*nodes):
        # without axes there is one element
        indices, valid, weights = zip(*corner, strict=True) if corner else ((0,), (True,), ())
        value = jnp.take(flat, reduce(operator.add, indices), mode="clip")  # all are within bounds
        if mode == "constant":
            value = jnp.where(reduce(operator.and_, valid), value, outside)
        value = reduce(operator.mul, weights, value)
        total = value if total is None else total + value
    assert total is not None, "there is a corner even without axes"
    rounded = _rounded(total) if dtypes.kind(a.dtype) in "iu" else total
    return rounded.astype(a.dtype)
