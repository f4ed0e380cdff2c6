"""What XLA makes of operations on NaN and infinities is what NumPy makes of them.

XLA rewrites what it compiles, and some of its rewritings hold for numbers only. Those of
comparisons are kept from it. Those in ``KNOWN`` are left to it, as in JAX; so is the product of a
float and a bool, of which it makes a choice.
"""

import random
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax, nn
from tinyjax.dtypes import HostArray

SIGNLESS: Final[dict[str, Callable[[Any], Any]]] = {
    "abs": jnp.abs,
    "exp": jnp.exp,
    "square": lambda x: x * x,
    "even power": lambda x: x**2,
    "power": lambda x: jnp.abs(x) ** 2.5,
    "maximum": lambda x: jnp.maximum(x, 0),
    "sqrt": jnp.sqrt,
    "sum": lambda x: jnp.abs(x) + jnp.exp(x),
    "product": lambda x: jnp.abs(x) * jnp.exp(x),
}
SIGNS: Final = np.array([np.nan, 1.0, -1.0, 0.0, -0.0, np.inf, -np.inf], np.float32)


@pytest.mark.parametrize("name", SIGNLESS)
def test_what_has_no_sign_may_be_no_number(name: str) -> None:
    def compared(x: Any) -> Any:
        value = SIGNLESS[name](x)
        zero = jnp.zeros_like(value)
        return (
            value >= 0,
            value <= 0,
            value >= 0,
            value >= zero,
            zero <= value,
            value < 0,
            value > 0,
        )

    for found, expected in zip(tinyjax.jit(compared)(SIGNS), compared(SIGNS), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert not expected[0]  # of a NaN
    chosen = tinyjax.jit(lambda x: jnp.where(SIGNLESS[name](x) >= 0, 1.0, 2.0))(SIGNS)
    assert chosen[0] == 2


def test_comparisons_of_other_constants_stay_as_they_are() -> None:
    text = tinyjax.jit(lambda x, n: (x >= 0.5, n >= 0)).lower(SIGNS, 3).as_text()
    assert "GE" in text
    assert "stablehlo.or" not in text


UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    name: getattr(jnp, name)
    for name in [
        "abs",
        "negative",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log1p",
        "log2",
        "sqrt",
        "cbrt",
        "sin",
        "cos",
        "tan",
        "tanh",
        "sinh",
        "cosh",
        "arcsin",
        "arccos",
        "arctan",
        "arcsinh",
        "arccosh",
        "arctanh",
        "square",
        "reciprocal",
        "floor",
        "ceil",
        "rint",
        "trunc",
    ]
} | {"rsqrt": lax.rsqrt, "logistic": nn.sigmoid, "relu": nn.relu, "softplus": nn.softplus}
BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    name: getattr(jnp, name)
    for name in [
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "power",
        "hypot",
        "fmax",
        "fmin",
        "logaddexp",
        "arctan2",
    ]
}
COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    name: getattr(jnp, name)
    for name in ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]
}
#: What XLA makes one operation of, which has a number where the two have none; or the reverse.
KNOWN: Final = (("log", "exp"), ("log", "power"), ("power", "exp"), ("log1p", "expm1"))
#: No -0.0: adding 0.0 does not change its sign in XLA.
CONSTANTS: Final = (0.0, 1.0, -1.0, 2.0, 0.5, np.inf, -np.inf, np.nan, 3.0, -2.0)
VALUES: Final = (*CONSTANTS, -0.5, 0.2, -3.25, 7.5, -7.5)


class Expression:
    """A function of two arrays, and its text."""

    def __init__(self, text: str, call: Callable[[Any, Any], Any]) -> None:
        self.text, self.call = text, call


def expression(rng: random.Random, depth: int, outer: str = "") -> Expression:
    kind = rng.random()
    if depth == 0 or kind < 0.1:
        c = rng.choice(CONSTANTS)
        leaves = (
            Expression("x", lambda x, y: x),
            Expression("y", lambda x, y: y),
            Expression(repr(c), lambda x, y: jnp.full_like(x, c)),
        )
        return rng.choice(leaves)
    if kind < 0.5:
        name = drawn(rng, UNARY, outer)
        a = expression(rng, depth - 1, name)
        return Expression(f"{name}({a.text})", lambda x, y: UNARY[name](a.call(x, y)))
    if kind < 0.8:
        name = drawn(rng, BINARY, outer)
        a, b = expression(rng, depth - 1, name), expression(rng, depth - 1, name)
        return Expression(
            f"{name}({a.text}, {b.text})", lambda x, y: BINARY[name](a.call(x, y), b.call(x, y))
        )
    how = rng.choice(list(COMPARISONS))
    left, right = expression(rng, 1), expression(rng, 0)
    a, b = expression(rng, depth - 1), expression(rng, depth - 1)
    return Expression(
        f"where({how}({left.text}, {right.text}), {a.text}, {b.text})",
        lambda x, y: jnp.where(
            COMPARISONS[how](left.call(x, y), right.call(x, y)), a.call(x, y), b.call(x, y)
        ),
    )


def drawn(rng: random.Random, names: dict[str, Any], outer: str) -> str:
    """An operation that is not made one with that around it."""
    name = rng.choice(list(names))
    merged = any(outer.startswith(a) and name.startswith(b) for a, b in KNOWN)
    return drawn(rng, names, outer) if merged else name


def kinds(found: HostArray) -> HostArray:
    """0 for numbers, 1 for infinities, 2 for what is none."""
    return np.asarray(np.isinf(found) + 2 * np.isnan(found))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(40))
def test_expressions_are_nan_where_those_of_numpy_are(seed: int) -> None:
    rng = random.Random(seed)
    drawn_ones = [expression(rng, rng.choice((2, 2, 3))) for _ in range(40)]
    with tinyjax.enable_x64(True):
        pairs = [(a, b) for a in VALUES for b in VALUES]
        x, y = (jnp.array(part) for part in zip(*pairs, strict=True))
        compiled = tinyjax.jit(lambda x, y: [one.call(x, y) for one in drawn_ones])(x, y)
        for one, found in zip(drawn_ones, compiled, strict=True):
            expected = kinds(np.asarray(one.call(x, y)))
            wrong = np.flatnonzero(kinds(np.asarray(found)) != expected)
            assert not wrong.size, f"{one.text} at {[pairs[i] for i in wrong[:3]]}"
