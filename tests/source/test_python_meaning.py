"""The meaning of operators and built-in functions for traced scalars: Python's, or an error.

An expression of two floats, two integers and two truth values is evaluated by Python at some
points. Staged, it must give numbers of the same class and value, or raise.
"""

import cmath
import functools
import itertools
import math
import numbers
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from random_programs import compiled

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import source
from tinyjax.core.tracing.jaxpr import eval_jaxpr
from tinyjax.errors import CheckFailedError, TinyjaxError, UndecidedError

POINTS = [
    (1.0, 0.75, 3, 2),
    (-0.5, 0.25, 7, -2),
    (0.3, 0.0, 0, 1),
    (2.5, -1.5, -4, 3),
    (1.0, 1.0, 1, 0),
    (-0.75, 2.0, 5, 10),
]
OPERANDS = [("a", "b"), ("m", "n"), ("p", "q")]
LITERALS = ("2", "0.5", "True", "0", "-3", "-1", "False")
OPERATORS = (
    *("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"),
    *("<", "<=", ">", ">=", "==", "!=", "and", "or"),
)

BINARY = [
    f"{x[0]} {op} {y[1]}" for op in OPERATORS for x, y in itertools.product(OPERANDS, OPERANDS)
] + [
    text
    for op in OPERATORS
    for (x, _), literal in itertools.product(OPERANDS, LITERALS)
    for text in (f"{x} {op} {literal}", f"{literal} {op} {x}")
]
MATHEMATICS = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "degrees"),
    *("erf", "erfc", "exp", "exp2", "expm1", "fabs", "factorial", "floor", "gamma", "isfinite"),
    *("isinf", "isnan", "lgamma", "log", "log10", "log1p", "log2", "radians", "sin", "sinh"),
    *(
        "sqrt",
        "tan",
        "tanh",
        "trunc",
        "frexp",
        "gcd",
        "hypot",
        "isqrt",
        "lcm",
        "modf",
        "perm",
        "ulp",
    ),
)
COMPLEX = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "isfinite", "isinf"),
    *("isnan", "log", "log10", "phase", "polar", "sin", "sinh", "sqrt", "tan", "tanh"),
)
UNARY = (
    [f"{op} {x}" for op in ("-", "+", "not") for x in "amp"]
    + [
        f"{name}({x})"
        for name in (
            *("abs", "int", "float", "bool", "round", "complex", "-round", "1 + int", "2 * bool"),
            *[f"math.{name}" for name in MATHEMATICS],
        )
        for x in "amp"
    ]
    + [f"cmath.{name}({x})" for name in COMPLEX for x in ("a", "m", "complex(a, b)")]
)
OF_TWO = [
    f"{name}({x}, {y})"
    for name in (
        *("divmod", "pow", "max", "min", "complex"),
        *("math.atan2", "math.copysign", "math.fmod", "math.hypot", "math.isclose", "math.pow"),
        *("math.remainder", "math.nextafter", "math.gcd", "math.lcm", "math.comb", "math.perm"),
        *("cmath.rect", "cmath.isclose"),
    )
    for x, y in ("ab", "mn", "an", "mb", "m2", "2n", "pq", "ap")
]
OTHERS = """
sum([p, q]); sum([p, q, 1]); sum([a, b]); sum([m, n], 2); sum([a, b], 0.5); sum((m, p)); p + q + p
sum(v * a for v in range(3)); p * q + p; p - q; m % 2 == True; m % 2 == 1; p == True; p != q; p ^ q
a is None; a is not None; None is a; min(a, b, m); max([a, b]); min([a, b], default=3)
max((m, n), key=lambda v: -v); max((a, m), (b, n))[1]; max(p, q) + 1; min([], default=a)
round(a, 1); round(m, 1); round(p) + 1; divmod(m, 3)[1]; divmod(-m, 3)[0]; divmod(a, 0.7)
isinstance(a, float); isinstance(m, int); isinstance(p, bool); isinstance(p, int)
isinstance(a, int); isinstance(a, (int, float)); isinstance(m, (str, (list, int)))
isinstance(a, numbers.Number)
isinstance(a, numbers.Integral); isinstance(m, numbers.Integral); isinstance(a, np.ndarray)
isinstance(a, str); isinstance(a, int | float); isinstance(a, list); isinstance(m, object)
type(a) is float; type(m) == int; type(p) is bool; type(a)(2) * 1.5; issubclass(type(a), float)
(10, 20)[p]; [10, 20][a > 0]; [1, 2, 3][m % 3]; [1, 2, 3][-1 - m % 3]; [1.5, 2.5, a][m % 3]
(a, b)[p]; range(10)[m % 5]; [(1, a), (2, b)][p][0]; [1, 2.5, a][m % 3]; np.arange(3)[m % 3]
m in (1, 2, 3); a in [a, b]; b in [a]; m in {1, 2, 3}; m in range(5); m not in range(0, 10, 2)
m in range(n); 3 in range(n); -2 in range(m, n, -2); 0.5 in [a, b]; m in {1: 2}; m in [1, "x"]
(a, b) == (b, a); (a, b) == (a, b); (a, 1) < (b, 2); (a, b) != (b, a); [a, b] < [a, b, 1]
(m, a) >= (n, b); (a,) == [a]; (m, n) > (n, m); (p, m) <= (q, n); (a, (b, m)) == (b, (a, n))
-0.4 < a <= b; a < b < m; m < n == n; 0 <= m < 5 and a > 0; a if p else b; m if p else n
a if p else m; p if q else m; True if p else a; 1 if p else 0; any([p, q]); all([p, q]); any([a, m])
all([m, n]); any([]); all([]); any(v > 0 for v in (a, b)); all(v > 0 for v in (a, b))
2 ** abs(n); (-2) ** abs(n); 0.5 ** n; m ** 2; m ** -1; m ** -2; a ** n; a ** -1; a ** 2; 2 ** p
(-m) ** 2; p ** q; p ** 2; m ** p; m ** abs(n); 2.0 ** n; 1 << abs(n); -m >> 1; m << p; ~m; ~~m
a.is_integer(); a.real; a.conjugate(); hasattr(a, "real"); hasattr(a, "missing")
getattr(a, "real", 3); getattr(a, "missing", 3); len([a, b]); len((m,)); len(range(n)); int(a * 3)
int(-a * 3); int(m / 2); int(a) // 2; int(a) % 3; m // 2 * 2 == m; abs(complex(a, b)); abs(-p)
(m + 2**40) % 7; m * 2**33 // 2**30; m + 10**12; m * 1103515245 + 12345; m < 2**40; m == 2**35
(m * 1103515245 + 12345) % 2**31; (m ^ 0x5DEECE66D) & (2**48 - 1); m * 10**18 > 0; a * 2**40
m + True; a + True; p + 1; p + 0.5; p * 2.5; p / 2; p // 1; p % 2; p * 3; p <= 1; p == 1; -p - q
sorted([a, b])[0]; sorted([m, n, 2])[1]; sorted([a, b], reverse=True)[0]; sorted([p, q])[0]
list(range(3))[m % 3]; max(range(3)) * a; ([a] * 2)[1]; ((a, b) + (m,))[2]; [*range(3), m][-1]
list(map(lambda v: v + m, [a, b]))[1]; list(map(abs, [a, m]))[0]; sum(map(int, [a, p]))
functools.reduce(operator.add, [p, q]); functools.reduce(lambda x, y: x * y + p, [p, q, m])
list(itertools.accumulate([p, q, p]))[-1]; list(itertools.accumulate([m, n], max))[1]
operator.add(p, q); operator.mul(m, p); operator.floordiv(m, 2); operator.contains([m], n)
math.dist([a, b], [m, n]); math.fsum([a, b, m]); math.fsum([m, n]); math.fsum([p, q])
math.prod([a, b, m]); math.prod([m, n]); math.prod([p, q]); math.log(abs(m) + 1, 2)
math.ldexp(a, n)
sum([v * a for v in reversed(range(3))]); max(reversed([m, n])); min([a, 2.0, 0.5], key=abs)
functools.reduce(lambda x, y: x * 2 + y, reversed([m, n]), 0)
[i for i, y in enumerate([m, 1], 1)][1]
[x * y for x, y in zip([a, b], [m, n], strict=True)][1]
[y for x, y in zip([a, b], "xy")][1] == "y"
[x * y for x, y in zip([a, b], [m, n, 3], strict=True)][1]; a in np.array([a, b])
m in {"x": 1}
m in np.arange(3); m in [None, m]; max([m]); max([], default=m)
max([2, 1, m], key=lambda v: v % 3)
max([3, 4], key=lambda v: v); max([1, 2], key=lambda v: v * m); (1, 2, a) < (1, 3); (1, a) == (2, b)
isinstance(3, int) and isinstance(m, int); isinstance("x", str) + m; hasattr([a], "append")
getattr([a], "nothing", m); type([a]) is list
int(sum(jnp.stack([m, n]))); sum((a, b), start=m)
int(sum([jnp.stack([m, n]), jnp.stack([m, m])])[0]); isinstance(f"{a}", int)
isinstance(str(m), str); type(str(m)) is str; {"x": a, "y": b}["y"]; operator.attrgetter("real")(a)
np.float64(m) / 2
(lambda *v: v[0])(a, b); (lambda **v: v["x"])(x=m); [*zip(*[(a, b), (m, n)])][0][1]
math.hypot(a, b, m); math.hypot(*[a, b, 2.0, n]); math.gcd(m, n, 6); math.lcm(m, n, 4)
math.comb(2 * m, m); math.perm(7, abs(n)); math.isqrt(m * m + 5); math.isqrt(2**62 - 1 + m)
math.ldexp(*math.frexp(a)); m.bit_length(); m.bit_count(); (7 * n).bit_length(); a.conjugate()
round(a + 0.05, 1); round(a * 0.0005, 3); round(a * 1234.5, -1); round(b + 2.675, 2); round(a, None)
round(m * 15, -1); round(m * 5, -1); round(a, 15); round(a * 1e20, 20); round(a, ndigits=0)
sorted([a, b, 0.3], key=lambda v: -v)[1]; sorted([a, b, 0.3], key=abs)[0]; sorted([a, b, m])[2]
sorted([(a, m), (b, n), (0.3, 2)], key=operator.itemgetter(0))[1][1]; sorted([(p, a), (q, b)])[0][1]
sorted([(p, 1), (q, 2), (p, 3)], key=lambda v: v[0], reverse=True)[0][1]
sorted([a, b], key=lambda v: 0)[1]; sorted([m, n], key=lambda v: (v % 2, -v))[0]
sorted([1, 2, 3], key=lambda v: v * m)[0]; {True: a, False: b}[p]; {1: a, 0: b}[m % 2]; {3: a}[m]
((1, a), (b, 2))[p][q]; (a, b)[not p]; [a, b, m][p + q]; "ab"[0] == "a"
(a, b).count(a); [m, n, 3].index(3); [m, n].index(m); operator.countOf([m, n, m], m)
operator.indexOf([n, m, 3], m); operator.truth(m); operator.index(m); operator.call(math.sin, a)
operator.methodcaller("conjugate")(a); operator.attrgetter("real", "imag")(complex(a, b))
list(itertools.starmap(math.atan2, [(a, b), (b, 1)]))[0]; list(filter(None, [1, 0, 2]))[1] * a
list(itertools.groupby([a, b], key=lambda v: 2))[0][0] * a
[k * sum(v) for k, v in itertools.groupby([a, b, m], key=lambda v: 2)][0]
list(itertools.accumulate([a, b], max))[1]; list(itertools.compress([a, b], [0, 1]))[0]
list(itertools.takewhile(lambda v: v < 3, [1, 2, 5]))[-1] * a
staticmethod(lambda v: v * 2)(a)
[a, b, m][1:][0]; bool(np.array(m)); int(np.array(m)) // 2; [a, b] * 2 == [a, b, a, b]
"""
EACH = [text.strip() for line in OTHERS.splitlines() for text in line.split(";")]
EXPRESSIONS = list(dict.fromkeys(filter(None, [*BINARY, *UNARY, *OF_TWO, *EACH])))

