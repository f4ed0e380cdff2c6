"""Solve linear systems by each of lineax's solvers, and differentiate the solutions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx

TOLERANCE = 2e-4
A = jnp.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 2.0]])
B = jnp.array([1.0, -2.0, 0.5])
SOLVERS = {
    "auto": lx.AutoLinearSolver(well_posed=True),
    "lu": lx.LU(),
    "qr": lx.QR(),
    "svd": lx.SVD(),
    "cholesky": lx.Cholesky(),
    "cg": lx.CG(rtol=1e-6, atol=1e-6),
    "gmres": lx.GMRES(rtol=1e-6, atol=1e-6),
    "bicgstab": lx.BiCGStab(rtol=1e-6, atol=1e-6),
}


def solved(solver, matrix, vector):
    operator = lx.MatrixLinearOperator(matrix, (lx.symmetric_tag, lx.positive_semidefinite_tag))
    return lx.linear_solve(operator, vector, solver).value


def main():
    results = {}
    for name, solver in SOLVERS.items():
        run = eqx.filter_jit(lambda a, b, solver=solver: solved(solver, a, b))
        results[name] = run(A, B)
        results[f"{name} eager"] = solved(solver, A, B)
        loss = eqx.filter_jit(
            jax.grad(lambda a, b, solver=solver: jnp.sum(solved(solver, a, b) ** 2), (0, 1))
        )
        results[f"{name} dA"], results[f"{name} db"] = loss(A, B)
        results[f"{name} jvp"] = jax.jvp(run, (A, B), (A.T, B))[1]
        mapped = jax.jit(jax.vmap(run, in_axes=(None, 0)))
        results[f"{name} mapped"] = mapped(A, jnp.stack([B, 2 * B]))
    return results
