"""Beam search through a recurrent network with random weights."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

WORDS, WIDTH, BEAM, LENGTH = 50, 32, 4, 20
k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
params = {
    "embed": jax.random.normal(k1, (WORDS, WIDTH)),
    "w": jax.random.normal(k2, (2 * WIDTH, WIDTH)) / 5,
    "out": jax.random.normal(k3, (WIDTH, WORDS)) / 3,
}


def cell(params, h, token):
    x = jnp.concatenate([params["embed"][token], h], -1)
    h = jnp.tanh(x @ params["w"])
    return h, jax.nn.log_softmax(h @ params["out"])


@jax.jit
def search(params, start):
    def body(i, state):
        scores, tokens, h = state
        last = tokens[:, i - 1]
        h, logp = jax.vmap(lambda h, t: cell(params, h, t))(h, last)
        total = (scores[:, None] + logp).reshape(-1)
        scores, flat = lax.top_k(total, BEAM)
        parent, word = flat // WORDS, flat % WORDS
        return scores, tokens[parent].at[:, i].set(word), h[parent]

    scores = jnp.array([0.0] + [-1e9] * (BEAM - 1))
    tokens = jnp.zeros((BEAM, LENGTH), jnp.int32).at[:, 0].set(start)
    return lax.fori_loop(1, LENGTH, body, (scores, tokens, jnp.zeros((BEAM, WIDTH))))


for start in range(8):
    scores, tokens, _ = search(params, start)
    if start % 4 == 0:
        show("scores", scores)
        show("tokens", tokens[0])
greedy, h, total = np.int32(0), jnp.zeros(WIDTH), 0.0
step = jax.jit(cell)
for _ in range(LENGTH - 1):
    h, logp = step(params, h, greedy)
    greedy = np.int32(jnp.argmax(logp))
    total += float(logp[greedy])
show("greedy", np.float32(total))
