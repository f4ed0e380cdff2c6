"""Sample the eight schools by numpyro's NUTS, and fit them by stochastic variational inference."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, log_likelihood
from numpyro.infer.autoguide import AutoNormal
from numpyro.infer.reparam import TransformReparam

Y = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SIGMA = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
TOLERANCE = 0.25


def model(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("J", len(sigma)):
        with numpyro.handlers.reparam(config={"theta": TransformReparam()}):
            theta = numpyro.sample(
                "theta",
                dist.TransformedDistribution(
                    dist.Normal(0.0, 1.0), dist.transforms.AffineTransform(mu, tau)
                ),
            )
        numpyro.sample("obs", dist.Normal(theta, sigma), obs=y)


def main():
    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=1000, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), SIGMA, y=Y)
    samples = mcmc.get_samples()
    results = {"mu": samples["mu"].mean() / 50, "theta": samples["theta"].mean(0) / 50}
    few = {name: value[:5] for name, value in samples.items()}
    results["shape"] = jnp.array(log_likelihood(model, few, SIGMA, y=Y)["obs"].shape)
    predicted = Predictive(model, few)(jax.random.PRNGKey(1), SIGMA)
    results["predicted"] = jnp.array(predicted["obs"].shape)
    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.05), Trace_ELBO())
    fitted = svi.run(jax.random.PRNGKey(2), 300, SIGMA, y=Y, progress_bar=False)
    results["elbo"] = fitted.losses[-50:].mean() / 50
    return results
