"""Solve stochastic differential equations along virtual Brownian trees; interpolate paths."""

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp

TOLERANCE = 1e-3


@eqx.filter_jit
def solve(key, solver):
    brownian = dfx.VirtualBrownianTree(0.0, 3.0, tol=1e-3, shape=(), key=key)
    terms = dfx.MultiTerm(
        dfx.ODETerm(lambda t, y, args: -y),
        dfx.ControlTerm(lambda t, y, args: 0.1 * t, brownian),
    )
    saveat = dfx.SaveAt(ts=jnp.linspace(0.0, 3.0, 7))
    return dfx.diffeqsolve(terms, solver, 0.0, 3.0, 0.05, jnp.array(1.0), saveat=saveat).ys


def main():
    key = jax.random.PRNGKey(7)
    results = {}
    for name, solver in (
        ("euler", dfx.Euler()),
        ("heun", dfx.Heun()),
        ("itomilstein", dfx.ItoMilstein()),
    ):
        results[name] = solve(key, solver)
    results["mapped"] = jax.vmap(lambda k: solve(k, dfx.Euler()))(jax.random.split(key, 3))
    ts = jnp.linspace(0.0, 1.0, 5)
    ys = jnp.sin(ts)[:, None]
    coefficients = dfx.backward_hermite_coefficients(ts, ys)
    path = dfx.CubicInterpolation(ts, coefficients)
    results["cubic"] = jax.vmap(path.evaluate)(jnp.linspace(0.0, 1.0, 9))
    results["slope"] = jax.vmap(path.derivative)(jnp.linspace(0.1, 0.9, 5))
    linear = dfx.LinearInterpolation(ts, ys)
    controlled = dfx.ControlTerm(lambda t, y, args: jnp.ones((2, 1)) * y[:, None], path).to_ode()
    results["controlled"] = dfx.diffeqsolve(
        controlled, dfx.Tsit5(), 0.0, 1.0, 0.1, jnp.array([1.0, 2.0])
    ).ys
    results["linear"] = jax.vmap(linear.evaluate)(jnp.linspace(0.0, 1.0, 9))
    return results
