"""A deep equilibrium layer: the fixed point of a network, differentiated implicitly."""

from functools import partial

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

WIDTH = 24


def iterate(f, z):
    def cond(state):
        old, new, i = state
        return (jnp.abs(new - old).max() > 1e-5) & (i < 60)

    def body(state):
        _, z, i = state
        return z, f(z), i + 1

    return lax.while_loop(cond, body, (z, f(z), 0))[1]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def fixed_point(f, params, x):
    return iterate(lambda z: f(params, x, z), jnp.zeros((x.shape[0], WIDTH)))


def forward(f, params, x):
    z = fixed_point(f, params, x)
    return z, (params, x, z)


def backward(f, residuals, cotangent):
    params, x, z = residuals
    _, vjp_z = jax.vjp(lambda z: f(params, x, z), z)
    u = iterate(lambda u: vjp_z(u)[0] + cotangent, cotangent)
    return jax.vjp(lambda params, x: f(params, x, z), params, x)[1](u)


fixed_point.defvjp(forward, backward)


def layer(params, x, z):
    return jnp.tanh(z @ params["w"] + x @ params["u"] + params["b"])


def loss(params, x, y):
    return jnp.mean((fixed_point(layer, params, x) @ params["out"] - y) ** 2)


@jax.jit
def step(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), value


rng = np.random.default_rng(0)
x = rng.standard_normal((64, 4)).astype(np.float32)
y = np.sin(x.sum(1, keepdims=True))
k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
params = {
    "w": 0.1 * jax.random.normal(k1, (WIDTH, WIDTH)),
    "u": 0.5 * jax.random.normal(k2, (4, WIDTH)),
}
params |= {"b": jnp.zeros(WIDTH), "out": 0.3 * jax.random.normal(k3, (WIDTH, 1))}
for i in range(100):
    params, value = step(params, x, y)
    if i % 33 == 0:
        show("loss", value)
