"""Polynomials, series and interpolation."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from programs.table import Floats, Program


def horner(x: float) -> float:
    value = 0.0
    for c in (2.0, -1.0, 0.5, 3.0):
        value = value * x + c
    return value


def horner_coefficients(coefficients: Floats, x: float) -> float:
    value = slope = 0.0
    for c in coefficients:
        slope = slope * x + value
        value = value * x + c
    return value * slope


def chebyshev(x: float) -> float:
    """Clenshaw's recurrence."""
    b, b_next = 0.0, 0.0
    for c in reversed([0.3, 1.0, -0.5, 0.2, 0.1]):
        b, b_next = 2 * x * b - b_next + c, b
    return b - x * b_next


def de_casteljau(t: float, height: float) -> float:
    points = [(0.0, 0.0), (1.0, height), (2.0, -height), (3.0, 1.0)]
    while len(points) > 1:
        points = [
            ((1 - t) * a + t * c, (1 - t) * b + t * d)
            for (a, b), (c, d) in itertools.pairwise(points)
        ]
    ((x, y),) = points
    return x * y


def natural_spline(x: float, knot: float) -> float:
    xs = (0.0, 1.0, 2.5, 4.0)
    ys = (0.0, knot, 1.0, -knot)
    h = [b - a for a, b in itertools.pairwise(xs)]
    slopes = [(ys[i + 1] - ys[i]) / h[i] for i in range(3)]
    p, q = 2 * (h[0] + h[1]), 2 * (h[1] + h[2])
    r, s = 6 * (slopes[1] - slopes[0]), 6 * (slopes[2] - slopes[1])
    det = p * q - h[1] ** 2
    bends = [0.0, (r * q - h[1] * s) / det, (p * s - h[1] * r) / det, 0.0]
    i = 0
    while i < 2 and x > xs[i + 1]:
        i += 1
    a, b = (xs[i + 1] - x) / h[i], (x - xs[i]) / h[i]
    return (
        a * ys[i]
        + b * ys[i + 1]
        + ((a**3 - a) * bends[i] + (b**3 - b) * bends[i + 1]) * h[i] ** 2 / 6
    )


def lagrange(x: float) -> float:
    xs, ys = (0.0, 1.0, 3.0, 4.0), (1.0, 2.0, 0.0, 5.0)
    total = 0.0
    for i, a in enumerate(xs):
        term = ys[i]
        for j, b in enumerate(xs):
            if i != j:
                term *= (x - b) / (a - b)
        total += term
    return total


def divided_differences(y: Floats, x: float) -> Any:
    xs = (0.0, 1.0, 3.0, 4.0)
    row = list(y)
    result, factor = row[0], 1.0
    for k in range(1, 4):
        row = [(row[i + 1] - row[i]) / (xs[i + k] - xs[i]) for i in range(len(row) - 1)]
        factor *= x - xs[k - 1]
        result += row[0] * factor
    return result


def neville(x: float) -> float:
    xs = [0.0, 1.0, 3.0, 4.0]
    p = [math.sin(t) for t in xs]
    for k in range(1, 4):
        p = [
            ((x - xs[i + k]) * p[i] + (xs[i] - x) * p[i + 1]) / (xs[i] - xs[i + k])
            for i in range(4 - k)
        ]
    return p[0]


def continued_fraction(x: float) -> float:
    """Lentz' algorithm for the tangent."""
    tiny = 1e-30
    f, c, d = tiny, tiny, 0.0
    for k in range(1, 40):
        a = x if k == 1 else -x * x
        b = 2.0 * k - 1
        d = b + a * d
        d = tiny if d == 0 else d
        c = b + a / c
        c = tiny if c == 0 else c
        d = 1 / d
        delta = c * d
        f = f * delta
        if abs(delta - 1) < 1e-15:
            break
    return f


def legendre(x: float, degree: int) -> float:
    if degree == 0:
        return 1.0
    before, now = 1.0, x
    for n in range(1, degree):
        before, now = now, ((2 * n + 1) * x * now - n * before) / (n + 1)
    return now


