"""tinygp: Gaussian processes, their likelihoods' derivatives, and quasiseparable kernels."""

import jax
import jax.numpy as jnp
import numpy as np
from tinygp import GaussianProcess, kernels, transforms

TOLERANCE = 1e-3


def build(params, x):
    kernel = jnp.exp(params["amp"]) * transforms.Linear(
        jnp.exp(params["scale"]), kernels.Matern32()
    ) + 0.1 * kernels.ExpSineSquared(scale=1.5, gamma=0.3)
    return GaussianProcess(kernel, x, diag=jnp.exp(params["diag"]), mean=params["mean"])


def main():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 5, 25)).astype(np.float32)
    y = (np.sin(x) + 0.1 * rng.normal(size=25)).astype(np.float32)
    params = {"amp": 0.1, "scale": 0.2, "diag": -2.0, "mean": 0.0}
    params = {name: jnp.asarray(value) for name, value in params.items()}

    @jax.jit
    @jax.value_and_grad
    def loss(params):
        return -build(params, x).log_probability(y)

    values = []
    for _ in range(10):
        value, grads = loss(params)
        params = {name: params[name] - 0.01 * grads[name] for name in params}
        values.append(value)
    test = jnp.linspace(0, 5, 7)
    conditioned = build(params, x).condition(y, test).gp
    quasi = GaussianProcess(kernels.quasisep.Matern32(1.5), x, diag=0.1)
    return {
        "values": jnp.stack(values),
        "mean": conditioned.loc,
        "variance": conditioned.variance,
        "quasi": quasi.log_probability(y),
        "slope": jax.grad(
            lambda s: GaussianProcess(kernels.quasisep.SHO(s, 1.0), x, diag=0.1).log_probability(y)
        )(1.2),
        "sample": quasi.sample(jax.random.PRNGKey(0)),
        **{f"d_{k}": v for k, v in grads.items()},
    }
