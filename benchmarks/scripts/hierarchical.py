"""Eight schools: a hierarchical model fitted by variational inference, and its predictions."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

effects = np.array([28.0, 8, -3, 7, -1, 1, 18, 12], np.float32)
errors = np.array([15.0, 10, 16, 11, 9, 11, 10, 18], np.float32)


def normal_logpdf(x, mean, sd):
    return -0.5 * ((x - mean) / sd) ** 2 - jnp.log(sd) - 0.5 * np.float32(np.log(2 * np.pi))


def log_joint(z):
    mu, log_tau, theta = z[0], z[1], z[2:]
    tau = jnp.exp(log_tau)
    prior = normal_logpdf(mu, 0.0, 5.0) + log_tau - jnp.log1p((tau / 5) ** 2)
    school = mu + tau * theta
    return (
        prior + normal_logpdf(theta, 0.0, 1.0).sum() + normal_logpdf(effects, school, errors).sum()
    )


def elbo(params, key):
    mean, log_sd = params
    noise = jax.random.normal(key, (16, 10))
    draws = mean + jnp.exp(log_sd) * noise
    return jax.vmap(log_joint)(draws).mean() + log_sd.sum()


@jax.jit
def step(params, key, rate):
    value, grads = jax.value_and_grad(elbo)(params, key)
    return jax.tree.map(lambda p, g: p + rate * g, params, grads), value


params = (jnp.zeros(10), jnp.full(10, -1.0))
values = []
for i, key in enumerate(jax.random.split(jax.random.key(0), 600)):
    params, value = step(params, key, 0.05 / (1 + i / 100))
    values.append(value)
show("elbo", np.mean(values[:100]))
show("elbo", np.mean(values[-100:]))
mean, log_sd = params
draws = mean + jnp.exp(log_sd) * jax.random.normal(jax.random.key(1), (1000, 10))
schools = draws[:, :1] + jnp.exp(draws[:, 1:2]) * draws[:, 2:]
show("schools", schools.mean(0))
show("quantiles", jnp.quantile(schools, jnp.array([0.1, 0.9]), axis=0))
