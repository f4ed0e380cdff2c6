"""The gamma and beta functions, hypergeometric functions, and integrals."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from tinyjax import dtypes
from tinyjax._extensions.host import replay
from tinyjax._library.special import declaring, hypergeometric, integrals
from tinyjax._library.special.gamma import (
    igamma,
    igammac,
    log_beta,
    regularized_incomplete_beta,
)
from tinyjax._primitives import special
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.custom_derivatives.slopes import with_slopes_of
from tinyjax.errors import ArgumentError, shortened
from tinyjax.numpy import creation, elementwise, promotion as pm
from tinyjax.scipy.special import basic

# The gamma and beta functions, what is made of them, and hypergeometric functions.


def gamma(x: ArrayLike) -> Array:
    """Return the gamma function.

    Args:
        x: real or complex; the result is NaN at -1, -2, ..., and of complex numbers at 0.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.gamma(5.0)), 3)
        24.0
    """
    a = pm.inexact(x, "gamma")
    if dtypes.is_complex(a.dtype):
        x = ew.real(a)
        pole = (ew.floor(x) == x) & (x <= 0) & (ew.imag(a) == 0)
        return elementwise.pick(pole, complex(math.nan, math.nan), ew.exp(loggamma(a)))
    return basic.gammasgn(a) * ew.exp(special.lgamma(a))


def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the logarithm of the absolute value of the beta function.

    It stays finite where ``beta`` underflows. Integers become floats.

    Args:
        a: real.
        b: real; broadcasts with ``a``.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.betaln(2.0, 3.0)), 5)
        -2.48491
        >>> round(float(special.betaln(200.0, 200.0)), 3)
        -278.642
    """
    return log_beta(*pm.inexact_operands("betaln", a, b))


def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the beta function ``gamma(a) gamma(b) / gamma(a + b)``.

    Where the gamma functions would overflow it does not, for it is computed by logarithms, and has
    the sign they have. Integers become floats. There are derivatives in both.

    Args:
        a: real.
        b: real; broadcasts with ``a``.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.beta(2.0, 3.0)), 5)
        0.08333
        >>> special.beta(-0.5, 1.0), special.beta(0.0, 1.0)
        (Array(-2., dtype=float32, weak_type=True), Array(inf, dtype=float32, weak_type=True))
    """
    x, y = pm.inexact_operands("beta", a, b)
    sign = basic.gammasgn(x) * basic.gammasgn(y) * basic.gammasgn(x + y)
    return sign * ew.exp(betaln(x, y))


def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularized lower incomplete gamma function.

    Args:
        a: real, at least 0.
        x: real, at least 0; broadcasts with ``a``.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.gammainc(2.0, 1.0)), 6)
        0.264241
    """
    return igamma(*pm.inexact_operands("gammainc", a, x))


def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularized upper incomplete gamma function, ``1 - gammainc(a, x)``.

    Args:
        a: real, at least 0.
        x: real, at least 0; broadcasts with ``a``.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.gammaincc(2.0, 1.0)), 6)
        0.735759
    """
    return igammac(*pm.inexact_operands("gammaincc", a, x))


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularized incomplete beta function.

    Args:
        a: real, at least 0.
        b: real, at least 0.
        x: real, in [0, 1]. All three broadcast.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.betainc(2.0, 3.0, 0.5)), 6)
        0.6875
    """
    operands = pm.broadcast(pm.floats("betainc", a, b, x), "betainc")
    return tr.bind1(regularized_incomplete_beta, operands, prim.NO_PARAMS)


