"""Equinox over four devices of one process: filter_pmap, filter_shard, and a step of training."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec


def main():
    layer = eqx.nn.MLP(3, 2, 8, 1, key=jax.random.key(0))
    x = jnp.linspace(-1.0, 1.0, 24).reshape(8, 3)
    mesh = jax.make_mesh((4,), ("data",), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec("data"))

    @eqx.filter_pmap(in_axes=(None, 0))
    def on_each(layer, part):
        return jax.vmap(layer)(part)

    @eqx.filter_jit
    def step(layer, x):
        x = eqx.filter_shard(x, rows)
        loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean(jax.vmap(m)(x) ** 2))(layer)
        layer = eqx.apply_updates(layer, jax.tree.map(lambda g: -0.1 * g, grads))
        return layer, loss, eqx.filter_shard(jax.vmap(layer)(x), rows)

    stepped, loss, y = step(layer, jax.device_put(x, rows))
    return {
        "on each": on_each(layer, x.reshape(4, 2, 3)),
        "loss": loss,
        "y": y,
        "weights": stepped.layers[0].weight,
        "devices": np.array([len(jax.devices()), len(y.sharding.device_set)]),
        "part": np.array(y.sharding.shard_shape(y.shape)),
        "like": np.array(jnp.zeros_like(y).sharding.shard_shape(y.shape)),
    }
