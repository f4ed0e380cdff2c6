"""GradBench's further problems: sums, an ordinary differential equation, and nested searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from benchmarks.adbench.problem import (
    Data,
    Library,
    Loss,
    Problem,
    generator,
    gradient_of,
    normal,
)
from benchmarks.adbench.vision import log_sum_exp

# Sums


def _log_sum_exp(xp: Any) -> Loss:
    return lambda x: log_sum_exp(xp, x)


def log_sum_exp_data(size: int = 100_000) -> Data:
    return (normal(generator(), size),)


def least_squares(xp: Any) -> Loss:
    """Half the squared error of a polynomial that follows signs."""
    return lambda x, powers, signs: 0.5 * xp.sum((signs - powers @ x) ** 2)


def least_squares_data(coefficients: int = 128, points: int = 4096) -> Data:
    t = np.linspace(-1, 1, points)
    powers = np.vander(t, coefficients, increasing=True)
    return (
        normal(generator(), coefficients),
        powers.astype(np.float32),
        np.sign(t).astype(np.float32),
    )


def clustering(lib: Library) -> Loss:
    """Newton's direction for k-means: the gradient over the Hessian, which is diagonal."""
    jnp = lib.numpy

    def cost(centres: Any, points: Any) -> Any:
        apart = jnp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=-1)
        return jnp.sum(jnp.min(apart, axis=1))

    def direction(centres: Any, points: Any) -> Any:
        gradient = lib.grad(lambda c: cost(c, points))
        slope, curvature = lib.jvp(gradient, (centres,), (jnp.ones_like(centres),))
        return slope / curvature

    return direction


def clustering_data(count: int = 10, points: int = 10_000, size: int = 8) -> Data:
    points_drawn = normal(generator(), points, size)
    return points_drawn[:count], points_drawn


# Determinants


def determinant(xp: Any) -> Loss:
    """The determinant by expansion along the first row, as recursive Python."""

    def expanded(rows: list[list[Any]]) -> Any:
        if len(rows) == 1:
            return rows[0][0]
        total: Any = 0.0
        for i, entry in enumerate(rows[0]):
            minor = [row[:i] + row[i + 1 :] for row in rows[1:]]
            total = total + (-1) ** i * entry * expanded(minor)
        return total

    def loss(matrix: Any) -> Any:
        size = matrix.shape[0]
        return expanded([[matrix[i, j] for j in range(size)] for i in range(size)])

    return loss


def determinant_data(size: int = 5) -> Data:
    return (normal(generator(), size, size),)


# An ordinary differential equation


def equation(lib: Library) -> Loss:
    """The last component, at time one, of a system by the classical Runge-Kutta method."""
    jnp = lib.numpy

    def solved(x: Any, times: Any) -> Any:
        sums = jnp.cumsum(x[1:])
        length = times[1] - times[0]

        def slope(y: Any) -> Any:
            return jnp.concatenate([x[:1], sums * y[:-1]])

        def step(y: Any, _: Any) -> Any:
            k1 = slope(y)
            k2 = slope(y + length / 2 * k1)
            k3 = slope(y + length / 2 * k2)
            k4 = slope(y + length * k3)
            return y + length / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        return lib.lax.scan(step, jnp.zeros_like(x), times[1:])[0][-1]

    return solved


def equation_data(size: int = 10, steps: int = 1000) -> Data:
    x = np.linspace(0.5, 1.5, size).astype(np.float32)
    return x, np.linspace(0, 1, steps + 1).astype(np.float32)


# Searches around searches

#: Where a search ends: so short a gradient, or so short a step, in single precision.
_FLAT: Final = 1e-3
_CLOSE: Final = 1e-5
#: The first step, as a share of the gradient.
_FIRST: Final = 1e-4
#: After so many steps in a row that were good, they are made twice as long.
_GOOD: Final = 10


