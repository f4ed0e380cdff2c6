"""Continuous distributions."""

from __future__ import annotations

import math

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax._extensions.host.replay import replayed
from tinyjax._primitives.special import erf, erf_inv
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, identities
from tinyjax.core.primitives.shape import full, full_like
from tinyjax.core.values import Array, ArrayLike, operands as opd
from tinyjax.dtypes import DType, DTypeLike
from tinyjax.numpy import promotion as pm
from tinyjax.random import generators, uniforms
from tinyjax.random.uniforms import Shape
from tinyjax.scipy.special.basic import log_mills


@uniforms.sampler
def normal(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None, *, out_sharding: Placement = None
) -> Array:
    """Draw from the standard normal distribution, by the inverse of its distribution function.

    The mean is 0 and the variance 1, of complex numbers shared by both parts. Multiply and add for
    others; the same key gives the same numbers.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float or complex type; the default float if None. Real and imaginary part of a
            complex number have variance 1/2 each.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        DtypeError: ``dtype`` is neither a float nor a complex type.

    Example:
        >>> import tinyjax
        >>> x = tinyjax.random.normal(tinyjax.random.key(0), (10_000,))
        >>> abs(float(x.mean())) < 0.03, abs(float(x.std()) - 1) < 0.03
        (True, True)
    """
    own, sizes = uniforms.one_key("normal", key), uniforms.sizes_of("normal", shape)
    kind = dtypes.default_float() if dtype is None else dtypes.check(dtype)
    if not dtypes.is_complex(kind):
        return normal_of(own, sizes, uniforms.float_dtype("normal", kind))
    part = dtypes.real_part(kind)
    real, imag = (normal_of(child, sizes, part) for child in own.children())
    return ew.div(ew.complex_(real, imag), full(sizes, math.sqrt(2), kind))


def normal_of(own: generators.Key, shape: tuple[int, ...], dtype: DType) -> Array:
    """Draw from the two words of a key; see ``normal``."""
    # above -1, so that no number is infinite
    low = np.nextafter(np.array(-1, dtype), np.array(0, dtype))
    sample = uniforms.uniform_of("normal", own, shape, dtype, low, 1.0)
    return ew.mul(full(shape, math.sqrt(2), dtype), erf_inv(sample))


