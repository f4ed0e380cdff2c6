"""Expressions of numexpr's, which are text, as NumPy's functions evaluate them under capture."""

from typing import Any

import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.errors import CaptureError
from tinyjax.source.capturing import numexpr

pytestmark = pytest.mark.usefixtures("double_precision")

VALUES: dict[str, Any] = {"b": np.array([0.7, 1.9]), "n": np.array(2), "i": np.arange(2)}


@pytest.mark.parametrize(
    "text",
    [
        "a**2 + sin(b)*n - where(a > b, a, b)/n + 1/3",
        "(a > 1) & ~(b < 1) | (a != b)",
        "arctan2(a, b)*i + exp(-a/2)*sqrt(hypot(a, b))",
        "sum(a*b, axis=0) + i*n",
        " -a ** n * +b",
    ],
)
def test_expressions_are_those_of_numpy(text: str) -> None:
    a, way = np.array([1.3, 2.1]), np.array([0.3, -0.2])

    def f(a: Any) -> Any:
        return np.sum(numexpr.evaluate(text, {"a": a, **VALUES}) * np.cos(a))

    def by_numpy(a: Any) -> Any:
        names = {name: getattr(np, name) for name in numexpr.FUNCTIONS}
        return np.sum(eval(text.strip(), names, {"a": a, **VALUES}) * np.cos(a))

    value, slope = tinyjax.jvp(source.capture(f), (a,), (way,))
    np.testing.assert_allclose(value, by_numpy(a), rtol=1e-12)
    difference = (by_numpy(a + 1e-6 * way) - by_numpy(a - 1e-6 * way)) / 2e-6
    np.testing.assert_allclose(slope, difference, rtol=1e-7)
    np.testing.assert_allclose(tinyjax.jit(source.capture(f))(a), by_numpy(a), rtol=1e-12)


@pytest.mark.parametrize(
    "text", ["n/2*a", "a*n**n", "a % 2", "a*(n/(n + 1))", "contains(a, a)", "a.real", "a < 1 < b"]
)
def test_expressions_of_another_meaning_are_refused(text: str) -> None:
    def f(a: Any) -> Any:
        return np.sum(numexpr.evaluate(text, {"a": a, **VALUES}))

    with pytest.raises(CaptureError, match=r"numexpr\.evaluate"):
        tinyjax.grad(source.capture(f))(np.array([1.3, 2.1]))


def test_single_precision_is_refused() -> None:
    def f(a: Any) -> Any:
        return np.sum(numexpr.evaluate("2.0*a", {"a": a}))

    with pytest.raises(CaptureError, match=r"numexpr\.evaluate"):
        tinyjax.grad(source.capture(f))(np.ones(2, np.float32))
