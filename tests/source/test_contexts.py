"""Functions with every call in them given another meaning."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from programs import PROGRAMS, Program
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import source
from tinyjax.errors import ArgumentError, SourceError
from tinyjax.source.contexts import (
    CallTracer,
    Interval,
    IntervalArithmetic,
    OperationCounter,
    SparsityDetector,
)
from tinyjax.source.cotangents import is_differentiable, is_record


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
    by: float

    def times(self, x: float) -> float:
        return self.by * x

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
    with pytest.raises(ValueError, match="too many: 4"):
        counted((1.0,) * 5)


def test_contexts_nest() -> None:
    """What the inner one runs, the outer one sees; what it keeps for itself, not."""

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
    with pytest.raises(ArgumentError, match="takes a Context first, but got function"):
        unchecked(source.with_context)(power, Plain())
    with pytest.raises(ArgumentError, match="takes a function, but got float"):
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
    with pytest.raises(TypeError, match="must be real number"):
        source.with_context(tracer, norm)([1j])
    assert str(tracer.calls[-1]).startswith("sqrt((-1+0j)) raises TypeError('must")


# Sparsity


def dense(fun: Callable[..., Any], *args: Any) -> Any:
    """Where finite differences say that the Jacobian is other than zero."""
    leaves, treedef = tinyjax.tree.flatten(args)
    flat = np.concatenate([np.ravel(x) for x in leaves if np.asarray(x).dtype.kind == "f"])

    def at(point: Any) -> Any:
        rest = list(point)
        parts = []
        for leaf in leaves:
            if np.asarray(leaf).dtype.kind != "f":
                parts.append(leaf)
                continue
            taken, rest = rest[: np.size(leaf)], rest[np.size(leaf) :]
            parts.append(np.reshape(taken, np.shape(leaf)) if np.ndim(leaf) else float(taken[0]))
        outs = tinyjax.tree.leaves(fun(*tinyjax.tree.unflatten(treedef, parts)))
        return np.concatenate([np.ravel(np.asarray(x, float)) for x in outs])

    steps = 1e-6 * np.eye(len(flat))
    return np.stack([at(flat + s) != at(flat - s) for s in steps], axis=-1)


RNG = np.random.default_rng(1)
BAND = np.diag(np.ones(4)) + np.diag(np.ones(3), 1)

SPARSE: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda x: x**2, (RNG.random(4),)),
    (lambda x: x[1:] - x[:-1], (RNG.random(5),)),
    (lambda x: np.sin(x[::2]) * x[1::2], (RNG.random(6),)),
    (lambda x: [x[i] * x[-i - 1] for i in range(len(x))], (RNG.random(4),)),
    (lambda x, y: (x + y, x * 2.0, y), (1.5, 2.5)),
    (lambda a: a.T, (RNG.random((2, 3)),)),
    (lambda a: a.sum(axis=0), (RNG.random((2, 3)),)),
    (lambda a: np.max(a, axis=1), (RNG.random((2, 3)),)),
    (lambda a, b: a @ b, (RNG.random((2, 3)), RNG.random((3, 2)))),
    (lambda a, x: a @ x, (RNG.random((2, 3)), RNG.random(3))),
    (lambda x, a: x @ a, (RNG.random(3), RNG.random((3, 2)))),
    (lambda x, y: x @ y, (RNG.random(3), RNG.random(3))),
    (lambda x: BAND @ x, (RNG.random(4),)),
    (lambda x: x @ BAND, (RNG.random(4),)),
    (lambda x: BAND @ x.reshape(4, 1) @ np.ones((1, 2)), (RNG.random(4),)),
    (lambda x: np.concatenate([x[2:], np.zeros(2), x[:1]]), (RNG.random(4),)),
    (lambda x, y: np.stack([x, y], axis=1), (RNG.random(2), RNG.random(2))),
    (lambda x: np.array([x[0], x[1] * x[2], 1.0]), (RNG.random(3),)),
    (lambda x: np.where(x > 0.5, x, x[::-1] ** 2), (RNG.random(5),)),
    (lambda x: np.maximum(x[0], x), (np.array([0.5, 0.2, 0.9]),)),
    (lambda x: (max(x), min(x), sorted(x)[1], sum(x[1:])), ([0.3, 0.1, 0.7],)),
    (lambda x: np.linalg.solve(BAND, x) * 1.0, (np.ones(4),)),
    (lambda x, n: np.floor(x) + n, (RNG.random(3), 2)),
    (lambda x: x[:, None] * x[None, :], (RNG.random(3),)),
    (lambda x: np.repeat(x, 2) + np.tile(x, 2), (RNG.random(2),)),
    (lambda d: {"a": d["a"] * 2, "b": d["b"][0] + d["a"]}, ({"a": 1.0, "b": (2.0, 3.0)},)),
    (norm, ([1.0, 2.0, 3.0],)),
    (power, (2.0, 3)),
    (jnp.sin, (np.ones(2, np.float32),)),
    (lambda x: np.diag(x) + np.transpose(np.diag(x)), (RNG.random(2),)),
    (lambda x: x.reshape(2, 2).sum(axis=1).mean(), (RNG.random(4),)),
]


@pytest.mark.parametrize(("fun", "args"), SPARSE)
def test_patterns_of_jacobians(fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
    found = SparsityDetector().pattern(fun, *args)
    expected = dense(fun, *args)
    assert found.shape == expected.shape
    assert np.all(found | ~expected), "a dependence was missed"
    if "linalg" not in getattr(fun, "__code__", dense.__code__).co_names:  # nothing is known of it
        np.testing.assert_array_equal(found, expected)


def test_the_pattern_is_that_of_the_branches_taken() -> None:
    def fun(x: Any) -> Any:
        return x[0] if x[1] > 0 else x[2]

    assert SparsityDetector().pattern(fun, [1.0, 2.0, 3.0]).tolist() == [[True, False, False]]
    assert SparsityDetector().pattern(fun, [1.0, -2.0, 3.0]).tolist() == [[False, False, True]]


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_patterns_hold_the_gradients_of_programs(program: Program) -> None:
    """Where a gradient is other than zero, the result depends on the argument."""
    for args in program.args:
        found = SparsityDetector().pattern(program.fun, *args)
        everything = tuple(range(len(args)))
        inexact = [i for i in everything if is_differentiable(args[i])]
        leaves = [np.ravel(x) for x in source.grad(program.fun, tuple(inexact))(*args)]
        if found.shape == (1, sum(map(len, leaves))):  # no argument holds others
            assert np.all(found[0] | (np.concatenate(leaves) == 0))
        else:
            assert any(isinstance(x, (tuple, list, dict)) or is_record(x) for x in args)


def rosenbrock(xs: Any) -> Any:
    total = 0.0
    for i in range(len(xs) - 1):
        total = total + (xs[i + 1] - xs[i] ** 2) ** 2 + math.sin(xs[i])
    return total


def chained(x: Any) -> Any:
    return np.sum((x[1:] - x[:-1] ** 2) ** 2 * np.exp(x[1:]))


def arrow(x: Any) -> Any:
    return x[0] * np.sum(np.tanh(x[1:])) + np.sum(x**3)


def picked(x: Any) -> Any:
    return np.sum(x[[0, 0, 2]] ** 3)


@pytest.mark.parametrize(
    ("fun", "x"),
    [
        (rosenbrock, [0.3, 0.2, 0.5, 0.7]),
        (chained, np.array([0.3, 0.2, 0.5, 0.7])),
        (arrow, np.array([0.3, 0.2, 0.5, 0.7])),
        (picked, np.array([0.3, 0.2, 0.5])),
    ],
)
def test_patterns_of_hessians(fun: Callable[[Any], Any], x: Any) -> None:
    found = SparsityDetector().pattern(source.grad(fun), x)
    expected = dense(source.grad(fun), x)
    assert np.all(found | ~expected)
    if fun is not picked:  # of which each is taken to depend on all
        np.testing.assert_array_equal(found, expected)


# Intervals


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

    with pytest.raises(SourceError, match=r"log is not defined on all of \[-1.0, 1.0\]"):
        source.with_context(IntervalArithmetic(), undefined)(Interval(-1.0, 1.0))
    with pytest.raises(SourceError, match="no interval is known of what gamma gives"):
        source.with_context(IntervalArithmetic(), unknown)(X)
    with pytest.raises(SourceError, match="no truth value"):
        bool(X)
    with pytest.raises(ArgumentError, match="from its lower end up to its upper end"):
        Interval(2.0, 1.0)


def test_a_quotient_by_what_may_be_zero_is_anything() -> None:
    found = source.with_context(IntervalArithmetic(), lambda x: 1 / x)(Interval(-1.0, 1.0))
    assert (found.lower, found.upper) == (-math.inf, math.inf)


def test_counting_the_operations_on_intervals() -> None:
    counter = OperationCounter()
    inner = source.with_context(IntervalArithmetic(), power)
    source.with_context(counter, inner)(X, 3)
    assert Counter(counter.counts) == Counter({">": 4, "-": 3})
