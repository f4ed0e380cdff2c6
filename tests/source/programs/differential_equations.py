"""Differential equations by steps."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from programs.table import Floats, Program

Field = Callable[[float, float], float]


def euler(rate: float) -> float:
    y, t = 1.0, 0.0
    while t < 1 - 1e-9:
        y, t = y + 0.05 * (-rate * y + math.sin(t)), t + 0.05
    return y


def heun(rate: float, start: float) -> float:
    def field(y: float) -> float:
        return rate * y * (1 - y)

    y, h = start, 0.1
    for _ in range(20):
        predicted = y + h * field(y)
        y = y + h / 2 * (field(y) + field(predicted))
    return y


def runge_kutta_step(field: Field, t: float, y: float, h: float) -> float:
    a = field(t, y)
    b = field(t + h / 2, y + h / 2 * a)
    c = field(t + h / 2, y + h / 2 * b)
    d = field(t + h, y + h * c)
    return y + h / 6 * (a + 2 * b + 2 * c + d)


def runge_kutta_4(rate: float) -> float:
    y, steps = 1.0, 12
    for k in range(steps):
        y = runge_kutta_step(lambda t, y: math.cos(t) - rate * y, k / steps, y, 1 / steps)
    return y


def adaptive_steps(rate: float) -> float:
    """Heun's method with Euler's inside, whose difference chooses the step."""
    t, y, h, rejected = 0.0, 1.0, 0.2, 0
    while t < 1.0:
        h = min(h, 1.0 - t)
        a = -rate * y + t
        b = -rate * (y + h * a) + t + h
        error = abs(h / 2 * (b - a))
        if error > 0.02:
            h /= 2
            rejected += 1
            continue
        t, y = t + h, y + h / 2 * (a + b)
        if error < 0.002:
            h *= 2
    return y + 0.01 * rejected


def pendulum(length: float) -> float:
    """Leapfrog steps of a pendulum until it comes back."""
    angle, speed, h = 0.8, 0.0, 0.05
    for _ in range(1000):
        speed = speed - h / 2 * 9.81 / length * math.sin(angle)
        angle = angle + h * speed
        speed = speed - h / 2 * 9.81 / length * math.sin(angle)
        if angle < 0:
            return speed
    return 0.0


def lorenz(sigma: float, rho: float) -> float:
    x, y, z = 1.0, 1.0, 1.0
    for _ in range(40):
        dx, dy, dz = sigma * (y - x), x * (rho - z) - y, x * y - 8 / 3 * z
        x, y, z = x + 0.01 * dx, y + 0.01 * dy, z + 0.01 * dz
    return x + y * z


def bodies(mass: float) -> float:
    """Three bodies in two dimensions, by symplectic Euler steps."""
    masses = (1.0, mass, 0.5)
    places = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.5)]
    speeds = [(0.0, 0.1), (0.0, 0.8), (0.7, 0.0)]
    for _ in range(6):
        following: list[tuple[float, float]] = []
        for i, (x, y) in enumerate(places):
            ax, ay = 0.0, 0.0
            for j, (u, v) in enumerate(places):
                if i == j:
                    continue
                dx, dy = u - x, v - y
                cube = (dx * dx + dy * dy) ** 1.5
                ax += masses[j] * dx / cube
                ay += masses[j] * dy / cube
            following = [*following, (speeds[i][0] + 0.02 * ax, speeds[i][1] + 0.02 * ay)]
        speeds = following
        places = [
            (x + 0.02 * u, y + 0.02 * v) for (x, y), (u, v) in zip(places, speeds, strict=True)
        ]
    return sum(x * x + 2 * y for x, y in places)


def bouncing_ball(restitution: float) -> float:
    height, speed, energy = 1.0, 0.0, 0.0
    bounces = 0
    h = 0.02
    while bounces < 3:
        if height + h * speed < 0:
            part = height / -speed
            speed = restitution * -(speed - 9.81 * part)
            height = speed * (h - part)
            bounces += 1
            energy = energy + speed**2
        else:
            height, speed = height + h * speed, speed - 9.81 * h
    return energy


def implicit_euler(stiffness: float) -> float:
    """Each step is an equation, solved by Newton's method."""
    y, h = 2.0, 0.1
    for _ in range(5):
        z = y
        while True:
            gap = z - y + h * stiffness * z**3
            if abs(gap) < 1e-13:
                break
            z = z - gap / (1 + 3 * h * stiffness * z * z)
        y = z
    return y


