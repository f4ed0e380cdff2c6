"""A hidden Markov model: its likelihood by the forward algorithm, fitted; and Viterbi's path."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

STATES = 4
rng = np.random.default_rng(0)
transition = 0.85 * np.eye(STATES) + 0.05 * (1 - np.eye(STATES))
state, seen = 0, []
for _ in range(400):
    state = rng.choice(STATES, p=transition[state])
    seen.append(2 * state + rng.standard_normal())
seen = np.array(seen, np.float32)


def emissions(params, ys):
    return -0.5 * (ys[:, None] - params["means"]) ** 2


def nll(params, ys):
    logT = jax.nn.log_softmax(params["transition"])

    def step(alpha, emission):
        alpha = jax.scipy.special.logsumexp(alpha[:, None] + logT, axis=0) + emission
        return alpha, None

    es = emissions(params, ys)
    alpha, _ = lax.scan(step, es[0], es[1:])
    return -jax.scipy.special.logsumexp(alpha) / len(ys)


@jax.jit
def fit(params, ys):
    value, grads = jax.value_and_grad(nll)(params, ys)
    return jax.tree.map(lambda p, g: p - 0.5 * g, params, grads), value


@jax.jit
def viterbi(params, ys):
    logT = jax.nn.log_softmax(params["transition"])
    es = emissions(params, ys)

    def forward(score, e):
        candidates = score[:, None] + logT
        return candidates.max(0) + e, candidates.argmax(0)

    last, back = lax.scan(forward, es[0], es[1:])

    def backward(state, pointers):
        return pointers[state], state

    _, path = lax.scan(backward, last.argmax(), back, reverse=True)
    return path


params = {"transition": jnp.zeros((STATES, STATES)), "means": jnp.linspace(-1.0, 7.0, STATES)}
for i in range(60):
    params, value = fit(params, seen)
    if i % 20 == 0:
        show("nll", value)
show("means", params["means"])
show("path", jnp.bincount(viterbi(params, seen), length=STATES))
