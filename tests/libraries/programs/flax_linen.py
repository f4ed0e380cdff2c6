"""Modules of flax.linen: initialise, apply, mutable state, lifted transformations, training."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import serialization
from flax.training import train_state

TOLERANCE = 1e-3


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.Dense(8)(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.Dropout(0.5, deterministic=not train)(nn.relu(x))
        return nn.Dense(2)(x)


class Layer(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        return nn.tanh(nn.Dense(3)(x)), None


class Deep(nn.Module):
    @nn.compact
    def __call__(self, x):
        layers = nn.scan(Layer, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
        return layers()(x, None)[0]


@jax.jit
def step(state, x, y):
    def loss(params):
        return jnp.mean((state.apply_fn({"params": params}, x) - y) ** 2)

    value, grads = jax.value_and_grad(loss)(state.params)
    return state.apply_gradients(grads=grads), value


def main():
    x = jax.random.normal(jax.random.key(9), (16, 3))
    keys = {"params": jax.random.key(0), "dropout": jax.random.key(1)}
    variables = Net().init(keys, x)
    y, updates = Net().apply(
        variables, x, mutable=["batch_stats"], rngs={"dropout": jax.random.key(2)}
    )
    deep = Deep()
    params = deep.init(jax.random.key(3), x)["params"]
    state = train_state.TrainState.create(apply_fn=deep.apply, params=params, tx=optax.adam(1e-2))
    losses = []
    for _ in range(5):
        state, value = step(state, x, jnp.sin(x))
        losses.append(value)
    restored = serialization.from_bytes(params, serialization.to_bytes(state.params))
    recurrent = nn.RNN(nn.LSTMCell(4))
    cells = recurrent.init(jax.random.key(4), x[None])
    many = nn.vmap(
        nn.Dense, in_axes=0, out_axes=0, variable_axes={"params": 0}, split_rngs={"params": True}
    )(2)
    return {
        "out": y,
        "stats": updates["batch_stats"]["BatchNorm_0"]["mean"],
        "losses": jnp.stack(losses),
        "restored": deep.apply({"params": restored}, x),
        "recurrent": recurrent.apply(cells, x[None]),
        "many": many.apply(many.init(jax.random.key(5), x), x),
        "table": jnp.array(len(Net().tabulate(jax.random.key(0), x, train=False)) > 0),
    }
