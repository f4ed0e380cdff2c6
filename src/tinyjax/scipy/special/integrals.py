"""Integrals of the normal density, of exponentials and of circular functions."""

from __future__ import annotations

import math

from tinyjax import dtypes
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.host.replay import replayed
from tinyjax.numpy.promotion import inexact, inexact_operands
from tinyjax.special import faddeeva as sf, integrals as si


def ndtri(p: ArrayLike) -> Array:
    """Return the ``x`` whose ``ndtr(x)`` is ``p``.

    Args:
        p: real, in [0, 1]; the result is infinite at the ends.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.ndtri(.975)), 6)
        1.959964
    """
    return si.ndtri(inexact(p, "ndtri"))


@replayed
def dawsn(x: ArrayLike) -> Array:
    """Return Dawson's integral: ``exp(-x^2)`` times that of ``exp(t^2)`` from 0 to x.

    Args:
        x: real.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.dawsn(1.0)), 6)
        0.53808
    """
    return si.dawsn(inexact(x, "dawsn"))


def wofz(z: ArrayLike) -> Array:
    """Return the Faddeeva function, ``exp(-z^2) erfc(-i z)``.

    Args:
        z: real or complex.

    Returns:
        Complex numbers.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.wofz(1j).real), 6)
        0.427584
    """
    a = inexact(z, "wofz")
    if not dtypes.is_complex(a.dtype):
        a = ew.convert_element_type(a, dtypes.promote_types(a.dtype, dtypes.complex64))
    return sf.wofz(a)


@replayed
def erfcx(x: ArrayLike) -> Array:
    """Return ``exp(x^2) erfc(x)``, which does not vanish for large ``x``.

    Args:
        x: real or complex.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.erfcx(10.0)), 6)
        0.056141
    """
    a = inexact(x, "erfcx")
    return sf.wofz(1j * a) if dtypes.is_complex(a.dtype) else si.erfcx(a)


@replayed
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
    return si.owens_t(*inexact_operands("owens_t", h, a))


def expi(x: ArrayLike) -> Array:
    """Return the principal value of the integral of ``exp(t) / t`` from minus infinity to x.

    Args:
        x: real.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.expi(1.0)), 6)
        1.895118
    """
    return si.expi(inexact(x, "expi"))


@replayed
def exp1(x: ArrayLike) -> Array:
    """Return the exponential integral ``E_1``, of ``exp(-t) / t`` from x to infinity.

    Args:
        x: real, at least 0; the result is NaN below.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.exp1(1.0)), 6)
        0.219384
    """
    a = inexact(x, "exp1")
    value = ew.neg(si.expi(ew.neg(a)))
    return ew.select(ew.lt(a, sh.full_like(a, 0.0)), sh.full_like(a, math.nan), value)


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
    return si.expn(*inexact_operands("expn", n, x))


@replayed
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
    a = inexact(x, "sici")
    return si.sine_integral(a), si.cosine_integral(a)


@replayed
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
    a = inexact(x, "fresnel")
    return si.fresnel_sine(a), si.fresnel_cosine(a)


def spence(x: ArrayLike) -> Array:
    """Return the integral of ``log(t) / (1 - t)`` from 1 to x: the dilogarithm of ``1 - x``.

    Args:
        x: real, at least 0; the result is NaN below.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.spence(0.5)), 6)
        0.582241
    """
    return si.spence(inexact(x, "spence"))
