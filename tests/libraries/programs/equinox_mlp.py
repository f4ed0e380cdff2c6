"""Train an Equinox MLP with filtered transformations and optax."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

TOLERANCE = 1e-4
optimizer = optax.adam(3e-3)


@eqx.filter_value_and_grad
def loss(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)


@eqx.filter_jit
def step(model, state, x, y):
    value, grads = loss(model, x, y)
    updates, state = optimizer.update(grads, state, model)
    return eqx.apply_updates(model, updates), state, value


def main():
    model = eqx.nn.MLP(2, 1, 32, 2, activation=jnp.tanh, key=jax.random.PRNGKey(0))
    x = jax.random.uniform(jax.random.PRNGKey(1), (64, 2))
    y = jnp.sin(4 * x[:, :1]) * x[:, 1:]
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
    values = []
    for _ in range(100):
        model, state, value = step(model, state, x, y)
        values.append(value)
    return {"losses": jnp.stack(values), "out": jax.vmap(model)(x)}
