"""Robertson's reactions by implicit steps, of a length that the error chooses."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show


def slope(y, rates):
    a, b, c = y
    r1, r2, r3 = rates[0] * a, rates[1] * b * b, rates[2] * b * c
    return jnp.stack([-r1 + r3, r1 - r3 - r2, r2])


def implicit(y, h, rates):
    """Take an implicit step of Euler's, by Newton's method."""

    def body(state):
        z, _, n = state
        residual = z - y - h * slope(z, rates)
        matrix = jnp.eye(3) - h * jax.jacfwd(slope)(z, rates)
        change = jnp.linalg.solve(matrix, residual)
        return z - change, jnp.abs(change).max(), n + 1

    return lax.while_loop(lambda s: (s[1] > 1e-6) & (s[2] < 20), body, (y, jnp.inf, 0))[0]


@jax.jit
def integrate(rates):
    def body(state):
        t, y, h, n = state
        h = jnp.minimum(h, 40.0 - t)
        whole = implicit(y, h, rates)
        halves = implicit(implicit(y, h / 2, rates), h / 2, rates)
        error = jnp.abs(whole - halves).max() / 1e-3
        good = error < 1
        t, y = jnp.where(good, t + h, t), jnp.where(good, halves, y)
        return t, y, h * jnp.clip(0.9 / jnp.sqrt(error + 1e-9), 0.2, 2.0), n + 1

    state = (jnp.float32(0), jnp.array([1.0, 0.0, 0.0]), jnp.float32(1e-3), 0)
    return lax.while_loop(lambda s: (s[0] < 39.999) & (s[3] < 2000), body, state)[1]


rates = np.array([[0.04 * (1 + k / 10), 300.0, 10.0 * (1 + k / 5)] for k in range(8)], np.float32)
show("concentrations", jnp.stack([integrate(r) for r in rates]))
