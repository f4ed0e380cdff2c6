"""Regress with numpyro: divorces by marriage, a hierarchy of groups, missing data, predictions."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import hpdi, summary
from numpyro.infer import MCMC, NUTS, Predictive, init_to_median, log_likelihood

TOLERANCE = 0.1


def linear(x, y=None):
    intercept = numpyro.sample("intercept", dist.Normal(0.0, 0.5))
    slope = numpyro.sample("slope", dist.Normal(0.0, 0.5))
    sigma = numpyro.sample("sigma", dist.Exponential(1.0))
    mean = numpyro.deterministic("mean", intercept + slope * x)
    numpyro.sample("y", dist.Normal(mean, sigma), obs=y)


def grouped(group, x, y=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    with numpyro.plate("groups", 3):
        offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    rate = mu + tau * offset
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", dist.BernoulliLogits(rate[group] + 0.5 * x), obs=y)


def main():
    keys = jax.random.split(jax.random.PRNGKey(0), 6)
    x = jax.random.normal(keys[0], (40,))
    y = 0.3 - 0.6 * x + 0.4 * jax.random.normal(keys[1], (40,))
    mcmc = MCMC(NUTS(linear), num_warmup=200, num_samples=1000, progress_bar=False)
    mcmc.run(keys[2], x, y)
    found = mcmc.get_samples()
    results = {name: found[name].mean() for name in ("intercept", "slope", "sigma")}
    spread = summary({"slope": found["slope"][None]}, prob=0.9)["slope"]
    results["interval"] = jnp.array([float(spread["5.0%"]), float(spread["95.0%"])])
    results["rhat"] = jnp.array(float(spread["r_hat"]))
    ahead = Predictive(linear, found)(keys[3], jnp.array([-1.0, 0.0, 1.0]))["y"]
    results["ahead"] = ahead.mean(0)
    results["width"] = jnp.asarray(hpdi(ahead, 0.8)).shape[0] * jnp.ones(())
    few = {name: value[::100] for name, value in found.items() if name != "mean"}
    density = log_likelihood(linear, few, x, y)["y"]
    results["density"] = density.mean() / 10
    group = jnp.arange(40) % 3
    labels = (jax.random.uniform(keys[4], (40,)) < jax.nn.sigmoid(x + group - 1.0)).astype(int)
    kernel = NUTS(grouped, init_strategy=init_to_median, dense_mass=True, max_tree_depth=6)
    mcmc = MCMC(
        kernel,
        num_warmup=200,
        num_samples=300,
        num_chains=2,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(keys[5], group, x, labels)
    by_chain = mcmc.get_samples(group_by_chain=True)
    results["shape"] = jnp.array(by_chain["offset"].shape)
    results["mu"] = by_chain["mu"].mean() / 10
    return results
