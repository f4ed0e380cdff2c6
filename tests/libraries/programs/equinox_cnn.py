"""Train an Equinox CNN to classify small pictures."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

TOLERANCE = 1e-3
optimizer = optax.adamw(3e-3)


class CNN(eqx.Module):
    layers: list

    def __init__(self, key):
        keys = jax.random.split(key, 4)
        self.layers = [
            eqx.nn.Conv2d(1, 3, kernel_size=4, key=keys[0]),
            eqx.nn.MaxPool2d(kernel_size=2),
            jax.nn.relu,
            jnp.ravel,
            eqx.nn.Linear(3 * 24 * 24, 32, key=keys[1]),
            jax.nn.sigmoid,
            eqx.nn.Linear(32, 10, key=keys[2]),
            jax.nn.log_softmax,
        ]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@eqx.filter_jit
def loss(model, x, y):
    predicted = jax.vmap(model)(x)
    return -jnp.mean(jnp.take_along_axis(predicted, jnp.expand_dims(y, 1), axis=1))


@eqx.filter_jit
def step(model, state, x, y):
    value, grads = eqx.filter_value_and_grad(loss)(model, x, y)
    updates, state = optimizer.update(grads, state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), state, value


def main():
    keys = jax.random.split(jax.random.PRNGKey(5678), 3)
    model = CNN(keys[0])
    x = jax.random.normal(keys[1], (16, 1, 28, 28))
    y = jax.random.randint(keys[2], (16,), 0, 10)
    state = optimizer.init(eqx.filter(model, eqx.is_array))
    values = []
    for _ in range(20):
        model, state, value = step(model, state, x, y)
        values.append(value)
    return {"losses": jnp.stack(values), "out": jax.vmap(model)(x)}
