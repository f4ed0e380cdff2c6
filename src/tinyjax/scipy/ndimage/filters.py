"""Filters of the neighbourhoods of elements, with SciPy's parameters.

``mode`` says what is outside: ``"reflect"`` and ``"mirror"`` for the array reversed, with and
without the elements at the border repeated, ``"nearest"``, ``"wrap"``, or ``"constant"`` for
``cval``. ``origin`` moves neighbourhoods by elements, and ``axes`` names the axes that a filter
works along, by default all. Where a filter works along one axis after another, ``mode`` and the
like may be a sequence, one for each axis. ``output`` has to be None: arrays do not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress, product
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.ndimage.coordinates import check_options

lazy.answer_for(
    __name__,
    "convolve convolve1d correlate correlate1d gaussian_filter gaussian_filter1d laplace "
    "median_filter sobel uniform_filter",
)

T = TypeVar("T")
#: One for all axes, or one for each.
Each: TypeAlias = T | Sequence[T]
Axes: TypeAlias = int | Sequence[int] | None

#: NumPy's names of the modes.
_MODES: Final[dict[str, Any]] = {
    "reflect": "symmetric",
    "constant": "constant",
    "nearest": "edge",
    "mirror": "reflect",
    "wrap": "wrap",
    "grid-mirror": "symmetric",
    "grid-constant": "constant",
    "grid-wrap": "wrap",
}


def _along(name: str, x: Array, axes: Axes, **options: Any) -> list[tuple[Any, ...]]:
    """Return each axis that a filter works along, with its options."""
    along = ints.canonical_axes(axes, x.ndim)
    if isinstance(axes, Sequence):  # options are in their order
        along = tuple([axis % x.ndim for axis in axes])
    columns: list[Any] = [along]
    for option, value in options.items():
        one_for_all = isinstance(value, str) or value is None or np.ndim(value) == 0
        columns.append([value] * len(along) if one_for_all else [*value])
        if len(columns[-1]) != len(along):
            raise ArgumentError(
                f"{option} of {name} is one for all axes or one for each, of which there are "
                f"{len(along)}, but got {len(columns[-1])}."
            )
        if option == "size" and min(columns[-1], default=1) < 1:
            raise ArgumentError(f"size of {name} must be positive, but it is {value}.")
    return [*zip(*columns, strict=True)]


def _neighbours(
    name: str,
    x: Array,
    sizes: Sequence[int],
    axes: Axes,
    mode: str,
    cval: ArrayLike,
    origin: Each[int],
    late: bool = False,
) -> Iterator[Array]:
    """Return for each element of a neighbourhood the array of these elements."""
    along = _along(name, x, axes, origin=origin)
    if len(along) == x.ndim:  # SciPy takes origins in the array's order then
        along = _along(name, x, None, origin=origin)
    if len(sizes) != len(along):
        raise ShapeError.got(f"{name} takes a neighbourhood of {len(sizes)} axes, so has to", x)
    lengths, before = [1] * x.ndim, [0] * x.ndim
    for (axis, start), size in zip(sorted(along), sizes, strict=True):
        lengths[axis], before[axis] = size, (size - late) // 2 + (-start if late else start)
        if not 0 <= before[axis] < max(size, 1):
            raise ArgumentError(
                f"origin of {name} has to leave the element in its neighbourhood of {size}, but "
                f"is {start}."
            )
    widths = [(b, n - 1 - b) for b, n in zip(before, lengths, strict=True)]
    value: dict[str, Any] = {"constant_values": cval} if "constant" in mode else {}
    padded = jnp.pad(x, widths, _MODES[mode], **value)
    for first in product(*map(range, lengths)):
        yield lax.slice(padded, first, [i + n for i, n in zip(first, x.shape, strict=True)])


def _weighted(
    name: str,
    x: Array,
    weights: Array,
    mode: str,
    cval: ArrayLike,
    origin: Each[int],
    axes: Axes,
) -> Array:
    """Return sums of neighbours with weights, which a convolution reverses."""
    late = name.startswith("convolve")
    # as numpy.correlate conjugates them
    factors = (jnp.flip(weights) if late else weights.conj()).ravel()
    parts = _neighbours(name, x, weights.shape, axes, mode, cval, origin, late)
    return jnp.asarray(sum(f * part for f, part in zip(factors, parts, strict=True)))


def correlate(
    input: ArrayLike,
    weights: ArrayLike,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: Each[int] = 0,
    *,
    axes: Axes = None,
) -> Array:
    """Return sums of neighbours with weights, which have an axis for each of ``axes``.

    Raises:
        ShapeError: the weights have more or fewer axes.
        ArgumentError: there is no such mode, ``origin`` is out of the neighbourhood, or ``output``
            is given.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.correlate(jnp.array([1.0, 2.0, 4.0]), jnp.array([0.0, 0.0, 1.0]))
        Array([2., 4., 4.], dtype=float32)
    """
    check_options("correlate", output, mode, _MODES)
    x, w = pm.floats("correlate", input, weights)
    return _weighted("correlate", x, w, mode, cval, origin, axes)


def convolve(
    input: ArrayLike,
    weights: ArrayLike,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: Each[int] = 0,
    *,
    axes: Axes = None,
) -> Array:
    """Return sums of neighbours with weights reversed; errors are those of ``correlate``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.convolve(jnp.array([1.0, 2.0, 4.0]), jnp.array([0.0, 0.0, 1.0]))
        Array([1., 1., 2.], dtype=float32)
    """
    check_options("convolve", output, mode, _MODES)
    x, w = pm.floats("convolve", input, weights)
    return _weighted("convolve", x, w, mode, cval, origin, axes)


def _vector(name: str, input: ArrayLike, weights: ArrayLike) -> tuple[Array, Array]:
    (x,), (w,) = pm.floats(name, input), pm.floats(name, weights)
    if w.ndim != 1:
        raise ShapeError.got(f"{name} takes a vector of weights", w)
    return x, w.astype(x.dtype)


def correlate1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Array:
    """Return ``correlate`` with a vector of weights along one axis.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.correlate1d(jnp.array([[1.0], [2.0]]), jnp.array([-1.0, 1.0, 0.0]), axis=0)
        Array([[0.],
               [1.]], dtype=float32)
    """
    check_options("correlate1d", output, mode, _MODES)
    return _weighted(
        "correlate1d", *_vector("correlate1d", input, weights), mode, cval, origin, axis
    )


def convolve1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Array:
    """Return ``convolve`` with a vector of weights along one axis.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.convolve1d(jnp.array([1.0, 2.0]), jnp.array([1.0, 0.0, 0.0]))
        Array([2., 2.], dtype=float32)
    """
    check_options("convolve1d", output, mode, _MODES)
    return _weighted("convolve1d", *_vector("convolve1d", input, weights), mode, cval, origin, axis)


def gaussian_filter1d(  # noqa: PLR0913 (the signature of SciPy)
    input: ArrayLike,
    sigma: ArrayLike,
    axis: int = -1,
    order: int = 0,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Array:
    """Convolve along one axis with a normal density, or its derivative of this order.

    Args:
        input: any array.
        sigma: the standard deviation, in elements; a traced one needs ``radius``.
        axis: along which.
        order: that of the derivative.
        output: None.
        mode: what is outside, as in ``correlate``.
        cval: what is outside, for ``"constant"``.
        truncate: the density's radius, in standard deviations.
        radius: the same, in elements.

    Raises:
        ArgumentError: there is no such mode, the order is negative, or ``output`` is given.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.gaussian_filter1d(jnp.array([0.0, 0.0, 1.0, 0.0, 0.0]), 0.5).round(3)
        Array([0.   , 0.106, 0.787, 0.106, 0.   ], dtype=float32)
    """
    if order < 0:
        raise ArgumentError(f"order of gaussian_filter1d must not be negative, but it is {order}.")
    check_options("gaussian_filter1d", output, mode, _MODES)
    x, width = pm.floats("gaussian_filter1d", input, sigma)
    reach = int(truncate * float(width) + 0.5) if radius is None else radius
    at = jnp.arange(-reach, reach + 1, dtype=width.dtype)
    weights = jnp.exp(-((at / width) ** 2) / 2)
    weights = weights / weights.sum()
    before, hermite = jnp.zeros_like(weights), jnp.ones_like(weights)
    for n in range(order):  # Hermite's polynomials
        before, hermite = hermite, -(at * hermite + n * before) / width**2
    return convolve1d(x, weights * hermite, axis, output, mode, cval)


def gaussian_filter(  # noqa: PLR0913 (the signature of SciPy)
    input: ArrayLike,
    sigma: Any,
    order: Each[int] = 0,
    output: None = None,
    mode: Each[str] = "reflect",
    cval: ArrayLike = 0.0,
    truncate: float = 4.0,
    *,
    radius: Each[int] | None = None,
    axes: Axes = None,
) -> Array:
    """Apply ``gaussian_filter1d`` along axes; ``sigma`` may be a vector, one for each.

    An axis whose ``sigma`` is 0 stays as it is. ``order``, ``mode`` and ``radius`` may be
    sequences, too. Errors are those of ``gaussian_filter1d``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.gaussian_filter(jnp.eye(2), 1.0).round(2)
        Array([[0.54, 0.46],
               [0.46, 0.54]], dtype=float32)
    """
    (x,) = pm.floats("gaussian_filter", input)
    check_options("gaussian_filter", output, mode, _MODES)
    options = {"sigma": sigma, "order": order, "mode": mode, "radius": radius}
    for axis, width, degree, extension, reach in _along("gaussian_filter", x, axes, **options):
        if reach is not None or float(width) > _NO_WIDTH:
            x = gaussian_filter1d(
                x, width, axis, degree, None, extension, cval, truncate, radius=reach
            )
    return x


#: SciPy filters along no axis whose standard deviation is less.
_NO_WIDTH: Final = 1e-15


def uniform_filter(
    input: ArrayLike,
    size: Each[int] = 3,
    output: None = None,
    mode: Each[str] = "reflect",
    cval: ArrayLike = 0.0,
    origin: Each[int] = 0,
    *,
    axes: Axes = None,
) -> Array:
    """Return the means of neighbourhoods, of one size along all axes or one along each.

    Errors are those of ``correlate``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.uniform_filter(jnp.array([0.0, 3.0, 0.0, 0.0]))
        Array([1., 1., 1., 0.], dtype=float32)
    """
    (x,) = pm.floats("uniform_filter", input)
    check_options("uniform_filter", output, mode, _MODES)
    options = {"size": size, "mode": mode, "origin": origin}
    for axis, length, extension, start in _along("uniform_filter", x, axes, **options):
        x = correlate1d(x, np.full(length, 1 / length), axis, None, extension, cval, start)
    return x


def median_filter(
    input: ArrayLike,
    size: Each[int] | None = None,
    footprint: Any = None,
    output: None = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: Each[int] = 0,
    *,
    axes: Axes = None,
) -> Array:
    """Return the medians of neighbourhoods: of sizes, or of the elements of a footprint.

    Args:
        input: any array.
        size: that of the neighbourhood, one for all axes or one for each.
        footprint: in place of it, true for elements of the neighbourhood.
        output: None.
        mode: what is outside, as in ``correlate``.
        cval: what is outside, for ``"constant"``.
        origin: by how many elements neighbourhoods are moved, for all axes or each.
        axes: the axes of the neighbourhood, by default all.

    Raises:
        ArgumentError: neither ``size`` nor ``footprint`` is given, or both, or as in ``correlate``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.median_filter(jnp.array([0.0, 3.0, 0.0, 0.0]), 3)
        Array([0., 0., 0., 0.], dtype=float32)
    """
    x = pm.real("median_filter", pm.array_of("median_filter", input))
    check_options("median_filter", output, mode, _MODES)
    if (size is None) == (footprint is None):
        raise ArgumentError("median_filter takes one of size and footprint.")
    if footprint is None:
        footprint = np.ones([n for _, n in _along("median_filter", x, axes, size=size)], bool)
    chosen = np.asarray(footprint, bool)
    parts = _neighbours("median_filter", x, chosen.shape, axes, mode, cval, origin)
    members = [*compress(parts, chosen.ravel())]
    if not members:
        raise ArgumentError("footprint of median_filter has no element.")
    return jnp.sort(jnp.stack(members), 0)[len(members) // 2]


def sobel(
    input: ArrayLike,
    axis: int = -1,
    output: None = None,
    mode: Each[str] = "reflect",
    cval: ArrayLike = 0.0,
) -> Array:
    """Return differences along one axis, smoothed along the others.

    Errors are those of ``correlate``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.sobel(jnp.array([0.0, 1.0, 3.0]))
        Array([1., 3., 2.], dtype=float32)
    """
    (x,) = pm.floats("sobel", input)
    check_options("sobel", output, mode, _MODES)
    sloped = ints.canonical_axis(axis, x.ndim)
    along = _along("sobel", x, None, mode=mode)
    for i, extension in sorted(along, key=lambda pair: pair[0] != sloped):  # first the differences
        weights = [-1.0, 0.0, 1.0] if i == sloped else [1.0, 2.0, 1.0]
        x = correlate1d(x, np.array(weights), i, None, extension, cval)
    return x


def laplace(
    input: ArrayLike,
    output: None = None,
    mode: Each[str] = "reflect",
    cval: ArrayLike = 0.0,
    *,
    axes: Axes = None,
) -> Array:
    """Return the sums of second differences along axes; errors are those of ``correlate``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.laplace(jnp.array([0.0, 1.0, 4.0, 9.0]))
        Array([ 1.,  2.,  2., -5.], dtype=float32)
    """
    (x,) = pm.floats("laplace", input)
    check_options("laplace", output, mode, _MODES)
    bend = np.array([1.0, -2.0, 1.0])
    parts = [
        correlate1d(x, bend, axis, None, extension, cval)
        for axis, extension in _along("laplace", x, axes, mode=mode)
    ]
    return sum(parts[1:], parts[0]) if parts else x
