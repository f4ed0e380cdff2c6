"""Lorenz's attractor by 2,000 steps of Runge and Kutta, twice."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show


def slope(y):
    return jnp.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


def step(y, _):
    h = 0.0025
    k1 = slope(y)
    k2 = slope(y + h / 2 * k1)
    k3 = slope(y + h / 2 * k2)
    k4 = slope(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None


run = jax.jit(lambda y: lax.scan(step, y, None, length=2000)[0])
show("ends", jnp.stack([run(np.full(3, s, np.float32)) for s in (1.0, 1.0)]))
