"""Find steady states and implicit steps of a reaction, and sensitivities of both."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx

TOLERANCE = 1e-3
START = {"u": jnp.array([1.0, 0.8, 1.2]), "v": jnp.array([2.0, 2.1, 1.9])}


def rate(y, feed):
    """The Brusselator in three cells in a row, with diffusion."""
    u, v = y["u"], y["v"]
    spread = lambda x: jnp.roll(x, 1) + jnp.roll(x, -1) - 2 * x
    return {
        "u": feed - 2.8 * u + u**2 * v + 0.1 * spread(u),
        "v": 1.8 * u - u**2 * v + 0.2 * spread(v),
    }


@eqx.filter_jit
def steady(feed, adjoint):
    solver = optx.Newton(rtol=1e-6, atol=1e-6)
    return optx.root_find(rate, solver, START, args=feed, adjoint=adjoint).value


@eqx.filter_jit
def implicit_steps(feed, count):
    solver = optx.Chord(rtol=1e-5, atol=1e-6, norm=optx.rms_norm)

    def step(y, _):
        def gap(new, old):
            moved = rate(new, feed)
            return jax.tree.map(lambda n, o, r: n - o - 0.1 * r, new, old, moved)

        found = optx.root_find(gap, solver, y, args=y).value
        return found, found["u"]

    return jax.lax.scan(step, START, None, length=count)[1]


@eqx.filter_jit
def iterated(feed):
    solver = optx.FixedPointIteration(rtol=1e-6, atol=1e-6)
    relaxed = lambda y, a: jax.tree.map(lambda x, r: x + 0.1 * r, y, rate(y, a))
    return optx.fixed_point(relaxed, solver, START, args=feed, max_steps=2000).value


@eqx.filter_jit
def heat(by):
    """The temperature where what comes in and what is radiated are the same."""
    solver = optx.Bisection(rtol=1e-6, atol=1e-6, expand_if_necessary=True)
    options = {"lower": 1.0, "upper": 2.0}
    return optx.root_find(lambda t, a: t**4 - a, solver, 1.5, args=by, options=options).value


def main():
    results = {}
    feed = jnp.array([1.0, 1.05, 0.95])
    through = {"implicit": optx.ImplicitAdjoint(), "steps": optx.RecursiveCheckpointAdjoint()}
    for name, adjoint in through.items():
        found = steady(feed, adjoint)
        results[f"{name} u"], results[f"{name} v"] = found["u"], found["v"]
        total = lambda a, adjoint=adjoint: jnp.sum(steady(a, adjoint)["u"] ** 2)
        results[f"{name} sensitivity"] = jax.grad(total)(feed)
    tangent = lambda a: steady(a, through["implicit"])["v"]
    results["jacobian"] = jax.jacfwd(tangent)(feed)
    results["path"] = implicit_steps(feed, 8)
    results["path sensitivity"] = jax.grad(lambda a: implicit_steps(a, 3)[-1].sum())(feed)
    results["iterated"] = iterated(feed)["v"]
    results["heat"] = heat(20.0)
    results["heat derivative"] = jax.grad(heat)(20.0)
    return results
