"""Check shapes, types and values by chex, outside of compiled programs and in them."""

import chex
import jax
import jax.numpy as jnp
import numpy as np


@chex.dataclass
class State:
    position: chex.Array
    count: chex.Array


@chex.chexify
@jax.jit
def normalized(x):
    chex.assert_tree_all_finite(x)
    chex.assert_rank(x, 1)
    return x / jnp.sum(x)


@jax.jit
def step(state):
    chex.assert_rank(state.position, 1)
    chex.assert_type(state.position, jnp.float32)
    return State(position=2 * state.position, count=state.count + 1)


def wait(x):
    chex.block_until_chexify_assertions_complete()
    return x


def main():
    state = step(State(position=jnp.arange(3.0), count=jnp.array(0)))
    chex.assert_trees_all_close(state.position, jnp.array([0.0, 2.0, 4.0]))
    chex.assert_shape([state.position, state.position], (3,))
    results = {"position": state.position, "count": state.count}
    results["normalized"] = normalized(jnp.arange(1.0, 4.0))
    failures = {
        "shape": lambda: chex.assert_shape(state.position, (4,)),
        "equal": lambda: chex.assert_trees_all_equal(state, step(state)),
        "finite": lambda: wait(normalized(jnp.array([jnp.nan]))),
    }
    for name, check in failures.items():
        try:
            check()
        except Exception as error:
            results[name] = np.array("chex" in str(error).lower())
    return results
