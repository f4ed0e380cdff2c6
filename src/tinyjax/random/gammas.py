"""The gamma distribution and those made of it, and distributions of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, Literal, get_args

import tinyjax.numpy as jnp
from tinyjax import custom_derivatives, dtypes, errors
from tinyjax._library.special.gamma import random_gamma_grad
from tinyjax._primitives.special import digamma
from tinyjax.core import api, jit
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.dtypes import DType, DTypeLike
from tinyjax.errors import ShapeError
from tinyjax.lax import scans
from tinyjax.numpy import promotion as pm
from tinyjax.random import continuous, uniforms
from tinyjax.random.generators import Generator, Key
from tinyjax.random.uniforms import Shape

# The gamma distribution, and those made of it.
#
# A number of the gamma distribution is differentiable in its parameter: it moves so that the
# distribution function stays what it is (M. Figurnov, S. Mohamed, A. Mnih, "Implicit
# reparameterization gradients", 2018). So are numbers of the distributions below.


def _one(generator: Generator, is_log: bool, words: Array, a: Array) -> Array:
    """Draw one number.

    G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on
    Mathematical Software 26(3), 2000.
    """
    dtype = a.dtype
    zero, one = sh.full((), 0, dtype), sh.full((), 1, dtype)
    # that of a + 1 is drawn for a < 1, and made smaller in the end
    is_large = a >= 1
    d = jnp.where(is_large, a, a + 1) - 1 / 3
    c = 1 / 3 / jnp.sqrt(d)

    def is_rejected(state: tuple[Array, Array, Array, Array]) -> Array:
        _, squared, v, u = state
        is_slow = u >= 1 - 0.0331 * (squared * squared)
        return is_slow & (jnp.log(u) >= squared * 0.5 + d * ((1 - v) + jnp.log(v)))

    def propose(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        after, for_x, for_u = Key(generator, state[0]).children(3)

        def again(inner: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            rest, own = Key(generator, inner[0]).children()
            x = continuous.normal_of(own, (), dtype)
            return rest.words, x, 1 + x * c

        start = (for_x.words, zero, sh.full((), -1, dtype))
        _, x, v = while_loop(lambda inner: inner[2] <= 0, again, start)
        u = uniforms.uniform_of("gamma", for_u, (), dtype)
        return after.words, x * x, v * v * v, u

    first, last = Key(generator, words).children()
    start = (first.words, zero, one, sh.full((), 2, dtype))
    _, _, v, _ = while_loop(is_rejected, propose, start)
    sample = uniforms.uniform_of("gamma", last, (), dtype)
    if is_log:
        log_drawn = jnp.log1p(-sample)
        smaller = jnp.where(is_large | (log_drawn == 0), zero, log_drawn * (1 / a))
        return jnp.log(d) + jnp.log(v) + smaller
    return d * v * jnp.where(is_large, one, ew.pow_(1 - sample, 1 / a))


@partial(custom_derivatives.custom_jvp, nondiff_argnums=(0, 1))
def _draw(generator: Generator, is_log: bool, words: Array, a: Array) -> Array:
    """Draw from the gamma distribution, or the logarithm, for each element of ``a``."""
    sample: Array = _drawn(generator, is_log, words, a)
    return sample


# Its loops are compiled in any case: as one program they are not staged anew at each call.
@partial(jit.jit, static_argnums=(0, 1))
def _drawn(generator: Generator, is_log: bool, words: Array, a: Array) -> Array:
    one = partial(_one, generator, is_log)

    def sample(words: Array, a: Array) -> Array:
        keys, flat = generator.split(words, (a.size,)), jnp.reshape(a, (a.size,))
        if generator.name == "threefry2x32":
            return jnp.reshape(api.vmap(one)(keys, flat), a.shape)
        return jnp.reshape(scans.map_(lambda example: one(*example), (keys, flat)), a.shape)

    if generator.name == "threefry2x32":
        return sample(words, a)
    # one draw of the other generators would serve all examples of vmap: each draws by itself
    in_turn = custom_derivatives.custom_batch(sample)

    @in_turn.def_vmap
    def rule(size: int, batched: Sequence[bool], *operands: Array) -> tuple[Array, bool]:
        stacked = [
            x if flag else jnp.broadcast_to(x, (size, *x.shape))
            for x, flag in zip(operands, batched, strict=True)
        ]
        return scans.map_(lambda example: in_turn(*example), tuple(stacked)), True

    return in_turn(words, a)


@_draw.defjvp
def _draw_jvp(
    generator: Generator, is_log: bool, primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (words, a), (_, slope) = primals, tangents
    sample = _draw(generator, is_log, words, a)
    if not is_log:
        return sample, slope * random_gamma_grad(a, sample)
    x = jnp.exp(sample)
    # where the number is too small, the first term of its distribution function: x^a / gamma(a + 1)
    is_small = x < float(jnp.finfo(x.dtype).smallest_normal)
    x = jnp.where(is_small, 1.0, x)
    in_small = (digamma(a + 1) - sample) / a
    return sample, slope * jnp.where(is_small, in_small, random_gamma_grad(a, x) / x)


#: Of the cube root of a chi-squared quantile over its degrees of freedom n: row k holds the factors
#: of 1, 1 / n and 1 / n^2 in the coefficient of (x / sqrt(n))^k, for the normal quantile x. The
#: first, published as 1.0000886, is that of the limit.
CUBE_ROOT: Final = (
    (1.0, -0.2237368, -0.01513904),
    (0.4713941, 0.02607083, -0.008986007),
    (0.0001348028, 0.01128186, 0.02277679),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.0008426812, 0.00253001, 0.001060438),
    (9.780499e-05, -0.001450117, 0.001565326),
)


def _approximate(own: Key, a: Array) -> Array:
    """Draw the logarithm without a loop.

    A number for ``a + 4`` is a polynomial of a normal number: R. B. Goldstein, "Algorithm 451:
    chi-square quantiles", Communications of the ACM 16(8), 1973. Times ``u^(1 / (a + i))``, for
    four uniform numbers u, it is one for ``a``: A. Stuart, "Gamma-distributed products of
    independent random variables", Biometrika 49, 1962.
    """
    precise = pm.convert(a, dtypes.float32) if dtypes.finfo(a.dtype).bits < 32 else a
    base, *rest = own.children(5)
    n = 2 * (precise + 4)
    x = continuous.normal_of(base, a.shape, precise.dtype) / jnp.sqrt(n)
    root = jnp.zeros_like(x)
    for p, q, r in reversed(CUBE_ROOT):
        root = root * x + (p + (q + r / n) / n)
    drawn = jnp.log(n / 2) + 3 * jnp.log(jnp.maximum(root, jnp.finfo(root.dtype).tiny))
    for i, key in enumerate(rest):
        u = uniforms.uniform_of("gamma", key, a.shape, precise.dtype)
        drawn += jnp.log1p(-u) / (precise + i)
    return pm.convert(drawn, a.dtype)


Sampler = Literal["exact", "approximate"]


def _gamma(own: Key, a: Array, is_log: bool = False, method: Sampler = "exact") -> Array:
    pm.check_option("gamma", "method", method, get_args(Sampler))
    if method == "exact":
        return _draw(own.generator, is_log, own.words, a)
    drawn = _approximate(own, a)
    return drawn if is_log else jnp.exp(drawn)


@uniforms.sampler
@uniforms.precisely
def gamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    method: Sampler = "exact",
    out_sharding: Placement = None,
) -> Array:
    """Draw positive numbers, of density proportional to ``x^(a - 1) exp(-x)``.

    The mean and the variance are ``a``, which may be an array. There is a derivative in it, through
    the draw (implicit reparameterization).

    Args:
        key: a key.
        a: positive; broadcasts to ``shape``; differentiable.
        shape: the shape of the result; that of ``a`` if None.
        dtype: a float type; the default float if None.
        method: "exact", or "approximate": without loops, so that it compiles and runs faster, with
            quantiles that are within 0.1% of the true ones, and another derivative in ``a``.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, ``shape`` is no shape, or there is no such method.
        ShapeError: ``a`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> x = tinyjax.random.gamma(tinyjax.random.key(0), 3.0, (1000,))
        >>> abs(float(x.mean()) - 3) < 0.2
        True
    """
    own, (shape_parameter,), _, _ = uniforms.drawing("gamma", key, shape, dtype, a)
    return _gamma(own, shape_parameter, method=method)


@uniforms.sampler
@uniforms.precisely
def loggamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    method: Sampler = "exact",
    out_sharding: Placement = None,
) -> Array:
    """Draw the logarithm of a number of the gamma distribution.

    For small ``a`` it is finite where the number itself would underflow.

    Args:
        key: a key.
        a: positive; broadcasts to ``shape``; differentiable.
        shape: the shape of the result; that of ``a`` if None.
        dtype: a float type; the default float if None.
        method: "exact", or "approximate": without loops, so that it compiles and runs faster, with
            quantiles that are within 0.1% of the true ones, and another derivative in ``a``.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, ``shape`` is no shape, or there is no such method.
        ShapeError: ``a`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> bool(jnp.isfinite(tinyjax.random.loggamma(tinyjax.random.key(0), 1e-3, (9,))).all())
        True
    """
    own, (shape_parameter,), _, _ = uniforms.drawing("loggamma", key, shape, dtype, a)
    return _gamma(own, shape_parameter, True, method)


@uniforms.sampler
@uniforms.precisely
def beta(
    key: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw from the beta distribution, of density proportional to ``x^(a - 1) (1 - x)^(b - 1)``.

    The mean is ``a / (a + b)``. There are derivatives in both parameters.

    Args:
        key: a key.
        a: positive; broadcasts to ``shape``; differentiable, as is ``b``.
        b: positive; broadcasts to ``shape``.
        shape: the shape of the result; what the parameters broadcast to if None.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: the parameters do not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> x = tinyjax.random.beta(tinyjax.random.key(0), 2.0, 3.0, (9,))
        >>> bool((x > 0).all()), bool((x < 1).all())
        (True, True)
    """
    own, parameters, _, _ = uniforms.drawing("beta", key, shape, dtype, a, b)
    x, y = (
        _gamma(child, each, is_log=True)
        for child, each in zip(own.children(), parameters, strict=True)
    )
    greatest = jnp.maximum(x, y)
    x, y = jnp.exp(x - greatest), jnp.exp(y - greatest)
    return x / (x + y)


