"""Brax: a pendulum on a cart, stepped in ``scan``, and the gradient in its action."""

import jax
import jax.numpy as jnp
from brax import envs

TOLERANCE = 1e-3


def main():
    environment = envs.get_environment("inverted_pendulum", backend="spring")

    def cost(action):
        state = environment.reset(jax.random.PRNGKey(1))

        def step(state, _):
            state = environment.step(state, action)
            return state, (state.obs, state.reward)

        _, (observed, rewards) = jax.lax.scan(step, state, None, length=5)
        return (observed**2).sum(), rewards

    (value, rewards), slope = jax.jit(jax.value_and_grad(cost, has_aux=True))(jnp.array([0.1]))
    return {"value": value, "rewards": rewards, "slope": slope}
