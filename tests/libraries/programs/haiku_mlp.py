"""Haiku: a network with batch normalisation and a recurrent core, trained by optax."""

import haiku as hk
import jax
import jax.numpy as jnp
import optax

TOLERANCE = 1e-4


def network(x, is_training):
    x = hk.Linear(16, with_bias=False)(x)
    x = hk.BatchNorm(True, True, 0.9)(x, is_training)
    x = jax.nn.relu(x)
    return hk.nets.MLP([8, 1])(x)


model = hk.transform_with_state(network)
core = hk.without_apply_rng(
    hk.transform(lambda xs: hk.dynamic_unroll(hk.LSTM(4), xs, hk.LSTM(4).initial_state(2)))
)
optimizer = optax.adam(1e-2)


def loss(params, state, x, y):
    out, state = model.apply(params, state, None, x, True)
    return jnp.mean((out - y) ** 2), state


@jax.jit
def step(params, state, opt_state, x, y):
    (value, state), grads = jax.value_and_grad(loss, has_aux=True)(params, state, x, y)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), state, opt_state, value


def main():
    x = jax.random.normal(jax.random.PRNGKey(1), (32, 3))
    y = jnp.sin(x[:, :1]) + x[:, 1:2]
    params, state = model.init(jax.random.PRNGKey(0), x, True)
    opt_state = optimizer.init(params)
    values = []
    for _ in range(20):
        params, state, opt_state, value = step(params, state, opt_state, x, y)
        values.append(value)
    out, _ = model.apply(params, state, None, x, False)
    xs = jax.random.normal(jax.random.PRNGKey(2), (5, 2, 3))
    core_params = core.init(jax.random.PRNGKey(3), xs)
    outs, last = core.apply(core_params, xs)
    return {"losses": jnp.stack(values), "out": out, "outs": outs, "cell": last.cell}
