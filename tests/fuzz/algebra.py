"""Linear algebra, and reference algorithms: elimination, Gram-Schmidt, roots of polynomials.

The matrices are made from values, real or complex, of two or three rows. Their diagonals are far
enough apart that they are well conditioned, and so are their eigenvalues and eigenvectors.
"""

from collections.abc import Callable
from math import pi

import numpy as np

import tinyjax.numpy as jnp
from fuzz.plain import fitted
from tinyjax import lax, scipy
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values.array import Array

AMPLITUDE = 0.2


def matrix(x: Array, y: Array, k: int) -> Array:
    """A matrix of what two values have, the second for the imaginary parts, if there are any."""
    n = 2 + k % 2

    def filled(value: Array) -> Array:
        line = jnp.sin(value).reshape(-1)
        return AMPLITUDE * line[np.arange(n * n) % value.size].reshape(n, n)

    far = filled(x) + np.diag(2.0 * np.arange(1, n + 1))
    return ew.complex_(far, filled(y)) if k % 4 > 1 else far


def adjoint(a: Array) -> Array:
    return jnp.conj(a.T)


def eliminate(a: Array, b: Array) -> tuple[Array, Array]:
    """The solution of a system by Gauss and Jordan's elimination, and the pivots."""
    n = a.shape[0]
    both, pivots = jnp.concatenate([a, b], 1), []
    for i in range(n):
        pivots.append(both[i, i])
        row = both[i] / both[i, i]
        both = both - (both[:, i] - np.eye(n)[i])[:, None] * row
    return both[:, n:], jnp.stack(pivots)


def cholesky_by_formula(a: Array) -> Array:
    columns = []
    for i in range(a.shape[0]):
        column = a[:, i] / jnp.sqrt(jnp.real(a[i, i]))
        columns.append(column)
        a = a - column[:, None] * jnp.conj(column)
    return jnp.stack(columns, 1)


def qr(a: Array) -> Array:
    """Both factors' sum, of the decomposition where the diagonal is positive."""
    q, r = jnp.linalg.qr(a)
    signs = jnp.sign(jnp.real(jnp.diagonal(r)))
    return q * signs + signs[:, None] * r


def qr_by_formula(a: Array) -> Array:
    columns: list[Array] = []
    for i in range(a.shape[0]):
        column = a[:, i]
        for other in columns:
            column = column - other * jnp.sum(jnp.conj(other) * column)
        columns.append(column / jnp.sqrt(jnp.sum(jnp.real(column * jnp.conj(column)))))
    q = jnp.stack(columns, 1)
    return q + jnp.triu(adjoint(q) @ a)


def spectrum(values: list[Array], projections: list[Array]) -> Array:
    """Return a function of the spectrum that does not depend on the eigenvectors' phases."""
    both = zip(values, projections, strict=True)
    return jnp.stack([(i + jnp.sin(value)) * p for i, (value, p) in enumerate(both)]).sum(0)


def eigh(a: Array) -> Array:
    values, vectors = jnp.linalg.eigh(a)
    columns = [vectors[:, i] for i in range(a.shape[0])]
    return spectrum(
        [values[i] for i in range(a.shape[0])],
        [v[:, None] * jnp.conj(v) for v in columns],
    )


def eigh_by_formula(a: Array) -> Array:
    """The characteristic polynomial's roots, and the projections that are polynomials of them."""
    n = a.shape[0]
    mean = jnp.real(jnp.trace(a)) / n
    off = a - mean * np.eye(n)
    size = jnp.sqrt(jnp.sum(jnp.real(off * jnp.conj(off))) / (n * (n - 1)))
    if n == 2:
        values = [mean - size, mean + size]
    else:
        _, pivots = eliminate(off + 9 * np.eye(n) * size, off)  # shifted, so that none is zero
        # det(off + s) = s^3 - 3 size^2 s + det(off), since the trace is zero
        shift = 9 * size
        det = jnp.real(jnp.prod(pivots)) - shift**3 + 3 * size**2 * shift
        angle = jnp.acos(det / (2 * size**3)) / 3
        values = [mean + 2 * size * jnp.cos(angle + 2 * pi * i / 3) for i in (1, 2, 0)]
    projections = []
    for i in range(n):
        p = jnp.asarray(np.eye(n))
        for j in range(n):
            if i != j:
                p = p @ ((a - values[j] * np.eye(n)) / (values[i] - values[j]))
        projections.append(p)
    return spectrum(values, projections)


