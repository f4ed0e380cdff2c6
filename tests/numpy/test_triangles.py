"""Functions of Hermitian matrices that look at one triangle: the other plays no part at all.

Neither what stands there nor what changes there matters, to values or to derivatives of any order.
"""

from collections.abc import Callable
from typing import Any, Final, Literal

import attrs
import jax
import jax.scipy.linalg
import numpy as np
import pytest
import scipy.linalg

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.dtypes import HostArray
from tinyjax.scipy import linalg

la = jnp.linalg


@attrs.frozen
class Case:
    """A function of one triangle, by three libraries; ``theirs`` is SciPy or NumPy."""

    name: str
    lower: bool
    ours: Callable[[Any], Any]
    theirs: Callable[[HostArray], Any]
    jax: Callable[[Any], Any]

    def __str__(self) -> str:
        return f"{self.name}, {'lower' if self.lower else 'upper'}"


B: Final = np.array([1.0, -2.0, 0.5])
jsl, jla, jlax = jax.scipy.linalg, jax.numpy.linalg, jax.lax.linalg


def cases(lower: bool) -> list[Case]:
    uplo: Literal["L", "U"] = "L" if lower else "U"
    keep = np.tril if lower else np.triu
    return [
        Case(
            "scipy cholesky",
            lower,
            lambda a: linalg.cholesky(a, lower=lower),
            lambda a: scipy.linalg.cholesky(a, lower=lower),
            lambda a: jsl.cholesky(a, lower=lower),
        ),
        Case(
            "cho_factor",
            lower,
            lambda a: linalg.cho_factor(a, lower=lower)[0],
            lambda a: keep(scipy.linalg.cho_factor(a, lower=lower)[0]),
            lambda a: jsl.cho_factor(a, lower=lower)[0],
        ),
        Case(
            "solve, positive definite",
            lower,
            lambda a: linalg.solve(a, B, lower=lower, assume_a="pos"),
            lambda a: scipy.linalg.solve(a, B, lower=lower, assume_a="pos"),
            lambda a: jsl.solve(a, B, lower=lower, assume_a="pos"),
        ),
        Case(
            "cho_solve",  # of a factor that SciPy leaves the other triangle of a in
            lower,
            lambda a: linalg.cho_solve((a, lower), B),
            lambda a: scipy.linalg.cho_solve((a, lower), B, check_finite=False),
            lambda a: jsl.cho_solve((a, lower), B),
        ),
        Case(
            "solve_triangular",
            lower,
            lambda a: linalg.solve_triangular(a, B, lower=lower),
            lambda a: scipy.linalg.solve_triangular(a, B, lower=lower),
            lambda a: jsl.solve_triangular(a, B, lower=lower),
        ),
        Case(
            "scipy eigh",
            lower,
            lambda a: linalg.eigh(a, lower=lower, eigvals_only=True),
            lambda a: scipy.linalg.eigh(a, lower=lower, eigvals_only=True),
            lambda a: jsl.eigh(a, lower=lower, eigvals_only=True),
        ),
        Case(
            "numpy eigvalsh",
            lower,
            lambda a: la.eigvalsh(a, uplo, symmetrize_input=False),
            lambda a: np.linalg.eigvalsh(a, uplo),
            lambda a: jla.eigvalsh(a, uplo, symmetrize_input=False),
        ),
        Case(
            "numpy eigh",  # what does not depend on the phase of the vectors
            lower,
            lambda a: of_vectors(jnp, *la.eigh(a, uplo, symmetrize_input=False)),
            lambda a: of_vectors(np, *np.linalg.eigh(a, uplo)),
            lambda a: of_vectors(jax.numpy, *jla.eigh(a, uplo, symmetrize_input=False)),
        ),
        Case(
            "numpy cholesky",
            lower,
            lambda a: la.cholesky(a, upper=not lower, symmetrize_input=False),
            lambda a: np.linalg.cholesky(a, upper=not lower),
            lambda a: jsl.cholesky(a, lower=lower),
        ),
        Case(
            "lax eigh",
            lower,
            lambda a: lax.linalg.eigh(a, lower=lower, symmetrize_input=False)[1],
            lambda a: np.linalg.eigvalsh(a, uplo),
            lambda a: jlax.eigh(a, lower=lower, symmetrize_input=False)[1],
        ),
    ]


def of_vectors(xp: Any, values: Any, vectors: Any) -> Any:
    return (vectors * xp.tanh(values)) @ xp.conj(vectors.T)


