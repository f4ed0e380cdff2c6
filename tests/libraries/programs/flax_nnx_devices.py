"""flax.nnx with variables that are references or hijax, and with weights on four devices."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import AxisType


def main():
    x = jnp.linspace(-1.0, 1.0, 24).reshape(8, 3)

    with nnx.var_defaults(ref=True):

        class Counter(nnx.Module):
            def __init__(self):
                self.count = nnx.Variable(jnp.array(0.0))
                self.layer = nnx.Linear(3, 2, rngs=nnx.Rngs(0))

            def __call__(self, x):
                self.count[...] += 1
                return self.layer(x) * self.count[...]

        counted = Counter()
    with nnx.var_defaults(hijax=True):
        noted, metrics = Counter(), nnx.Variable({})
        optimizer = nnx.Optimizer(noted, optax.adam(0.1), wrt=nnx.Param)

    @jax.jit
    def note(model, optimizer, metrics, x):
        def loss(model):
            return jnp.mean((model.layer(x) - 1) ** 2)

        value, grads = jax.value_and_grad(loss)(nnx.with_vars(model, hijax=False))
        optimizer.update(model, grads)
        metrics["mean"] = model(x).mean()
        return value

    noted_losses = jnp.stack([note(noted, optimizer, metrics, x) for _ in range(3)])
    run = nnx.jit(lambda model, x: model(x))
    twice = run(counted, x), run(counted, x)

    mesh = jax.make_mesh((2, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    with jax.set_mesh(mesh):
        init = nnx.with_partitioning(nnx.initializers.lecun_normal(), (None, "model"))
        model = nnx.Linear(3, 4, kernel_init=init, rngs=nnx.Rngs(1))
        optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)

        @nnx.jit
        def step(model, optimizer, x):
            loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - 1) ** 2))(model)
            optimizer.update(model, grads)
            return loss

        losses = jnp.stack([step(model, optimizer, x) for _ in range(3)])
    kernel = model.kernel[...]
    moment = optimizer.opt_state[0].mu["kernel"][...]
    attention = nnx.dot_product_attention(*[x.reshape(1, 8, 1, 3)] * 3)
    return {
        "twice": jnp.stack(twice),
        "count": counted.count[...],
        "noted": noted_losses,
        "counted": jnp.stack([noted.count[...], metrics["mean"]]),
        "noted kernel": noted.layer.kernel[...],
        "losses": losses,
        "kernel": kernel,
        "parts": np.array([v.sharding.shard_shape(v.shape) for v in (kernel, moment)]),
        "attention": attention,
    }
