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
        operands: the operands: numbers, or a list for a vector.
        value: the value; zeros have signs.
        slopes: the derivative in each operand; None where it is not specified.
        second: the second derivative, of a function of one number.
        compiled: the value that compiled programs give, where it is another one.
        jax: what jax has that is not this; empty where it has the same.
    """

    operands: Operands
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


def one(
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
            one(4.0, 2.0, 0.25, -1 / 32),
            one(0.0, 0.0, inf, -inf),
            one(-0.0, -0.0),
            one(inf, inf, 0.0),
            one(-1.0, nan, nan),
            one(nan, nan),
            one(LEAST, 2.2227587494850775e-162, compiled=0.0),
        ),
        row(
            "jnp.cbrt(x)",
            one(-8.0, -2.0, 1 / 12),
            one(0.0, 0.0, inf),
            one(-0.0, -0.0, inf),
            one(-inf, -inf, 0.0),
        ),
        row("lax.rsqrt(x)", one(0.0, inf, -inf), one(-0.0, -inf), one(inf, 0.0, 0.0)),
        row(
            "jnp.abs(x)",
            one(-3.0, 3.0, -1.0, 0.0),
            one(0.0, 0.0, 0.0, 0.0, jax="slope 1"),
            one(-0.0, 0.0, 0.0, 0.0, jax="slope 1"),
            one(-inf, inf, -1.0, 0.0),
            one(nan, nan),
        ),
        row(
            "jnp.sign(x)",
            one(-2.0, -1.0, 0.0, 0.0),
            one(0.0, 0.0, 0.0, 0.0),
            one(-0.0, 0.0, 0.0, 0.0, compiled=-0.0),
            one(nan, nan),
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
            one([3.0, -4.0, 0.0], 5.0, [0.6, -0.8, 0.0]),
            one([0.0, 0.0, 0.0], 0.0, [0.0, 0.0, 0.0], jax="slopes NaN"),
            one([inf, 1.0, 0.0], inf),
        ),
        row(
            "jnp.linalg.norm(x, 1)",
            one([-2.0, 0.0, 3.0], 5.0, [-1.0, 0.0, 1.0], jax="slope 1 at 0"),
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
            one(0.0, 1.0, 0.0, -(pi**2) / 3),
            one(-0.0, 1.0, 0.0, -(pi**2) / 3),
            one(1e-30, 1.0, -(pi**2) / 3 * 1e-30, -(pi**2) / 3, jax="slope 0, second -2.8e44"),
            one(0.5, 2 / pi, -4 / pi),
            one(inf, nan),
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
        row("x ** 0.5", one(4.0, 2.0, 0.25), one(0.0, 0.0, inf), one(-0.0, 0.0), one(-inf, inf)),
        row("x ** 0", one(0.0, 1.0, 0.0, 0.0), one(nan, 1.0, 0.0, 0.0), one(inf, 1.0, 0.0, 0.0)),
        row(
            "x ** 0.0",
            one(0.0, 1.0, 0.0, 0.0, jax="slope NaN"),
            one(2.0, 1.0, 0.0, 0.0),
            one(inf, 1.0, 0.0, 0.0),
        ),
        row("x ** 1.0", one(0.0, 0.0, 1.0, 0.0, jax="second NaN"), one(-2.0, -2.0, 1.0, 0.0)),
        row(
            "x ** 2",
            one(0.0, 0.0, 0.0, 2.0),
            one(-inf, inf, -inf, 2.0),
            one(1e200, inf, 2e200, 2.0),
        ),
        row("x ** 3", one(0.0, 0.0, 0.0, 0.0), one(-2.0, -8.0, 12.0, -12.0)),
        row("x ** -1", one(0.0, inf, -inf), one(-0.0, -inf, -inf), one(-inf, -0.0, 0.0)),
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
            one(-0.0, 1.0, 1.0, 1.0),
            one(inf, inf, inf),
            one(-inf, 0.0, 0.0, 0.0),
            one(710.0, inf),
            one(-800.0, 0.0, 0.0, 0.0),
        ),
        row(
            "jnp.expm1(x)",
            one(1e-300, 1e-300, 1.0, 1.0),
            one(-0.0, -0.0, 1.0),
            one(-inf, -1.0, 0.0),
            one(inf, inf),
        ),
        row(
            "jnp.log(x)",
            one(1.0, 0.0, 1.0, -1.0),
            one(0.0, -inf, inf, -inf),
            one(-0.0, -inf),
            one(inf, inf, 0.0),
            one(-1.0, nan),
            one(LEAST, -744.4400719213812, compiled=-inf),
        ),
        row(
            "jnp.log1p(x)",
            one(1e-300, 1e-300, 1.0, -1.0),
            one(-0.0, -0.0, 1.0),
            one(-1.0, -inf, inf),
            one(-2.0, nan),
            one(inf, inf, 0.0),
        ),
        row(
            "nn.sigmoid(x)",
            one(0.0, 0.5, 0.25, 0.0),
            one(1000.0, 1.0, 0.0, 0.0),
            one(-1000.0, 0.0, 0.0, 0.0),
            one(inf, 1.0, 0.0, 0.0),
            one(-inf, 0.0, 0.0, 0.0),
        ),
        row(
            "nn.softplus(x)",
            one(0.0, math.log(2), 0.5, 0.25),
            one(1000.0, 1000.0, 1.0, 0.0),
            one(-1000.0, 0.0, 0.0, 0.0),
            one(inf, inf, 1.0, 0.0),
            one(-inf, 0.0, 0.0, 0.0),
        ),
        row(
            "nn.log_sigmoid(x)",
            one(1000.0, -0.0, 0.0, 0.0),
            one(-1000.0, -1000.0, 1.0, 0.0),
            one(-inf, -inf, 1.0, 0.0),
        ),
        row("jnp.tanh(x)", one(-0.0, -0.0, 1.0), one(1000.0, 1.0, 0.0, 0.0), one(-inf, -1.0, 0.0)),
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
            one(0.5, 0.0, 4.0, 0.0),
            one(0.0, -inf, inf, -inf),
            one(1.0, inf, inf, inf),
            one(2.0, nan),
        ),
        row(
            "special.entr(x)",
            one(1.0, 0.0, -1.0, -1.0),
            one(0.0, 0.0, inf, -inf),
            one(-1.0, -inf, 0.0, 0.0, jax="slope NaN by vjp"),
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
            one([1.0, 1.0, 0.0], 1.0, [0.5, 0.5, 0.0]),
            one([-inf, -inf, -inf], -inf, [1 / 3, 1 / 3, 1 / 3]),
            one([nan, 1.0, 2.0], nan),
        ),
        row("jnp.min(x)", one([1.0, 0.0, 0.0], 0.0, [0.0, 0.5, 0.5]), one([1.0, nan, 2.0], nan)),
        row("jnp.nanmax(x)", one([nan, 1.0, 2.0], 2.0, [0.0, 0.0, 1.0])),
        row(
            "jnp.argmax(x)",
            one([0.0, 1.0, 1.0], 1),
            one([1.0, nan, 2.0], 1),
            one([inf, inf, 0.0], 0),
        ),
        row("jnp.argmin(x)", one([1.0, 0.0, 0.0], 1), one([1.0, nan, 2.0], 1)),
        row(
            "jnp.sort(x)[0]",
            one([1.0, 1.0, 2.0], 1.0, [1.0, 0.0, 0.0]),
            one([nan, inf, -inf], -inf),
        ),
        row(
            "jnp.sort(x)[2]", one([2.0, 2.0, 1.0], 2.0, [0.0, 1.0, 0.0]), one([nan, inf, 1.0], nan)
        ),
        row("jnp.argsort(x)[0]", one([1.0, 1.0, 1.0], 0), one([nan, inf, nan], 1)),
        row(
            "jnp.median(x)",
            one([1.0, 3.0, 2.0], 2.0, [0.0, 0.0, 1.0]),
            one([inf, inf, 1.0], inf),
            one([nan, 1.0, 2.0], nan),
        ),
        row(
            "jnp.clip(x, 0.0, 1.0)",
            one(0.5, 0.5, 1.0, 0.0),
            one(0.0, 0.0, 0.5, 0.0),
            one(1.0, 1.0, 0.5, 0.0),
            one(inf, 1.0, 0.0, 0.0),
            one(nan, nan),
        ),
        row(
            "nn.relu(x)",
            one(0.0, 0.0, 0.0, 0.0),
            one(inf, inf, 1.0, 0.0),
            one(-inf, 0.0, 0.0, 0.0),
            one(nan, nan),
        ),
        row("nn.leaky_relu(x)", one(0.0, 0.0, 1.0, 0.0), one(-1.0, -0.01, 0.01, 0.0)),
        row("nn.elu(x)", one(0.0, 0.0, 1.0), one(-inf, -1.0, 0.0), one(1000.0, 1000.0, 1.0, 0.0)),
    ),
    "Sums and choices": (
        row(
            "special.logsumexp(x)",
            one([1000.0, 1000.0, -inf], 1000 + math.log(2), [0.5, 0.5, 0.0]),
            one([-inf, -inf, -inf], -inf),
            one([inf, 1.0, 2.0], inf),
            one([nan, 1.0, 2.0], nan),
        ),
        row(
            "nn.softmax(x)[0]",
            one([1000.0, 0.0, 0.0], 1.0, [0.0, 0.0, 0.0]),
            one([-inf, 1.0, 1.0], 0.0, [0.0, 0.0, 0.0]),
            one([inf, 1.0, 1.0], nan),
            one([-inf, -inf, -inf], nan),
        ),
        row("nn.log_softmax(x)[0]", one([0.0, 1000.0, 0.0], -1000.0, [1.0, -1.0, 0.0])),
        row(
            "jnp.prod(x)",
            one([0.0, 2.0, 3.0], 0.0, [6.0, 0.0, 0.0]),
            one([0.0, 0.0, 3.0], 0.0, [0.0, 0.0, 0.0]),
        ),
        row("jnp.mean(x)", one([inf, -inf, 0.0], nan), one([inf, 1.0, 0.0], inf)),
        row("jnp.var(x)", one([2.0, 2.0, 2.0], 0.0, [0.0, 0.0, 0.0])),
        row("jnp.std(x)", one([2.0, 2.0, 2.0], 0.0, [0.0, 0.0, 0.0], jax="slopes NaN")),
        row("jnp.nansum(x)", one([nan, 1.0, 2.0], 3.0, [0.0, 1.0, 1.0])),
        row(
            "jnp.where(x > 0, jnp.log(x), 0.0)",
            one(2.0, math.log(2), 0.5, -0.25),
            one(0.0, 0.0, 0.0, 0.0, jax="slope NaN in reverse mode"),
            one(-1.0, 0.0, 0.0),
        ),
        row(
            "jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1.0)), 0.0)",
            one(0.0, 0.0, 0.0, 0.0),
            one(nan, 0.0, 0.0, 0.0),
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
            one(0.5, 0.0, 0.0),
            one(1.5, 2.0, 0.0),
            one(2.5, 2.0, 0.0),
            one(-0.5, -0.0, 0.0),
            one(inf, inf),
        ),
        row("jnp.floor(x)", one(-0.0, -0.0), one(-0.5, -1.0, 0.0), one(-inf, -inf)),
        row("jnp.ceil(x)", one(-0.5, -0.0, 0.0), one(nan, nan)),
        row("jnp.trunc(x)", one(-0.5, -0.0, 0.0), one(-inf, -inf)),
    ),
    "Integers": (
        row("jnp.abs(x)", one(MIN, MIN), one(-3, 3), dtype="int32"),
        row("-x", one(MIN, MIN), one(0, 0), dtype="int32"),
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
            one(complex(-4, 0.0), complex(0, 2)),
            one(complex(-4, -0.0), complex(0, -2), jax="2j"),
            one(complex(0.0, 0.0), complex(0.0, 0.0)),
            one(complex(-inf, 1), complex(0, inf)),
            dtype="complex128",
        ),
        row(
            "jnp.log(x)",
            one(complex(-1, 0.0), complex(0, pi)),
            one(complex(-1, -0.0), complex(0, -pi)),
            one(complex(0.0, 0.0), complex(-inf, 0)),
            one(complex(-inf, 1), complex(inf, pi)),
            dtype="complex128",
        ),
        row(
            "jnp.log1p(x)",
            one(complex(1e-30, 0.0), complex(1e-30, 0.0)),
            one(complex(1e-30, 1e-20), complex(1.00000000005e-30, 1e-20)),
            dtype="complex128",
        ),
        row(
            "jnp.expm1(x)",
            one(complex(inf, 0.0), complex(inf, 0)),
            one(complex(1e5, -0.0), complex(inf, -0.0)),
            one(complex(-inf, 2), complex(-1, 0)),
            one(complex(1e-30, 0.0), complex(1e-30, 0.0)),
            dtype="complex128",
        ),
        row(
            "jnp.exp(x)",
            one(complex(-inf, 1), complex(0, 0)),
            one(complex(0, pi), complex(-1, 1.2246467991473532e-16)),
            dtype="complex128",
        ),
        row(
            "jnp.sin(x)",
            one(complex(1, 1e-30), complex(math.sin(1), math.cos(1) * 1e-30)),
            one(complex(0.0, 1e300), complex(0, inf)),
            dtype="complex128",
        ),
        row(
            "jnp.cos(x)",
            one(complex(1, 1e-30), complex(math.cos(1), -math.sin(1) * 1e-30)),
            one(complex(0.0, 1.0), complex(math.cosh(1), -0.0)),
            dtype="complex128",
        ),
        row(
            "jnp.sinh(x)",
            one(complex(1e-30, 1), complex(math.cos(1) * 1e-30, math.sin(1)), jax="0.84j"),
            dtype="complex128",
        ),
        row(
            "jnp.cosh(x)",
            one(complex(1e-30, 1), complex(math.cos(1), math.sin(1) * 1e-30), jax="0.54"),
            dtype="complex128",
        ),
        row(
            "jnp.tan(x)",
            one(complex(1, 1e-30), complex(math.tan(1), 1e-30 / math.cos(1) ** 2)),
            one(complex(1, 1000), complex(0, 1)),
            dtype="complex128",
        ),
        row(
            "jnp.arcsin(x)",
            one(complex(2, 0.0), complex(pi / 2, math.acosh(2))),
            one(complex(2, -0.0), complex(pi / 2, -math.acosh(2)), jax="the other side"),
            dtype="complex128",
        ),
        row(
            "jnp.arccos(x)",
            one(complex(2, 0.0), complex(0, -math.acosh(2))),
            one(complex(2, -0.0), complex(0, math.acosh(2)), jax="the other side"),
            dtype="complex128",
        ),
        row(
            "jnp.arctan(x)",
            one(complex(0.0, 2), complex(pi / 2, math.atanh(0.5))),
            one(complex(-0.0, 2), complex(-pi / 2, math.atanh(0.5))),
            dtype="complex128",
        ),
        row(
            "jnp.arcsinh(x)",
            one(complex(0.0, 2), complex(math.acosh(2), pi / 2)),
            one(complex(-0.0, 2), complex(-math.acosh(2), pi / 2), jax="the other side"),
            dtype="complex128",
        ),
        row(
            "jnp.arccosh(x)",
            one(complex(-2, 0.0), complex(math.acosh(2), pi)),
            one(complex(-2, -0.0), complex(math.acosh(2), -pi), jax="the other side"),
            dtype="complex128",
        ),
        row(
            "jnp.arctanh(x)",
            one(complex(2, 0.0), complex(math.atanh(0.5), pi / 2)),
            one(complex(2, -0.0), complex(math.atanh(0.5), -pi / 2)),
            dtype="complex128",
        ),
        row(
            "jnp.abs(x)",
            one(complex(inf, nan), inf, compiled=nan),
            one(complex(3e200, 4e200), 5e200),
            dtype="complex128",
        ),
        row(
            "jnp.sign(x)",
            one(complex(0, 0), 0),
            one(complex(0, -2), -1j),
            one(complex(-inf, 3), -1, jax="NaN"),
            dtype="complex128",
        ),
        row(
            "jnp.angle(x)",
            one(complex(-1, -0.0), -pi),
            one(complex(0.0, 0.0), 0.0),
            dtype="complex128",
        ),
    ),
    "Narrow floats": (
        row("x + y", both(65504.0, 8.0, 65504.0), both(65504.0, 32.0, inf), dtype="float16"),
        row("x * y", both(6.103515625e-05, 0.5, 3.0517578125e-05), dtype="float16"),
        row(
            "jnp.exp(x)",
            one(11.0, 59872.0, 59872.0),
            one(12.0, inf),
            one(-20.0, 0.0, 0.0),
            dtype="float16",
        ),
        row(
            "nn.sigmoid(x)",
            one(-12.0, 6.1392e-06, 6.1392e-06, jax="0"),
            one(20.0, 1.0, 0.0),
            dtype="float16",
        ),
        row("nn.softplus(x)", one(60000.0, 60000.0, 1.0), one(-100.0, 0.0, 0.0), dtype="float16"),
        row("jnp.mean(x)", one([60000.0, 60000.0, 60000.0], 60000.0), dtype="float16"),
        row(
            "jnp.hypot(x, y)",
            both(300.0, 400.0, 500.0, 0.6, 0.8, jax="slopes 1, 1.25"),
            dtype="float16",
        ),
        row("x + y", both(256.0, 1.0, 256.0), both(3.3895314e38, 3e38, inf), dtype="bfloat16"),
        row("jnp.exp(x)", one(89.0, inf), one(-100.0, 0.0, 0.0), dtype="bfloat16"),
        row("jnp.log(x)", one(0.0, -inf, inf), one(1.0, 0.0, 1.0), dtype="bfloat16"),
        row("jnp.sqrt(x)", one(0.0, 0.0, inf), one(-1.0, nan), dtype="bfloat16"),
        row("nn.sigmoid(x)", one(-1000.0, 0.0, 0.0), one(1000.0, 1.0, 0.0), dtype="bfloat16"),
    ),
    "Special functions": (
        row(
            "special.gammaln(x)",
            one(1.0, 0.0, -np.euler_gamma),
            one(0.0, inf),
            one(-2.0, inf),
            one(-1.8e308, inf),
            one(-1e308, inf),
            one(-1e15, inf),
            one(1e308, inf),
            one(inf, inf, inf),
            one(-inf, inf),
        ),
        row(
            "special.digamma(x)",
            one(1.0, -np.euler_gamma, pi**2 / 6),
            one(0.0, -inf, jax="NaN"),
            one(-0.0, inf, jax="NaN"),
            one(-1.0, nan),
            one(inf, inf),
        ),
        row("special.erf(x)", one(-0.0, -0.0, 2 / math.sqrt(pi)), one(inf, 1.0, 0.0)),
        row("special.erfc(x)", one(30.0, 0.0, 0.0), one(-inf, 2.0, 0.0)),
        row(
            "special.erfinv(x)",
            one(0.0, 0.0, math.sqrt(pi) / 2, 0.0),
            one(1.0, inf, inf),
            one(-1.0, -inf, inf),
            one(2.0, nan),
        ),
        row(
            "special.ndtri(x)",
            one(0.5, 0.0, math.sqrt(2 * pi), 0.0),
            one(0.0, -inf, inf, jax="slope 0"),
            one(1.0, inf, inf, jax="slope 0"),
            one(2.0, nan),
        ),
        row("special.log_ndtr(x)", one(inf, -0.0, 0.0), one(-inf, -inf), one(1000.0, -0.0, 0.0)),
        row(
            "special.i0e(x)",
            one(0.0, 1.0, 0.0),
            one(1e-30, 1.0, -1.0, 1.5),
            one(1e300, 3.989422804014327e-151, 0.0),
        ),
        row(
            "special.i1e(x)",
            one(0.0, 0.0, 0.5, 0.0),
            one(1e-30, 5e-31, 0.5, -1.0, jax="second 0"),
            one(-1e-30, -5e-31, 0.5, 1.0, jax="second 0"),
        ),
        row(
            "special.betaln(x, y)",
            both(1e10, 1.0, -math.log(1e10), -1e-10, None),
            both(1e300, 0.5, -344.81539900618213),
            both(1.0, 0.0, inf),
        ),
    ),
}
