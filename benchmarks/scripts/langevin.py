"""Metropolis-adjusted Langevin chains of 500 steps."""

from benchmarks.scripts.library import jax, jnp, lax, show


def log_density(x):
    return -jnp.sum(x**4 - x**2)


def step(x, key):
    noise, choice = jax.random.split(key)
    proposal = x + 0.01 * jax.grad(log_density)(x) + 0.14 * jax.random.normal(noise, x.shape)
    gain = log_density(proposal) - log_density(x)
    accepted = jnp.log(jax.random.uniform(choice)) < gain
    return jnp.where(accepted, proposal, x), accepted


@jax.jit
def rate(key):
    return lax.scan(step, jnp.zeros(10), jax.random.split(key, 500))[1].mean()


show("rates", jnp.stack([rate(jax.random.key(i)) for i in range(3)]))