@uniforms.sampler
def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw from the standard normal distribution, conditioned on lying in (lower, upper).

    No draw is thrown away: the inverse of the distribution function is taken between the bounds,
    which are arrays or numbers. Between bounds that are both beyond 1, or below -1, it is the
    inverse of the tail's logarithm, by Newton's method: draws keep their digits far out.

    Args:
        key: a key.
        lower: broadcasts to ``shape``; differentiable, as is ``upper``.
        upper: broadcasts to ``shape``.
        shape: the shape of the result; what the bounds broadcast to if None.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, ``shape`` is not a shape, or ``lower`` is a number
            above ``upper``.
        ShapeError: the bounds do not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> x = tinyjax.random.truncated_normal(tinyjax.random.key(0), -1.0, 2.0, (1000,))
        >>> bool((x > -1).all()), bool((x < 2).all())
        (True, True)
    """
    own = uniforms.one_key("truncated_normal", key)
    kind = uniforms.float_dtype("truncated_normal", dtype)
    low, high = uniforms.converted(lower, kind), uniforms.converted(upper, kind)
    sizes = uniforms.result_shape("truncated_normal", shape, low.shape, high.shape)
    ends = (low, math.inf), (high, -math.inf)
    a, b = (erf(ew.div(x, full_like(x, math.sqrt(2)))) for x, _ in ends)
    sample = uniforms.uniform_of("truncated_normal", own, sizes, kind, a, b)
    most = full_like(sample, float(np.nextafter(np.array(1, kind), np.array(0, kind))))
    out = ew.mul(full(sizes, math.sqrt(2), kind), erf_inv(ew.clamp(ew.neg(most), sample, most)))
    if not _is_within(low, high):
        right, left = low > 1, high < -1
        near = jnp.where(right, low, jnp.where(left, -high, 1.0))
        far = jnp.where(right, high, jnp.where(left, -low, 2.0))
        tail = _tail(own, sizes, near, far)
        out = jnp.where(right, tail, jnp.where(left, -tail, out))
    # rounding may have led out of the interval, or onto its ends
    least, most = (pm.broadcast_to_shape(_beside(x, end), sizes) for x, end in ends)
    return ew.clamp(least, out, most)


def _beside(x: Array, end: float) -> Array:
    """Return the next number on the way to an end, with the derivative of ``x``."""
    step = ew.sub(ew.nextafter(x, full_like(x, end)), x)
    return ew.add(x, identities.stop_gradient(ew.select(ew.is_finite(x), step, full_like(x, 0))))


def _is_within(low: Array, high: Array) -> bool:
    """Return whether a program may rely on one bound or the other being within one deviation.

    Raises:
        ArgumentError: nothing lies between constant bounds.
    """
    if not (opd.is_constant(low) and opd.is_constant(high)):
        return False
    least, most = opd.raw_host(low), opd.raw_host(high)
    if np.any(least > most):
        raise errors.ArgumentError(
            "truncated_normal takes a lower bound below the upper one, but got "
            f"lower={errors.shortened(least.tolist())} and upper={errors.shortened(most.tolist())}."
        )
    return bool(np.all(least <= 1) and np.all(most >= -1))


def _tail(own: generators.Key, shape: tuple[int, ...], near: Array, far: Array) -> Array:
    """Draw standard normal numbers between bounds of at least 1.

    With the survival function S, ``log S(near) - log S(near + y)`` is convex in y, and increasing.
    Newton's method finds the y where it has a given value, from the right. Its steps have the
    derivatives in the bounds, of all orders that matter.
    """
    kind = near.dtype
    near, far = pm.precise(near), pm.precise(far)
    start = log_mills(near)

    def decrease(y: Array) -> Array:
        return near * y + y * y / 2 + start - log_mills(near + y)

    # beyond 40 more the survival function is 0
    share = jnp.expm1(-decrease(jnp.minimum(far - near, 40.0)))
    u = uniforms.uniform_of("truncated_normal", own, shape, near.dtype)
    u = u + float(jnp.finfo(near.dtype).eps) / 2  # neither 0 nor 1
    target = -jnp.log1p((1 - u) * share)
    y = 2 * target / (near + jnp.sqrt(near * near + 2 * target))
    for _ in range(5):
        y = y - (decrease(y) - target) * jnp.exp(log_mills(near + y))
    return pm.convert(near + y, kind)


@uniforms.sampler
def exponential(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None, *, out_sharding: Placement = None
) -> Array:
    """Draw from the exponential distribution of density ``exp(-x)`` for ``x >= 0``.

    The mean and the variance are 1; divide by a rate for another. The same key gives the same
    numbers.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.exponential(tinyjax.random.key(0), (100,)) >= 0).all())
        True
    """
    # the logarithm is taken of numbers in (0, 1]
    sample = uniforms.uniform(key, shape, uniforms.float_dtype("exponential", dtype))
    return ew.neg(ew.log1p(ew.neg(sample)))


@uniforms.sampler
def gumbel(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike = None,
    mode: uniforms.GumbelMode | None = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw from the Gumbel distribution of density ``exp(-(x + exp(-x)))``.

    The mean is 0.5772 and the variance ``pi^2 / 6``. The index of the largest of logits with such
    noise is a draw of ``categorical``.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float type; the default float if None.
        mode: ``"low"``, which None means, or ``"high"``, which draws twice as many bits: float32
            then reaches about 32 instead of 16.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, ``shape`` is not a shape, or there is no such mode.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.gumbel(tinyjax.random.key(0), (2, 3)).shape
        (2, 3)
    """
    own, sizes = uniforms.one_key("gumbel", key), uniforms.sizes_of("gumbel", shape)
    kind = uniforms.float_dtype("gumbel", dtype)
    pm.check_option("gumbel", "mode", mode, (None, "low", "high"))
    if mode != "high":
        u = uniforms.positive_of("gumbel", own, sizes, kind)
        return ew.neg(ew.log(ew.neg(ew.log(u))))
    coarse, fine = uniforms.two_of("gumbel", own, sizes, kind)
    # where all digits are 0, half of the last one
    least = float(jnp.finfo(kind).eps) ** 2 / 2
    sum_ = ew.max_(ew.add(coarse, fine), full(sizes, least, kind))
    large = ew.ge(coarse, full(sizes, 0.5, kind))
    x = ew.select(large, coarse, sum_)
    return ew.neg(ew.log(ew.neg(ew.log1p(ew.neg(x)))))


@uniforms.sampler
def laplace(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None, *, out_sharding: Placement = None
) -> Array:
    """Draw from the Laplace distribution of density ``exp(-|x|) / 2``.

    The mean is 0 and the variance 2.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.laplace(tinyjax.random.key(0), (3,)).dtype
        dtype('float32')
    """
    kind = uniforms.float_dtype("laplace", dtype)
    low = -1.0 + float(jnp.finfo(kind).epsneg)
    sample = uniforms.uniform(key, shape, kind, low, 1.0)
    return ew.mul(ew.sign(sample), ew.log1p(ew.neg(ew.abs_(sample))))


