"""Solve with operators of one's own, of functions, Jacobians, bands, diagonals; least squares."""

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax as lx

TOLERANCE = 2e-4


class Shifted(lx.AbstractLinearOperator):
    """A diagonal plus a matrix of rank one."""

    diagonal: jax.Array
    left: jax.Array

    def mv(self, vector):
        return self.diagonal * vector + self.left * jnp.dot(self.left, vector)

    def as_matrix(self):
        return jnp.diag(self.diagonal) + jnp.outer(self.left, self.left)

    def transpose(self):
        return self

    def in_structure(self):
        return jax.ShapeDtypeStruct(self.diagonal.shape, self.diagonal.dtype)

    out_structure = in_structure


for check in (lx.is_symmetric, lx.is_positive_semidefinite):
    check.register(Shifted)(lambda operator: True)
for check in (
    lx.is_diagonal,
    lx.is_lower_triangular,
    lx.is_upper_triangular,
    lx.is_tridiagonal,
    lx.is_negative_semidefinite,
    lx.has_unit_diagonal,
):
    check.register(Shifted)(lambda operator: False)
lx.linearise.register(Shifted)(lambda operator: operator)
lx.materialise.register(Shifted)(lambda operator: operator)
lx.conj.register(Shifted)(lambda operator: operator)


@eqx.filter_jit
def custom(diagonal, left, b):
    return lx.linear_solve(Shifted(diagonal, left), b, lx.CG(1e-6, 1e-6)).value


def main():
    d, left, b = jnp.array([2.0, 3.0, 4.0]), jnp.array([0.5, -1.0, 0.2]), jnp.array([1.0, 2.0, 3.0])
    results = {"custom": custom(d, left, b)}
    results["custom grad"] = jax.grad(lambda d: jnp.sum(custom(d, left, b)))(d)
    tree = {"x": jnp.array([1.0, 2.0]), "y": jnp.array(0.5)}

    def linear(t):
        return {"x": 2 * t["x"] + t["y"], "y": jnp.sum(t["x"]) + 5 * t["y"]}

    operator = lx.FunctionLinearOperator(linear, jax.eval_shape(lambda: tree))
    found = lx.linear_solve(operator, tree).value
    results["tree x"], results["tree y"] = found["x"], found["y"]
    jacobian = lx.JacobianLinearOperator(lambda x, _: x**3 + x[::-1], d)
    results["jacobian"] = lx.linear_solve(jacobian, b).value
    results["matrix"] = jacobian.as_matrix()
    bands = lx.TridiagonalLinearOperator(d, jnp.array([0.1, 0.2]), jnp.array([0.3, -0.4]))
    results["bands"] = eqx.filter_jit(lx.linear_solve)(bands, b, lx.Tridiagonal()).value
    results["diagonal"] = lx.linear_solve(lx.DiagonalLinearOperator(d), b).value
    tall = jnp.arange(12.0).reshape(4, 3) % 5 + jnp.eye(4, 3)
    y = jnp.array([1.0, 0.0, 2.0, -1.0])
    square = lx.linear_solve(lx.MatrixLinearOperator(tall), y, lx.QR())
    results["least squares"] = square.value
    wide = lx.linear_solve(lx.MatrixLinearOperator(tall.T), b, lx.SVD())
    results["least norm"] = wide.value
    lower = lx.MatrixLinearOperator(jnp.tril(jnp.outer(d, d)), lx.lower_triangular_tag)
    results["triangular"] = lx.linear_solve(lower, b, lx.Triangular()).value
    sums = lx.DiagonalLinearOperator(d) + lx.IdentityLinearOperator(jax.eval_shape(lambda: d)) * 2.0
    results["sum"] = (sums @ sums).mv(b)
    singular = lx.MatrixLinearOperator(jnp.zeros((2, 2)))
    failed = lx.linear_solve(singular, jnp.ones(2), lx.LU(), throw=False)
    results["failed"] = jnp.array(failed.result != lx.RESULTS.successful)
    return results
