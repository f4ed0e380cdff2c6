"""An epidemic's rates from daily counts, by the adjoint of an adaptive solver; in float64."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

jax.config.update("jax_enable_x64", True)
DAYS = 40


def rates(y, p):
    s, i, _ = y
    new, recovered = p[0] * s * i, p[1] * i
    return jnp.array([-new, new - recovered, recovered])


def day(y, p):
    def body(_, y):
        k1 = rates(y, p)
        return y + 0.1 * rates(y + 0.05 * k1, p)

    return lax.fori_loop(0, 10, body, y)


def infected(p):
    start = jnp.array([0.99, 0.01, 0.0])
    return lax.scan(lambda y, _: (day(y, p), y[1]), start, None, DAYS)[1]


observed = infected(jnp.array([0.5, 0.15])) + 0.002 * np.random.default_rng(0).standard_normal(DAYS)


def misfit(log_p):
    return jnp.sum((infected(jnp.exp(log_p)) - observed) ** 2)


@jax.jit
def gauss_newton(log_p):
    r, J = infected(jnp.exp(log_p)) - observed, jax.jacfwd(lambda q: infected(jnp.exp(q)))(log_p)
    return log_p - jnp.linalg.solve(J.T @ J, J.T @ r), r @ r


log_p = jnp.log(jnp.array([0.4, 0.2]))
for _ in range(6):
    log_p, value = gauss_newton(log_p)
    show("misfit", value)
gradient = jax.jit(jax.grad(misfit))(log_p)
show("small", bool(jnp.abs(gradient).max() < 1e-4))
show("rates", jnp.exp(log_p))
