"""Metropolis' algorithm for Ising's model, on a chequerboard, at several temperatures."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

N = 32
board = np.indices((N, N)).sum(0) % 2 == 0


def sweep(spins, key, beta):
    for colour, k in zip((board, ~board), jax.random.split(key), strict=True):
        near = sum(jnp.roll(spins, s, a) for s in (1, -1) for a in (0, 1))
        accept = jax.random.uniform(k, (N, N)) < jnp.exp(-2.0 * beta * spins * near)
        spins = jnp.where(colour & accept, -spins, spins)
    return spins


@jax.jit
def run(beta, key):
    def body(spins, key):
        spins = sweep(spins, key, beta)
        return spins, jnp.mean(spins)

    return lax.scan(body, jnp.ones((N, N)), jax.random.split(key, 100))


for beta in (0.3, 0.44, 0.6):
    _, magnet = run(beta, jax.random.key(0))
    show("magnetisation", bool(jnp.abs(magnet[50:]).mean() > 0.8))
