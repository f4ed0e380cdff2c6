"""Functions for the derivatives of SciPy's functions, and the jvp rule."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from types import CodeType
from typing import Any, Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax._library.special import bessel, declaring, gamma, hypergeometric, integrals
from tinyjax._library.ufuncs import host
from tinyjax._library.ufuncs.table import TABLE, Row
from tinyjax._primitives import special
from tinyjax.core.control_flow.loops import fori_loop
from tinyjax.core.primitives import elementwise as ew, identities, rules
from tinyjax.core.primitives.shape import full_like
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.transforms.jvp import jvp_flat
from tinyjax.core.transforms.linearize import LinearTrace
from tinyjax.core.values import Array, ArrayLike
from tinyjax.custom_derivatives import custom_jvp
from tinyjax.dtypes import HostArray
from tinyjax.numpy import promotion as pm

abs_, exp, log, sqrt, where = jnp.abs, jnp.exp, jnp.log, jnp.sqrt, jnp.where
pi: Final = math.pi


def call(name: str, *values: ArrayLike) -> Any:
    """Evaluate a function of the table: an array, or a tuple of several."""
    row = TABLE[name]
    if row.program:
        labels = [f"{parameter} of {name}" for parameter in row.parameters]
        xs = pm.promote_inexact(*map(pm.array_of, labels, values))
        if not row.complex:
            xs = list(map(pm.real, labels, xs))
        operands = dict(zip(row.parameters, pm.broadcast(xs, name), strict=True))
        return _evaluate(row.program, operands)
    outs = host.apply(name, row.parameters, values)
    return outs[0] if len(outs) == 1 else tuple(outs)


_F: Final[dict[str, Callable[..., Array]]] = {name: partial(call, name) for name in TABLE}


# Quotients that are series near 0, and the kinds of rows that functions of one family share


def kelvin_over(value: Array, x: Array) -> Array:
    """Return ``(berp(x) + 1j beip(x)) / x``, or a part of it, of the value of that part."""
    q = x * x / 4
    real, imaginary = (
        declaring.polynomial(
            q, [c * (1j ** (k + 1) / part).real for k, c in enumerate(bessel.FIRST)]
        )
        for part in (1, 1j)
    )
    near = abs_(x) < 1
    far = value / where(near, 1.0, x)
    return where(near, real + 1j * imaginary, far)


def bessel0m1_over(value: Array, x: Array, sign: int) -> Array:
    """Return ``(i0(x) - 1) / x``, or ``(j0(x) - 1) / x`` for a sign of -1, by the value."""
    near = abs_(x) < 1.4
    small = where(near, x, 0.0)
    terms = [sign**k / (4 * math.factorial(k) ** 2) for k in range(1, 13)]
    series = small * declaring.polynomial(small * small / 4, terms)
    return where(near, series, (value - 1) / where(near, 1.0, x))


def sinhc(z: Array) -> Array:
    """Return ``sinh(z) / z``."""
    near = abs_(z) < 1
    small = where(near, z, 0.0)
    series = declaring.polynomial(small * small, [1 / math.factorial(2 * k + 1) for k in range(11)])
    return where(near, series, jnp.sinh(z) / where(near, 1.0, z))


def ive_slope(v: Array, z: Array) -> Array:
    """Return the derivative of ``ive``; at the kink in 0 the mean of those of both sides."""
    ive = _F["ive"]
    slope = (ive(v - 1, z) + ive(v + 1, z)) / 2 - _signed_ive(v, z)
    return scaled(v, z, -1.0, ive(v, z), slope)


@custom_jvp
def _signed_ive(v: Array, z: Array) -> Array:
    return jnp.sign(z) * _F["ive"](v, z)


@_signed_ive.defjvp
def _signed_ive_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    v, z = primals
    out = _signed_ive(v, z)
    slope = (_signed_ive(v - 1, z) + _signed_ive(v + 1, z)) / 2 - _F["ive"](v, z)
    return out, tangents[1] * scaled(v, z, -1.0, out, slope)


def besselpoly_slope(a: Array, lmb: Array, nu: Array, out: Array) -> Array:
    """Return the derivative of ``besselpoly`` in a by orders that SciPy has right."""
    of, low = _F["besselpoly"], (nu < 0) & (nu != jnp.floor(nu))
    above = of(a, lmb + 1, nu + 1)
    regular = of(a, lmb + 1, where(low, nu, nu - 1)) - above
    return where(low, nu / a * out - 2 * above, regular)


def from_one(n: Array, slope: Array) -> Array:
    """Return the derivative of a polynomial of degree n: 0 for a constant."""
    return where(n == 0, 0.0, slope)


def gegenbauer_below(n: Array, alpha: float, x: Array) -> Array:
    """Return Gegenbauer's polynomial of the degree below; 0 for a constant."""
    value = _F["eval_gegenbauer"](n - 1, alpha, x)
    return from_one(n, value) if dtypes.is_inexact(n.dtype) else value  # where SciPy's is 0