#: What Python can say of numbers and staging cannot, with a part of the message.
REFUSED = {
    "a is b": "Compare with == or !=",
    "m is n": "Compare with == or !=",
    "p is True": "Compare with == or !=",
    "p is not q": "Compare with == or !=",
    "~p": "Write not x, or ~int(x)",
    "m ** n": "write float(x) ** n",
    "2 ** n": "write float(x) ** n",
    "pow(2, n)": "write float(x) ** n",
    "round(a, n)": "Make the number static",
    "round(a, 30)": "at most 22",
    "sorted([(a, 'x'), (b, 'y')])[0][0]": "Sort an array by jnp.argsort",
    "list(filter(None, [a, b]))": "how many items filter gives",
    "list(itertools.takewhile(lambda v: v < 1, [a, b]))": "how many items takewhile gives",
    "a.hex()": ".hex of a traced float",
    "m.denominator": ".denominator of a traced int",
    "math.comb(m + 90, 45)": "more than 64 bits",
    "math.isqrt(-1 - abs(m))": "must be nonnegative",
    "pow(m, 2, 5)": "pow with a modulus",
    "isinstance(a, jnp.ndarray)": "may have been given as a number",
    "isinstance(jnp.stack([a, b]), np.ndarray)": "may have been given as a number",
    "type(jnp.stack([a, b]))": "may have been given as a number",
    'hasattr(a, "shape")': "may have been given as a number",
    'getattr(a, "shape", ())': "may have been given as a number",
    'str(m) == "3"': "Compare the values themselves",
    'f"{a:.1f}" in {"1.0": 2}': "Compare the values themselves",
    'f"{a}" < "2"': "Compare the values themselves",
    "len(str(m))": "Compare the values themselves",
    "str(m)[0] + str(n)": "Compare the values themselves",
    "str(m).upper()": "Compare the values themselves",
    '("%d" % m) == "3"': "Compare the values themselves",
    '"{}".format(m) == "3"': "Compare the values themselves",
    '",".join([str(m), "x"]) != "3,x"': "Compare the values themselves",
    'bool(repr(a) + "x")': "Compare the values themselves",
    "{a: 1}": "unhashable",
    "{7: a, 8: b}[m - 9]": "the key is not in the dict",
    "(m, n).index(m + n + 50)": "not in sequence",
    "sum(range(n))": "whose length depends on a traced value",
    "sum([v for v in (a, b) if v > 0])": "the number of a comprehension's items",
    "sum([v for v in range(n)])": "the number of a comprehension's items",
    "[a] * m": "expected an array or a number",
    "range(a)": "range() takes integers",
    "list(range(2.5))": "cannot be interpreted as an integer",
    "list(range(m, 2.5))": "range() takes integers, but got float",
    "list(range(0, 5, 0))": "must not be zero",
    "len(range(0, 5, m - m))": "must not be zero",
    "m // (n - n)": "integer division or modulo by zero",
    "m % (n - n)": "integer modulo by zero",
    "divmod(m, n - n)": "integer division or modulo by zero",
    "m / 0": "division by zero",
    "a % 0": "division by zero",
    "1 << -abs(n) - 1": "negative shift count",
    "m >> -1": "negative shift count",
    "math.factorial(m - 9)": "not defined for negative values",
    "math.factorial(abs(m) + 21)": "more than 64 bits",
    "m + 2**70": "does not fit in 64 bits",
    "functools.reduce(operator.add, reversed(range(n)), 0)": "depends on a traced value",
    "functools.reduce(max, zip(range(abs(n)), range(m)))": "depends on a traced value",
    'hasattr(m, "bit_length")': "may have been given as a number",
    'f"{m}" == "x" + f"{m}"': "Compare the values themselves",
    '"%s" % (str(m) + "x") == ""': "Compare the values themselves",
    'str("x" + str(m)) == "x3"': "Compare the values themselves",
}
#: What only data says, so that the whole program is captured.
CAPTURED: Final = (
    "a is a",
    "(a is float(a)) + (m is int(m))",
    "ord(chr(m + 90))",
    "sum([1, 2, 3][:m])",
    "[(a,), (a, b)][p][0]",
    "[np.ones(2), np.ones(3)][p].sum()",
    "[i * y for i, y in enumerate([a, b], m)][1]",
    'ord("abc"[m % 3])',
    '[{"x": a}, {"x": b, "y": a}][p]["x"]',
    '{"x": a, "y": b}["xy"[m % 2]]',
    "{1: a}.get(abs(m), b)",
    "len({m, n})",
    "hash(m) % 7",
    "[*range(3)].index(abs(m) % 3)",
)
#: Values that staging chooses between are of one class, which holds both.
CHOICES = (" and ", " or ", " if ", "max(", "min(", "sorted(", "][")


