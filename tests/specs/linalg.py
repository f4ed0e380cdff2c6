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

import tinyjax.numpy as jnp
from specs import ArraySpec, Case, Spec
from tinyjax.core.array import Array
from tinyjax.dtypes import HostArray
from tinyjax.primitives import determinant, lu, qr, spectral, triangular

TYPES = ("float32", "float64", "complex64", "complex128")
SMOOTH = ("float64", "complex128")


def array(*shape: int, size: float = 1.0) -> ArraySpec:
    return ArraySpec(shape, None, -size, size)


def add_diagonal(xp: Any, x: Any, *, flip: bool = False) -> Any:
    """Add 6, 9, 12, ... on the diagonal, or on that from the lower left to the upper right."""
    m, n = x.shape[-2:]
    diagonal = np.eye(m, n) * np.arange(6, 6 + 3 * n, 3)
    return x + xp.asarray((diagonal[::-1] if flip else diagonal).astype(x.dtype))


def on(
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


def invariants(xp: Any, left: Any, right: Any) -> Any:
    """``L diag(1, 2, ...) R^H``, the same for any phases that ``L`` and ``R`` share."""
    weights = xp.asarray(np.arange(1, left.shape[-1] + 1).astype(left.dtype))
    return (left * weights) @ adjoint(xp, right)


# The same in tinyjax, NumPy and jax


def eigen(xp: Any, vectors: Any, values: Any) -> Any:
    return values, invariants(xp, vectors, vectors)


def singular(xp: Any, u: Any, s: Any, vh: Any) -> Any:
    v = adjoint(xp, vh)
    return s, invariants(xp, u, u), invariants(xp, v, v), invariants(xp, u, v)


def eigh(x: Array) -> Any:
    return eigen(jnp, *spectral.eigh(x))


def numpy_eigh(x: HostArray) -> Any:
    values, vectors = np.linalg.eigh((x + adjoint(np, x)) / 2)
    return eigen(np, vectors, values)


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


def slogdet(xp: Any, x: Any) -> Any:
    return tuple(xp.linalg.slogdet(x))


def numpy_svd(x: HostArray) -> Any:
    return singular(np, *np.linalg.svd(x, full_matrices=False))


def jax_svd(x: Any) -> Any:
    return singular(jax.numpy, *jax.numpy.linalg.svd(x, full_matrices=False))


SQUARE = [Case(array(3, 3)), Case(array(2, 2, 2)), Case(array(1, 1)), Case(array(2, 1, 4, 4))]
RECTANGULAR = [Case(array(3, 3)), Case(array(2, 4, 2)), Case(array(2, 2, 4)), Case(array(1, 3))]
OPTIONS: list[dict[str, bool]] = [
    {"left_side": True, "lower": True},
    {"left_side": True, "transpose_a": True, "unit_diagonal": True},
    {"lower": True, "conjugate_a": True},
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
        on(jnp, triangular.cholesky, definite),
        SQUARE,
        on(np, np.linalg.cholesky, definite),
        on(jax.numpy, jax.lax.linalg.cholesky, definite),
        TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "cholesky, of the lower triangle",
        triangular.cholesky_p,
        on(jnp, partial(triangular.cholesky, symmetrize_input=False)),
        SQUARE[:2],
        on(np, np.linalg.cholesky),
        on(jax.numpy, partial(jax.lax.linalg.cholesky, symmetrize_input=False)),
        # LAPACK takes complex diagonals for real, too
        ("float32", "float64"),
        grad=2,
        tol=TOL,
    ),
    Spec(
        "triangular_solve",
        triangular.triangular_solve_p,
        on(jnp, triangular.triangular_solve),
        SYSTEMS,
        on(np, numpy_triangular_solve),
        on(jax.numpy, jax.lax.linalg.triangular_solve),
        TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        linear=(1,),
        tol=TOL,
    ),
    Spec(
        "lu",
        lu.lu_p,
        on(jnp, lu.lu, flipped),
        [*RECTANGULAR, Case(array(2, 3, 3))],
        on(np, numpy_lu, flipped),
        on(jax.numpy, jax.lax.linalg.lu, flipped),
        TYPES,
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
        lambda pivots, size: jax.lax.linalg.lu_pivots_to_permutation(pivots, permutation_size=size),
    ),
    Spec(
        "solve",
        lu.solve_p,
        on(jnp, lu.solve),
        [Case(array(3, 3), array(3, 2)), Case(array(2, 2, 2), array(2, 2, 1))],
        on(np, np.linalg.solve),
        on(jax.numpy, jax.numpy.linalg.solve),
        TYPES,
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
        jax.numpy.linalg.det,
        TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "slogdet",
        determinant.slogdet_p,
        on(jnp, determinant.slogdet),
        SQUARE,
        on(np, partial(slogdet, np)),
        on(jax.numpy, partial(slogdet, jax.numpy)),
        TYPES,
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
        None,
        TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "qr",
        qr.qr_p,
        on(jnp, qr.qr),
        [Case(*case.operands, full_matrices=False) for case in RECTANGULAR],
        on(np, numpy_qr),
        on(jax.numpy, jax.lax.linalg.qr),
        TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
    Spec(
        "qr, square",
        qr.qr_p,
        on(jnp, qr.qr),
        [Case(*case.operands, full_matrices=True) for case in RECTANGULAR],
        on(np, numpy_qr),
        on(jax.numpy, jax.lax.linalg.qr),
        TYPES,
        tol=TOL,
    ),
    Spec(
        "geqrf",
        qr.geqrf_p,
        on(jnp, qr.geqrf),
        RECTANGULAR,
        on(np, numpy_geqrf),
        on(jax.numpy, jax_geqrf),
        TYPES,
        tol=TOL,
    ),
    Spec(
        "eigh",
        spectral.eigh_p,
        on(jnp, eigh, small),
        SQUARE,
        on(np, numpy_eigh, small),
        on(jax.numpy, lambda x: eigen(jax.numpy, *jax.lax.linalg.eigh(x)), small),
        TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=2 * TOL,
    ),
    Spec(
        "svd",
        spectral.svd_p,
        on(jnp, svd, small),
        RECTANGULAR,
        on(np, numpy_svd, small),
        on(jax.numpy, jax_svd, small),
        TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=2 * TOL,
    ),
    Spec(
        "svd, of values alone",
        spectral.svd_p,
        on(jnp, spectral.singular_values),
        RECTANGULAR,
        on(np, partial(np.linalg.svd, compute_uv=False)),
        on(jax.numpy, partial(jax.numpy.linalg.svd, compute_uv=False)),
        TYPES,
        grad=2,
        grad_dtypes=SMOOTH,
        tol=TOL,
    ),
]