def below(n: Array) -> Array:
    """Return the degree below, or 0."""
    return jnp.maximum(n - 1, 0)


def scaled(v: Array, z: Array, turn: complex, out: Array, slope: Array) -> Array:
    """Return the derivative of a scaled Bessel function, far out by DLMF 10.17 and 10.40.

    Differences of such functions cancel there. The function is ``z^(-1/2)`` times a series in
    ``turn / z``, which is differentiated term by term.
    """
    size = abs_(z)
    far = (size > 64) & (v * v < size)
    at = where(far, z, 100.0)
    u = turn / (at if dtypes.is_complex(z.dtype) else abs_(at))
    term = total = jnp.ones_like(u)
    rest = jnp.zeros_like(u)
    for k in range(1, 13):
        term = term * ((4 * v * v - (2 * k - 1) ** 2) / (8 * k)) * u
        total, rest = total + term, rest + k * term
    return where(far, -(0.5 + rest / total) / at * out, slope)


#: Intervals of the trapezoidal rule.
_NODES: Final = 56


def kv_order(v: Array, x: Array, scale: float) -> Array:
    """Return the derivative of ``kv`` in the order, or of ``exp(x) kv(v, x)`` for a scale of 1.

    DLMF 10.32.9 gives it as an integral without cancellation, and the trapezoidal rule converges
    exponentially. The nodes end where the integrand is ``exp(-37)`` of its maximum.
    """
    order, at = identities.stop_gradient(abs_(v)), identities.stop_gradient(x)
    size = jnp.hypot(order, at)
    middle, right = jnp.arcsinh(order / at), jnp.arccosh(1 + 37 / size)
    start = jnp.maximum(middle - right - 37 / size, 0.0)
    step = (middle + right - start) / _NODES
    # a sign at 0, where the derivative is odd
    sign = where(v < 0, -1.0, 1.0)
    size = sign * v

    def add(k: Array, total: Array) -> Array:
        t = start + step * k
        # sinh(v t) exp(x (scale - cosh(t))), without a number that overflows
        return total - t * exp(size * t - x * (jnp.cosh(t) - scale)) * jnp.expm1(-2 * size * t)

    # all nodes at once would take an array that does not fit into the cache
    total = fori_loop(0, _NODES + 1, add, jnp.zeros_like(x))
    return sign * total * step / 2


def airye_slopes(x: Array, out: Sequence[Array]) -> tuple[Array, ...]:
    """Return the derivatives of ``airye``, by those of ``airy`` and of the exponentials."""
    root = where(x < 0, 0.0, sqrt(where(x < 0, 1.0, x)))
    signs = (1, 1, -1, -1)
    plain = (out[1], x * out[0], out[3], x * out[2])
    return tuple([p + s * root * y for p, s, y in zip(plain, signs, out, strict=True)])


def _struve0_near(square: HostArray) -> HostArray:
    x = np.sqrt(square)
    return np.asarray(declaring.scipy_special().struve(0, x) / x)


def _struve0_far(square: HostArray) -> HostArray:
    """``x (struve(0, x) - y0(x))`` by ``(8 / x)^2``."""
    x, scipy = 8 / np.sqrt(square), declaring.scipy_special()
    return np.asarray(x * (scipy.struve(0, x) - scipy.y0(x)))


def struve0(x: Array) -> Array:
    """Return Struve's function of order 0, by Chebyshev series: DLMF 11.2.1 and 11.2.5."""
    near, far = _struve0(x)
    return where(abs_(x) > 8, jnp.sign(x) * far, near * x)


def struve0_over(x: Array) -> Array:
    """Return Struve's function of order 0 over x."""
    near, far = _struve0(x)
    size = abs_(x)
    return where(size > 8, far / jnp.maximum(size, 8.0), near)


def _struve0(x: Array) -> tuple[Array, Array]:
    """Return the function over x up to 8, and the one of ``abs(x)`` beyond."""
    size = abs_(x)
    near = declaring.chebyshev(where(size > 8, 8.0, x) ** 2, _struve0_near, 0.0, 64.0, 16)
    beyond = jnp.maximum(size, 8.0)
    far = declaring.chebyshev((8 / beyond) ** 2, _struve0_far, 0.0, 1.0, 20) / beyond
    return near, _F["y0"](beyond) + far


