"""Calls written out for one signature take what they were written for, and leave all else."""

import linecache
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import tree

X = jnp.asarray(np.linspace(0.1, 1.0, 10, dtype=np.float32))
HOST = np.linspace(1.0, 2.0, 10, dtype=np.float32)
WEAK = jnp.asarray(2.0) * 1


def result(*args: Any, **kwargs: Any) -> Any:
    """A tree with results of different types, whose structure says how the arguments lay."""
    return [tree.map(lambda x: x * 2, args), {"k": tree.map(lambda x: x + 1, kwargs)}, None, ()]


#: Each is called several times, then the others in turn: all have to be told apart.
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "two arrays": ((X, X), {}),
    "three arrays": ((X, X, X), {}),
    "no arguments": ((), {}),
    "a keyword": ((X,), {"y": X}),
    "another keyword": ((X,), {"z": X}),
    "other shapes": ((X[:3], X[:3]), {}),
    "other dtypes": ((X.astype("int32"), X.astype("int32")), {}),
    "a number": ((X, 2.0), {}),
    "an int": ((X, 2), {}),
    "a bool": ((X, True), {}),
    "a number of an array": ((X, WEAK), {}),
    "NumPy": ((HOST, HOST), {}),
    "NumPy, other dtypes": ((HOST.astype(np.int32), HOST), {}),
    "NumPy, other shapes": ((HOST[:4], HOST[:4]), {}),
    "NumPy and ours": ((HOST, X), {}),
    "a tuple": (((X, X),), {}),
    "a list": (([X, X],), {}),
    "a longer list": (([X, X, X],), {}),
    "a list of one": (([X],), {}),
    "empty containers": (((), [], {}, None, X), {}),
    "a None more": ((X, X, None), {}),
    "a dict": (({"b": X, "a": (HOST, [X[:2]])}, 1), {}),
    "a dict in another order": (({"a": (HOST, [X[:2]]), "b": X}, 1), {}),
    "a dict with another key": (({"b": X, "c": (HOST, [X[:2]])}, 1), {}),
    "a dict of ints": (({1: X, 0: X[:2]},), {}),
    "many": (([X] * 70,), {}),
}


def same(found: Any, expected: Any) -> None:
    assert tree.structure(found) == tree.structure(expected)
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert (x.dtype, x.shape, x.weak_type) == (y.dtype, y.shape, y.weak_type)
        np.testing.assert_array_equal(x, y)


def test_every_call_is_told_from_the_others() -> None:
    f: Callable[..., Any] = tinyjax.jit(result)
    # the usual way, each time
    expected = {name: tinyjax.jit(partial(result))(*a, **k) for name, (a, k) in CALLS.items()}
    for name, (args, kwargs) in CALLS.items():
        for _ in range(4):
            same(f(*args, **kwargs), expected[name])
    for first in CALLS:
        for name, (args, kwargs) in CALLS.items():
            f(*CALLS[first][0], **CALLS[first][1])
            same(f(*args, **kwargs), expected[name])


def result_and_more(*args: Any, **kwargs: Any) -> Any:
    """Those results, and what is computed of an array that is no argument."""
    return [*result(*args, **kwargs), X - 1]


@pytest.mark.parametrize("fun", [result, result_and_more])
def test_the_shortest_way_makes_the_calls(fun: Callable[..., Any]) -> None:
    for name in ("two arrays", "a keyword", "NumPy and ours", "a list", "a dict", "no arguments"):
        f: Any = tinyjax.jit(fun)
        args, kwargs = CALLS[name]
        expected = [f(*args, **kwargs) for _ in range(3)][-1]
        short = f._traces.plans.short
        same(short(args, kwargs), expected)
        assert short((X, X, X, X), {}) is NotImplemented
        assert "def call(" in "".join(linecache.getlines(short.__code__.co_filename))


def test_arrays_without_a_buffer_and_without_data() -> None:
    f: Any = tinyjax.jit(lambda x, y: x + y)
    for _ in range(3):
        f(X, X)
    fresh = X + 1
    assert fresh.aval == X.aval
    np.testing.assert_array_equal(f._traces.plans.short((fresh, X), {}), np.asarray(fresh + X))
    deleted = X + 2
    f(deleted, X)
    deleted.delete()
    with pytest.raises(tinyjax.errors.DonatedArrayError):
        f(deleted, X)
    np.testing.assert_array_equal(tinyjax.vmap(f)(X, X), np.asarray(X + X))


def test_settings_of_later_calls_count() -> None:
    f: Any = tinyjax.jit(jnp.log)
    negative = X - 2
    for _ in range(3):
        f(negative)
    with tinyjax.debug_nans(True), pytest.raises(FloatingPointError):
        f(negative)
    assert bool(jnp.isnan(f(negative)).all())
    f.clear_cache()
    assert f._traces.plans.short((negative,), {}) is NotImplemented
