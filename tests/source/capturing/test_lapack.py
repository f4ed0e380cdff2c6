"""SciPy's linear algebra under capture, against SciPy's own values and their differences."""

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from scipy import linalg
from scipy.linalg import lapack

import tinyjax
from tinyjax import source

pytestmark = pytest.mark.usefixtures("double_precision")

N: Final = 5


def draw(rng: np.random.Generator, *shape: int, is_complex: bool) -> Any:
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if is_complex else x


def symmetric(x: Any) -> Any:
    """Return a Hermitian matrix that is positive definite near a drawn one."""
    a = 0.2 * x.reshape(N, N)
    return a + a.conj().T + 4.0 * np.eye(N) + np.diag(np.arange(N))


def square(x: Any) -> Any:
    return x.reshape(N, N) + 5.0 * np.eye(N)


def banded(x: Any, rows: int, main: int) -> Any:
    bands = 0.3 * np.reshape(x, (-1,))[: rows * N].reshape(rows, N)
    return np.concatenate([bands[:main], bands[main : main + 1].real + 4.0, bands[main + 1 :]])


def deficient(x: Any) -> Any:
    """Return a matrix with a column of zeros."""
    return square(x) * (np.arange(N) < N - 1)


def least_squares(module: Any, part: float, x: Any) -> Any:
    return module.lstsq(deficient(x), B, part)[0]


def tall(x: Any) -> Any:
    return np.reshape(x, (N, N))[:, :3]


B: Final = np.cos(np.arange(float(N)))
B2: Final = np.sin(np.arange(2.0 * N)).reshape(N, 2)
KNOWN: Final = np.arange(1.0, 16.0).reshape(3, 5) % 4 + np.array([[0.0], [6.0], [0.0]])

FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    **{
        f"{module.__name__} lstsq {part}": functools.partial(least_squares, module, part)
        for module in (np.linalg, linalg)
        for part in (-1, 0, 2.0, 1e-10)
    },
    "solve tridiagonal": lambda x: linalg.solve(square(x), B, assume_a="tridiagonal"),
    "solve banded": lambda x: linalg.solve(square(x), B, assume_a="banded"),
    "solve diagonal": lambda x: linalg.solve(square(x), B2, assume_a="diagonal"),
    "solve lower": lambda x: linalg.solve(square(x), B, assume_a="lower triangular"),
    "solve upper": lambda x: linalg.solve(square(x), B2, assume_a="upper triangular"),
    "solve positive": lambda x: linalg.solve(symmetric(x), B, assume_a="pos"),
    "solve_banded": lambda x: linalg.solve_banded((1, 2), banded(x, 4, 2), B2),
    "solve_banded tridiagonal": lambda x: linalg.solve_banded((1, 1), banded(x, 3, 1), B),
    "solve_banded right side": lambda x: linalg.solve_banded((1, 1), KNOWN, x.ravel()[:N]),
    "solveh_banded": lambda x: linalg.solveh_banded(banded(x, 3, 2), B),
    "solveh_banded lower": lambda x: linalg.solveh_banded(banded(x, 3, 0), B2, lower=True),
    "solveh_banded two": lambda x: linalg.solveh_banded(banded(x, 2, 1), x.ravel()[-N:]),
    "solveh_banded two lower": lambda x: linalg.solveh_banded(banded(x, 2, 0), B, lower=True),
    "cholesky_banded": lambda x: linalg.cholesky_banded(banded(x, 3, 2))[2],
    "cholesky_banded lower": lambda x: linalg.cholesky_banded(banded(x, 3, 0), lower=True)[1, :-1],
    "cho_solve_banded": lambda x: linalg.cho_solve_banded(
        (linalg.cholesky_banded(banded(x, 3, 2)), False), B
    ),
    "cho_solve_banded lower": lambda x: linalg.cho_solve_banded(
        (linalg.cholesky_banded(banded(x, 2, 0), lower=True), True), x.ravel()[-N:]
    ),
    "cho_factor": lambda x: linalg.cho_factor(symmetric(x))[0],
    "cho_solve": lambda x: linalg.cho_solve(linalg.cho_factor(symmetric(x), lower=True), B),
    "solve_toeplitz": lambda x: linalg.solve_toeplitz(x.ravel()[:N] + 9.0 * (B == 1), B2),
    "solve_toeplitz of two": lambda x: linalg.solve_toeplitz(
        (x.ravel()[:N] + 9.0 * (B == 1), x.ravel()[3 : 3 + N]), x.ravel()[-N:]
    ),
    "solve_circulant": lambda x: linalg.solve_circulant(x.ravel()[:N] + 9.0 * (B == 1), B),
    "lstsq": lambda x: linalg.lstsq(tall(x), B)[0],
    "lstsq of several": lambda x: linalg.lstsq(tall(x), B2, lapack_driver="gelss")[0],
    "lstsq by qr": lambda x: linalg.lstsq(tall(x), x.ravel()[-N:], lapack_driver="gelsy")[0],
    "lstsq residuals": lambda x: linalg.lstsq(tall(x), B2)[1],
    "lstsq singular values": lambda x: linalg.lstsq(tall(x), B, cond=1e-9)[3],
    "lstsq of few rows": lambda x: linalg.lstsq(tall(x).T, B[:3])[0],
    "lstsq of low rank": lambda x: linalg.lstsq(tall(x) * [1.0, 1.0, 0.0], B)[0],
    "pinvh": lambda x: linalg.pinvh(symmetric(x)),
    "eigh values by index": lambda x: linalg.eigh(symmetric(x), subset_by_index=[1, 2])[0],
    "eigh values by value": lambda x: linalg.eigvalsh(symmetric(x), subset_by_value=[3.0, 7.0]),
    "eig_banded": lambda x: linalg.eig_banded(banded(x, 3, 2))[0],
    "eig_banded by index": lambda x: linalg.eig_banded(
        banded(x, 3, 0), lower=True, select="i", select_range=(1, 3)
    )[0],
    "eigvals_banded by value": lambda x: linalg.eigvals_banded(
        banded(x, 2, 1), select="v", select_range=(3.0, 9.0)
    ),
    "rq": lambda x: linalg.rq(square(x))[0],
    "fractional_matrix_power": lambda x: linalg.fractional_matrix_power(square(x), 0.3),
    "issymmetric": lambda x: x * (1 + linalg.issymmetric(symmetric(x).real)),
    "ishermitian": lambda x: x * (1 + linalg.ishermitian(symmetric(x))),
    "bandwidth": lambda x: x * sum(linalg.bandwidth(np.triu(np.tril(square(x), 1), -2))),
    "solve_continuous_are": lambda x: linalg.solve_continuous_are(
        square(x), symmetric(x)[:, :2], np.eye(N), np.eye(2)
    ),
    "solve_discrete_are": lambda x: linalg.solve_discrete_are(
        0.2 * square(x), symmetric(x)[:, :2], symmetric(x), np.eye(2)
    ),
}
REAL: Final[dict[str, Callable[[Any], Any]]] = {
    "eigh": lambda x: linalg.eigh(symmetric(x))[1],
    "eigh by index": lambda x: linalg.eigh(symmetric(x), subset_by_index=[1, 2])[1],
    "eigh by evd": lambda x: linalg.eigh(symmetric(x), driver="evd", lower=False)[1],
    "eigh of two": lambda x: linalg.eigh(symmetric(x), symmetric(x * x[::-1, ::-1]))[1],
    "eigh of two by index": lambda x: linalg.eigh(
        symmetric(x), symmetric(x * x[::-1, ::-1]), subset_by_index=[0, 1]
    )[1],
    "eig_banded": lambda x: linalg.eig_banded(banded(x, 3, 2))[1],
    "eigh_tridiagonal": lambda x: linalg.eigh_tridiagonal(x[0] + 3 * np.arange(N), x[1, 1:])[1],
    "eigh_tridiagonal by index": lambda x: linalg.eigh_tridiagonal(
        x[0] + 3 * np.arange(N), x[1, 1:], select="i", select_range=(1, 2)
    )[1],
    "eigh_tridiagonal by value": lambda x: linalg.eigh_tridiagonal(
        3 * np.arange(N) + 0.1 * x[0], x[1, 1:], False, "v", (-np.inf, 5.0)
    )[0],
    "potri": lambda x: lapack.dpotri(lapack.dpotrf(symmetric(x), lower=1)[0], lower=1)[0],
    "potrs": lambda x: lapack.dpotrs(lapack.dpotrf(symmetric(x))[0], B)[0],
    "trtrs": lambda x: lapack.dtrtrs(square(x), B, lower=1, trans=1, unitdiag=1)[0],
    "trtri": lambda x: lapack.dtrtri(square(x), lower=1)[0],
    "gesv": lambda x: lapack.dgesv(square(x), B2)[2],
    "getrs": lambda x: lapack.dgetrs(*lapack.dgetrf(square(x))[:2], B, 1)[0],
    "gtsv": lambda x: lapack.dgtsv(x[0, :-1], x[1] + 4, x[2, :-1], B)[3],
}


