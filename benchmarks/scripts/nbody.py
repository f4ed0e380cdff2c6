"""Sixty bodies under gravity, by leapfrog steps; their energy is kept."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

rng = np.random.default_rng(0)
position = rng.standard_normal((60, 3)).astype(np.float32)
speed = (0.3 * rng.standard_normal((60, 3))).astype(np.float32)
mass = (rng.uniform(0.5, 1.5, 60) / 60).astype(np.float32)


def acceleration(x):
    d = x[None] - x[:, None]
    r2 = (d**2).sum(-1) + 0.05
    return (mass[None, :, None] * d / r2[..., None] ** 1.5).sum(1)


def energy(x, v):
    r2 = ((x[None] - x[:, None]) ** 2).sum(-1) + 0.05
    potential = -0.5 * (mass * mass[:, None] / jnp.sqrt(r2)).sum()
    return 0.5 * (mass[:, None] * v**2).sum() + potential


@jax.jit
def run(x, v):
    def body(state, _):
        x, v = state
        v = v + 0.005 * acceleration(x)
        x = x + 0.01 * v
        v = v + 0.005 * acceleration(x)
        return (x, v), energy(x, v)

    return lax.scan(body, (x, v), None, 200)


show("energy", energy(position, speed))
for _ in range(5):
    (position, speed), energies = run(position, speed)
    show("energy", energies[::50])
