"""Deep Q-learning in a world of squares, with a buffer of what was seen."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

SIZE = 5
MOVES = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
rng = np.random.default_rng(0)


def encode(place):
    x = np.zeros((2, SIZE), np.float32)
    x[0, place[0]] = x[1, place[1]] = 1
    return x.ravel()


def act(place, action):
    new = np.clip(place + MOVES[action], 0, SIZE - 1)
    terminal = bool((new == SIZE - 1).all())
    return new, 1.0 if terminal else -0.02, terminal


def q_values(params, x):
    return jnp.tanh(x @ params["w1"] + params["b1"]) @ params["w2"]


@jax.jit
def best(params, x):
    return jnp.argmax(q_values(params, x))


@jax.jit
def learn(params, target, x, a, r, y, terminal):
    def loss(params):
        aim = r + 0.95 * (1 - terminal) * q_values(target, y).max(-1)
        q = jnp.take_along_axis(q_values(params, x), a[:, None], 1)[:, 0]
        return jnp.mean((q - jax.lax.stop_gradient(aim)) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


k1, k2 = jax.random.split(jax.random.key(0))
params = {"w1": 0.5 * jax.random.normal(k1, (2 * SIZE, 32)), "b1": jnp.zeros(32)}
params["w2"] = 0.1 * jax.random.normal(k2, (32, 4))
target, buffer, steps = params, [], 0
show("start", q_values(params, encode(np.zeros(2, int))))
for episode in range(30):
    place = np.zeros(2, int)
    for _ in range(30):
        explore = rng.random() < 1 / (1 + episode / 5)
        action = int(rng.integers(4)) if explore else int(best(params, encode(place)))
        new, reward, terminal = act(place, action)
        buffer.append(
            (encode(place), np.int32(action), np.float32(reward), encode(new), np.float32(terminal))
        )
        place, steps = new, steps + 1
        if len(buffer) >= 64:
            picks = rng.integers(0, len(buffer), 32)
            batch = [np.stack(column) for column in zip(*[buffer[i] for i in picks], strict=True)]
            params, value = learn(params, target, *batch)
        if steps % 50 == 0:
            target = params
        if terminal:
            break
show("finite", bool(np.isfinite(value)))
