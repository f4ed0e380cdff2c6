"""Python's numbers, integers and masks in staged programs of 64-bit floats, against Python."""

import contextlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import source
from tinyjax.errors import CheckFailedError, TinyjaxError
from tools.modules import module_of

pytestmark = pytest.mark.usefixtures("each_tier")

X: Final = np.array([0.7, 0.3, 0.1])
TABLE: Final = np.array([0.2, 0.5])


def floored(x: Any) -> Any:
    return math.exp(-((math.floor(x[0] * 16.0) / 16.0 + 0.1) ** 2))


def truncated(x: Any) -> Any:
    return int(x[0] * 10.0) / 3.0 + round(x[1] * 10.0) / 7.0


def counted(x: Any) -> Any:
    y, n = x[0], 0
    while y > 0.1:
        y = y / 2.0
        n += 1
    return y + n * 0.1


def indexed(x: Any) -> Any:
    total = 0.0
    for i in range(3):
        if x[i] > 0.2:
            total += (i + 1) / 3.0
    return total * x[0]


def looped(x: Any) -> Any:
    total = 0.1
    for i in range(int(x[0] * 10.0)):
        total = total / 3.0 + i * 0.1
    return total * x[0]


def chosen(x: Any) -> Any:
    return (1 / 3 if x[0] > 0.5 else 0.1) * x[1]


def flagged(x: Any) -> Any:
    return ((x[0] > 0.5) + (x[1] > 0.5)) * 0.1 * x[2]


def divided(x: Any) -> Any:
    n, rest = divmod(x[0] * 10.0, 3.0)
    return n / 3.0 + rest * 0.1


def least(x: Any) -> Any:
    return min(int(x[0] * 10.0), 5) / 3.0 + max(x[0] > 0.5, 0.1) / 3.0


def powers(x: Any) -> Any:
    n = int(x[0] * 10.0)
    return 0.1**n + n**-1.0 + math.sqrt(n) + n // 2 / 3.0 + n % 4 / 3.0


def filled(x: Any) -> Any:
    a = np.zeros(3)
    for i in range(3):
        a[i] = (x[i] > 0.2) * 1.0 / 3
    return np.sum(a * x)


def of_lists(x: Any) -> Any:
    return np.dot([0.1, 0.2, 0.3], x) + np.sum(np.array([1, 2, 3]) / 3.0 * x)


def converted(x: Any) -> Any:
    return np.sum(x.astype(float) / 3 + x.astype("float64") / 3 + np.floor(x * 9).astype(int) / 7.0)


def of_kin(x: Any) -> Any:
    return np.sum((np.ones_like(x, dtype=float) / 3 + np.full_like(x, 1 / 3) + np.zeros(3)) * x)


def mean(x: Any) -> Any:
    return np.mean(x, dtype=float) + np.mean(x > 0.2) * 0.1 + x.mean() * np.count_nonzero(x) / 3.0


def masked(x: Any) -> Any:
    return np.sum(((x > 0.5) * 1.0 / 3 + (x > 0.5).astype(float) / 3) * x)


def selected(x: Any) -> Any:
    return np.sum((np.where(x > 0.5, 1.0, 1 / 3) + np.where(x > 0.5, 1.0, 0.0) / 3) * x)


def summed(x: Any) -> Any:
    return np.sum(x > 0.2) / 3.0 * x[0] + (x > 0.2).sum() / 7.0 + len(x) / 3.0


def placed(x: Any) -> Any:
    places = np.digitize(x, TABLE) / 3.0 + np.searchsorted(TABLE, x) / 7.0 + np.argsort(x) / 3.0
    return np.sum(places * x) + np.argmax(-x) / 7.0


def signs(x: Any) -> Any:
    return np.sum(np.sign(x - 0.2).astype(int) / 3.0 * x)


def carried(x: Any) -> Any:
    y, step = [1.0, 0.0], 0.1
    for _ in range(int(x[0] * 10.0)):
        y = [y[0] + step * y[1], y[1] - step * x[0] * y[0]]
    return y[0] / 3.0


PROGRAMS: Final[tuple[Callable[[Any], Any], ...]] = (
    *(floored, truncated, counted, indexed, looped, chosen, flagged, divided, least, powers),
    *(filled, of_lists, converted, of_kin, mean, masked, selected, summed, placed, signs, carried),
)


def every(x: Any) -> list[Any]:
    return [program(x) for program in PROGRAMS]


def with_number(x: Any, a: Any) -> list[Any]:
    """The same beside an argument that is a number of Python's."""
    return [a / 3 * x[0], (x > 0.2) * a / 3, np.where(x > 0.2, a, 1 / 3), np.sum(x) * a**2]


def digits(got: Any, want: Any) -> None:
    for program, value, right in zip(PROGRAMS, got, want, strict=True):
        np.testing.assert_allclose(value, right, rtol=1e-14, err_msg=program.__name__)


def test_staged_programs_keep_all_digits() -> None:
    want, other = every(X), every(X * 0.9)
    digits(tinyjax.jit(every, control_flow="source")(X), want)
    digits(tinyjax.vmap(source.stage(every))(np.stack([X, X * 0.9])), np.transpose([want, other]))
    digits(tinyjax.jvp(source.stage(every), (X,), (X,))[0], want)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients_from_source_keep_all_digits(program: Callable[[Any], Any]) -> None:
    value, slope = source.value_and_grad(program)(X)
    np.testing.assert_allclose(value, program(X), rtol=1e-14)
    staged = tinyjax.grad(tinyjax.jit(program, control_flow="source"))(X)
    np.testing.assert_allclose(staged, slope, rtol=1e-13, atol=1e-15)


