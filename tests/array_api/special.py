"""Special cases of functions of complex numbers, by the text of the array API standard.

A case tells for which real and imaginary parts it holds, and the parts of the result: numbers,
functions of both parts, or names of numbers that may have either sign.
"""

from collections.abc import Callable
from math import copysign, cos, inf, isfinite, isinf, isnan, nan, pi, sin
from typing import Final

Test = Callable[[float], bool]
Wanted = float | str | Callable[[float, float], float]
Case = tuple[Test, Test, Wanted, Wanted]

#: Parts of results whose sign the standard does not tell.
ZERO: Final = "zero"
INFINITY: Final = "infinity"
RIGHT: Final = "half a pi"


def same(value: float) -> Test:
    """Say whether a number is this one, with the sign of zero."""
    return lambda x: x == value and copysign(1, x) == copysign(1, value)


def finite(x: float) -> bool:
    return isfinite(x)


def zero(x: float) -> bool:
    return x == 0


def nonzero(x: float) -> bool:
    return isfinite(x) and x != 0


def positive(x: float) -> bool:
    return isfinite(x) and x > 0


def anything(x: float) -> bool:
    return True


def cis(length: float) -> tuple[Wanted, Wanted]:
    """The parts of an infinite or infinitesimal number in the direction of the imaginary part."""
    return lambda a, b: length * cos(b), lambda a, b: length * sin(b)


P0, M0, ONE, MINUS_ONE, PINF, MINF = [same(x) for x in (0.0, -0.0, 1.0, -1.0, inf, -inf)]

_LOGARITHM: Final[list[Case]] = [
    (finite, PINF, inf, pi / 2),
    (finite, isnan, nan, nan),
    (MINF, positive, inf, pi),
    (PINF, positive, inf, 0.0),
    (MINF, PINF, inf, 3 * pi / 4),
    (PINF, PINF, inf, pi / 4),
    (isinf, isnan, inf, nan),
    (isnan, finite, nan, nan),
    (isnan, PINF, inf, nan),
    (isnan, isnan, nan, nan),
]

