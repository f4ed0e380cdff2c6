"""Bessel functions and spherical harmonics."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from tinyjax import custom_derivatives, dtypes
from tinyjax._extensions.host.replay import replayed
from tinyjax._library.special.bessel import bessel_i0e, bessel_i1e, modified_0, modified_1
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.errors import ArgumentError, DtypeError
from tinyjax.numpy import elementwise, manipulation, promotion as pm, reductions


def i0e(x: ArrayLike) -> Array:
    """Return the modified Bessel function of order 0, times ``exp(-abs(x))``.

    It falls like ``1 / sqrt(2 pi |x|)`` and never overflows. It is even, 1 at 0. Integers become
    floats.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.i0e(1.0)), 6)
        0.46576
        >>> special.i0e(jnp.array([0.0, 1e6]))
        Array([1.0000000e+00, 3.9894233e-04], dtype=float32)
    """
    return bessel_i0e(pm.inexact(x, "i0e"))


def i1e(x: ArrayLike) -> Array:
    """Return the modified Bessel function of order 1, times ``exp(-abs(x))``.

    It falls like ``1 / sqrt(2 pi |x|)`` far out and never overflows. It is odd. Integers become
    floats.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.i1e(1.0)), 6)
        0.20791
        >>> special.i1e(jnp.array([0.0, 1e6]))
        Array([0.        , 0.00039894], dtype=float32)
    """
    return bessel_i1e(pm.inexact(x, "i1e"))


@replayed
def i0(x: ArrayLike) -> Array:
    """Return the modified Bessel function of order 0.

    It grows like ``exp(|x|)`` and overflows (float32 from 92 on): see ``i0e``. It is even, and
    ``i1`` is its derivative. Integers become floats.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.i0(1.0)), 6)
        1.266066
        >>> special.i0(jnp.array([0.0, -1.0, 100.0]))
        Array([1.       , 1.2660658,       inf], dtype=float32)
    """
    return modified_0(pm.inexact(x, "i0"))


@replayed
def i1(x: ArrayLike) -> Array:
    """Return the modified Bessel function of order 1.

    It grows like ``exp(|x|)`` and overflows (float32 from 92 on): see ``i1e``. It is odd. Integers
    become floats.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.i1(1.0)), 6)
        0.565159
        >>> special.i1(jnp.array([0.0, -1.0, 100.0]))
        Array([ 0.       , -0.5651591,        inf], dtype=float32)
    """
    return modified_1(pm.inexact(x, "i1"))


@replayed
def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Return the Bessel functions of the first kind, of orders 0 to ``v``.

    The ratios of successive orders are found from above (DLMF 10.74(iv)), from ``n_iter`` on, which
    should well exceed ``abs(z)``.

    Args:
        z: real.
        v: the highest order, an int of at least 0.
        n_iter: the order from which the ratios are found.

    Returns:
        An array of shape ``(v + 1, *z.shape)``.

    Raises:
        ArgumentError: ``v`` is negative, or beyond 10,000, as ``n_iter`` must not be.
        DtypeError: ``z`` is complex.

    Example:
        >>> from tinyjax.scipy import special
        >>> special.bessel_jn(1.0, v=1).shape
        (2,)
    """
    last, start = ints.integer(v, "v of bessel_jn"), ints.integer(n_iter, "n_iter of bessel_jn")
    if last < 0:
        raise ArgumentError(f"v of bessel_jn must be at least 0, but it is {last}.")
    if max(last, start) > _MOST_RATIOS:
        raise ArgumentError(
            f"bessel_jn finds at most {_MOST_RATIOS} ratios of orders, but got v={last} and "
            f"n_iter={start}."
        )
    x = pm.inexact(z, "bessel_jn")
    if dtypes.is_complex(x.dtype):
        raise DtypeError(f"bessel_jn takes real numbers, but got {x.aval}.")
    return _first_kind(x, last, start)


#: Each is an equation of the program.
_MOST_RATIOS: Final = 10_000


