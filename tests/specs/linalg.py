"""Rows of linear algebra.

Random matrices become what a function is defined on by adding a diagonal that outweighs them, so
that any order of their elements does. Vectors with a sign or phase that is LAPACK's choice are
compared through products in which it cancels.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
import scipy.linalg

import tinyjax.numpy as jnp
from specs import ArraySpec, Case, Spec
from tinyjax._primitives import determinant, householder, lu, qr, schur_forms, spectral, triangular
from tinyjax.core.values.array import Array
from tinyjax.dtypes import HostArray

TYPES = ("float32", "float64", "complex64", "complex128")
SMOOTH = ("float64", "complex128")


def array(*shape: int, size: float = 1.0) -> ArraySpec:
    return ArraySpec(shape, None, -size, size)


def add_diagonal(xp: Any, x: Any, *, flip: bool = False) -> Any:
    """Add 6, 9, 12, ... on the diagonal, or on that from the lower left to the upper right."""
    m, n = x.shape[-2:]
    diagonal = np.eye(m, n) * np.arange(6, 6 + 3 * n, 3)
    return x + xp.asarray((diagonal[::-1] if flip else diagonal).astype(x.dtype))


def prepared_by(
    xp: Any, fun: Callable[..., Any], prepare: Callable[..., Any] = add_diagonal
) -> Callable[..., Any]:
    """The function with its first operand prepared."""
    return lambda x, *rest, **params: fun(prepare(xp, x), *rest, **params)


def flipped(xp: Any, x: Any) -> Any:
    return add_diagonal(xp, x, flip=True)


def small(xp: Any, x: Any) -> Any:
    """Eigenvalues and singular values apart from each other, and small: differences round them."""
    return add_diagonal(xp, x) / 6


def adjoint(xp: Any, x: Any) -> Any:
    return xp.conj(xp.swapaxes(x, -1, -2))


def definite(xp: Any, x: Any) -> Any:
    """A Hermitian positive definite matrix."""
    return add_diagonal(xp, x @ adjoint(xp, x))


def invariants(xp: Any, vectors: Any, right: Any) -> Any:
    """``L diag(1, 2, ...) R^H``, the same for any phases that ``L`` and ``R`` share."""
    weights = xp.asarray(np.arange(1, vectors.shape[-1] + 1).astype(vectors.dtype))
    return (vectors * weights) @ adjoint(xp, right)


# The same in tinyjax, NumPy and jax


def eigenpairs(xp: Any, vectors: Any, values: Any) -> Any:
    return values, invariants(xp, vectors, vectors)


def singular(xp: Any, u: Any, s: Any, vh: Any) -> Any:
    v = adjoint(xp, vh)
    return s, invariants(xp, u, u), invariants(xp, v, v), invariants(xp, u, v)


def eigh(x: Array) -> Any:
    return eigenpairs(jnp, *spectral.eigh(x))


def numpy_eigh(x: HostArray) -> Any:
    values, vectors = np.linalg.eigh((x + adjoint(np, x)) / 2)
    return eigenpairs(np, vectors, values)


def svd(x: Array) -> Any:
    return singular(jnp, *spectral.svd(x, full_matrices=False))


def triangle(xp: Any, a: Any, params: dict[str, bool]) -> Any:
    """The matrices of a triangular system, in full."""
    a = xp.tril(a) if params.get("lower") else xp.triu(a)
    if params.get("unit_diagonal"):
        n = a.shape[-1]
        a = a * (1 - np.eye(n, dtype=a.dtype)) + np.eye(n, dtype=a.dtype)
    if params.get("transpose_a"):
        a = xp.swapaxes(a, -1, -2)
    return xp.conj(a) if params.get("conjugate_a") else a


def numpy_triangular_solve(a: HostArray, b: HostArray, **params: bool) -> Any:
    full = triangle(np, a, params)
    if params.get("left_side"):
        return np.linalg.solve(full, b)
    return np.swapaxes(np.linalg.solve(np.swapaxes(full, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


def numpy_lu(x: HostArray) -> Any:
    """Gaussian elimination, one matrix and one column after another."""
    factors = x.astype(np.complex128)
    *batch, m, n = x.shape
    pivots = np.zeros((*batch, min(m, n)), np.int32)
    order = np.zeros((*batch, m), np.int32)
    for index in np.ndindex(*batch):
        a, rows = factors[index], list(range(m))
        for j in range(min(m, n)):
            sizes = abs(a[j:, j].real) + abs(a[j:, j].imag)
            p = pivots[(*index, j)] = j + int(np.argmax(sizes))
            a[[j, p]], rows[j], rows[p] = a[[p, j]], rows[p], rows[j]
            for i in range(j + 1, m):
                a[i, j] /= a[j, j]
                a[i, j + 1 :] -= a[i, j] * a[j, j + 1 :]
        order[index] = rows
    narrow = factors if np.iscomplexobj(x) else factors.real
    return narrow.astype(x.dtype), pivots, order


def numpy_permutation(pivots: HostArray, size: int) -> Any:
    order = np.broadcast_to(np.arange(size, dtype=np.int32), (*pivots.shape[:-1], size)).copy()
    for index in np.ndindex(*pivots.shape[:-1]):
        for i, p in enumerate(pivots[index]):
            order[index][[i, p]] = order[index][[p, i]]
    return order


def numpy_adjugate(x: HostArray) -> Any:
    """From the definition: determinants without a row and a column."""
    out = np.zeros(x.shape, x.dtype)
    n = x.shape[-1]
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(x, i, -2), j, -1)
            out[..., j, i] = (-1) ** (i + j) * np.linalg.det(minor)
    return out


def numpy_geqrf(x: HostArray) -> Any:
    packed, factors = np.linalg.qr(x, "raw")
    return np.swapaxes(packed, -1, -2), factors


def jax_geqrf(x: Any) -> Any:
    packed, factors = jax.numpy.linalg.qr(x, "raw")
    return packed.mT, factors


def numpy_qr(x: HostArray, full_matrices: bool) -> Any:
    return tuple(np.linalg.qr(x, "complete" if full_matrices else "reduced"))


def numpy_pivoted_qr(x: HostArray, full_matrices: bool) -> Any:
    mode = "full" if full_matrices else "economic"
    return stacked(lambda a: scipy.linalg.qr(a, mode=mode, pivoting=True), x)


def stacked(fun: Callable[..., Any], *operands: HostArray, core: int = 2) -> Any:
    """A function of matrices, applied to stacks of them: an array, or a tuple of such."""
    batch = operands[0].shape[: operands[0].ndim - core]
    found = [fun(*(x[index] for x in operands)) for index in np.ndindex(*batch)]
    if not isinstance(found[0], tuple):
        return np.reshape(found, (*batch, *np.shape(found[0])))
    return tuple(
        np.reshape(part, (*batch, *np.shape(part[0]))) for part in zip(*found, strict=True)
    )


def numpy_eig(x: HostArray) -> Any:
    dtype = np.result_type(x.dtype, np.complex64)
    outs = stacked(lambda a: scipy.linalg.eig(a, left=True), x)
    return tuple(out.astype(dtype) for out in outs)


def hermitian(xp: Any, x: Any) -> Any:
    return x + adjoint(xp, x)


def reflections(xp: Any, a: Any, taus: Any) -> Any:
    """The product of reflections, from its definition."""
    *batch, m, n = a.shape
    v = xp.tril(a, -1) + xp.asarray(np.eye(m, n, dtype=a.dtype))
    product = xp.asarray(np.broadcast_to(np.eye(m, dtype=a.dtype), (*batch, m, m)))
    for i in range(taus.shape[-1]):
        column = v[..., :, i, None]
        product = product - (product @ column) * taus[..., i, None, None] @ adjoint(xp, column)
    return product


def numpy_ormqr(a: HostArray, taus: HostArray, c: HostArray, left: bool, transpose: bool) -> Any:
    q = reflections(np, a, taus)
    q = adjoint(np, q) if transpose else q
    return q @ c if left else c @ q


def numpy_hessenberg(x: HostArray) -> Any:
    """The matrices, and the products of what is packed."""
    found = stacked(lambda a: scipy.linalg.hessenberg(a, calc_q=True), x)
    return np.triu(found[0], -1), found[1].astype(x.dtype)


def hessenberg(x: Array) -> Any:
    packed, taus = householder.hessenberg(x)
    form = jnp.triu(packed, -1)
    if x.shape[-1] < 2:
        return form, jnp.ones_like(form)
    inner = householder.householder_product(packed[..., 1:, :-1], taus)
    q = jnp.pad(inner, [(0, 0)] * (x.ndim - 2) + [(1, 0), (1, 0)])
    return form, q + jnp.zeros_like(q).at[..., 0, 0].set(1)


def numpy_tridiagonal_solve(dl: HostArray, d: HostArray, du: HostArray, b: HostArray) -> Any:
    def solve(dl: HostArray, d: HostArray, du: HostArray, b: HostArray) -> Any:
        return np.linalg.solve(np.diag(dl[1:], -1) + np.diag(d) + np.diag(du[:-1], 1), b)

    return stacked(solve, dl, d, du, b, core=1)


def dominant(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Make the diagonal of a tridiagonal matrix outweigh its neighbours."""
    return lambda dl, d, du, b: fun(dl, d + d.dtype.type(4), du, b)


