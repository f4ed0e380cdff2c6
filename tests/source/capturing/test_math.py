"""The functions of ``math`` and ``cmath`` under ``capture``: values, errors and slopes."""

import cmath
import functools
import itertools
import linecache
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

import mpmath
import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError

pytestmark = pytest.mark.usefixtures("double_precision")

mp: Final = mpmath.mp
#: Numbers at the edges of domains, and in between.
POINTS: Final = [
    *(
        0.0,
        5e-324,
        1e-300,
        1e-17,
        1e-8,
        1e-3,
        0.25,
        0.5,
        0.75,
        1.0,
        1.0 + 2**-52,
        1.5,
        2.0,
        2.5,
        3.0,
    ),
    *(6.0, 10.0, 22.0, 36.5, 100.25, 170.0, 171.5, 172.0, 700.0, 709.7, 710.5, 1e5, 1e16, 1e155),
    *(1e300, math.inf, math.nan),
]
REALS: Final = [*POINTS, *[-x for x in POINTS[:-1]], 1.0 - 2**-53]
#: Numbers of functions of two arguments.
FEW: Final = [
    *(0.0, -0.0, 1e-300, 0.3, 1.0, -1.0, 2.0, -2.5, 3.0, 1e3, -1e200, 1e308),
    *(math.inf, -math.inf, math.nan),
]

Exact = Callable[..., Any]
#: Derivatives of the functions of one argument.
SLOPES: Final[dict[str, Exact]] = {
    "acos": lambda x: -1 / mp.sqrt(1 - x * x),
    "acosh": lambda x: 1 / mp.sqrt(x * x - 1),
    "asin": lambda x: 1 / mp.sqrt(1 - x * x),
    "asinh": lambda x: 1 / mp.sqrt(x * x + 1),
    "atan": lambda x: 1 / (1 + x * x),
    "atanh": lambda x: 1 / (1 - x * x),
    "cbrt": lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2),
    "cos": lambda x: -mp.sin(x),
    "cosh": mp.sinh,
    "degrees": lambda x: 180 / mp.pi,
    "erf": lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x),
    "erfc": lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x),
    "exp": mp.exp,
    "exp2": lambda x: mp.log(2) * mp.mpf(2) ** x,
    "expm1": mp.exp,
    "fabs": mp.sign,
    "gamma": lambda x: mp.gamma(x) * mp.digamma(x),
    "lgamma": mp.digamma,
    "log": lambda x: 1 / x,
    "log10": lambda x: 1 / (x * mp.log(10)),
    "log1p": lambda x: 1 / (1 + x),
    "log2": lambda x: 1 / (x * mp.log(2)),
    "radians": lambda x: mp.pi / 180,
    "sin": mp.cos,
    "sinh": mp.cosh,
    "sqrt": lambda x: 1 / (2 * mp.sqrt(x)),
    "tan": lambda x: 1 + mp.tan(x) ** 2,
    "tanh": lambda x: 1 / mp.cosh(x) ** 2,
}
#: Functions of one argument whose results have no derivative.
DECISIONS: Final = ["ceil", "floor", "trunc", "frexp", "isfinite", "isinf", "isnan", "modf", "ulp"]
#: Functions of several arguments, with their exact counterparts.
SEVERAL: Final[dict[str, tuple[str, Exact | None]]] = {
    "atan2": ("math.atan2(x, y)", mp.atan2),
    "copysign": ("math.copysign(x, y)", lambda x, y: abs(x) * mp.sign(y)),
    "dist": ("math.dist([x, 0.25], [1.0, y])", lambda x, y: mp.hypot(x - 1, y - 0.25)),
    "fmod": ("math.fmod(x, y)", lambda x, y: x - y * mp.mpf(int(x / y))),
    "fsum": ("math.fsum([x, y, 1e-3])", lambda x, y: x + y),
    "hypot": ("math.hypot(x, y)", mp.hypot),
    "hypot of three": ("math.hypot(x, y, 0.5)", lambda x, y: mp.sqrt(x * x + y * y + 0.25)),
    "log of a base": ("math.log(x, y)", lambda x, y: mp.log(x) / mp.log(y)),
    "nextafter": ("math.nextafter(x, y)", lambda x, y: x),
    "pow": ("math.pow(x, y)", lambda x, y: x**y),
    "prod": ("math.prod([x, y, 2.0])", lambda x, y: 2 * x * y),
    "prod from a start": ("math.prod([x, y], start=3.0)", lambda x, y: 3 * x * y),
    "remainder": ("math.remainder(x, y)", lambda x, y: x - y * mp.nint(x / y)),
    "ldexp": ("math.ldexp(x, 3) + 0 * y", lambda x, y: 8 * x + 0 * y),
    "isclose": ("math.isclose(x, y, rel_tol=0.1)", None),
    "isclose by a distance": ("math.isclose(x, y, abs_tol=2.0)", None),
    "fsum of terms that cancel": ("math.fsum([1e16, x, -1e16, y])", lambda x, y: x + y),
    "sumprod": ("math.sumprod([x, 2.0], [y, x])", lambda x, y: x * y + 2 * x),
    "fma": ("math.fma(x, y, x)", lambda x, y: x * y + x),
}
#: Functions of integers, which a program gets by a decision.
OF_INTEGERS: Final = {
    "comb": "math.comb(int(x), 2)",
    "factorial": "math.factorial(int(x))",
    "gcd": "math.gcd(int(x), 6)",
    "isqrt": "math.isqrt(int(x))",
    "lcm": "math.lcm(int(x), 6)",
    "perm": "math.perm(int(x), 2)",
}


