"""Calls that trace a function again, if ``jit`` makes several of it; compared with jax."""

import gc
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import jax
import jax.numpy
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.core.jit import signatures

Program = Callable[[Any, Callable[..., Any]], list[Callable[[], object]]]


class Scale:
    """A callable object with a method: the programs of both read an attribute."""

    factor = 2.0

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun

    def __call__(self, x: Any) -> Any:
        return self.fun(x) * self.factor

    method = __call__


class Equal(Scale):
    """Equals all others, but has another value."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


@attrs.define
class Unhashable(Scale):
    """Is compared by its attributes, and so has no hash."""

    fun: Callable[..., Any]
    factor: float = 2.0


def _call(np: Any, f: Callable[..., Any], x: object, **options: object) -> object:
    return np.jit(f, **options)(x)


def _repeated(make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Program:
    """The same function, object or method's object, in two calls."""

    def program(np: Any, f: Callable[..., Any]) -> list[Callable[[], object]]:
        g = make(f)
        return [lambda: np.jit(g)(1.0)] * 2

    return program


def _fresh_methods(np: Any, f: Callable[..., Any]) -> list[Callable[[], object]]:
    scale = Scale(f)
    return [lambda: np.jit(scale.method)(1.0)] * 2


def _methods(np: Any, f: Callable[..., Any]) -> list[Callable[[], object]]:
    scale, other = Scale(f), Scale(f)
    held = np.jit(scale.method)
    return [
        lambda: held(1.0),
        lambda: np.jit(scale.method)(1.0),
        lambda: np.jit(other.method)(1.0),
        lambda: held(1.0),
    ]


def _changed(np: Any, f: Callable[..., Any]) -> list[Callable[[], object]]:
    scale = Scale(f)

    def change() -> float:
        scale.factor = 3.0
        return float(np.jit(scale)(1.0))

    return [lambda: float(np.jit(scale)(1.0)), change]


def _cleared(np: Any, f: Callable[..., Any]) -> list[Callable[[], object]]:
    held = np.jit(f)
    return [
        lambda: held(1.0),
        lambda: np.jit(f).clear_cache(),
        lambda: held(1.0),
        lambda: np.jit(f)(1.0),
        np.clear_caches,
        lambda: held(1.0),
    ]


#: Each gives calls of functions made by ``jit``; counted is how often each of them traces.
PROGRAMS: dict[str, Program] = {
    "calls": lambda np, f: [partial(_call, np, f, x) for x in (1.0, 2.0, 1, 1.0, True)],
    "lowered": lambda np, f: [
        lambda: np.jit(f).lower(1.0),
        lambda: np.jit(f)(1.0),
        lambda: np.jit(f).eval_shape(1.0),
    ],
    "static": lambda np, f: [
        partial(_call, np, f, n, static_argnums=0) for n in (1, 2, 1, 1.0, True)
    ],
    "donated": lambda np, f: [
        lambda: np.jit(f, donate_argnums=0)(np.numpy.ones(3)) for _ in range(2)
    ],
    "inside another": lambda np, f: [
        lambda: np.make_jaxpr(lambda x: np.jit(f)(x) + np.jit(f)(x))(1.0),
        lambda: np.jit(f)(1.0),
        lambda: np.grad(np.jit(f))(1.0),
        lambda: np.vmap(np.jit(f))(np.numpy.ones(2)),
    ],
    "fresh functions": lambda np, f: (
        [
            lambda: np.jit(lambda x: f(x))(1.0),  # noqa: PLW0108
            lambda: np.jit(partial(f))(1.0),
            lambda: np.jit(np.vmap(f))(np.numpy.ones(2)),
        ]
        * 2
    ),
    "one partial": _repeated(partial),
    "one object": _repeated(Scale),
    "fresh methods": _fresh_methods,
    "methods": _methods,
    "an attribute": _changed,
    "cleared": _cleared,
}


def counts(np: Any, program: Program) -> list[tuple[int, object]]:
    """Return the number of traces of each call, and the results."""
    traced = 0

    def f(x: Any) -> Any:
        nonlocal traced
        traced += 1
        return x * 1.0

    results: list[tuple[int, object]] = []
    for call in program(np, f):
        before = traced
        out = call()
        results.append((traced - before, out if isinstance(out, float) else None))
    return results


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_as_often_as_in_jax(program: Program) -> None:
    assert counts(tinyjax, program) == counts(jax, program)


@pytest.mark.parametrize("kind", [Equal, Unhashable])
def test_what_says_itself_what_equals_it_is_traced_for_each(kind: type[Scale]) -> None:
    """In jax an equal object has the program of another, and one without a hash raises."""
    first, second = kind(lambda x: x), kind(lambda x: x)
    second.factor = 3.0
    assert [float(tinyjax.jit(f)(1.0)) for f in (first, second, first)] == [2.0, 3.0, 2.0]


def test_options_are_told_apart() -> None:
    def f(x: Any) -> Any:
        return x + 1

    x = jnp.ones(3)
    tinyjax.jit(f)(x)
    tinyjax.jit(f, donate_argnums=0)(x)
    assert x.is_deleted()
    assert tinyjax.jit(f)(jnp.ones(3)).tolist() == [2.0] * 3
    f.__name__ = "renamed"
    assert "renamed" in tinyjax.jit(f).lower(1.0).as_text()


def test_functions_die_with_their_last_user() -> None:
    def made() -> Callable[..., Any]:
        return lambda x: x + 1

    f = made()
    seen = weakref.ref(f)
    tinyjax.jit(f)(1.0)
    program = tinyjax.jit(f)
    program(1.0)
    del f
    assert seen() is not None
    del program
    gc.collect()
    assert seen() is None


def test_programs_are_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signatures, "_MOST_PROGRAMS", 5)
    monkeypatch.setattr(signatures, "_LOOKED_AFTER", 1)
    tinyjax.clear_caches()
    functions = [lambda x, i=i: x + i for i in range(8)]
    for f in functions:
        tinyjax.jit(f)(1.0)
    held = [tinyjax.jit(f)._cache_size() for f in functions]
    assert held == [0, 0, 0, 1, 1, 1, 1, 1]


def test_calls_in_short_outlive_the_object_that_made_them() -> None:
    """A call that one object planned and cannot make is left to the called object."""

    def f(x: Any) -> Any:
        return x + 1

    x = jnp.ones(3)
    for _ in range(3):
        tinyjax.jit(f)(x)
    x.delete()
    with raises(RuntimeError, match="delete"):
        tinyjax.jit(f)(x)