def _modstruve0_near(square: HostArray) -> HostArray:
    x = np.sqrt(square)
    return np.asarray(declaring.scipy_special().modstruve(0, x) / x)


def _modstruve0_far(inverse: HostArray) -> HostArray:
    """``sqrt(x) exp(-x) modstruve(0, x)``, less ``i0`` an integral: DLMF 11.5.4."""
    x = 1 / inverse
    nodes, weights = np.polynomial.legendre.leggauss(200)
    w = (nodes + 1) / 2
    rest = np.exp(-x[:, None] * (1 + np.sin(pi / 2 * w * w))) @ (weights * w)
    return np.asarray(np.sqrt(x) * (declaring.scipy_special().i0e(x) - rest))


def modstruve0(x: Array) -> Array:
    """Return the modified Struve function of order 0, by Chebyshev series."""
    size = abs_(x)
    near = declaring.chebyshev(where(size > 6, 6.0, x) ** 2, _modstruve0_near, 0.0, 36.0, 13)
    beyond = jnp.maximum(size, 6.0)
    far = declaring.chebyshev(1 / beyond, _modstruve0_far, 0.0, 1 / 6, 34)
    far = exp(beyond) / sqrt(beyond) * far
    return where(size > 6, jnp.sign(x) * far, near * x)


def struve_power(v: Array, x: Array) -> Array:
    """Return the power of x in DLMF 11.4.25 and 11.4.29."""
    return (x / 2) ** v * _F["rgamma"](v + 1.5) / sqrt(pi)


def struve_slope(name: str, sign: int, v: Array, x: Array) -> Array:
    """Apply DLMF 11.4.25 to 11.4.30, without orders below -1, for terms of these cancel near 0."""
    of, lowest = _F[name], v == -1
    order = where(lowest, 1.0, v)
    power, above = struve_power(order, x), sign * of(order + 1, x)
    slope = where(v == 0, power + above, (of(order - 1, x) + above + power) / 2)
    return where(lowest, sign * slope, slope)


def legendre_slope(m: Array, v: Array, x: Array, out: Array) -> Array:
    """Apply DLMF 14.10.1 and 14.10.2, which do not cancel near the ends."""
    root = sqrt(1 - x * x)
    return -(_F["lpmv"](m + 1, v, x) + m * x * out / root) / root


#: Of so many coefficients on each side of the m-th the derivative is computed.
_COEFFICIENTS: Final = 24


def mathieu_slope(m: Array, q: Array, value: Array, sign: int) -> Array:
    """Return the derivative of a characteristic value in q, by the recurrences DLMF 28.4.

    The coefficients of the Fourier series are an eigenvector, of a matrix that is linear in q.
    Quotients of neighbours lead to the m-th from far above and from the lowest.

    Args:
        m: the order.
        q: the parameter.
        value: the characteristic value.
        sign: 1 for the even function, -1 for the odd one.
    """
    is_odd = m % 2 == 1
    lowest, corner = where(is_odd, 1.0, 1.0 - sign), where(is_odd, sign, 0.0)
    doubled = where(is_odd | (sign < 0), 1.0, 2.0)  # the constant's part in the equations
    first = where(m == 0, doubled, 1.0)

    up, quotient = list[Array](), jnp.zeros_like(q)
    for k in range(_COEFFICIENTS, 0, -1):
        j = m + 2 * k
        quotient = q / (value - j * j - q * quotient)
        up.append(quotient * first if k == 1 else quotient)
    size, products, c = first, jnp.zeros_like(q), jnp.ones_like(q)
    for quotient in reversed(up):
        before, c = c, c * quotient
        size, products = size + c * c, products + before * c
    products = products + (first - 1) * up[-1]

    down, part = list[Array](), corner
    for k in range(_COEFFICIENTS):
        j = lowest + 2 * k
        rest = value - j * j - q * part
        down.append(q / (rest + (rest == 0)))
        part = doubled * down[-1] if k == 0 else down[-1]
    place, c = (m - lowest) / 2, jnp.zeros_like(q)
    for k in range(_COEFFICIENTS - 1, -1, -1):
        before = where(place == k + 1, 1.0, c)
        c = before * down[k]
        factor = doubled if k == 0 else 1.0
        size, products = size + factor * (c * c), products + factor * (before * c)
    corners = where(m == 1, corner, corner * c * c)
    return (2 * products + corners) / size