def inverse(a: Array) -> Array:
    return eliminate(a, jnp.asarray(np.eye(a.shape[0])))[0]


def slogdet(a: Array) -> Array:
    sign, size = jnp.linalg.slogdet(a)
    return sign + size


def slogdet_by_formula(a: Array) -> Array:
    _, pivots = eliminate(a, a)
    sizes = jnp.sqrt(jnp.real(pivots * jnp.conj(pivots)))
    return jnp.prod(pivots / sizes) + jnp.sum(jnp.log(sizes))


def tridiagonal(a: Array, b: Array) -> Array:
    """The solution of a system with the three middle diagonals."""
    end = jnp.zeros_like(a[:1, 0])
    below = jnp.concatenate([end, jnp.diagonal(a, -1)])
    above = jnp.concatenate([jnp.diagonal(a, 1), end])
    return lax.linalg.tridiagonal_solve(below, jnp.diagonal(a), above, b[:, None])[:, 0]


def sylvester(a: Array, b: Array) -> Array:
    wanted = b[:, None] * b
    return scipy.linalg.solve_sylvester(a, a.T, a @ wanted + wanted @ a.T)


def polar(a: Array) -> Array:
    u, p = scipy.linalg.polar(a)
    return u @ p + u @ adjoint(u)


Form = Callable[[Array, Array], Array]

#: Functions of a matrix and a right side, each beside a reference algorithm.
FORMS: tuple[tuple[Form, Form], ...] = (
    (jnp.linalg.solve, lambda a, b: eliminate(a, b[:, None])[0][:, 0]),
    (lambda a, _: jnp.linalg.inv(a), lambda a, _: inverse(a)),
    (lambda a, _: jnp.linalg.det(a), lambda a, _: jnp.prod(eliminate(a, a)[1])),
    (lambda a, _: slogdet(a), lambda a, _: slogdet_by_formula(a)),
    (lambda a, _: qr(a), lambda a, _: qr_by_formula(a)),
    (
        lambda a, _: jnp.linalg.cholesky(a + adjoint(a)),
        lambda a, _: cholesky_by_formula(a + adjoint(a)),
    ),
    (lambda a, _: eigh(a + adjoint(a)), lambda a, _: eigh_by_formula(a + adjoint(a))),
    (
        lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True),
        lambda a, b: eliminate(jnp.tril(a), b[:, None])[0][:, 0],
    ),
    (
        lambda a, b: tridiagonal(a, b.astype(a.dtype)),
        lambda a, b: eliminate(jnp.tril(jnp.triu(a, -1), 1), b[:, None])[0][:, 0],
    ),
    (
        lambda a, b: sylvester(a, b.astype(a.dtype)),
        lambda a, b: (b[:, None] * b).astype(a.dtype),
    ),
    (lambda a, _: polar(a), lambda a, _: a + np.eye(a.shape[0])),
    (
        lambda a, _: jnp.sum((jnp.linalg.eigvals(a) / 6) ** 3),
        lambda a, _: jnp.trace(a @ a @ a) / 216,
    ),
)


def linear_algebra(x: Array, y: Array, form: int, kind: int, ours: bool) -> Array:
    a = matrix(x, y, kind)
    library, by_formula = FORMS[form]
    out = (library if ours else by_formula)(a, fitted(y, a.shape[:1]))
    return jnp.sin(jnp.real(out) + 0.7 * jnp.imag(out))


def factored(x: Array, y: Array, k: int, ours: bool) -> Array:
    return linear_algebra(x, y, 4 + k % 4, k // 4, ours)


def solved(x: Array, y: Array, k: int, ours: bool) -> Array:
    return linear_algebra(x, y, k % 4, k // 4, ours)


def formed(x: Array, y: Array, k: int, ours: bool) -> Array:
    return linear_algebra(x, y, 8 + k % 4, k // 4, ours)


#: Steps that the two sides take in different ways.
TWO_SIDED: dict[str, Callable[[Array, Array, int, bool], Array]] = {
    "factored": factored,
    "formed": formed,
    "solved": solved,
}
