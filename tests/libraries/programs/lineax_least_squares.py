"""Solve least-squares problems: tall, wide, without full rank, regularised, over trees."""

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx

TOLERANCE = 1e-3
SOLVERS = {
    "qr": lx.QR(),
    "svd": lx.SVD(),
    "lsmr": lx.LSMR(rtol=1e-6, atol=1e-6),
    "normal cholesky": lx.Normal(lx.Cholesky()),
    "normal cg": lx.Normal(lx.CG(rtol=1e-6, atol=1e-6)),
    "auto": lx.AutoLinearSolver(well_posed=None),
}


@eqx.filter_jit
def solve(solver, matrix, vector):
    return lx.linear_solve(lx.MatrixLinearOperator(matrix), vector, solver).value


@eqx.filter_jit
def polynomial(t, y, penalty):
    """A smoothed polynomial, through an operator of a function of trees."""
    powers = t[:, None] ** jnp.arange(5)

    def apply(c):
        return {"data": powers @ c, "size": penalty * c}

    operator = lx.FunctionLinearOperator(apply, jax.ShapeDtypeStruct((5,), y.dtype))
    wanted = {"data": y, "size": jnp.zeros(5)}
    solution = lx.linear_solve(operator, wanted, lx.QR())
    return solution.value


@eqx.filter_jit
def many(matrices, vectors):
    return eqx.filter_vmap(lambda a, b: solve(SOLVERS["svd"], a, b))(matrices, vectors)


def main():
    keys = jax.random.split(jax.random.PRNGKey(2), 3)
    tall = jax.random.normal(keys[0], (6, 3))
    b = jax.random.normal(keys[1], (6,))
    results = {}
    for name, solver in SOLVERS.items():
        results[f"{name} tall"] = solve(solver, tall, b)
        results[f"{name} wide"] = solve(solver, tall.T, b[:3])
        gap = lambda a, s=solver: jnp.sum((a @ solve(s, a, b) - b) ** 2)
        results[f"{name} slope"] = jax.grad(gap)(tall)
        norm = lambda a, s=solver: jnp.sum(solve(s, a, b[:3]) ** 2)
        results[f"{name} wide slope"] = jax.grad(norm)(tall.T)
    low = jnp.outer(tall[:, 0], tall[0])
    results["rank one"] = solve(SOLVERS["svd"], low, b)
    t = jnp.linspace(-1.0, 1.0, 12)
    y = jnp.sin(3 * t)
    results["smooth"] = polynomial(t, y, 0.1)
    results["by penalty"] = jax.jacfwd(polynomial, argnums=2)(t, y, 0.1)
    results["many"] = many(jnp.stack([tall, 2 * tall]), jnp.stack([b, -b]))
    trees = lx.PyTreeLinearOperator(
        {"u": {"x": tall[:2], "y": tall[2:4, 0]}, "v": {"x": tall[4:], "y": tall[4:, 1]}},
        jax.eval_shape(lambda: {"u": jnp.zeros(2), "v": jnp.zeros(2)}),
    )
    found = lx.linear_solve(trees, {"u": b[:2], "v": b[2:4]}, lx.SVD()).value
    results["tree x"], results["tree y"] = found["x"], found["y"]
    results["flat"] = trees.as_matrix()
    return results
