"""Solve complex linear systems, by every solver that takes them, and differentiate."""

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx

TOLERANCE = 2e-3
N = 4
SOLVERS = {
    "lu": lx.LU(),
    "qr": lx.QR(),
    "svd": lx.SVD(),
    "bicgstab": lx.BiCGStab(rtol=1e-5, atol=1e-5),
    "normal": lx.Normal(lx.Cholesky()),
}


@eqx.filter_jit
def solve(solver, matrix, vector):
    return lx.linear_solve(lx.MatrixLinearOperator(matrix), vector, solver, throw=False).value


@eqx.filter_jit
def hermitian(solver, matrix, vector):
    operator = lx.MatrixLinearOperator(matrix, lx.positive_semidefinite_tag)
    return lx.linear_solve(operator, vector, solver, throw=False).value


def impedance(frequency):
    """A ladder of resistors and coils, as a tridiagonal operator."""
    coil = 1j * frequency
    middle = jnp.full(N, 2.0) + coil * jnp.arange(1.0, N + 1)
    beside = jnp.full(N - 1, -1.0 + 0j)
    return lx.TridiagonalLinearOperator(middle, beside, beside)


@eqx.filter_jit
def loudness(frequency):
    current = lx.linear_solve(impedance(frequency), jnp.ones(N, jnp.complex64), lx.Tridiagonal())
    return jnp.sum(jnp.abs(current.value) ** 2)


def main():
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    a = jax.random.normal(keys[0], (N, N)) + 1j * jax.random.normal(keys[1], (N, N))
    a = a + 3 * jnp.eye(N)
    b = jax.random.normal(keys[2], (N,)) + 1j * jax.random.normal(keys[3], (N,))
    results = {}
    for name, solver in SOLVERS.items():
        results[name] = solve(solver, a, b)
        if name == "bicgstab":
            continue  # its derivatives end in breakdowns
        power = lambda b, s=solver: jnp.sum(jnp.abs(solve(s, a, b)) ** 2)
        results[f"{name} grad"] = jax.grad(power)(b)
    definite = a @ a.conj().T + jnp.eye(N)
    for name, solver in {"cholesky": lx.Cholesky(), "cg": lx.CG(1e-6, 1e-6)}.items():
        results[name] = hermitian(solver, definite, b)
        results[f"{name} jvp"] = jax.jvp(
            lambda b, s=solver: hermitian(s, definite, b), (b,), (b * 1j,)
        )[1]
    operator = lx.MatrixLinearOperator(a)
    results["conjugate"] = lx.conj(operator).as_matrix()
    results["adjoint"] = lx.conj(operator.transpose()).mv(b)
    results["least norm"] = lx.linear_solve(lx.MatrixLinearOperator(a[:2]), b[:2], lx.SVD()).value
    spectrum = jnp.linspace(0.1, 2.0, 5)
    results["spectrum"] = jax.vmap(loudness)(spectrum)
    results["slopes"] = jax.vmap(jax.grad(loudness))(spectrum)
    return results
