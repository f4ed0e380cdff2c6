"""pgx: games between players that draw their moves, in scan and vmap."""

import jax
import jax.numpy as jnp
import pgx

NAMES = ("tic_tac_toe", "connect_four", "2048", "othello")


def main():
    results = {}
    for name in NAMES:
        env = pgx.make(name)

        def game(key, env=env):
            key, first = jax.random.split(key)

            def move(state, key):
                drawing, stepping = jax.random.split(key)
                logits = jnp.where(state.legal_action_mask, 0.0, -1e9)
                state = env.step(state, jax.random.categorical(drawing, logits), stepping)
                return state, (state.observation, state.rewards, state.terminated)

            return jax.lax.scan(move, env.init(first), jax.random.split(key, 20))[1]

        keys = jax.random.split(jax.random.PRNGKey(0), 3)
        seen, rewards, ended = jax.jit(jax.vmap(game))(keys)
        results |= {f"{name}_seen": seen, f"{name}_rewards": rewards, f"{name}_ended": ended}
    return results