def _gradient(lib: Library, forward: bool) -> Callable[[Loss], Loss]:
    derivative: Callable[[Loss], Loss] = lib.jacfwd if forward else lib.grad
    return derivative


def minimum(lib: Library, gradient: Callable[[Loss], Loss], fun: Loss, start: Any) -> Any:
    """Descend along gradients, by steps whose length follows success, until little changes."""
    jnp = lib.numpy
    slope = gradient(fun)

    def size(x: Any) -> Any:
        return jnp.sqrt(jnp.sum(x**2))

    def unfinished(state: Any) -> Any:
        return ~state[-1]

    def step(state: Any) -> Any:
        x, value, increment, length, good, _ = state
        longer = good == _GOOD
        length, good = jnp.where(longer, 2 * length, length), jnp.where(longer, 0, good)
        following = x - length * increment
        value_there = fun(following)
        better = value_there < value
        x_next = jnp.where(better, following, x)
        converged = (size(increment) <= _FLAT) | (size(x - following) <= _CLOSE)
        return (
            x_next,
            jnp.where(better, value_there, value),
            slope(x_next),
            jnp.where(better, length, length / 2),
            jnp.where(better, good + 1, 0),
            converged,
        )

    state = (start, fun(start), slope(start), jnp.float32(_FIRST), jnp.int32(0), jnp.bool_(False))
    return lib.lax.while_loop(unfinished, step, state)[0]


def saddle(lib: Library, forward: bool = True) -> Loss:
    """The least of largest values of a quadratic, by a search around a search."""
    jnp = lib.numpy
    gradient = _gradient(lib, forward)

    def quadratic(x: Any, y: Any) -> Any:
        return jnp.sum(x**2) - jnp.sum(y**2)

    def solved(start: Any) -> Any:
        def largest(x: Any) -> Any:
            return minimum(lib, gradient, lambda y: -quadratic(x, y), start)

        x = minimum(lib, gradient, lambda x: quadratic(x, largest(x)), start)
        return x, largest(x)

    return solved


def saddle_data() -> Data:
    return (np.ones(2, np.float32),)


def landing(lib: Library, forward: bool) -> Loss:
    """Make the loss of a charge's position: the square of where a particle crosses the axis."""
    jnp = lib.numpy
    length = 0.1

    def potential(x: Any, w: Any) -> Any:
        charges = jnp.stack([jnp.stack([10.0 + 0 * w, 10.0 - w]), jnp.stack([10.0 + 0 * w, 0 * w])])
        return jnp.sum(1 / jnp.sqrt(jnp.sum((x - charges) ** 2, axis=1)))

    def squared(w: Any) -> Any:
        force = _gradient(lib, forward)(lambda x: -potential(x, w[0]))

        def step(state: Any) -> Any:
            x, v = state
            return x + length * v, v + length * force(x)

        start = (jnp.array([0.0, 8.0]) + 0 * w, jnp.array([0.75, 0.0]) + 0 * w)
        x, v = lib.lax.while_loop(lambda s: s[0][1] + length * s[1][1] > 0, step, start)
        crossing = x[0] - x[1] / v[1] * v[0]
        return crossing**2

    return squared


def particle(lib: Library, outer_forward: bool = True, inner_forward: bool = True) -> Loss:
    """The position of a charge for which the particle ends in the origin, by a search."""
    return lambda start: minimum(
        lib, _gradient(lib, outer_forward), landing(lib, inner_forward), start
    )


def particle_data() -> Data:
    return (np.zeros(1, np.float32),)


NUMERICS: Final = (
    gradient_of("log-sum-exp", _log_sum_exp, log_sum_exp_data),
    gradient_of("least squares", least_squares, least_squares_data),
    Problem("k-means, Newton's direction", clustering, clustering_data),
    gradient_of("determinant by minors", determinant, determinant_data),
    Problem("ODE", lambda lib: lib.grad(equation(lib)), equation_data),
    Problem("saddle point", saddle, saddle_data),
    Problem("particle", particle, particle_data),
)
