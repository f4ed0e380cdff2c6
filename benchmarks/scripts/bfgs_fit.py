"""A curve fitted by BFGS, from several starts; and Rosenbrock's function."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, load, show

minimize = load("scipy.optimize").minimize
rng = np.random.default_rng(0)
t = np.linspace(0, 4, 80, dtype=np.float32)
data = (2 * np.exp(-0.7 * t) * np.cos(3 * t) + 0.02 * rng.standard_normal(80)).astype(np.float32)


def misfit(p):
    a, decay, frequency = p
    return jnp.sum((a * jnp.exp(-decay * t) * jnp.cos(frequency * t) - data) ** 2)


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@jax.jit
def fit(start):
    fitted = minimize(misfit, start, method="BFGS")
    return fitted.x, fitted.fun


for start in ([1.5, 0.5, 2.8], [2.5, 1.0, 3.2], [2.0, 0.5, 2.9]):
    x, value = fit(jnp.array(start))
    show("fit", jnp.round(x, 2))
lowest = minimize(rosenbrock, jnp.zeros(4), method="BFGS")
show("minimum", jnp.round(lowest.x, 1))