@uniforms.sampler
def logistic(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None, *, out_sharding: Placement = None
) -> Array:
    """Draw from the logistic distribution, whose distribution function is ``1 / (1 + exp(-x))``.

    The mean is 0 and the variance ``pi^2 / 3``.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.logistic(tinyjax.random.key(0), (3,)).shape
        (3,)
    """
    own, sizes = uniforms.one_key("logistic", key), uniforms.sizes_of("logistic", shape)
    sample = uniforms.positive_of("logistic", own, sizes, uniforms.float_dtype("logistic", dtype))
    return ew.sub(ew.log(sample), ew.log1p(ew.neg(sample)))


@uniforms.sampler
def cauchy(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None, *, out_sharding: Placement = None
) -> Array:
    """Draw from the Cauchy distribution of density ``1 / (pi (1 + x^2))``.

    It has neither mean nor variance: averages of draws do not settle.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.cauchy(tinyjax.random.key(0), (3,)).shape
        (3,)
    """
    kind = uniforms.float_dtype("cauchy", dtype)
    sample = uniforms.uniform(key, shape, kind, float(jnp.finfo(kind).eps), 1.0)
    return ew.tan(math.pi * (sample - 0.5))


@uniforms.sampler
@uniforms.precisely
def lognormal(
    key: ArrayLike,
    sigma: ArrayLike = 1.0,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw ``exp(sigma x)`` for standard normal ``x``.

    The mean is ``exp(sigma^2 / 2)``. ``sigma`` may be an array, and there is a derivative in it.

    Args:
        key: a key.
        sigma: broadcasts to ``shape``; differentiable.
        shape: the shape of the result; that of ``sigma`` if None.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: ``sigma`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.lognormal(tinyjax.random.key(0), 0.5, (9,)) > 0).all())
        True
    """
    (width,), sizes, kind = uniforms.parameters_of("lognormal", shape, dtype, sigma)
    return ew.exp(ew.mul(normal(key, sizes, kind), width))


@uniforms.sampler
@uniforms.precisely
def pareto(
    key: ArrayLike,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw from the Pareto distribution of density ``b x^-(b + 1)`` for ``x >= 1``.

    The mean is ``b / (b - 1)`` for ``b`` above 1. ``b`` may be an array, and there is a derivative
    in it.

    Args:
        key: a key.
        b: positive; broadcasts to ``shape``; differentiable.
        shape: the shape of the result; that of ``b`` if None.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: ``b`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.pareto(tinyjax.random.key(0), 2.0, (9,)) >= 1).all())
        True
    """
    (exponent,), sizes, kind = uniforms.parameters_of("pareto", shape, dtype, b)
    return ew.exp(ew.div(exponential(key, sizes, kind), exponent))


@uniforms.sampler
@uniforms.precisely
def rayleigh(
    key: ArrayLike,
    scale: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw from the Rayleigh distribution of density ``x exp(-(x/scale)^2 / 2) / scale^2``.

    It is the distribution of lengths of two-dimensional normal vectors. The mean is ``scale sqrt(pi
    / 2)``.

    Args:
        key: a key.
        scale: positive; broadcasts to ``shape``; differentiable.
        shape: the shape of the result; that of ``scale`` if None.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: ``scale`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.rayleigh(tinyjax.random.key(0), 2.0, (9,)) > 0).all())
        True
    """
    own, (width,), sizes, kind = uniforms.drawing("rayleigh", key, shape, dtype, scale)
    sample = ew.log(uniforms.positive_of("rayleigh", own, sizes, kind))
    return ew.mul(width, ew.sqrt(ew.mul(sample, full_like(sample, -2.0))))


@replayed
@uniforms.precisely
def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike = None,
) -> Array:
    """Draw from the Weibull distribution of ``1 - exp(-(x / scale)^concentration)`` for ``x >= 0``.

    For ``concentration`` 1 it is the exponential distribution of mean ``scale``.

    Args:
        key: a key.
        scale: positive; broadcasts to ``shape``; differentiable, as is ``concentration``.
        concentration: positive; broadcasts to ``shape``.
        shape: the shape of the result.
        dtype: a float type; the default float if None.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: the parameters do not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.weibull_min(tinyjax.random.key(0), 1.0, 2.0, (3,)).shape
        (3,)
    """
    parameters = scale, concentration
    (width, power), sizes, kind = uniforms.parameters_of("weibull_min", shape, dtype, *parameters)
    sample = exponential(key, sizes, kind)
    # of no digits, half of the last one: roots of 0 are none of small numbers
    sample = ew.max_(sample, full_like(sample, float(jnp.finfo(kind).eps) / 2))
    return ew.mul(ew.pow_(sample, ew.div(full_like(power, 1.0), power)), width)


