"""Sample a regression of petals on sepals whose lines vary by species of iris."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random
from jax.flatten_util import ravel_pytree
from jax.scipy import stats
from sklearn.datasets import load_iris

jax.config.update("jax_enable_x64", True)

iris = load_iris()
sepal = jnp.asarray(iris.data[:, 0] - iris.data[:, 0].mean())
petal = jnp.asarray(iris.data[:, 2])
species = jnp.asarray(iris.target)
CHAINS, WARM_UP, SAMPLES, LEAPS = 4, 40, 30, 8


def log_prior(p):
    lines = stats.norm.logpdf(p["z"]).sum()
    means = stats.norm.logpdf(p["mu"], jnp.array([4.0, 0.5]), 1.0).sum()
    # half-Cauchy and half-normal, of logarithms
    spreads = stats.cauchy.logpdf(jnp.exp(p["log_tau"])).sum() + p["log_tau"].sum()
    return lines + means + spreads + stats.norm.logpdf(jnp.exp(p["log_sigma"])) + p["log_sigma"]


def lines(p):
    return p["mu"] + jnp.exp(p["log_tau"]) * p["z"]


def log_likelihood(p):
    intercept, slope = lines(p)[species].T
    return stats.norm.logpdf(petal, intercept + slope * sepal, jnp.exp(p["log_sigma"])).sum()


START = {
    "mu": jnp.array([4.0, 0.5]),
    "log_tau": jnp.zeros(2),
    "z": jnp.zeros((3, 2)),
    "log_sigma": jnp.array(-1.0),
}
flat_start, unravel = ravel_pytree(START)


def potential(q):
    p = unravel(q)
    return -log_prior(p) - log_likelihood(p)


class State(NamedTuple):
    q: jax.Array
    log_step: jax.Array
    accepted: jax.Array


def leapfrog(q, p, step):
    p = p - 0.5 * step * jax.grad(potential)(q)

    def body(_, qp):
        q, p = qp
        q = q + step * p
        return q, p - step * jax.grad(potential)(q)

    q, p = lax.fori_loop(0, LEAPS - 1, body, (q, p))
    q = q + step * p
    return q, p - 0.5 * step * jax.grad(potential)(q)


def energy(q, p):
    return potential(q) + 0.5 * jnp.dot(p, p)


def hmc(state, key, adapt):
    momentum_key, accept_key = random.split(key)
    p = random.normal(momentum_key, state.q.shape)
    q_new, p_new = leapfrog(state.q, p, jnp.exp(state.log_step))
    log_ratio = energy(state.q, p) - energy(q_new, p_new)
    rate = jnp.exp(jnp.minimum(jnp.where(jnp.isnan(log_ratio), -jnp.inf, log_ratio), 0.0))
    accept = random.uniform(accept_key) < rate
    q = lax.select(accept, q_new, state.q)
    log_step = state.log_step + jnp.where(adapt, 0.15 * (rate - 0.8), 0.0)
    return State(q, log_step, accept), (q, rate, log_ratio)


@jax.jit
def chain(key):
    start_key, key = random.split(key)
    q = flat_start + 0.1 * random.normal(start_key, flat_start.shape)
    state = State(q, jnp.log(0.02), jnp.array(False))
    adapt = jnp.arange(WARM_UP + SAMPLES) < WARM_UP

    def step(state, inputs):
        return hmc(state, *inputs)

    state, (qs, rates, errors) = lax.scan(step, state, (random.split(key, len(adapt)), adapt))
    return jnp.exp(state.log_step), qs[WARM_UP:], rates[WARM_UP:], errors


def split_r_hat(x):
    """Of draws by chains and steps."""
    halves = x.reshape(2 * x.shape[0], -1)
    within = halves.var(1, ddof=1).mean()
    between = halves.mean(1).var(ddof=1)
    return jnp.sqrt((halves.shape[1] - 1) / halves.shape[1] + between / within)


def autocorrelation(x):
    n = x.shape[-1]
    f = jnp.fft.rfft(x - x.mean(-1, keepdims=True), 2 * n)
    acov = jnp.fft.irfft(f * f.conj())[..., :n]
    return acov / acov[..., :1]


def main():
    steps, qs, rates, errors = jax.vmap(chain)(random.split(random.PRNGKey(7), CHAINS))
    draws = jax.vmap(jax.vmap(unravel))(qs)
    fitted = jax.vmap(jax.vmap(lines))(draws)
    assert np.all(np.isfinite(qs))
    assert rates.mean() > 0.4
    return {
        **{f"mean of {name}": draw.mean((0, 1)) for name, draw in draws.items()},
        "lines": jnp.median(fitted, axis=(0, 1)),
        "quantiles": jnp.quantile(fitted, jnp.array([0.1, 0.9]), axis=1),
        "steps": steps,
        "rates": rates,
        "errors": errors,
        "r hat": jax.vmap(split_r_hat, in_axes=-1)(qs),
        "autocorrelation": autocorrelation(qs[..., 0])[:, :5],
        "last": qs[:, -1],
    }


TOLERANCE = 1e-7  # chains of two roundings part
