"""Calls that are specialised to one signature take what has it, and refuse all else."""

import linecache
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import tree

pytestmark = pytest.mark.usefixtures("compiled")  # what is evaluated has no short calls
X = jnp.asarray(np.linspace(0.1, 1.0, 10, dtype=np.float32))
HOST = np.linspace(1.0, 2.0, 10, dtype=np.float32)
WEAK = jnp.asarray(2.0) * 1


class Pair(NamedTuple):
    first: Any
    second: Any


@tree.register_dataclass
@attrs.frozen
class Model:
    weights: Any
    name: Any = attrs.field(metadata={"static": True})


class Node:
    """Has itself a child of each kind, and metadata that may change."""

    def __init__(self, first: Any, second: Any, power: "Power | None" = None) -> None:
        self.first, self.second, self.power = first, second, power


@attrs.define(unsafe_hash=True)
class Power:
    n: int


tree.register_pytree_node(
    Node,
    lambda x: ([x.first, x.second], x.power),
    lambda power, parts: Node(parts[0], parts[1], power),
)


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
    "a named tuple": ((Pair(X, {"a": X}),), {}),
    "an OrderedDict": ((OrderedDict(b=X, a=X[:2]),), {}),
    "an OrderedDict in another order": ((OrderedDict(a=X[:2], b=X),), {}),
    "a registered class": ((Model(X, "one"), 2.0), {}),
    "a registered class with other metadata": ((Model(X, "two"), 2.0), {}),
    "a registered class with a number": ((Model([X, X], 0.5), 2.0), {}),
    "a node of the user's": (([Node(X, HOST)],), {"node": Node(X, X)}),
    "large arrays of NumPy's": ((np.ones(5000, np.float32), 2.0), {}),
}


def same(actual: Any, expected: Any) -> None:
    assert tree.structure(actual) == tree.structure(expected)
    for x, y in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
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
    for args, kwargs in CALLS.values():
        f: Any = tinyjax.jit(fun)
        expected = [f(*args, **kwargs) for _ in range(3)][-1]
        short = f._traces.short.last
        same(short(args, kwargs), expected)
        assert short((X, X, X, X), {}) is NotImplemented
        assert "def call(" in "".join(linecache.getlines(short.__code__.co_filename))


def test_arrays_without_a_buffer_and_without_data() -> None:
    f: Any = tinyjax.jit(lambda x, y: x + y)
    for _ in range(3):
        f(X, X)
    fresh = X + 1
    assert fresh.aval == X.aval
    np.testing.assert_array_equal(f._traces.short.last((fresh, X), {}), np.asarray(fresh + X))
    deleted = X + 2
    f(deleted, X)
    deleted.delete()
    with pytest.raises(tinyjax.errors.DonatedArrayError):
        f(deleted, X)
    np.testing.assert_array_equal(tinyjax.vmap(f)(X, X), np.asarray(X + X))


def test_metadata_that_has_changed_is_other_metadata() -> None:
    f = tinyjax.jit(lambda node: node.first**node.power.n * node.second)
    node = Node(X, HOST, Power(2))
    assert node.power is not None
    for n in (2, 3, 2):
        node.power.n = n
        for _ in range(3):
            np.testing.assert_allclose(f(node), np.asarray(X) ** n * HOST, rtol=1e-6)


def test_donations_in_the_shortest_way() -> None:
    f: Any = tinyjax.jit(lambda x, y, z: (x * 2 + y * z, y + 1), donate_argnums=0)
    host = np.asarray(X)
    for _ in range(3):
        x = X + 0
        seen = np.asarray(x)  # shares its memory
        np.testing.assert_allclose(f(x, X, X)[0], host * 2 + host * host, rtol=1e-6)
        assert x.is_deleted()
        np.testing.assert_array_equal(seen, host)
    x, short = X + 0, f._traces.short.last
    np.testing.assert_allclose(short((x, X, X), {})[0], host * 2 + host * host, rtol=1e-6)
    assert x.is_deleted()
    y = X + 0
    assert short((y, y, X), {}) is NotImplemented
    with raises(tinyjax.errors.DonatedArrayError, match="same array"):
        f(y, y, X)
    with raises(tinyjax.errors.DonatedArrayError, match="was donated"):
        f(x, X, X)
    np.testing.assert_allclose(f(HOST, X, X)[0], HOST * 2 + host * host, rtol=1e-6)


def test_what_is_closed_over_is_not_donated_later() -> None:
    weights = X + 0
    f: Any = tinyjax.jit(lambda x: x * weights, donate_argnums=0)
    for _ in range(3):
        np.testing.assert_array_equal(f(X + 0), np.asarray(X) * np.asarray(X))
    with raises(tinyjax.errors.DonatedArrayError, match="same array"):
        f(weights)
    np.testing.assert_array_equal(weights, X)


def test_settings_of_later_calls_count() -> None:
    f: Any = tinyjax.jit(jnp.log)
    negative = X - 2
    for _ in range(3):
        f(negative)
    with tinyjax.debug_nans(True), pytest.raises(FloatingPointError):
        f(negative)
    assert bool(jnp.isnan(f(negative)).all())
    f.clear_cache()
    assert f._traces.short.last((negative,), {}) is NotImplemented


def outcome(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return call(*args, **kwargs)
    except tinyjax.errors.ArgumentError as error:
        return str(error).split("\n")[0]


def test_compiled_functions_are_called_in_the_shortest_way() -> None:
    refused = set[str]()
    for args, kwargs in CALLS.values():
        lowered = tinyjax.jit(result).lower(*args, **kwargs)
        compiled = lowered.compile()
        usual = compiled._call(args, kwargs)
        same(compiled(*args, **kwargs), usual)
        same(compiled._traces.short.last(args, kwargs), usual)
        for name, (others, more) in CALLS.items():
            found = outcome(compiled, others, more)
            expected = outcome(type(compiled)(lowered, compiled._executable), others, more)
            if isinstance(expected, str):
                assert found == expected
                refused.add(name)
            else:
                same(found, expected)
    assert refused == set(CALLS)
    compiled = tinyjax.jit(jnp.sum).lower(X).compile()
    compiled(X)
    with raises(tinyjax.errors.ArgumentError, match="traced"):
        tinyjax.grad(compiled)(X)