def spheroidal(
    sign: int, m: Array, cv: Array, c2: Array, x: Array, out: Array, slope: Array
) -> Array:
    """Solve the differential equation DLMF 30.2.1 for the second derivative."""
    w = x * x - sign
    return ((cv + c2 * x * x + sign * m * m / w) * out - 2 * x * slope) / w


# Elliptic integrals


def ellipk_m(m: Array, out: Array) -> Array:
    """Apply DLMF 19.4.1, and near 0, where that cancels, the power series."""
    return _complete(m, 0, lambda m: (_F["ellipe"](m) / (1 - m) - out) / (2 * m))


def ellipe_m(m: Array, out: Array) -> Array:
    """Do the same for the integral of the second kind."""
    return _complete(m, 1, lambda m: (out - _F["ellipk"](m)) / (2 * m))


def _complete(m: Array, kind: int, far: Callable[[Array], Array]) -> Array:
    near = abs_(m) < 0.04
    terms = [pi / 2 * j * (math.comb(2 * j, j) / 4**j) ** 2 for j in range(1, 13)]
    if kind:
        terms = [term / (1 - 2 * j) for j, term in enumerate(terms, 1)]
    small, series = where(near, m, 0.0), jnp.full_like(m, terms[-1])
    for term in reversed(terms[:-1]):
        series = series * small + term
    return where(near, series, far(where(near, 1.0 / 2, m)))


def agm_slope(a: Array, b: Array, out: Array) -> Array:
    """Return the derivative of the mean in a, by the complete elliptic integral: DLMF 19.8.5."""
    p = (b / a) ** 2
    complete = pi / 2 * abs_(a / out)
    # 1 - m has no digits where p is small, and m is 1 / 2 where the series is taken
    slope = _complete(
        1 - p, 0, lambda m: (_F["ellipe"](m) / where(m == 0.5, m, p) - complete) / (2 * m)
    )
    return out / a * (1 - 2 * p * slope / complete)


def ellipkinc_m(phi: Array, m: Array) -> Array:
    """Return the derivative of ``ellipkinc`` in m."""
    return _incomplete(phi, m, False)


def ellipeinc_m(phi: Array, m: Array) -> Array:
    """Return the derivative of ``ellipeinc`` in m."""
    return _incomplete(phi, m, True)


def _incomplete(phi: Array, m: Array, second: bool) -> Array:
    """Differentiate DLMF 19.25.5 or 19.25.9, at the angle less whole periods."""
    turns = jnp.rint(phi / pi)
    sine, cosine = jnp.sin(phi - turns * pi), jnp.cos(phi - turns * pi)
    inner = 1 - m * sine * sine
    ends = (inner, 1.0) if second else (1.0, inner)
    complete = (1 - m, 1.0) if second else (1.0, 1 - m)
    part = sine**3 * _F["elliprd"](cosine * cosine, *ends)
    whole = where(turns == 0, 0.0, 2 * turns * _F["elliprd"](0.0, *complete))
    return (-1 if second else 1) * (part + whole) / 6


def jacobi_m(m: Array, sn: Array, cn: Array, dn: Array, ph: Array) -> tuple[Array, ...]:
    """Differentiate in m by the amplitude, since ``ellipkinc(ph, m)`` stays u."""
    angle = -dn * ellipkinc_m(ph, m)
    return cn * angle, -sn * angle, -sn * (sn / 2 + m * cn * angle) / dn, angle


def _carlson_c_near(x: Array, y: Array, position: int) -> tuple[Array, Array]:
    """Return whether y is near x, and there the derivative in one of them, by its power series."""
    near = abs_(y - x) < 0.1 * abs_(x)
    safe = where(near, x, 1.0)
    e, series = where(near, y, 1.0) / safe - 1, jnp.zeros_like(x)
    for k in range(15, -1, -1):
        c = (k + 1) / (2 * k + 3) if position else 1 / (2 * k + 3)
        series = c - series * e
    return near, -series / (safe * sqrt(safe)) / (1 if position else 2)


def carlson_c_x(x: Array, y: Array, out: Array) -> Array:
    """Return the derivative of ``elliprc`` in x, by DLMF 19.6.15 or 19.2.17."""
    near, series = _carlson_c_near(x, y, 0)
    return where(near, series, (out - 1 / sqrt(x)) / (2 * where(near, 1.0, y - x)))


def carlson_c_y(x: Array, y: Array, out: Array) -> Array:
    """Return the derivative of ``elliprc`` in y."""
    near, series = _carlson_c_near(x, y, 1)
    return where(near, series, (sqrt(x) / y - out) / (2 * where(near, 1.0, y - x)))


