"""mctx: tree search by MuZero's policies, with a model that is a function of the state."""

import functools

import jax
import jax.numpy as jnp
import mctx

ACTIONS, BATCH = 5, 4


def step(weights, key, action, state):
    following = jnp.sin(state * 1.7 + action[..., None].astype(jnp.float32))
    reward = jnp.mean(following, -1)
    found = mctx.RecurrentFnOutput(
        reward=reward,
        discount=jnp.full_like(reward, 0.9),
        prior_logits=following @ weights,
        value=jnp.tanh(following.sum(-1)),
    )
    return found, following


def main():
    weights = jax.random.normal(jax.random.PRNGKey(1), (6, ACTIONS))
    state = jax.random.normal(jax.random.PRNGKey(0), (BATCH, 6))
    root = mctx.RootFnOutput(prior_logits=state @ weights, value=jnp.zeros(BATCH), embedding=state)
    policies = {
        "gumbel": functools.partial(mctx.gumbel_muzero_policy, max_num_considered_actions=4),
        "muzero": mctx.muzero_policy,
    }
    results = {}
    for name, policy in policies.items():
        search = jax.jit(
            functools.partial(policy, recurrent_fn=step, num_simulations=24, max_depth=8)
        )
        found = search(weights, jax.random.PRNGKey(3), root)
        results[f"{name}_action"] = found.action
        results[f"{name}_weights"] = found.action_weights
        results[f"{name}_values"] = found.search_tree.node_values
        results[f"{name}_qvalues"] = found.search_tree.summary().qvalues
    return results