def function_of(expression: str) -> Callable[..., Any]:
    return compiled(
        f"def program(a, b, m, n):\n    p, q = a > 0, b > 0.5\n    return {expression}\n",
        cmath=cmath,
        functools=functools,
        itertools=itertools,
        jnp=jnp,
        math=math,
        np=np,
        numbers=numbers,
        operator=operator,
    )


def outcome(fun: Callable[..., Any], *args: Any) -> Any:
    try:
        return fun(*args)
    except Exception as error:
        return error


def staged_outcomes(fun: Callable[..., Any]) -> list[Any]:
    """Return a program's results at the points, equation by equation, or the error of staging."""
    try:
        staged = tinyjax.make_jaxpr(source.stage(fun))(*POINTS[0])
    except Exception as error:
        return [error] * len(POINTS)

    def run(*args: Any) -> Any:
        outs = eval_jaxpr(staged.jaxpr, [*staged.consts, *[jnp.asarray(x) for x in args]])
        found = [np.asarray(out)[()] for out in outs]
        return found if len(found) > 1 else found[0]

    return [outcome(run, *point) for point in POINTS]


def agrees(expression: str, expected: Any, actual: Any, tolerance: float) -> bool:
    """Return whether a staged expression gives Python's result, or the documented other one."""
    if isinstance(expected, tuple):
        return all(
            agrees(expression, *pair, tolerance) for pair in zip(expected, actual, strict=True)
        )
    if isinstance(expected, Exception):  # a float divided by zero, and what is not real
        return isinstance(actual, Exception) or not np.all(np.isfinite(actual))
    expected = expected.item() if isinstance(expected, np.generic) else expected
    if isinstance(expected, complex) and actual.dtype.kind != "c":
        return bool(np.isnan(actual))
    classes = (bool, int, float, complex)
    at_least = any(word in expression for word in CHOICES)
    ranks = classes.index(type(expected)), classes.index(type(actual.item()))
    if ranks[0] > ranks[1] or (ranks[0] != ranks[1] and not at_least):
        return False
    return cmath.isclose(expected, actual, rel_tol=tolerance, abs_tol=tolerance)


