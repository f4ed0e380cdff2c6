"""Evaluate and differentiate optax's losses."""

import jax
import jax.numpy as jnp
import optax

LOSSES = {
    "sigmoid_binary_cross_entropy": lambda x, y: optax.sigmoid_binary_cross_entropy(x, y > 0),
    "softmax_cross_entropy": lambda x, y: optax.softmax_cross_entropy(x, jax.nn.softmax(y)),
    "with_integer_labels": lambda x, y: optax.softmax_cross_entropy_with_integer_labels(
        x, jnp.argmax(y, -1)
    ),
    "hinge": lambda x, y: optax.hinge_loss(x, jnp.sign(y)),
    "huber": lambda x, y: optax.huber_loss(x - y, delta=0.5),
    "log_cosh": optax.log_cosh,
    "l2": optax.l2_loss,
    "squared_error": optax.squared_error,
    "cosine_distance": lambda x, y: optax.cosine_distance(x, y, epsilon=1e-6),
    "kl": lambda x, y: optax.kl_divergence(jax.nn.log_softmax(x), jax.nn.softmax(y)),
    "js": lambda x, y: optax.losses.kl_divergence_with_log_targets(
        jax.nn.log_softmax(x), jax.nn.log_softmax(y)
    ),
    "focal": lambda x, y: optax.sigmoid_focal_loss(x, (y > 0).astype(jnp.float32), alpha=0.25),
    "triplet": lambda x, y: optax.losses.triplet_margin_loss(x, y, x[::-1]),
    "ntxent": lambda x, y: optax.ntxent(x, jnp.array([0, 1, 0, 1, 2, 2])),
    "ctc": lambda x, y: optax.ctc_loss(
        jnp.stack([x, y]),
        jnp.zeros((2, 6)),
        jnp.array([[1, 2, 1], [3, 1, 0]]),
        jnp.array([[0.0, 0, 0], [0, 0, 1]]),
    ),
    "sparsemax": lambda x, y: optax.losses.sparsemax_loss(x, (y > 0).astype(jnp.float32)),
    "fenchel_young": lambda x, y: optax.losses.make_fenchel_young_loss(jax.scipy.special.logsumexp)(
        x, jax.nn.softmax(y)
    ),
}


def pair(loss):
    return jax.jit(jax.value_and_grad(lambda x, y: jnp.mean(loss(x, y))))


RUNS = {name: pair(loss) for name, loss in LOSSES.items()}


def main():
    x, y = jax.random.normal(jax.random.PRNGKey(0), (2, 6, 4))
    results = {}
    for name, run in RUNS.items():
        results[name], results[f"d {name}"] = run(x, y)
    return results
