"""Errors of NumPy: places out of bounds, orders and zeros of both signs, in staged programs."""

import random
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError
from tinyjax.source.staging import operators
from tools.modules import module_of

pytestmark = pytest.mark.usefixtures("double_precision")
HEAD: Final = """
import bisect, heapq, math, statistics
import numpy as np
def f(x):
    m = (x[:4] * 1.9).astype(int); X = x[:4].reshape(2, 2); n, k, d = m[0], m[0] + 6, 0.0 * x[0]
"""
#: Places: static ones and data, in bounds and outside.
PLACES: Final = ("0", "-1", "3", "7", "-5", "n", "k", "-k", "int(x[0] * 9)", "x[0]", "True")
AT_PLACES: Final = (
    *("np.take(x, {})", "np.take(X, {}, axis=0)", "np.take(X, {}, 1, mode='wrap')", "x.take({})"),
    *("X.take({}, axis=1)", "np.delete(x, {})"),
    *("np.delete(X, {}, 0)", "np.insert(x, {}, 3.0)", "np.insert(X, {}, 3.0, axis=1)"),
    *(
        "np.choose({}, [x, x + 1])",
        "np.unravel_index({}, (2, 2))",
        "np.bincount(np.array([{}, 1]))",
    ),
    *(
        "np.ravel_multi_index(({}, 0), (2, 2))",
        "np.add.reduceat(x, [0, {}])",
        "np.eye(4)[0].take({})",
    ),
    *("np.power(m, {})", "m ** {}", "np.power(2, {})", "np.sum(X, axis={})", "np.cumsum(X, {})"),
    *("np.moveaxis(X, {}, 0)", "np.concatenate([X, X], axis={})", "np.partition(x, {})", "x[:{}]"),
    *(
        "np.interp(x, [0., 1.], [1., 2.], period={})",
        "np.geomspace({}, 3, 4)",
        "np.quantile(x, {})",
    ),
    *("np.average(x[:2], weights=[{}, 0])", "np.isin(x, [{}], kind='bad')", "np.lexsort(X, {})"),
    *("np.fft.fft(x, {})", "np.repeat(x, {})", "np.split(x, {})[0]", "x[{}:{} + 2]", "X.sum({})"),
)
#: Data, of which functions raise some.
DATA: Final = (
    *(
        "x",
        "(-x)",
        "(x * 0.0)",
        "(x * np.nan)",
        "np.where(x > 0.6, np.nan, x)",
        "np.sort(x)",
        "(x - 1)",
    ),
    *("np.where(x > 0.6, np.inf, -np.inf)", "np.where(x > 0.6, np.inf, x)", "np.sort(x)[::-1]"),
)
OF_DATA: Final = (
    *("np.digitize(x, {})", "np.histogram(x, {})[0]", "np.histogram({}, 3)[0]", "np.nanargmax({})"),
    *(
        "np.histogram(x, 4, ({}[0], {}[1]))[0]",
        "np.histogram2d(x, {}, 3)[0]",
        "np.cov(x, aweights={})",
    ),
    *("np.histogram2d(x, x, [{}, 3])[0]", "np.average(x, weights={})", "np.min(x[{} > 5])"),
    *("np.max(x[{} > 0.3])", "np.quantile({}, 0.3)", "np.nanpercentile({}, 30)", "np.median({})"),
    *("np.bincount({}.astype(int))", "np.power(2, {}.astype(int))", "sorted({}.tolist())[1]"),
    *("sorted([*{}], reverse=True)[0]", "min({}.tolist())", "statistics.median({}.tolist())"),
    *(
        "bisect.bisect({}.tolist(), 0.5)",
        "heapq.nlargest(2, {}.tolist())[1]",
        "np.select([{}], [x])",
    ),
    *("np.linspace({}[0], x, 4)", "np.logspace(x[1], {}[2], 3)", "np.geomspace({}[1], 2.0, 4)"),
    *("np.polymul(np.trunc({}), x[:2])", "np.polymul([0.0, *np.trunc(x)], {})"),
    *("np.polydiv(np.trunc({}), x[:2])[1]", "np.polydiv(np.sin(x), [1.0, {}[0]])[1]"),
    *("np.linalg.lstsq(x[None], {}[:1])[1]", "np.linalg.lstsq(x[:, None], np.sin({}))[1]"),
)
#: Operators of zeros of both signs, infinite numbers and NaN.
OPERATORS: Final = (
    *("a % b", "a // b", "divmod(a, b)[0]", "np.divmod(a, b)[1]", "np.fmod(a, b)", "np.mod(a, b)"),
    *("a % 2.0", "a // -2.0", "-0.0 % b", "2.0 // b", "a % 2", "np.copysign(a, b)", "-a", "a - b"),
    *("np.modf(a)[0]", "np.modf(b)[1]", "-np.modf(a)[0]"),
    *("np.round(a, 1)", "np.trunc(a)", "np.remainder(a, b)", "np.floor_divide(a, b)", "abs(a)"),
)
LIFTS: Final = {
    "staged": lambda fun: tinyjax.jit(fun, control_flow="source"),
    "captured": lambda fun: tinyjax.jit(source.capture(fun)),
}
POINT: Final = np.array([0.7, 0.31, 1.43, 0.52])
NUMBERS: Final = (0.0, -0.0, 2.0, -2.0, 3.0, -1.5, np.inf, -np.inf, np.nan)
PAIRS: Final = np.array([[a, b] for a in NUMBERS for b in NUMBERS]).T.copy()