@uniforms.sampler
@uniforms.precisely
def dirichlet(
    key: ArrayLike,
    alpha: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw from the Dirichlet distribution: positive numbers that sum to 1.

    Their density is proportional to the product of ``x_i^(alpha_i - 1)``.

    Args:
        key: a key.
        alpha: positive, of shape (..., n); differentiable.
        shape: the shape of the result without its last axis; that of ``alpha`` without it if None.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Returns:
        An array of shape ``(*shape, n)``.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: ``alpha`` is a scalar, or does not broadcast.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import numpy as np, tinyjax
        >>> x = tinyjax.random.dirichlet(tinyjax.random.key(0), np.ones(3, np.float32), (4,))
        >>> x.shape, bool((abs(x.sum(-1) - 1) < 1e-6).all())
        ((4, 3), True)
    """
    own, kind = uniforms.one_key("dirichlet", key), uniforms.float_dtype("dirichlet", dtype)
    weights = uniforms.converted(alpha, kind)
    if not weights.shape:
        raise ShapeError.got("dirichlet takes an alpha of shape (..., n)", weights)
    sizes = uniforms.result_shape("dirichlet", shape, weights.shape[:-1])
    logs = _gamma(own, pm.broadcast_to_shape(weights, (*sizes, weights.shape[-1])), is_log=True)
    scaled = jnp.exp(logs - jnp.max(logs, -1, keepdims=True))
    return scaled / jnp.sum(scaled, -1, keepdims=True)


@uniforms.sampler
@uniforms.precisely
def chisquare(
    key: ArrayLike,
    df: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw from the chi-square distribution: that of a sum of ``df`` squares of normal numbers.

    The mean is ``df`` and the variance ``2 df``. There is a derivative in it.

    Args:
        key: a key.
        df: degrees of freedom, positive; broadcasts to ``shape``; differentiable.
        shape: the shape of the result; that of ``df`` if None.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: ``df`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.chisquare(tinyjax.random.key(0), 2.0, (9,)) > 0).all())
        True
    """
    own, (freedom,), _, _ = uniforms.drawing("chisquare", key, shape, dtype, df)
    return _chisquare(own, freedom)


def _chisquare(own: Key, freedom: Array) -> Array:
    return jnp.exp(_gamma(own, freedom / 2, is_log=True)) * 2


@uniforms.sampler
@uniforms.precisely
def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw from Fisher's F distribution: that of a quotient of mean squares of normal numbers.

    The mean is ``dfden / (dfden - 2)`` for ``dfden`` above 2.

    Args:
        key: a key.
        dfnum: the numerator's degrees of freedom, positive; broadcasts to ``shape``;
            differentiable, as is ``dfden``.
        dfden: the denominator's degrees of freedom, positive; broadcasts to ``shape``.
        shape: the shape of the result; what the parameters broadcast to if None.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: the parameters do not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.f(tinyjax.random.key(0), 3.0, 5.0, (9,)) > 0).all())
        True
    """
    own, (above, below), _, _ = uniforms.drawing("f", key, shape, dtype, dfnum, dfden)
    for_below, for_above = own.children()
    # of logarithms, since both gamma numbers may be too small to be one
    ratio = _gamma(for_above, above / 2, is_log=True) - _gamma(for_below, below / 2, is_log=True)
    return jnp.exp(ratio) * (below / above)


@uniforms.sampler
@uniforms.precisely
def t(
    key: ArrayLike,
    df: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw from Student's t distribution.

    The mean is 0 for ``df`` above 1, and the variance ``df / (df - 2)`` for ``df`` above 2. There
    is a derivative in ``df``.

    Args:
        key: a key.
        df: degrees of freedom, positive; broadcasts to ``shape``; differentiable.
        shape: the shape of the result; that of ``df`` if None.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: ``df`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.t(tinyjax.random.key(0), 4.0, (3,)).shape
        (3,)
    """
    own, (freedom,), sizes, kind = uniforms.drawing("t", key, shape, dtype, df)
    for_normal, for_gamma = own.children()
    half = freedom / 2
    spread = jnp.exp((jnp.log(half) - _gamma(for_gamma, half, is_log=True)) / 2)
    return continuous.normal_of(for_normal, sizes, kind) * spread


