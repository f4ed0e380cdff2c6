"""Sample a Gaussian process's values, a regression's weights on a curved metric, and by Gibbs."""

import blackjax
import jax
import jax.numpy as jnp

TOLERANCE = 5e-3
X = jnp.linspace(-1.0, 1.0, 8)
COVARIANCE = jnp.exp(-0.5 * ((X[:, None] - X) / 0.4) ** 2) + 1e-2 * jnp.eye(8)
SEEN = jnp.sign(X + 0.2)


def likelihood(f):
    return jnp.sum(jax.nn.log_sigmoid(SEEN * f))


def chain(kernel, start, key, steps=12, **given):
    @jax.jit
    def run(key):
        step = lambda state, key: (kernel.step(key, state)[0],) * 2
        return jax.lax.scan(step, kernel.init(start, **given), jax.random.split(key, steps))[1]

    return run(key).position


def posterior(w):
    design = jnp.stack([jnp.ones_like(X), X], -1)
    return jnp.sum(jax.nn.log_sigmoid(SEEN * (design @ w))) - 0.5 * jnp.sum(w**2)


def curved(w):
    """Fisher's information as a metric."""
    design = jnp.stack([jnp.ones_like(X), X], -1)
    p = jax.nn.sigmoid(design @ w)
    return design.T @ ((p * (1 - p))[:, None] * design) + jnp.eye(2)


@jax.jit
def gibbs(key):
    """Take turns between a level, by a random walk, and values, by MALA."""
    density = lambda level, x: -0.5 * jnp.sum((x - level) ** 2) - level**2 / 8
    walk = blackjax.rmh.build_kernel()
    langevin = blackjax.mala.build_kernel()

    def sweep(carry, key):
        level, x = carry
        one, two = jax.random.split(key)
        by_level = lambda v: density(v, x)
        moved, _ = walk(
            one,
            blackjax.rmh.init(level, by_level),
            by_level,
            lambda key, v: v + 0.5 * jax.random.normal(key),
        )
        by_x = lambda v: density(moved.position, v)
        steered, _ = langevin(two, blackjax.mala.init(x, by_x), by_x, 0.1)
        return (moved.position, steered.position), (moved.position, steered.position)

    return jax.lax.scan(sweep, (jnp.array(0.5), jnp.zeros(3)), jax.random.split(key, 15))[1]


def main():
    keys = jax.random.split(jax.random.PRNGKey(8), 5)
    results = {}
    slices = blackjax.elliptical_slice(likelihood, mean=jnp.zeros(8), cov=COVARIANCE)
    results["slices"] = chain(slices, jnp.zeros(8), keys[0])
    marginal = blackjax.mgrad_gaussian(
        likelihood, mean=jnp.zeros(8), covariance=COVARIANCE, step_size=0.3
    )
    results["marginal"] = chain(marginal, jnp.zeros(8), keys[1])
    riemann = blackjax.rmhmc(posterior, 0.3, curved, 3)
    results["riemann"] = chain(riemann, jnp.array([0.2, 0.5]), keys[2], 6)
    independent = blackjax.irmh(posterior, lambda key: jax.random.normal(key, (2,)))
    results["independent"] = chain(independent, jnp.array([0.2, 0.5]), keys[3])
    results["level"], results["values"] = gibbs(keys[4])
    results["tails"] = blackjax.ess(results["slices"][None].repeat(2, 0), 0, 1)
    return results
