"""Minimise inside a minimisation, in a loop and beneath grad: hyperparameters and layers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import optimistix as optx

TOLERANCE = 2e-3


def ridge(weights, args):
    x, y, penalty = args
    return jnp.mean((x @ weights - y) ** 2) + jnp.exp(penalty) * jnp.sum(weights**2)


def held_out(penalty, args):
    x, y, x_test, y_test = args
    solver = optx.BFGS(rtol=1e-6, atol=1e-6)
    inner = optx.minimise(ridge, solver, jnp.zeros(3), args=(x, y, penalty), max_steps=100)
    return jnp.mean((x_test @ inner.value - y_test) ** 2)


@eqx.filter_jit
def outer(data):
    solver = optx.OptaxMinimiser(optax.adam(0.3), rtol=1e-3, atol=1e-4)
    return optx.minimise(held_out, solver, jnp.array(-2.0), args=data, max_steps=60, throw=False)


class Equilibrium(eqx.Module):
    """A layer whose result is a fixed point."""

    inside: jax.Array
    outside: eqx.nn.Linear

    def __call__(self, x):
        def step(z, args):
            inside, driven = args
            return jnp.tanh(0.3 * inside @ z + driven)

        solver = optx.FixedPointIteration(rtol=1e-6, atol=1e-6)
        given = (self.inside, self.outside(x))
        return optx.fixed_point(step, solver, jnp.zeros(4), args=given).value


@eqx.filter_jit
@eqx.filter_value_and_grad
def loss(layer, x, y):
    return jnp.mean((jax.vmap(layer)(x).sum(-1) - y) ** 2)


def main():
    keys = jax.random.split(jax.random.PRNGKey(1), 4)
    x = jax.random.normal(keys[0], (20, 3))
    y = x @ jnp.array([1.0, -0.5, 0.0]) + 0.3 * jax.random.normal(keys[1], (20,))
    data = (x[:10], y[:10], x[10:], y[10:])
    results = {"held out": held_out(-2.0, data)}
    results["slope"] = jax.jit(jax.grad(held_out))(-2.0, data)
    found = outer(data)
    results["penalty"] = jnp.tanh(found.value)
    layer = Equilibrium(jax.random.normal(keys[2], (4, 4)) / 2, eqx.nn.Linear(3, 4, key=keys[3]))
    losses = []
    for _ in range(5):
        value, grads = loss(layer, x, y)
        losses.append(value)
        layer = eqx.apply_updates(layer, jax.tree.map(lambda g: -0.1 * g, grads))
    results["losses"] = jnp.stack(losses)
    results["weights"] = layer.inside
    return results
