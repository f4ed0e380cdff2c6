"""Numbers that a program writes as texts and reads again lose their derivative, or are refused."""

import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tools.modules import module_of

#: What writes a number ``n``, the first of an array ``x``.
WRITERS = (
    *("str(n)", "repr(n)", "f'{n}'", "f'{n!r}'", "'%s' % n", "'%r' % (n,)", "'{}'.format(n)"),
    *("format(n)", "f'{n:g}'", "f'{n:.3f}'", "'%.3f' % n", "'%.1f' % n", "str(x[0])", "str(n * 2)"),
    *("np.format_float_positional(n)", "np.array2string(x[0])", "'-' + str(n)", "str(-n)"),
    *("str(n) + 'e3'", "str(n) + ' * 2'", "' '.join([str(n), '* 2'])", "str(n).strip()"),
)
#: What reads a text ``t``.
READERS = (
    *("eval(t)", "eval(t + ' + 1')", "eval(f'3 * {t}')", "eval(f'max({t}, 0.1)')"),
    *("eval(compile(t, '', 'eval'))", "float(eval(t))", "ast.literal_eval(f'[{t}]')[0]"),
    *("float(t)", "complex(t).real", "np.float64(t)", "float(decimal.Decimal(t))"),
    *("float(fractions.Fraction(t))", "np.array([t]).astype(float)", "np.array([t], float)"),
    *("json.loads(t)", "json.loads(f'[{t}]')[0]", "sum(map(float, t.split()))"),
    *("float(re.findall('[-.0-9]+', t)[0])", "np.fromstring(t, sep=' ')", "TABLE['k' + t]"),
    *("np.loadtxt(io.StringIO(t))", "np.asarray(t, float)", "float(t.encode())", "TABLE[t]"),
    "run(t)",
)
MODULE = """
import ast, decimal, fractions, io, json, re
import numpy as np

class Table(dict):
    pass

TABLE = {{}}
for a in ("0.7", "0.8125", "3.0"):
    TABLE[a] = TABLE["k" + a] = float(a)

def run(t):
    scope = {{}}
    exec("r = " + t, scope)
    return scope["r"]

def f(x):
    n = float(x[0])
    t = {writer}
    return np.sum(np.asarray({reader}, dtype=float)) + np.sum(x**2)
"""
#: One text has three characters, one six, one a number that is an integer.
POINTS = (np.array([0.7, 0.2]), np.array([0.8125, 0.2]), np.array([3.0, 0.2]))
STEP = np.array([1e-3, 0.0])
CASES = [*product(WRITERS, READERS)]


def _is_right_or_refused(f: Callable[..., float], x: np.ndarray) -> bool:
    """Return whether a gradient has what the number, read again, changes; or is refused."""
    try:
        f(x)
    except (
        ValueError,
        TypeError,
        SyntaxError,
        KeyError,
        ArithmeticError,
    ):  # the reader takes no such text
        return True
    try:
        (slope, _) = source.grad(f)(x)
    except tinyjax.errors.TinyjaxError:
        return True
    try:
        difference = (f(x + STEP) - f(x - STEP)) / 2e-3
    except KeyError:  # the table has no such numbers
        return False
    return bool(abs(slope - difference) < 1e-2)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("writer", "reader"), CASES)
def test_a_number_read_from_its_text_is_refused(writer: str, reader: str, tmp_path: Path) -> None:
    f = module_of(MODULE.format(writer=writer, reader=reader), tmp_path / "program.py").f
    for x in POINTS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            assert _is_right_or_refused(f, x)