def test_a_number_among_arguments_is_not_rounded() -> None:
    want = [np.asarray(x) for x in with_number(X, 0.1)]
    calls = {
        "jit": tinyjax.jit(with_number)(X, 0.1),
        "compiled before": tinyjax.jit(with_number).lower(X, 0.1).compile()(X, 0.1),
        "source": tinyjax.jit(with_number, control_flow="source")(X, 0.1),
        "jvp": tinyjax.jvp(with_number, (X, 0.1), (X, 1.0))[0],
        "vmap": [x[0] for x in tinyjax.vmap(with_number, (0, None))(X[None], 0.1)],
        "checkpoint": tinyjax.checkpoint(with_number)(X, 0.1),
    }
    for way, got in calls.items():
        for value, right in zip(got, want, strict=True):
            np.testing.assert_allclose(value, right, rtol=1e-15, err_msg=way)
    with tinyjax.disable_jit():
        np.testing.assert_allclose(tinyjax.jit(with_number)(X, 0.1)[1], want[1], rtol=1e-15)


def test_a_number_differentiated_beside_64_bits_is_not_rounded() -> None:
    def total(a: Any, x: Any) -> Any:
        return np.sum(x * a**2)

    for slope in (
        tinyjax.grad(total)(0.1, X),
        tinyjax.jit(tinyjax.grad(total))(0.1, X),
        tinyjax.grad(lambda a, b: np.sum(a["x"] * b["a"] ** 2), 1)({"x": X}, {"a": 0.1})["a"],
    ):
        np.testing.assert_allclose(slope, 0.2 * X.sum(), rtol=1e-15)


def test_rules_of_users_compute_numbers_in_64_bits() -> None:
    @tinyjax.custom_vjp
    def third(x: Any) -> Any:
        return x / 3

    third.defvjp(lambda x: (x / 3, x), lambda x, ct: ((x > 0) * 1.0 / 3 * ct,))
    gradient = tinyjax.grad(lambda x: third(x).sum())
    for slope in (gradient(X), tinyjax.jit(gradient)(X)):
        np.testing.assert_allclose(slope, np.full(3, 1 / 3), rtol=1e-15)


@pytest.mark.parametrize("digits", [1, 3, 17, 18, 19, 20])
def test_rounded_integers_are_right_or_refused(digits: int) -> None:
    program = tinyjax.jit(lambda n: round(n, -digits), control_flow="source")
    unit, greatest = 10**digits, 2**63 - 1
    numbers = {sign * (unit // 2 + i) for sign in (-1, 1) for i in (-1, 0, 1)}
    numbers |= {sign * greatest // 10 * 10 + i for sign in (-1, 1) for i in range(-3, 8)}
    for n in sorted(x for x in numbers if abs(x) <= greatest):
        if abs(round(n, -digits)) <= greatest:
            assert int(program(np.int64(n))) == round(n, -digits)
        else:
            with raises(CheckFailedError, match="more than 64 bits"):
                int(program(np.int64(n)))


def test_narrow_programs_stay_narrow() -> None:
    narrow = X.astype(np.float32)

    def program(x: Any, y: Any) -> list[Any]:
        return [np.where(x > 0.5, 1.0, 1 / 3) * x, (x > 0.2) * 0.1 * x, x.astype(float), x * 0.1]

    assert {x.dtype for x in tinyjax.jit(program)(narrow, 0.1)} == {np.dtype(np.float32)}
    # beside other 64-bit floats numbers give way to float32 arrays as ever
    assert [str(x.dtype) for x in tinyjax.jit(program)(narrow, X)] == [
        *("float32", "float32", "float64", "float32")
    ]


IMPORTS: Final = """
import numbers
from collections import abc
from typing import *
import numpy as np
"""
#: What a program may ask of the class of an argument.
CLASS_QUERIES: Final = [
    *("isinstance(x, np.ndarray)", "isinstance(x, np.floating)", "isinstance(x, float)"),
    *("isinstance(x, (int, float))", "isinstance(x, numbers.Real)", "isinstance(x, abc.Iterable)"),
    *("isinstance(x, abc.Sized)", "isinstance(x, abc.Container)", "isinstance(x, abc.Hashable)"),
    *("isinstance(x, SupportsIndex)", "isinstance(x, (str, SupportsComplex))"),
    *("isinstance(x, SupportsRound)", "isinstance(x, abc.Sequence | SupportsFloat)"),
    *("isinstance(x, (str, abc.Sized))", "isinstance(x, object)", "isinstance(x, list)"),
    *("type(x) is float", "type(x) is np.float64", "type(x) is np.ndarray", "np.isscalar(x)"),
    *("x.__class__ is float", "x.__class__ is np.float64", "x.__class__ is np.ndarray"),
    *("x.__class__.__name__ == 'ndarray'", "hasattr(x, '__len__')", "hasattr(x, 'shape')"),
]


@pytest.mark.parametrize("value", [2.0, np.float64(2.0), np.array([2.0])], ids=repr)
@pytest.mark.parametrize("query", CLASS_QUERIES)
def test_queries_of_classes_are_right_or_refused(query: str, value: Any, tmp_path: Path) -> None:
    """Queries say what they say of the argument itself, of Python's classes or NumPy's."""
    text = IMPORTS + f"f = lambda x: {query}\n"
    program: Callable[[Any], bool] = module_of(text, tmp_path / "queries.py").f
    expected = program(value)
    with contextlib.suppress(TinyjaxError):
        assert tinyjax.jit(program, control_flow="source")(value) == expected
    with contextlib.suppress(TinyjaxError):
        assert tinyjax.jit(source.capture(program))(value) == expected
