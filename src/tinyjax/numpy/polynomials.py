"""Polynomials as vectors of coefficients, from the highest power down."""

from __future__ import annotations

import math
from typing import Final, Literal, overload

from tinyjax import dtypes, errors
from tinyjax._extensions.host import replay
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.numpy import elementwise, manipulation, promotion as pm, reductions
from tinyjax.numpy.contraction import matmul
from tinyjax.numpy.creation import arange, array, asarray, diag, ones, vander, zeros
from tinyjax.numpy.editing import trim_zeros
from tinyjax.numpy.linalg import eigvals, inv, lstsq
from tinyjax.numpy.sorting import argsort
from tinyjax.numpy.statistics import convolve
from tinyjax.numpy.taking import take


def _vectors(name: str, *polynomials: ArrayLike) -> list[Array]:
    return [pm.vector(name, x, "the coefficients in a vector") for x in polynomials]


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Return the sum of two polynomials.

    Polynomials are vectors of coefficients, the highest power first: ``[1, 2]`` is ``x + 2``. The
    shorter one gets zeros in front, so leading zeros stay. The dtypes are promoted to a common one.

    Raises:
        ShapeError: one is not a vector.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([3, 0, 0]))
        Array([3, 1, 2], dtype=int32)
    """
    a, b = pm.promote_dtypes(*_vectors("polyadd", a1, a2))
    if a.size < b.size:
        a, b = b, a
    return a.at[a.size - b.size :].add(b)


def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Return the difference of two polynomials.

    Their coefficients begin with that of the highest power. The shorter vector gets zeros in front;
    zeros in front of the result are kept.

    Raises:
        ShapeError: one is not a vector.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.polysub(jnp.array([1, 2, 3]), jnp.array([5]))
        Array([ 1,  2, -2], dtype=int32)
        >>> jnp.polysub(jnp.array([1, 2]), jnp.array([1, 0]))
        Array([0, 2], dtype=int32)
    """
    a, b = pm.promote_dtypes(*_vectors("polysub", a1, a2))
    return polyadd(a, elementwise.negative(b))


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """Return the product of two polynomials.

    Coefficients are given and returned with the highest power first: ``[1, -1]`` is ``x - 1``. They
    become floats. As many as ``len(a1) + len(a2) - 1`` come out: the product is the convolution of
    the coefficients.

    Args:
        a1: coefficients.
        a2: coefficients.
        trim_leading_zeros: whether to remove leading zeros first; this needs known values.

    Raises:
        ShapeError: one is not a vector.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.polymul(jnp.array([1.0, 1.0]), jnp.array([1.0, -1.0]))
        Array([ 1.,  0., -1.], dtype=float32)
        >>> jnp.polymul(jnp.array([0, 1]), jnp.array([1, 1]), trim_leading_zeros=True)
        Array([1., 1.], dtype=float32)
    """
    factors = pm.promote_inexact(*_vectors("polymul", a1, a2))
    if trim_leading_zeros and max(x.size for x in factors) > 1:
        factors = [trim_zeros(x, "f") for x in factors]
    a, b = [x if x.size else zeros(1, x.dtype) for x in factors]
    return convolve(a, b)


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Divide a polynomial by another.

    Args:
        u: coefficients of the dividend.
        v: coefficients of the divisor; the first is not 0.
        trim_leading_zeros: whether to remove leading coefficients of the remainder that are nearly
            zero; this needs known values.

    Returns:
        The quotient, and the remainder, which is as long as ``u`` unless it is trimmed.

    Raises:
        ShapeError: one is not a vector, or ``v`` is empty.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.polydiv(jnp.array([1.0, 3.0, 5.0]), jnp.array([1.0, 1.0]))
        (Array([1., 2.], dtype=float32), Array([0., 0., 3.], dtype=float32))
    """
    rest, divisor = (pm.strong(x) for x in pm.promote_inexact(*_vectors("polydiv", u, v)))
    if not divisor.size:
        raise errors.ShapeError("polydiv: the divisor has no coefficients.")
    quotient = []
    scale = 1 / divisor[0]
    for k in range(rest.size - divisor.size + 1):
        quotient.append(scale * rest[k])
        rest = rest.at[k : k + divisor.size].add(-quotient[-1] * divisor)
    quotients = manipulation.stack(quotient) if quotient else zeros(1, rest.dtype)
    if trim_leading_zeros:
        tiny = math.sqrt(float(dtypes.finfo(rest.dtype).eps))
        size = trim_zeros(
            elementwise.pick(elementwise.less_equal(elementwise.abs(rest), tiny), 0, rest), "f"
        ).size
        rest = rest[rest.size - max(size, 1) :]
    return quotients, rest


def polyder(p: ArrayLike, m: int = 1) -> Array:
    """Return the derivative of a polynomial.

    Coefficients are given and returned with the highest power first: ``[1, 1, 1]`` is ``x**2 + x +
    1``. They become floats; derivatives of a constant have no coefficients.

    Args:
        p: coefficients.
        m: the order of the derivative.

    Raises:
        ArgumentError: the order is below zero.
        ShapeError: ``p`` is not a vector.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.polyder(jnp.array([1.0, 1.0, 1.0]))
        Array([2., 1.], dtype=float32)
        >>> jnp.polyder(jnp.array([2, 0, 0, 5]), m=2), jnp.polyder(jnp.array([3.0]))
        (Array([12.,  0.], dtype=float32), Array([], shape=(0,), dtype=float32))
    """
    (x,) = pm.promote_inexact(*_vectors("polyder", p))
    order = ints.integer(m, "m")
    if order < 0:
        raise errors.ArgumentError(f"polyder: the order must not be below zero, but got {order}.")
    if not order:
        return x
    if x.size <= order:
        return x[:0]
    factors = [math.perm(k, order) for k in reversed(range(order, x.size))]
    return x[:-order] * array(factors, x.dtype)


_MOST_TIMES: Final = 10_000


def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """Return the integral of a polynomial.

    Args:
        p: coefficients.
        m: how often to integrate.
        k: the constants of integration, the first one that of the first time; or one for all. 0 by
            default.

    Raises:
        ArgumentError: ``m`` is below zero.
        ShapeError: ``p`` is not a vector, or there are more or fewer constants.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.polyint(jnp.array([3.0, 2.0, 1.0]))
        Array([1., 1., 1., 0.], dtype=float32)
    """
    order = ints.integer(m, "m")
    if order > _MOST_TIMES:
        raise errors.ArgumentError(
            f"polyint integrates at most {_MOST_TIMES:,} times, but got m={errors.shortened(m)}."
        )
    if order < 0:
        raise errors.ArgumentError(f"polyint: the order must not be below zero, but got {order}.")
    integration_constants = pm.array_of("polyint", 0 if k is None else k)
    x, constants = pm.promote_inexact(*_vectors("polyint", p), integration_constants)
    if constants.size == 1 and constants.ndim < 2:
        constants = pm.broadcast_to_shape(constants.reshape(1), (order,))
    if constants.shape != (order,):
        raise errors.ShapeError.got(f"polyint needs {order} constants", constants)
    if not order:
        return x
    n = x.size
    # the coefficient of the power e of the result comes from e factorial, as far as it goes
    factors = [math.perm(e, min(e, order)) for e in reversed(range(n + order))]
    return manipulation.concatenate([x, constants]) / array(factors, x.dtype)


@checking.explained
def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """Return the zeros of a polynomial, the eigenvalues of its companion matrix.

    Args:
        p: coefficients, that of the highest power first.
        strip_zeros: whether to remove leading zeros first; this needs known values. Else the result
            ends with a NaN for each of them, and zeros come after the other roots.

    Returns:
        A complex vector, in no order.

    Raises:
        ShapeError: ``p`` has more than one axis.
        ConcretizationError: ``p`` is traced, and ``strip_zeros`` holds.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.sort(jnp.roots(jnp.array([1.0, 0.0, -4.0])).real)
        Array([-2.,  2.], dtype=float32)
    """
    (x,) = pm.promote_inexact(pm.array_of("roots", p))
    x = x.reshape(1) if not x.shape else pm.vector("roots", x, "the coefficients in a vector")
    if x.size < 2:
        return _roots(x)
    if strip_zeros:
        return _roots(trim_zeros(x, "f"))
    none = elementwise.equal(x, 0)
    leading = elementwise.pick(
        reductions.all(none), x.size, reductions.argmax(elementwise.logical_not(none))
    )
    zeros_of_p = _roots(manipulation.roll(elementwise.pick(reductions.all(none), 1, x), -leading))
    zeros_of_p = take(
        zeros_of_p, argsort(pm.convert(elementwise.equal(zeros_of_p, 0), dtypes.int32))
    )
    return elementwise.pick(
        arange(zeros_of_p.size) < zeros_of_p.size - leading, zeros_of_p, complex(math.nan, math.nan)
    )


def _roots(x: Array) -> Array:
    """Return the zeros of a polynomial whose first coefficient is not 0."""
    if x.size < 2:
        return zeros(0, dtypes.to_complex(x.dtype))
    companion = diag(ones(x.size - 2, x.dtype), -1)
    return eigvals(companion.at[0].set(-x[1:] / x[0]))


def poly(seq_of_zeros: ArrayLike) -> Array:
    """Return the polynomial with given zeros, whose first coefficient is 1.

    Args:
        seq_of_zeros: a vector of the zeros; or a square matrix, for its characteristic polynomial.

    Raises:
        ShapeError: it is neither.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.poly(jnp.array([1.0, -1.0]))
        Array([ 1.,  0., -1.], dtype=float32)
    """
    (x,) = pm.promote_inexact(pm.array_of("poly", seq_of_zeros))
    if x.ndim == 2 and x.shape[0] == x.shape[1] and x.size:
        x = eigvals(x)
    if x.ndim > 1:
        raise errors.ShapeError.got("poly needs a vector or a square matrix", x)
    zeros_ = x.reshape(x.size)
    if not zeros_.size:
        return ones((), x.dtype)
    result = ones(1, x.dtype)
    for zero in zeros_:
        result = manipulation.append(result, zeros(1, x.dtype)) - manipulation.concatenate(
            [zeros(1, x.dtype), result * zero]
        )
    return result


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    cov: Literal[False] = False,
) -> Array: ...
@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | Literal["unscaled"] = False,
) -> Array | tuple[Array, ...]: ...
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | Literal["unscaled"] = False,
) -> Array | tuple[Array, ...]:
    """Fit a polynomial to points by least squares.

    Args:
        x: a vector of coordinates.
        y: as many values; or a matrix, with the values of a fit in each column.
        deg: the degree.
        rcond: singular values below this share of the greatest count as zero; by default the
            number of points times the dtype's ``eps``.
        full: whether to return the residuals, the rank, the singular values and ``rcond`` too.
        w: the weights by which residuals are multiplied.
        cov: whether to return the covariance matrix of the coefficients too; scaled by the
            residuals unless it is ``"unscaled"``.

    Returns:
        The coefficients; a tuple that begins with them where more is requested.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: the degree is below zero, or there are too few points for ``cov``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.array([0.0, 1.0, 2.0, 3.0])
        >>> jnp.polyfit(x, 2 * x + 1, 1).round(3)
        Array([2., 1.], dtype=float32)
    """
    at, values = pm.promote_inexact(pm.array_of("polyfit", x), pm.array_of("polyfit", y))
    order = ints.integer(deg, "deg") + 1
    if order < 1:
        raise errors.ArgumentError(f"polyfit: the degree must not be below zero, but got {deg}.")
    n = at.size
    if at.ndim != 1 or not n or values.ndim not in (1, 2) or values.shape[0] != n:
        raise errors.ShapeError.got(
            "polyfit needs a vector of points, at least one, and as many values", at, values
        )
    limit = n * float(dtypes.finfo(at.dtype).eps) if rcond is None else rcond
    left, right = vander(at, order), values
    if w is not None:
        (weights,) = pm.promote_inexact(pm.array_of("polyfit", w))
        if weights.shape != (n,):
            raise errors.ShapeError.got(f"polyfit needs {n} weights", weights)
        left = left * weights[:, None]
        right = right * (weights if right.ndim == 1 else weights[:, None])
    scale = elementwise.sqrt(reductions.sum(left * left, 0))
    left = left / scale
    coefficients, residuals, rank, singular = lstsq(left, right, limit)
    coefficients = coefficients / (scale if coefficients.ndim == 1 else scale[:, None])
    if full:
        return coefficients, residuals, rank, singular, asarray(limit)
    if not cov:
        return coefficients
    base = inv(matmul(manipulation.matrix_transpose(left), left)) / (scale[:, None] * scale)
    if cov == "unscaled":
        factor = ones((1,), base.dtype)
    elif n <= order:
        raise errors.ArgumentError(
            f"polyfit: the covariance of {order} coefficients needs more than {order} points, but "
            f"got {n}; or give cov='unscaled'."
        )
    else:
        factor = residuals / (n - order)
    return coefficients, base * factor if right.ndim == 1 else base[:, :, None] * factor


replay.replay_functions(globals(), plain="roots")
