"""Train an MLP with batch normalisation and dropout by flax.nnx, and evaluate it."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx

TOLERANCE = 1e-3


class Count(nnx.Variable):
    pass


class Block(nnx.Module):
    def __init__(self, din, dout, *, rngs):
        self.linear = nnx.Linear(din, dout, use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(dout, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)

    def __call__(self, x):
        return nnx.relu(self.dropout(self.norm(self.linear(x))))


class MLP(nnx.Module):
    def __init__(self, din, width, dout, *, rngs):
        self.block = Block(din, width, rngs=rngs)
        self.out = nnx.Linear(width, dout, rngs=rngs)
        self.count = Count(jnp.array(0))

    def __call__(self, x):
        self.count[...] += 1
        return self.out(self.block(x))


@nnx.jit
def step(model, optimizer, metrics, x, y):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    metrics.update(loss=loss)
    return loss


def main():
    keys = jax.random.split(jax.random.key(0), 2)
    x = jax.random.normal(keys[0], (32, 3))
    y = jnp.sin(x[:, :2]) + 0.1 * jax.random.normal(keys[1], (32, 2))
    model = MLP(3, 16, 2, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.05, momentum=0.9), wrt=nnx.Param)
    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
    losses = jnp.stack([step(model, optimizer, metrics, x, y) for _ in range(10)])
    model.eval()
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    doubled = nnx.merge(graph, jax.tree.map(lambda p: p * 2, params), rest)
    return {
        "losses": losses,
        "mean": metrics.compute()["loss"],
        "out": model(x),
        "doubled": doubled(x),
        "count": model.count[...],
        "names": jnp.array([len(str(path)) for path, _ in nnx.to_flat_state(nnx.state(model))]),
    }