def total(f: Callable[[Any], Any], x: Any) -> Any:
    result = np.asarray(f(x))
    weights = np.cos(1.0 + np.arange(result.size)).reshape(result.shape)
    return np.sum(np.real(result * (weights * (1 + 0.3j))))


CASES: Final = [
    *[(f, is_complex) for f in FUNCTIONS.values() for is_complex in (False, True)],
    *[(f, False) for f in REAL.values()],
]
NAMES: Final = [*[f"{name} {kind}" for name in FUNCTIONS for kind in ("real", "complex")], *REAL]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("f", "is_complex"), CASES, ids=NAMES)
def test_linear_algebra(f: Callable[[Any], Any], is_complex: bool) -> None:
    captured = source.capture(lambda x: total(f, x))
    for seed in (0, 3):  # a value that is verified once need not be right for others
        rng = np.random.default_rng(seed)
        x, way = (draw(rng, N, N, is_complex=is_complex) for _ in range(2))
        value, slope = tinyjax.jvp(captured, (x,), (way,))
        np.testing.assert_allclose(value, total(f, x), rtol=1e-9, atol=1e-11)
        difference = (total(f, x + 1e-6 * way) - total(f, x - 1e-6 * way)) / 2e-6
        np.testing.assert_allclose(slope, difference, rtol=1e-5, atol=1e-7)
        gradient = tinyjax.grad(captured)
        product = np.sum(np.real(np.asarray(gradient(x)) * way))
        np.testing.assert_allclose(product, difference, rtol=1e-5, atol=1e-7)
        compiled = np.sum(np.real(np.asarray(tinyjax.jit(gradient)(x)) * way))
        np.testing.assert_allclose(compiled, difference, rtol=1e-5, atol=1e-7)
        batch = np.stack([x, x + 1e-3 * way])
        expected = [total(f, row) for row in batch]
        np.testing.assert_allclose(tinyjax.vmap(captured)(batch), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: linalg.solveh_banded(np.stack([x, x]), B),
        lambda x: linalg.solveh_banded(np.stack([x, x, x]), B),
        lambda x: linalg.cholesky_banded(np.stack([x, x, x])),
        lambda x: linalg.cho_factor(np.outer(x, x) - np.eye(N)),
        lambda x: linalg.solve_banded((1, 1), np.stack([0 * x, x - x, 0 * x]), B),
        lambda x: linalg.solve(np.diag(x - x[0]), B, assume_a="lower triangular"),
        lambda x: linalg.solve_toeplitz(x - x, B),
    ],
)
def test_matrices_that_have_no_solution_raise(f: Callable[[Any], Any]) -> None:
    def is_solved(x: Any) -> Any:
        try:
            f(x)
        except linalg.LinAlgError:
            return np.sum(x)
        return 0.0 * np.sum(x)

    x = np.cos(1.0 + np.arange(float(N)))
    captured = source.capture(is_solved)
    assert is_solved(x) == np.sum(x)
    np.testing.assert_array_equal(tinyjax.grad(captured)(x), np.ones(N))
    np.testing.assert_array_equal(tinyjax.jit(tinyjax.grad(captured))(x), np.ones(N))
    with pytest.raises(linalg.LinAlgError):
        tinyjax.jvp(source.capture(f), (x,), (x,))