def outcome(fun: Any, x: np.ndarray) -> Any:
    """Return the numbers of a result with their signs, or the class of an exception."""
    try:
        return np.asarray(fun(x.copy())) * 1.0
    except TinyjaxError:
        return TinyjaxError
    except Exception as error:
        return type(error)


def check(line: str, x: np.ndarray, ways: tuple[str, ...], folder: Path) -> None:
    """Check that a program gives or raises what Python does, or is refused."""
    text = f"{HEAD}    {line}\n"
    number = random.Random(text).getrandbits(60)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        fun = module_of(text, folder / f"of_{number}.py").f
        expected = outcome(fun, x)
        for way in ways:
            actual = outcome(LIFTS[way](fun), x)
            if actual is TinyjaxError or actual is expected:
                continue
            assert not isinstance(actual, type), (way, line, actual, expected)
            assert not isinstance(expected, type), (way, line, actual, expected)
            np.testing.assert_allclose(actual, expected, 1e-12, 1e-12, err_msg=f"{way}: {line}")
            if x is PAIRS:
                signs = [np.signbit(z) | np.isnan(z) for z in (actual, expected)]
                assert np.array_equal(*signs), (way, line)


CALLS: Final = [
    *(form.replace("{}", place) for form in AT_PLACES for place in PLACES),
    *(form.replace("{}", data) for form in OF_DATA for data in DATA),
]


@pytest.mark.parametrize("turn", range(24))
def test_some_calls(turn: int, tmp_path: Path) -> None:
    call = random.Random(turn).choice(CALLS)
    check(f"return np.sum(x[0] + {call})", POINT, ("staged", "captured"), tmp_path)


@pytest.mark.parametrize("turn", range(8))
def test_some_zeros(turn: int, tmp_path: Path) -> None:
    line = f"a, b = x[0], x[1]; return {random.Random(turn).choice(OPERATORS)}"
    check(line, PAIRS, ("staged", "captured"), tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("call", CALLS)
def test_all_calls(call: str, tmp_path: Path) -> None:
    check(f"return np.sum(x[0] + {call})", POINT, ("staged", "captured"), tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("form", OPERATORS)
def test_all_zeros(form: str, tmp_path: Path) -> None:
    check(f"a, b = x[0], x[1]; return {form}", PAIRS, ("staged", "captured"), tmp_path)


def test_gradient_of_remainder() -> None:
    """A remainder varies with the dividend where it is zero, too."""
    slopes = tinyjax.vmap(tinyjax.grad(tinyjax.jit(lambda x: x % -2.0, control_flow="source")))
    assert np.array_equal(slopes(np.array([0.0, -0.0, 2.0, 3.0])), np.ones(4))


def test_missing_name_in_the_stager(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the code that stages is no reason to capture a program."""
    monkeypatch.delattr(operators, "_compare_items")
    staged = tinyjax.jit(lambda x: (x, 1.0) < (x, 2.0), control_flow="source")
    with pytest.raises(NameError, match="_compare_items"):
        staged(POINT[0])
