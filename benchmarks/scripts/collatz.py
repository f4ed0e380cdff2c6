"""Lengths of Collatz's sequences, one number after the other."""

from benchmarks.scripts.library import jax, jnp, lax, show


@jax.jit
def length(n):
    def body(state):
        n, steps = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    return lax.while_loop(lambda s: s[0] != 1, body, (n, 0))[1]


show("lengths", jnp.stack([length(n) for n in range(1, 400)]))
