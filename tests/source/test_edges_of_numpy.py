"""NumPy at the edges: few elements, zero divisors, roots, casts, few bits, masks, subclasses."""

import itertools
import random
from pathlib import Path
from typing import Final

import entries
import pytest

pytestmark = pytest.mark.usefixtures("double_precision")

HEAD: Final = """
import math, operator, statistics
import numpy as np
class S(np.ndarray):
    def __new__(cls, a, tag=None):
        made = np.asarray(a).view(cls)
        made.tag = tag
        return made
    def __array_finalize__(self, a):
        self.tag = getattr(a, 'tag', None)
class I:
    def __init__(self, a): self.a = a
    @property
    def __array_interface__(self): return self.a.__array_interface__
"""
#: Of variances, quotients and conversions.
EXPRESSIONS: Final = [
    *("(x * 300).astype(np.uint8).sum()", "np.int8(x[2] * 300)", "np.int8(int(x[2] * 100)) * 1.0"),
    *("(np.int32(3) if x[0] > 0.5 else 4) * 1000000 * 1000", "math.prod(x.astype(np.float32))"),
    *(f"np.{name}(x, ddof={n})" for name in ("var", "std", "nanvar") for n in (3.5, 4, 5, 4.0, -1)),
    *(f"x.reshape(2, 2).{name}(1, None, None, {n})[0]" for name in ("var", "std") for n in (1, 2)),
    *(f"np.var(x, ddof={n}, where=np.array([True, True, False, False]))" for n in (1, 2, 3)),
    *("np.var(x, correction=4)", "np.std(x[:1] * 0 + 2, ddof=2)", "np.var(x[:0])", "x.std(ddof=6)"),
    *(
        "np.cov(x, ddof=4)",
        "np.cov(x[:1])",
        "statistics.variance(x[:1].tolist())",
        "np.mean(x[:0])",
    ),
    *("np.average(x, weights=x * 0)", "np.average(x, weights=x)", "np.average(x, 0, [1, 2, 3, 4])"),
    *("np.quantile(x, x[0])", "np.quantile(x, x[0] + 1)", "np.percentile(x, 150)", "x[7]", "x[-7]"),
    *("x.item(9)", "x.reshape(2, 2)[0, 3]", "x[[0, 7]].sum()", "x[np.array([1, 2])].sum()"),
    *("float(x)", "float(x[0] * 1j)", "x[0] + {}", "5 in x[0]"),
    *(f"np.sum({form})" for form in ("a // b", "a % b", "divmod(a, b)[0]", "np.divmod(a, b)[0]")),
    *(f"np.sum({form})" for form in ("np.fmod(a, b)", "np.floor_divide(a, b)", "7 // b", "a // 2")),
    *("float(complex(x[0], 1.0) < 3)", "np.sum(np.asarray(I(x)))", "np.sin(I(x)).sum()"),
]
#: Of a mask that the program may change.
MASKED: Final = [
    f"m = np.ma.{made}; {then}k[0] = True; return {result}"
    for made, then, result in itertools.product(
        ("array(x, mask=k)", "masked_array(x, k)", "array(x, mask=k, copy=True)"),
        ("", "m = m[1:]; ", "m = m * 2; ", "m = m.reshape(2, 2).T; ", "m = np.ma.array(m); "),
        ("m.sum()", "(m * 2).sum()", "np.mean(m)", "m.filled(0.0).sum()"),
    )
] + [
    f"return np.ma.masked_{form}.sum()"
    for form in ("less(np.ma.array(x), 0.1)", "greater(np.ma.masked_less(x, 0.1), 5)")
]
#: Of arrays of a subclass, whose results are of it, or not.
SUBCLASSES: Final = [
    *(
        f"s.{name}()"
        for name in ("std", "any", "sum", "var", "argmax", "argsort", "copy", "flatten")
    ),
    *(
        "np.median(s)",
        "np.dot(s, s)",
        "m.trace()",
        "s.dot(s)",
        "np.ptp(s)",
        "s.take([0])",
        "s[[0, 1]]",
    ),
    *(
        "s[s > 0]",
        "np.diff(s)",
        "np.nanmean(s)",
        "np.nansum(s)",
        "np.broadcast_to(s, (2, 4))",
        "s[0]",
    ),
    *("np.tile(s, 2)", "np.roll(s, 1)", "np.linalg.inv(m)", "np.gradient(s)", "np.trapezoid(s)"),
    *(
        "np.median(m, axis=0)",
        "np.where(s > 0, s, 1)",
        "np.sort(s)",
        "np.concatenate([s, s])",
        "s[:2]",
    ),
    *(
        "np.sum(s, keepdims=True)",
        "np.outer(s, s)",
        "np.split(s, 2)[0]",
        "np.linalg.norm(s)",
        "s @ s",
    ),
]
#: Of one half as an exponent, which is a root in some forms.
POWERS: Final = [
    *(
        "a ** 0.5",
        "np.power(a, 0.5)",
        "a ** np.float64(0.5)",
        "a ** np.float32(0.5)",
        "pow(a, 0.5)",
    ),
    *(
        "a ** np.array([0.5])",
        "a ** np.full(4, 0.5)",
        "np.power(a, 0.5) * 2",
        "a[:, None] ** 0.5",
    ),
    *("np.array([v ** 0.5 for v in a])", "np.array([np.power(v, 0.5) for v in a])", "a ** 0.25"),
    *("np.float_power(a, 0.5)", "np.power(a, 0.5, where=a < 5, out=a)", "(a + 0j) ** 0.5"),
    *(
        "np.array([np.power(v[None], 0.5)[0] for v in a])",
        "operator.pow(a, 0.5)",
        "a ** (0.5+0j)",
    ),
]
#: Writes of numbers that NumPy casts to the dtype of an array, or does not.
CASTS: Final = [
    f"a = np.zeros(4, {dtype}); {write}; return np.sum(a * x)"
    for dtype, write in itertools.product(
        ("int", "np.float32", "bool", "np.int8"),
        (
            *("np.place(a, x > 0, x)", "np.putmask(a, x > 0, x)", "np.put(a, [0, 2], x[:2])"),
            *("np.copyto(a, x)", "np.copyto(a, x, where=x > 0)", "np.copyto(a, x[0])"),
            *("np.copyto(a, float(x[0]))", "np.copyto(a, list(x))", "np.copyto(a, x, 'unsafe')"),
            *("np.copyto(a, x, 'unsafe', [True, False] * 2)", "np.copyto(a, (x > 0).astype(int))"),
            *("np.copyto(a, x > 0)", "np.put_along_axis(a, np.arange(4), x, 0)", "a.flat = x"),
        ),
    )
]
#: Indices of flat iterators, which take others than arrays.
FLAT: Final = [
    f"a = x * 1.0; {line}"
    for key in (
        *("True", "False", "np.array(True)", "[0, True]", "[True, False, True, False]", "None"),
        *("(0,)", "[[0, 1]]", "...", "1.0", "-1", "7", "[]", "()", "a > 1", "slice(1, None)"),
    )
    for line in (f"return np.sum(a.flat[{key}] * 2)", f"a.flat[{key}] = 3.0 * x[0]; return a @ x")
]
#: Of numbers in few bits: n is an integer of Python's, 600; z one of NumPy's; x are floats.
IN_FEW_BITS: Final = [
    *(
        "k + n",
        "k - n",
        "n * k",
        "k // n",
        "np.minimum(k, n)",
        "np.clip(k, 0, n)",
        "k == n",
        "k < n",
    ),
    *("np.full(4, n, np.int8)", "np.full_like(k, n)", "np.array([n, 1, 2, 3], np.int8)", "k + z"),
    *("np.array([[n] * 4], np.int8)", "np.asarray(n, np.int8)", "np.array(n).astype(np.int8)"),
    *("np.pad(k, 1, constant_values=n)[1:5]", "np.append(k, n)[1:]", "np.insert(k, 0, n)[:4]"),
    *(
        "np.where(x > 1, np.int8(1), n)",
        "np.full_like(k, x[0] * 900)",
        "np.int8(n)",
        "np.dot(k, n)",
    ),
    *("np.array([x[0] * np.nan] * 4, int)", "np.array([x[0] * 9e30, 1, 2, 3], int)", "k ** 2 * 9"),
    *(
        "np.linspace(0, n, 4, dtype=np.int8)",
        "np.array(x * 900, np.int8)",
        "np.uint8(-n)",
        "np.full_like([1, 2, 3, 4], x[0])",
        "isinstance(n, np.int8)",
    ),
]
#: Writes of such numbers.
WRITES_OF_NUMBERS: Final = [
    f"{target} = {value}"
    for target, value in itertools.product(
        ("k[0]", "k[:]", "k[[0, 1]]", "k[x > 1]", "k[1:3]", "i[0]", "i[:]", "i[[1]]"),
        ("n", "z", "x[0] * 900", "x[0] * np.nan", "float(x[0]) * 1e30", "-n", "np.array(z)"),
    )
] + [
    "k += n",
    "np.put(k, [0], n)",
    "k.fill(n)",
    "np.add(k, n, out=k)",
    "k[:2] = [n, 1]",
    "k.flat[0] = x[0] * 9",
]
PROGRAMS: Final = [
    f"{HEAD}def f(x):\n    {line}\n"
    for line in (
        *(
            f"a, b = (x * 3).astype(int), (x * 1.5).astype(int); return x[0] + {expression}"
            for expression in EXPRESSIONS
        ),
        *(f"k = np.zeros(4, bool); {lines}" for lines in MASKED),
        *(
            f"s = S(x, 'a'); m = s.reshape(2, 2); r = {result}; "
            "return np.sum(np.asarray(r)) * (2.0 if getattr(r, 'tag', '') == 'a' else 3.0)"
            for result in SUBCLASSES
        ),
        *(
            f"a = np.array([-np.inf, -0.0, 4.0, 1.0]) * x; r = np.asarray({power}); "
            "return x @ x + np.sum(np.isnan(r)) + 0.1 * np.sum(np.signbit(r.real))"
            for power in POWERS
        ),
        *CASTS,
        *(
            "n = int(np.sum(x > -9)) * 150; z = np.sum(x > -9) * 150; "
            f"k, i = np.zeros(4, np.int8), np.zeros(4, int); {line}"
            for line in (
                *(f"return np.sum({expression} * x)" for expression in IN_FEW_BITS),
                *(f"{write}; return np.sum((i + k) * x)" for write in WRITES_OF_NUMBERS),
            )
        ),
        *FLAT,
    )
]


@pytest.mark.parametrize("turn", range(24))
def test_some_programs(turn: int, tmp_path: Path) -> None:
    """A program has NumPy's numbers in all ways, or is refused."""
    entries.check(random.Random(turn).choice(PROGRAMS), tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("text", PROGRAMS)
def test_all_programs(text: str, tmp_path: Path) -> None:
    entries.check(text, tmp_path)
