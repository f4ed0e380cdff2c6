"""Functions that take functions, deletion under jit, and sets, against jax."""

import itertools
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest

import tinyjax as tj
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import ArgumentError, ConcretizationError, ShapeError

X: Final = np.sin(np.arange(24.0, dtype=np.float32)).reshape(2, 3, 4)

CASES: Final[dict[str, Any]] = {
    "along": lambda np, x: np.apply_along_axis(lambda v: v[::-1] * 2, 1, x),
    "along, a scalar": lambda np, x: np.apply_along_axis(np.sum, 0, x),
    "along, a matrix": lambda np, x: np.apply_along_axis(lambda v, w: np.outer(v, v) + w, 1, x, 1),
    "over": lambda np, x: np.apply_over_axes(np.sum, x, [0, -1]),
    "over, axes taken away": lambda np, x: np.apply_over_axes(
        lambda a, axis: np.max(a, axis, keepdims=False), x, [0, 1]
    ),
    "piecewise": lambda np, x: np.piecewise(x, [x < -0.5, x > 0.5], [np.exp, lambda v: v * v, 7]),
    "piecewise, several hold": lambda np, x: np.piecewise(x, [x > -1, x > 0.5, x > 0], [1, 2, 3]),
    "piecewise, else 0": lambda np, x: np.piecewise(x, [x < 0], [lambda v, a: v * a], 3.0),
    "fromfunction": lambda np, x: x[0] * np.fromfunction(lambda i, j: i + 2 * j, (3, 4)),
    "fromfunction, one axis": lambda np, x: x[0, 0] * np.fromfunction(lambda i: i, 4, dtype=int),
    "delete, distinct": lambda np, x: np.delete(
        x, np.array([0, -1]), axis=2, assume_unique_indices=True
    ),
    "delete, one": lambda np, x: np.delete(
        x, (x[0, 0, 0] > 9).astype("int32"), axis=2, assume_unique_indices=True
    ),
    "insert": lambda np, x: np.insert(x, np.array([0, 2, 2]), 7.0, axis=1),
    "insert, a vector": lambda np, x: np.insert(x, 1, np.arange(4.0), axis=1),
    "unique": lambda np, x: np.unique(x, size=5),
    "isin": lambda np, x: x * np.isin(x, x[0, :2]),
    "intersect1d": lambda np, x: np.intersect1d(x, x[1], return_indices=True, size=14)[1],
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_jax_eagerly_and_compiled(name: str) -> None:
    wanted = CASES[name](jax_numpy, jax_numpy.asarray(X))
    mapped = jax.vmap(lambda x: CASES[name](jax_numpy, x))(np.stack([X, 2 * X]))
    for got, like in (
        (CASES[name](jnp, jnp.asarray(X)), wanted),
        (tj.jit(lambda x: CASES[name](jnp, x))(X), wanted),
        (tj.vmap(lambda x: CASES[name](jnp, x))(np.stack([X, 2 * X])), mapped),
    ):
        assert got.dtype == like.dtype
        assert got.shape == like.shape
        np.testing.assert_allclose(np.asarray(got), like, rtol=1e-6)


@pytest.mark.parametrize("name", ["along", "over", "piecewise", "delete, distinct", "insert"])
def test_derivatives_are_those_of_jax(name: str) -> None:
    got = tj.grad(lambda x: (CASES[name](jnp, x) ** 2).sum())(X)
    wanted = jax.grad(lambda x: (CASES[name](jax_numpy, x) ** 2).sum())(X)
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5)


def test_derivative_of_distinct_elements() -> None:
    x = jnp.array([3.0, 1.0, 3.0, 2.0])
    assert tj.grad(lambda x: jnp.unique(x) @ jnp.arange(3.0))(x).tolist() == [2, 0, 0, 1]


def test_membership_in_large_sets_is_that_of_numpy() -> None:
    rng = np.random.default_rng(0)
    x, among = rng.integers(0, 300, 200), rng.integers(0, 300, 100)
    np.testing.assert_array_equal(np.asarray(jnp.isin(x, among)), np.isin(x, among))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: jnp.place(jnp.ones(2), jnp.ones(2, bool), 3.0), ArgumentError),
        (lambda: jnp.put(jnp.ones(2), 0, 3.0), ArgumentError),
        (lambda: jnp.fill_diagonal(jnp.ones(2), 3.0, inplace=False), ShapeError),
        (lambda: jnp.piecewise(jnp.ones(2), [True], [1, 2, 3]), ArgumentError),
        (lambda: jnp.apply_over_axes(lambda a, i: a[None, None], jnp.ones(2), 0), ShapeError),
        (lambda: tj.jit(jnp.unique)(jnp.ones(2)), ConcretizationError),
        (lambda: tj.jit(jnp.delete)(jnp.ones(2), jnp.array([0])), ConcretizationError),
    ],
)
def test_mistakes_are_named(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 0), 0), ((0, 3), 1), ((2, 0, 3), 0), ((0, 3), 0), ((0, 0), 1)]
)
def test_unique_slices_without_elements(shape: tuple[int, ...], axis: int) -> None:
    """All are equal, so that one is left."""

    def distinct(m: Any, x: Any, **size: int) -> Any:
        return m.unique(
            x, return_index=True, return_inverse=True, return_counts=True, axis=axis, **size
        )

    expected = distinct(np, np.zeros(shape, np.float32))
    compiled = tj.jit(lambda x: distinct(jnp, x, size=len(expected[1])))(jnp.zeros(shape))
    for results in (distinct(jnp, jnp.zeros(shape)), compiled):
        for x, y in zip(results, expected, strict=True):
            np.testing.assert_array_equal(x, y)
            assert x.shape == y.shape


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize(
    ("name", "operands"),
    [("unique", 1), ("union1d", 2), ("setdiff1d", 2), ("setxor1d", 2), ("intersect1d", 2)],
)
def test_without_a_size_the_error_names_the_function(name: str, operands: int) -> None:
    called = "unique" if name == "union1d" else name
    with raises(ConcretizationError, match=rf"jnp\.{called} returns \(or give size="):
        tj.jit(getattr(jnp, name))(*[jnp.ones(2)] * operands)


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_put_out_of_bounds(mode: Any) -> None:
    x, places = np.arange(6.0).reshape(2, 3), np.array([-8, -2, 3, 7])
    expected = x.copy()
    np.put(expected, places, [10.0, 20.0], mode=mode)
    found = jnp.put(jnp.asarray(x), places, np.array([10.0, 20.0]), mode=mode, inplace=False)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("compiled", [False, True])
def test_complex_numbers_with_a_part_that_is_nan_are_one(compiled: bool) -> None:
    """As by NumPy and jax: one NaN, which stands at the end, and counts all of them."""
    nan = np.nan
    parts = [1, 2, 1j, complex(nan, 1), complex(1, nan), complex(nan, nan), complex(0, nan), -nan]
    for x in itertools.combinations(parts, 3):
        both = np.array([*x, *x[::-1], 1])
        expected = np.unique(both, return_inverse=True, return_counts=True)
        size = expected[0].size if compiled else None
        fun = partial(jnp.unique, return_inverse=True, return_counts=True, size=size)
        for got, value in zip((tj.jit(fun) if compiled else fun)(both), expected, strict=True):
            np.testing.assert_array_equal(got, value)