@uniforms.sampler
@uniforms.precisely
def maxwell(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None, *, out_sharding: Placement = None
) -> Array:
    """Draw from the Maxwell distribution of density ``sqrt(2/pi) x^2 exp(-x^2 / 2)`` for ``x > 0``.

    It is that of the length of a vector of three standard normal numbers.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.maxwell(tinyjax.random.key(0), (9,)) > 0).all())
        True
    """
    own, sizes = uniforms.one_key("maxwell", key), uniforms.sizes_of("maxwell", shape)
    return _maxwell(own, sizes, uniforms.float_dtype("maxwell", dtype))


def _maxwell(own: generators.Key, shape: tuple[int, ...], dtype: DType) -> Array:
    return jnp.linalg.norm(normal_of(own, (*shape, 3), dtype), axis=-1)


@replayed
@uniforms.precisely
def double_sided_maxwell(
    key: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike = None,
) -> Array:
    """Draw ``loc + scale s x`` for ``x`` of the Maxwell distribution and a random sign ``s``.

    The mean is ``loc`` and the variance ``3 scale^2``.

    Args:
        key: a key.
        loc: the centre; differentiable, as is ``scale``.
        scale: positive.
        shape: the shape of the draws for each element of what the parameters broadcast to. As in
            JAX, the parameters' shape is in its place where it is ().
        dtype: a float type; the default float if None.

    Returns:
        An array whose shape is ``shape``, followed by the shape that the parameters broadcast to.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: the parameters do not broadcast to each other.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.double_sided_maxwell(tinyjax.random.key(0), 1.0, 2.0, (3,)).shape
        (3,)
    """
    name = "double_sided_maxwell"
    own, (centre, width), inner, kind = uniforms.drawing(name, key, None, dtype, loc, scale)
    sizes = (*(uniforms.sizes_of(name, shape) or inner), *inner)
    first, second = own.children()
    signs = uniforms.rademacher_of(second, sizes, kind)
    return signs * _maxwell(first, sizes, kind) * width + centre


@uniforms.sampler
@uniforms.precisely
def triangular(
    key: ArrayLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw from the triangular distribution, whose density rises up to ``mode`` and falls again.

    The mean is that of ``left``, ``mode`` and ``right``.

    Args:
        key: a key.
        left: the least number; broadcasts to ``shape``; differentiable, as are the others.
        mode: the likeliest number; broadcasts to ``shape``.
        right: the greatest number; broadcasts to ``shape``.
        shape: the shape of the result; what the parameters broadcast to if None.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: the parameters do not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> x = tinyjax.random.triangular(tinyjax.random.key(0), 0.0, 1.0, 3.0, (100,))
        >>> bool((x >= 0).all()), bool((x <= 3).all())
        (True, True)
    """
    own, (low, top, high), sizes, kind = uniforms.drawing(
        "triangular", key, shape, dtype, left, mode, right
    )
    sample = uniforms.uniform_of("triangular", own, sizes, kind)
    rising = low + jnp.sqrt(sample * (high - low) * (top - low))
    falling = high - jnp.sqrt((1 - sample) * (high - low) * (high - top))
    return jnp.where(sample < (top - low) / (high - low), rising, falling)


@uniforms.sampler
@uniforms.precisely
def wald(
    key: ArrayLike,
    mean: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw from the Wald distribution, the inverse Gaussian one of scale 1.

    By the transformation with two roots of J. R. Michael, W. R. Schucany and R. W. Haas,
    "Generating random variates using transformations with multiple roots" (1976).

    Args:
        key: a key.
        mean: positive; broadcasts to ``shape``; differentiable.
        shape: the shape of the result; that of ``mean`` if None.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: ``mean`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.wald(tinyjax.random.key(0), 2.0, (9,)) > 0).all())
        True
    """
    own, (centre,), sizes, kind = uniforms.drawing("wald", key, shape, dtype, mean)
    first, second = own.children()
    half = normal_of(first, sizes, kind) ** 2 / 2
    half = jnp.maximum(half, float(jnp.finfo(kind).smallest_normal))
    sample = uniforms.uniform_of("wald", second, sizes, kind)
    # The roots are lesser and centre^2 / lesser. These forms add positive numbers only.
    inverse, moved = 1 / centre, centre * half
    lesser = 1 / (inverse + half + jnp.sqrt(half) * jnp.sqrt(half + 2 * inverse))
    ratio = 1 + moved + jnp.sqrt(moved) * jnp.sqrt(moved + 2)
    is_lesser = sample <= 1 / (1 + 1 / ratio)
    return jnp.where(is_lesser, lesser, centre * jnp.where(is_lesser, 1.0, ratio))
