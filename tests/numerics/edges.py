"""Functions and their derivatives at zeros, infinities, NaN, ties and the ends of types.

A table by hand: the values are those of IEEE 754, C99 and the array API standard, the derivatives
those of the convention in ``docs/evidence.md``. Expressions are Python, of ``x`` (and ``y``), in
which ``jnp``, ``lax``, ``nn`` and ``special`` are this library's or jax's.
"""

import math
from typing import Any, Final

import attrs
import numpy as np

inf, nan, pi = math.inf, math.nan, math.pi
Operands = tuple[Any, ...]


@attrs.frozen
class Point:
    """A point, and what is expected there.

    Attributes:
        at: the operands: numbers, or a list for a vector.
        value: the value; zeros have signs.
        slopes: the derivative in each operand; None where it is not specified.
        second: the second derivative, of a function of one number.
        compiled: the value that compiled programs give, where it is another one.
        jax: what jax has that is not this; empty where it has the same.
    """

    at: Operands
    value: Any
    slopes: Operands | None = None
    second: float | None = None
    compiled: Any = None
    jax: str = ""


@attrs.frozen
class Row:
    """A function at some points."""

    expression: str
    points: tuple[Point, ...]
    dtype: str = "float64"


def at(
    x: Any,
    value: Any,
    slope: Any = None,
    second: float | None = None,
    *,
    jax: str = "",
    **more: Any,
) -> Point:
    """A point of one operand."""
    slopes = None if slope is None else (slope,)
    return Point((x,), value, slopes, second, jax=jax, **more)


def both(x: Any, y: Any, value: Any, *slopes: Any, jax: str = "", **more: Any) -> Point:
    """A point of two operands."""
    return Point((x, y), value, slopes or None, jax=jax, **more)


def row(expression: str, *points: Point, dtype: str = "float64") -> Row:
    """A function at some points."""
    return Row(expression, points, dtype)


LEAST: Final = 5e-324
MIN: Final = -(2**31)
ROOT: Final = math.sqrt(0.5)

