"""Functions of truth values, integers of few bits and float32: their values in every entry."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import entries
import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError

HEAD: Final = """
import numpy as np

def f(x):
    b, h, i4 = x > 0.5, x.astype(np.float32), (x * 100).astype(np.int32)
    i1, u1 = (x * 10).astype(np.int8), (x * 10).astype(np.uint8)
    i2, u2 = (x * 100).astype(np.int16), (x * 100).astype(np.uint16)
    return np.sum(np.asarray({call}, dtype=float)) + np.sum(x ** 2)
"""
OPERANDS: Final = ("b", "i1", "u1", "i2", "u2", "i4", "h")
UNARY: Final = """
sin cos exp sqrt log1p tanh arctan cbrt exp2 expm1 arcsinh deg2rad rint floor fabs sinh square
reciprocal negative absolute ceil isfinite logical_not log2 conj degrees
sum mean prod std cumsum cumprod median max ptp var average vander diff sort
""".split()  # noqa: SIM905
BINARY: Final = """
add multiply subtract true_divide arctan2 hypot logaddexp power maximum copysign fmod remainder
floor_divide float_power heaviside dot outer convolve correlate kron
""".split()  # noqa: SIM905
PAIRS: Final = ("b, b", "i1, i1", "u1, i1", "i1, b", "i2, u1", "i1, h", "u2, i2", "i4, i4", "i1, x")
NUMBERS: Final = ("i1, 2", "i1, 2.0", "h, 2.0", "b, 1.5", "i2, np.float32(2)", "i4, np.int64(3)")
OPERATIONS: Final = (
    """
i1 ** 2; i1 ** 2.0; i1 ** 3.0; i4 ** 2.0; i4 ** -2.0; b ** 2.0; h ** 2.0; h ** np.float64(2)
i1 ** np.int64(2); 2 ** i1; 2.0 ** i1; i1 / i1; i1 // 2; i1 % 3; -u1; ~i1; i1 << 1; i1 * 100
u1 - u1[::-1]; h * x[0]; i1 * np.float32(2); u1 + np.int8(1); h + np.float64(1); i1.cumprod()
u1.cumsum(); b.sum(); i1.prod(); h.mean(); np.add.accumulate(i1); np.multiply.accumulate(i1)
np.add.reduce(u1); np.multiply.reduce(i2); np.bincount(i1); np.where(b, i1, 2.5)
""".replace("\n", "; ")
    .strip("; ")
    .split("; ")
)
CALLS: Final = [
    *(f"np.{name}({operand})" for name, operand in itertools.product(UNARY, OPERANDS)),
    *(f"np.{name}({pair})" for name, pair in itertools.product(BINARY, PAIRS)),
    *(f"np.{name}({pair})" for name, pair in itertools.product(BINARY[:15], NUMBERS)),
    *OPERATIONS,
]
LIFTS: Final[dict[str, Callable[[Any], Callable[..., Any]]]] = {
    "read": lambda fun: lambda x: source.value_and_grad(fun)(x)[0],
    "captured": source.capture,
    "compiled capture": lambda fun: tinyjax.jit(source.capture(fun)),
    "differentiated capture": lambda fun: (
        lambda x: tinyjax.value_and_grad(source.capture(fun))(x)[0]
    ),
    "staged": entries.stage,
}


def check_call(call: str, folder: Path) -> None:
    """Check values of a call; NumPy computes some functions of small integers in 16 bits."""
    subject, x = entries.Subject(HEAD.format(call=call), folder), np.array(entries.POINTS[0])
    with np.errstate(all="ignore"):
        try:
            expected = float(subject.plain()(x))
        except TypeError:  # the function has no loop for these
            return
        for name, lift in LIFTS.items():
            try:
                value = float(lift(subject.fresh())(x))
            except TinyjaxError:
                continue
            if np.isfinite(expected):
                assert value == pytest.approx(expected, rel=2e-3), (call, name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", range(4))
def test_some_functions_of_narrow_numbers(share: int, tmp_path: Path) -> None:
    for call in np.random.default_rng(share).choice(CALLS, 16, replace=False):
        check_call(call, tmp_path)


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_all_functions_of_narrow_numbers(call: str, tmp_path: Path) -> None:
    check_call(call, tmp_path)
