"""Decompositions of sparse matrices: beside NumPy's dense ones, and by their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.experimental.sparse import BCOO, BCSR, factors
from tinyjax.scipy.sparse import linalg

N = 12


def drawn(dtype: str) -> Any:
    """Draw a sparse matrix with odd permutations in its decomposition, and right sides."""
    rng = np.random.default_rng(3)
    matrix = scipy.sparse.random_array((N, N), density=0.2, rng=rng).tocsr() * 3.0
    matrix = (matrix + scipy.sparse.diags_array(np.arange(1.0, N + 1))).astype(dtype).tocsr()
    if dtype == "complex128":
        matrix.data = matrix.data * np.exp(1j * rng.random(matrix.nnz))
    return matrix, rng.normal(size=(N, 3)).astype(dtype)


dtypes = pytest.mark.parametrize("dtype", ["float64", "complex128"])


@dtypes
@pytest.mark.parametrize("form", [lambda m: m, BCSR.from_scipy_sparse, BCOO.from_scipy_sparse])
def test_solutions_and_determinants(dtype: str, form: Callable[[Any], Any]) -> None:
    with tinyjax.default_dtypes("float64"):
        matrix, b = drawn(dtype)
        dense = matrix.toarray()
        lu = linalg.splu(form(matrix))
        operands: dict[Any, Any] = {"N": dense, "T": dense.T, "H": dense.conj().T}
        for trans, operand in operands.items():
            for right in (b, b[:, 0]):
                expected = np.linalg.solve(operand, right)
                np.testing.assert_allclose(lu.solve(right, trans), expected, 1e-9, 1e-9)
        for exchanged in (dense, dense[::-1]):
            ours = linalg.splu(form(scipy.sparse.csr_array(exchanged))).slogdet()
            for x, y in zip(ours, np.linalg.slogdet(exchanged), strict=True):
                np.testing.assert_allclose(x, y, 1e-9)
        np.testing.assert_allclose(
            linalg.factorized(form(matrix))(b), linalg.spsolve(form(matrix), b)
        )


@dtypes
def test_derivatives_in_the_elements(dtype: str) -> None:
    with tinyjax.default_dtypes("float64"):
        matrix, b = drawn(dtype)
        given = BCSR.from_scipy_sparse(matrix)

        def as_matrix(data: Any) -> BCSR:
            return BCSR((data, given.indices, given.indptr), shape=(N, N))

        def of_sparse(data: Any, b: Any) -> Any:
            lu = linalg.splu(as_matrix(data))
            sign, logarithm = lu.slogdet()
            return jnp.sum(jnp.abs(lu.solve(b)) ** 2) + logarithm + jnp.real(sign)

        def of_dense(data: Any, b: Any) -> Any:
            dense = as_matrix(data).todense()
            sign, logarithm = jnp.linalg.slogdet(dense)
            return jnp.sum(jnp.abs(jnp.linalg.solve(dense, b)) ** 2) + logarithm + jnp.real(sign)

        def curvature(fun: Any) -> Any:
            return lambda *args: tinyjax.jvp(tinyjax.grad(fun), args, args)[1]

        args = given.data, jnp.asarray(b)
        slopes = [tinyjax.grad(fun, (0, 1)) for fun in (of_sparse, of_dense)]
        for ours, theirs in (slopes, (curvature(of_sparse), curvature(of_dense))):
            expected = tinyjax.tree.leaves(theirs(*args))
            for fun in (ours, tinyjax.jit(ours)):
                for x, y in zip(tinyjax.tree.leaves(fun(*args)), expected, strict=True):
                    np.testing.assert_allclose(x, y, 1e-8, 1e-9)
        many = jnp.stack([given.data, 2 * given.data])
        values = [of_sparse(data, b) for data in many]
        np.testing.assert_allclose(tinyjax.vmap(of_sparse, (0, None))(many, b), values, 1e-9)


def test_a_matrix_is_decomposed_once() -> None:
    with tinyjax.default_dtypes("float64"):
        matrix, b = drawn("float64")
        factors._decomposed.cache_clear()
        with mock.patch.object(
            scipy.sparse.linalg, "splu", side_effect=scipy.sparse.linalg.splu
        ) as splu:
            lu = linalg.splu(matrix)
            for right in b.T:
                tinyjax.block_until_ready(tinyjax.grad(lambda b: jnp.sum(lu.solve(b) ** 2))(right))
            lu.slogdet()
        assert splu.call_count == 1


def test_singular_matrices_and_what_is_refused() -> None:
    singular = scipy.sparse.csr_array(np.ones((2, 2), np.float32))
    assert np.isnan(linalg.spsolve(singular, jnp.ones(2))).all()
    sign, logarithm = linalg.splu(singular).slogdet()
    assert sign == 0
    assert logarithm == -np.inf
    with raises(ArgumentError, match=r"A is no sparse matrix, but ndarray"):
        linalg.splu(np.ones((2, 2)))
    with raises(ShapeError, match=r"A takes a square matrix, but got shape \(2, 3\)"):
        linalg.splu(scipy.sparse.csr_array((2, 3)))
    with raises(ShapeError, match="takes right sides of 2 rows"):
        linalg.spsolve(singular, jnp.ones(3))
    with raises(ArgumentError, match="trans of solve must be"):
        linalg.splu(singular).solve(jnp.ones(2), unchecked("X"))


def unchecked(value: object) -> Any:
    return value