@partial(custom_derivatives.custom_jvp, nondiff_argnums=(1, 2))
def _first_kind(x: Array, last: int, start: int) -> Array:
    ratio = sh.full_like(x, 0.0)
    ratios: list[Array] = []
    for k in range(max(start, last + 1), 0, -1):
        ratio = x / (2 * k - x * ratio)
        ratios.append(ratio)
    # 1 = J_0 + 2 J_2 + 2 J_4 + ...
    over_first = [sh.full_like(x, 1.0)]
    total = sh.full_like(x, 1.0)
    for k, ratio in enumerate(reversed(ratios), start=1):
        over_first.append(over_first[-1] * ratio)
        if k % 2 == 0:
            total = total + 2 * over_first[-1]
    return manipulation.stack([value / total for value in over_first[: last + 1]])


@_first_kind.defjvp
def _first_kind_jvp(
    last: int, start: int, primals: tuple[Array], tangents: tuple[Array]
) -> tuple[Array, Array]:
    """The derivative of ``J_k`` is ``(J_{k-1} - J_{k+1}) / 2``, and ``J_{-1}`` is ``-J_1``.

    That of the ratios cancels at the zeros of ``J_k``, where the next ratio is infinite.
    """
    (x,), (tangent,) = primals, tangents
    orders = _first_kind(x, last + 1, start)
    below = manipulation.concatenate([-orders[1:2], orders[:last]])
    return orders[:-1], 0.5 * tangent * (below - orders[1:])


@replayed
def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: None = None,
    n_max: int | None = None,
) -> Array:
    """Return the spherical harmonic of degree ``n`` and order ``m``, orthonormal on the sphere.

    Args:
        n: whole numbers of at least 0: the degree.
        m: whole numbers: the order, at most ``n`` in absolute value.
        theta: the angle from the pole; from beyond [0, pi] it is turned back, as in SciPy.
        phi: the angle around it. All four broadcast.
        diff_n: must be None: derivatives are found by transformations.
        n_max: the highest degree; by default the maximum of ``n``, which must then be known.

    Returns:
        Complex numbers.

    Raises:
        ArgumentError: ``diff_n`` is given.
        ConcretizationError: neither ``n_max`` nor ``n`` is known when the program is staged.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.sph_harm_y(1, 0, 0.0, 0.0).real), 6)
        0.488603
    """
    if diff_n is not None:
        raise ArgumentError("diff_n of sph_harm_y is not taken. Use tinyjax.grad and its kin.")
    highest = ints.integer(reductions.max(n) if n_max is None else n_max, "n_max of sph_harm_y")
    angles = pm.floats("sph_harm_y", theta, phi)
    places = [ew.convert_element_type(x, angles[0].dtype) for x in pm.arrays("sph_harm_y", n, m)]
    degree, order, polar, around = pm.broadcast([*places, *angles], "sph_harm_y")
    degree, size = ew.min_(degree, sh.full_like(degree, highest)), ew.abs_(order)
    cosine, sine = ew.cos(polar), ew.sin(polar)
    # not where pi itself was rounded up, whose derivative is that from within
    beyond = sine < -float(dtypes.finfo(sine.dtype).eps)
    sine = elementwise.pick(beyond, -sine, sine)
    # normalised Legendre functions: up the diagonal to degree = order, then up in the degree
    diagonal = sh.full_like(polar, math.sqrt(0.25 / math.pi))
    for k in range(1, highest + 1):
        diagonal = elementwise.pick(
            size >= k, -math.sqrt((2 * k + 1) / (2 * k)) * sine * diagonal, diagonal
        )
    before, value = sh.full_like(polar, 0.0), diagonal
    for k in range(1, highest + 1):
        square = size * size
        up = (size < k) & (degree >= k)
        gap = elementwise.pick(up, k * k - square, 1.0)
        last = elementwise.pick(up, (k - 1) ** 2 - square, 0.0) / max(4 * (k - 1) ** 2 - 1, 1)
        following = ew.sqrt((4 * k * k - 1) / gap) * (cosine * value - _root(last) * before)
        before, value = elementwise.pick(up, value, before), elementwise.pick(up, following, value)
    value = elementwise.pick(size > degree, 0.0, value)
    # of negative order the conjugate, with the sign of (-1)^m
    value = elementwise.pick((order < 0) & (size % 2 == 1), -value, value)
    turn = order * around
    return ew.complex_(value * ew.cos(turn), value * ew.sin(turn))


def _root(x: Array) -> Array:
    zero = x <= 0
    return elementwise.pick(zero, 0.0, ew.sqrt(elementwise.pick(zero, 1.0, x)))
