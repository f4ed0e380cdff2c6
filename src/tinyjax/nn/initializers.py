"""Initial weights: functions of a key, a shape and a dtype.

``zeros`` and ``ones`` are initializers; the other functions here make one. The numbers are JAX's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from tinyjax import dtypes, errors, random
from tinyjax._base import frames, lazy
from tinyjax._primitives import result_placement
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.dtypes import DTypeLike
from tinyjax.numpy import creation, manipulation, promotion as pm

Shape: TypeAlias = int | Sequence[int]
Axes: TypeAlias = int | Sequence[int]
Mode: TypeAlias = Literal["fan_in", "fan_out", "fan_avg", "fan_geo_avg"]
Distribution: TypeAlias = Literal["truncated_normal", "normal", "uniform"]


lazy.answer_for(
    __name__,
    "Initializer constant delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform "
    "kaiming_normal kaiming_uniform lecun_normal lecun_uniform normal ones orthogonal "
    "truncated_normal uniform variance_scaling xavier_normal xavier_uniform zeros",
)

#: The standard deviation of a standard normal variable conditioned on lying in (-2, 2).
_TRUNCATED_DEVIATION = 0.87962566103423978
#: What JAX takes for that of a complex one conditioned on a radius below 2: it lacks a division of
#: the square by the probability of that, 1 - exp(-4).
_TRUNCATED_RADIUS = math.sqrt(1 - 5 * math.exp(-4))


class Initializer(Protocol):
    """A function that makes an array of weights of a given shape and dtype from a key.

    They are to lie as ``out_sharding`` says.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn, random
        >>> def signs(key, shape, dtype=None, *, out_sharding=None):
        ...     return random.rademacher(key, shape, jnp.float32)
        >>> initializer: nn.initializers.Initializer = signs
        >>> initializer(random.key(0), (2, 3)).shape
        (2, 3)
    """

    def __call__(
        self,
        key: ArrayLike,
        shape: Shape,
        dtype: DTypeLike = None,
        *,
        out_sharding: Placement = None,
    ) -> Array: ...


def _dtype(dtype: DTypeLike, fallback: DTypeLike) -> dtypes.DType:
    kind = fallback if dtype is None else dtype
    return dtypes.default_float() if kind is None else dtypes.check(kind)


def _initializer(
    draw: Callable[[ArrayLike, tuple[int, ...], dtypes.DType], Array], fallback: DTypeLike
) -> Initializer:
    """Make an initializer of a function that draws numbers of a shape and a dtype from a key."""

    @result_placement.placed
    def init(
        key: ArrayLike, shape: Shape, dtype: DTypeLike = None, *, out_sharding: Placement = None
    ) -> Array:
        return draw(key, creation.canonical_shape(shape), _dtype(dtype, fallback))

    return init


@result_placement.placed
def zeros(
    key: ArrayLike, shape: Shape, dtype: DTypeLike = None, *, out_sharding: Placement = None
) -> Array:
    """Return zeros.

    Args:
        key: not used.
        shape: the shape of the result.
        dtype: the default float if None.
        out_sharding: where the result is to lie.

    Example:
        >>> import tinyjax
        >>> tinyjax.nn.initializers.zeros(tinyjax.random.key(0), (2,))
        Array([0., 0.], dtype=float32)
    """
    return creation.full(shape, 0, _dtype(dtype, None))


@result_placement.placed
def ones(
    key: ArrayLike, shape: Shape, dtype: DTypeLike = None, *, out_sharding: Placement = None
) -> Array:
    """Return ones.

    Args:
        key: not used.
        shape: the shape of the result.
        dtype: the default float if None.
        out_sharding: where the result is to lie.

    Example:
        >>> import tinyjax
        >>> tinyjax.nn.initializers.ones(tinyjax.random.key(0), (2,))
        Array([1., 1.], dtype=float32)
    """
    return creation.full(shape, 1, _dtype(dtype, None))


def constant(value: ArrayLike, dtype: DTypeLike = None) -> Initializer:
    """Make an initializer that repeats a value.

    Args:
        value: broadcasts to the weights' shape.
        dtype: used where the initializer is given none; the default float if None.

    Example:
        >>> import tinyjax
        >>> tinyjax.nn.initializers.constant(2.5)(tinyjax.random.key(0), (2,))
        Array([2.5, 2.5], dtype=float32)
    """
    return _initializer(lambda key, shape, dtype: creation.full(shape, value, dtype), dtype)


def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike = None) -> Initializer:
    """Make an initializer that draws uniformly from [0, scale).

    Args:
        scale: a number.
        dtype: used where the initializer is given none; the default float if None.

    Example:
        >>> import tinyjax
        >>> weights = tinyjax.nn.initializers.uniform(10.0)(tinyjax.random.key(0), (100,))
        >>> bool((weights < 10).all())
        True
    """
    return _initializer(lambda *draw: _scaled(random.uniform(*draw), scale), dtype)


def normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike = None) -> Initializer:
    """Make an initializer that draws from a normal distribution of mean 0.

    Args:
        stddev: the standard deviation, a number.
        dtype: used where the initializer is given none; the default float if None.

    Example:
        >>> import tinyjax
        >>> tinyjax.nn.initializers.normal(1.0)(tinyjax.random.key(0), (2, 3)).shape
        (2, 3)
    """
    return _initializer(lambda *draw: _scaled(random.normal(*draw), stddev), dtype)


def truncated_normal(
    stddev: ArrayLike = 1e-2,
    dtype: DTypeLike = None,
    lower: ArrayLike = -2.0,
    upper: ArrayLike = 2.0,
) -> Initializer:
    """Make an initializer that draws from a normal distribution cut off on both sides.

    Args:
        stddev: the standard deviation before the ends are cut off.
        dtype: used where the initializer is given none; the default float if None.
        lower: where the distribution is cut off, in standard deviations.
        upper: likewise.

    Example:
        >>> import tinyjax
        >>> weights = tinyjax.nn.initializers.truncated_normal(1.0)(tinyjax.random.key(0), (100,))
        >>> bool((abs(weights) < 2).all())
        True
    """

    def draw(key: ArrayLike, shape: tuple[int, ...], dtype: dtypes.DType) -> Array:
        return _scaled(random.truncated_normal(key, lower, upper, shape, dtype), stddev)

    return _initializer(draw, dtype)


def _scaled(x: Array, factor: ArrayLike | dtypes.HostArray) -> Array:
    """Multiply, in the dtype of ``x``."""
    return ew.mul(x, creation.full(x.shape, factor, x.dtype))


def _around_zero(
    key: ArrayLike, shape: tuple[int, ...], dtype: dtypes.DType, radius: Callable[[Array], Array]
) -> Array:
    """Draw complex numbers whose angles are uniform, and whose radii are a function of uniforms."""
    of_radii, of_angles = random.split(key)
    real = np.finfo(dtype).dtype
    radii = radius(random.uniform(of_radii, shape, real))
    angles = _scaled(random.uniform(of_angles, shape, real), 2 * math.pi)
    return ew.complex_(ew.mul(radii, ew.cos(angles)), ew.mul(radii, ew.sin(angles)))


def _truncated_radius(u: Array) -> Array:
    """Return the radii, below 2, of normal complex numbers whose distribution function is ``u``."""
    return ew.sqrt(ew.neg(ew.log1p(_scaled(u, math.exp(-4) - 1))))


def _axes(axes: Axes, ndim: int) -> list[int]:
    return [ints.canonical_axis(a, ndim) for a in ints.one_or_more(axes, "axis")]


def _fans(
    shape: tuple[int, ...], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """Count what comes into an element of the result, and what an element of the input goes to.

    Axes that are neither inputs, outputs nor batches are a convolution's window, and count to both.
    """
    ndim = len(shape)
    if isinstance(in_axis, int) and in_axis == -2 and ndim <= 1:
        raise errors.ShapeError(
            f"weights of shape {shape} have no input and output axes: give at least two axes, or "
            "in_axis."
        )
    inputs, outputs, batches = (
        math.prod(shape[a] for a in _axes(axes, ndim)) for axes in (in_axis, out_axis, batch_axis)
    )
    if 0 in (inputs, outputs, batches):
        raise errors.ShapeError(f"weights of shape {shape} have no elements to scale.")
    window = math.prod(shape) / inputs / outputs / batches
    return inputs * window, outputs * window


def variance_scaling(
    scale: float,
    mode: Mode,
    distribution: Distribution,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike = None,
) -> Initializer:
    """Make an initializer whose numbers have variance ``scale / n``.

    Args:
        scale: a number.
        mode: what n is: the number of inputs (``"fan_in"``), of outputs (``"fan_out"``), or their
            arithmetic (``"fan_avg"``) or geometric mean (``"fan_geo_avg"``).
        distribution: normal, normal cut off at two standard deviations, or uniform; of mean 0.
        in_axis: the axis or axes of the inputs.
        out_axis: the axis or axes of the outputs.
        batch_axis: axes that are neither.
        dtype: used where the initializer is given none; the default float if None.

    Raises:
        ArgumentError: there is no such mode or distribution.
        ShapeError: (by the initializer) the shape has fewer than two axes, or no elements.
        DtypeError: (by the initializer) the dtype is neither a float nor a complex type.

    Complex weights have angles of all sizes alike: the truncated distribution is cut at a radius,
    and the uniform one is that of a disk.

    Example:
        >>> import tinyjax
        >>> init = tinyjax.nn.initializers.variance_scaling(1.0, "fan_in", "normal")
        >>> weights = init(tinyjax.random.key(0), (400, 100))
        >>> abs(float(weights.std()) - 0.05) < 0.001
        True
    """
    pm.check_option(
        "variance_scaling", "mode", mode, ("fan_in", "fan_out", "fan_avg", "fan_geo_avg")
    )
    pm.check_option(
        "variance_scaling", "distribution", distribution, ("truncated_normal", "normal", "uniform")
    )
    if dtypes.is_complex(pm.array_of("variance_scaling", scale).dtype):
        raise errors.DtypeError(f"variance_scaling takes a real scale, but got {scale}.")

    def draw(key: ArrayLike, shape: tuple[int, ...], dtype: dtypes.DType) -> Array:
        if not dtypes.is_inexact(dtype):
            raise errors.DtypeError(
                f"variance_scaling draws floats or complex numbers, but dtype is {dtype.name}."
            )
        into, out_of = _fans(shape, in_axis, out_axis, batch_axis)
        count = {
            "fan_in": into,
            "fan_out": out_of,
            "fan_avg": (into + out_of) / 2,
            "fan_geo_avg": math.sqrt(into * out_of),
        }[mode]
        # in the weights' own precision, step by step, as the numbers are to be JAX's
        variance = np.array(scale / count, dtype)
        match distribution:
            case "truncated_normal":
                if dtypes.is_complex(dtype):
                    drawn = _around_zero(key, shape, dtype, _truncated_radius)
                    return _scaled(drawn, np.sqrt(variance) / np.array(_TRUNCATED_RADIUS, dtype))
                deviation = np.sqrt(variance) / np.array(_TRUNCATED_DEVIATION, dtype)
                return _scaled(random.truncated_normal(key, -2, 2, shape, dtype), deviation)
            case "normal":
                return _scaled(random.normal(key, shape, dtype), np.sqrt(variance))
            case "uniform":
                if dtypes.is_complex(dtype):
                    drawn = _around_zero(key, shape, dtype, lambda u: ew.sqrt(_scaled(u, 2)))
                    return _scaled(drawn, np.sqrt(variance))
                width = np.sqrt(np.array(3, dtype) * variance)
                return _scaled(random.uniform(key, shape, dtype, -1), width)

    return _initializer(draw, dtype)


def glorot_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None
) -> Initializer:
    """Make an initializer that draws uniformly, by the mean of inputs and outputs.

    X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural
    networks" (2010). Also called Xavier's.

    Args:
        in_axis: the axis or axes of the inputs.
        out_axis: the axis or axes of the outputs.
        batch_axis: axes that are neither.
        dtype: used where the initializer is given none; the default float if None.

    Example:
        >>> import tinyjax
        >>> tinyjax.nn.initializers.glorot_uniform()(tinyjax.random.key(0), (2, 3)).shape
        (2, 3)
    """
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


@frames.like(glorot_uniform)
def glorot_normal(*args: Any, **kwargs: Any) -> Initializer:  # noqa: D417 (glorot_uniform's)
    """Make an initializer like ``glorot_uniform``, with a normal distribution cut off at two sigma.

    Args:
        in_axis: the axis or axes of the inputs.
        out_axis: the axis or axes of the outputs.
        batch_axis: axes that are neither.
        dtype: used where the initializer is given none; the default float if None.

    Example:
        >>> import tinyjax
        >>> tinyjax.nn.initializers.glorot_normal()(tinyjax.random.key(0), (2, 3)).shape
        (2, 3)
    """
    return variance_scaling(1.0, "fan_avg", "truncated_normal", *args, **kwargs)


@frames.like(glorot_uniform)
def lecun_uniform(*args: Any, **kwargs: Any) -> Initializer:  # noqa: D417 (glorot_uniform's)
    """Make an initializer that draws uniformly, with variance 1 over the number of inputs.

    Y. LeCun et al., "Efficient backprop" (1998).

    Args:
        in_axis: the axis or axes of the inputs.
        out_axis: the axis or axes of the outputs.
        batch_axis: axes that are neither.
        dtype: used where the initializer is given none; the default float if None.

    Example:
        >>> import tinyjax
        >>> tinyjax.nn.initializers.lecun_uniform()(tinyjax.random.key(0), (2, 3)).shape
        (2, 3)
    """
    return variance_scaling(1.0, "fan_in", "uniform", *args, **kwargs)


@frames.like(glorot_uniform)
def lecun_normal(*args: Any, **kwargs: Any) -> Initializer:  # noqa: D417 (glorot_uniform's)
    """Make an initializer like ``lecun_uniform``, with a normal distribution cut off at two sigma.

    Args:
        in_axis: the axis or axes of the inputs.
        out_axis: the axis or axes of the outputs.
        batch_axis: axes that are neither.
        dtype: used where the initializer is given none; the default float if None.

    Example:
        >>> import tinyjax
        >>> tinyjax.nn.initializers.lecun_normal()(tinyjax.random.key(0), (2, 3)).shape
        (2, 3)
    """
    return variance_scaling(1.0, "fan_in", "truncated_normal", *args, **kwargs)


@frames.like(glorot_uniform)
def he_uniform(*args: Any, **kwargs: Any) -> Initializer:  # noqa: D417 (glorot_uniform's)
    """Make an initializer that draws uniformly, with variance 2 over the number of inputs.

    K. He et al., "Delving deep into rectifiers" (2015). Also called Kaiming's.

    Args:
        in_axis: the axis or axes of the inputs.
        out_axis: the axis or axes of the outputs.
        batch_axis: axes that are neither.
        dtype: used where the initializer is given none; the default float if None.

    Example:
        >>> import tinyjax
        >>> tinyjax.nn.initializers.he_uniform()(tinyjax.random.key(0), (2, 3)).shape
        (2, 3)
    """
    return variance_scaling(2.0, "fan_in", "uniform", *args, **kwargs)


@frames.like(glorot_uniform)
def he_normal(*args: Any, **kwargs: Any) -> Initializer:  # noqa: D417 (glorot_uniform's)
    """Make an initializer like ``he_uniform``, with a normal distribution cut off at two sigma.

    Args:
        in_axis: the axis or axes of the inputs.
        out_axis: the axis or axes of the outputs.
        batch_axis: axes that are neither.
        dtype: used where the initializer is given none; the default float if None.

    Example:
        >>> import tinyjax
        >>> tinyjax.nn.initializers.he_normal()(tinyjax.random.key(0), (2, 3)).shape
        (2, 3)
    """
    return variance_scaling(2.0, "fan_in", "truncated_normal", *args, **kwargs)


xavier_uniform = glorot_uniform
xavier_normal = glorot_normal
kaiming_uniform = he_uniform
kaiming_normal = he_normal


def orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = None
) -> Initializer:
    """Make an initializer of matrices with orthonormal rows or columns, the fewer of them.

    Args:
        scale: by which the matrices are multiplied.
        column_axis: the axis of the matrix's columns; all others together are that of its rows.
        dtype: used where the initializer is given none; the default float if None.

    Raises:
        ShapeError: (by the initializer) the shape has fewer than two axes.
        DtypeError: (by the initializer) the dtype is neither a float nor a complex type.

    Example:
        >>> import tinyjax
        >>> w = tinyjax.nn.initializers.orthogonal()(tinyjax.random.key(0), (5, 3))
        >>> bool(abs(w.T @ w - tinyjax.numpy.eye(3)).max() < 1e-5)
        True
    """

    def draw(key: ArrayLike, shape: tuple[int, ...], dtype: dtypes.DType) -> Array:
        if len(shape) < 2:
            raise errors.ShapeError(
                f"orthogonal makes weights of at least two axes, but the shape is {shape}."
            )
        axis = ints.canonical_axis(column_axis, len(shape))
        if 0 in shape:
            return creation.full(shape, 0, dtype)
        rest = shape[:axis] + shape[axis + 1 :]
        matrix = random.orthogonal(key, math.prod(rest), (), dtype, shape[axis])
        moved = manipulation.moveaxis(manipulation.reshape(matrix, (*rest, shape[axis])), -1, axis)
        return ew.mul(creation.full(shape, scale, dtype), moved)

    return _initializer(draw, dtype)


def delta_orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = None
) -> Initializer:
    """Make an initializer of convolution kernels that are an orthogonal matrix at their centre.

    Elsewhere they are zero. L. Xiao et al., "Dynamical isometry and a mean field theory of CNNs:
    how to train 10,000-layer vanilla convolutional neural networks" (2018).

    Args:
        scale: by which the matrix is multiplied.
        column_axis: the axis of the matrix's columns.
        dtype: used where the initializer is given none; the default float if None.

    Raises:
        ShapeError: (by the initializer) the shape is not that of a kernel of one to three axes,
            ``(*kernel, in, out)``, or there are more inputs than outputs.
        DtypeError: (by the initializer) the dtype is neither a float nor a complex type.

    Example:
        >>> import tinyjax
        >>> w = tinyjax.nn.initializers.delta_orthogonal()(tinyjax.random.key(0), (3, 3, 2, 4))
        >>> bool((w[1, 1] @ w[1, 1].T - tinyjax.numpy.eye(2) < 1e-5).all()), float(w[0].sum())
        (True, 0.0)
    """

    def draw(key: ArrayLike, shape: tuple[int, ...], dtype: dtypes.DType) -> Array:
        if not 3 <= len(shape) <= 5 or shape[-1] < shape[-2]:
            raise errors.ShapeError(
                "delta_orthogonal makes kernels of shape (*kernel, in, out), of one to three axes, "
                f"where in is at most out, but the shape is {shape}."
            )
        matrix = orthogonal(scale, column_axis)(key, shape[-2:], dtype)
        centre = tuple([(n - 1) // 2 for n in shape[:-2]])
        return creation.full(shape, 0, dtype).at[centre].set(matrix)

    return _initializer(draw, dtype)
