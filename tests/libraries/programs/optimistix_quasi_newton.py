"""Minimise a function of a tree by quasi-Newton methods, of the Hessian and of its inverse."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx

TOLERANCE = 1e-3
SOLVERS = {
    "dfp": optx.DFP(rtol=1e-5, atol=1e-5),
    "bfgs of hessian": optx.BFGS(rtol=1e-5, atol=1e-5, use_inverse=False),
    "lbfgs": optx.LBFGS(rtol=1e-5, atol=1e-5),
    "lbfgs of hessian": optx.LBFGS(rtol=1e-5, atol=1e-5, use_inverse=False, history_length=4),
}


def bowl(y, args):
    tilt = jnp.sum((y["x"] - args) ** 2 * jnp.array([1.0, 3.0]))
    return tilt + 0.5 * (y["z"] - y["x"][0]) ** 2 + 0.1 * jnp.sum(y["x"] ** 4), y["z"]


@eqx.filter_jit
def minimise(solver, a):
    start = {"x": jnp.array([0.5, -0.4]), "z": jnp.array(2.0)}
    found = optx.minimise(bowl, solver, start, args=a, has_aux=True, max_steps=100)
    return found.value["x"], found.aux


def main():
    results = {}
    for name, solver in SOLVERS.items():
        results[f"{name} x"], results[f"{name} z"] = minimise(solver, 0.8)
    slope = jax.grad(lambda a: minimise(SOLVERS["lbfgs"], a)[0].sum())
    results["derivative"] = slope(0.8)
    many = jax.vmap(lambda a: minimise(SOLVERS["lbfgs"], a)[0])
    results["mapped"] = many(jnp.array([0.3, 0.8]))
    return results
