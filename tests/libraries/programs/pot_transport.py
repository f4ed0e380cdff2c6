"""POT with JAX as its backend: plans, Sinkhorn, sliced and Gromov-Wasserstein distances."""

import jax.numpy as jnp
import numpy as np
import ot

TOLERANCE = 1e-3


def main():
    rng = np.random.RandomState(0)
    x, y = jnp.asarray(rng.randn(10, 2)), jnp.asarray(rng.randn(12, 2) + 1)
    a, b = jnp.ones(10) / 10, jnp.ones(12) / 12
    cost = ot.dist(x, y)
    return {
        "exact": ot.emd2(a, b, cost),
        "blurred": ot.sinkhorn2(a, b, cost, 1.0),
        "plan": ot.sinkhorn(a, b, cost, 1.0),
        "sliced": ot.sliced_wasserstein_distance(x, y, seed=0, n_projections=20),
        "gromov": ot.gromov_wasserstein2(ot.dist(x, x), ot.dist(y, y), a, b),
    }