def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Return Pochhammer's symbol, ``gamma(z + m) / gamma(z)``.

    For whole ``m`` it is the product ``z (z + 1) ... (z + m - 1)``, 1 for ``m = 0``. It overflows
    to infinity where the product does. There are derivatives in both.

    Args:
        z: real.
        m: real; broadcasts with ``z``.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.poch(2.0, 3.0)), 3)
        24.0
        >>> special.poch(-1.0, 1.0), special.poch(0.0, 0.0)
        (Array(-1., dtype=float32, weak_type=True), Array(1., dtype=float32, weak_type=True))
    """
    return hypergeometric.poch(*pm.inexact_operands("poch", z, m))


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """Return the number of ways to choose ``k`` of ``N`` things, as a float.

    Args:
        N: real.
        k: real; broadcasts with ``N``.
        repetition: whether a thing may be chosen several times.

    Returns:
        The binomial coefficient; 0 where ``k`` is below 0 or above ``N``.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.comb(5, 2)), 3)
        10.0
    """
    n, chosen = pm.inexact_operands("comb", N, k)
    if repetition:
        return elementwise.pick((chosen == 0) & (n >= 0), 1.0, comb(n + chosen - 1, chosen))
    possible = (chosen <= n) & (n >= 0) & (chosen >= 0)
    of, some = elementwise.pick(possible, n, 0.0), elementwise.pick(possible, chosen, 0.0)
    log = special.lgamma(of + 1) - special.lgamma(some + 1) - special.lgamma(of - some + 1)
    return elementwise.pick(possible, ew.exp(log), 0.0)


#: Each is an equation of the program.
_MOST_TERMS: Final = 10_000


def multigammaln(a: ArrayLike, d: ArrayLike) -> Array:
    """Return the logarithm of the multivariate gamma function.

    Args:
        a: real, above ``(d - 1) / 2``.
        d: the dimension, an int of at least 1.

    Raises:
        ConcretizationError: ``d`` is not known when the program is staged.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.multigammaln(3.0, 2)), 5)
        1.55019
    """
    dimension = ints.integer(d, "d of multigammaln")
    if dimension > _MOST_TERMS:
        shown = shortened(dimension)
        raise ArgumentError(f"multigammaln adds at most {_MOST_TERMS} terms, but got d={shown}.")
    x = pm.inexact(a, "multigammaln")
    total = sh.full_like(x, dimension * (dimension - 1) / 4 * math.log(math.pi))
    for i in range(dimension):
        total = total + special.lgamma(x - i / 2)
    return total


def bernoulli(n: int) -> Array:
    """Return the Bernoulli numbers ``B_0`` to ``B_n``, where ``B_1`` is -1/2.

    Args:
        n: an int of at least 0.

    Raises:
        ArgumentError: it is negative.

    Example:
        >>> from tinyjax.scipy import special
        >>> special.bernoulli(2)
        Array([ 1.        , -0.5       ,  0.16666667], dtype=float32)
    """
    last = ints.integer(n, "n of bernoulli")
    if not 0 <= last < 1 << 31:
        raise ArgumentError(
            f"n of bernoulli must be at least 0 and below 2**31, but it is {shortened(last)}."
        )
    numbers = declaring.scipy_special().bernoulli(max(last, 2))[: last + 1]
    return creation.asarray(np.asarray(numbers), dtype=dtypes.default_float())


def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Return the power transformation ``(x^lmbda - 1) / lmbda``, at 0 the logarithm.

    Args:
        x: real, at least 0.
        lmbda: real; broadcasts with ``x``.

    Example:
        >>> from tinyjax.scipy import special
        >>> float(special.boxcox(3.0, 2.0))
        4.0
    """
    a, power = pm.inexact_operands("boxcox", x, lmbda)
    return _power(ew.log(a), power)


