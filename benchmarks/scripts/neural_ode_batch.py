"""A neural ODE by an adaptive integrator, each example with steps of its own."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, load, show

odeint = load("experimental.ode").odeint
rng = np.random.default_rng(0)
weights = [0.3 * rng.standard_normal(s).astype(np.float32) for s in ((2, 32), (32, 2))]
starts = rng.standard_normal((64, 2)).astype(np.float32)
times = np.linspace(0, 5, 20, dtype=np.float32)


def slope(y, t, w, v):
    return jnp.tanh(y**3 @ w) @ v


@jax.jit
def gradient(weights):
    def loss(weights):
        paths = jax.vmap(lambda y: odeint(slope, y, times, *weights))(starts)
        return jnp.mean(paths**2)

    return jax.grad(loss)(weights)


for _ in range(10):
    weights = [w - 0.01 * d for w, d in zip(weights, gradient(weights), strict=True)]
show("weights", weights[0])
