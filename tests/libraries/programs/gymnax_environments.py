"""gymnax: environments that are stepped by random actions, in scan and vmap."""

import gymnax
import jax

NAMES = ("CartPole-v1", "Pendulum-v1", "Acrobot-v1", "Catch-bsuite", "Breakout-MinAtar")


def main():
    results = {}
    for name in NAMES:
        env, params = gymnax.make(name)

        def episode(key, env=env, params=params):
            key, first = jax.random.split(key)

            def step(carry, key):
                _, state = carry
                choosing, stepping = jax.random.split(key)
                action = env.action_space(params).sample(choosing)
                seen, state, reward, done, *_ = env.step(stepping, state, action, params)
                return (seen, state), (seen, reward, done)

            return jax.lax.scan(step, env.reset(first, params), jax.random.split(key, 50))[1]

        keys = jax.random.split(jax.random.PRNGKey(0), 4)
        seen, reward, done = jax.jit(jax.vmap(episode))(keys)
        results |= {f"{name}_seen": seen, f"{name}_reward": reward, f"{name}_done": done}
    return results