@pytest.mark.parametrize("mode", ["float64", "float32"])
def test_expressions(mode: str) -> None:
    tolerance = 1e-12 if mode == "float64" else 2e-5
    wrong = []
    with tinyjax.default_dtypes(mode):
        for expression in EXPRESSIONS:
            fun = function_of(expression)
            for point, found in zip(POINTS, staged_outcomes(fun), strict=True):
                expected = outcome(fun, *point)
                if isinstance(found, Exception) and isinstance(expected, Exception):
                    continue
                if isinstance(found, Exception) and is_negative_power(expression, str(found)):
                    continue
                if mode == "float32" and is_near_a_jump(expression):
                    continue
                if isinstance(found, Exception) or not agrees(
                    expression, expected, found, tolerance
                ):
                    wrong.append((expression, point, expected, found))
    assert not wrong, "\n".join(map(str, wrong))


def is_negative_power(expression: str, message: str) -> bool:
    return ("**" in expression or "pow" in expression) and "write float(x) ** n" in message


def is_near_a_jump(expression: str) -> bool:
    """Return whether the result jumps where single precision rounds otherwise."""
    return any(op in expression for op in ("//", "%", "divmod", "remainder", "round("))


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_refused_says_why(expression: str) -> None:
    fun = function_of(expression)
    outcomes = staged_outcomes(fun)
    errors = [found for found in outcomes if isinstance(found, Exception)]
    assert errors
    causes = [(e.__cause__ or e) if isinstance(e, UndecidedError) else e for e in errors]
    for error in causes:
        if isinstance(error, TinyjaxError):
            assert REFUSED[expression] in error.message
            assert error.location is not None
            assert error.location.lineno == 3
        else:
            assert REFUSED[expression] in str(error)
            assert "line 3" in error.__notes__[0] or ":3 in program" in error.__notes__[0]