CASES: Final[dict[str, list[Case]]] = {
    "acos": [
        (zero, P0, pi / 2, -0.0),
        (zero, isnan, pi / 2, nan),
        (finite, PINF, pi / 2, -inf),
        (nonzero, isnan, nan, nan),
        (MINF, positive, pi, -inf),
        (PINF, positive, 0.0, -inf),
        (MINF, PINF, 3 * pi / 4, -inf),
        (PINF, PINF, pi / 4, -inf),
        (isinf, isnan, nan, INFINITY),
        (isnan, finite, nan, nan),
        (isnan, PINF, nan, -inf),
        (isnan, isnan, nan, nan),
    ],
    "acosh": [
        (zero, P0, 0.0, pi / 2),
        (nonzero, isnan, nan, nan),
        (P0, isnan, nan, RIGHT),
        *(case for case in _LOGARITHM if case[:2] != (finite, isnan)),
    ],
    "asinh": [
        (P0, P0, 0.0, 0.0),
        (positive, PINF, inf, pi / 2),
        (finite, isnan, nan, nan),
        (PINF, positive, inf, 0.0),
        (PINF, PINF, inf, pi / 4),
        (isnan, P0, nan, 0.0),
        (isnan, nonzero, nan, nan),
        (isnan, PINF, INFINITY, nan),
        (isnan, isnan, nan, nan),
    ],
    "atanh": [
        (P0, P0, 0.0, 0.0),
        (P0, isnan, 0.0, nan),
        (ONE, P0, inf, 0.0),
        (positive, PINF, 0.0, pi / 2),
        (nonzero, isnan, nan, nan),
        (PINF, positive, 0.0, pi / 2),
        (PINF, PINF, 0.0, pi / 2),
        (PINF, isnan, 0.0, nan),
        (isnan, finite, nan, nan),
        (isnan, PINF, ZERO, pi / 2),
        (isnan, isnan, nan, nan),
    ],
    "log": [(M0, P0, -inf, pi), (P0, P0, -inf, 0.0), *_LOGARITHM],
    "log1p": [(MINUS_ONE, P0, -inf, 0.0), *_LOGARITHM],
    "sqrt": [
        (zero, P0, 0.0, 0.0),
        (anything, PINF, inf, inf),
        (finite, isnan, nan, nan),
        (MINF, isnan, nan, INFINITY),
        (PINF, isnan, inf, nan),
        (isnan, finite, nan, nan),
        (isnan, isnan, nan, nan),
    ],
    "sinh": [
        (P0, P0, 0.0, 0.0),
        (P0, PINF, ZERO, nan),
        (P0, isnan, ZERO, nan),
        (positive, PINF, nan, nan),
        (positive, isnan, nan, nan),
        (PINF, P0, inf, 0.0),
        (PINF, positive, *cis(inf)),
        (PINF, PINF, INFINITY, nan),
        (PINF, isnan, INFINITY, nan),
        (isnan, P0, nan, 0.0),
        (isnan, nonzero, nan, nan),
        (isnan, isnan, nan, nan),
    ],
    "cosh": [
        (P0, P0, 1.0, 0.0),
        (P0, PINF, nan, ZERO),
        (P0, isnan, nan, ZERO),
        (nonzero, PINF, nan, nan),
        (nonzero, isnan, nan, nan),
        (PINF, P0, inf, 0.0),
        (PINF, nonzero, *cis(inf)),
        (PINF, PINF, INFINITY, nan),
        (PINF, isnan, inf, nan),
        (isnan, zero, nan, ZERO),
        (isnan, nonzero, nan, nan),
        (isnan, isnan, nan, nan),
    ],
    "exp": [
        (zero, P0, 1.0, 0.0),
        (finite, PINF, nan, nan),
        (finite, isnan, nan, nan),
        (PINF, P0, inf, 0.0),
        (MINF, finite, *cis(0.0)),
        (PINF, nonzero, *cis(inf)),
        (MINF, PINF, ZERO, ZERO),
        (PINF, PINF, INFINITY, nan),
        (MINF, isnan, ZERO, ZERO),
        (PINF, isnan, INFINITY, nan),
        (isnan, P0, nan, 0.0),
        (isnan, nonzero, nan, nan),
        (isnan, isnan, nan, nan),
    ],
    "expm1": [
        (zero, P0, 0.0, 0.0),
        (finite, PINF, nan, nan),
        (finite, isnan, nan, nan),
        (PINF, P0, inf, 0.0),
        (MINF, finite, -1.0, lambda a, b: 0.0 * sin(b)),
        (PINF, nonzero, *cis(inf)),
        (MINF, PINF, -1.0, ZERO),
        (PINF, PINF, INFINITY, nan),
        (MINF, isnan, -1.0, ZERO),
        (PINF, isnan, INFINITY, nan),
        (isnan, P0, nan, 0.0),
        (isnan, nonzero, nan, nan),
        (isnan, isnan, nan, nan),
    ],
    "tanh": [
        (P0, P0, 0.0, 0.0),
        (P0, PINF, 0.0, nan),
        (P0, isnan, 0.0, nan),
        (nonzero, PINF, nan, nan),
        (nonzero, isnan, nan, nan),
        (PINF, positive, 1.0, 0.0),
        (PINF, PINF, 1.0, ZERO),
        (PINF, isnan, 1.0, ZERO),
        (isnan, P0, nan, 0.0),
        (isnan, nonzero, nan, nan),
        (isnan, isnan, nan, nan),
    ],
    "sign": [(zero, zero, 0.0, 0.0), (isnan, anything, nan, nan), (anything, isnan, nan, nan)],
}

#: Functions ``f`` with ``f(x) = -1j * g(1j * x)``; and the cosine, which is ``cosh(1j * x)``.
TURNED: Final = {"sin": "sinh", "asin": "asinh", "tan": "tanh", "atan": "atanh", "cos": "cosh"}


def agrees(actual: float, expected: Wanted, a: float, b: float) -> bool:
    """Say whether a part of a result is the wanted one, for the parts of the argument."""
    if expected == ZERO:
        return actual == 0
    if expected == INFINITY:
        return isinf(actual)
    if expected == RIGHT:
        return abs(abs(actual) - pi / 2) < 1e-6
    value = expected(a, b) if callable(expected) else float(expected)
    if isnan(value):
        return isnan(actual)
    if value == 0 or isinf(value):
        return same(value)(actual)
    return abs(actual - value) < 1e-6