def sine_series(x: float) -> float:
    term = total = x
    n = 1
    while abs(term) > 1e-17:
        term = -term * x * x / ((n + 1) * (n + 2))
        total += term
        n += 2
    return total


def bessel(x: float) -> float:
    total, k = 0.0, 0
    while True:
        term = (-1) ** k * (x / 2) ** (2 * k) / float(math.factorial(k)) ** 2
        if abs(term) < 1e-18:
            return total
        total, k = total + term, k + 1


def error_function(x: float) -> float:
    if x < 0:
        return -error_function(-x)
    if x > 6:
        return 1.0
    total = term = x
    for n in range(1, 200):
        term *= -x * x / n
        total += term / (2 * n + 1)
        if abs(term) < 1e-17:
            break
    return 2 / math.sqrt(math.pi) * total


def gamma_lanczos(z: float) -> Any:
    if z < 0.5:
        return math.pi / (math.sin(math.pi * z) * gamma_lanczos(1 - z))
    z = z - 1
    coefficients = (676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059)
    a = 0.99999999999980993
    for i, c in enumerate(coefficients):
        a = a + c / (z + i + 1)
    t = z + 7.5
    return math.sqrt(2 * math.pi) * t ** (z + 0.5) * math.exp(-t) * a


def zeta(s: float) -> Any:
    n = 12
    total = sum(k**-s for k in range(1, n))
    return total + n ** (1 - s) / (s - 1) + n**-s / 2 + s * n ** (-s - 1) / 12


def synthetic_division(root: float) -> float:
    def divide(p: Sequence[float], r: float) -> tuple[list[float], float]:
        quotient = [p[0]]
        for c in p[1:]:
            quotient = [*quotient, c + r * quotient[-1]]
        return quotient[:-1], quotient[-1]

    p, remainder = divide((1.0, -6.0, 11.0, -6.5), root)
    _, slope = divide(p, root)
    return root - remainder / slope


def piecewise_linear(x: float, ys: Floats) -> Any:
    xs = (0.0, 0.5, 1.0, 2.0, 4.0)
    low, high = 0, len(xs) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if xs[middle] <= x else (low, middle)
    share = (x - xs[low]) / (xs[high] - xs[low])
    return ys[low] + share * (ys[high] - ys[low])


def catmull_rom(points: Floats, t: float) -> Any:
    i = int(t)
    u = t - i
    p0, p1, p2, p3 = points[i], points[i + 1], points[i + 2], points[i + 3]
    curve = 0.5 * (
        2 * p1 + (p2 - p0) * u + (2 * p0 - 5 * p1 + 4 * p2 - p3) * u**2
        + (3 * p1 - p0 - 3 * p2 + p3) * u**3
    )  # fmt: skip
    return curve[0] * curve[1]


Y = np.array([0.3, 1.2, -0.4, 0.8, 0.1])

PROGRAMS = (
    Program(horner, (0.7,), (-2.0,)),
    Program(horner_coefficients, (Y, 0.7), argnums=(0, 1)),
    Program(chebyshev, (0.7,), (-0.2,)),
    Program(de_casteljau, (0.7, 1.5), argnums=(0, 1)),
    Program(natural_spline, (0.7, 1.5), (3.1, 0.4), argnums=(0, 1)),
    Program(lagrange, (0.7,), (2.0,)),
    Program(divided_differences, (Y[:4], 0.7), argnums=(0, 1)),
    Program(neville, (0.7,), (2.0,)),
    Program(continued_fraction, (0.7,), (1.2,)),
    Program(legendre, (0.7, 5), (0.3, 1), (0.2, 0)),
    Program(sine_series, (0.7,), (4.0,)),
    Program(bessel, (0.7,), (4.0,)),
    Program(error_function, (0.7,), (-1.4,), (7.0,)),
    Program(gamma_lanczos, (2.7,), (0.3,)),
    Program(zeta, (2.7,), (1.4,)),
    Program(synthetic_division, (0.7,), (3.3,)),
    Program(piecewise_linear, (0.7, Y), (3.0, Y), argnums=(0, 1)),
    Program(catmull_rom, (np.sin(np.arange(12.0)).reshape(6, 2), 1.3), argnums=(0, 1)),
)