@pytest.mark.parametrize("expression", CAPTURED)
def test_what_is_captured(expression: str) -> None:
    fun = function_of(expression)
    with tinyjax.default_dtypes("float64"):
        compiled_fun = tinyjax.jit(fun, control_flow="source")
        for point in POINTS:
            assert float(compiled_fun(*point)) == pytest.approx(float(fun(*point)), rel=1e-14)


@pytest.mark.slow
def test_expressions_are_compiled_and_mapped_alike() -> None:
    chosen = []
    with tinyjax.default_dtypes("float64"):
        for expression in EXPRESSIONS[::9]:
            found = staged_outcomes(function_of(expression))
            if not any(isinstance(x, (Exception, list)) for x in found):
                chosen.append((expression, found))
        text = ", ".join(f"({expression})" for expression, _ in chosen)
        fun = function_of(f"({text})")

        def of_python(a: Any, b: Any, m: Any, n: Any) -> Any:
            return fun(float(a), float(b), int(m), int(n))

        compiled = tinyjax.jit(of_python, control_flow="source")
        columns = [jnp.array(column) for column in zip(*POINTS, strict=True)]
        mapped = tinyjax.vmap(compiled)(*columns)
        for i, point in enumerate(POINTS):
            for (expression, found), one, example in zip(
                chosen, compiled(*point), mapped, strict=True
            ):
                np.testing.assert_allclose(one, found[i], 1e-12, 1e-12, err_msg=expression)
                np.testing.assert_allclose(example[i], found[i], 1e-12, 1e-12, err_msg=expression)