def numpy_cholesky_update(r: HostArray, w: HostArray) -> Any:
    total = adjoint(np, np.triu(r)) @ np.triu(r) + w[..., None] * w[..., None, :]
    return adjoint(np, np.linalg.cholesky(total))


def jax_cholesky_update(r: Any, w: Any) -> Any:
    fun, batch = jax.lax.linalg.cholesky_update, w.shape[:-1]
    rows = [fun(jax.numpy.triu(r[index]), w[index]) for index in np.ndindex(*batch)]
    return jax.numpy.stack(rows).reshape(r.shape)


def complex_schur(x: Array) -> Any:
    """The matrix again, and what is below the diagonal of its form."""
    form, vectors = schur_forms.rsf2csf(*blocks(x))
    return vectors @ form @ adjoint(jnp, vectors), jnp.tril(form, -1)


def blocks(x: Array) -> tuple[Array, Array]:
    """A real Schur form with a block of two by two, as complex numbers, and unitary vectors."""
    n = x.shape[-1]
    form = jnp.triu(x.real) + jnp.eye(n) * np.arange(n) * 3
    if n > 1:
        form = form.at[..., 1, 0].set(-2 * jnp.sign(form[..., 0, 1]))
        form = form.at[..., 1, 1].set(form[..., 0, 0])
    return form.astype(x.dtype), qr.qr(x)[0]


