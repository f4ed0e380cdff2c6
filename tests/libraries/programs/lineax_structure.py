"""Write a solver and an operator of one's own; ask for structure; differentiate operators."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx

TOLERANCE = 2e-3


class Jacobi(lx.AbstractLinearSolver):
    """Jacobi's iteration, a given number of times."""

    sweeps: int = eqx.field(static=True)

    def init(self, operator, options):
        return operator.as_matrix(), lx.diagonal(operator)

    def compute(self, state, vector, options):
        matrix, diagonal = state
        step = lambda _, x: x + (vector - matrix @ x) / diagonal
        value = jax.lax.fori_loop(0, self.sweeps, step, jnp.zeros_like(vector))
        return value, lx.RESULTS.successful, {"sweeps": self.sweeps}

    def transpose(self, state, options):
        matrix, diagonal = state
        return (matrix.T, diagonal), options

    def conj(self, state, options):
        return state, options

    def assume_full_rank(self):
        return True

    def allow_dependent_columns(self, operator):
        return False

    def allow_dependent_rows(self, operator):
        return False


class Circulant(lx.AbstractLinearOperator):
    """A circulant matrix, by its first column."""

    column: jax.Array

    def mv(self, vector):
        return jnp.fft.ifft(jnp.fft.fft(self.column) * jnp.fft.fft(vector)).real

    def as_matrix(self):
        return jax.vmap(self.mv, out_axes=1)(jnp.eye(self.column.size))

    def transpose(self):
        return Circulant(jnp.roll(self.column[::-1], 1))

    def in_structure(self):
        return jax.eval_shape(lambda: self.column)

    out_structure = in_structure


for question in (
    lx.is_symmetric,
    lx.is_diagonal,
    lx.is_lower_triangular,
    lx.is_upper_triangular,
    lx.is_tridiagonal,
    lx.is_positive_semidefinite,
    lx.is_negative_semidefinite,
    lx.has_unit_diagonal,
):
    question.register(Circulant)(lambda operator: False)
lx.linearise.register(Circulant)(lambda operator: operator)
lx.conj.register(Circulant)(lambda operator: operator)
lx.materialise.register(Circulant)(lambda operator: lx.MatrixLinearOperator(operator.as_matrix()))
lx.diagonal.register(Circulant)(lambda operator: jnp.full_like(operator.column, operator.column[0]))


@eqx.filter_jit
def solve(operator: Any, vector, solver):
    return lx.linear_solve(operator, vector, solver, throw=False).value


@eqx.filter_jit
def sensitivity(operator, change, vector):
    """Return the derivative of a solution by the whole operator."""
    run = lambda o: lx.linear_solve(o, vector, lx.LU()).value
    return eqx.filter_jvp(run, (operator,), (change,))


def main():
    b = jnp.array([1.0, -2.0, 0.5, 3.0])
    matrix = jnp.diag(jnp.array([4.0, 5.0, 6.0, 7.0])) + jnp.arange(16.0).reshape(4, 4) / 20
    plain = lx.MatrixLinearOperator(matrix)
    column = jnp.array([4.0, 1.0, 0.5, -1.0])
    results = {}
    jacobi = Jacobi(60)
    results["jacobi"] = solve(plain, b, jacobi)
    total = lambda m: solve(lx.MatrixLinearOperator(m), b, jacobi).sum()
    results["jacobi slope"] = jax.grad(total)(matrix)
    results["circulant"] = solve(Circulant(column), b, lx.NormalCG(1e-4, 1e-4))
    results["circulant jacobi"] = solve(Circulant(column), b, jacobi)
    by_column = lambda c: solve(Circulant(c), b, lx.QR()).sum()
    results["by column"] = jax.grad(by_column)(column)
    results["materialised"] = lx.materialise(Circulant(column)).as_matrix()
    primal, tangent = sensitivity(plain, lx.MatrixLinearOperator(0.1 * matrix.T), b)
    results["moved"], results["moves"] = primal, tangent
    asked = [
        lx.is_symmetric(lx.MatrixLinearOperator(matrix + matrix.T, lx.symmetric_tag)),
        lx.is_diagonal(lx.DiagonalLinearOperator(b) * 2.0),
        lx.is_upper_triangular(plain.transpose()),
        lx.is_positive_semidefinite(-lx.IdentityLinearOperator(plain.in_structure())),
    ]
    results["asked"] = jnp.array([bool(answer) for answer in asked])
    lower = lx.MatrixLinearOperator(
        jnp.tril(matrix, -1) + jnp.eye(4), (lx.lower_triangular_tag, lx.unit_diagonal_tag)
    )
    results["unit lower"] = solve(lower, b, lx.AutoLinearSolver(well_posed=True))
    results["upper"] = solve(lower.T, b, lx.Triangular())
    product = lx.DiagonalLinearOperator(b) @ plain / 2.0 + (-lower)
    results["product"] = product.as_matrix()
    results["bands"] = jnp.concatenate(lx.tridiagonal(plain))
    results["inverse"] = eqx.filter_jit(lambda: lx.invert(plain).mv(b))()
    batch = eqx.filter_vmap(lambda m, v: solve(lx.MatrixLinearOperator(m), v, lx.QR()))
    results["batch"] = batch(jnp.stack([matrix, matrix.T]), jnp.stack([b, -b]))
    return results
