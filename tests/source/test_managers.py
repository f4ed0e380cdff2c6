"""Context managers of programs that cannot be read to their end: each that is entered is left."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tools.modules import module_of

pytestmark = pytest.mark.usefixtures("double_precision")

HEAD: Final = """
import contextlib
import decimal
import io
import math
import sys
import threading
import warnings

import numpy as np

LOCK = threading.Lock()
OPEN = []


class Own:
    def __enter__(self):
        OPEN.append(self)

    def __exit__(self, *_):
        OPEN.pop()


@contextlib.contextmanager
def generated():
    OPEN.append(1)
    try:
        yield
    finally:
        OPEN.pop()


OWN = Own()


def state():
    return LOCK.locked(), len(OPEN), np.geterr(), decimal.getcontext().prec, sys.stdout


def unreadable(x):
    try:
        return math.sin(x)
    except ValueError:
        return 0.0


def negative(x):
    if x < 10:
        return math.sin(x)
    raise KeyError(x)


def deep(x, n):
    return x if n == 0 else math.sin(deep(x, n - 1))
"""
MANAGERS: Final = (
    *("LOCK", "OWN", "generated()", "np.errstate(over='ignore')", "decimal.localcontext(prec=5)"),
    *("contextlib.redirect_stdout(io.StringIO())", "contextlib.closing(io.StringIO())"),
    *("OWN, LOCK", "contextlib.ExitStack()", "contextlib.nullcontext()"),
)
#: What ends the reading of a program, and the points at which it does not raise.
ENDS: Final = {
    "y = unreadable(x)": (0.3, 0.4, 50.0),
    "y = negative(x)": (0.3, 50.0, 0.3),
    "y = deep(x, 20)": (0.3,),
    "y = math.sin(x) if x < 10 else unreadable(x)": (0.3, 50.0, 0.3),
    "z = [x]; z[0] = math.sin(x); y = z[0]": (0.3,),
    "y = x / (x - 50.0)": (0.3, 50.0, 0.3),
}
WAYS: Final[dict[str, Callable[[Any], Any]]] = {
    "read": source.value_and_grad,
    "captured": lambda fun: tinyjax.value_and_grad(source.capture(fun)),
    "staged": lambda fun: tinyjax.value_and_grad(source.stage(fun)),
    "compiled": lambda fun: tinyjax.jit(
        tinyjax.value_and_grad(tinyjax.jit(fun, control_flow="source"))
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_managers_are_left(way: str, tmp_path: Path) -> None:
    programs = [*itertools.product(MANAGERS, ENDS)]
    texts = [
        f"def f{i}(x):\n    with {manager}:\n        {end}\n    return y * x\n"
        for i, (manager, end) in enumerate(programs)
    ]
    module = module_of(HEAD + "\n\n".join(texts), tmp_path / "managed_programs.py")
    before = module.state()
    for i, (manager, end) in enumerate(programs):
        fun = getattr(module, f"f{i}")
        lifted = WAYS[way](fun)
        for x in ENDS[end]:
            try:
                expected = fun(x)
            except (KeyError, ZeroDivisionError):
                expected = None
            try:
                value, _ = lifted(x)
            except (tinyjax.errors.TinyjaxError, KeyError, ArithmeticError):
                value = None
            assert module.state() == before, (manager, end, x)
            if None not in (value, expected):
                np.testing.assert_allclose(value, expected, err_msg=f"{manager} {end}")