def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Return ``boxcox(1 + x, lmbda)``, accurate for small ``x``.

    That is ``((1 + x)^lmbda - 1) / lmbda``, and ``log(1 + x)`` for ``lmbda = 0``; NaN for ``x``
    below -1.

    Args:
        x: real, at least -1.
        lmbda: real; broadcasts with ``x``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> float(special.boxcox1p(2.0, 2.0))
        4.0
        >>> special.boxcox1p(2.0, 0.0) == jnp.log1p(2.0)
        Array(True, dtype=bool)
    """
    a, power = pm.inexact_operands("boxcox1p", x, lmbda)
    return _power(ew.log1p(a), power)


def _power_of(log: Array, power: Array) -> Array:
    none = power == 0
    safe = elementwise.pick(none, 1.0, power)
    return elementwise.pick(none, log * ew.exp(power), ew.expm1(safe * log) / safe)


def _power_series_of(log: Array, power: Array) -> Array:
    """Compute the same near 0 by a series, whose derivatives in the power exist at 0."""
    near = ew.abs_(log * power) < 0.1
    u = elementwise.pick(near, log, 0.0) * power
    return elementwise.pick(near, log * declaring.polynomial(u, _EXPREL), _power_of(log, power))


#: ``(exp(x) - 1) / x`` by powers of x, exact for x below 0.1.
_EXPREL: Final = [1 / math.factorial(k + 1) for k in range(12)]
_power: Final = with_slopes_of(_power_series_of, _power_of)


def loggamma(x: ArrayLike) -> Array:
    """Return the logarithm of the gamma function, continued from the positive axis.

    Args:
        x: real, where the result is NaN below 0; or complex, where the only cut is along the
            negative axis.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.loggamma(5.0)), 5)
        3.17805
    """
    a = pm.inexact(x, "loggamma")
    if not dtypes.is_complex(a.dtype):
        return elementwise.pick(a >= 0, special.lgamma(a), math.nan)
    below = elementwise.imag(a) < 0
    upper = elementwise.pick(below, elementwise.conjugate(a), a)
    left = elementwise.real(upper) < 0.5
    value = _loggamma_right(elementwise.pick(left, 1 - upper, upper))
    # DLMF 5.5.3, with sin(pi z) = i/2 exp(-i pi z) (1 - exp(2 i pi z)), which has one branch above
    y = elementwise.pick(left, upper, 0.25 + 1j)
    turn = ew.exp(2j * math.pi * (y - elementwise.rint(elementwise.real(y))))
    log_sine = ew.log(1 - turn) - 1j * math.pi * (y - 0.5) - math.log(2)
    value = elementwise.pick(left, math.log(math.pi) - log_sine - value, value)
    return elementwise.pick(below, elementwise.conjugate(value), value)


#: How far the argument is moved to the right for Stirling's series.
_SHIFT = 9


def _loggamma_right(z: Array) -> Array:
    """The logarithm for a real part of at least 1/2."""
    total = sh.full_like(z, 0.5 * math.log(2 * math.pi))
    for k in range(_SHIFT):
        total = total - ew.log(z + k)
    z = z + _SHIFT
    inverse = 1 / z
    square = inverse * inverse
    series = sh.full_like(z, 0.0)
    for k in reversed(range(1, 9)):
        series = series * square + special._BERNOULLI[k - 1] / (2 * k * (2 * k - 1))
    return total + (z - 0.5) * ew.log(z) - z + series * inverse


# Hypergeometric functions


def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Return the confluent hypergeometric function, Kummer's M.

    Args:
        a: real; there is no derivative in it.
        b: real, not 0, -1, ...; nor in it.
        x: real. All three broadcast.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.hyp1f1(1.0, 2.0, 1.0)), 6)
        1.718282
    """
    operands = pm.broadcast(pm.floats("hyp1f1", a, b, x), "hyp1f1")
    return tr.bind1(hypergeometric.hyp1f1, operands, prim.NO_PARAMS)


def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Return Gauss's hypergeometric function.

    Compiled, it loses digits within 0.001 of 1 where ``c - a - b`` is near a whole number.

    Args:
        a: real; there is no derivative in it.
        b: real; nor in it.
        c: real, not 0, -1, ...; nor in it.
        x: real, at most 1. All four broadcast.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.hyp2f1(1.0, 1.0, 2.0, 0.5)), 6)
        1.386294
    """
    operands = pm.broadcast(pm.floats("hyp2f1", a, b, c, x), "hyp2f1")
    return tr.bind1(hypergeometric.hyp2f1, operands, prim.NO_PARAMS)


# Integrals of the normal density, of exponentials and of circular functions.


def ndtri(p: ArrayLike) -> Array:
    """Return the ``x`` whose ``ndtr(x)`` is ``p``.

    The quantile of the standard normal distribution: ``norm.ppf`` is the same. NaN outside of [0,
    1]. Integers become floats.

    Args:
        p: real, in [0, 1]; the result is infinite at the ends.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.ndtri(.975)), 6)
        1.959964
        >>> special.ndtri(jnp.array([0.0, 0.5, 1.0, 2.0]))
        Array([-inf,   0.,  inf,  nan], dtype=float32)
    """
    return integrals.ndtri(pm.inexact(p, "ndtri"))


def dawsn(x: ArrayLike) -> Array:
    """Return Dawson's integral: ``exp(-x^2)`` times that of ``exp(t^2)`` from 0 to x.

    Odd, greatest (0.541) at 0.924, and falling like ``1 / (2 x)``. The derivative is ``1 - 2 x
    dawsn(x)``. Integers become floats.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.dawsn(1.0)), 6)
        0.53808
        >>> special.dawsn(jnp.array([0.0, -1.0, jnp.inf]))
        Array([ 0.       , -0.5380795,  0.       ], dtype=float32)
    """
    return integrals.dawsn(pm.inexact(x, "dawsn"))


def wofz(z: ArrayLike) -> Array:
    """Return the Faddeeva function, ``exp(-z^2) erfc(-i z)``.

    On the real axis the real part is ``exp(-z^2)``, and above it the Voigt profile, up to units.

    Args:
        z: real or complex.

    Returns:
        Complex numbers.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.wofz(1j).real), 6)
        0.427584
        >>> special.wofz(jnp.array([0.0]))
        Array([1.+0.j], dtype=complex64)
    """
    a = pm.inexact(z, "wofz")
    if not dtypes.is_complex(a.dtype):
        a = ew.convert_element_type(a, dtypes.promote_types(a.dtype, dtypes.complex64))
    return integrals.wofz(a)


def erfcx(x: ArrayLike) -> Array:
    """Return ``exp(x^2) erfc(x)``, which does not vanish for large ``x``.

    It falls like ``1 / (x sqrt(pi))``, and overflows far to the left. Integers become floats.

    Args:
        x: real or complex.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.erfcx(10.0)), 6)
        0.056141
        >>> special.erfcx(jnp.array([-30.0, 0.0, jnp.inf]))
        Array([inf,  1.,  0.], dtype=float32)
    """
    a = pm.inexact(x, "erfcx")
    return integrals.wofz(1j * a) if dtypes.is_complex(a.dtype) else integrals.erfcx(a)


def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Return Owen's T function.

    It is the probability that one of two independent standard normal variables exceeds ``h``,
    and the other is between 0 and ``a`` times the first.

    Args:
        h: real.
        a: real; broadcasts with ``h``.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.owens_t(1.0, 0.5)), 6)
        0.043065
    """
    return integrals.owens_t(*pm.inexact_operands("owens_t", h, a))


