"""Products with the Q of reflections, and tridiagonal systems, against NumPy and jax."""

from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax
from tinyjax.errors import ShapeError

pytestmark = pytest.mark.usefixtures("each_tier")

DTYPES = [np.float32, np.float64, np.complex128]


def sample(*shape: int, dtype: Any = np.float64) -> Any:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(2, *shape))
    return (x[0] + 1j * x[1]).astype(dtype) if dtype == np.complex128 else x[0].astype(dtype)


@pytest.mark.parametrize("from_left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (3, 5), (2, 5, 3)])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_ormqr_multiplies_by_q(from_left: bool, transpose: bool, shape: Any, dtype: Any) -> None:
    x = sample(*shape, dtype=dtype)
    *batch, m, _ = shape
    c = sample(*batch, *((m, 2) if from_left else (2, m)), dtype=dtype)
    packed, taus = jnp.linalg.qr(x, mode="raw")
    got = tinyjax.jit(lax.linalg.ormqr, static_argnames=("left", "transpose"))(
        packed.mT, taus, c, left=from_left, transpose=transpose
    )
    q = np.linalg.qr(x, "complete")[0]
    q = np.conj(np.swapaxes(q, -1, -2)) if transpose else q
    tolerance = 2e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(got, q @ c if from_left else c @ q, rtol=tolerance, atol=tolerance)


def test_reflections_that_are_none() -> None:
    packed, taus = jnp.linalg.qr(jnp.eye(3), mode="raw")
    np.testing.assert_array_equal(lax.linalg.ormqr(packed.mT, taus, jnp.eye(3)), np.eye(3))


def test_ormqr_needs_as_many_rows() -> None:
    packed, taus = jnp.linalg.qr(jnp.eye(3), mode="raw")
    with raises(ShapeError, match="ormqr: Q is 3 by 3"):
        lax.linalg.ormqr(packed.mT, taus, jnp.eye(2))


@pytest.mark.parametrize("batch", [(), (2,)])
def test_tridiagonal_systems(batch: tuple[int, ...]) -> None:
    lower, upper = sample(*batch, 6), sample(*batch, 6)[..., ::-1]
    main, b = sample(*batch, 6) + 6, sample(*batch, 6, 2)
    with jax.enable_x64(True):
        wanted = np.vectorize(
            jax.lax.linalg.tridiagonal_solve, signature="(n),(n),(n),(n,m)->(n,m)"
        )
        expected = wanted(
            np.where(np.arange(6) == 0, 0, lower), main, np.where(np.arange(6) == 5, 0, upper), b
        )
    for call in (lax.linalg.tridiagonal_solve, tinyjax.jit(lax.linalg.tridiagonal_solve)):
        np.testing.assert_allclose(call(lower, main, upper, b), expected, rtol=1e-10)


@pytest.mark.parametrize("n", [2, 7])
def test_tridiagonal_systems_with_small_pivots_moved(n: int) -> None:
    """Those of regular matrices are the same; a nearly singular one gives its eigenvector."""
    first, last = np.arange(n) == 0, np.arange(n) == n - 1
    lower, upper = np.where(first, 0, sample(2, n)), np.where(last, 0, sample(2, n)[::-1])
    main, b = sample(2, n)[:, ::-1], sample(2, n, 3)

    def solve(lib: Any, *args: Any) -> Any:
        return lib.lax.linalg.tridiagonal_solve(*args, perturb_singular=True)

    def total(lib: Any) -> Any:
        return lambda *args: (solve(lib, *args) ** 2).sum()

    zero = np.zeros(n)
    with jax.enable_x64(True):
        operands = (lower, main, upper, b)
        np.testing.assert_allclose(
            solve(tinyjax, *operands), solve(jax, *operands), rtol=1e-8, atol=1e-10
        )
        derivatives = tinyjax.jit(tinyjax.grad(total(tinyjax), argnums=(0, 1, 2, 3)))(*operands)
        expected = jax.grad(total(jax), argnums=(0, 1, 2, 3))(*operands)
        for got, wanted in zip(derivatives, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)
        nothing = solve(tinyjax, zero, zero, zero, np.ones((n, 1)))
        np.testing.assert_allclose(nothing, solve(jax, zero, zero, zero, np.ones((n, 1))))
    matrix = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    values, vectors = np.linalg.eigh(matrix)
    off = np.full(n, -1.0)
    x = np.asarray(solve(tinyjax, off, 2 - values[0] + zero, off, np.ones((n, 1))))[:, 0]
    assert np.linalg.norm(x) > 1e12
    np.testing.assert_allclose(np.abs(x / np.linalg.norm(x)), np.abs(vectors[:, 0]), atol=1e-12)


def test_tridiagonal_shapes_are_checked() -> None:
    with raises(ShapeError, match="three diagonals that have the same shape"):
        lax.linalg.tridiagonal_solve(jnp.ones(3), jnp.ones(3), jnp.ones(2), jnp.ones((3, 1)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_polar_factors_by_iteration(dtype: Any) -> None:
    deficient = np.diag([1.0, 0.0]).astype(dtype)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    for x in (sample(7, 3, dtype=dtype), sample(4, 4, dtype=dtype), deficient):
        for qdwh in (lax.linalg.qdwh, tinyjax.jit(lax.linalg.qdwh)):
            u, h, steps, converged = qdwh(x)
            with jax.enable_x64(True):
                u_, h_, steps_, converged_ = jax.lax.linalg.qdwh(jax.numpy.asarray(x))
            np.testing.assert_allclose(u, u_, atol=tolerance)
            np.testing.assert_allclose(h, h_, atol=tolerance)
            assert abs(int(steps) - int(steps_)) <= 2 * (x is deficient)
            assert (u.dtype, bool(converged)) == (dtype, bool(converged_))
    _, _, steps, converged = lax.linalg.qdwh(sample(4, 4, dtype=dtype), max_iterations=1)
    assert (int(steps), bool(converged)) == (1, False)
    part = lax.linalg.qdwh(sample(4, 4, dtype=dtype), dynamic_shape=(3, 2))
    np.testing.assert_allclose(
        part[0][:3, :2], lax.linalg.qdwh(sample(4, 4, dtype=dtype)[:3, :2])[0], atol=tolerance
    )
    with raises(ShapeError, match="as many rows as columns"):
        lax.linalg.qdwh(sample(2, 3, dtype=dtype))
