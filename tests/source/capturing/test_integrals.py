"""Integrals of functions that decide: by their argument alone, or by values that are traced."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from scipy.integrate import quad

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError


def pieces(x: float, t: Any) -> Any:
    return np.sin(t * x) if x < 0.4 else t * x**2


def quotient(x: float, t: Any) -> Any:
    return 1.0 / (x + float(t)) if x < 0.4 else float(t) / x


CERTAIN: Final[dict[str, Callable[..., Any]]] = {
    "two pieces": lambda t: quad(pieces, 0.0, 1.0, args=(t,))[0],
    "a jump": lambda t: quad(lambda x: t if x < 0.3 else 2 * t**2, 0, 1)[0],
    "backwards": lambda t: quad(pieces, 1.0, -0.5, args=(t,), epsabs=1e-10)[0],
    "a quotient": lambda t: quad(quotient, 0, 1, args=(t,))[0],
    **{
        f"between {a} and {b} of an array": lambda t, a=a, b=b: quad(
            lambda x: np.exp(-t * x**2), *np.stack([a + 0 * t, t if b == 1 else b + 0 * t])
        )[0]
        for a, b in [(-np.inf, 1), (np.inf, 1), (1, np.inf), (1, -np.inf), (0, 1)]
    },
    "an error": lambda t: t + 1e-3 * quad(pieces, 0.0, 0.3, args=(t,))[1],
}
#: Where the function jumps or bends would move, or the formula is another.
UNCERTAIN: Final[dict[str, Callable[[Any], Any]]] = {
    "a jump that moves": lambda t: quad(lambda x: 1.0 if x < t else 0.0, 0, 1)[0],
    "a bend that moves": lambda t: quad(lambda x: x * t if x < t else t**2, 0, 1)[0],
    "a limit that moves": lambda t: quad(pieces, 0.0, t, args=(2.0,))[0],
    "a condition on the parameter": lambda t: quad(lambda x: x if x < 0.4 and t > 0 else t, 0, 1)[
        0
    ],
    "no limit": lambda t: quad(lambda x: np.exp(-t * x) if x > 0.3 else t, 0, np.inf)[0],
    "points": lambda t: quad(pieces, 0.0, 1.0, args=(t,), points=[0.4])[0],
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CERTAIN)
def test_functions_may_decide_by_their_argument(name: str) -> None:
    fun = CERTAIN[name]
    t = np.float64(0.7)
    slope = (fun(t + 1e-4) - fun(t - 1e-4)) / 2e-4
    captured = source.capture(fun)
    for derivative in (tinyjax.grad(captured), tinyjax.jit(tinyjax.grad(captured))):
        np.testing.assert_allclose(derivative(t), slope, 1e-6)
        np.testing.assert_allclose(derivative(t), slope, 1e-6)
    values = tinyjax.vmap(captured)(np.array([0.5, 0.7]))
    np.testing.assert_allclose(values, [fun(0.5), fun(0.7)], 1e-8)


@pytest.mark.parametrize("name", UNCERTAIN)
def test_functions_that_decide_otherwise_are_refused(name: str) -> None:
    captured = source.capture(UNCERTAIN[name])
    for derivative in (tinyjax.grad(captured), tinyjax.jit(tinyjax.grad(captured))):
        with pytest.raises(TinyjaxError):
            derivative(np.float64(0.7))
