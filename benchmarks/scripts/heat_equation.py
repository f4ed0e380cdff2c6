"""Heat spreads through a plate; how fast, is found from what is measured at the end."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

N = 48
y, x = np.mgrid[:N, :N] / N
start = np.exp(-30 * ((x - 0.4) ** 2 + (y - 0.5) ** 2)).astype(np.float32)


def laplacian(u):
    return jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u


def evolve(rate, u):
    def body(u, _):
        return u + rate * laplacian(u), u.mean()

    return lax.scan(body, u, None, 150)


@jax.jit
def simulate(rate):
    return evolve(rate, start)[0]


measured = simulate(0.15)
show("peak", measured.max())


@jax.jit
def step(rate):
    value, slope = jax.value_and_grad(lambda r: jnp.sum((evolve(r, start)[0] - measured) ** 2))(
        rate
    )
    return rate - 1e-3 * slope, value


rate = jnp.float32(0.1)
for i in range(20):
    rate, value = step(rate)
    if i % 7 == 0:
        show("misfit", value)
show("rate", rate)