SECTIONS: Final[dict[str, tuple[Row, ...]]] = {
    "Roots, sizes, signs": (
        row(
            "jnp.sqrt(x)",
            at(4.0, 2.0, 0.25, -1 / 32),
            at(0.0, 0.0, inf, -inf),
            at(-0.0, -0.0),
            at(inf, inf, 0.0),
            at(-1.0, nan, nan),
            at(nan, nan),
            at(LEAST, 2.2227587494850775e-162, compiled=0.0),
        ),
        row(
            "jnp.cbrt(x)",
            at(-8.0, -2.0, 1 / 12),
            at(0.0, 0.0, inf),
            at(-0.0, -0.0, inf),
            at(-inf, -inf, 0.0),
        ),
        row("lax.rsqrt(x)", at(0.0, inf, -inf), at(-0.0, -inf), at(inf, 0.0, 0.0)),
        row(
            "jnp.abs(x)",
            at(-3.0, 3.0, -1.0, 0.0),
            at(0.0, 0.0, 0.0, 0.0, jax="slope 1"),
            at(-0.0, 0.0, 0.0, 0.0, jax="slope 1"),
            at(-inf, inf, -1.0, 0.0),
            at(nan, nan),
        ),
        row(
            "jnp.sign(x)",
            at(-2.0, -1.0, 0.0, 0.0),
            at(0.0, 0.0, 0.0, 0.0),
            at(-0.0, 0.0, 0.0, 0.0, compiled=-0.0),
            at(nan, nan),
        ),
        row(
            "jnp.copysign(x, y)",
            both(0.0, -0.0, -0.0),
            both(3.0, -0.0, -3.0, -1.0, 0.0),
            both(-inf, 1.0, inf, -1.0, 0.0),
        ),
        row(
            "jnp.hypot(x, y)",
            both(3.0, -4.0, 5.0, 0.6, -0.8),
            both(0.0, 0.0, 0.0, 0.0, 0.0, jax="slopes 1/2"),
            both(0.0, -2.0, 2.0, 0.0, -1.0),
            both(inf, nan, inf),
            both(1.0, -inf, inf, 0.0, -1.0, jax="slopes 0"),
            both(inf, -inf, inf, nan, nan, jax="slopes 0"),
            both(1e300, 1e300, math.sqrt(2) * 1e300, ROOT, ROOT, jax="slopes 1.06"),
        ),
        row(
            "jnp.linalg.norm(x)",
            at([3.0, -4.0, 0.0], 5.0, [0.6, -0.8, 0.0]),
            at([0.0, 0.0, 0.0], 0.0, [0.0, 0.0, 0.0], jax="slopes NaN"),
            at([inf, 1.0, 0.0], inf),
        ),
        row(
            "jnp.linalg.norm(x, 1)",
            at([-2.0, 0.0, 3.0], 5.0, [-1.0, 0.0, 1.0], jax="slope 1 at 0"),
        ),
        row(
            "jnp.arctan2(x, y)",
            both(0.0, 0.0, 0.0, nan, nan),
            both(-0.0, 0.0, -0.0, nan, nan),
            both(0.0, -0.0, pi, nan, nan),
            both(-0.0, -0.0, -pi, nan, nan),
            both(0.0, -1.0, pi, -1.0, 0.0),
            both(-0.0, -1.0, -pi, -1.0, 0.0),
            both(inf, inf, pi / 4),
            both(inf, -inf, 3 * pi / 4),
            both(-1.0, inf, -0.0),
        ),
        row(
            "jnp.sinc(x)",
            at(0.0, 1.0, 0.0, -(pi**2) / 3),
            at(-0.0, 1.0, 0.0, -(pi**2) / 3),
            at(1e-30, 1.0, -(pi**2) / 3 * 1e-30, -(pi**2) / 3, jax="slope 0, second -2.8e44"),
            at(0.5, 2 / pi, -4 / pi),
            at(inf, nan),
        ),
    ),
    "Powers": (
        row(
            "jnp.power(x, y)",
            both(0.0, 0.0, 1.0, 0.0, 0.0, jax="slopes NaN"),
            both(-0.0, 0.0, 1.0, 0.0, 0.0, jax="slopes NaN"),
            both(0.0, 1.0, 0.0, 1.0, 0.0),
            both(0.0, 2.0, 0.0, 0.0, 0.0),
            both(0.0, 0.5, 0.0, inf, 0.0),
            both(-0.0, 2.0, 0.0, 0.0, 0.0),
            both(-0.0, 3.0, -0.0, 0.0, 0.0),
            both(0.0, -1.0, inf),
            both(-0.0, -1.0, -inf),
            both(-0.0, -2.0, inf),
            both(0.0, -inf, inf),
            both(0.0, inf, 0.0),
            both(2.0, 3.0, 8.0, 12.0, 8 * math.log(2)),
            both(-2.0, 3.0, -8.0, 12.0, nan),
            both(-2.0, 2.0, 4.0, -4.0, nan),
            both(-2.0, -3.0, -0.125, -0.1875, nan),
            both(2.0, -3.0, -0.125 * -1.0, -0.1875, 0.125 * math.log(2)),
            both(-2.0, 0.5, nan),
            both(nan, 0.0, 1.0),
            both(1.0, nan, 1.0),
            both(inf, 0.0, 1.0),
            both(inf, -1.0, 0.0),
            both(-inf, 3.0, -inf),
            both(-inf, 2.0, inf),
            both(-inf, -3.0, -0.0),
            both(-inf, 0.5, inf),
            both(0.5, inf, 0.0),
            both(0.5, -inf, inf),
            both(2.0, inf, inf),
            both(2.0, -inf, 0.0),
            both(-1.0, inf, 1.0),
        ),
        row("x ** 0.5", at(4.0, 2.0, 0.25), at(0.0, 0.0, inf), at(-0.0, 0.0), at(-inf, inf)),
        row("x ** 0", at(0.0, 1.0, 0.0, 0.0), at(nan, 1.0, 0.0, 0.0), at(inf, 1.0, 0.0, 0.0)),
        row(
            "x ** 0.0",
            at(0.0, 1.0, 0.0, 0.0, jax="slope NaN"),
            at(2.0, 1.0, 0.0, 0.0),
            at(inf, 1.0, 0.0, 0.0),
        ),
        row("x ** 1.0", at(0.0, 0.0, 1.0, 0.0, jax="second NaN"), at(-2.0, -2.0, 1.0, 0.0)),
        row("x ** 2", at(0.0, 0.0, 0.0, 2.0), at(-inf, inf, -inf, 2.0), at(1e200, inf, 2e200, 2.0)),
        row("x ** 3", at(0.0, 0.0, 0.0, 0.0), at(-2.0, -8.0, 12.0, -12.0)),
        row("x ** -1", at(0.0, inf, -inf), at(-0.0, -inf, -inf), at(-inf, -0.0, 0.0)),
        row(
            "special.xlogy(x, y)",
            both(0.0, 0.0, 0.0, 0.0, 0.0, jax="slopes NaN"),
            both(0.0, inf, 0.0, 0.0, 0.0, jax="slopes inf, NaN"),
            both(0.0, 2.0, 0.0, math.log(2), 0.0),
            both(0.0, nan, nan),
            both(2.0, 0.0, -inf, -inf, inf, jax="slopes NaN by jvp"),
        ),
    ),
    "Exponentials and logarithms": (
        row(
            "jnp.exp(x)",
            at(-0.0, 1.0, 1.0, 1.0),
            at(inf, inf, inf),
            at(-inf, 0.0, 0.0, 0.0),
            at(710.0, inf),
            at(-800.0, 0.0, 0.0, 0.0),
        ),
        row(
            "jnp.expm1(x)",
            at(1e-300, 1e-300, 1.0, 1.0),
            at(-0.0, -0.0, 1.0),
            at(-inf, -1.0, 0.0),
            at(inf, inf),
        ),
        row(
            "jnp.log(x)",
            at(1.0, 0.0, 1.0, -1.0),
            at(0.0, -inf, inf, -inf),
            at(-0.0, -inf),
            at(inf, inf, 0.0),
            at(-1.0, nan),
            at(LEAST, -744.4400719213812, compiled=-inf),
        ),
        row(
            "jnp.log1p(x)",
            at(1e-300, 1e-300, 1.0, -1.0),
            at(-0.0, -0.0, 1.0),
            at(-1.0, -inf, inf),
            at(-2.0, nan),
            at(inf, inf, 0.0),
        ),
        row(
            "nn.sigmoid(x)",
            at(0.0, 0.5, 0.25, 0.0),
            at(1000.0, 1.0, 0.0, 0.0),
            at(-1000.0, 0.0, 0.0, 0.0),
            at(inf, 1.0, 0.0, 0.0),
            at(-inf, 0.0, 0.0, 0.0),
        ),
        row(
            "nn.softplus(x)",
            at(0.0, math.log(2), 0.5, 0.25),
            at(1000.0, 1000.0, 1.0, 0.0),
            at(-1000.0, 0.0, 0.0, 0.0),
            at(inf, inf, 1.0, 0.0),
            at(-inf, 0.0, 0.0, 0.0),
        ),
        row(
            "nn.log_sigmoid(x)",
            at(1000.0, -0.0, 0.0, 0.0),
            at(-1000.0, -1000.0, 1.0, 0.0),
            at(-inf, -inf, 1.0, 0.0),
        ),
        row("jnp.tanh(x)", at(-0.0, -0.0, 1.0), at(1000.0, 1.0, 0.0, 0.0), at(-inf, -1.0, 0.0)),
        row(
            "jnp.logaddexp(x, y)",
            both(0.0, 0.0, math.log(2), 0.5, 0.5),
            both(-inf, 0.0, 0.0, 0.0, 1.0),
            both(-inf, -inf, -inf, 0.5, 0.5, jax="slopes 1, 0"),
            both(inf, inf, inf, 0.5, 0.5, jax="slopes 1"),
            both(0.0, inf, inf, 0.0, 1.0, jax="slopes 1, NaN"),
            both(0.0, nan, nan),
        ),
        row(
            "special.logit(x)",
            at(0.5, 0.0, 4.0, 0.0),
            at(0.0, -inf, inf, -inf),
            at(1.0, inf, inf, inf),
            at(2.0, nan),
        ),
        row(
            "special.entr(x)",
            at(1.0, 0.0, -1.0, -1.0),
            at(0.0, 0.0, inf, -inf),
            at(-1.0, -inf, 0.0, 0.0, jax="slope NaN by vjp"),
        ),
    ),
    "Ties and order": (
        row(
            "jnp.maximum(x, y)",
            both(1.0, 1.0, 1.0, 0.5, 0.5),
            both(inf, -inf, inf, 1.0, 0.0),
            both(nan, 1.0, nan),
            both(1.0, nan, nan),
        ),
        row(
            "jnp.fmax(x, y)",
            both(nan, 1.0, 1.0),
            both(1.0, nan, 1.0),
            both(2.0, 1.0, 2.0, 1.0, 0.0),
        ),
        row(
            "jnp.max(x)",
            at([1.0, 1.0, 0.0], 1.0, [0.5, 0.5, 0.0]),
            at([-inf, -inf, -inf], -inf, [1 / 3, 1 / 3, 1 / 3]),
            at([nan, 1.0, 2.0], nan),
        ),
        row("jnp.min(x)", at([1.0, 0.0, 0.0], 0.0, [0.0, 0.5, 0.5]), at([1.0, nan, 2.0], nan)),
        row("jnp.nanmax(x)", at([nan, 1.0, 2.0], 2.0, [0.0, 0.0, 1.0])),
        row(
            "jnp.argmax(x)", at([0.0, 1.0, 1.0], 1), at([1.0, nan, 2.0], 1), at([inf, inf, 0.0], 0)
        ),
        row("jnp.argmin(x)", at([1.0, 0.0, 0.0], 1), at([1.0, nan, 2.0], 1)),
        row(
            "jnp.sort(x)[0]", at([1.0, 1.0, 2.0], 1.0, [1.0, 0.0, 0.0]), at([nan, inf, -inf], -inf)
        ),
        row("jnp.sort(x)[2]", at([2.0, 2.0, 1.0], 2.0, [0.0, 1.0, 0.0]), at([nan, inf, 1.0], nan)),
        row("jnp.argsort(x)[0]", at([1.0, 1.0, 1.0], 0), at([nan, inf, nan], 1)),
        row(
            "jnp.median(x)",
            at([1.0, 3.0, 2.0], 2.0, [0.0, 0.0, 1.0]),
            at([inf, inf, 1.0], inf),
            at([nan, 1.0, 2.0], nan),
        ),
        row(
            "jnp.clip(x, 0.0, 1.0)",
            at(0.5, 0.5, 1.0, 0.0),
            at(0.0, 0.0, 0.5, 0.0),
            at(1.0, 1.0, 0.5, 0.0),
            at(inf, 1.0, 0.0, 0.0),
            at(nan, nan),
        ),
        row(
            "nn.relu(x)",
            at(0.0, 0.0, 0.0, 0.0),
            at(inf, inf, 1.0, 0.0),
            at(-inf, 0.0, 0.0, 0.0),
            at(nan, nan),
        ),
        row("nn.leaky_relu(x)", at(0.0, 0.0, 1.0, 0.0), at(-1.0, -0.01, 0.01, 0.0)),
        row("nn.elu(x)", at(0.0, 0.0, 1.0), at(-inf, -1.0, 0.0), at(1000.0, 1000.0, 1.0, 0.0)),
    ),
    "Sums and choices": (
        row(
            "special.logsumexp(x)",
            at([1000.0, 1000.0, -inf], 1000 + math.log(2), [0.5, 0.5, 0.0]),
            at([-inf, -inf, -inf], -inf),
            at([inf, 1.0, 2.0], inf),
            at([nan, 1.0, 2.0], nan),
        ),
        row(
            "nn.softmax(x)[0]",
            at([1000.0, 0.0, 0.0], 1.0, [0.0, 0.0, 0.0]),
            at([-inf, 1.0, 1.0], 0.0, [0.0, 0.0, 0.0]),
            at([inf, 1.0, 1.0], nan),
            at([-inf, -inf, -inf], nan),
        ),
        row("nn.log_softmax(x)[0]", at([0.0, 1000.0, 0.0], -1000.0, [1.0, -1.0, 0.0])),
        row(
            "jnp.prod(x)",
            at([0.0, 2.0, 3.0], 0.0, [6.0, 0.0, 0.0]),
            at([0.0, 0.0, 3.0], 0.0, [0.0, 0.0, 0.0]),
        ),
        row("jnp.mean(x)", at([inf, -inf, 0.0], nan), at([inf, 1.0, 0.0], inf)),
        row("jnp.var(x)", at([2.0, 2.0, 2.0], 0.0, [0.0, 0.0, 0.0])),
        row("jnp.std(x)", at([2.0, 2.0, 2.0], 0.0, [0.0, 0.0, 0.0], jax="slopes NaN")),
        row("jnp.nansum(x)", at([nan, 1.0, 2.0], 3.0, [0.0, 1.0, 1.0])),
        row(
            "jnp.where(x > 0, jnp.log(x), 0.0)",
            at(2.0, math.log(2), 0.5, -0.25),
            at(0.0, 0.0, 0.0, 0.0, jax="slope NaN in reverse mode"),
            at(-1.0, 0.0, 0.0),
        ),
        row(
            "jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1.0)), 0.0)",
            at(0.0, 0.0, 0.0, 0.0),
            at(nan, 0.0, 0.0, 0.0),
        ),
    ),
    "Division and rounding": (
        row(
            "x / y",
            both(1.0, 0.0, inf),
            both(1.0, -0.0, -inf),
            both(0.0, 0.0, nan),
            both(inf, inf, nan),
            both(-1.0, inf, -0.0, 0.0, 0.0),
        ),
        row(
            "x % y",
            both(5.0, 3.0, 2.0, 1.0, -1.0),
            both(-5.0, 3.0, 1.0, 1.0, 2.0),
            both(5.0, -3.0, -1.0, 1.0, 2.0),
            both(-5.0, -3.0, -2.0, 1.0, -1.0),
            both(1.0, 0.0, nan),
            both(inf, 1.0, nan),
            both(1.0, inf, 1.0, 1.0, 0.0),
            both(-1.0, inf, inf),
            both(-0.0, 1.0, 0.0, compiled=-0.0),
            both(3.0, -3.0, -0.0, 1.0, 1.0, compiled=0.0),
        ),
        row(
            "jnp.fmod(x, y)",
            both(-5.0, 3.0, -2.0, 1.0, 1.0),
            both(5.0, -3.0, 2.0, 1.0, 1.0),
            both(-0.0, 1.0, -0.0),
            both(1.0, inf, 1.0, 1.0, 0.0),
        ),
        row(
            "x // y",
            both(-5.0, 3.0, -2.0, 0.0, 0.0),
            both(1.0, 0.0, inf),
            both(-1.0, 0.0, -inf),
            both(0.0, 0.0, nan),
            both(-1.0, inf, -1.0, 0.0, 0.0),
            both(-0.0, 1.0, -0.0, compiled=0.0),
        ),
        row(
            "jnp.rint(x)",
            at(0.5, 0.0, 0.0),
            at(1.5, 2.0, 0.0),
            at(2.5, 2.0, 0.0),
            at(-0.5, -0.0, 0.0),
            at(inf, inf),
        ),
        row("jnp.floor(x)", at(-0.0, -0.0), at(-0.5, -1.0, 0.0), at(-inf, -inf)),
        row("jnp.ceil(x)", at(-0.5, -0.0, 0.0), at(nan, nan)),
        row("jnp.trunc(x)", at(-0.5, -0.0, 0.0), at(-inf, -inf)),
    ),
    "Integers": (
        row("jnp.abs(x)", at(MIN, MIN), at(-3, 3), dtype="int32"),
        row("-x", at(MIN, MIN), at(0, 0), dtype="int32"),
        row(
            "x // y",
            both(MIN, -1, MIN),
            both(-7, 2, -4),
            both(7, -2, -4),
            both(7, 0, -2),
            both(-7, 0, -2),
            dtype="int32",
        ),
        row(
            "x % y",
            both(MIN, -1, 0),
            both(-7, 2, 1),
            both(7, -2, -1),
            both(7, 0, 0),
            dtype="int32",
        ),
        row("jnp.fmod(x, y)", both(-7, 2, -1), both(7, -2, 1), both(7, 0, 0), dtype="int32"),
        row("x << y", both(1, 31, MIN), both(1, 32, 0), both(-1, 33, 0), dtype="int32"),
        row("x >> y", both(-8, 1, -4), both(-8, 40, -1), both(8, 40, 0), dtype="int32"),
        row(
            "jnp.power(x, y)",
            both(0, 0, 1),
            both(2, 31, MIN),
            both(2, -1, 0),
            both(-1, -3, -1),
            dtype="int32",
        ),
        row("x + y", both(127, 1, -128), dtype="int8"),
        row("x * y", both(-128, -1, -128), dtype="int8"),
        row("x - y", both(0, 1, 255), dtype="uint8"),
    ),
    "Complex numbers": (
        row(
            "jnp.sqrt(x)",
            at(complex(-4, 0.0), complex(0, 2)),
            at(complex(-4, -0.0), complex(0, -2), jax="2j"),
            at(complex(0.0, 0.0), complex(0.0, 0.0)),
            at(complex(-inf, 1), complex(0, inf)),
            dtype="complex128",
        ),
        row(
            "jnp.log(x)",
            at(complex(-1, 0.0), complex(0, pi)),
            at(complex(-1, -0.0), complex(0, -pi)),
            at(complex(0.0, 0.0), complex(-inf, 0)),
            at(complex(-inf, 1), complex(inf, pi)),
            dtype="complex128",
        ),
        row(
            "jnp.log1p(x)",
            at(complex(1e-30, 0.0), complex(1e-30, 0.0)),
            at(complex(1e-30, 1e-20), complex(1.00000000005e-30, 1e-20)),
            dtype="complex128",
        ),
        row(
            "jnp.expm1(x)",
            at(complex(inf, 0.0), complex(inf, 0)),
            at(complex(1e5, -0.0), complex(inf, -0.0)),
            at(complex(-inf, 2), complex(-1, 0)),
            at(complex(1e-30, 0.0), complex(1e-30, 0.0)),
            dtype="complex128",
        ),
        row(
            "jnp.exp(x)",
            at(complex(-inf, 1), complex(0, 0)),
            at(complex(0, pi), complex(-1, 1.2246467991473532e-16)),
            dtype="complex128",
        ),
        row(
            "jnp.sin(x)",
            at(complex(1, 1e-30), complex(math.sin(1), math.cos(1) * 1e-30)),
            at(complex(0.0, 1e300), complex(0, inf)),
            dtype="complex128",
        ),
        row(
            "jnp.cos(x)",
            at(complex(1, 1e-30), complex(math.cos(1), -math.sin(1) * 1e-30)),
            at(complex(0.0, 1.0), complex(math.cosh(1), -0.0)),
            dtype="complex128",
        ),
        row(
            "jnp.sinh(x)",
            at(complex(1e-30, 1), complex(math.cos(1) * 1e-30, math.sin(1)), jax="0.84j"),
            dtype="complex128",
        ),
        row(
            "jnp.cosh(x)",
            at(complex(1e-30, 1), complex(math.cos(1), math.sin(1) * 1e-30), jax="0.54"),
            dtype="complex128",
        ),
        row(
            "jnp.tan(x)",
            at(complex(1, 1e-30), complex(math.tan(1), 1e-30 / math.cos(1) ** 2)),
            at(complex(1, 1000), complex(0, 1)),
            dtype="complex128",
        ),
        row(
            "jnp.arcsin(x)",
            at(complex(2, 0.0), complex(pi / 2, math.acosh(2))),
            at(complex(2, -0.0), complex(pi / 2, -math.acosh(2)), jax="the other side"),
            dtype="complex128",
        ),
        row(
            "jnp.arccos(x)",
            at(complex(2, 0.0), complex(0, -math.acosh(2))),
            at(complex(2, -0.0), complex(0, math.acosh(2)), jax="the other side"),
            dtype="complex128",
        ),
        row(
            "jnp.arctan(x)",
            at(complex(0.0, 2), complex(pi / 2, math.atanh(0.5))),
            at(complex(-0.0, 2), complex(-pi / 2, math.atanh(0.5))),
            dtype="complex128",
        ),
        row(
            "jnp.arcsinh(x)",
            at(complex(0.0, 2), complex(math.acosh(2), pi / 2)),
            at(complex(-0.0, 2), complex(-math.acosh(2), pi / 2), jax="the other side"),
            dtype="complex128",
        ),
        row(
            "jnp.arccosh(x)",
            at(complex(-2, 0.0), complex(math.acosh(2), pi)),
            at(complex(-2, -0.0), complex(math.acosh(2), -pi), jax="the other side"),
            dtype="complex128",
        ),
        row(
            "jnp.arctanh(x)",
            at(complex(2, 0.0), complex(math.atanh(0.5), pi / 2)),
            at(complex(2, -0.0), complex(math.atanh(0.5), -pi / 2)),
            dtype="complex128",
        ),
        row(
            "jnp.abs(x)",
            at(complex(inf, nan), inf, compiled=nan),
            at(complex(3e200, 4e200), 5e200),
            dtype="complex128",
        ),
        row(
            "jnp.sign(x)",
            at(complex(0, 0), 0),
            at(complex(0, -2), -1j),
            at(complex(-inf, 3), -1, jax="NaN"),
            dtype="complex128",
        ),
        row(
            "jnp.angle(x)",
            at(complex(-1, -0.0), -pi),
            at(complex(0.0, 0.0), 0.0),
            dtype="complex128",
        ),
    ),
    "Narrow floats": (
        row("x + y", both(65504.0, 8.0, 65504.0), both(65504.0, 32.0, inf), dtype="float16"),
        row("x * y", both(6.103515625e-05, 0.5, 3.0517578125e-05), dtype="float16"),
        row(
            "jnp.exp(x)",
            at(11.0, 59872.0, 59872.0),
            at(12.0, inf),
            at(-20.0, 0.0, 0.0),
            dtype="float16",
        ),
        row(
            "nn.sigmoid(x)",
            at(-12.0, 6.1392e-06, 6.1392e-06, jax="0"),
            at(20.0, 1.0, 0.0),
            dtype="float16",
        ),
        row("nn.softplus(x)", at(60000.0, 60000.0, 1.0), at(-100.0, 0.0, 0.0), dtype="float16"),
        row("jnp.mean(x)", at([60000.0, 60000.0, 60000.0], 60000.0), dtype="float16"),
        row(
            "jnp.hypot(x, y)",
            both(300.0, 400.0, 500.0, 0.6, 0.8, jax="slopes 1, 1.25"),
            dtype="float16",
        ),
        row("x + y", both(256.0, 1.0, 256.0), both(3.3895314e38, 3e38, inf), dtype="bfloat16"),
        row("jnp.exp(x)", at(89.0, inf), at(-100.0, 0.0, 0.0), dtype="bfloat16"),
        row("jnp.log(x)", at(0.0, -inf, inf), at(1.0, 0.0, 1.0), dtype="bfloat16"),
        row("jnp.sqrt(x)", at(0.0, 0.0, inf), at(-1.0, nan), dtype="bfloat16"),
        row("nn.sigmoid(x)", at(-1000.0, 0.0, 0.0), at(1000.0, 1.0, 0.0), dtype="bfloat16"),
    ),
    "Special functions": (
        row(
            "special.gammaln(x)",
            at(1.0, 0.0, -np.euler_gamma),
            at(0.0, inf),
            at(-2.0, inf),
            at(-1.8e308, inf),
            at(-1e308, inf),
            at(-1e15, inf),
            at(1e308, inf),
            at(inf, inf, inf),
            at(-inf, inf),
        ),
        row(
            "special.digamma(x)",
            at(1.0, -np.euler_gamma, pi**2 / 6),
            at(0.0, -inf, jax="NaN"),
            at(-0.0, inf, jax="NaN"),
            at(-1.0, nan),
            at(inf, inf),
        ),
        row("special.erf(x)", at(-0.0, -0.0, 2 / math.sqrt(pi)), at(inf, 1.0, 0.0)),
        row("special.erfc(x)", at(30.0, 0.0, 0.0), at(-inf, 2.0, 0.0)),
        row(
            "special.erfinv(x)",
            at(0.0, 0.0, math.sqrt(pi) / 2, 0.0),
            at(1.0, inf, inf),
            at(-1.0, -inf, inf),
            at(2.0, nan),
        ),
        row(
            "special.ndtri(x)",
            at(0.5, 0.0, math.sqrt(2 * pi), 0.0),
            at(0.0, -inf, inf, jax="slope 0"),
            at(1.0, inf, inf, jax="slope 0"),
            at(2.0, nan),
        ),
        row("special.log_ndtr(x)", at(inf, -0.0, 0.0), at(-inf, -inf), at(1000.0, -0.0, 0.0)),
        row(
            "special.i0e(x)",
            at(0.0, 1.0, 0.0),
            at(1e-30, 1.0, -1.0, 1.5),
            at(1e300, 3.989422804014327e-151, 0.0),
        ),
        row(
            "special.i1e(x)",
            at(0.0, 0.0, 0.5, 0.0),
            at(1e-30, 5e-31, 0.5, -1.0, jax="second 0"),
            at(-1e-30, -5e-31, 0.5, 1.0, jax="second 0"),
        ),
        row(
            "special.betaln(x, y)",
            both(1e10, 1.0, -math.log(1e10), -1e-10, None),
            both(1e300, 0.5, -344.81539900618213),
            both(1.0, 0.0, inf),
        ),
    ),
}
