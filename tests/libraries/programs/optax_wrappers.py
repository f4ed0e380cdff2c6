"""Wrap optimizers: masks, labels, accumulation, injected hyperparameters, averages, lookahead."""

import jax
import jax.numpy as jnp
import optax


def is_matrix(params):
    return jax.tree.map(lambda x: x.ndim == 2, params)


def label(params):
    return {name: "slow" if name == "b" else "quick" for name in params}


OPTIMIZERS = {
    "masked": optax.chain(
        optax.scale_by_adam(),
        optax.masked(optax.add_decayed_weights(0.1), is_matrix),
        optax.scale(-1e-2),
    ),
    "labelled": optax.multi_transform({"slow": optax.sgd(1e-3), "quick": optax.adam(1e-2)}, label),
    "accumulated": optax.MultiSteps(optax.adam(1e-2), every_k_schedule=4),
    "finite": optax.apply_if_finite(optax.adam(1e-2), 3),
    "injected": optax.inject_hyperparams(optax.adam)(
        learning_rate=optax.exponential_decay(1e-2, 10, 0.5)
    ),
    "ema": optax.chain(optax.ema(0.9), optax.sgd(1e-2)),
    "centralized": optax.chain(optax.centralize(), optax.sgd(1e-2)),
    "clipped": optax.chain(
        optax.adaptive_grad_clip(0.1),
        optax.clip(0.05),
        optax.clip_by_block_rms(0.1),
        optax.sgd(0.1),
    ),
    "noise": optax.chain(optax.add_noise(0.1, 0.5, 3), optax.sgd(1e-2)),
    "plateau": optax.chain(optax.adam(1e-1), optax.contrib.reduce_on_plateau(patience=2)),
    "schedule_free": optax.contrib.schedule_free_adamw(1e-2),
    "sam_free_dadapt": optax.contrib.dadapt_adamw(1.0),
    "prodigy": optax.contrib.prodigy(1.0),
    "muon": optax.contrib.muon(1e-2),
    "mechanic": optax.contrib.mechanize(optax.sgd(1e-1)),
}


def loss(params, x):
    return jnp.mean((jnp.tanh(x @ params["w"]) + params["b"] - 1.0) ** 2)


def train(optimizer):
    def step(carry, x):
        params, state = carry
        value, grads = jax.value_and_grad(loss)(params, x)
        updates, state = optax.with_extra_args_support(optimizer).update(
            grads, state, params, value=value
        )
        return (optax.apply_updates(params, updates), state), value

    xs = jax.random.normal(jax.random.PRNGKey(0), (40, 8, 3))
    params = {"w": jnp.full((3, 2), 0.3), "b": jnp.zeros(2)}
    (params, _), values = jax.lax.scan(step, (params, optimizer.init(params)), xs)
    return params["w"], values


RUNS = {
    name: jax.jit(
        lambda o=o: train(o.gradient_transformation() if isinstance(o, optax.MultiSteps) else o)
    )
    for name, o in OPTIMIZERS.items()
}
TOLERANCE = 1e-3


def main():
    results = {}
    for name, run in RUNS.items():
        results[f"{name} w"], results[f"{name} losses"] = run()
    return results
