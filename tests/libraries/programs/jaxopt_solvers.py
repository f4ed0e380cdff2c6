"""jaxopt: gradient and quasi-Newton solvers, a projection, and implicit derivatives."""

import jax
import jax.numpy as jnp
import jaxopt

TOLERANCE = 1e-3


def ridge(params, l2, data):
    x, y = data
    return jnp.mean((x @ params - y) ** 2) + 0.5 * l2 * jnp.sum(params**2)


def main():
    key = jax.random.PRNGKey(0)
    x = jax.random.normal(key, (20, 4))
    y = x @ jnp.array([1.0, -2.0, 0.5, 0.0]) + 0.1
    data = (x, y)
    start = jnp.zeros(4)
    descent = jaxopt.GradientDescent(ridge, maxiter=300, tol=1e-5)
    lbfgs = jaxopt.LBFGS(ridge, maxiter=50, tol=1e-6)
    bounded = jaxopt.ProjectedGradient(ridge, jaxopt.projection.projection_simplex, maxiter=300)
    lasso = jaxopt.ProximalGradient(
        jaxopt.objective.least_squares, jaxopt.prox.prox_lasso, maxiter=300, tol=1e-5
    )
    newton = jaxopt.LevenbergMarquardt(lambda p: x @ jnp.tanh(p) - y, maxiter=30)
    root = jaxopt.Bisection(lambda z: z**3 - z - 2, lower=1.0, upper=2.0)

    def validation(l2):
        return jnp.sum(descent.run(start, l2, data).params ** 2)

    return {
        "descent": descent.run(start, 0.1, data).params,
        "lbfgs": lbfgs.run(start, 0.1, data).params,
        "simplex": bounded.run(start + 0.25, 1.0, 0.1, data).params,
        "lasso": lasso.run(start, 0.1, data).params,
        "newton": newton.run(start).params,
        "root": root.run().params,
        "slope": jax.grad(validation)(0.1),
        "svm": jaxopt.objective.multiclass_logreg(jnp.ones((4, 3)), (x, jnp.arange(20) % 3)),
    }