@uniforms.sampler
@uniforms.precisely
def generalized_normal(
    key: ArrayLike,
    p: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw from the generalised normal distribution, of density proportional to ``exp(-|x|^p)``.

    Args:
        key: a key.
        p: positive; broadcasts to ``shape``; differentiable. For inf the distribution is uniform.
        shape: the shape of the result.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: ``p`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.generalized_normal(tinyjax.random.key(0), 4.0, (3,)).shape
        (3,)
    """
    own, (power,), sizes, kind = uniforms.drawing("generalized_normal", key, shape, dtype, p)
    signs, powers, inverse = _generalized_normal(own, power, sizes, kind)
    return signs * jnp.exp(powers * inverse)


def _generalized_normal(
    own: Key, power: Array, shape: tuple[int, ...], dtype: DType
) -> tuple[Array, Array, Array]:
    """Draw signs, and logarithms of p-th powers of sizes; and return ``1 / p``.

    Sizes for p = inf are uniform. A very small ``1 / p`` gives these, too.
    """
    for_gamma, for_sign = own.children()
    inverse = jnp.maximum(pm.broadcast_to_shape(1 / power, shape), 1e-12)
    powers = _gamma(for_gamma, inverse, is_log=True)
    return uniforms.rademacher_of(for_sign, shape, dtype), powers, inverse


@uniforms.sampler
@uniforms.precisely
def ball(
    key: ArrayLike,
    d: int,
    p: ArrayLike = 2,
    shape: Shape = (),
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw vectors uniformly from the unit ball of a p-norm.

    F. Barthe, O. Guedon, S. Mendelson, A. Naor, "A probabilistic approach to the geometry of the
    l_p^n-ball", Annals of Probability 33(2), 2005.

    Args:
        key: a key.
        d: the number of dimensions.
        p: of the norm, a positive scalar, which may be inf; differentiable.
        shape: the shape of the result without its last axis.
        dtype: a float type; the default float if None.
        out_sharding: where the result is to lie.

    Returns:
        An array of shape ``(*shape, d)``.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: ``p`` is not a scalar.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> x = tinyjax.random.ball(tinyjax.random.key(0), 3, shape=(100,))
        >>> bool(((x**2).sum(-1) <= 1).all())
        True
    """
    own, kind = uniforms.one_key("ball", key), uniforms.float_dtype("ball", dtype)
    sizes = uniforms.sizes_of("ball", shape)
    power = uniforms.converted(p, kind)
    if power.shape:
        raise ShapeError(f"ball takes a scalar p, but got {opd.as_array(p).aval}.")
    for_direction, for_length = own.children()
    dimensions = ints.integer(d, "the number of dimensions of ball")
    inside = uniforms.sizes_of("ball", (*sizes, dimensions))
    signs, powers, inverse = _generalized_normal(for_direction, power, inside, kind)
    u = uniforms.uniform_of("ball", for_length, sizes, kind)
    rest = jnp.maximum(-jnp.log1p(-u), float(jnp.finfo(kind).eps) / 2)
    total = jnp.exp(powers).sum(-1) + rest
    return signs * jnp.exp((powers - jnp.log(total)[..., None]) * inverse)


# Distributions of vectors and matrices.


@uniforms.sampler
def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    method: Literal["cholesky", "eigh", "svd"] = "cholesky",
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw vectors from normal distributions with given means and covariances.

    Args:
        key: a key.
        mean: of shape (..., n); differentiable, as is ``cov``.
        cov: covariance matrices, of shape (..., n, n).
        shape: the shape of the result without its last axis; what the leading axes of ``mean`` and
            ``cov`` broadcast to if None.
        dtype: a float type; that of the parameters if None.
        method: how ``cov`` is factored: ``"eigh"`` and ``"svd"`` take singular matrices as well.
        out_sharding: where the result is to lie.

    Returns:
        An array of shape ``(*shape, n)``.

    Raises:
        ArgumentError: ``key`` is not a key, ``shape`` is not a shape, or there is no such method.
        ShapeError: ``cov`` is not of such matrices, or the leading axes do not broadcast.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import numpy as np, tinyjax
        >>> cov = np.array([[2.0, 0.5], [0.5, 1.0]], np.float32)
        >>> tinyjax.random.multivariate_normal(tinyjax.random.key(0), np.zeros(2), cov, (5,)).shape
        (5, 2)
    """
    uniforms.one_key("multivariate_normal", key, used=False)
    centre, covariance = pm.promote_inexact(opd.as_operand(mean), opd.as_operand(cov))
    kind = uniforms.float_dtype("multivariate_normal", centre.dtype if dtype is None else dtype)
    n = centre.shape[-1] if centre.shape else -1
    if covariance.shape[-2:] != (n, n):
        raise errors.ShapeError(
            "multivariate_normal takes a mean of shape (..., n) and a cov of shape (..., n, n), "
            f"but got {centre.aval} and {covariance.aval}."
        )
    batches = centre.shape[:-1], covariance.shape[:-2]
    sizes = uniforms.result_shape("multivariate_normal", shape, *batches)
    pm.check_option("multivariate_normal", "method", method, ("cholesky", "eigh", "svd"))
    if method == "cholesky":
        factor = jnp.linalg.cholesky(covariance)
    elif method == "eigh":
        values, vectors = jnp.linalg.eigh(covariance)
        factor = vectors * jnp.sqrt(values[..., None, :])
    else:
        u, s, _ = jnp.linalg.svd(covariance)
        factor = u * jnp.sqrt(s[..., None, :])
    noise = continuous.normal(key, (*sizes, n), kind)
    return centre + jnp.einsum("...ij,...j->...i", factor, noise)


@uniforms.sampler
def orthogonal(
    key: ArrayLike,
    n: int,
    shape: Shape = (),
    dtype: DTypeLike = None,
    m: int | None = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw orthogonal matrices, or unitary ones, uniformly (by the Haar measure).

    By the QR factorisation of normal matrices, with the signs of R's diagonal moved into Q (F.
    Mezzadri, "How to generate random matrices from the classical compact groups", 2007).

    Args:
        key: a key.
        n: the number of rows.
        shape: the leading axes of the result.
        dtype: a float or complex type; the default float if None.
        m: the number of columns; ``n`` if None. Where the numbers differ, the shorter of rows and
            columns are orthonormal.
        out_sharding: where the result is to lie.

    Returns:
        An array of shape ``(*shape, n, m)``.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        DtypeError: ``dtype`` is neither a float nor a complex type.

    Example:
        >>> import tinyjax
        >>> q = tinyjax.random.orthogonal(tinyjax.random.key(0), 3)
        >>> bool(abs(q @ q.T - tinyjax.numpy.eye(3)).max() < 1e-5)
        True
    """
    rows = ints.integer(n, "the number of rows of orthogonal")
    columns = rows if m is None else ints.integer(m, "the number of columns of orthogonal")
    kind = dtypes.default_float() if dtype is None else dtypes.check(dtype)
    most, least = max(rows, columns), min(rows, columns)
    sizes = uniforms.sizes_of("orthogonal", (*uniforms.sizes_of("orthogonal", shape), most, least))
    sample = continuous.normal(key, sizes, kind)
    q, r = jnp.linalg.qr(sample)
    signed = q * jnp.expand_dims(jnp.sign(jnp.diagonal(r, axis1=-2, axis2=-1)), -2)
    return signed.mT if rows < columns else signed
