"""Integrals and limits."""

import math
from collections.abc import Callable

from programs.table import Program

Function = Callable[[float], float]


def trapezoid(a: float) -> float:
    n, total = 20, 0.0
    for i in range(n + 1):
        x = i / n
        weight = 0.5 if i in (0, n) else 1.0
        total += weight * math.exp(-a * x * x)
    return total / n


def simpson(end: float) -> float:
    n = 10
    h = end / n
    total = math.sin(0.0) + math.sin(end**2)
    for i in range(1, n):
        total += (4 if i % 2 else 2) * math.sin((i * h) ** 2)
    return total * h / 3


def adaptive_simpson(a: float) -> float:
    def f(x: float) -> float:
        return 1 / (a + x * x)

    def rule(low: float, right: float) -> float:
        middle = (low + right) / 2
        return (right - low) / 6 * (f(low) + 4 * f(middle) + f(right))

    def integrate(low: float, right: float, whole: float, depth: int) -> float:
        middle = (low + right) / 2
        first, second = rule(low, middle), rule(middle, right)
        gap = first + second - whole
        if depth == 0 or abs(gap) < 1e-5:
            return first + second + gap / 15
        return integrate(low, middle, first, depth - 1) + integrate(
            middle, right, second, depth - 1
        )

    return integrate(0.0, 2.0, rule(0.0, 2.0), 8)


def romberg(a: float) -> float:
    def f(x: float) -> float:
        return math.cos(a * x) * x

    h, row = 1.0, [(f(0.0) + f(1.0)) / 2]
    for level in range(1, 6):
        h = h / 2
        points = [f((2 * k + 1) * h) for k in range(2 ** (level - 1))]
        following = [row[0] / 2 + h * sum(points)]
        for k, above in enumerate(row):
            following = [*following, following[k] + (following[k] - above) / (4 ** (k + 1) - 1)]
        if abs(following[-1] - row[-1]) < 1e-12:
            return following[-1]
        row = following
    return row[-1]


def gauss_legendre(low: float, high: float) -> float:
    points = (
        (0.0, 128 / 225),
        (math.sqrt(5 - 2 * math.sqrt(10 / 7)) / 3, (322 + 13 * math.sqrt(70)) / 900),
        (math.sqrt(5 + 2 * math.sqrt(10 / 7)) / 3, (322 - 13 * math.sqrt(70)) / 900),
    )
    middle, half = (low + high) / 2, (high - low) / 2
    total = 0.0
    for point, weight in points:
        for sign in (-1, 1):
            total += weight * math.log(1 + (middle + sign * half * point) ** 2)
            if point == 0:
                break
    return half * total


def monte_carlo(radius: float) -> float:
    """Random numbers of a linear congruential generator."""
    state, total = 12345, 0.0
    for _ in range(40):
        state = (1103515245 * state + 12345) % 2**31
        x = state / 2**31
        state = (1103515245 * state + 12345) % 2**31
        y = state / 2**31
        distance = math.sqrt((radius * x) ** 2 + y * y)
        if distance < 1:
            total += 1 - distance
    return total / 40


def quadtree(a: float) -> float:
    """A square is divided where the function bends."""

    def f(x: float, y: float) -> float:
        return math.exp(-a * (x * x + y)) * y

    def integrate(x: float, y: float, side: float, depth: int) -> float:
        half = side / 2
        centre = f(x + half, y + half)
        corners = (f(x, y) + f(x + side, y) + f(x, y + side) + f(x + side, y + side)) / 4
        if depth == 0 or abs(centre - corners) < 0.03:
            return side * side * (2 * centre + corners) / 3
        return sum(
            integrate(x + i * half, y + j * half, half, depth - 1) for i in (0, 1) for j in (0, 1)
        )

    return integrate(0.0, 0.0, 1.0, 3)


def double_integral(a: float) -> float:
    total = 0.0
    for i in range(6):
        x = (i + 0.5) / 6
        for j in range(6):
            y = (j + 0.5) / 6
            if y > x:
                break
            total = total + math.sin(a * x * y) / 36
    return total


def richardson(x: float) -> float:
    """A derivative of a function by extrapolation; its own derivative is the second."""

    def f(t: float) -> float:
        return math.sin(t) * t

    def central(h: float) -> float:
        return (f(x + h) - f(x - h)) / (2 * h)

    table = [central(0.2)]
    for i in range(1, 4):
        row = [central(0.2 / 2**i)]
        for j in range(i):
            row = [*row, row[j] + (row[j] - table[j]) / (4 ** (j + 1) - 1)]
        table = row
    return table[-1]


def arithmetic_geometric(a: float, b: float) -> float:
    while abs(a - b) > 1e-15 * a:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return a


def aitken(x: float) -> float:
    """Leibniz' series, accelerated."""
    sums: list[float] = []
    total, sign = 0.0, 1.0
    for k in range(7):
        total += sign * x ** (2 * k + 1) / (2 * k + 1)
        sums, sign = [*sums, total], -sign
    while len(sums) > 2:
        sums = [
            c - (c - b) ** 2 / (c - 2 * b + a)
            for a, b, c in zip(sums, sums[1:], sums[2:], strict=False)
        ]
    return sums[-1]


def double_exponential(a: float) -> float:
    total, h = 0.0, 0.25
    for k in range(-10, 11):
        t = k * h
        x = math.tanh(math.pi / 2 * math.sinh(t))
        weight = math.pi / 2 * math.cosh(t) / math.cosh(math.pi / 2 * math.sinh(t)) ** 2
        if weight < 1e-12:
            continue
        total += weight * math.exp(a * x)
    return h * total


PROGRAMS = (
    Program(trapezoid, (0.7,), (2.0,)),
    Program(simpson, (0.7,), (1.6,)),
    Program(adaptive_simpson, (0.7,), (0.05,)),
    Program(romberg, (0.7,), (3.0,)),
    Program(gauss_legendre, (0.1, 1.2), argnums=(0, 1)),
    Program(monte_carlo, (0.7,), (1.6,)),
    Program(quadtree, (0.7,), (3.0,)),
    Program(double_integral, (0.7,), (3.0,)),
    Program(richardson, (0.7,), (3.0,)),
    Program(arithmetic_geometric, (0.7, 1.9), argnums=(0, 1)),
    Program(aitken, (0.7,), (0.9,)),
    Program(double_exponential, (0.7,), (2.0,)),
)