@pytest.mark.parametrize(
    ("expression", "small", "large"),
    [
        ("m * n", (2**31, 2**31), (2**32, 2**31)),
        ("m + n", (2**62, 2**61), (2**62, 2**62)),
        ("m - n", (2**62, -(2**61)), (-(2**62), 2**62 + 2**20)),
        ("m ** n", (3, 39), (3, 41)),
        ("m << n", (3, 60), (3, 63)),
    ],
)
def test_integers_of_more_than_64_bits_are_errors(
    expression: str, small: tuple[int, int], large: tuple[int, int]
) -> None:
    fun = compiled(f"def program(m, n):\n    return {expression}")
    with tinyjax.default_dtypes("float64"):
        staged = tinyjax.jit(fun, control_flow="source")
        assert int(staged(*small)) == fun(*small)
        with raises(CheckFailedError, match="more than 64 bits"):
            staged(*large)


def test_sums_of_a_loop_are_checked() -> None:
    def doubled(n: int) -> int:
        found = 1
        for _ in range(n):
            found += found
        return found

    with tinyjax.default_dtypes("float64"):
        staged = tinyjax.jit(doubled, control_flow="source")
        assert int(staged(62)) == 2**62
        with raises(CheckFailedError, match="more than 64 bits") as caught:
            staged(64)
    assert str(caught.value).endswith(": found += found")
