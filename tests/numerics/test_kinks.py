"""Kinks inside of smooth functions: their derivatives are those of the smooth function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.numpy import linalg

Function = Callable[..., Any]
ROOT3 = 3**0.5


def both(x: Array) -> Array:
    return jnp.stack([x, -x])


def three(x: Array) -> Array:
    return jnp.stack([x, 2 * x, -2 * x])


def matern(r: Array) -> Array:
    """The Matérn kernel of order 3/2, which has a second derivative at 0, but no third one."""
    return (1 + ROOT3 * r) * jnp.exp(-ROOT3 * r)


#: Functions of one number, and their first, second and third derivatives at 0; where there is none
#: because the function has a kink, the mean of those on both sides, or None.
SMOOTH: dict[str, tuple[Function, tuple[float, float, float | None]]] = {
    "abs(x)**2": (lambda x: jnp.abs(x) ** 2, (0, 2, 0)),
    "abs(x)**2.0": (lambda x: jnp.power(jnp.abs(x), 2.0), (0, 2, 0)),
    "abs(x)**4": (lambda x: jnp.abs(x) ** 4, (0, 0, 0)),
    "abs * abs": (lambda x: jnp.abs(x) * jnp.abs(3 * x), (0, 6, 0)),
    "fabs": (lambda x: jnp.fabs(x) ** 2, (0, 2, 0)),
    "operator": (lambda x: abs(x) * abs(x), (0, 2, 0)),
    "NumPy's": (lambda x: np.abs(x) ** 2, (0, 2, 0)),
    "cos": (lambda x: jnp.cos(jnp.abs(x)), (0, -1, 0)),
    "exp": (lambda x: jnp.exp(-(jnp.abs(x) ** 2)), (0, -2, 0)),
    "sqrt": (lambda x: jnp.sqrt(1 + jnp.abs(x) ** 2), (0, 1, 0)),
    "sinc": (lambda x: jnp.sinc(jnp.abs(x)), (0, -(np.pi**2) / 3, 0)),
    "Matern": (lambda x: matern(jnp.abs(x)), (0, -3, None)),
    "complex abs": (lambda x: jnp.abs(x + 2j * x) ** 2, (0, 10, 0)),
    "cos of complex abs": (lambda x: jnp.cos(jnp.abs(x + 2j * x)), (0, -5, 0)),
    "hypot": (lambda x: jnp.hypot(x, 3 * x) ** 2, (0, 20, 0)),
    "cosh of hypot": (lambda x: jnp.cosh(jnp.hypot(x, x)), (0, 2, 0)),
    "norm": (lambda x: linalg.norm(three(x)) ** 2, (0, 18, 0)),
    "exp of norm": (lambda x: jnp.exp(-(linalg.norm(three(x)) ** 2)), (0, -18, 0)),
    "norm, axis": (lambda x: jnp.prod(linalg.norm(both(three(x)), axis=0)), (0, 0, None)),
    "norm**4": (lambda x: linalg.norm(three(x)) ** 4, (0, 0, 0)),
    "norm of complex": (lambda x: linalg.norm(three(x) * (1 + 1j)) ** 2, (0, 36, 0)),
    "vector_norm": (lambda x: linalg.vector_norm(three(x)) ** 2, (0, 18, 0)),
    "1-norm": (lambda x: linalg.norm(jnp.stack([x, 2 * x]), 1) ** 2, (0, 18, 0)),
    "maximum norm": (lambda x: linalg.norm(jnp.stack([x, x]), np.inf) ** 2, (0, 2, 0)),
    "3-norm": (lambda x: linalg.norm(both(x), 3) ** 2, (0, 2 * 2 ** (2 / 3), 0)),
    "Frobenius": (lambda x: linalg.norm(x * jnp.array([[1, 2], [3, 4]])) ** 2, (0, 60, 0)),
    "std": (lambda x: jnp.std(both(x)) ** 2, (0, 2, 0)),
    "cos of std": (lambda x: jnp.cos(jnp.std(both(x), ddof=1)), (0, -2, 0)),
    "nanstd": (lambda x: jnp.nanstd(both(x)) ** 2, (0, 2, 0)),
    "maximum": (lambda x: jnp.maximum(x, -x) ** 2, (0, 2, 0)),
    "minimum": (lambda x: jnp.cos(jnp.minimum(x, -x)), (0, -1, 0)),
    "product of extrema": (lambda x: jnp.maximum(x, 2 * x) * jnp.minimum(x, 2 * x), (0, 4, 0)),
    "clip": (lambda x: jnp.clip(x, 0) ** 2 + jnp.clip(x, None, 0) ** 2, (0, 2, 0)),
    "sort": (lambda x: jnp.sum(jnp.sort(both(x)) ** 2), (0, 4, 0)),
    "where": (lambda x: jnp.where(x > 0, x, -x) ** 2, (0, 2, 0)),
    "a kink": (jnp.abs, (0, 0, 0)),
    "a kink of norm": (lambda x: jnp.abs(x) + jnp.abs(x) ** 2, (0, 2, 0)),
}


def all_values(x: Any) -> Array:
    return jnp.stack([f(x).real for f, _ in SMOOTH.values()])


def forward(f: Function) -> Function:
    return lambda x: tinyjax.jvp(f, (x,), (np.ones_like(x),))[1]


def check(derivative: Function, order: int, dtype: Any) -> None:
    slopes = np.asarray(derivative(dtype(0)), float)
    for (name, (_, right)), slope in zip(SMOOTH.items(), slopes, strict=True):
        expected = right[order - 1]
        if expected is not None:
            tolerance = 1e-5 if dtype == np.float32 else 1e-12
            np.testing.assert_allclose(slope, expected, tolerance, tolerance, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "towers",
    [(forward,) * 3, (tinyjax.jacrev,) * 3, (tinyjax.jacrev, forward, tinyjax.jacrev)],
    ids=["forward", "reverse", "mixed"],
)
def test_derivatives_to_third_order(towers: tuple[Function, ...], dtype: Any) -> None:
    f: Function = all_values
    for order, derivative in enumerate(towers, 1):
        f = derivative(f)
        check(f, order, dtype)


@pytest.mark.parametrize("tier", ["host", "compiled"])
def test_the_derivative_of_a_compiled_derivative(tier: Literal["host", "compiled"]) -> None:
    first = tinyjax.jit(tinyjax.jacfwd(all_values), tier=tier)
    check(first, 1, np.float64)
    check(tinyjax.jit(tinyjax.jacrev(first), tier=tier), 2, np.float64)
    second = tinyjax.vmap(tinyjax.jacfwd(first))
    check(lambda x: second(jnp.stack([x, x + 1]))[0], 2, np.float64)


def test_hessians_of_functions_of_norms() -> None:
    zeros, other = np.zeros(3), np.array([0.0, 0.0, 2.0])
    for f, right in [
        (lambda x: linalg.norm(x) ** 2, 2 * np.eye(3)),
        (lambda x: jnp.exp(-(linalg.norm(x) ** 2)), -2 * np.eye(3)),
        (lambda x: jnp.cos(linalg.norm(x)), -np.eye(3)),
        (lambda x: jnp.std(x) ** 2, 2 / 3 * (np.eye(3) - 1 / 3)),
        (lambda x: jnp.hypot(x[0], x[1]) ** 2 + jnp.abs(x[2]) ** 2, 2 * np.eye(3)),
        (lambda x: jnp.sum(jnp.abs(x) ** 2), 2 * np.eye(3)),
    ]:
        for hessian in (tinyjax.hessian(f), tinyjax.jacrev(tinyjax.jacrev(f))):
            np.testing.assert_allclose(hessian(zeros), right, atol=1e-12)
    # where only some coordinates are at a kink
    np.testing.assert_allclose(
        tinyjax.hessian(lambda x: jnp.sum(jnp.abs(x)) ** 2)(other), np.full((3, 3), 2.0)
    )


def test_values_and_slopes_at_kinks_are_those_of_numpy_and_the_mean() -> None:
    zeros = np.zeros(3)
    for f in (linalg.norm, jnp.std, lambda x: jnp.hypot(x[0], x[1]), lambda x: jnp.sum(jnp.abs(x))):
        for transform in (lambda f: f, tinyjax.jit):
            value, slope = transform(tinyjax.value_and_grad(f))(zeros)
            assert value == 0
            np.testing.assert_array_equal(slope, zeros)
    x, y = np.float64(1), np.float64(1)
    assert tinyjax.grad(jnp.maximum, argnums=(0, 1))(x, y) == (0.5, 0.5)


def test_slopes_of_numbers_whose_squares_leave_the_range() -> None:
    small, large, two = np.float64(1e-200), np.float64(1e200), np.float64(2)
    table: list[tuple[Function, tuple[Any, ...], float]] = [
        (jnp.arcsinh, (large,), 1e-200),
        (jnp.arcsinh, (-small,), 1.0),
        (jnp.arcsinh, (np.float64(np.inf),), 0.0),
        (jnp.arctan2, (large, large), 0.5e-200),
        (lambda x, y: jnp.arctan2(y, x), (small, small), -0.5e200),
        (lambda x, y: jnp.angle(tinyjax.lax.complex(x, y)), (large, large), -0.5e-200),
        (jnp.hypot, (small, small), 2**-0.5),
        (jnp.hypot, (large, large), 2**-0.5),
        (tinyjax.grad(jnp.arcsinh), (two,), -2 / 5**1.5),
        (tinyjax.grad(jnp.arctan2), (two / 2, two), -4 / 25),
        (tinyjax.grad(jnp.arctan2, 1), (two, two), 0.0),
    ]
    for f, operands, right in table:
        for transform in (lambda f: f, lambda f: tinyjax.jit(f, tier="compiled")):
            slope = transform(tinyjax.grad(f))(*operands)
            np.testing.assert_allclose(slope, right, 1e-13, 1e-300)