def carlson_j(x: Array, y: Array, z: Array, p: Array) -> Array:
    """Compute RJ by duplication, as B. C. Carlson in Numerical Algorithms 10 (1995)."""
    mean, factor = (x + y + z + 2 * p) / 5, 1.0
    delta = (p - x) * (p - y) * (p - z)
    weights, arguments = [], []
    for _ in range(10):
        a, b, c, d = map(sqrt, (x, y, z, p))
        step, product = a * b + a * c + b * c, (d + a) * (d + b) * (d + c)
        weights.append(factor / product)
        arguments.append(factor**3 * delta / (product * product))
        x, y, z, p, mean = [(value + step) / 4 for value in (x, y, z, p, mean)]
        factor /= 4
    X, Y, Z = [1 - value / mean for value in (x, y, z)]
    P = -(X + Y + Z) / 2
    xyz, e2 = X * Y * Z, X * Y + X * Z + Y * Z - 3 * P * P
    e3, e4 = xyz + 2 * e2 * P + 4 * P**3, (2 * xyz + e2 * P + 3 * P**3) * P
    series = 1 - 3 * e2 / 14 + e3 / 6 + 9 * e2 * e2 / 88 - 3 * e4 / 22
    series = series - 9 * e2 * e3 / 52 + 3 * xyz * P * P / 26
    # arguments are in (-1, 1], and each is a 64th of the one before, about
    few = [_carlson_c(jnp.stack(part), n) for part, n in ((arguments[:2], 8), (arguments[2:], 2))]
    total = jnp.sum(jnp.stack(weights) * jnp.concatenate(few), 0)
    return factor * series / (mean * sqrt(mean)) + 6 * total


def carlson_slope(position: int, out: Array, *xs: Array) -> Array:
    """Return a derivative of RD of three arguments, or of RJ of four.

    Partial fractions give it by RD, DLMF 19.20, in all arguments but the last one, and in that by
    homogeneity. They cancel where an argument is near the last one.
    """
    last = len(xs) - 1

    def general(out: Array, *xs: Array) -> Array:
        tangents: list[prim.Tangent] = [prim.ZERO] * len(xs)
        tangents[position] = jnp.ones_like(xs[position])
        of_operands = lambda *xs: [carlson_j(xs[0], xs[1], xs[2], xs[-1])]  # noqa: E731
        (slope,) = jvp_flat(of_operands, xs, tangents)[1]
        return rules.instantiate(slope, xs[0])

    def by_imaginary_part(out: Array, *xs: Array) -> Array:
        step = 1e-30 * xs[position]
        shifted = [x + 1j * step if i == position else x + 0j for i, x in enumerate(xs)]
        return jnp.imag(_F["elliprd"](*shifted)) / step

    def times_slope(i: int, out: Array, xs: Sequence[Array]) -> Array:
        x, others = xs[i], [y for j, y in enumerate(xs[:3]) if j != i]
        return x * (_F["elliprd"](*others, x) - out) / (2 * (x - xs[-1]))

    def simple(out: Array, *xs: Array) -> Array:
        if position < last:
            return times_slope(position, out, xs) / xs[position]
        return -(sum((times_slope(i, out, xs) for i in range(last)), 1.5 * out)) / xs[-1]

    if dtypes.finfo(out.dtype).bits < 64:
        return general(out, *xs)
    apart = jnp.ones(out.shape, bool)
    for x in xs[:last] if position == last else [xs[position]]:
        apart = apart & (abs_(x - xs[-1]) > 1e-3 * (abs_(x) + abs_(xs[-1]))) & (x != 0)
    near = general
    if isinstance(tr.current_trace(), tr.EvalTrace) and last == 2:
        is_regular = not dtypes.is_complex(out.dtype) and not jnp.any(xs[position] == 0)
        near = by_imaginary_part if is_regular else general
    return declaring.simpler_where(apart, simple, near, out, *xs)


def _carlson_c(e: Array, doublings: int) -> Array:
    """Compute RC of 1 and ``1 + e``."""
    x, y, mean = jnp.ones_like(e), 1 + e, 1 + 2 * e / 3
    for _ in range(doublings):
        step = 2 * sqrt(x) * sqrt(y) + y
        x, y, mean = [(value + step) / 4 for value in (x, y, mean)]
    s = y / mean - 1
    powers = (9 / 8, 159 / 208, 9 / 22, 3 / 8, 1 / 7, 3 / 10)
    series = jnp.zeros_like(s)
    for c in powers:
        series = (series + c) * s
    return (1 + series * s) / sqrt(mean)


