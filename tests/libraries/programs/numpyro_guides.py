"""Fit by variational inference with guides of every kind, a mixture, and what handlers show."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import optax
from numpyro import handlers
from numpyro.distributions import constraints
from numpyro.infer import SVI, Predictive, Trace_ELBO, TraceMeanField_ELBO
from numpyro.infer.autoguide import (
    AutoDelta,
    AutoLaplaceApproximation,
    AutoLowRankMultivariateNormal,
    AutoMultivariateNormal,
)
from numpyro.infer.util import log_density, potential_energy

TOLERANCE = 2e-2
DATA = jnp.array([1.0] * 6 + [0.0] * 4)


def coin(data):
    fairness = numpyro.sample("fairness", dist.Beta(10.0, 10.0))
    with numpyro.plate("tosses", data.shape[0]):
        numpyro.sample("toss", dist.Bernoulli(fairness), obs=data)


def coin_guide(data):
    alpha = numpyro.param("alpha", 15.0, constraint=constraints.positive)
    beta = numpyro.param("beta", lambda key: 15.0, constraint=constraints.positive)
    numpyro.sample("fairness", dist.Beta(alpha, beta))


def mixture(data):
    weights = numpyro.sample("weights", dist.Dirichlet(jnp.ones(2)))
    places = numpyro.sample(
        "places",
        dist.TransformedDistribution(
            dist.Normal(0.0, 3.0).expand([2]).to_event(1), dist.transforms.OrderedTransform()
        ),
    )
    parts = dist.Normal(places, 0.7)
    with numpyro.plate("data", data.shape[0]):
        numpyro.sample("x", dist.MixtureSameFamily(dist.Categorical(weights), parts), obs=data)


def correlated(data):
    scale = numpyro.sample("scale", dist.HalfCauchy(2.0).expand([2]).to_event(1))
    factor = numpyro.sample("factor", dist.LKJCholesky(2, concentration=2.0))
    with numpyro.plate("data", data.shape[0]):
        cholesky = scale[:, None] * factor
        numpyro.sample("x", dist.MultivariateNormal(jnp.zeros(2), scale_tril=cholesky), obs=data)


def fit(model, guide, loss, data, steps=150):
    svi = SVI(model, guide, optax.adam(0.05), loss)
    return svi.run(jax.random.PRNGKey(1), steps, data, progress_bar=False)


def main():
    results = {}
    found = fit(coin, coin_guide, TraceMeanField_ELBO(), DATA)
    results["alpha"] = found.params["alpha"] / 20
    results["coin losses"] = found.losses[-5:]
    key = jax.random.PRNGKey(2)
    data = jnp.concatenate([jnp.linspace(-2.5, -1.5, 10), jnp.linspace(1.0, 2.0, 14)])
    for kind in (AutoDelta, AutoLaplaceApproximation):
        guide = kind(mixture)
        found = fit(mixture, guide, Trace_ELBO(), data)
        middle = guide.median(found.params)
        results[f"{kind.__name__} weights"] = middle["weights"]
        results[f"{kind.__name__} places"] = middle["places"]
    pairs = jnp.stack([jnp.sin(jnp.arange(20.0)), jnp.sin(jnp.arange(20.0) + 0.5)], -1)
    for kind in (AutoMultivariateNormal, AutoLowRankMultivariateNormal):
        guide = kind(correlated)
        found = fit(correlated, guide, Trace_ELBO(num_particles=2), pairs)
        results[f"{kind.__name__} scale"] = guide.median(found.params)["scale"]
    drawn = Predictive(guide, params=found.params, num_samples=7)(key, pairs)
    results["drawn"] = jnp.array(drawn["factor"].shape)
    seeded = handlers.seed(coin, key)
    traced = handlers.trace(handlers.substitute(seeded, {"fairness": 0.4})).get_trace(DATA)
    results["toss"] = traced["toss"]["fn"].log_prob(traced["toss"]["value"]).sum()
    results["density"], _ = log_density(coin, (DATA,), {}, {"fairness": 0.3})
    results["energy"] = potential_energy(seeded, (DATA,), {}, {"fairness": jnp.array(0.2)})
    blocked = handlers.block(handlers.condition(seeded, {"fairness": 0.5}), hide=["toss"])
    results["left"] = jnp.array(len(handlers.trace(blocked).get_trace(DATA)))
    return results
