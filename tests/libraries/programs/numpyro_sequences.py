"""Sample a random walk by scan, a Gaussian process, and a model with a potential of one's own."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.contrib.control_flow import cond, scan
from numpyro.infer import HMC, MCMC, NUTS
from numpyro.infer.reparam import LocScaleReparam

TOLERANCE = 0.1


def walk(y):
    drift = numpyro.sample("drift", dist.Normal(0.0, 1.0))
    sigma = numpyro.sample("sigma", dist.LogNormal(-1.5, 0.3))  # not near 0, where chains stay

    def step(level, seen):
        with numpyro.handlers.reparam(config={"level": LocScaleReparam(0)}):
            level = numpyro.sample("level", dist.Normal(level + drift, 0.2))
        numpyro.sample("y", dist.Normal(level, sigma), obs=seen)
        return level, level

    scan(step, jnp.zeros(()), y)


def process(x, y):
    height = numpyro.sample("height", dist.LogNormal(0.0, 1.0))
    length = numpyro.sample("length", dist.LogNormal(0.0, 0.5))
    distance = (x[:, None] - x[None]) / length
    covariance = height * jnp.exp(-0.5 * distance**2) + 0.05 * jnp.eye(x.size)
    numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(x.size), covariance), obs=y)


def draw(kernel, key, *data, **start):
    mcmc = MCMC(kernel, num_warmup=200, num_samples=500, progress_bar=False)
    mcmc.run(key, *data, **start)
    return mcmc


def main():
    keys = jax.random.split(jax.random.PRNGKey(5), 4)
    y = 0.3 * jnp.arange(8.0) + 0.2 * jax.random.normal(keys[0], (8,))
    results = {}
    found = draw(NUTS(walk, max_tree_depth=7), keys[1], y).get_samples()
    results["drift"], results["sigma"] = found["drift"].mean(), found["sigma"].mean()
    x = jnp.linspace(-2.0, 2.0, 9)
    mcmc = draw(NUTS(process), keys[2], x, jnp.sin(2 * x))
    results["length"] = mcmc.get_samples()["length"].mean()  # with a standard error of 0.03
    results["fields"] = jnp.array(mcmc.get_samples()["height"].shape)

    def potential(z):
        return 0.5 * jnp.sum((z["a"] - 1.0) ** 2) + 0.5 * z["b"] ** 2 + 0.1 * z["b"] ** 4

    kernel = HMC(potential_fn=potential, step_size=0.3, num_steps=6, adapt_step_size=False)
    start = {"a": jnp.zeros(2), "b": jnp.zeros(())}
    found = draw(kernel, keys[3], init_params=start).get_samples()
    results["a"], results["b"] = found["a"].mean(0), (found["b"] ** 2).mean()
    chosen = lambda flag: numpyro.handlers.seed(cond, keys[0])(
        flag,
        lambda v: numpyro.sample("u", dist.Normal(v, 1.0)),
        lambda v: numpyro.sample("u", dist.Normal(-v, 1.0)),
        10.0,
    )
    results["chosen"] = jnp.sign(jnp.stack([chosen(True), chosen(False)]))
    return results
