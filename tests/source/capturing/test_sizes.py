"""Sizes, keys and places that a program takes from traced values, which are decisions."""

import collections
import inspect
import math
import sys
import traceback
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from scipy import interpolate, signal

import tinyjax
from tinyjax import source

pytestmark = pytest.mark.usefixtures("double_precision")

#: The first and the last have one path; the second has another.
INPUTS: Final = np.array(
    [[2.3, 1.1, 3.7, 2.9, 0.4, 3.2], [3.4, 2.2, 1.6, 0.9, 2.7, 1.3], [2.6, 1.4, 3.3, 2.2, 0.7, 3.1]]
)
TIMES: Final = np.arange(60.0)
ENDS: Final = np.array([0.0, 1.0, 2.5, 4.0])


def added(x: Any, k: Any) -> Any:
    counts: Any = collections.defaultdict(float)
    counts[k] += x[0]
    counts[int(k)] += x[1]
    return counts[k]


def grouped(x: Any, k: Any) -> Any:
    groups: dict[Any, list[Any]] = {}
    groups.setdefault((k, 0), []).append(x[0])
    return groups[int(k), 0][0]


def wave(x: Any) -> Any:
    return x[0] * np.sin(0.5 * TIMES) + x[1] * np.cos(1.3 * TIMES)


def pieces(x: Any) -> Any:
    return interpolate.PPoly(np.stack([x[:3], x[3:]]), ENDS)


#: Functions of an array and an integer, which is one of NumPy's that a compiled program computes.
FUNCTIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "zeros": lambda x, k: np.zeros(k) + x[0],
    "zeros of a tuple": lambda x, k: np.zeros((k, 2)) + x[0],
    "ones": lambda x, k: np.ones(k + 1) * x[0],
    "empty": lambda x, k: 0.0 * np.empty(k) + x[0],
    "full": lambda x, k: np.full((2, k), x[0]),
    "zeros_like": lambda x, k: np.zeros_like(x, shape=k) + x[0],
    "eye": lambda x, k: np.eye(k) * x[0],
    "tri": lambda x, k: np.tri(k) * x[0],
    "indices": lambda x, k: np.indices((k,)) * x[0],
    "arange": lambda x, k: np.arange(k, dtype=float) * x[0],
    "linspace": lambda x, k: np.linspace(x[0], x[1], k),
    "repeat": lambda x, k: np.repeat(x[:2], [k, 1]),
    "tile": np.tile,
    "split": lambda x, k: np.split(x, [k])[0],
    "array_split": lambda x, k: np.array_split(x, k)[0],
    "triu": lambda x, k: np.triu(np.outer(x, x), k),
    "tril_indices": lambda x, k: x[np.tril_indices(k)[0]],
    "windows": np.lib.stride_tricks.sliding_window_view,
    "histogram": lambda x, k: np.histogram(np.arange(6.0), bins=k, weights=x)[0],
    "bincount of a length": lambda x, k: np.bincount([0, 1], minlength=k) * x[0],
    "repeated list": lambda x, k: np.array([x[0], x[1]] * k),
    "repeated text": lambda x, k: len("ab" * k) * x[0],
    "factorial": lambda x, k: math.factorial(k) * x[0],
    "unique": lambda x, k: np.unique(x),
    "unique with counts": lambda x, k: np.unique(np.floor(x), return_counts=True)[1] * x[0],
    "union1d": lambda x, k: np.union1d(x, [0.5]),
    "intersect1d": lambda x, k: np.intersect1d(np.floor(x), [2.0, 3.0]) * x[0],
    "setdiff1d": lambda x, k: np.setdiff1d(np.floor(x), [2.0]) * x[0],
    "setxor1d": lambda x, k: np.setxor1d(np.floor(x), [2.0]) * x[0],
    "bincount": lambda x, k: np.bincount(np.floor(x).astype(int)) * x[0],
    "dict": lambda x, k: {2: 3.0, 3: 4.0}[k] * x[0],
    "dict.get": lambda x, k: {2: 3.0, 4: 4.0}.get(k, 1.0) * x[0],
    "dict of truth": lambda x, k: {True: x[0], False: x[1] ** 2}[x[0] > 3.0],
    "defaultdict": added,
    "setdefault": grouped,
    "set": lambda x, k: len({2, 5}.union([int(k)])) * x[0],
    "set of an array": lambda x, k: len(set(np.floor(x).astype(int))) * x[0],
    "find_peaks": lambda x, k: wave(x)[signal.find_peaks(wave(x), distance=3)[0]],
    "prominences": lambda x, k: signal.find_peaks(wave(x), prominence=0.1)[1]["prominences"],
    "PPoly": lambda x, k: pieces(x)(np.array([0.3, 1.7, 4.2])),
    "PPoly of places": lambda x, k: interpolate.PPoly(np.eye(3), ENDS)(x),
    "PPoly.integrate": lambda x, k: pieces(x).integrate(0.2, 3.1),
    "PPoly.derivative": lambda x, k: pieces(x).derivative()(np.array([0.3, 1.7])),
}


def summed(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def total(x: Any) -> Any:
        result = np.asarray(function(x, np.max(np.floor(x[:1])).astype(int)))
        return np.sum(result * np.cos(np.arange(result.size)).reshape(result.shape))

    return total


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    total = summed(FUNCTIONS[name])
    captured = source.capture(total)
    steps = 1e-5 * np.eye(INPUTS.shape[1])
    slopes = [[(total(x + h) - total(x - h)) / 2e-5 for h in steps] for x in INPUTS]
    gradient = tinyjax.grad(captured)
    compiled = tinyjax.jit(gradient)
    for x, expected in zip(INPUTS, slopes, strict=True):
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-6, atol=1e-7)
    values = [*map(total, INPUTS)]
    np.testing.assert_allclose(tinyjax.vmap(captured)(INPUTS), values, rtol=1e-10)


def test_keys_stay_numbers_in_what_outlives_a_run() -> None:
    outside: dict[Any, float] = {}
    members: set[Any] = set()

    def function(x: Any) -> Any:
        k = np.floor(x).astype(int)
        outside[k] = 3.0
        members.add(k)
        return x * outside[2]

    assert tinyjax.jit(tinyjax.grad(source.capture(function)))(np.float64(2.5)) == 3.0
    assert outside == {2: 3.0}
    assert members == {2}
    assert all(type(x) is np.int64 for x in (*outside, *members))


def looked_at() -> list[Any]:
    return [
        sys._getframe(1).f_code.co_name,
        getattr(inspect.currentframe(), "f_code", None),
        inspect.stack()[1].function,
        [x.name for x in traceback.extract_stack(limit=2)],
        traceback.extract_stack()[-1].lineno,
    ]


def failing(x: Any) -> Any:
    raise TypeError


def test_the_stack_has_no_dispatchers() -> None:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.append([str(part) for part in looked_at()])
        try:
            failing(x)
        except TypeError as error:
            for limit in (None, 2, -1, 0):
                lines = traceback.extract_tb(error.__traceback__, limit=limit)
                seen.append([line.name for line in lines])
        return x * x

    function(2.0)
    plain = [*seen]
    seen.clear()
    tinyjax.grad(source.capture(function))(2.0)
    for part in (plain, seen):  # the addresses of code objects
        part[0][1] = part[0][1].partition(" at ")[0]
    assert seen == plain
