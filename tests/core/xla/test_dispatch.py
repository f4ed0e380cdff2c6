"""Calls of compiled programs like an earlier one, which take a shorter way."""

import gc
import threading
import weakref
from collections import OrderedDict
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import config
from tinyjax.errors import ArgumentError

pytestmark = pytest.mark.usefixtures("compiled")

X = np.linspace(0.1, 1.0, 10, dtype=np.float32)


def test_a_numpy_argument_may_be_written_to_after_the_call() -> None:
    f = tinyjax.jit(lambda x, y: x + y)
    x = np.zeros(1000, np.float32)
    results = []
    for i in range(20):
        x[:] = i
        results.append(f(x, x))
    x[:] = -1
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, np.full(1000, 2.0 * i))


def test_results_of_a_long_program_do_not_change_with_later_arguments() -> None:
    # The program runs on while the next calls are made: their arguments must not reach it.
    @tinyjax.jit
    def f(x: Any, y: Any) -> Any:
        return tinyjax.lax.fori_loop(0, 20000, lambda i, a: a * 0.5 + x, y)

    x = np.zeros(8, np.float32)
    y = jnp.zeros(8)
    results = []
    for i in range(10):
        x[:] = i
        results.append(f(x, y))
    for i, result in enumerate(results):
        np.testing.assert_allclose(result, np.full(8, 2.0 * i), rtol=1e-6)