def adams_bashforth(rate: float) -> float:
    def slope(y: float) -> float:
        return y * (rate - y)

    h, y = 0.1, 0.2
    history: list[float] = []
    for k in range(12):
        history = [*history, slope(y)][-2:]
        if k == 0:
            y = y + h * history[0]
        else:
            before, now = history
            y = y + h * (1.5 * now - 0.5 * before)
    return y


def predator_prey(a: float, b: float) -> Any:
    state = np.array([1.0, 0.5])

    def field(s: Floats) -> Floats:
        return np.stack([a * s[0] - s[0] * s[1], b * s[0] * s[1] - s[1]])

    for _ in range(10):
        k1 = field(state)
        k2 = field(state + 0.05 * k1)
        state = state + 0.1 * k2
    return np.prod(state)


def heat(u: Floats, conductivity: float) -> Any:
    for _ in range(8):
        inside = u[1:-1] + conductivity * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = np.concatenate([u[:1], inside, u[-1:]])
    return u @ u


def shooting(target: float) -> float:
    """The speed to start with so that a path ends at a height, by the secant method."""

    def end(speed: float) -> float:
        y, v = 0.0, speed
        for _ in range(10):
            y, v = y + 0.1 * v, v - 0.1 * (1.0 + 0.2 * y * y)
        return y

    s0, s1 = 1.0, 2.0
    f0, f1 = end(s0) - target, end(s1) - target
    for _ in range(20):
        if abs(f1) < 1e-13:
            break
        s0, s1 = s1, s1 - f1 * (s1 - s0) / (f1 - f0)
        f0, f1 = f1, end(s1) - target
    return s1


def epidemic(contact: float, recovery: float) -> float:
    s, i, r = 0.99, 0.01, 0.0
    peak = i
    for day in range(30):
        rate = contact * (0.4 if 10 <= day < 20 else 1.0)
        new, gone = rate * s * i, recovery * i
        s, i, r = s - new, i + new - gone, r + gone
        peak = max(peak, i)
    return peak + r


def oscillator(damping: float) -> float:
    """Van der Pol's oscillator: the time of the second crossing, to first order."""
    x, v, t, crossings = 2.0, 0.0, 0.0, 0
    h, t_cross = 0.02, 0.0
    while crossings < 2:
        before = x
        x, v = x + h * v, v + h * (damping * (1 - x * x) * v - x)
        t += h
        if before * x < 0:
            crossings += 1
            t_cross = t - h * x / (x - before)
    return t_cross


PROGRAMS = (
    Program(euler, (0.7,), (3.0,)),
    Program(heun, (0.7, 0.1), (2.0, 0.3), argnums=(0, 1)),
    Program(runge_kutta_4, (0.7,), (3.0,)),
    Program(adaptive_steps, (0.7,), (3.0,)),
    Program(pendulum, (0.7,), (1.3,)),
    Program(lorenz, (10.0, 28.0), argnums=(0, 1), curved=False),
    Program(bodies, (0.7,), (1.5,)),
    Program(bouncing_ball, (0.74,), (0.91,)),
    Program(implicit_euler, (0.7,), (2.0,)),
    Program(adams_bashforth, (0.7,), (2.0,)),
    Program(predator_prey, (0.7, 0.5), argnums=(0, 1)),
    Program(heat, (np.array([0.0, 1.0, 0.5, 2.0, 1.0, 0.0]), 0.2), argnums=(0, 1)),
    Program(shooting, (0.7,), (1.0,), curved=False),
    Program(epidemic, (0.5, 0.1), (0.8, 0.2), argnums=(0, 1)),
    Program(oscillator, (0.7,), (1.3,)),
)
