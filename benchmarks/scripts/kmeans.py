"""k-means with several starts."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

rng = np.random.default_rng(0)
centres = rng.uniform(-5, 5, (6, 4))
points = (centres[rng.integers(0, 6, 2000)] + 0.5 * rng.standard_normal((2000, 4))).astype(
    np.float32
)


def assign(points, means):
    d = ((points[:, None] - means) ** 2).sum(-1)
    return jnp.argmin(d, 1), d.min(1).sum()


@jax.jit
def fit(key, points):
    means = points[jax.random.choice(key, len(points), (6,), replace=False)]

    def body(state):
        means, _, i = state
        label, _ = assign(points, means)
        hot = jax.nn.one_hot(label, 6)
        new = hot.T @ points / jnp.maximum(hot.sum(0)[:, None], 1)
        return new, jnp.abs(new - means).max(), i + 1

    means, _, turns = lax.while_loop(
        lambda s: (s[1] > 1e-4) & (s[2] < 100), body, (means, jnp.inf, 0)
    )
    return means, assign(points, means)[1], turns


costs = []
for key in jax.random.split(jax.random.key(0), 5):
    means, cost, _ = fit(key, points)
    costs.append(float(cost))
show("costs", np.array(sorted(costs), np.float32))
