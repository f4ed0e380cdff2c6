"""Move particles from a prior to a posterior: tempered, with tuned kernels, kept, in parts."""

import blackjax
import jax
import jax.numpy as jnp

TOLERANCE = 2e-3
CENTRES = jnp.array([[-1.5, 0.0], [1.5, 0.5]])


def prior(x):
    return -0.5 * jnp.sum(x**2) / 4


def likelihood(x):
    return jax.nn.logsumexp(-2 * jnp.sum((x - CENTRES) ** 2, axis=-1))


WALK = {
    "mcmc_step_fn": lambda key, state, density, scale: blackjax.rmh.build_kernel()(
        key, state, density, lambda key, x: x + scale * jax.random.normal(key, x.shape)
    ),
    "mcmc_init_fn": blackjax.rmh.init,
}


def start(key):
    return 2 * jax.random.normal(key, (40, 2))


@jax.jit
def tempered(key):
    smc = blackjax.tempered_smc(
        prior,
        likelihood,
        **WALK,
        mcmc_parameters={"scale": jnp.array([0.5])},
        resampling_fn=blackjax.smc.resampling.stratified,
        num_mcmc_steps=3,
    )
    state = smc.init(start(key))

    def step(carry, temperature):
        state, key = carry
        own, key = jax.random.split(key)
        state, info = smc.step(own, state, temperature)
        return (state, key), info.log_likelihood_increment

    temperatures = jnp.linspace(0.0, 1.0, 6)[1:] ** 2
    (state, _), gains = jax.lax.scan(step, (state, key), temperatures)
    return state.particles, gains


@jax.jit
def tuned(key):
    """The scale of the steps follows the spread of the particles."""

    def update(key, state, info):
        return {"scale": jnp.std(state.particles)[None]}

    smc = blackjax.inner_kernel_tuning(
        blackjax.adaptive_tempered_smc,
        prior,
        likelihood,
        WALK["mcmc_step_fn"],
        WALK["mcmc_init_fn"],
        blackjax.smc.resampling.systematic,
        update,
        {"scale": jnp.array([1.0])},
        target_ess=0.6,
        num_mcmc_steps=2,
    )
    state = smc.init(start(key))
    goes_on = lambda c: (c[0].sampler_state.tempering_param < 1.0) & (c[2] < 20)

    def body(carry):
        state, key, count = carry
        own, key = jax.random.split(key)
        return smc.step(own, state)[0], key, count + 1

    state, _, count = jax.lax.while_loop(goes_on, body, (state, key, 0))
    return state.sampler_state.particles, count, state.parameter_override["scale"]


def main():
    key = jax.random.PRNGKey(4)
    results = {}
    results["particles"], results["gains"] = tempered(key)
    results["tuned"], results["count"], results["scale"] = tuned(key)
    weights = jax.nn.softmax(jnp.sin(jnp.arange(40.0)))
    results["solved"] = blackjax.smc.solver.dichotomy(lambda x: 0.7 - x**2, 0.0, 2.0)
    results["ess"] = blackjax.smc.ess.log_ess(jnp.log(weights))
    return results
