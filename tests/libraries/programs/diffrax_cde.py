"""Train a neural controlled differential equation to tell apart spirals, and look at its parts."""

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import optax

TOLERANCE = 2e-3


class Field(eqx.Module):
    mlp: eqx.nn.MLP
    data_size: int
    hidden_size: int

    def __init__(self, data_size, hidden_size, key):
        self.data_size, self.hidden_size = data_size, hidden_size
        self.mlp = eqx.nn.MLP(
            hidden_size,
            hidden_size * data_size,
            16,
            1,
            activation=jax.nn.softplus,
            final_activation=jnp.tanh,
            key=key,
        )

    def __call__(self, t, y, args):
        return self.mlp(y).reshape(self.hidden_size, self.data_size)


class Classifier(eqx.Module):
    initial: eqx.nn.MLP
    field: Field
    linear: eqx.nn.Linear

    def __init__(self, data_size, hidden_size, key):
        keys = jax.random.split(key, 3)
        self.initial = eqx.nn.MLP(data_size, hidden_size, 16, 1, key=keys[0])
        self.field = Field(data_size, hidden_size, keys[1])
        self.linear = eqx.nn.Linear(hidden_size, 1, key=keys[2])

    def __call__(self, ts, coefficients):
        control = dfx.CubicInterpolation(ts, coefficients)
        term = dfx.ControlTerm(self.field, control).to_ode()
        solution = dfx.diffeqsolve(
            term,
            dfx.Heun(),
            ts[0],
            ts[-1],
            0.25,
            self.initial(control.evaluate(ts[0])),
            saveat=dfx.SaveAt(t1=True),
        )
        return jax.nn.sigmoid(self.linear(solution.ys[-1]))[0]


def spirals(key):
    theta = jax.random.uniform(key, (8,), maxval=2 * jnp.pi)
    start = jnp.stack([jnp.cos(theta), jnp.sin(theta)], -1)
    ts = jnp.linspace(0.0, 3.0, 10)
    turn = jnp.array([[-0.3, 2.0], [-2.0, -0.3]])
    ys = jax.vmap(lambda y: jax.vmap(lambda t: jax.scipy.linalg.expm(t * turn) @ y)(ts))(start)
    ys = ys.at[:4, :, 1].multiply(-1)
    times = jnp.broadcast_to(ts, (8, 10))
    return ts, jnp.concatenate([times[:, :, None], ys], -1), (jnp.arange(8) < 4).astype(float)


optimizer = optax.adam(1e-2)


@eqx.filter_jit
def step(model, state, ts, labels, coefficients):
    @eqx.filter_value_and_grad
    def loss(model):
        p = jax.vmap(model, in_axes=(None, 0))(ts, coefficients)
        return -jnp.mean(labels * jnp.log(p) + (1 - labels) * jnp.log(1 - p))

    value, grads = loss(model)
    updates, state = optimizer.update(grads, state)
    return eqx.apply_updates(model, updates), state, value


def main():
    keys = jax.random.split(jax.random.PRNGKey(4), 2)
    ts, ys, labels = spirals(keys[0])
    coefficients = jax.vmap(dfx.backward_hermite_coefficients, in_axes=(None, 0))(ts, ys)
    model = Classifier(3, 4, keys[1])
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
    values = []
    for _ in range(6):
        model, state, value = step(model, state, ts, labels, coefficients)
        values.append(value)
    results = {"losses": jnp.stack(values)}
    holes = ys[0].at[3, 1].set(jnp.nan).at[7, 2].set(jnp.nan)
    filled = dfx.linear_interpolation(ts, holes)
    results["filled"] = filled
    results["steps"] = dfx.rectilinear_interpolation(ts, holes)[1]
    line = dfx.LinearInterpolation(ts, filled)
    results["slope"] = line.derivative(1.1)
    results["between"] = line.evaluate(0.4, 2.2)
    return results
