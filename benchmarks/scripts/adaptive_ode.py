"""A stiff oscillator by an adaptive integrator, for many stiffnesses."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, load, show

odeint = load("experimental.ode").odeint


def slope(y, t, mu):
    return jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


@jax.jit
def last(mu):
    start = jnp.array([2.0, 0.0])
    return odeint(slope, start, np.linspace(0, 20, 50, dtype=np.float32), mu)[-1, 0]


show("last", jnp.stack([last(np.float32(mu)) for mu in np.linspace(1, 8, 10)]))
