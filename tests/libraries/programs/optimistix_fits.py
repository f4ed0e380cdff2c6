"""Fit by least squares, minimise, find roots and fixed points; differentiate what is found."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import optimistix as optx

TOLERANCE = 1e-3
t = jnp.linspace(0.0, 4.0, 30)
DATA = 2.5 * jnp.exp(-1.3 * t) + 0.5


def residual(params, args):
    a, b, c = params
    return a * jnp.exp(-b * t) + c - args


def rosenbrock(x, args):
    return jnp.sum((args - x[:-1]) ** 2 + 10 * (x[1:] - x[:-1] ** 2) ** 2)


FITS = {
    "lm": optx.LevenbergMarquardt(rtol=1e-6, atol=1e-6),
    "gauss_newton": optx.GaussNewton(rtol=1e-6, atol=1e-6),
    "dogleg": optx.Dogleg(rtol=1e-6, atol=1e-6),
    "indirect": optx.IndirectLevenbergMarquardt(rtol=1e-6, atol=1e-6),
}
MINIMISERS = {
    "bfgs": optx.BFGS(rtol=1e-5, atol=1e-5),
    "cg": optx.NonlinearCG(rtol=1e-5, atol=1e-5),
    "descent": optx.GradientDescent(rtol=1e-4, atol=1e-4, learning_rate=1e-2),
    "nelder_mead": optx.NelderMead(rtol=1e-5, atol=1e-5),
    "optax": optx.OptaxMinimiser(optax.adam(3e-2), rtol=1e-5, atol=1e-5),
}
ROOTS = {
    "newton": optx.Newton(rtol=1e-6, atol=1e-6),
    "chord": optx.Chord(rtol=1e-5, atol=1e-5),
}


@eqx.filter_jit
def fit(solver, data):
    start = (jnp.array(2.0), jnp.array(1.0), jnp.array(0.4))
    solution = optx.least_squares(residual, solver, start, args=data, max_steps=200, throw=False)
    return jnp.stack(solution.value)


@eqx.filter_jit
def minimise(solver, a):
    start = jnp.array([0.5, 0.4, 0.3])
    return optx.minimise(rosenbrock, solver, start, args=a, max_steps=2000, throw=False).value


@eqx.filter_jit
def root(solver, a):
    f = lambda y, args: (y**2 - args, y[::-1] * y - 1.0)[0]
    return optx.root_find(f, solver, jnp.array([1.0, 1.5]), args=a).value


@eqx.filter_jit
def fixed(a):
    solver = optx.FixedPointIteration(rtol=1e-6, atol=1e-6)
    return optx.fixed_point(lambda y, args: jnp.cos(args * y), solver, jnp.array(0.5), args=a).value


@eqx.filter_jit
def bisect(a):
    solver = optx.Bisection(rtol=1e-6, atol=1e-6)
    options = {"lower": 0.0, "upper": 4.0}
    return optx.root_find(
        lambda y, args: y**3 - args, solver, jnp.array(1.0), args=a, options=options
    ).value


def main():
    results = {}
    for name, solver in FITS.items():
        results[name] = fit(solver, DATA)
    results["lm jacobian"] = jax.jacobian(lambda d: fit(FITS["lm"], d))(DATA)
    for name, solver in MINIMISERS.items():
        results[name] = minimise(solver, 0.8)
    results["bfgs grad"] = jax.grad(lambda a: minimise(MINIMISERS["bfgs"], a)[0])(0.8)
    for name, solver in ROOTS.items():
        results[name] = root(solver, 2.0)
        results[f"{name} grad"] = jax.grad(lambda a, solver=solver: root(solver, a).sum())(2.0)
    results["fixed"] = fixed(0.9)
    results["fixed grad"] = jax.grad(fixed)(0.9)
    results["bisect"] = bisect(2.0)
    results["mapped"] = jax.vmap(lambda a: root(ROOTS["newton"], a))(jnp.array([2.0, 3.0]))
    return results
