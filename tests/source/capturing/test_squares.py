"""Roots of sums of squares that are zero have a derivative of zero; other roots do not."""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from tinyjax import source


def hypotenuse(x: float, y: float) -> float:
    return math.sqrt(x * x + y * y)


#: Each is zero at (1, 2), and smooth at (1.5, 2.25).
NORMS: Final[dict[str, Callable[[Any], Any]]] = {
    "np.linalg.norm": np.linalg.norm,
    "np.sum": lambda d: np.sqrt(np.sum(d**2)),
    "np.square": lambda d: np.sqrt(np.square(d).sum()),
    "np.mean": lambda d: np.sqrt(3.0 * np.mean(d * d)),
    "np.dot": lambda d: np.sqrt(np.dot(d, d)),
    "np.dot of lists": lambda d: np.linalg.norm(d) + 0.0 * np.dot([d[0], 1.0], [d[0], d[1]]),
    "a power": lambda d: (np.real(d @ d.conjugate()) / d.size) ** 0.5,
    "of numbers": lambda d: np.sqrt(d[0] ** 2 + d[1] ** 2),
    "math.sqrt": lambda d: hypotenuse(float(d[0]), float(d[1])),
    "sum": lambda d: math.sqrt(sum([d[0] ** 2, 4 * d[1] ** 2])),
    "of Python's numbers": lambda d: (float(d[0]) ** 2 + float(d[1]) ** 2) ** 0.5,
    "of rows": lambda d: np.sum(np.sqrt(np.sum((d[:, None] - d) ** 2, axis=-1))),
}
#: Each is zero at (1, 2), and its slope is infinite or not a number.
OTHERS: Final[dict[str, Callable[[Any], Any]]] = {
    "no square": lambda d: np.sqrt(d[0]),
    "a difference of squares": lambda d: np.sqrt((d[0] + 1) ** 2 - (d[1] + 1) ** 2),
    "a sum with a negative multiple": lambda d: np.sqrt((d[0] + 1) ** 2 + -1.0 * (d[1] + 1) ** 2),
    "a multiple that varies": lambda d: np.sqrt(d[0] * (d[1] + 1) ** 2),
    "a product of matrices": lambda d: np.sqrt(squared(np.array([[1.0, 1.0], [0.0, d[0] - 1]]))),
    "another root": lambda d: (d[0] ** 2) ** 0.25,
}
ZERO: Final = np.array([1.0, 2.0])
OTHER: Final = np.array([1.5, 2.25])


def squared(matrix: Any) -> Any:
    return (matrix @ matrix)[0, 1]


@pytest.mark.parametrize("name", NORMS)
def test_norms_of_zero_have_no_slope(name: str) -> None:
    def total(x: Any) -> Any:
        return NORMS[name](x - ZERO) + np.sum(x)

    slopes = [(total(OTHER + step) - total(OTHER - step)) / 2e-6 for step in 1e-6 * np.eye(2)]
    gradient = tinyjax.grad(source.capture(total))
    for derivative in (gradient, tinyjax.jit(gradient)):
        for x, expected in ((ZERO, [1.0, 1.0]), (OTHER, slopes), (ZERO, [1.0, 1.0])):
            np.testing.assert_allclose(derivative(x), expected, 1e-6)
    both = tinyjax.vmap(gradient)(np.stack([ZERO, OTHER]))
    np.testing.assert_allclose(both, [[1.0, 1.0], slopes], 1e-6)


@pytest.mark.parametrize("name", OTHERS)
def test_other_roots_keep_their_slopes(name: str) -> None:
    gradient = tinyjax.grad(source.capture(lambda x: OTHERS[name](x - ZERO)))
    for derivative in (gradient, tinyjax.jit(gradient)):
        assert not np.isfinite(np.asarray(derivative(ZERO))).all()


def test_second_derivatives_are_not_known() -> None:
    captured = source.capture(lambda x: np.sqrt(np.sum((x**2) ** 2)))  # which is the sum of squares
    for x in (np.zeros(1), np.ones(1)):
        np.testing.assert_allclose(tinyjax.grad(captured)(x), 2 * x)
    np.testing.assert_allclose(tinyjax.hessian(captured)(np.ones(1)), [[2.0]])
    assert np.isnan(tinyjax.hessian(captured)(np.zeros(1))).all()
