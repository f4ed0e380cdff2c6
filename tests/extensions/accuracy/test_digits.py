"""``accuracy.digits``: right digits of results, under and over other transformations."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import accuracy, lax
from tinyjax._extensions.accuracy import doubled
from tinyjax._primitives.dot import DotParams
from tinyjax.core.values import operands as opd


def scanned(x: Any) -> Any:
    return lax.scan(lambda c, y: (c + jnp.exp(x * y) - 1, c), 0.0 * x, jnp.arange(1.0, 9))[0]


def repeated(x: Any) -> Any:
    return lax.while_loop(lambda c: c < 3, lambda c: c + x, 0 * x)


def chosen(x: Any) -> Any:
    return lax.cond(x > 0.3, jnp.sin, lambda x: jnp.exp(x) - 1, x)


def custom(x: Any) -> Any:
    return jnp.logaddexp(x, 0.0) - jnp.log(2.0) + tinyjax.nn.relu(x)


FUNCTIONS = (scanned, repeated, chosen, custom)


@pytest.mark.parametrize("fun", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_transformations_in_either_order(fun: Callable[..., Any], dtype: str) -> None:
    xs = np.array([1e-3, 0.1, 0.4], dtype)
    values, right = zip(*[accuracy.digits(fun)(x) for x in xs], strict=True)
    for call in (
        tinyjax.vmap(accuracy.digits(fun)),
        accuracy.digits(tinyjax.vmap(fun)),
        tinyjax.jit(tinyjax.vmap(accuracy.digits(fun))),
    ):
        again, digits = call(xs)
        np.testing.assert_allclose(again, values, rtol=1e-4)
        # compiled programs round otherwise
        np.testing.assert_allclose(digits, right, atol=1.2)
    jitted, digits = tinyjax.jit(accuracy.digits(fun))(xs[1])
    assert jitted.dtype == dtype
    assert digits.dtype == np.float32
    slope, aux = tinyjax.grad(accuracy.digits(fun), has_aux=True)(xs[1])
    np.testing.assert_allclose(slope, tinyjax.grad(fun)(xs[1]), rtol=1e-6)
    np.testing.assert_allclose(aux, right[1], atol=1.2)
    slope, digits = accuracy.digits(tinyjax.grad(fun))(xs[1])
    np.testing.assert_allclose(slope, tinyjax.grad(fun)(xs[1]), rtol=1e-6)
    assert 3 < float(digits) <= 16


def test_digits_are_those_by_exact_numbers() -> None:
    def polynomial(x: Any) -> Any:
        return ((x - 3) * x + 3) * x - 1

    for dtype in (np.float32, np.float64, jnp.float16, jnp.bfloat16):
        x = np.asarray(1.03125 + 2**-6).astype(dtype)
        value, digits = accuracy.digits(polynomial)(x)
        exact = (Fraction(float(x)) - 1) ** 3
        error = abs(Fraction(float(value)) - exact) / exact
        most = float(accuracy.digits(lambda x: x)(x)[1])
        expected = most if not error else min(max(-np.log10(float(error)), 0), most)
        assert float(digits) == pytest.approx(expected, abs=1e-3)


def test_types_without_digits() -> None:
    (n, flag), digits = accuracy.digits(lambda x: (jnp.argmax(x), x[0] + 1 > 1))(
        jnp.array([1e-9, 2.0])
    )
    assert (int(n), bool(flag)) == (1, False)
    assert [float(x) for x in digits] == [np.inf, 0.0]


def test_linear_algebra_and_random_numbers() -> None:
    a = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    digits = accuracy.digits(jnp.linalg.solve)(a, a[0])[1]
    assert 4 < float(digits.min()) < 7.3
    digits = accuracy.digits(lambda key: tinyjax.random.normal(key, (5,)))(tinyjax.random.key(0))[1]
    assert float(digits.min()) > 5
    digits = accuracy.digits(lambda x: jnp.abs(jnp.fft.fft(x)))(a[0])[1]
    assert float(digits.min()) > 5


def exactly(pair: Any, index: Any = ()) -> Fraction:
    return sum((Fraction(float(x[index])) for x in pair), Fraction(0))


@pytest.mark.parametrize("seed", range(5))
def test_double_double_arithmetic_has_32_digits(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> Any:
        high = rng.standard_normal(shape) * 10.0 ** rng.integers(-9, 9, shape)
        return tuple(map(opd.as_array, (high, high * rng.uniform(-1, 1, shape) * 2.0**-54)))

    def check(pair: Any, right: Fraction, bound: float = 1e-30) -> None:
        assert abs(exactly(pair) - right) <= bound * abs(right)

    x, y = drawn(), drawn()
    a, b = exactly(x), exactly(y)
    check(doubled.add(x, y), a + b)
    check(doubled.mul(x, y), a * b)
    check(doubled.div(x, y), a / b)
    check(doubled.power(x, 7), a**7)
    check(doubled.power(x, -2), a**-2)
    root = doubled.sqrt(doubled.mul(x, x))
    check(doubled.mul(root, root), a * a)
    z = tuple([p / (10 * abs(x[0])) for p in x])
    check(doubled.logarithm(doubled.exp(z)), exactly(z), 1e-29)
    v = drawn(17)
    total = sum((exactly(v, i) for i in range(17)), Fraction(0))
    check(doubled.sums(v, (0,)), total, 1e-28)
    m, n = drawn(3, 5), drawn(5, 2)
    product = doubled.product(m, n, DotParams((1,), (0,), (), (), np.dtype(np.float64)))
    for i in range(3):
        for j in range(2):
            terms = [exactly(m, (i, k)) * exactly(n, (k, j)) for k in range(5)]
            size = max(abs(exactly(m, (i, k))) for k in range(5)) * max(
                abs(exactly(n, (k, j))) for k in range(5)
            )
            assert abs(exactly(product, (i, j)) - sum(terms)) <= 1e-30 * size


def test_double_double_at_the_edges() -> None:
    numbers = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 5e-324, 1.0]
    for fun in (jnp.exp, jnp.log, jnp.sqrt, abs, lambda x: x * x, lambda x: 1 / x, jnp.sum):
        for x in numbers:
            value, digits = accuracy.digits(fun)(np.float64(x))
            np.testing.assert_equal(np.asarray(value), np.asarray(fun(jnp.float64(x))))
            assert float(digits) > 15 or x == 5e-324
