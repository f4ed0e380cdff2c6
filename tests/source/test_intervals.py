"""Values and gradients on intervals: they hold what is sampled."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from intervals import Interval, IntervalArithmetic
from raising import raises
from tinyjax import source
from tinyjax.errors import ArgumentError, SourceError
from tinyjax.source.contexts import OperationCounter


def power(x: Any, n: int) -> Any:
    r = 1.0
    while n > 0:
        n, r = n - 1, r * x
    return r


def square(x: Any) -> Any:
    return x * x


def chained(x: Any) -> Any:
    return np.sum((x[1:] - x[:-1] ** 2) ** 2 * np.exp(x[1:]))


def sampled(fun: Callable[..., Any], *args: Any) -> None:
    """Hold what a function gives of points in intervals against what it gives of those."""
    enclosure = source.with_context(IntervalArithmetic(), fun)(*args)
    assert isinstance(enclosure, Interval)
    rng = np.random.default_rng(0)
    ends = [
        [x.lower if end == 0 else x.upper for x in args if isinstance(x, Interval)]
        for end in (0, 1)
    ]
    for turn in range(200):
        point = [
            low if turn == 0 else high if turn == 1 else low + (high - low) * rng.random(low.shape)
            for low, high in zip(*ends, strict=True)
        ]
        rest = iter(point)
        given = [next(rest) if isinstance(x, Interval) else x for x in args]
        given = [float(x) if np.ndim(x) == 0 and not isinstance(x, int) else x for x in given]
        with np.errstate(all="ignore"):
            value = fun(*given)
        assert value in enclosure, f"{fun} of {given} is {value}, which is not in {enclosure}"


X = Interval(0.25, 0.75)
WIDE = Interval(-1.5, 4.0)
VECTOR = Interval([-1.0, 0.5, 2.0], [0.5, 1.0, 2.5])
MATRIX = Interval(np.arange(6.0).reshape(2, 3) - 3, np.arange(6.0).reshape(2, 3))

ELEMENTARY = [
    "sin",
    "cos",
    "tan",
    "exp",
    "log",
    "sqrt",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "expm1",
    "log1p",
    "log2",
    "log10",
    "asinh",
    "atanh",
    "fabs",
]

ENCLOSED: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda x, y: x + y - x * y / 3, (WIDE, X)),
    (lambda x, y: x / y, (WIDE, X)),
    (lambda x: 1 / (1 + x**2) + x**3 - x**-2, (X,)),
    (lambda x: x**4 - 2 * x**2 + abs(x), (WIDE,)),
    (lambda x: x**0.5 + 2.0**x, (X,)),
    (lambda x, y: x**y, (X, WIDE)),
    (lambda x: -x + +x, (WIDE,)),
    (lambda x, y: max(x, y) + min(x, 0.0, y), (WIDE, X)),
    (lambda x: sum([x, x * x, 1.0]), (WIDE,)),
    *[(getattr(math, name), (X,)) for name in ELEMENTARY],
    *[
        (getattr(math, name), (Interval(a, b),))
        for name in ("sin", "cos", "atan", "cosh", "asinh")
        for a, b in ((-1.0, 0.5), (1.0, 2.0), (2.0, 5.0), (-7.0, -3.0), (100.0, 101.0), (0.0, 9.0))
    ],
    (lambda x: math.acosh(x + 1), (X,)),
    (math.hypot, (WIDE, X)),
    (lambda x: np.sin(x) + np.exp(-x) * np.square(x), (VECTOR,)),
    (lambda x: np.sum(x * x), (VECTOR,)),
    (lambda x: np.mean(x) + x.max() - np.min(x), (VECTOR,)),
    (lambda x: np.maximum(x, 0.0) + np.minimum(x, 1.0) + np.clip(x, 0.0, 2.0), (VECTOR,)),
    (lambda a, x: a @ x, (MATRIX, VECTOR)),
    (lambda a, x: x @ a.T, (MATRIX, VECTOR)),
    (lambda a: a @ a.T, (MATRIX,)),
    (lambda x: x @ x, (VECTOR,)),
    (lambda a: a.reshape(3, 2)[1:].sum(axis=0), (MATRIX,)),
    (lambda x: np.concatenate([x, x[:1]]) * np.array([x[0], x[1], 1.0, 2.0]), (VECTOR,)),
    (lambda x: np.where(np.array([True, False, True]), x, -x), (VECTOR,)),
    (power, (X, 7)),
    (power, (WIDE, 4)),
    (square, (WIDE,)),
]  # fmt: skip


@pytest.mark.parametrize(("fun", "args"), ENCLOSED)
def test_intervals_hold_what_is_sampled(fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
    sampled(fun, *args)


@pytest.mark.parametrize(
    ("fun", "x"),
    [
        (lambda x: x**3 - 1 / x, X),
        (lambda x: math.sin(x * x) + math.exp(-x) / (2 + x), WIDE),
        (lambda x: x**2 if x < 5 else -x, WIDE),
        (lambda x: power(x, 5), WIDE),
        (chained, VECTOR),
        (lambda x: np.sum(np.sin(x) * x) + x[0] * x[2], VECTOR),
    ],
)
def test_intervals_of_gradients_hold_what_is_sampled(fun: Callable[[Any], Any], x: Any) -> None:
    sampled(source.grad(fun), x)


def test_intervals_round_outwards() -> None:
    """A tenth and two tenths are not three tenths, but the interval of their sum holds these."""
    third = source.with_context(IntervalArithmetic(), lambda x: x / 3)(Interval(1.0, 1.0))
    assert third.lower < third.upper
    assert third.upper <= np.nextafter(np.nextafter(1 / 3, 1), 1)
    total = source.with_context(IntervalArithmetic(), lambda x, y: x + y)(
        Interval(0.1, 0.1), Interval(0.2, 0.2)
    )
    assert 0.3 in total
    assert 0.1 + 0.2 in total


def test_intervals_of_monotone_functions_are_tight() -> None:
    found = source.with_context(IntervalArithmetic(), math.exp)(Interval(0.0, 1.0))
    np.testing.assert_allclose([found.lower, found.upper], [1.0, math.e], rtol=1e-14)
    found = source.with_context(IntervalArithmetic(), math.sin)(Interval(0.0, 2.0))
    assert found.upper == 1.0
    assert abs(found.lower) < 1e-300


def test_decided_conditions() -> None:
    def fun(x: Any) -> Any:
        y = x
        while y < 10:
            y = y * 2 if y > 0 else -y
        return y

    sampled(fun, Interval(1.0, 1.2))
    sampled(fun, Interval(-1.2, -1.1))


def test_undecided_conditions() -> None:
    def fun(x: Any) -> Any:
        return x if x > 0 else -x

    with pytest.raises(SourceError) as caught:
        source.with_context(IntervalArithmetic(), fun)(Interval(-1.0, 2.0))
    assert caught.value.message == (
        "whether [-1.0, 2.0] > [0.0, 0.0] is undecided: it is true for some of the numbers in the "
        "interval and false for others. Divide it, and evaluate on the parts."
    )
    assert caught.value.location is not None
    assert caught.value.location.text == "return x if x > 0 else -x"


def test_what_has_no_interval() -> None:
    def undefined(x: Any) -> Any:
        return math.log(x)

    def unknown(x: Any) -> Any:
        return math.gamma(x)

    with raises(SourceError, match=r"log is not defined on all of \[-1.0, 1.0\]"):
        source.with_context(IntervalArithmetic(), undefined)(Interval(-1.0, 1.0))
    with raises(SourceError, match="no interval is known of what gamma gives"):
        source.with_context(IntervalArithmetic(), unknown)(X)
    with raises(SourceError, match="no truth value"):
        bool(X)
    with raises(ArgumentError, match="from its lower end up to its upper end"):
        Interval(2.0, 1.0)


def test_a_quotient_by_what_may_be_zero_is_anything() -> None:
    found = source.with_context(IntervalArithmetic(), lambda x: 1 / x)(Interval(-1.0, 1.0))
    assert (found.lower, found.upper) == (-math.inf, math.inf)


def test_counting_the_operations_on_intervals() -> None:
    counter = OperationCounter()
    inner = source.with_context(IntervalArithmetic(), power)
    source.with_context(counter, inner)(X, 3)
    assert Counter(counter.counts) == Counter({">": 4, "-": 3})
