"""A Gaussian process: hyperparameters by gradient ascent, and predictions; in float64."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 120))
y = np.sin(2 * x) + 0.3 * x + 0.1 * rng.standard_normal(120)


def kernel(params, a, b):
    amplitude, scale = jnp.exp(params["amplitude"]), jnp.exp(params["scale"])
    return amplitude * jnp.exp(-0.5 * ((a[:, None] - b) / scale) ** 2)


def nll(params):
    K = kernel(params, x, x) + jnp.exp(params["noise"]) * jnp.eye(len(x))
    L = jnp.linalg.cholesky(K)
    alpha = jax.scipy.linalg.cho_solve((L, True), y)
    return 0.5 * y @ alpha + jnp.log(jnp.diag(L)).sum()


@jax.jit
def step(params):
    value, grads = jax.value_and_grad(nll)(params)
    return jax.tree.map(lambda p, g: p - 0.005 * g, params, grads), value


@jax.jit
def predict(params, new):
    K = kernel(params, x, x) + jnp.exp(params["noise"]) * jnp.eye(len(x))
    cross = kernel(params, new, x)
    L = jnp.linalg.cholesky(K)
    half = jax.scipy.linalg.solve_triangular(L, cross.T, lower=True)
    variance = jnp.exp(params["amplitude"]) - (half**2).sum(0)
    return cross @ jax.scipy.linalg.cho_solve((L, True), y), variance


params = {"amplitude": jnp.zeros(()), "scale": jnp.zeros(()), "noise": jnp.array(-2.0)}
for i in range(100):
    params, value = step(params)
    if i % 33 == 0:
        show("nll", value)
mean, variance = predict(params, jnp.linspace(-3, 3, 50))
show("mean", mean[::10])
show("variance", variance[::10])
