"""Calls under ``capture`` that were made before: their outcome is the same, and takes less."""

import itertools
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from capturing.comparing import compared
from numpy_calls import TABLE, X

import tinyjax
from tinyjax import source
from tinyjax.source import numpy_errors
from tinyjax.source.capturing import ndarrays, runs, signatures

pytestmark = pytest.mark.usefixtures("double_precision")

#: Calls, and others like them: NumPy refuses them, or gives what has another layout or class.
ALIKE: Final = {
    "np.sum(x, axis=0)": "np.sum(x, axis=2)",
    "np.sum(x)": "np.sum(x.astype(np.float32))",
    "np.sum(x, where=np.array([True, False, True]))": "np.sum(x, where=np.array([True, False]))",
    "np.cumsum(x, 0)": "np.cumsum(x, 0, out=np.zeros((2, 3)))",
    "np.sort(x)": "np.sort(x.T)",
    "np.sort(x.T)": "np.sort(np.array(x.T))",
    "np.dot(x.T, x)": "np.dot(x, x)",
    "np.dot(x, np.ones(3))": "np.dot(x, np.ones(4))",
    "np.where(x > 0.5, x, 0.0)": "np.where((x > 0.5).T, x, 0.0)",
    "np.quantile(x, np.array([0.5, 1.0]))": "np.quantile(x, np.array([0.5, 1.5]))",
    "np.histogram(x, np.array([0.0, 1.0]))": "np.histogram(x, np.array([1.0, 0.0]))",
    "np.repeat(x, np.array([1, 2]), axis=0)": "np.repeat(x, np.array([1, -2]), axis=0)",
    "np.take(x, np.array([0, 5]))": "np.take(x, np.array([0, 6]))",
    "np.linalg.inv(x[:, :2])": "np.linalg.inv(0 * x[:, :2])",
    "np.concatenate([x, x])": "np.concatenate([x, x[:, 1:]])",
    "np.stack([x[0], x[1]])": "np.stack((x[0], [x[1, 0]]))",
    "np.clip(x, 0, 1)": "np.clip(x, 0, True)",
    "np.diag(x[0])": "np.diag(x)",
    "np.diag(x[0], 1)": "np.diag(x[0], 1.0)",
    "np.zeros_like(x)": "np.zeros_like(x.T)",
    "np.outer(x, x[0])": "np.outer(x.astype(np.float32), np.float32(2))",
}


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize(("call", "other"), ALIKE.items())
def test_other_calls_are_no_repetitions(call: str, other: str, layout: str) -> None:
    for text in (call, call, other, call, other):
        assert not compared(text, layout).is_mistake


def test_repeated_calls_give_the_same() -> None:
    """A call of each function is as it was, however often it is made."""
    for text in itertools.chain.from_iterable(texts[:1] for texts in TABLE.values()):
        call = text.lstrip("?!")
        assert [compared(call, "F") for _ in range(3)] == [compared(call, "F")] * 3


def test_handlers_apply_to_calls_made_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a new handler apply to calls that were made before it."""
    captured = source.capture(np.cumsum)
    assert np.asarray(tinyjax.vjp(captured, X)[0])[1] == X[0, 0] + X[0, 1]
    monkeypatch.setitem(ndarrays.HANDLERS, np.cumsum, lambda x: x.ravel() * 2)
    assert np.asarray(tinyjax.vjp(captured, X)[0])[1] == X[0, 1] * 2


def test_numpy_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look up once what NumPy says of a call, whatever is in the arrays of data."""

    def program(x: Any) -> Any:
        total = 0.0
        for i in range(5):
            y = np.where(x > 0.1 * i, x, np.full((2, 3), 0.5 + i))
            z = np.concatenate([y, x]).sum(axis=0) + np.dot(np.full((40, 2), 0.5 * i), y)[0]
            total = total + np.mean(np.dot(y.T, x)) + np.sum(np.diag(z)) + np.outer(z, z).max()
        return total

    lookups: list[Any] = []
    check, example = numpy_errors.check_call, ndarrays.example_of

    def checking(*args: Any) -> Any:
        lookups.append(args)
        return check(*args)

    def example_of(*args: Any) -> Any:
        lookups.append(args)
        return example(*args)

    monkeypatch.setattr(numpy_errors, "check_call", checking)
    monkeypatch.setattr(ndarrays, "example_of", example_of)
    monkeypatch.setattr(signatures, "SOUND", {})
    monkeypatch.setattr(signatures, "DIRECT", set())
    gradient = tinyjax.grad(source.capture(program))
    expected = np.asarray(gradient(X))
    assert 0 < len(lookups) < 20
    lookups.clear()
    assert np.array_equal(np.asarray(gradient(X + 0.0)), expected)
    assert lookups == []


class Holder:
    """An object whose attribute a program sets again and again."""

    value: Any = None


def fill(x: Any, n: int) -> Any:
    array = np.zeros(n)
    array[0] = x[0]
    for i in range(1, n):
        array[i] = array[i - 1] * x[1] + 0.1
    return array[-1]


def store(x: Any, n: int) -> Any:
    holder, items, table = Holder(), [0.0] * n, {}
    holder.value = x[0]
    for i in range(n):
        items[i] = table[i] = holder.value
        holder.value = items[i] * x[1] + table[i]
    return holder.value


def write_texts(x: Any, n: int) -> Any:
    table, total, texts = {"factor": 1.01, "shift": 0.25}, x[0], []
    for _ in range(n):
        total = total * table["factor"] + x[1] * table["shift"]
        texts.append(f"{total:.17g}")
    return total


def decide(x: Any, n: int) -> Any:
    total = x[0]
    for _ in range(n):
        try:
            total = total * x[1] if total > 0.5 else total + x[2]
        except ValueError:
            total = x[0]
    return total


def reduce_arrays(x: Any, n: int) -> Any:
    total = x[0]
    for i in range(n):
        total = np.sum(np.where(x > total, x * total, 0.1)) / (1.0 + np.dot(x, np.full(3, 1.0 * i)))
    return total


@pytest.mark.parametrize("program", [fill, store, write_texts, decide, reduce_arrays])
def test_calls_grow_with_the_program(
    program: Callable[[Any, int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as many operations take twice as many calls of functions, not four times."""
    monkeypatch.setattr(runs, "is_differentiated_once", lambda: False)
    events: list[str] = []

    def count(n: int) -> int:
        captured = source.capture(lambda x: program(x, n))
        counts = []
        for _ in range(3):
            events.clear()
            sys.setprofile(lambda frame, event, arg: events.append(event))
            try:
                tinyjax.vjp(captured, X[0])
            finally:
                sys.setprofile(None)
            counts.append(events.count("call"))
        return min(counts)

    few, more, most = count(100), count(200), count(400)
    assert most - more < 2.3 * (more - few)