# Elementary and gamma functions


def pseudo_huber_slopes(delta: Array, r: Array) -> tuple[Array, Array]:
    """Return the derivatives of ``pseudo_huber``, without cancellation."""
    u = r / delta
    root = sqrt(1 + u * u)
    return delta * (u * u / (1 + root)) ** 2 / root, r / root


def exprel_slope(x: Array, out: Array) -> Array:
    """Return the derivative of ``(exp(x) - 1) / x``, near 0 by its power series."""
    near = abs_(x) < 0.1
    small, other, series = where(near, x, 0.0), where(near, 1.0, x), jnp.zeros_like(x)
    for k in range(9, -1, -1):
        series = series * small + (k + 1) / math.factorial(k + 2)
    return where(jnp.isinf(out), out, where(near, series, (exp(other) - out) / other))


def power_slope(u: Array) -> Array:
    """Return ``(u / (1 + u) - log(1 + u)) / u^2``."""
    near = abs_(u) < 0.06
    small, other = where(near, u, 0.0), where(near, 1.0, u)
    series = jnp.zeros_like(u)
    for k in range(13, -1, -1):
        series = (k + 1) / (k + 2) - small * series
    return where(near, -series, (other / (1 + other) - jnp.log1p(other)) / (other * other))


def trigamma(z: Array) -> Array:
    """Return the derivative of ``digamma``."""
    return special.polygamma(full_like(z, 1.0), z)


def rgamma_slope(z: Array, out: Array) -> Array:
    """Apply DLMF 5.5.3 on the left, where the gamma function has poles."""
    psi = _F["psi"] if dtypes.is_complex(z.dtype) else special.digamma
    left = jnp.real(z) < 0.5
    low, slope = where(left, z, 0.25), -psi(where(left, 1 - z, z)) * out
    return slope + where(left, jnp.cos(pi * low) / _F["rgamma"](1 - low), 0.0)


# Distributions


def _of_pairs(function: Callable[..., Array]) -> Callable[..., Array]:
    """Let a function of arrays of one type promote and broadcast."""

    def broadcast(*xs: ArrayLike) -> Array:
        return function(*pm.broadcast(pm.floats("a derivative", *xs)))

    return broadcast


gamma_density: Final = _of_pairs(gamma.gamma_density)
gamma_sample_a: Final = _of_pairs(gamma.random_gamma_grad)
beta_a: Final = _of_pairs(gamma.betainc_slope)
beta_density: Final = _of_pairs(gamma.beta_density)


def beta_b(a: Array, b: Array, x: Array) -> Array:
    """Return the derivative of ``betainc`` in b."""
    return -beta_a(b, a, 1 - x)


def f_density(dfn: Array, dfd: Array, x: Array) -> Array:
    """Return the density of the F distribution."""
    total = dfn * x + dfd
    return beta_density(dfn / 2, dfd / 2, dfn * x / total) * (dfn / total) * (dfd / total)


def f_dfn(dfn: Array, dfd: Array, x: Array) -> Array:
    """Return the derivative of ``fdtr`` in dfn."""
    w = dfn * x / (dfn * x + dfd)
    return beta_a(dfn / 2, dfd / 2, w) / 2 + f_density(dfn, dfd, x) * x / dfn


def f_dfd(dfn: Array, dfd: Array, x: Array) -> Array:
    """Return the derivative of ``fdtr`` in dfd."""
    w = dfn * x / (dfn * x + dfd)
    return beta_b(dfn / 2, dfd / 2, w) / 2 - f_density(dfn, dfd, x) * x / dfd


def normal_density(x: Array) -> Array:
    """Return the density of the normal distribution."""
    return exp(-x * x / 2) / sqrt(2 * pi)


def t_density(df: Array, t: Array) -> Array:
    """Return the density of Student's distribution."""
    normal = df == math.inf
    n = where(normal, 1.0, df)
    scale = sqrt(n) * exp(gamma.log_beta(n / 2, full_like(n, 0.5)))
    value = exp(-(n + 1) / 2 * jnp.log1p(t * t / n)) / scale
    return where(normal, normal_density(t), value)


def t_df(df: Array, t: Array) -> Array:
    """Differentiate ``stdtr(df, -t) = betainc(df / 2, 1 / 2, df / (df + t^2)) / 2`` in df."""
    w = df / (df + t * t)
    slope = beta_a(df / 2, 0.5, w) / 2 + t_density(df, t) * abs_(t) / df
    return where(t == 0, 0.0, -jnp.sign(t) / 2 * slope)


