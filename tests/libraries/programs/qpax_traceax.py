"""qpax, traceax, tridiax, jaxkd: quadratic programs, traces, tridiagonal systems, neighbours."""

import jax
import jax.numpy as jnp
import jaxkd
import lineax
import qpax
import traceax
from tridiax import stone_solve


def main():
    first, second = jax.random.split(jax.random.key(0))
    factor = jax.random.normal(first, (5, 5))
    square = factor @ factor.T + jnp.eye(5)
    sums, ones = jnp.ones((1, 5)), jnp.ones(1)

    def cost(linear):
        bounds = (-jnp.eye(5), jnp.zeros(5))
        x = qpax.solve_qp_primal(square, linear, sums, ones, *bounds, solver_tol=1e-4)
        return jnp.sum(x**2)

    linear = jnp.arange(5.0) - 2.0
    operator = lineax.MatrixLinearOperator(square)
    estimators = (traceax.HutchinsonEstimator(), traceax.HutchPlusPlusEstimator())
    points = jax.random.normal(second, (100, 3))
    neighbours, distances = jaxkd.query_neighbors(jaxkd.build_tree(points), points[:7] + 0.1, k=4)
    low, high = -0.3 * jnp.ones(5), -0.2 * jnp.ones(5)
    return {
        "slope": jax.jit(jax.grad(cost))(linear),
        "costs": jax.jit(jax.vmap(cost))(jnp.stack([linear, linear + 1.0])),
        "traces": jnp.stack([e.estimate(first, operator, k=5)[0] for e in estimators]),
        "tridiagonal": jax.grad(lambda d: stone_solve(low, d, high, jnp.arange(6.0)).sum())(
            2.0 * jnp.ones(6)
        ),
        "neighbours": neighbours,
        "distances": distances,
    }