def triangular_cube(x: Array) -> Any:
    form = jnp.triu(add_diagonal(jnp, x))
    diagonal = jnp.diagonal(form, axis1=-2, axis2=-1)
    return schur_forms.parlett(form, diagonal**3)


def numpy_cube(x: HostArray) -> Any:
    form = np.triu(add_diagonal(np, x))
    diagonal = np.einsum("...ii->...i", form)
    gaps = np.abs(diagonal[..., None] - diagonal[..., None, :])
    gaps = gaps + np.where(np.eye(x.shape[-1]), np.inf, 0)
    return form @ form @ form, gaps.min((-2, -1)).astype(x.real.dtype)


def slogdet(xp: Any, x: Any) -> Any:
    return tuple(xp.linalg.slogdet(x))


def numpy_svd(x: HostArray) -> Any:
    return singular(np, *np.linalg.svd(x, full_matrices=False))


def jax_svd(x: Any) -> Any:
    return singular(jax.numpy, *jax.numpy.linalg.svd(x, full_matrices=False))


SQUARE = [Case(array(3, 3)), Case(array(2, 2, 2)), Case(array(1, 1)), Case(array(2, 1, 4, 4))]
RECTANGULAR = [Case(array(3, 3)), Case(array(2, 4, 2)), Case(array(2, 2, 4)), Case(array(1, 3))]
# The first two are compiled in all dtypes.
OPTIONS: list[dict[str, bool]] = [
    {"lower": True, "conjugate_a": True},
    {"left_side": True, "lower": True},
    {"left_side": True, "transpose_a": True, "unit_diagonal": True},
    {"transpose_a": True, "conjugate_a": True},
    {"left_side": True, "lower": True, "transpose_a": True, "conjugate_a": True},
]
SYSTEMS = [
    *(Case(array(3, 3), array(*((3, 2) if p.get("left_side") else (2, 3))), **p) for p in OPTIONS),
    Case(array(2, 2, 2), array(2, 2, 1), left_side=True),
    Case(array(2, 2, 2), array(2, 1, 2)),
]
# What is compared with a result in single precision that NumPy computes in double precision.
TOL = 4.0