def noncentral_chi(x: Array, df: Array, nc: Array) -> Array:
    """Return the density of the noncentral chi-square distribution, by Bessel functions."""
    near = nc * x < 1
    q, series = where(near, nc * x / 4, 0.0), jnp.ones_like(x)
    for k in range(11, -1, -1):  # hyp0f1(df / 2, nc x / 4)
        series = 1 + series * q / ((k + 1) * (df / 2 + k))
    low = gamma_density(df / 2, x / 2) / 2 * exp(-nc / 2) * series
    u, v = where(near, 1.0, x), where(near, 1.0, nc)
    power = (u / v) ** (df / 4 - 0.5) * _F["ive"](df / 2 - 1, sqrt(u * v))
    return where(near, low, exp(-((sqrt(u) - sqrt(v)) ** 2) / 2) * power / 2)


def noncentral_f(dfn: Array, dfd: Array, nc: Array, x: Array) -> tuple[Array, Array]:
    """Return the derivatives of ``ncfdtr`` in x and nc, whose Poisson sums are Kummer's M."""
    a, b, half = dfn / 2, dfd / 2, nc / 2
    w = dfn * x / (dfn * x + dfd)
    rest = exp(-half * (1 - w))
    density = f_density(dfn, dfd, x) * rest * hypergeometric.hyp1f1(-b, a, -half * w)
    power = f_density(dfn, dfd, x) * x / a
    return density, -power / 2 * rest * hypergeometric.hyp1f1(1 - b, a + 1, -half * w)


def noncentral_t(k: int, df: Array, nc: Array, t: Array) -> Array:
    """Return the mean of ``s^k phi(t s - nc)``, where ``df s^2`` is chi-square distributed.

    The integral is a parabolic cylinder function, DLMF 12.5.1.
    """
    root = sqrt(df + t * t)
    c, half = t * nc / root, df / 2
    logs = half * log(half) - special.lgamma(half) + special.lgamma(df + k)
    power = logs - (df + k) * log(root) - nc * nc / 2 + c * c / 4
    return exp(power) * sqrt(2 / pi) * _F["pbdv"](-df - k, -c)[0]


def kolmogorov_slope(x: Array) -> Array:
    """Differentiate the two series that DLMF 20.7.32 turns into each other."""
    low = x < 1
    small, large = where(low, jnp.maximum(x, 0.02), 1.0), where(low, 1.0, x)
    near, far = jnp.zeros_like(x), jnp.zeros_like(x)
    for k in range(1, 6):
        g = ((2 * k - 1) * pi / small) ** 2 / 8
        near = near + exp(-g) * (2 * g - 1) / (small * small)
        far = far + (-1) ** (k - 1) * k * k * exp(-2 * (k * large) ** 2)
    return where(x <= 0, 0.0, where(low, -sqrt(2 * pi) * near, -8 * large * far))


def tukey_density(x: Array, lmbda: Array, p: Array) -> Array:
    """Return one over the derivative of the quantile; 0 outside of the support, NaN at its ends."""
    inside = (p > 0) & (p < 1)
    q = where(inside, p, 0.5)
    outside = where(abs_(x * lmbda) == 1, math.nan * exp(x), 0.0)
    return where(inside, 1 / (q ** (lmbda - 1) + (1 - q) ** (lmbda - 1)), outside)


def tukey_lmbda(x: Array, lmbda: Array, p: Array) -> Array:
    """Return the derivative of ``tklmbda`` in lmbda, by that of the quantile."""
    inside = (p > 0) & (p < 1)
    q = where(inside, p, 0.5)

    def part(t: Array) -> Array:
        """Return the derivative of ``expm1(lmbda t) / lmbda``."""
        u = lmbda * t
        near = abs_(u) < 0.3
        small, other = where(near, u, 0.0), where(near, 1.0, u)
        series = jnp.zeros_like(u)
        for k in range(14, -1, -1):
            series = series * small + (k + 1) / math.factorial(k + 2)
        return t * t * where(near, series, (other * exp(other) - jnp.expm1(other)) / other**2)

    return where(inside, part(jnp.log1p(-q)) - part(log(q)), 1.0) * tukey_density(x, lmbda, p)


# The rule

