"""Functions with every call in them given another meaning."""

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from programs import PROGRAMS, Program
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import source
from tinyjax.errors import ArgumentError
from tinyjax.source.contexts import CallTracer, OperationCounter


def power(x: Any, n: int) -> Any:
    r = 1.0
    while n > 0:
        n, r = n - 1, r * x
    return r


def square(x: Any) -> Any:
    return x * x


def norm(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total += square(x)
    return math.sqrt(total)


class Plain(source.Context):
    """Asks for nothing."""


class Names(source.Context):
    """Notes what is called."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def call(self, fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(fun.__name__)
        return self.proceed(fun, *args, **kwargs)


def counts(fun: Callable[..., Any], *args: Any) -> dict[str, int]:
    counter = OperationCounter()
    source.with_context(counter, fun)(*args)
    return counter.counts


# The mechanism


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_a_context_that_does_nothing_changes_nothing(program: Program) -> None:
    for args in program.args:
        found = source.with_context(Plain(), program.fun)(*args)
        np.testing.assert_array_equal(found, program.fun(*args))


def test_the_calls_of_functions_below_are_asked_about() -> None:
    names = Names()
    assert source.with_context(names, norm)([3.0, 4.0]) == 5.0
    assert names.seen == ["square", "mul", "add", "square", "mul", "add", "sqrt"]


def test_operators_attributes_and_subscripts_are_calls() -> None:
    def fun(x: Any) -> Any:
        y = x.T[0] if x.ndim == 2 and 1 not in x.shape else -x
        return y @ y

    names = Names()
    x = np.arange(4.0).reshape(2, 2)
    assert source.with_context(names, fun)(x) == 4.0
    assert names.seen == [
        "getattr", "eq", "getattr", "contains", "getattr", "getitem", "matmul"
    ]  # fmt: skip


def test_calls_get_another_meaning() -> None:
    class Doubled(source.Context):
        def call(self, fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            result = self.proceed(fun, *args, **kwargs)
            return 2 * result if fun is square else result

    assert source.with_context(Doubled(), norm)([3.0, 4.0]) == math.sqrt(50)


def test_a_function_that_is_called_is_not_looked_into() -> None:
    class Shallow(OperationCounter):
        def call(self, fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            if fun is square:
                return fun(*args, **kwargs)
            return super().call(fun, *args, **kwargs)

    counter = Shallow()
    assert source.with_context(counter, norm)([3.0, 4.0]) == 5.0
    assert counter.counts == {"+": 2, "math.sqrt": 1}


@attrs.frozen
class Scale:
    factor: float

    def times(self, x: float) -> float:
        return self.factor * x

    def __call__(self, x: float) -> float:
        return self.times(x) + 1.0


def test_methods_closures_recursion_and_arguments_of_all_kinds() -> None:
    def fun(scale: Scale, *xs: float, start: float = 1.0) -> float:
        def depth(n: int) -> float:
            return start if n == 0 else scale(depth(n - 1))

        return sum(map(scale.times, xs)) + depth(len(xs)) + max(xs, key=lambda x: -x)

    expected = fun(Scale(2.0), 1.0, 3.0, start=5.0)
    counter = OperationCounter()
    found = source.with_context(counter, fun)(Scale(2.0), 1.0, 3.0, start=5.0)
    assert found == expected
    assert counter.counts["*"] == 4
    assert counter.counts["sum"] == 1


def test_conditions_loops_and_exceptions_work_as_ever() -> None:
    def fun(xs: Any) -> Any:
        total = 0.0
        for i, x in enumerate(xs):
            if x < 0:
                continue
            if i > 3:
                raise ValueError(f"too many: {i}")
            total += x if x > 1 else 2 * x
        return total

    counted = source.with_context(OperationCounter(), fun)
    assert counted((0.5, -1.0, 2.0)) == fun((0.5, -1.0, 2.0))
    with raises(ValueError, match="too many: 4"):
        counted((1.0,) * 5)


def test_contexts_nest() -> None:
    """The outer context sees the calls that the inner one runs, and no others."""

    class NoSines(source.Context):
        def call(self, fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            return args[0] if fun is math.sin else self.proceed(fun, *args, **kwargs)

    def fun(x: float) -> Any:
        return math.sin(x) * math.cos(x) + square(x)

    inner, outer = NoSines(), OperationCounter()
    found = source.with_context(outer, source.with_context(inner, fun))(2.0)
    assert found == 2.0 * math.cos(2.0) + 4.0
    assert outer.counts == {"math.cos": 1, "*": 2, "+": 1}
    swapped = OperationCounter()
    source.with_context(inner, source.with_context(swapped, fun))(2.0)
    assert swapped.counts == {"math.sin": 1, "math.cos": 1, "*": 2, "+": 1}


def test_a_context_inside_the_function() -> None:
    inner = OperationCounter()

    def fun(x: float) -> Any:
        return source.with_context(inner, square)(x) + 1.0

    outer = OperationCounter()
    assert source.with_context(outer, fun)(3.0) == 10.0
    assert inner.counts == {"*": 1}
    assert outer.counts == {"*": 1, "+": 1}


def test_derivatives_of_functions_in_a_context() -> None:
    counter = OperationCounter()
    counted = source.with_context(counter, power)
    assert source.grad(counted)(2.0, 5) == 80.0
    assert counter.counts == counts(power, 2.0, 5)
    assert source.grad(source.grad(counted))(2.0, 5) == 160.0
    assert source.value_and_grad(counted)(2.0, 3) == (8.0, 12.0)


def test_derivatives_seen_by_a_context() -> None:
    plain, adjoint = counts(power, 2.0, 5), counts(source.grad(power), 2.0, 5)
    assert plain == {">": 6, "-": 5, "*": 5}
    assert adjoint["*"] == 5 + 2 * 5
    assert source.with_context(Plain(), source.grad(power))(2.0, 5) == 80.0
    twice = source.with_context(Plain(), source.grad(source.grad(power)))
    assert twice(2.0, 5) == 160.0
    assert counts(source.grad(source.grad(power)), 2.0, 5)["*"] > adjoint["*"]
    value, back = source.with_context(Plain(), source.vjp)(power, 2.0, 5)
    assert (value, back(1.0)[0]) == (32.0, 80.0)


def test_gradients_cost_a_small_multiple() -> None:
    """The work of an adjoint is bounded, whatever the number of arguments."""

    def fun(xs: Any) -> Any:
        total = 1.0
        for x in xs:
            total = math.sin(total * x) + x
        return total

    for n in (5, 50):
        xs = tuple([0.1 * i for i in range(n)])
        counter, of_gradient = OperationCounter(), OperationCounter()
        source.with_context(counter, fun)(xs)
        source.with_context(of_gradient, source.grad(fun))(xs)
        assert of_gradient.total <= 5 * counter.total


def test_arrays_and_tracers() -> None:
    def fun(x: Any) -> Any:
        return jnp.sum(jnp.sin(x) * square(x))

    x = jnp.array([1.0, 2.0])
    expected = {"jnp.sin": 1, "*": 2, "jnp.sum": 1}
    counter = OperationCounter()
    counted = source.with_context(counter, fun)
    np.testing.assert_allclose(counted(x), fun(x))
    assert counter.counts == expected
    np.testing.assert_allclose(tinyjax.jit(counted)(x), fun(x), rtol=1e-6)
    np.testing.assert_allclose(tinyjax.grad(counted)(x), tinyjax.grad(fun)(x), rtol=1e-6)
    assert counter.counts == {name: 3 * n for name, n in expected.items()}
    np.testing.assert_allclose(
        tinyjax.vmap(source.with_context(Plain(), fun))(jnp.ones((3, 2))),
        [2 * math.sin(1)] * 3,
        rtol=1e-6,
    )


@pytest.mark.wrong_types
def test_what_a_context_and_a_function_are() -> None:
    with raises(ArgumentError, match="takes a Context first, but got function"):
        unchecked(source.with_context)(power, Plain())
    with raises(ArgumentError, match=r"must be a function \(callable\), but got .* \(float\)"):
        unchecked(source.with_context)(Plain(), 1.0)


# Counting and tracing


def test_counts_of_operations() -> None:
    assert counts(norm, [1.0] * 7) == {"*": 7, "+": 7, "math.sqrt": 1}
    rng = np.random.default_rng(0)

    def fun(a: Any) -> Any:
        return np.trace(a @ a.T) + a.sum() - abs(a[0, 0])

    assert counts(fun, rng.random((3, 3))) == {
        "@": 1, "np.trace": 1, "np.sum": 1, "+": 1, "abs": 1, "-": 1
    }  # fmt: skip


def test_the_tree_of_calls() -> None:
    tracer = CallTracer()
    source.with_context(tracer, norm)([3.0, 4.0])
    assert (
        str(tracer)
        == """\
square(3.0) -> 9.0
  3.0 * 3.0 -> 9.0
0.0 + 9.0 -> 9.0
square(4.0) -> 16.0
  4.0 * 4.0 -> 16.0
9.0 + 16.0 -> 25.0
sqrt(25.0) -> 5.0"""
    )
    assert tracer.calls[0].location is not None
    assert tracer.calls[0].location.text == "total += square(x)"


def test_the_tree_shows_what_was_raised() -> None:
    tracer = CallTracer()
    with raises(TypeError, match="must be real number"):
        source.with_context(tracer, norm)([1j])
    assert str(tracer.calls[-1]).startswith("sqrt((-1+0j)) raises TypeError('must")
