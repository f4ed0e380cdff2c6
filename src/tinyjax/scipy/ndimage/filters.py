"""Filters of the neighbourhoods of elements.

``mode`` says what is outside: ``"reflect"`` and ``"mirror"`` for the array reversed, with and
without the elements at the border repeated, ``"nearest"``, ``"wrap"``, or ``"constant"`` for
``cval``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final, TypedDict, Unpack

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.numpy import promotion as pm

lazy.answer_for(
    __name__,
    "convolve convolve1d correlate correlate1d gaussian_filter gaussian_filter1d laplace "
    "median_filter sobel uniform_filter",
)


class Outside(TypedDict, total=False):
    """What is outside: see above."""

    mode: str
    cval: ArrayLike


#: NumPy's names of the modes.
_MODES: Final[dict[str, Any]] = {
    "reflect": "symmetric",
    "constant": "constant",
    "nearest": "edge",
    "mirror": "reflect",
    "wrap": "wrap",
}


def _shifted(
    name: str, x: Array, sizes: Sequence[int], outside: Outside, late: bool = False
) -> Iterator[Array]:
    """Return for each element of a neighbourhood the array of these elements."""
    mode = outside.get("mode", "reflect")
    pm.check_option(name, "mode", mode, _MODES)
    if len(sizes) != x.ndim:
        raise ShapeError.got(f"{name} takes a neighbourhood of {len(sizes)} axes, so has to", x)
    before = [(n - late) // 2 for n in sizes]
    widths = [(b, n - 1 - b) for b, n in zip(before, sizes, strict=True)]
    value: dict[str, Any] = {"constant_values": outside.get("cval", 0.0)}
    padded = jnp.pad(x, widths, _MODES[mode], **(value if mode == "constant" else {}))
    for start in product(*map(range, sizes)):
        yield lax.slice(padded, start, [i + n for i, n in zip(start, x.shape, strict=True)])


def correlate(input: ArrayLike, weights: ArrayLike, **outside: Unpack[Outside]) -> Array:
    """Return sums of neighbours with weights, which has as many axes as the array.

    Raises:
        ShapeError: the weights have more or fewer axes.
        ArgumentError: there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.correlate(jnp.array([1.0, 2.0, 4.0]), jnp.array([0.0, 0.0, 1.0]))
        Array([2., 4., 4.], dtype=float32)
    """
    x, w = pm.floats("correlate", input, weights)
    parts = _shifted("correlate", x, w.shape, outside)
    return jnp.asarray(sum(f * part for f, part in zip(w.ravel(), parts, strict=True)))


def convolve(input: ArrayLike, weights: ArrayLike, **outside: Unpack[Outside]) -> Array:
    """Return sums of neighbours with weights reversed; errors are those of ``correlate``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.convolve(jnp.array([1.0, 2.0, 4.0]), jnp.array([0.0, 0.0, 1.0]))
        Array([1., 1., 2.], dtype=float32)
    """
    x, w = pm.floats("convolve", input, weights)
    parts = _shifted("convolve", x, w.shape, outside, late=True)
    return jnp.asarray(sum(f * part for f, part in zip(jnp.flip(w).ravel(), parts, strict=True)))


def _lifted(name: str, input: ArrayLike, weights: ArrayLike, axis: int) -> tuple[Array, Array]:
    (x,), (w,) = pm.floats(name, input), pm.floats(name, weights)
    if w.ndim != 1:
        raise ShapeError.got(f"{name} takes a vector of weights", w)
    place = ints.canonical_axis(axis, x.ndim)
    return x, w.astype(x.dtype).reshape([-1 if i == place else 1 for i in range(x.ndim)])


def correlate1d(
    input: ArrayLike, weights: ArrayLike, axis: int = -1, **outside: Unpack[Outside]
) -> Array:
    """Return ``correlate`` with a vector of weights along one axis.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.correlate1d(jnp.array([[1.0], [2.0]]), jnp.array([-1.0, 1.0, 0.0]), axis=0)
        Array([[0.],
               [1.]], dtype=float32)
    """
    return correlate(*_lifted("correlate1d", input, weights, axis), **outside)


def convolve1d(
    input: ArrayLike, weights: ArrayLike, axis: int = -1, **outside: Unpack[Outside]
) -> Array:
    """Return ``convolve`` with a vector of weights along one axis.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.convolve1d(jnp.array([1.0, 2.0]), jnp.array([1.0, 0.0, 0.0]))
        Array([2., 2.], dtype=float32)
    """
    return convolve(*_lifted("convolve1d", input, weights, axis), **outside)


def gaussian_filter1d(
    input: ArrayLike,
    sigma: ArrayLike,
    axis: int = -1,
    order: int = 0,
    *,
    truncate: float = 4.0,
    radius: int | None = None,
    **outside: Unpack[Outside],
) -> Array:
    """Convolve along one axis with a normal density, or its derivative of this order.

    Args:
        input: any array.
        sigma: the standard deviation, in elements; a traced one needs ``radius``.
        axis: along which.
        order: that of the derivative.
        truncate: the density's radius, in standard deviations.
        radius: the same, in elements.
        **outside: what is outside: ``mode`` and ``cval``.

    Raises:
        ArgumentError: there is no such mode, or the order is negative.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.gaussian_filter1d(jnp.array([0.0, 0.0, 1.0, 0.0, 0.0]), 0.5).round(3)
        Array([0.   , 0.106, 0.787, 0.106, 0.   ], dtype=float32)
    """
    if order < 0:
        raise ArgumentError(f"order of gaussian_filter1d must not be negative, but it is {order}.")
    x, width = pm.floats("gaussian_filter1d", input, sigma)
    reach = int(truncate * float(width) + 0.5) if radius is None else radius
    at = jnp.arange(-reach, reach + 1, dtype=width.dtype)
    weights = jnp.exp(-((at / width) ** 2) / 2)
    weights = weights / weights.sum()
    before, hermite = jnp.zeros_like(weights), jnp.ones_like(weights)
    for n in range(order):  # Hermite's polynomials
        before, hermite = hermite, -(at * hermite + n * before) / width**2
    return convolve1d(x, weights * hermite, axis, **outside)


def gaussian_filter(input: ArrayLike, sigma: Any, order: int = 0, **options: Any) -> Array:
    """Apply ``gaussian_filter1d`` along all axes; ``sigma`` may be a vector, one for each.

    Options and errors are those of ``gaussian_filter1d``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.gaussian_filter(jnp.eye(2), 1.0).round(2)
        Array([[0.54, 0.46],
               [0.46, 0.54]], dtype=float32)
    """
    x = jnp.asarray(input)
    widths: Sequence[Any] = [sigma] * x.ndim if not np.ndim(sigma) else [*sigma]
    for axis, width in enumerate(widths):
        x = gaussian_filter1d(x, width, axis, order, **options)
    return x


def uniform_filter(input: ArrayLike, size: int = 3, **outside: Unpack[Outside]) -> Array:
    """Return the means of neighbourhoods of ``size`` elements along each axis.

    Errors are those of ``correlate``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.uniform_filter(jnp.array([0.0, 3.0, 0.0, 0.0]))
        Array([1., 1., 1., 0.], dtype=float32)
    """
    x = jnp.asarray(input)
    for axis in range(x.ndim):
        x = correlate1d(x, np.full(size, 1 / size), axis, **outside)
    return x


def median_filter(
    input: ArrayLike, size: int | Sequence[int] = 3, **outside: Unpack[Outside]
) -> Array:
    """Return the medians of neighbourhoods, of one size along all axes or one along each.

    Errors are those of ``correlate``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.median_filter(jnp.array([0.0, 3.0, 0.0, 0.0]))
        Array([0., 0., 0., 0.], dtype=float32)
    """
    x = jnp.asarray(input)
    sizes = [size] * x.ndim if isinstance(size, int) else size
    parts = list(_shifted("median_filter", x, sizes, outside))
    return jnp.sort(jnp.stack(parts), 0)[len(parts) // 2]


def sobel(input: ArrayLike, axis: int = -1, **outside: Unpack[Outside]) -> Array:
    """Return differences along one axis, smoothed along the others.

    Errors are those of ``correlate``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.sobel(jnp.array([0.0, 1.0, 3.0]))
        Array([1., 3., 2.], dtype=float32)
    """
    x = jnp.asarray(input)
    for i in range(x.ndim):
        weights = [-1.0, 0.0, 1.0] if i == axis % x.ndim else [1.0, 2.0, 1.0]
        x = correlate1d(x, np.array(weights), i, **outside)
    return x


def laplace(input: ArrayLike, **outside: Unpack[Outside]) -> Array:
    """Return the sums of second differences along all axes; errors are those of ``correlate``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.laplace(jnp.array([0.0, 1.0, 4.0, 9.0]))
        Array([ 1.,  2.,  2., -5.], dtype=float32)
    """
    x, bend = jnp.asarray(input), jnp.array([1.0, -2.0, 1.0])
    parts = [correlate1d(x, bend, axis, **outside) for axis in range(x.ndim)]
    return jnp.asarray(sum(parts))
