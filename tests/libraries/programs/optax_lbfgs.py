"""Minimize by L-BFGS with a zoom line search, until the gradient is small."""

import jax
import jax.numpy as jnp
import optax

TOLERANCE = 1e-3


def loss(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


optimizer = optax.lbfgs()


@jax.jit
def run(start):
    value_and_grad = optax.value_and_grad_from_state(loss)

    def step(carry):
        params, state = carry
        value, grad = value_and_grad(params, state=state)
        updates, state = optimizer.update(
            grad, state, params, value=value, grad=grad, value_fn=loss
        )
        return optax.apply_updates(params, updates), state

    def goes_on(carry):
        _, state = carry
        count = optax.tree.get(state, "count")
        grad = optax.tree.get(state, "grad")
        return (count == 0) | ((count < 100) & (optax.tree.norm(grad) >= 1e-3))

    return jax.lax.while_loop(goes_on, step, (start, optimizer.init(start)))[0]


def main():
    return {"x": run(jnp.zeros(4)), "y": run(jnp.array([-1.2, 1.0]))}
