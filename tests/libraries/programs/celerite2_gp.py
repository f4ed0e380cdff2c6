"""celerite2: a Gaussian process of stars' light, whose operations are functions in C++."""

import celerite2.jax
import jax
import jax.numpy as jnp
import numpy as np
from celerite2.jax import terms

jax.config.update("jax_enable_x64", True)
TOLERANCE = 1e-7


def main():
    rng = np.random.default_rng(42)
    t = np.sort(np.append(rng.uniform(0, 3.8, 57), rng.uniform(5.5, 10, 68)))
    yerr = rng.uniform(0.08, 0.22, len(t))
    y = 0.2 * (t - 5) + np.sin(3 * t + 0.1 * (t - 5) ** 2) + yerr * rng.normal(size=len(t))
    grid = np.linspace(0, 10, 9)

    def build(params):
        long = terms.SHOTerm(sigma=jnp.exp(params["sigma"]), rho=jnp.exp(params["rho"]), tau=10.0)
        gp = celerite2.jax.GaussianProcess(
            long + terms.SHOTerm(sigma=1.0, rho=5.0, Q=0.25), mean=params["mean"]
        )
        gp.compute(t, yerr=yerr + jnp.exp(params["jitter"]), check_sorted=False)
        return gp

    @jax.jit
    @jax.value_and_grad
    def loss(params):
        return -build(params).log_likelihood(y)

    params = {"sigma": 0.1, "rho": 0.2, "mean": 0.05, "jitter": -3.0}
    params = {name: jnp.asarray(value) for name, value in params.items()}
    values = []
    for _ in range(20):
        value, slopes = loss(params)
        params = {name: params[name] - 1e-3 * slopes[name] for name in params}
        values.append(value)
    gp = build(params)
    mean, variance = gp.predict(y, t=grid, return_var=True)
    return {
        "values": jnp.stack(values),
        "mean": mean,
        "variance": variance,
        "solved": gp.apply_inverse(y),
        "eager": jax.grad(lambda p: -build(p).log_likelihood(y))(params)["rho"],
        **{f"d_{name}": slope for name, slope in slopes.items()},
    }
