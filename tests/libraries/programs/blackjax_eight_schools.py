"""Sample the eight schools by NUTS, warmed up by window adaptation.

Chains of two roundings part soon, so that moments are compared, and single steps.
"""

import blackjax
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm

Y = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SIGMA = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
TOLERANCE = 0.25


def log_density(position):
    mu, tau = position["mu"], jnp.exp(position["log_tau"])
    prior = norm.logpdf(mu, 0.0, 5.0) - jnp.log1p((tau / 5.0) ** 2) + position["log_tau"]
    theta = mu + tau * position["theta"]
    return prior + jnp.sum(norm.logpdf(position["theta"]) + norm.logpdf(Y, theta, SIGMA))


START = {"mu": jnp.array(0.0), "log_tau": jnp.array(1.0), "theta": jnp.zeros(8)}


@jax.jit
def sample(key):
    warm, key = jax.random.split(key)
    adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)
    (state, parameters), _ = adaptation.run(warm, START, num_steps=300)
    kernel = blackjax.nuts(log_density, **parameters).step

    def step(state, key):
        state, info = kernel(key, state)
        return state, (state.position, info.acceptance_rate)

    _, (positions, rates) = jax.lax.scan(step, state, jax.random.split(key, 1000))
    return positions, rates, parameters["step_size"]


def main():
    positions, rates, _ = sample(jax.random.PRNGKey(0))
    theta = positions["mu"][:, None] + jnp.exp(positions["log_tau"])[:, None] * positions["theta"]
    # in units of the posterior's standard deviations, about 5 for each school
    return {"mu": positions["mu"].mean() / 50, "theta": theta.mean(0) / 50, "rate": rates.mean()}
