"""The rates of a predator-prey model, fitted by minimising through an integrator."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, load, show

odeint = load("experimental.ode").odeint
minimize = load("scipy.optimize").minimize
times = np.linspace(0, 6, 12, dtype=np.float32)


def slope(y, t, rates):
    prey, hunters = y
    return jnp.stack(
        [
            rates[0] * prey - rates[1] * prey * hunters,
            rates[2] * prey * hunters - rates[3] * hunters,
        ]
    )


start = np.array([1.0, 0.8], np.float32)
seen = np.asarray(odeint(slope, start, times, jnp.array([1.1, 0.9, 0.7, 0.8])))


@jax.jit
def fit(guess):
    def loss(rates):
        return jnp.mean((odeint(slope, start, times, rates) - seen) ** 2)

    return minimize(loss, guess, method="BFGS", tol=1e-4).fun


show("small", np.asarray(fit(jnp.full(4, 0.9)) < 1e-2))
