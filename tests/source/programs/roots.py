"""Roots, fixed points and minima by iteration."""

import math
from collections.abc import Callable

from programs.table import Program


def newton_root(x: float) -> float:
    y = x
    while True:
        step = (y * y - x) / (2 * y)
        if abs(step) < 1e-13:
            return y
        y = y - step


def newton_guarded(a: float) -> float:
    """Newton's iteration with every way of leaving a loop, and a function inside."""

    def residual(x: float) -> float:
        return x**3 + a * x - 2

    x = 1.0
    for turn in range(60):
        if turn == 0:
            x = x + 0.25
            continue
        slope = 3 * x * x + a
        if abs(slope) < 1e-12:
            return x
        step = residual(x) / slope
        while abs(step) > 1:
            step = step / 2
        x -= step
        if abs(step) < 1e-14:
            break
    return x


def bisection_polished(a: float) -> float:
    low, high = 0.0, 3.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if middle * math.exp(middle) < a:
            low = middle
        else:
            high = middle
    x = (low + high) / 2
    return x - (x * math.exp(x) - a) / (math.exp(x) * (1 + x))


def secant(a: float) -> float:
    x0, x1 = 0.5, 1.0
    f0, f1 = math.cos(x0) - a * x0, math.cos(x1) - a * x1
    for _ in range(30):
        if abs(f1) < 1e-13:
            break
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
        f0, f1 = f1, math.cos(x1) - a * x1
    return x1


def false_position(a: float) -> float:
    def f(x: float) -> float:
        return x**3 - a

    low, high = 0.0, 3.0
    at_low, at_high = f(low), f(high)
    side = 0
    x = low
    for _ in range(80):
        x = (low * at_high - high * at_low) / (at_high - at_low)
        at_x = f(x)
        if abs(at_x) < 1e-13:
            break
        if at_x * at_high > 0:
            high, at_high = x, at_x
            if side == -1:
                at_low = at_low / 2
            side = -1
        else:
            low, at_low = x, at_x
            if side == 1:
                at_high /= 2
            side = 1
    return x


def halley(a: float) -> float:
    x, change = 1.0, 1.0
    while abs(change) > 1e-12:
        f, slope, bend = x**3 - a, 3 * x * x, 6 * x
        change = 2 * f * slope / (2 * slope**2 - f * bend)
        x = x - change
    return x


def kepler(eccentricity: float, anomaly: float) -> float:
    e = anomaly
    for _ in range(200):
        following = anomaly + eccentricity * math.sin(e)
        if abs(following - e) < 1e-15:
            return following
        e = following
    return e


def steffensen(a: float) -> float:
    x = 0.7
    for _ in range(3):
        x1 = math.exp(-a * x)
        x2 = math.exp(-a * x1)
        bend = x2 - 2 * x1 + x
        if bend == 0:
            break
        x = x - (x1 - x) ** 2 / bend
    return x


def cube_root(x: float) -> float:
    sign = 1.0
    if x < 0:
        sign, x = -1.0, -x
    guess = x if x > 1 else 1.0
    count = 0
    while count < 40 and not abs(guess**3 - x) < 1e-13 * x:
        guess = (2 * guess + x / guess**2) / 3
        count += 1
    return sign * guess


def golden_section(a: float) -> float:
    """The least value, whose derivative is that at the place of the minimum."""

    def cost(x: float) -> float:
        return (x - a) ** 2 + 0.3 * a * math.sin(3 * x)

    ratio = (math.sqrt(5) - 1) / 2
    low, high = -1.0, 2.0
    c, d = high - ratio * (high - low), low + ratio * (high - low)
    while abs(high - low) > 0.05:
        if cost(c) < cost(d):
            high = d
        else:
            low = c
        c, d = high - ratio * (high - low), low + ratio * (high - low)
    return cost((low + high) / 2)


def gradient_descent(a: float, rate: float) -> float:
    x, y = 1.0, -1.0
    for _ in range(25):
        slope_x = 2 * (x - a) + y
        slope_y = 4 * y + x
        if slope_x**2 + slope_y**2 < 1e-20:
            break
        x, y = x - rate * slope_x, y - rate * slope_y
    return x * y + x


def newton_system(a: float, b: float) -> float:
    x, y = 2.0, 0.5
    error = 1.0
    while error > 1e-13:
        f, g = x * x + y * y - a, x * y - b
        det = 2 * x * x - 2 * y * y
        dx, dy = (f * x - g * 2 * y) / det, (g * 2 * x - f * y) / det
        x, y = x - dx, y - dy
        error = max(abs(dx), abs(dy))
    return x + 2 * y


def lambert(z: float) -> float:
    w = math.log(1 + z)
    for _ in range(100):
        e = math.exp(w)
        gap = w * e - z
        new = w - gap / (e * (w + 1) - (w + 2) * gap / (2 * w + 2))
        if abs(new - w) <= 1e-14 * abs(new):
            return new
        w = new
    raise ArithmeticError(f"no convergence at {z}")


def bracketed(a: float) -> float:
    """Newton's method kept inside an interval by bisection."""
    low, high, x = 0.0, 4.0, 2.0
    f: Callable[[float], float] = lambda t: t * t * t - a * t - 1  # noqa: E731
    for _ in range(60):
        value, slope = f(x), 3 * x * x - a
        if value > 0:
            high = x
        else:
            low = x
        newton = x - value / slope if slope != 0 else low
        moved = newton if low < newton < high else (low + high) / 2
        if abs(moved - x) < 1e-14:
            break
        x = moved
    else:
        return -1.0
    return x


def line_search(a: float) -> float:
    """Steepest descent that halves its step until the value falls."""

    def f(x: float) -> float:
        return (x * x - a) ** 2 + x

    x = 1.5
    for _ in range(6):
        slope = 4 * x * (x * x - a) + 1
        step = 0.5
        while f(x - step * slope) > f(x) - 0.1 * step * slope**2 and step > 1e-8:
            step /= 2
        x = x - step * slope
    return f(x)


PROGRAMS = (
    Program(newton_root, (2.0,), (0.3,), (9.0,)),
    Program(newton_guarded, (1.0,), (0.2,), (-1.4,)),
    Program(bisection_polished, (1.0,), (2.5,), curved=False),
    Program(secant, (1.0,), (2.0,), (0.6,)),
    Program(false_position, (2.0,), (9.0,)),
    Program(halley, (2.0,), (5.0,)),
    Program(kepler, (0.3, 1.2), (0.6, 2.0), argnums=(0, 1)),
    Program(steffensen, (0.8,), (1.3,)),
    Program(cube_root, (2.0,), (-0.4,)),
    Program(golden_section, (0.5,), (0.9,)),
    Program(gradient_descent, (0.7, 0.1), (-0.4, 0.2), argnums=(0, 1)),
    Program(newton_system, (5.0, 1.5), (4.0, 0.7), argnums=(0, 1)),
    Program(lambert, (1.0,), (4.0,)),
    Program(bracketed, (1.0,), (2.5,)),
    Program(line_search, (1.1,), (0.4,)),
)
