"""Train an MLP by Adam with warm-up, cosine decay and clipped gradients."""

from functools import partial

import jax
import jax.numpy as jnp
import optax

STEPS = 200
schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-2, 20, STEPS, 1e-4)
optimizer = optax.chain(
    optax.clip_by_global_norm(1.0), optax.adamw(learning_rate=schedule, weight_decay=1e-3)
)


def predict(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return (x @ w + b)[:, 0]


def loss(params, x, y):
    return jnp.mean(optax.l2_loss(predict(params, x), y))


@partial(jax.jit, donate_argnums=(0, 1))
def step(params, state, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value


def main():
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    sizes = [4, 32, 32, 1]
    params = [
        (jax.random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n))
        for k, m, n in zip(keys[:3], sizes[:-1], sizes[1:], strict=True)
    ]
    x = jax.random.normal(keys[3], (128, 4))
    y = jnp.sin(x).sum(-1)
    state = optimizer.init(params)
    losses = []
    for _ in range(STEPS):
        params, state, value = step(params, state, x, y)
        losses.append(value)
    return {"losses": jnp.stack(losses), "last": params[-1][0], "lr": schedule(jnp.arange(STEPS))}
