"""Operators that a subclass of ``numpy.ndarray`` has of its own, as Python and NumPy call them."""

from pathlib import Path
from typing import Final

import entries
import pytest

pytestmark = pytest.mark.usefixtures("double_precision")

CLASS: Final = """
import functools
import math
import operator

import numpy as np


class S(np.ndarray):
    def __new__(cls, a):
        made = np.asarray(a).view(cls)
        made.tag = 2.0
        return made

    def __array_finalize__(self, made):
        self.tag = getattr(made, "tag", 3.0)

    def {name}(self{parameters}):
        return {result}


def f(x):
    s = S(x)
    r = {use}
    return r * getattr(r, "tag", 1.0)
"""
#: Methods that Python calls, and expressions in which it does, or in which NumPy does not.
OPERATORS: Final = {
    "__getitem__, i": """s[1]; sum(v for v in s); list(s)[1]; max(s); np.sum(s); next(iter(s))
        sorted(s)[0]; functools.reduce(operator.mul, s); [*s][2]; operator.getitem(s, 1)
        np.take(s, 1); s.item(1); s.flat[1]; math.fsum(s); s[1:].sum(); dict(enumerate(s))[2]""",
    "__add__, o": """(s + x).sum(); operator.add(s, x).sum(); sum([s, x]).sum(); (s + s).sum()
        np.add(s, x).sum(); functools.reduce(operator.add, [s, x]).sum(); (x + s).sum()""",
    "__radd__, o": "(x + s).sum(); (1 + s).sum(); (x[0] + s).sum(); (float(x[0]) + s).sum()",
    "__rmul__, o": "(x * s).sum(); (2 * s).sum(); (x[0] * s).sum(); (float(x[0]) * s).sum()",
    "__rsub__, o": "(x - s).sum(); (1 - s).sum(); (s - 1).sum(); (float(x[0]) - s).sum()",
    "__pow__, o": "(s ** 2).sum(); pow(s, 2).sum(); np.power(s, 2).sum(); (2 ** s).sum()",
    "__neg__": "(-s).sum(); np.negative(s).sum(); operator.neg(s).sum()",
    "__abs__": "abs(s).sum(); np.abs(s).sum()",
    "__matmul__, o": "s @ x; x @ s; np.matmul(s, x)",
    "__lt__, o": "np.sum(s < 0.5) + x[0]; np.sum(0.5 > s) + x[0]; np.sum(np.less(s, 0.5)) * x[1]",
}
RESULTS: Final = ("np.ndarray.{name}(self{parameters}) * 2", "super().{name}({arguments}) * 2")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize(
    ("method", "use"),
    [(name, use) for name, uses in OPERATORS.items() for use in uses.replace("\n", ";").split(";")],
)
def test_operators_of_a_subclass(method: str, use: str, result: str, tmp_path: Path) -> None:
    name, comma, argument = method.partition(", ")
    parameters = comma + argument
    result = result.format(name=name, parameters=parameters, arguments=argument)
    text = CLASS.format(name=name, parameters=parameters, result=result, use=use.strip())
    entries.check(text, tmp_path)
