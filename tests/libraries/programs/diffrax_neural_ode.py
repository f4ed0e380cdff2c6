"""Train a neural ODE on spirals."""

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import optax

TOLERANCE = 1e-3
optimizer = optax.adabelief(3e-3)


class Field(eqx.Module):
    mlp: eqx.nn.MLP

    def __init__(self, key):
        self.mlp = eqx.nn.MLP(2, 2, 16, 2, activation=jax.nn.softplus, key=key)

    def __call__(self, t, y, args):
        return self.mlp(y)


class NeuralODE(eqx.Module):
    field: Field

    def __call__(self, ts, y0):
        return dfx.diffeqsolve(
            dfx.ODETerm(self.field),
            dfx.Tsit5(),
            t0=ts[0],
            t1=ts[-1],
            dt0=ts[1] - ts[0],
            y0=y0,
            stepsize_controller=dfx.PIDController(rtol=1e-3, atol=1e-6),
            saveat=dfx.SaveAt(ts=ts),
        ).ys


@eqx.filter_value_and_grad
def loss(model, ts, ys):
    return jnp.mean((jax.vmap(model, in_axes=(None, 0))(ts, ys[:, 0]) - ys) ** 2)


@eqx.filter_jit
def step(model, state, ts, ys):
    value, grads = loss(model, ts, ys)
    updates, state = optimizer.update(grads, state, model)
    return eqx.apply_updates(model, updates), state, value


def main():
    key = jax.random.PRNGKey(0)
    ts = jnp.linspace(0.0, 3.0, 20)
    starts = jax.random.uniform(key, (8, 2), minval=-0.6, maxval=1.0)
    turn = jnp.array([[-0.1, 1.3], [-1.0, -0.1]])
    ys = jax.vmap(lambda y: jax.vmap(lambda t: jax.scipy.linalg.expm(turn * t) @ y)(ts))(starts)
    model = NeuralODE(Field(key))
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
    values = []
    for _ in range(15):
        model, state, value = step(model, state, ts, ys)
        values.append(value)
    return {"losses": jnp.stack(values), "path": model(ts, ys[0, 0])}
