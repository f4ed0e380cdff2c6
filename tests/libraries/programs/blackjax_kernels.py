"""Take a few steps of each of blackjax's kernels."""

import blackjax
import jax
import jax.numpy as jnp

TOLERANCE = 2e-3
SCALES = jnp.array([1.0, 2.0, 0.5])


def log_density(x):
    return -0.5 * jnp.sum((x / SCALES) ** 2) - 0.1 * jnp.sum(jnp.cos(x))


KERNELS = {
    "hmc": blackjax.hmc(log_density, 0.2, jnp.ones(3), 6),
    "nuts": blackjax.nuts(log_density, 0.3, jnp.ones(3)),
    "mala": blackjax.mala(log_density, 0.1),
    "rmh": blackjax.additive_step_random_walk(
        log_density, blackjax.mcmc.random_walk.normal(0.3 * jnp.ones(3))
    ),
    "barker": blackjax.barker_proposal(log_density, 0.2),
    "ghmc": blackjax.ghmc(log_density, 0.2, jnp.ones(3), 0.9, 0.1),
    "mclmc": blackjax.mclmc(log_density, 0.5, 0.2),
    "elliptical": blackjax.elliptical_slice(
        lambda x: -0.1 * jnp.sum(jnp.cos(x)), mean=jnp.zeros(3), cov=jnp.diag(SCALES**2)
    ),
}


def run(kernel):
    @jax.jit
    def chain(key):
        first, key = jax.random.split(key)
        start = jnp.array([0.5, -0.3, 0.2])
        state = kernel.init(start, first) if kernel in NEEDS_KEY else kernel.init(start)

        def step(state, key):
            state, _ = kernel.step(key, state)
            return state, state.position

        return jax.lax.scan(step, state, jax.random.split(key, 10))[1]

    return chain


NEEDS_KEY = (KERNELS["ghmc"], KERNELS["mclmc"])
RUNS = {name: run(kernel) for name, kernel in KERNELS.items()}


@jax.jit
def tempered(key):
    first, key = jax.random.split(key)
    particles = jax.random.normal(first, (50, 3))
    smc = blackjax.adaptive_tempered_smc(
        lambda x: -0.5 * jnp.sum(x**2),
        lambda x: -0.5 * jnp.sum((x - 1.0) ** 2),
        blackjax.hmc.build_kernel(),
        blackjax.hmc.init,
        {
            "step_size": jnp.array([0.2]),
            "inverse_mass_matrix": jnp.ones((1, 3)),
            "num_integration_steps": jnp.array([3]),
        },
        blackjax.smc.resampling.systematic,
        0.5,
        num_mcmc_steps=2,
    )
    state = smc.init(particles)

    def goes_on(carry):
        return (carry[0].tempering_param < 1) & (carry[2] < 20)

    def body(carry):
        state, key, count = carry
        key, own = jax.random.split(key)
        return smc.step(own, state)[0], key, count + 1

    state, _, _ = jax.lax.while_loop(goes_on, body, (state, key, 0))
    return state.particles.mean(0)


def main():
    results = {name: chain(jax.random.PRNGKey(3)) for name, chain in RUNS.items()}
    results["tempered"] = tempered(jax.random.PRNGKey(5))
    chains = jax.vmap(RUNS["nuts"])(jax.random.split(jax.random.PRNGKey(1), 4))
    results["chains"] = chains
    # NumPy floats in it make it float64, which jax does not have by default
    results["ess"] = blackjax.diagnostics.effective_sample_size(chains).astype(jnp.float32)
    results["rhat"] = blackjax.diagnostics.potential_scale_reduction(chains)
    return results