def expi(x: ArrayLike) -> Array:
    """Return the principal value of the integral of ``exp(t) / t`` from minus infinity to x.

    Minus infinity at 0, negative below it. The derivative is ``exp(x) / x``. Integers become
    floats; ``exp1`` and ``expn`` are related.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.expi(1.0)), 6)
        1.895118
        >>> special.expi(jnp.array([-1.0, 0.0, 100.0]))
        Array([-0.21938394,        -inf,         inf], dtype=float32)
    """
    return integrals.expi(pm.inexact(x, "expi"))


def exp1(x: ArrayLike) -> Array:
    """Return the exponential integral ``E_1``, of ``exp(-t) / t`` from x to infinity.

    Args:
        x: real, at least 0; the result is NaN below.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.exp1(1.0)), 6)
        0.219384
    """
    a = pm.inexact(x, "exp1")
    return elementwise.pick(a < 0, math.nan, -integrals.expi(-a))


def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """Return the exponential integral ``E_n``, of ``exp(-x t) / t^n`` from 1 to infinity.

    Args:
        n: whole numbers of at least 0; there is no derivative in them.
        x: real, at least 0; broadcasts with ``n``. The result is NaN below.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.expn(2, 1.0)), 6)
        0.148496
    """
    return integrals.expn(*pm.inexact_operands("expn", n, x))


def sici(x: ArrayLike) -> tuple[Array, Array]:
    """Return the sine and the cosine integral.

    Args:
        x: real.

    Returns:
        The integral of ``sin(t) / t`` from 0 to x, and Euler's constant plus ``log(abs(x))`` plus
        the integral of ``(cos(t) - 1) / t`` from 0 to x.

    Example:
        >>> from tinyjax.scipy import special
        >>> [round(float(value), 6) for value in special.sici(1.0)]
        [0.946083, 0.337404]
    """
    a = pm.inexact(x, "sici")
    return integrals.sine_integral(a), integrals.cosine_integral(a)


def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Return Fresnel's sine and cosine integrals, of ``sin(pi t^2 / 2)`` and ``cos`` from 0 to x.

    Args:
        x: real.

    Returns:
        The sine integral, and the cosine integral.

    Example:
        >>> from tinyjax.scipy import special
        >>> [round(float(value), 6) for value in special.fresnel(1.0)]
        [0.438259, 0.779893]
    """
    a = pm.inexact(x, "fresnel")
    return integrals.fresnel_sine(a), integrals.fresnel_cosine(a)


def spence(x: ArrayLike) -> Array:
    """Return the integral of ``log(t) / (1 - t)`` from 1 to x: the dilogarithm of ``1 - x``.

    Args:
        x: real, at least 0; the result is NaN below.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.spence(0.5)), 6)
        0.582241
    """
    return integrals.spence(pm.inexact(x, "spence"))


replay.replay_functions(globals(), plain="hyp1f1 hyp2f1 ndtri wofz expi expn spence")
