"""Resampling of images: ``resize`` and ``scale_and_translate``, by the names of ``jax.image``.

Each axis is resampled by a matrix of weights: the values of a kernel at the distances between
sample points and pixels. Pixel i lies at i + 1/2.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from tinyjax import dtypes, errors, numpy as jnp
from tinyjax._base import lazy
from tinyjax._primitives.precision import Precision, PrecisionLike
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.numpy import creation, promotion as pm

lazy.answer_for(__name__, "ResizeMethod resize scale_and_translate")


class ResizeMethod(enum.Enum):
    """Name a method of interpolation between pixels.

    Attributes:
        NEAREST: the nearest pixel.
        LINEAR: linear interpolation, whose kernel is a triangle.
        LANCZOS3: Lanczos' kernel of radius 3.
        LANCZOS5: Lanczos' kernel of radius 5.
        CUBIC: the cubic kernel of R. G. Keys, "Cubic convolution interpolation for digital image
            processing" (1981), with the parameter -1/2.
        CUBIC_PYTORCH: that with the parameter -3/4 and repeated pixels at the edges, as in
            PyTorch; with antialiasing the same as ``CUBIC``.
        AREA: the mean of what lies within the area of the new pixel.

    Example:
        >>> from tinyjax.image import ResizeMethod
        >>> ResizeMethod.from_string("bilinear").name
        'LINEAR'
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Return the method of a name, such as ``"bilinear"`` or ``"lanczos3"``.

        Raises:
            ArgumentError: there is none.
        """
        method = _NAMES.get(s)
        if method is None:
            raise errors.ArgumentError(
                f"the methods are {', '.join(map(repr, _NAMES))}, but got {errors.shortened(s)}."
            )
        return method


_NAMES: Final = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}

#: Below this sum of weights a place counts as one that no pixel reaches.
_LEAST_WEIGHT: Final = 1000.0 * 2.0**-23
#: How many pixels are repeated beyond each edge for ``CUBIC_PYTORCH``.
_REPEATED: Final = 2


def _triangle(x: Array) -> Array:
    return jnp.maximum(0, 1 - jnp.abs(x))


def _cubic(parameter: float) -> Callable[[Array], Array]:
    a = parameter

    def kernel(x: Array) -> Array:
        near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
        far = ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
        return jnp.where(x >= 2.0, 0.0, jnp.where(x >= 1.0, far, near))

    return kernel


def _lanczos(radius: float) -> Callable[[Array], Array]:
    def kernel(x: Array) -> Array:
        y = radius * jnp.sin(math.pi * x) * jnp.sin(math.pi * x / radius)
        inside = jnp.where(x > 1e-3, y / jnp.where(x != 0, math.pi**2 * x**2, 1), 1)
        return jnp.where(x > radius, 0.0, inside)

    return kernel


_KERNELS: Final[dict[ResizeMethod, Callable[[Array], Array]]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.75),
}


@attrs.frozen
class _Resampling:
    """The resampling of an axis: the old place x moves to ``scale x + translation``."""

    before: int
    after: int
    scale: Array
    translation: Array


def _quotient(weights: Array) -> Array:
    """Divide the weights of each place by their sum, where there are any."""
    total = jnp.sum(weights, 0, keepdims=True)
    scaled = weights / jnp.where(total != 0, total, 1)
    return jnp.where(jnp.abs(total) > _LEAST_WEIGHT, scaled, 0)


def _weights(axis: _Resampling, method: ResizeMethod, antialias: bool) -> Array:
    """Return the matrix of weights, of shape (before, after)."""
    dtype = axis.scale.dtype
    inverse = 1.0 / axis.scale
    shift = axis.translation * inverse
    places = (jnp.arange(axis.after, dtype=dtype) + 0.5) * inverse - shift - 0.5
    if method == ResizeMethod.CUBIC_PYTORCH:
        if not antialias:
            return _repeating_edges(axis, places)
        method = ResizeMethod.CUBIC
    pixels = jnp.arange(axis.before, dtype=dtype)
    if method == ResizeMethod.AREA:
        start = jnp.arange(axis.after, dtype=dtype) * inverse - shift
        stop = jnp.minimum(start + inverse, (pixels + 1.0)[:, None])
        weights = jnp.maximum(0.0, stop - jnp.maximum(start, pixels[:, None]))
    else:
        width = jnp.maximum(inverse, 1.0) if antialias else 1.0
        weights = _KERNELS[method](jnp.abs(places - pixels[:, None]) / width)
    inside = (places >= -0.5) & (places <= axis.before - 0.5)
    return jnp.where(inside, _quotient(weights), 0)


def _repeating_edges(axis: _Resampling, places: Array) -> Array:
    pixels = jnp.arange(-_REPEATED, axis.before + _REPEATED)
    distances = jnp.abs(places - pixels.astype(places.dtype)[:, None])
    weights = _KERNELS[ResizeMethod.CUBIC_PYTORCH](distances)
    own = jnp.clip(pixels, 0, axis.before - 1)
    return _quotient(jnp.zeros((axis.before, axis.after), weights.dtype).at[own].add(weights))


def _resample(
    image: Array,
    axes: dict[int, _Resampling],
    method: ResizeMethod,
    antialias: bool,
    precision: PrecisionLike,
) -> Array:
    if not axes:
        return image
    rest = list(range(image.ndim))
    operands: list[Array | list[int]] = [image, list(rest)]
    for d, axis in axes.items():
        rest[d] += image.ndim
        operands += [_weights(axis, method, antialias).astype(image.dtype), [d, rest[d]]]
    return jnp.einsum(*operands, rest, precision=precision)


def _method(method: str | ResizeMethod) -> ResizeMethod:
    return ResizeMethod.from_string(method) if isinstance(method, str) else method


def _shape(name: str, image: Array, shape: Sequence[int]) -> tuple[int, ...]:
    sizes = creation.canonical_shape(shape)
    if len(sizes) != image.ndim:
        raise errors.ShapeError(
            f"{name} takes a shape of as many axes as the image has, but got {sizes} for "
            f"{image.aval}."
        )
    return sizes


def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """Return an image with other numbers of pixels.

    Args:
        image: of any number of axes; differentiable.
        shape: the sizes of the result, one for each axis; those that stay are not resampled.
        method: one of ``ResizeMethod``, or its name: ``"nearest"``, ``"linear"`` or ``"bilinear"``,
            ``"cubic"``, ``"cubic-pytorch"``, ``"lanczos3"``, ``"lanczos5"``, ``"area"``.
        antialias: whether the kernel is widened where an axis becomes smaller.
        precision: how exactly GPUs and TPUs multiply by the weights, as in ``lax.dot_general``.

    Returns:
        An array of the shape; of the image's dtype, or of floats where that is of integers, unless
        the method is ``"nearest"``.

    Raises:
        ShapeError: there are more or fewer sizes than axes.
        ArgumentError: there is no such method.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import image
        >>> image.resize(jnp.array([0.0, 2.0]), (4,), "linear")
        Array([0. , 0.5, 1.5, 2. ], dtype=float32)
    """
    pixels, chosen = opd.as_array(image), _method(method)
    sizes = _shape("resize", pixels, shape)
    changed = [d for d in range(pixels.ndim) if sizes[d] != pixels.shape[d]]
    if chosen == ResizeMethod.NEAREST:
        for d in changed:
            places = (jnp.arange(sizes[d], dtype=dtypes.float32) + 0.5) * pixels.shape[d] / sizes[d]
            pixels = jnp.take(pixels, jnp.floor(places).astype(dtypes.int32), d)
        return pixels
    (pixels,) = pm.promote_inexact(pixels)
    real = dtypes.real_part(pixels.dtype) if dtypes.is_complex(pixels.dtype) else pixels.dtype
    wide = jnp.promote_types(real, dtypes.float32)
    axes = {
        d: _Resampling(
            pixels.shape[d],
            sizes[d],
            jnp.asarray(sizes[d] / pixels.shape[d] if sizes[d] else 1.0, wide),
            jnp.asarray(0.0, wide),
        )
        for d in changed
    }
    return _resample(pixels, axes, chosen, antialias, precision)


@checking.explained
def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """Return an image scaled and moved along some axes; what lies outside of the old one is 0.

    The place x of the old image comes to ``scale x + translation`` in the new one.

    Args:
        image: of any number of axes; differentiable, as are ``scale`` and ``translation``.
        shape: the sizes of the result, one for each axis.
        spatial_dims: the n axes that are resampled; the others keep their sizes.
        scale: of shape (n,).
        translation: of shape (n,).
        method: as in ``resize``, but not ``"nearest"``.
        antialias: whether the kernel is widened where an axis becomes smaller.
        precision: how exactly GPUs and TPUs multiply by the weights, as in ``lax.dot_general``.

    Returns:
        An array of the shape, of the image's dtype, or of floats where that is of integers.

    Raises:
        ShapeError: there are more or fewer sizes than axes, another axis changes its size, or
            ``scale`` or ``translation`` has another shape.
        ArgumentError: there is no such method.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import image
        >>> x = jnp.array([1.0, 2.0, 4.0])
        >>> moved = image.scale_and_translate(x, (3,), (0,), jnp.ones(1), jnp.ones(1), "linear")
        >>> moved.tolist()
        [0.0, 1.0, 2.0]
    """
    (pixels,), chosen = pm.promote_inexact(opd.as_operand(image)), _method(method)
    sizes = _shape("scale_and_translate", pixels, shape)
    if chosen == ResizeMethod.NEAREST:
        raise errors.ArgumentError("scale_and_translate has no method 'nearest': resize has.")
    dims = [ints.canonical_axis(d, pixels.ndim) for d in ints.listed(spatial_dims, "spatial_dims")]
    scales, shifts = pm.promote_inexact(opd.as_operand(scale), opd.as_operand(translation))
    if not scales.shape == shifts.shape == (len(dims),):
        raise errors.ShapeError(
            f"scale_and_translate takes a scale and a translation for each of {len(dims)} "
            f"spatial_dims, but got {scales.aval} and {shifts.aval}."
        )
    for d, (before, after) in enumerate(zip(pixels.shape, sizes, strict=True)):
        if d not in dims and before != after:
            raise errors.ShapeError(
                f"axis {d} is not among spatial_dims, so that it keeps its size of {before}, but "
                f"the shape is {sizes}."
            )
    axes = {
        d: _Resampling(pixels.shape[d], sizes[d], scales[i], shifts[i]) for i, d in enumerate(dims)
    }
    return _resample(pixels, axes, chosen, antialias, precision)
