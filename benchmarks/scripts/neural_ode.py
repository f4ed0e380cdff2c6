"""A neural ODE learns a spiral from its points, by Runge-Kutta steps."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

TIMES = np.linspace(0, 4, 41, dtype=np.float32)
TRUE = np.array([[-0.1, 2.0], [-2.0, -0.1]], np.float32)


def rk4(f, y, dt):
    k1 = f(y)
    k2 = f(y + dt / 2 * k1)
    k3 = f(y + dt / 2 * k2)
    k4 = f(y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def solve(f, y0):
    def body(y, dt):
        return rk4(f, y, dt), y

    return lax.scan(body, y0, jnp.diff(TIMES))[1]


def field(params, y):
    for w, b in params[:-1]:
        y = jnp.tanh(y @ w + b)
    w, b = params[-1]
    return y @ w + b


def loss(params, y0, ys):
    return jnp.mean(jnp.abs(solve(lambda y: field(params, y**3), y0) - ys))


@jax.jit
def step(params, m, y0, ys):
    value, grads = jax.value_and_grad(loss)(params, y0, ys)
    m = jax.tree.map(lambda m, g: 0.9 * m + g, m, grads)
    return jax.tree.map(lambda p, m: p - 3e-3 * m, params, m), m, value


y0 = np.random.default_rng(0).uniform(-1, 1, (16, 2)).astype(np.float32)
ys = jax.jit(lambda y: solve(lambda y: y**3 @ TRUE, y))(y0)
show("last point", ys[-1, 0])
params = []
for key, (n, m) in zip(
    jax.random.split(jax.random.key(0), 3), [(2, 32), (32, 32), (32, 2)], strict=True
):
    params.append((0.3 * jax.random.normal(key, (n, m)), jnp.zeros(m)))
momentum = jax.tree.map(jnp.zeros_like, params)
for i in range(120):
    params, momentum, value = step(params, momentum, y0, ys)
    if i == 10:
        show("loss", value)
show("better", bool(value < 0.6))
