"""evosax: evolution strategies on a test function."""

from functools import partial

import jax
import jax.numpy as jnp
from evosax.algorithms import CMA_ES, Open_ES

TOLERANCE = 1e-2


def fitness(x):
    return jnp.sum((x - 0.5) ** 2, -1)


def search(strategy, params, state, key):
    def step(carry, key):
        state = carry
        ask, tell = jax.random.split(key)
        population, state = strategy.ask(ask, state, params)
        state, metrics = strategy.tell(tell, population, fitness(population), state, params)
        return state, metrics["best_fitness"]

    return jax.lax.scan(step, state, jax.random.split(key, 12))


def main():
    key, found = jax.random.PRNGKey(0), {}
    for cls in (CMA_ES, Open_ES):
        strategy = cls(population_size=16, solution=jnp.zeros(3))
        params = strategy.default_params
        state = strategy.init(key, jnp.zeros(3), params)
        state, best = jax.jit(partial(search, strategy, params))(state, key)
        found[cls.__name__] = best
        found[f"{cls.__name__}_mean"] = strategy.get_mean(state)
    return found