def program(call: str, names: str) -> Callable[..., Any]:
    """Make a function of some names from a call; it notes the class of its result."""
    text = f"def f({names}, classes):\n    r = {call}\n    classes.append(type(r))\n    return r\n"
    file = f"<{call} of {names}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    scope: dict[str, Any] = {"math": math, "cmath": cmath}
    exec(compile(text, file, "exec"), scope)
    made: Callable[..., Any] = scope["f"]
    return made


def is_close(a: Any, b: Any, tolerance: float) -> bool:
    """Return whether numbers, or tuples of them, are equal to some digits."""
    if isinstance(b, tuple):
        return all(is_close(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(b, complex):
        if cmath.isfinite(b) and cmath.isfinite(a):
            return bool(abs(a - b) <= tolerance * abs(b) + tolerance * 1e-3)
        return is_close(np.real(a), b.real, tolerance) and is_close(np.imag(a), b.imag, tolerance)
    a = float(a)
    if math.isnan(b) or math.isinf(b) or b == 0:
        return math.isnan(a) if math.isnan(b) else a == b
    return bool(abs(a - b) <= tolerance * abs(b) + 1e-307)


def checked(call: str, args: tuple[Any, ...], tangents: tuple[Any, ...], slope: Any) -> str:
    """Compare one call: its value, class or error, and its slope unless that is None."""
    names = ", ".join("xyz"[: len(args)])
    fun = program(call, names)
    classes: list[type] = []
    expected: Any = None
    error: Exception | None = None
    try:
        expected = fun(*args, classes)
    except (ValueError, OverflowError, ZeroDivisionError, TypeError) as caught:
        error = caught
    found_classes: list[type] = []
    kind = type(args[0])

    def of_numbers(*values: Any) -> Any:
        result = fun(*[kind(value) for value in values], found_classes)
        return float(result) if type(result) is int else result

    captured = source.capture(of_numbers)
    try:
        found, tangent = tinyjax.jvp(captured, args, tangents)
    except TinyjaxError as caught:
        return f"{args}: refused: {caught.args[0][:100]}"
    except (ValueError, OverflowError, ZeroDivisionError, TypeError) as caught:
        same = error is not None and type(error) is type(caught) and str(error) == str(caught)
        return "" if same else f"{args}: raises {caught!r}, not {error!r} ({expected})"
    if error is not None:
        return f"{args}: {found}, where {error!r} is raised"
    if found_classes[-1] is not classes[-1]:
        return f"{args}: {found_classes[-1]}, not {classes[-1]}"
    is_near = "lgamma" in call and abs(found - expected) < 4e-16  # at its zeros
    if not is_near and not is_close(found, expected, 1e-13):
        return f"{args}: {found}, not {expected}"
    if slope is not None and not is_close(tangent, slope, 1e-9 if kind is complex else 1e-11):
        return f"{args}: slope {tangent}, not {slope}"
    return ""


def exact_slope(slope: Exact, x: float) -> float | None:
    """Return a derivative in double precision; None where it is not said."""
    if not math.isfinite(x):
        return None
    with mp.workdps(400):
        try:
            exact = slope(mp.mpf(x))
        except (ZeroDivisionError, ValueError):
            return None
        return float(exact) if mp.im(exact) == 0 else None


def is_known(name: str) -> bool:
    return hasattr(math, name.partition(" ")[0])


@pytest.mark.parametrize("name", [*SLOPES, *DECISIONS])
def test_functions_of_one_number(name: str) -> None:
    """Values, classes, errors and slopes are those of ``math`` over the whole domain."""
    if not is_known(name):
        assert name in ("cbrt", "exp2")
        return
    found = []
    for x in REALS:
        slope = exact_slope(SLOPES[name], x) if name in SLOPES else None
        found.append(checked(f"math.{name}(x)", (x,), (1.0,), slope))
    assert [text for text in found if text] == []


def moved(exact: Exact, x: Any, y: Any, t: Any) -> Any:
    """Return the value some way along the direction that slopes are taken in."""
    return exact(x + 0.75 * t, y - 0.5 * t)


@pytest.mark.parametrize("name", [*filter(is_known, SEVERAL)])
def test_functions_of_two_numbers(name: str) -> None:
    """Values, classes, errors and partial derivatives are those of ``math``."""
    call, exact = SEVERAL[name]
    found = []
    for x in FEW:
        for y in FEW:
            along, slope = (0.75, -0.5), None
            is_regular = 0.1 < abs(x) < 1e4 and 0.1 < abs(y) < 1e4
            if exact is not None and is_regular and (x, y) not in AT_KINKS.get(name, ()):
                with mp.workdps(50):
                    value = mp.diff(functools.partial(moved, exact, mp.mpf(x), mp.mpf(y)), 0)
                    slope = float(value) if mp.im(value) == 0 else None
            found.append(checked(call, (x, y), along, slope))
    assert [text for text in found if text] == []


#: Points where functions of two numbers have no derivative.
AT_KINKS: Final[dict[str, list[tuple[float, float]]]] = {
    name: [(x, y) for x in FEW for y in FEW if y and abs(x / y) % 0.5 == 0]
    for name in ("fmod", "remainder")
}


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_functions_of_integers(name: str) -> None:
    """Functions of integers are decisions."""
    found = [checked(OF_INTEGERS[name], (x,), (1.0,), None) for x in (0.0, 1.5, 7.0, 12.25, -3.0)]
    assert [text for text in found if text] == []


def test_all_functions_of_math_are_here() -> None:
    """A function that ``math`` gains fails until it has a row."""
    names = {name for name in dir(math) if callable(getattr(math, name)) and name[0] != "_"}
    assert names - {*SLOPES, *DECISIONS, *SEVERAL, *OF_INTEGERS} == set()


#: The functions of ``cmath``, with derivatives where they have one.
COMPLEX_SLOPES: Final[dict[str, Exact]] = {
    **{
        name: SLOPES[name] for name in ("cos", "cosh", "exp", "log", "log10", "sin", "sinh", "sqrt")
    },
    **{name: SLOPES[name] for name in ("asinh", "atan", "atanh", "tan", "tanh", "asin", "acos")},
    "acosh": lambda z: 1 / (mp.sqrt(z - 1) * mp.sqrt(z + 1)),
}
OTHER_COMPLEX: Final = {
    "phase": "cmath.phase(x)",
    "polar": "cmath.polar(x)",
    "isfinite": "cmath.isfinite(x)",
    "isinf": "cmath.isinf(x)",
    "isnan": "cmath.isnan(x)",
    "rect": "cmath.rect(x.real, x.imag)",
    "isclose": "cmath.isclose(x, 1 + 1j, rel_tol=0.3)",
}
PARTS: Final = (0.0, 1e-300, 1e-9, 0.3, 1.0, 2.5, -0.7, -1.0, -3.0, 40.0, 800.0, -1e200)


def complex_points() -> Iterator[complex]:
    for x in PARTS:
        for y in PARTS:
            yield complex(x, y)


@pytest.mark.parametrize("name", [*COMPLEX_SLOPES, *OTHER_COMPLEX])
def test_functions_of_complex_numbers(name: str) -> None:
    """Values, errors and slopes are those of ``cmath``."""
    found = []
    for z in complex_points():
        slope = None
        if name in COMPLEX_SLOPES and 1e-3 < abs(z) < 50 and z.imag and z.real:
            with mp.workdps(60):
                slope = complex(COMPLEX_SLOPES[name](mp.mpc(z)))
        call = OTHER_COMPLEX.get(name, f"cmath.{name}(x)")
        found.append(checked(call, (z,), (1.0 + 0.0j,), slope))
    assert [text for text in found if text] == []


def test_all_functions_of_cmath_are_here() -> None:
    """A function that ``cmath`` gains fails until it has a row."""
    names = {name for name in dir(cmath) if callable(getattr(cmath, name)) and name[0] != "_"}
    assert names - {*COMPLEX_SLOPES, *OTHER_COMPLEX} == set()


#: Ways to make a complex number, each affine in the two numbers of ``n``.
OF_PARTS: Final = """
complex(n[0], n[1])
complex(n[0], imag=n[1])
complex(real=n[0], imag=n[1])
complex(imag=n[1])
complex(n[0], imag=2.0)
complex(1j, n[0])
complex(complex(n[1], 2.0), complex(1.0, n[0]))
complex(Fraction(1, 3), n[1])
complex(Fraction(1, 3), 2.0) * n[0]
complex(Number(n[0]), Number(n[1]))
np.complex128(n[0], n[1])
np.complex128(1.0, n[1])
np.complex64(n[0], n[1])
""".strip().splitlines()


class Number:
    """A number by the methods of its class."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __float__(self) -> Any:
        return float(self.x)

    def __complex__(self) -> Any:
        return complex(self.x, 1.0)


@pytest.mark.parametrize("text", OF_PARTS)
def test_complex_numbers_of_parts(text: str) -> None:
    """A complex number has the parts that its call says, and their slopes."""
    program = f"def function(n):\n    z = {text}\n    return z.real, z.imag\n"
    linecache.cache[text] = len(program), None, program.splitlines(keepends=True), text
    scope: dict[str, Any] = {"np": np, "Fraction": Fraction, "Number": Number}
    exec(compile(program, text, "exec"), scope)
    function: Callable[..., Any] = scope["function"]
    staged = tinyjax.jit(function, control_flow="source")
    for x in map(np.array, itertools.product(FEW, FEW)):
        for ours in (source.capture(function), staged):
            with np.errstate(over="ignore"):  # of 32 bits
                expected, parts = np.array(function(x)), np.array(ours(x))
            np.testing.assert_array_equal(parts, expected)
            np.testing.assert_array_equal(np.signbit(parts), np.signbit(expected))
    jacobian = np.array(tinyjax.jacfwd(source.capture(function))(np.array([0.5, 2.0])))
    steps = [np.subtract(function([1.5, 2.0]), function([0.5, 2.0]))]
    steps += [np.subtract(function([0.5, 3.0]), function([0.5, 2.0]))]
    np.testing.assert_allclose(jacobian, np.stack(steps, axis=1), rtol=1e-6, atol=1e-12)
