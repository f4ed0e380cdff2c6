"""XLA's results for NaN, infinities and integers that wrap around are NumPy's.

XLA rewrites what it compiles, and some of its rewritings hold for numbers only. Those of
comparisons are kept from it. Those in ``KNOWN`` are left to it, as in JAX; so is the product of a
float and a bool, of which it makes a choice.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax, nn
from tinyjax.dtypes import DType, HostArray

pytestmark = pytest.mark.usefixtures("compiled")

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


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_integers_that_wrap_around_have_a_sign(dtype: type[np.signedinteger[Any]]) -> None:
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    root = int(np.sqrt(most)) + 1  # whose square is beyond the most
    values = np.array([least, most, root, -root, -1, 0, 7], dtype)

    def signs(x: Any) -> list[Any]:
        found = [x * x, jnp.abs(x), x**2, x**3, jnp.square(x), jnp.abs(x) * jnp.abs(x)]
        found += [lax.rem(y, jnp.full_like(x, 4)) for y in found]
        return [(y < 0, y >= 0, y <= 0, y > 0, jnp.maximum(y, 0), jnp.abs(y)) for y in found]

    with np.errstate(all="ignore"), tinyjax.enable_x64(True):
        for found, expected in zip(tinyjax.jit(signs)(values), signs(values), strict=True):
            np.testing.assert_array_equal(found, expected)
        square = values * values
        assert (square < 0).any()
        np.testing.assert_array_equal(tinyjax.jit(lambda x: x * x < 0)(values), square < 0)


def test_comparisons_of_other_constants_stay_as_they_are() -> None:
    text = tinyjax.jit(lambda x, n: (x >= 0.5, n >= 0)).lower(SIGNS, 3).as_text()
    assert "GE" in text
    assert "stablehlo.or" not in text


Operations = dict[str, Callable[..., Any]]


def of_numpy(names: str) -> Operations:
    return {name: getattr(jnp, name) for name in names.split()}


COMPARISONS: Final = of_numpy("less less_equal greater greater_equal equal not_equal")


@attrs.frozen
class Words:
    """The parts of a dtype's expressions: operations of one and of two operands, numbers."""

    unary: Operations
    binary: Operations
    constants: Sequence[float]


#: What XLA makes one operation of, which has a number where the two have none; or the reverse.
KNOWN: Final = (("log", "exp"), ("log", "power"), ("power", "exp"), ("log1p", "expm1"))
#: No -0.0: adding 0.0 does not change its sign in XLA.
FLOATS: Final = Words(
    of_numpy(
        "abs negative exp exp2 expm1 log log1p log2 sqrt cbrt sin cos tan tanh sinh cosh arcsin "
        "arccos arctan arcsinh arccosh arctanh square reciprocal floor ceil rint trunc"
    )
    | {"rsqrt": lax.rsqrt, "logistic": nn.sigmoid, "relu": nn.relu, "softplus": nn.softplus},
    of_numpy(
        "add subtract multiply divide maximum minimum power hypot fmax fmin logaddexp arctan2"
    ),
    (0.0, 1.0, -1.0, 2.0, 0.5, np.inf, -np.inf, np.nan, 3.0, -2.0),
)
VALUES: Final = (*FLOATS.constants, -0.5, 0.2, -3.25, 7.5, -7.5)


