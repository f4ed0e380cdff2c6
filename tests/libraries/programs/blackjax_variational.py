"""Approximate by variational inference, Stein's method, stochastic gradients, and weights."""

import blackjax
import jax
import jax.numpy as jnp
import optax

TOLERANCE = 2e-3
DATA = jnp.sin(jnp.arange(24.0)) + 0.7


def log_density(x):
    return -0.5 * jnp.sum((x - jnp.array([1.0, -0.5])) ** 2 / jnp.array([0.5, 2.0])) - x[0] ** 4 / 8


def fit(algorithm, key):
    @jax.jit
    def run(key):
        state = algorithm.init(jnp.zeros(2))
        step = lambda state, key: algorithm.step(key, state)
        state, info = jax.lax.scan(step, state, jax.random.split(key, 30))
        return algorithm.sample(key, state, 4), info.elbo

    return run(key)


@jax.jit
def stein(key):
    particles = jax.random.normal(key, (12, 2))
    algorithm = blackjax.svgd(jax.grad(log_density), optax.adam(0.1))
    state = algorithm.init(particles)
    step = lambda state, _: (algorithm.step(state), None)
    return jax.lax.scan(step, state, None, length=15)[0].particles


@jax.jit
def stochastic(key):
    """Langevin dynamics on parts of the data."""
    prior = lambda m: -0.5 * m**2
    likelihood = lambda m, x: -0.5 * (x - m) ** 2
    gradient = blackjax.sgmcmc.gradients.grad_estimator(prior, likelihood, DATA.size)
    kernels = {"sgld": blackjax.sgld(gradient), "sghmc": blackjax.sghmc(gradient, 4)}
    found = {}
    for name, kernel in kernels.items():

        def step(m, key, kernel=kernel):
            own, other = jax.random.split(key)
            batch = jax.random.choice(own, DATA, (6,))
            m = kernel.step(other, m, batch, 1e-3)
            return m, m

        found[name] = jax.lax.scan(step, kernel.init(0.0), jax.random.split(key, 20))[1]
    return found


@jax.jit
def resampled(key):
    weights = jax.nn.softmax(jnp.arange(6.0) / 2)
    kinds = blackjax.smc.resampling
    drawn = [
        jnp.bincount(getattr(kinds, kind)(key, weights, 40), length=6)
        for kind in ("systematic", "stratified", "multinomial", "residual")
    ]
    return jnp.stack(drawn), blackjax.smc.ess.ess(jnp.log(weights))


def main():
    keys = jax.random.split(jax.random.PRNGKey(2), 5)
    results = {}
    for name, algorithm in {
        "mean field": blackjax.meanfield_vi(log_density, optax.adam(0.1), 8),
        "full rank": blackjax.fullrank_vi(log_density, optax.adam(0.1), 8),
    }.items():
        results[f"{name} drawn"], results[f"{name} elbo"] = fit(algorithm, keys[0])
    results["stein"] = stein(keys[1])
    results |= stochastic(keys[2])
    results["counts"], results["ess"] = resampled(keys[3])
    return results