_NUMPY: Final = "exp log sqrt sin cos sinh cosh abs sign floor real imag where"
#: What formulas may name.
_NAMES: Final[dict[str, Any]] = {
    "betainc": _of_pairs(gamma.regularized_incomplete_beta),
    "digamma": special.digamma,
    "erfcx": integrals.erfcx,
    "gammainc": _of_pairs(gamma.igamma),
    "gammaincc": _of_pairs(gamma.igammac),
    "i0": bessel.modified_0,
    "ndtri": integrals.ndtri,
    "wofz": integrals.wofz,
    **{name: getattr(jnp, name) for name in _NUMPY.split()},
    **{name: f for name, f in globals().items() if getattr(f, "__module__", "") == __name__},
    **_F,
    "first_over": bessel.first_over,
    "jnp": jnp,
    "pi": pi,
}


#: Slopes of inverse functions where SciPy clips their results to tiny numbers.
_CLIPPED: Final = {
    **dict.fromkeys(["pdtrik", "bdtrik", "nbdtrik", "chndtrinc", "stdtridf", "fdtridfd"], 0.0),
    **dict.fromkeys(("bdtrin", "nbdtrin"), math.nan),
}
_LEAST: Final = 1e-30


@lru_cache(maxsize=1024)
def _compiled(formula: str) -> CodeType:
    return compile(formula, "<derivative>", "eval")


def _evaluate(formula: str, operands: dict[str, Any]) -> Any:
    return eval(_compiled(formula), {}, ChainMap(operands, _NAMES))


def derivative(
    name: str, position: int, primals: Sequence[Array], outs: Sequence[Array]
) -> Sequence[ArrayLike]:
    """Evaluate the derivatives of a function's results in one operand.

    Raises:
        DifferentiationError: there is none.
    """
    row = TABLE[name]
    parameter = row.parameters[position]
    formula, real_only = row.derivatives.get(parameter, ("", False))
    is_complex = any(dtypes.is_complex(x.dtype) for x in primals)
    if not formula or (real_only and is_complex):
        of = f"{parameter} of complex numbers" if formula else parameter
        raise errors.DifferentiationError(
            f"{name} has no derivative in its argument {of}. Use tinyjax.lax.stop_gradient on it, "
            "or a function with a rule of yours, by tinyjax.custom_jvp."
        )
    operands: dict[str, Any] = dict(zip(row.parameters, primals, strict=True))
    operands["out"] = outs[0] if len(outs) == 1 else tuple(outs)
    found = _evaluate(formula, operands)
    return found if isinstance(found, tuple) else (found,)


def _slope_of(row: Row, position: int, primals: Sequence[Array], out: Array) -> Sequence[ArrayLike]:
    """Return the derivative of a program, or of what solves one, in one operand."""
    operands, names = [*primals, out], (*row.parameters, "out")

    def of_operands(*xs: Array) -> list[Array]:
        return [_evaluate(row.like or row.inverse, dict(zip(names, xs, strict=True)))]

    def slope(i: int) -> prim.Tangent:
        tangents: list[prim.Tangent] = [prim.ZERO] * len(operands)
        tangents[i] = jnp.ones_like(operands[i])
        return jvp_flat(of_operands, operands, tangents)[1][0]

    along = slope(position)
    if not row.inverse:
        return [0.0 if along is prim.ZERO else along]
    steepness = rules.instantiate(slope(len(primals)), out)
    return [1 / steepness if along is prim.ZERO else -along / steepness]


def _trace_of_primals() -> tr.Trace:
    """Return the trace below linearizations, which pass on what is computed of primals alone."""
    trace = tr.current_trace()
    while isinstance(trace, LinearTrace) and trace.parent is not None:
        trace = trace.parent
    return trace


@host.host_ufunc_p.def_jvp
def _jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: host.HostUfuncParams
) -> prim.JvpResult:
    outs, name = tr.bind(host.host_ufunc_p, primals, params), params.name
    row = TABLE[name]
    totals: list[prim.Tangent] = [prim.ZERO] * len(outs)
    for i, t in enumerate(tangents):
        if t is not prim.ZERO:
            with tr.use_trace(_trace_of_primals()):
                slopes = (
                    _slope_of(row, i, primals, outs[0])
                    if row.like or row.inverse
                    else derivative(name, i, primals, outs)
                )
                if name in _CLIPPED:
                    slopes = [
                        where(outs[0] < _LEAST, jnp.multiply(_CLIPPED[name], x), x) for x in slopes
                    ]
            for j, slope in enumerate(slopes):
                part = jnp.multiply(t, slope)
                part = ew.convert_element_type(part, outs[j].dtype, outs[j].weak_type)
                totals[j] = rules.add_tangents(totals[j], part)
    return outs, totals
