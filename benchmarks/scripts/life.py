"""Conway's game of life, and how many cells live."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

rng = np.random.default_rng(0)
world = (rng.random((64, 64)) < 0.3).astype(np.int32)


@jax.jit
def step(world):
    near = sum(
        jnp.roll(world, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx
    )
    return ((near == 3) | ((world == 1) & (near == 2))).astype(jnp.int32)


for i in range(200):
    world = step(world)
    if i % 50 == 0:
        show("living", world.sum())
show("rows", world.sum(1)[:10])