CASES: Final = [
    *cases(True),
    *cases(False),
    Case(
        "lax cholesky",
        True,
        lambda a: lax.linalg.cholesky(a, symmetrize_input=False),
        np.linalg.cholesky,
        lambda a: jlax.cholesky(a, symmetrize_input=False),
    ),
]
#: Triangular by their own right: the transposed matrix of the other triangle is another one.
NOT_HERMITIAN: Final = ("cho_solve", "solve_triangular")


def definite(dtype: Any = np.float64) -> HostArray:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3, 3)).astype(dtype)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=(3, 3))
    return np.asarray(x @ np.conj(x.T) + 3 * np.eye(3))


def spoilt(x: HostArray, lower: bool, value: Any) -> HostArray:
    """The matrix with something else in the triangle that plays no part."""
    other = np.triu(np.ones((3, 3), bool), 1) if lower else np.tril(np.ones((3, 3), bool), -1)
    return np.where(other, value, x)


def symmetric_direction(seed: int, dtype: Any = np.float64) -> HostArray:
    t = np.random.default_rng(seed).normal(size=(3, 3)).astype(dtype)
    return np.asarray(t + np.conj(t.T)) / 2


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_come_from_one_triangle(case: Case, dtype: Any) -> None:
    a = definite(dtype)
    expected = case.theirs(a)
    np.testing.assert_allclose(case.theirs(spoilt(a, case.lower, 7.0)), expected, 1e-12, 1e-12)
    for value in (7.0, np.nan):
        given = spoilt(a, case.lower, value)
        found = case.ours(given)
        np.testing.assert_allclose(found, expected, 1e-12, 1e-12)
        np.testing.assert_allclose(tinyjax.jit(case.ours)(given), expected, 1e-12, 1e-12)
        both = tinyjax.vmap(case.ours)(np.stack([a, given]))
        np.testing.assert_allclose(both, np.stack([expected, expected]), 1e-12, 1e-12)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_derivatives_are_of_one_triangle(case: Case) -> None:
    a = spoilt(definite(), case.lower, 7.0)
    rng = np.random.default_rng(1)
    t, s = rng.normal(size=(2, 3, 3))  # not symmetric
    w = rng.normal(size=np.shape(case.theirs(a)))

    def slope(x: Any) -> Any:
        return tinyjax.jvp(case.ours, (x,), (jnp.asarray(t),))[1]

    eps = 1e-5
    ahead, behind = (case.theirs(a + e * t) for e in (eps, -eps))
    np.testing.assert_allclose(slope(a), (ahead - behind) / (2 * eps), 1e-6, 1e-7)
    ahead, behind = (np.asarray(slope(a + e * s)) for e in (eps, -eps))
    _, second = tinyjax.jvp(slope, (a,), (s,))
    np.testing.assert_allclose(second, (ahead - behind) / (2 * eps), 1e-6, 1e-7)

    gradient = np.asarray(tinyjax.grad(lambda x: jnp.sum(w * case.ours(x)))(a))
    np.testing.assert_allclose(np.vdot(gradient, t), np.vdot(w, slope(a)), 1e-10)
    np.testing.assert_array_equal(spoilt(np.zeros((3, 3)), case.lower, gradient), np.zeros((3, 3)))
    compiled = tinyjax.jit(tinyjax.grad(lambda x: jnp.sum(w * case.ours(x))))
    np.testing.assert_allclose(compiled(a), gradient, 1e-10, 1e-12)
    # what stands in the other triangle does not get into it
    np.testing.assert_allclose(compiled(spoilt(a, case.lower, np.nan)), gradient, 1e-10, 1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("case", [c for c in CASES if c.name not in NOT_HERMITIAN], ids=str)
def test_derivatives_along_hermitian_matrices_are_those_of_jax(case: Case, dtype: Any) -> None:
    """Along others they differ: jax takes the tangent of the other triangle into account."""
    a, t, s = definite(dtype), symmetric_direction(1, dtype), symmetric_direction(2, dtype)

    def second(jvp: Any, fun: Any) -> Any:
        return jvp(lambda x: jvp(fun, (x,), (t,)), (a,), (s,))

    with jax.enable_x64(True):
        expected = jax.tree.map(np.asarray, second(jax.jvp, case.jax))
    for x, y in zip(
        tinyjax.tree.leaves(second(tinyjax.jvp, case.ours)), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(x, y, 1e-9, 1e-10)
