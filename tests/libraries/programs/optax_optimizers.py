"""Minimize a function by each of optax's optimizers."""

import jax
import jax.numpy as jnp
import optax

OPTIMIZERS = {
    "adabelief": optax.adabelief(1e-2),
    "adadelta": optax.adadelta(1.0),
    "adafactor": optax.adafactor(1e-2),
    "adagrad": optax.adagrad(1e-1),
    "adam": optax.adam(1e-2),
    "adamax": optax.adamax(1e-2),
    "adamaxw": optax.adamaxw(1e-2),
    "adamw": optax.adamw(1e-2),
    "adan": optax.adan(1e-2),
    "amsgrad": optax.amsgrad(1e-2),
    "fromage": optax.fromage(1e-2),
    "lamb": optax.lamb(1e-2),
    "lars": optax.lars(1e-1),
    "lion": optax.lion(1e-2),
    "nadam": optax.nadam(1e-2),
    "nadamw": optax.nadamw(1e-2),
    "noisy_sgd": optax.noisy_sgd(1e-3, key=1),
    "novograd": optax.novograd(1e-2),
    "optimistic_gradient_descent": optax.optimistic_gradient_descent(1e-3),
    "radam": optax.radam(1e-2),
    "rmsprop": optax.rmsprop(1e-2, momentum=0.9, centered=True),
    "rprop": optax.rprop(1e-2),
    "sgd": optax.sgd(1e-3, momentum=0.9, nesterov=True),
    "sign_sgd": optax.sign_sgd(1e-2),
    "sm3": optax.sm3(1e-1),
    "yogi": optax.yogi(1e-2),
}


def loss(params):
    x, y = params["x"], params["w"].sum(1)
    return jnp.sum(100.0 * (y - x**2) ** 2 + (1.0 - x) ** 2)


def minimize(optimizer):
    def step(carry, _):
        params, state = carry
        value, grads = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(grads, state, params)
        return (optax.apply_updates(params, updates), state), value

    params = {"x": jnp.linspace(-1.0, 1.0, 4), "w": jnp.linspace(0.1, 0.9, 8).reshape(4, 2)}
    (params, _), values = jax.lax.scan(step, (params, optimizer.init(params)), None, 50)
    return params["x"], values


RUNS = {name: jax.jit(lambda o=optimizer: minimize(o)) for name, optimizer in OPTIMIZERS.items()}
TOLERANCE = 1e-3


def main():
    results = {}
    for name, run in RUNS.items():
        results[f"{name} x"], results[f"{name} losses"] = run()
    return results
