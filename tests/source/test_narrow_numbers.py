"""Functions of truth values, integers of few bits and float32: their values in every entry.

Positions, counts and sums are integers of 64 bits.
"""

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
#: Integers that have more than 32 bits, of ``k``, which has integers, and ``m``, its first.
WIDE: Final = """
k * 10**7 | np.sum(k * 10**6) | np.sum(k) * 10**7 | k ** 4 | np.prod(k) | np.cumprod(k)
m * 10**8 | m ** 4 | np.sum((x * 1e9).astype(int)) | np.dot(k * 10**4, k * 10**4)
(k * 10**4) @ (k * 10**4) | np.arange(4) * 10**9 * m | np.int64(m) * np.int64(10**8)
np.full(3, 10**10) * n | np.full(3, m * 10**8) | np.array([m, 10**10])
np.array([10**10]) + k[0] | k + 10**10 | k * 10**10 // 10**9 | (k * 10**10) % 7 | k << 25
m << 30 | np.left_shift(k, 25) | 2 ** (k // 20) | 1 << (m // 15) | np.outer(k * 10**4, k * 10**4)
np.einsum("i,i", k * 10**4, k * 10**4) | np.sum(k.astype(np.int64) * 10**8) | np.abs(-k * 10**8)
np.maximum(k * 10**8, 5) | np.where(x > 0.5, k * 10**8, 10**10) | np.diff(k * 10**8)
np.cumsum(k * 10**8) | np.mean(k * 10**8) | np.var(k * 10**7) | int(np.sum(k)) * 10**8
float(m * 10**9) | m * 10**9 / 10**9 | divmod(m * 10**9, 10**8)[0] * 1e8 | len(x) * 10**10 * n
x.size * 10**10 * n | np.argmax(x) * 10**10 * n | np.searchsorted([0.1, 0.9], x) * 10**10
np.bincount([0, 1, 1], weights=k[:3]) * 1e8 | np.count_nonzero(x > 0.5) * 10**10
np.sum(x > 0.5) * 10**10 | (x > 0.5).sum() * 3 * 10**9 | (x > 0.5) * 10**10 | k.max() * 10**8
k.tolist()[0] * 10**9 | k.item(0) * 10**9 | k[0].item() ** 4
k.astype(np.int32) * np.int32(10**7) | k.astype(np.uint8).sum() * 10**9
np.bitwise_xor(k * 10**8, 2**33) | (k * 10**8) & (2**34 - 1) | ~(k * 10**8) | -(k * 10**8)
np.gcd(k * 10**8, 10**9) | np.polyval([10**9, 10**9, 1], k // 100) | np.arange(m, m + 3) * 10**9
np.linspace(0, 10**10, 3).astype(int) * n | np.power(k, 4) | k.astype(float) * 10**10
np.add(k, 10**10) | np.multiply(k, 10**8) | np.add.reduce(k * 10**8) | np.multiply.reduce(k)
np.tensordot(k * 10**4, k * 10**4, 1) | np.inner(k * 10**4, k * 10**4)
np.vdot(k * 10**4, k * 10**4) | np.kron(k * 10**4, k * 10**4)
np.trace(np.outer(k * 10**4, k * 10**4)) | np.convolve(k * 10**4, k * 10**4)
np.argmax(x) * 10**9 * 5 | np.count_nonzero(x > 0.5) * 10**9 * 3 | np.sum(x > 0.5) * 10**9 * 3
np.searchsorted([0.1, 0.9], x) * 10**9 * 3 | np.digitize(x, [0.1, 0.9]) * 10**9 * 3
np.argsort(x) * 10**9 | np.argsort(x) * 10**9 * 3 | np.nonzero(x > 0.1)[0] * 10**9
np.bincount([0, 1, 1]) * 10**9 * m | np.cumsum(x > 0.1) * 10**9
np.cumsum(k.astype(np.int8)) * 10**7 * 100 | np.prod(k.astype(np.int16) // 10)
np.prod(k.astype(np.int32)) | np.sum(k.astype(np.int32) * 1000) * 1000
k.astype(np.int32).sum() * 10**6 | np.cumprod(k.astype(np.int32))
np.dot(x > 0.1, x > 0.1) * 10**9 | np.trace(np.eye(3, dtype=int)) * 10**9 * m
np.indices((2, 3)) * 10**9 * m | np.where(x > 0.1)[0] * 10**9 | (x > 0.1).astype(int) * 10**10
(x > 0.1).astype(int).sum() * 10**9 | np.mean(x > 0.1) * 10**10 | (x > 0.1).cumsum() * 10**9
np.diff(x > 0.1).sum() * 10**9 * 9 | np.sign(k) * 10**10 | np.sign(k) * 10**9 * 5
int((x > 0.1).sum()) * 10**9 | len(x[x > 0.1]) * 10**9 * 3
np.floor(x * 3).astype(np.int32).sum() * 10**9 | np.unique(np.round(x)).size * 10**9 * 3
np.histogram(x, 3)[0] * 10**9 * 3 | np.linspace(0, 3, 4, dtype=int) * 10**9 * m
np.tri(3, dtype=int).sum() * 10**9 * m | np.ones(4, int).sum() * 10**9 * m
np.zeros(4, int) + 10**9 * m | np.full(4, m).sum() * 10**7 | max(k.argmax(), 2) * 10**9 * 3
np.isin(k, [700, 310]).sum() * 10**9 * 3 | (k > 400).sum() * 10**9 * 2 | np.all(x > 0) * 10**10
np.array([True, False]).sum() * 10**9 * m | np.bitwise_count(k).sum() * 10**9
np.logical_and(x > 0.1, x < 1).sum() * 10**9 * 2
"""
WIDE_HEAD: Final = """
import numpy as np

def f(x):
    n, k, m = float(x[0]), (x * 1000).astype(int), int(x[0] * 1000)
    return np.sum(np.asarray({call}, dtype=float)) * 1e-9 + np.sum(x ** 2)
"""
WIDE_CALLS: Final = [call for line in WIDE.split("\n") if line for call in line.split(" | ")]
LIFTS: Final[dict[str, Callable[[Any], Callable[..., Any]]]] = {
    "read": lambda fun: lambda x: source.value_and_grad(fun)(x)[0],
    "captured": source.capture,
    "compiled capture": lambda fun: tinyjax.jit(source.capture(fun)),
    "differentiated capture": lambda fun: (
        lambda x: tinyjax.value_and_grad(source.capture(fun))(x)[0]
    ),
    "staged": entries.stage,
    "eager staged": source.stage,
}


def check_call(call: str, folder: Path) -> None:
    """Check values of a call; NumPy computes some functions of small integers in 16 bits."""
    head = WIDE_HEAD if call in WIDE_CALLS else HEAD
    subject, x = entries.Subject(head.format(call=call), folder), np.array(entries.POINTS[0])
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
    for call in np.random.default_rng(share).choice([*CALLS, *WIDE_CALLS], 16, replace=False):
        check_call(call, tmp_path)


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", [*CALLS, *WIDE_CALLS])
def test_all_functions_of_narrow_numbers(call: str, tmp_path: Path) -> None:
    check_call(call, tmp_path)