def integers(dtype: DType) -> Words:
    info = np.iinfo(dtype)
    near = [info.max, info.max - 1, info.max // 2, int(info.max**0.5) + 1]
    below = [info.min, info.min + 1, info.min // 2, -1, -2, -3, -7] if info.min else []
    return Words(
        of_numpy("abs negative square sign invert bitwise_count")
        | {
            "cube": lambda x: x**3,
            "clz": lax.clz,
            "as int8": lambda x: x.astype("int8"),
            "as bool": lambda x: x != 0,
        },
        of_numpy(
            "add subtract multiply maximum minimum floor_divide remainder fmod bitwise_and "
            "bitwise_or bitwise_xor left_shift right_shift gcd"
        )
        | {"div": lax.div, "rem": lax.rem, "srl": lax.shift_right_logical, **COMPARISONS},
        (0, 1, 2, 3, 5, 7, 8, 10, 16, *near, *below),
    )


class Expression:
    """A function of two arrays, and its text."""

    def __init__(self, text: str, call: Callable[[Any, Any], Any]) -> None:
        self.text, self.call = text, call


def expression(rng: random.Random, words: Words, depth: int, outer: str = "") -> Expression:
    kind = rng.random()
    if depth == 0 or kind < 0.1:
        c = rng.choice(words.constants)
        leaves = (
            Expression("x", lambda x, y: x),
            Expression("y", lambda x, y: y),
            Expression(repr(c), lambda x, y: jnp.full_like(x, c)),
        )
        return rng.choice(leaves)
    if kind < 0.5:
        name = drawn(rng, words.unary, outer)
        a = expression(rng, words, depth - 1, name)
        return Expression(
            f"{name}({a.text})", lambda x, y: as_before(words.unary[name](a.call(x, y)), x)
        )
    if kind < 0.8:
        name = drawn(rng, words.binary, outer)
        a, b = expression(rng, words, depth - 1, name), expression(rng, words, depth - 1, name)
        return Expression(
            f"{name}({a.text}, {b.text})",
            lambda x, y: as_before(words.binary[name](a.call(x, y), b.call(x, y)), x),
        )
    how = rng.choice(list(COMPARISONS))
    left, right = expression(rng, words, 1), expression(rng, words, 0)
    a, b = expression(rng, words, depth - 1), expression(rng, words, depth - 1)
    return Expression(
        f"where({how}({left.text}, {right.text}), {a.text}, {b.text})",
        lambda x, y: jnp.where(
            COMPARISONS[how](left.call(x, y), right.call(x, y)), a.call(x, y), b.call(x, y)
        ),
    )


def drawn(rng: random.Random, names: Operations, outer: str) -> str:
    """An operation that is not made one with that around it."""
    name = rng.choice(list(names))
    merged = any(outer.startswith(a) and name.startswith(b) for a, b in KNOWN)
    return drawn(rng, names, outer) if merged else name


def as_before(value: Any, x: Any) -> Any:
    return value if value.dtype == x.dtype else value.astype(x.dtype)


def kinds(values: HostArray) -> HostArray:
    """0 for numbers, 1 for infinities, 2 for what is none."""
    return np.asarray(np.isinf(values) + 2 * np.isnan(values))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(40))
def test_expressions_are_nan_where_those_of_numpy_are(seed: int) -> None:
    rng = random.Random(seed)
    drawn_ones = [expression(rng, FLOATS, rng.choice((2, 2, 3))) for _ in range(40)]
    with tinyjax.enable_x64(True):
        pairs = [(a, b) for a in VALUES for b in VALUES]
        x, y = (jnp.array(part) for part in zip(*pairs, strict=True))
        compiled = tinyjax.jit(lambda x, y: [one.call(x, y) for one in drawn_ones])(x, y)
        for one, found in zip(drawn_ones, compiled, strict=True):
            expected = kinds(np.asarray(one.call(x, y)))
            wrong = np.flatnonzero(kinds(np.asarray(found)) != expected)
            assert not wrong.size, f"{one.text} at {[pairs[i] for i in wrong[:3]]}"


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["int32", "int8", "uint32", "int64"])
@pytest.mark.parametrize("seed", range(10))
def test_expressions_of_integers_are_those_of_numpy(seed: int, dtype: str) -> None:
    words, rng = integers(np.dtype(dtype)), random.Random(seed)
    drawn_ones = [expression(rng, words, rng.choice((2, 3))) for _ in range(40)]
    with tinyjax.enable_x64(True), np.errstate(all="ignore"):
        pairs = [(a, b) for a in words.constants for b in words.constants]
        x, y = (jnp.array(np.array(part, dtype)) for part in zip(*pairs, strict=True))
        compiled = tinyjax.jit(lambda x, y: [one.call(x, y) for one in drawn_ones])(x, y)
        for one, found in zip(drawn_ones, compiled, strict=True):
            wrong = np.flatnonzero(np.asarray(found) != np.asarray(one.call(x, y)))
            assert not wrong.size, f"{one.text} at {[pairs[i] for i in wrong[:3]]}"


def test_only_what_is_computed_is_kept_from_being_computed_twice() -> None:
    """Ties are found by comparing an array with its maximum, of which no copy is needed."""
    of_parameter, of_computed = (
        tinyjax.jit(tinyjax.grad(f)).lower(np.ones(8, np.float32)).as_text()
        for f in (jnp.max, lambda x: jnp.max(jnp.sin(x)))
    )
    assert "inlineable" not in of_parameter
    assert "inlineable" in of_computed