SPECS = [
    Spec(
        "cholesky",
        triangular.cholesky_p,
        prepared_by(jnp, triangular.cholesky, definite),
        SQUARE,
        prepared_by(np, np.linalg.cholesky, definite),
        jax=prepared_by(jax.numpy, jax.lax.linalg.cholesky, definite),
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "cholesky, of the lower triangle",
        triangular.cholesky_p,
        prepared_by(jnp, partial(triangular.cholesky, symmetrize_input=False)),
        SQUARE[:2],
        prepared_by(np, np.linalg.cholesky),
        jax=prepared_by(jax.numpy, partial(jax.lax.linalg.cholesky, symmetrize_input=False)),
        # LAPACK takes complex diagonals for real, too
        dtypes=("float32", "float64"),
        grad=2,
        tol=TOL,
    ),
    Spec(
        "triangular_solve",
        triangular.triangular_solve_p,
        prepared_by(jnp, triangular.triangular_solve),
        SYSTEMS,
        prepared_by(np, numpy_triangular_solve),
        jax=prepared_by(jax.numpy, jax.lax.linalg.triangular_solve),
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        linear=(1,),
        tol=TOL,
    ),
    Spec(
        "lu",
        lu.lu_p,
        prepared_by(jnp, lu.lu, flipped),
        [*RECTANGULAR, Case(array(2, 3, 3))],
        prepared_by(np, numpy_lu, flipped),
        jax=prepared_by(jax.numpy, jax.lax.linalg.lu, flipped),
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "pivots_to_permutation",
        lu.pivots_to_permutation_p,
        lu.pivots_to_permutation,
        [
            Case(ArraySpec((3,), "int32", 0, 4), size=5),
            Case(ArraySpec((2, 1, 4), "int32", 0, 3), size=4),
            Case(ArraySpec((0,), "int32"), size=2),
        ],
        numpy_permutation,
        jax=lambda pivots, size: jax.lax.linalg.lu_pivots_to_permutation(
            pivots, permutation_size=size
        ),
    ),
    Spec(
        "solve",
        lu.solve_p,
        prepared_by(jnp, lu.solve),
        [Case(array(3, 3), array(3, 2)), Case(array(2, 2, 2), array(2, 2, 1))],
        prepared_by(np, np.linalg.solve),
        jax=prepared_by(jax.numpy, jax.numpy.linalg.solve),
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        linear=(1,),
        tol=TOL,
    ),
    Spec(
        "det",
        determinant.det_p,
        determinant.det,
        SQUARE,
        np.linalg.det,
        jax=jax.numpy.linalg.det,
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "slogdet",
        determinant.slogdet_p,
        prepared_by(jnp, determinant.slogdet),
        SQUARE,
        prepared_by(np, partial(slogdet, np)),
        jax=prepared_by(jax.numpy, partial(slogdet, jax.numpy)),
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "adjugate",
        determinant.adjugate_p,
        determinant.adjugate,
        SQUARE,
        numpy_adjugate,
        jax=None,
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "qr",
        qr.qr_p,
        prepared_by(jnp, qr.qr),
        [Case(*case.operands, full_matrices=False) for case in RECTANGULAR],
        prepared_by(np, numpy_qr),
        jax=prepared_by(jax.numpy, jax.lax.linalg.qr),
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "qr, square",
        qr.qr_p,
        prepared_by(jnp, qr.qr),
        [Case(*case.operands, full_matrices=True) for case in RECTANGULAR],
        prepared_by(np, numpy_qr),
        jax=prepared_by(jax.numpy, jax.lax.linalg.qr),
        dtypes=TYPES,
        tol=TOL,
    ),
    Spec(
        "geqrf",
        qr.geqrf_p,
        prepared_by(jnp, qr.geqrf),
        RECTANGULAR,
        prepared_by(np, numpy_geqrf),
        jax=prepared_by(jax.numpy, jax_geqrf),
        dtypes=TYPES,
        tol=TOL,
    ),
    Spec(
        "eigh",
        spectral.eigh_p,
        prepared_by(jnp, eigh, small),
        SQUARE,
        prepared_by(np, numpy_eigh, small),
        jax=prepared_by(jax.numpy, lambda x: eigenpairs(jax.numpy, *jax.lax.linalg.eigh(x)), small),
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=2 * TOL,
    ),
    Spec(
        "svd",
        spectral.svd_p,
        prepared_by(jnp, svd, small),
        RECTANGULAR,
        prepared_by(np, numpy_svd, small),
        jax=prepared_by(jax.numpy, jax_svd, small),
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=2 * TOL,
    ),
    Spec(
        "svd, of values alone",
        spectral.svd_p,
        prepared_by(jnp, spectral.singular_values),
        RECTANGULAR,
        prepared_by(np, partial(np.linalg.svd, compute_uv=False)),
        jax=prepared_by(jax.numpy, partial(jax.numpy.linalg.svd, compute_uv=False)),
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "qr, pivoted",
        qr.qr_p,
        prepared_by(jnp, qr.pivoted_qr),
        [Case(*case.operands, full_matrices=False) for case in RECTANGULAR],
        prepared_by(np, numpy_pivoted_qr),
        jax=prepared_by(jax.numpy, partial(jax.lax.linalg.qr, pivoting=True)),
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "eig",
        spectral.eig_p,
        prepared_by(jnp, lambda x: tuple(spectral.eig(x)), small),
        SQUARE,
        prepared_by(np, numpy_eig, small),
        jax=prepared_by(jax.numpy, lambda x: tuple(jax.lax.linalg.eig(x)), small),
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=4 * TOL,
    ),
    Spec(
        "eig, of values alone",
        spectral.eig_p,
        prepared_by(jnp, partial(spectral.eig, left=False, right=False), small),
        SQUARE,
        prepared_by(np, lambda x: numpy_eig(x)[:1], small),
        jax=None,
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=4 * TOL,
    ),
    Spec(
        "schur",
        spectral.schur_p,
        prepared_by(jnp, spectral.schur, small),
        SQUARE,
        prepared_by(np, partial(stacked, scipy.linalg.schur), small),
        jax=prepared_by(jax.numpy, jax.lax.linalg.schur, small),
        dtypes=TYPES,
        tol=4 * TOL,
    ),
    Spec(
        "hessenberg",
        householder.hessenberg_p,
        prepared_by(jnp, hessenberg),
        [Case(array(3, 3)), Case(array(1, 1)), Case(array(2, 1, 4, 4))],  # SciPy keeps 2 by 2
        prepared_by(np, numpy_hessenberg),
        jax=None,
        dtypes=TYPES,
        tol=2 * TOL,
    ),
    Spec(
        "tridiagonal",
        householder.tridiagonal_p,
        prepared_by(jnp, householder.tridiagonal, hermitian),
        [Case(array(3, 3), lower=True), Case(array(2, 4, 4), lower=False)],
        None,
        jax=prepared_by(jax.numpy, jax.lax.linalg.tridiagonal, hermitian),
        dtypes=TYPES,
        tol=2 * TOL,
    ),
    Spec(
        "householder_product",
        householder.householder_product_p,
        householder.householder_product,
        [
            Case(array(3, 3), array(3)),
            Case(array(2, 4, 2), array(2, 1)),
            Case(array(3, 2), array(0)),
        ],
        lambda a, taus: reflections(np, a, taus)[..., : a.shape[-1]],
        jax=jax.lax.linalg.householder_product,
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "ormqr",
        householder.ormqr_p,
        householder.ormqr,
        [
            Case(array(3, 2), array(2), array(3, 4), left=True, transpose=False),
            Case(array(3, 3), array(3), array(2, 3), left=False, transpose=False),
            Case(array(2, 3, 4), array(2, 3), array(2, 3, 1), left=True, transpose=True),
            Case(array(3, 2), array(1), array(2, 3), left=False, transpose=True),
        ],
        numpy_ormqr,
        jax=jax.lax.linalg.ormqr,
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        linear=(2,),
        tol=TOL,
    ),
    Spec(
        "solve_sylvester",
        schur_forms.sylvester_p,
        prepared_by(jnp, schur_forms.solve_sylvester),
        [
            Case(array(3, 3), array(2, 2), array(3, 2)),
            Case(array(2, 2, 2), array(2, 1, 1), array(2, 2, 1)),
        ],
        prepared_by(np, partial(stacked, scipy.linalg.solve_sylvester)),
        jax=None,
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        linear=(2,),
        tol=2 * TOL,
    ),
    Spec(
        "sqrtm",
        schur_forms.sqrtm_p,
        prepared_by(jnp, schur_forms.sqrtm),
        SQUARE,
        prepared_by(
            np, lambda x: stacked(scipy.linalg.sqrtm, x).astype(np.result_type(x, np.complex64))
        ),
        jax=None,
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=2 * TOL,
    ),
    Spec(
        "tridiagonal_solve",
        householder.tridiagonal_solve_p,
        dominant(householder.tridiagonal_solve),
        [
            Case(array(3), array(3), array(3), array(3, 2)),
            Case(array(2, 4), array(2, 4), array(2, 4), array(2, 4, 1)),
            Case(array(1), array(1), array(1), array(1, 2)),
        ],
        dominant(numpy_tridiagonal_solve),
        jax=dominant(jax.lax.linalg.tridiagonal_solve),
        dtypes=TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        linear=(3,),
        tol=TOL,
    ),
    Spec(
        "symmetric_product",
        householder.symmetric_product_p,
        householder.symmetric_product,
        [
            Case(array(3, 2), array(3, 3), alpha=0.5, beta=2.0),
            Case(array(2, 2, 3), array(2, 2, 2), alpha=1.0, beta=0.0),
        ],
        lambda a, c, alpha, beta: (alpha * (a @ adjoint(np, a)) + beta * c).astype(a.dtype),
        jax=jax.lax.linalg.symmetric_product,
        dtypes=("float32", "float64"),
        grad=2,
        tol=TOL,
    ),
    Spec(
        "cholesky_update",
        householder.cholesky_update_p,
        prepared_by(jnp, householder.cholesky_update),
        [
            Case(array(3, 3), array(3)),
            Case(array(2, 2, 2), array(2, 2)),
            Case(array(1, 1), array(1)),
        ],
        prepared_by(np, numpy_cholesky_update),
        jax=prepared_by(jax.numpy, jax_cholesky_update),
        dtypes=("float32", "float64"),
        grad=2,
        tol=TOL,
    ),
    Spec(
        "rsf2csf",
        schur_forms.rsf2csf_p,
        complex_schur,
        SQUARE,
        None,
        jax=None,
        dtypes=("complex64", "complex128"),
        tol=8 * TOL,
    ),
    Spec(
        "parlett",
        schur_forms.parlett_p,
        triangular_cube,
        SQUARE,
        numpy_cube,
        jax=None,
        dtypes=("complex64", "complex128"),
        tol=8 * TOL,
    ),
]
