"""ott-jax: optimal transport between clouds of points, its gradient, soft sorting, divergences."""

import jax
import jax.numpy as jnp
from ott.geometry import pointcloud
from ott.problems.quadratic import quadratic_problem
from ott.solvers import linear
from ott.solvers.linear import sinkhorn
from ott.solvers.quadratic import gromov_wasserstein
from ott.tools import sinkhorn_divergence, soft_sort

TOLERANCE = 2e-4


def main():
    first, second = jax.random.split(jax.random.PRNGKey(0))
    x, y = jax.random.normal(first, (20, 2)), jax.random.normal(second, (25, 2)) + 1

    def transport(x, y):
        return linear.solve(pointcloud.PointCloud(x, y, epsilon=0.1))

    cost, slope = jax.jit(jax.value_and_grad(lambda x, y: transport(x, y).reg_ot_cost))(x, y)
    quadratic = quadratic_problem.QuadraticProblem(
        pointcloud.PointCloud(x), pointcloud.PointCloud(y)
    )
    solver = gromov_wasserstein.GromovWasserstein(
        epsilon=10.0, max_iterations=10, linear_solver=sinkhorn.Sinkhorn()
    )
    values = jnp.array([3.0, 1.0, 2.0, 5.0, 4.0])
    return {
        "cost": cost,
        "slope": slope,
        "matrix": transport(x, y).matrix,
        "sorted": soft_sort.sort(values),
        "ranks": soft_sort.ranks(values),
        "divergence": sinkhorn_divergence.sinkdiv(x, y)[0],
        "quadratic": jax.jit(solver)(quadratic).reg_gw_cost,
    }
