"""Functions and operators of Python's numbers, compiled: staged and captured, at special numbers.

Where Python raises, the compiled program does, or gives what is not finite.
"""

import cmath
import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pytest
from random_programs import compiled

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError

pytestmark = [
    pytest.mark.usefixtures("double_precision"),
    pytest.mark.filterwarnings("ignore"),
]

OF_ONE: Final = """
acos acosh asin asinh atan atanh cbrt ceil cos cosh degrees erf erfc exp exp2 expm1 fabs floor frexp
gamma isfinite isinf isnan lgamma log log10 log1p log2 modf radians sin sinh sqrt tan tanh trunc ulp
"""
OF_TWO: Final = "atan2 copysign fmod hypot isclose log nextafter pow remainder"
NUMBERS: Final = (
    *(0.0, -0.0, 0.5, -0.5, 1.0, -2.5, 3.0, 1e-300, 1e300, 1e16 + 2, 5e16, 170.7),
    *(math.inf, -math.inf, math.nan),
)
PAIRS: Final = [*itertools.product(NUMBERS[::2], (-0.0, 2.5, 1e300, math.inf, 3.3))]
TRIPLES: Final = (
    *((1e100, 1.0, -1e100), (0.1, 0.2, 0.3), (1e200, 1e200, 1e200), (math.inf, 1.0, 2.0)),
    *((-0.0, -0.0, -0.0), (2.5, -1.0, 0.5), (-7.0, 3.0, 0.0), (0.5, 1.5, 2.5), (1e16, 3.0, 7.0)),
)
EXPRESSIONS: Final = """
math.dist([x, y], [y, z])
math.fsum([x, y, z])
math.prod([x, y, z])
math.hypot(x, y, z)
math.isclose(x, y, abs_tol=abs(z))
math.gcd(int(y), 4)
statistics.mean([x, y, z])
statistics.median([x, y, z])
statistics.stdev([x, y, z])
statistics.mean([x > y, 1.0])
cmath.phase(complex(x, y))
cmath.exp(complex(x, 1))
cmath.log(complex(x, y))
cmath.log(complex(x, y), 2)
cmath.sqrt(complex(x, y))
abs(complex(x, y))
complex(x, y).conjugate().imag
x // y
x % y
x // 0.3
x % -0.3
divmod(x, y)[0]
round(x)
round(x, 2)
round(x * 2) / 2
int(x)
x.is_integer()
x.is_integer() + y.is_integer()
sum([x, y, z])
max(x, y, z)
sorted([x, y, z])[1]
x < y < z
bool(x)
x and y
hash(x) == hash(y)
str(x) == str(y)
f"{x:.1f}" == f"{y:.1f}"
(x > y) + (y > z)
(x > y) - (y > z)
(x > y) * (y > z)
(x > y) * x
(x > y) / 2
(x > y) & (y > z)
(x > y) ^ (y > z)
(x > y) == (y > z)
(x > y) < (y > z)
-(x > y)
+(x > y)
~(x > y)
abs(x > y)
not (x > y)
(x > y) ** 2
2 ** (x > y)
(x > y) << 2
(x > y) // 2
divmod(x > y, 2)[1]
round(x > y)
sum([x > y, y > z, x > z])
sum(v > 0 for v in (x, y, z))
[x, y][x > y]
(x, y)[not (x > y)]
{True: x, False: y}[x > y]
range(3)[x > y]
"ab"[x > y] == "a"
float(x > y)
complex(x > y)
math.sqrt(x > y)
max(x > y, y > z)
isinstance(x > y, bool) * 1.0
(type(x > y) is bool) * 1.0
(x > y) is True
(x > y) is not False
str(x > y) == "True"
f"{x > y}" == "True"
(x > y).real
True + (x > y)
1 + (x > y)
1 - (x > y)
(x > y) + 1.5
(x > y) * 1j
[x > y].count(True)
(x > y) in (True,)
math.isclose(x, y) + math.isclose(y, y)
math.isnan(x) + math.isfinite(y)
"""


def differs(actual: Any, expected: Any) -> bool:
    """Return whether a result is another than that of Python; its errors are no numbers."""
    if isinstance(expected, Exception):
        return bool(np.all(np.isfinite(np.asarray(actual, complex))))
    data = np.asarray(expected)
    if data.dtype == object:  # of more than 64 bits
        return False
    return not np.allclose(actual, data, rtol=1e-12, atol=0, equal_nan=True)


def check(expression: str, parameters: str, points: Sequence[tuple[float, ...]]) -> None:
    """Compare an expression with Python, compiled once."""
    program = compiled(
        f"def program({parameters}):\n    return {expression}\n",
        **{module.__name__: module for module in (cmath, math, statistics)},
    )
    staged = tinyjax.jit(program, control_flow="source")
    captured = tinyjax.jit(source.capture(program))
    for point in points:
        try:
            expected: Any = program(*point)
        except Exception as error:
            expected = error
        for fun in (staged, captured):
            try:
                actual = fun(*point)
            except TinyjaxError:
                continue
            except Exception:
                if not isinstance(expected, Exception):
                    raise
            else:
                assert not differs(actual, expected), (point, actual, expected)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", OF_ONE.split())
def test_functions_of_one_number(name: str) -> None:
    check(f"math.{name}(x)", "x", [(number,) for number in NUMBERS])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", OF_TWO.split())
def test_functions_of_two_numbers(name: str) -> None:
    check(f"math.{name}(x, y)", "x, y", PAIRS)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_expressions(expression: str) -> None:
    check(expression, "x, y, z", TRIPLES)


#: What gives a number of Python's itself, or another one.
SAME: Final = """
float(x); +x; x.real; x.conjugate(); (x,)[0]; [x][-1]; {1: x}[1]; x if x else 0.0; x or 1.0
x and x; max(x, x); sum([x]); abs(x); -(-x); x * 1; x + 0.0; x**1; round(x, 15); np.float64(x)
complex(x); (lambda v: v)(x); np.maximum(x, x)
""".replace("\n", ";").split(";")


@pytest.mark.parametrize("text", [text.strip() for text in SAME if text.strip()])
@pytest.mark.parametrize("number", [0.75, np.float64(0.75), 0.5 + 2j])
def test_which_numbers_are_one_object(text: str, number: Any) -> None:
    """A number is one object with another where it is in Python, or that is refused."""
    f = compiled(f"def program(x):\n    return 2.0 if ({text}) is x else 3.0\n", np=np)
    try:
        expected = f(number)
    except TypeError:  # of a complex number
        return
    for function in (tinyjax.jit(f, control_flow="source"), tinyjax.jit(source.capture(f))):
        try:
            assert float(function(number)) == expected
        except TinyjaxError:
            continue