def test_threads_that_call_one_function_do_not_mix_their_arguments() -> None:
    f = tinyjax.jit(lambda x, s: x * s)
    f(X, 1.0)
    wrong: list[float] = []

    def work(s: float) -> None:
        wrong.extend(s for _ in range(300) if not np.array_equal(f(X, s), X * np.float32(s)))

    threads = [threading.Thread(target=work, args=(float(s),)) for s in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_call_keeps_no_argument_alive() -> None:
    f = tinyjax.jit(lambda x, s: x * s)
    for other in (2.0, X, jnp.asarray(X)):
        for _ in range(3):
            x = jnp.asarray(X)
            f(x, other)
            buffer = weakref.ref(x)
            del x
            gc.collect()
            assert buffer() is None


def test_a_result_may_be_donated_before_the_next_call() -> None:
    f = tinyjax.jit(lambda x: x + 1.0)
    use = tinyjax.jit(lambda x: x * 2.0, donate_argnums=0)
    for i in range(5):
        np.testing.assert_array_equal(use(f(X + i)), (X + i + 1) * 2)


def test_a_donated_argument_is_named() -> None:
    f = tinyjax.jit(lambda x: x + 1.0)
    give = tinyjax.jit(lambda x: x * 2.0, donate_argnums=0)
    for _ in range(3):
        x = jnp.asarray(X) + 0
        f(x)
        give(x)
        with raises(ArgumentError, match="donated"):
            f(x)


def test_numbers_of_each_type_are_arguments_of_their_own() -> None:
    f = tinyjax.jit(lambda x: x)
    for _ in range(3):
        for value, kind in ((True, "bool"), (1, "int32"), (1.0, "float32"), (1j, "complex64")):
            out = f(value)
            assert out.dtype == kind
            assert out == value
    assert (f(2**40).dtype, int(f(2**40))) == ("int64", 2**40)
    with raises(ArgumentError, match="64 bits"):
        f(2**70)


def test_types_and_shapes_are_told_apart() -> None:
    f = tinyjax.jit(lambda x: x)
    for _ in range(3):
        for dtype in ("float32", "float64", "int8", "uint8", "bool", "complex64", "float16"):
            for shape in ((), (2,), (2, 1), (1, 2), (0, 3)):
                x = np.ones(shape, dtype)
                out = f(x)
                assert (out.shape, out.dtype) == (shape, x.dtype)
                np.testing.assert_array_equal(out, x)


def test_structures_are_told_apart() -> None:
    f = tinyjax.jit(lambda x, y: x[0] - 2.0 * x[1] if y is None else x + y)
    x, y = jnp.asarray(X), jnp.asarray(X) * 3
    for _ in range(3):
        np.testing.assert_array_equal(f((x, y), None), X - 2 * (X * 3))
        np.testing.assert_array_equal(f(x, y), X + X * 3)
        np.testing.assert_array_equal(f((X, y), None), X - 2 * (X * 3))
        np.testing.assert_array_equal(f(X, y), X + X * 3)


def test_large_arguments_and_large_results_of_the_host() -> None:
    f = tinyjax.jit(lambda x: x + 1.0)
    for n in (10_000, 10):
        x = np.arange(n, dtype=np.float32)
        for _ in range(3):
            np.testing.assert_array_equal(f(x), x + 1)


def test_strided_arrays() -> None:
    f = tinyjax.jit(lambda x: x + 0)
    x = np.arange(24.0).reshape(2, 3, 4)
    for _ in range(3):
        for view in (x, x.T, x[::-1, ::2], np.asfortranarray(x), np.broadcast_to(x[:1], x.shape)):
            np.testing.assert_array_equal(f(view), view)


class Pair(NamedTuple):
    first: Any
    second: Any


@tinyjax.tree.register_dataclass
@attrs.frozen
class Model:
    weights: Any
    name: str = attrs.field(metadata={"static": True})


def test_containers() -> None:
    @tinyjax.jit
    def f(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    def check(made: Any, expected: Any) -> None:
        assert tinyjax.tree.structure(made) == tinyjax.tree.structure(expected)
        for a, b in zip(tinyjax.tree.leaves(made), tinyjax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(a, b)

    x = jnp.asarray(X)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        (({"b": x, "a": [x, (X, 2.0)]},), {}),
        ((Pair(x, {"c": None}),), {"key": x}),
        ((), {"z": x, "y": 1.0}),
        ((OrderedDict(b=x, a=X),), {}),
        (({2: x, 10: X},), {}),
        ((None, [], ()), {"x": X}),
    ]
    for _ in range(3):
        for args, kwargs in calls:
            check(f(*args, **kwargs), (args, kwargs))
            assert list(f(*args, **kwargs)[1]) == sorted(kwargs)


def test_registered_classes() -> None:
    f = tinyjax.jit(lambda model, x: attrs.evolve(model, weights=model.weights * x))
    for name in ("one", "two", "one"):
        for _ in range(3):
            out = f(Model(jnp.asarray(X), name), 2.0)
            assert out.name == name
            np.testing.assert_array_equal(out.weights, X * 2)


def test_settings_are_looked_at_in_every_call() -> None:
    f = tinyjax.jit(lambda x: x * jnp.ones(2))
    for _ in range(3):
        assert f(1.0).dtype == np.float32
        with config.scoped(default_dtypes="float64"):
            assert f(1.0).dtype == np.float64
            assert f(1.0).dtype == np.float64


def test_a_call_inside_a_trace_is_traced() -> None:
    f = tinyjax.jit(lambda x: x * 2.0)
    x = jnp.asarray(X)
    for _ in range(2):
        f(x)
    jaxpr = tinyjax.make_jaxpr(lambda y: f(x) + y)(x)
    assert "jit" in str(jaxpr)
    np.testing.assert_array_equal(tinyjax.vmap(f)(x), X * 2)
    np.testing.assert_array_equal(tinyjax.grad(lambda x: f(x).sum())(x), np.full(10, 2.0))


def test_closed_over_arrays() -> None:
    w = jnp.asarray(X)
    f = tinyjax.jit(lambda x, s: (w * x, w + s))
    for i in range(4):
        product, total = f(w, float(i))
        np.testing.assert_array_equal(product, X * X)
        np.testing.assert_array_equal(total, X + np.float32(i))


def test_fresh_arrays_that_are_not_on_the_device_yet() -> None:
    f = tinyjax.jit(lambda x, y: x - y)
    for i in range(4):
        np.testing.assert_array_equal(f(jnp.asarray(X) + i, jnp.asarray(X)), X + np.float32(i) - X)
