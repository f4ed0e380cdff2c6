"""Special functions of one, two and three arrays, loaded at their first use."""

from __future__ import annotations

from tinyjax.core.primitives.elementwise import convert_element_type
from tinyjax.core.tracing.primitive import NO_PARAMS
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.core.values.operands import as_array
from tinyjax.dtypes import DTypeLike, check
from tinyjax.lax.operands import pair
from tinyjax.special import bessel as _bessel, gamma as sga


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularized incomplete beta function.

    Args:
        a: floats, at least 0; it has no derivative.
        b: floats, at least 0; it has no derivative.
        x: floats in [0, 1].

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or are not of floats.

    Example:
        >>> from tinyjax import lax
        >>> round(float(lax.betainc(2.0, 3.0, 0.5)), 4)
        0.6875
    """
    operands = pair("betainc", as_array(a), as_array(b), as_array(x))
    return bind1(sga.regularized_incomplete_beta, operands, NO_PARAMS)


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularized lower incomplete gamma function.

    Args:
        a: floats, at least 0.
        x: floats, at least 0.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or are not of floats.

    Example:
        >>> from tinyjax import lax
        >>> round(float(lax.igamma(2.0, 1.0)), 6)
        0.264241
    """
    return bind1(sga.igamma, pair("igamma", as_array(a), as_array(x)), NO_PARAMS)


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularized upper incomplete gamma function, ``1 - igamma(a, x)``.

    Args:
        a: floats, at least 0.
        x: floats, at least 0.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or are not of floats.

    Example:
        >>> from tinyjax import lax
        >>> round(float(lax.igammac(2.0, 1.0)), 6)
        0.735759
    """
    return bind1(sga.igammac, pair("igammac", as_array(a), as_array(x)), NO_PARAMS)


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the derivative of ``igamma(a, x)`` in ``a``.

    Args:
        a: floats, at least 0; it has no derivative.
        x: floats, at least 0.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or are not of floats.

    Example:
        >>> from tinyjax import lax
        >>> round(float(lax.igamma_grad_a(2.0, 1.0)), 6)
        -0.276196
    """
    return bind1(sga.igamma_grad_a, pair("igamma_grad_a", as_array(a), as_array(x)), NO_PARAMS)


def random_gamma_grad(a: ArrayLike, x: ArrayLike, *, dtype: DTypeLike = None) -> Array:
    """Return the derivative in ``a`` of a sample ``x`` of the gamma distribution.

    The derivative keeps ``igamma(a, x)`` constant.

    Args:
        a: floats above 0, the distribution's parameter.
        x: floats, at least 0: the sample.
        dtype: the dtype of the result; by default that of the operands.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or are not of floats.

    Example:
        >>> from tinyjax import lax
        >>> round(float(lax.random_gamma_grad(2.0, 1.0)), 6)
        0.750779
    """
    operands = pair("random_gamma_grad", as_array(a), as_array(x))
    out = bind1(sga.random_gamma_grad, operands, NO_PARAMS)
    return out if dtype is None else convert_element_type(out, check(dtype))


def bessel_i0e(x: ArrayLike) -> Array:
    """Return the modified Bessel function of order 0, times ``exp(-abs(x))``.

    Args:
        x: floats.

    Example:
        >>> from tinyjax import lax
        >>> round(float(lax.bessel_i0e(1.0)), 6)
        0.46576
    """
    return bind1(_bessel.bessel_i0e, (as_array(x),), NO_PARAMS)


def bessel_i1e(x: ArrayLike) -> Array:
    """Return the modified Bessel function of order 1, times ``exp(-abs(x))``.

    Args:
        x: floats.

    Example:
        >>> from tinyjax import lax
        >>> round(float(lax.bessel_i1e(1.0)), 6)
        0.20791
    """
    return bind1(_bessel.bessel_i1e, (as_array(x),), NO_PARAMS)
