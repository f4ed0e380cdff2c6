"""Environments of functions: solvers stage functions of equal ones once."""

import gc
import weakref
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax.core.tracing import staging
from tinyjax.custom_derivatives.environments import environment_of
from tinyjax.implicit import vectors
from tinyjax.scipy import optimize

level = 2.0


@pytest.fixture
def stagings(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The functions that were staged."""
    functions: list[object] = []
    original = staging.stage_call

    def counted(fun: Any, avals: Any, user_fun: Any, **options: Any) -> staging.Staged:
        functions.append(user_fun)
        return original(fun, avals, user_fun, **options)

    monkeypatch.setattr(staging, "stage_call", counted)
    return functions


def of_level(x: Any) -> Any:
    return jnp.sum((x - level) ** 2)


def square(x: Any) -> Any:
    return x * x


jitted = tinyjax.jit(square)


def minimum(fun: Callable[[Any], Any]) -> Any:
    return optimize.minimize(fun, jnp.ones(2), method="L-BFGS-B").x.round(3)


def test_functions_of_equal_environments_are_staged_once(stagings: list[object]) -> None:
    data, table, large = np.arange(2.0), jnp.arange(2.0), jnp.ones(2000)

    def made(k: float) -> Callable[[Any], Any]:
        return lambda x: jnp.sum((x - k * data) ** 2) + jnp.sum(table * x) * large[0]

    alike: list[Callable[[], Callable[[Any], Any]]] = [
        lambda: of_level,
        lambda: lambda x: jnp.sum((x - 1.0) ** 2),
        lambda: made(3.0),
        lambda: partial(lambda x, k: jnp.sum((x - k) ** 2), k=3),
        lambda: lambda x: jnp.sum(jitted(x - 1.0)),
        lambda: lambda x: jnp.sum(square(x - 1.0)),
        lambda: lambda x: jnp.sum(tinyjax.vmap(square)(x - 1.0)),
    ]
    for make in alike:
        first = minimum(make())
        stagings.clear()
        np.testing.assert_array_equal(minimum(make()), first)
        assert not stagings
    minimum(made(4.0))
    assert stagings


def test_what_changes_is_seen() -> None:
    values, data, scope = [1.0], np.ones(2), SimpleNamespace(k=1.0)
    large, masked = np.ones(2000), np.ma.masked_array(np.ones(2), [False, False])
    k = 1.0
    made: dict[str, Callable[[Any], Any]] = {
        "a list": lambda x: jnp.sum((x - values[0]) ** 2),
        "an array": lambda x: jnp.sum((x - data) ** 2),
        "a large array": lambda x: jnp.sum((x - large[:2]) ** 2),
        "a mask": lambda x: jnp.sum((x - masked.filled(3.0)) ** 2),
        "an attribute": lambda x: jnp.sum((x - scope.k) ** 2),
        "a variable": lambda x: jnp.sum((x - k) ** 2),
    }
    for fun in made.values():
        np.testing.assert_allclose(minimum(fun), [1, 1])
    values[0] = scope.k = k = 3.0
    data[:] = large[:] = 3.0
    masked.mask = True
    for name, fun in made.items():
        np.testing.assert_allclose(minimum(fun), [3, 3], err_msg=name)


def test_a_global_that_is_bound_again_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_allclose(minimum(of_level), [2, 2])
    monkeypatch.setitem(globals(), "level", 5.0)
    np.testing.assert_allclose(minimum(of_level), [5, 5])


def test_settings_are_seen() -> None:
    def dtype(x: Any) -> Any:
        return jnp.sum((x - jnp.ones(())) ** 2)

    x = jnp.ones(2, jnp.float32)
    types = []
    for default in (np.float32, np.float64):
        with tinyjax.default_dtypes(default):
            types.append(vectors.close(dtype, x)[0].jaxpr.out_avals[0].dtype)
    assert types == [np.float32, np.float64]


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: x + np.random.rand(),  # noqa: NPY002
        np.random.rand,
        [].append,
        SimpleNamespace(f=square).f.__get__(object()),
        environment_of,
    ],
    ids=["a generator", "a method of one", "a method of a list", "a method", "ours"],
)
def test_environments_that_are_not_known(fun: Callable[..., Any]) -> None:
    assert (environment_of(fun) is None) == (fun is not environment_of)


def test_no_object_is_kept_alive() -> None:
    def references() -> list[weakref.ref[Any]]:
        large, jit = jnp.arange(2000.0), tinyjax.jit(lambda x: jnp.sum(x * x))
        fun = lambda x: jit(x) + jnp.sum(large) * 0  # noqa: E731
        vectors.close(fun, jnp.ones(2))
        return [weakref.ref(large), weakref.ref(jit), weakref.ref(fun)]

    made = references()
    gc.collect()
    assert [ref() for ref in made] == [None] * 3


def test_a_function_that_calls_itself() -> None:
    def power(x: Any, n: int) -> Any:
        return x * power(x, n - 1) if n else 1.0

    assert environment_of(power) is not None
    np.testing.assert_allclose(minimum(lambda x: jnp.sum(power(x - 2, 2))), [2, 2])
