"""Warm up and sample: windows, pathfinder's metric, MCLMC's tuning, chains side by side."""

import blackjax
import jax
import jax.numpy as jnp

TOLERANCE = 5e-3


def log_density(x):
    """Neal's funnel, mild."""
    scale = jnp.exp(x["a"] / 4)
    return -0.5 * x["a"] ** 2 - 0.5 * jnp.sum((x["b"] / scale) ** 2) - 2 * jnp.log(scale)


START = {"a": jnp.array(0.3), "b": jnp.array([0.5, -0.2])}


@jax.jit
def windows(key):
    """Few steps, so that rounding does not lead elsewhere."""
    warmup = blackjax.window_adaptation(blackjax.nuts, log_density, initial_step_size=0.4)
    (state, tuned), _ = warmup.run(key, START, num_steps=8)
    return state.position["b"], tuned["step_size"], tuned["inverse_mass_matrix"]


@jax.jit
def chains(key):
    kernel = blackjax.dynamic_hmc(
        log_density,
        0.2,
        jnp.ones(3),
        integration_steps_fn=lambda key: jax.random.randint(key, (), 1, 5),
    )

    def chain(key):
        first, key = jax.random.split(key)
        state = kernel.init(START, first)
        step = lambda state, key: (kernel.step(key, state)[0],) * 2
        return jax.lax.scan(step, state, jax.random.split(key, 6))[1].position["b"]

    return jax.vmap(chain)(jax.random.split(key, 3))


@jax.jit
def path(key):
    flat = lambda x: log_density({"a": x[0], "b": x[1:]})
    state, _ = blackjax.vi.pathfinder.approximate(key, flat, jnp.ones(3) * 0.4, num_samples=20)
    drawn, _ = blackjax.vi.pathfinder.sample(key, state, 5)
    return state.position, drawn


@jax.jit
def averaged(key):
    """Nesterov's dual averaging of a step's size, by hand."""
    init, update, final = blackjax.optimizers.dual_averaging.dual_averaging()
    state = init(0.5)
    rates = jax.random.uniform(key, (10,))
    state, sizes = jax.lax.scan(lambda s, r: (update(s, 0.8 - r), jnp.exp(s.log_x)), state, rates)
    return final(state), sizes


def main():
    key = jax.random.PRNGKey(11)
    results = {}
    results["position"], results["step"], results["metric"] = windows(key)
    results["chains"] = chains(key)
    results["path"], results["drawn"] = path(key)
    results["size"], results["sizes"] = averaged(key)
    return results
