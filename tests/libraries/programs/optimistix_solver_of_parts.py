"""Build solvers of a descent and a search; keep the best point; wrap optax; bracket; go over."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx
import optax
import optimistix as optx

TOLERANCE = 1e-3


class DoglegBFGS(optx.AbstractBFGS):
    """BFGS that looks for its steps in a trust region."""

    rtol: float
    atol: float
    norm: Callable = optx.max_norm
    use_inverse: bool = False
    descent: optx.AbstractDescent = optx.DoglegDescent(linear_solver=lx.LU())
    search: optx.AbstractSearch = optx.LinearTrustRegion()
    verbose: Callable = lambda *args, **kwargs: None


class DampedGaussNewton(optx.AbstractGaussNewton):
    """Gauss and Newton's method, damped, in a classical trust region."""

    rtol: float
    atol: float
    norm: Callable = optx.rms_norm
    descent: optx.AbstractDescent = optx.DampedNewtonDescent()
    search: optx.AbstractSearch = optx.ClassicalTrustRegion(high_cutoff=0.9)
    verbose: Callable = lambda *args, **kwargs: None


def himmelblau(y, args):
    a, b = y
    return (a**2 + b - 11) ** 2 + (a + b**2 - args) ** 2


def residuals(y, args):
    a, b = y
    return jnp.stack([a**2 + b - 11, a + b**2 - args])


MINIMISERS = {
    "parts": DoglegBFGS(1e-5, 1e-5),
    "best": optx.BestSoFarMinimiser(
        optx.OptaxMinimiser(optax.sgd(1e-2), rtol=1e-6, atol=1e-6),
    ),
    "descent": optx.GradientDescent(1e-2, 1e-5, 1e-5),
    "dai and yuan": optx.NonlinearCG(1e-5, 1e-5, method=optx.dai_yuan),
}


@eqx.filter_jit
def minimise(solver, a):
    start = (jnp.array(2.0), jnp.array(1.5))
    return jnp.stack(optx.minimise(himmelblau, solver, start, args=a, max_steps=400).value)


@eqx.filter_jit
def fit(a):
    solver = optx.BestSoFarLeastSquares(DampedGaussNewton(1e-6, 1e-6))
    start = (jnp.array(2.0), jnp.array(1.5))
    return jnp.stack(optx.least_squares(residuals, solver, start, args=a).value)


@eqx.filter_jit
def section(a):
    solver = optx.GoldenSearch(rtol=1e-4, atol=1e-4)
    options = {"lower": 0.0, "upper": 3.0}
    start = jnp.array(1.5)
    return optx.minimise(lambda y, a: jnp.cos(y * a), solver, start, args=a, options=options).value


@eqx.filter_jit
def root_by(solver, a):
    """A root, by a solver of another kind of problem."""
    return jnp.stack(
        optx.root_find(
            lambda y, a: (y[0] ** 2 - a, y[0] * y[1] - 1.0),
            solver,
            (jnp.array(1.0), jnp.array(1.0)),
            args=a,
            max_steps=500,
        ).value
    )


def main():
    results = {name: minimise(solver, 7.0) for name, solver in MINIMISERS.items()}
    results["fit"] = fit(7.0)
    results["fit derivative"] = jax.jacfwd(fit)(7.0)
    results["section"] = section(1.2)
    results["root by fit"] = root_by(optx.LevenbergMarquardt(1e-6, 1e-6), 2.0)
    results["root by minimum"] = root_by(optx.BFGS(1e-7, 1e-7), 2.0)
    failed = optx.minimise(
        himmelblau, MINIMISERS["descent"], (0.0, 0.0), args=7.0, max_steps=3, throw=False
    )
    results["failed"] = jnp.array(failed.result == optx.RESULTS.nonlinear_max_steps_reached)
    results["steps"] = failed.stats["num_steps"]
    return results
