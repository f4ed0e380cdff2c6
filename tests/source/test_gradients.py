"""Gradients from source: of containers and objects, with tinyjax's transformations, errors."""

import functools
import itertools
import math
import operator
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest
from differences import slope_at
from random_programs import compiled
from reading import read_gradient
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import source
from tinyjax.errors import ArgumentError, DifferentiationError, JaxprTypeError, SourceError
from tinyjax.source.ir.assembly import verify
from tinyjax.source.ir.program import (
    IR,
    Block,
    Branch,
    Call,
    Constant,
    Statement,
    Variable,
    returning,
)

pytestmark = pytest.mark.usefixtures("double_precision")


def power(x: float) -> float:
    n, r = 5, 1.0
    while n > 0:
        n, r = n - 1, r * x
    return r


def guarded(x: float) -> float:
    assert x > -100, f"{x} is too small"
    return x * x


class Walk:
    """An object with a method that is differentiated."""

    def run(self, x: float) -> float:
        return x * x - 0.5


def network(w: Any, b: Any, x: Any) -> Any:
    h = x
    for i in range(2):
        h = np.tanh(h @ w + b * (i + 1))
    return np.sum(h**2) / h.size + np.mean(h[1:, ::2]) + h[0, 1]


def test_arrays() -> None:
    rng = np.random.default_rng(1)
    w, b, x = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(4, 3))

    def traced(w: Any, b: Any, x: Any) -> Any:
        h = x
        for i in range(2):
            h = jnp.tanh(h @ w + b * (i + 1))
        return jnp.sum(h**2) / h.size + jnp.mean(h[1:, ::2]) + h[0, 1]

    expected = tinyjax.grad(traced, argnums=(0, 1, 2))(w, b, x)
    found = source.grad(network, argnums=(0, 1, 2))(w, b, x)
    for ours, theirs in zip(found, expected, strict=True):
        assert isinstance(ours, np.ndarray)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


# Containers and objects


@attrs.frozen
class Line:
    """A record of attrs."""

    slope: Any
    offset: Any = 0.0

    def value(self, x: Any) -> Any:
        return self.slope * x + self.offset


@dataclass
class Bend:
    """A dataclass that holds another record."""

    line: Line
    weights: list[float]

    @property
    def first(self) -> float:
        return self.weights[0]


def doubled(value: float) -> float:
    return 2 * value


@attrs.frozen
class Converted:
    """A record whose field is not the argument of its constructor."""

    value: float = attrs.field(converter=doubled)


class Pair(NamedTuple):
    """A named tuple."""

    a: float
    b: float


def test_gradients_have_the_structure_of_the_argument() -> None:
    def of_bend(bend: Bend, pair: Pair, table: dict[str, tuple[float, str]]) -> Any:
        return bend.line.value(pair.a) * bend.weights[1] + table["x"][0] * pair.b

    bend = Bend(Line(2.0, 1.0), [3.0, 4.0])
    found = source.grad(of_bend, argnums=(0, 1, 2))(bend, Pair(5.0, 6.0), {"x": (7.0, "unit")})
    assert found[0] == Bend(Line(20.0, 4.0), [0.0, 11.0])
    assert found[1] == Pair(8.0, 7.0)
    assert found[2] == {"x": (6.0, None)}


def test_objects_are_made_and_taken_apart() -> None:
    def program(x: float) -> Any:
        line = Line(x * x, offset=x)
        bend = Bend(line, [x, 2.0])
        a, b = Pair(x, b=bend.line.slope)
        return line.value(a) * b * bend.weights[0]

    assert source.grad(program)(1.3) == pytest.approx(slope_at(program, 1.3), rel=1e-9)


def test_properties_and_merged_dicts() -> None:
    def program(x: float) -> Any:
        bend = Bend(Line(x), [x * x, x])
        merged = {"a": x * x, "b": x} | {"b": bend.first}
        return bend.first * x + merged["a"] * merged["b"]

    assert source.grad(program)(1.3) == pytest.approx(slope_at(program, 1.3), rel=1e-9)
    assert source.grad(lambda bend: bend.first)(Bend(Line(1.0), [2.0])).weights == [1.0]


def test_captured_values_have_cotangents() -> None:
    scale, shift = 3.0, 1.0
    _, back = source.forward(lambda x: x * scale + shift, 2.0)
    assert back(1.0) == ({"scale": 2.0, "shift": 1.0}, 3.0)


def test_defaults_that_are_taken_have_cotangents() -> None:
    def scaled(x: float, factor: float = 3.0, *, plus: float = 1.0) -> float:
        return x * factor + plus

    _, back = source.forward(scaled, 2.0)
    assert back(1.0) == ({"factor": 2.0, "plus": 1.0}, 3.0)
    _, back = source.forward(scaled, 2.0, plus=5.0)
    assert back(1.0) == ({"factor": 2.0}, 3.0, 1.0)


def nested(n: int, x: Any) -> Any:
    return x if n == 0 else x * 0.99 + nested(n - 1, x) * 0.01


def test_recursion_is_as_deep_as_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    # what is freed at the limit of the recursion cannot say what it did
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    assert source.grad(lambda x: nested(900, x))(0.7) == pytest.approx(1.0, rel=1e-12)
    assert source.vjp(nested, 900, 0.7)[1](2.0)[1] == pytest.approx(2.0, rel=1e-12)
    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        source.grad(lambda x: nested(-1, x))(0.7)
    assert sys.getrecursionlimit() == limit


def test_partial_functions_and_callable_objects() -> None:
    fun = partial(Line(2.0, 1.0).value)
    assert source.grad(fun)(3.0) == 2.0
    assert source.grad(lambda x: partial(math.pow, x)(3.0))(2.0) == 12.0


def test_auxiliary_data_and_argnums() -> None:
    fun = source.value_and_grad(lambda x, y: (x * y, "kept"), argnums=1, has_aux=True)
    assert fun(2.0, 3.0) == ((6.0, "kept"), 2.0)
    assert source.grad(lambda x, y: x * y, argnums=-1)(2.0, 3.0) == 2.0


def test_an_integer_argument_is_left_alone() -> None:
    _, back = source.vjp(lambda x, n: x**n, 2.0, 3)
    assert back(1.0) == (12.0, None)


# Composition with tinyjax


def test_transformations_of_tinyjax_apply() -> None:
    def energy(x: Any) -> Any:
        total: Any = 0.0
        for i in range(3):
            total = total + jnp.sum(jnp.sin(x) ** i * x)
        return total

    x = jnp.array([0.3, 0.8, 1.7])
    expected = tinyjax.grad(energy)(x)
    for found in (
        source.grad(energy)(x),
        tinyjax.jit(source.grad(energy))(x),
        tinyjax.vmap(source.grad(energy))(x),
        source.grad(tinyjax.jit(energy))(x),
    ):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12)
    methods = source.grad(source.grad(lambda t: (x * t).dot(x * t)))(0.7)
    assert float(methods) == pytest.approx(2 * float(x @ x), rel=1e-12)
    np.testing.assert_allclose(
        np.asarray(tinyjax.jacfwd(source.grad(energy))(x)),
        np.asarray(tinyjax.hessian(energy)(x)),
        rtol=1e-12,
        atol=1e-15,
    )


def test_a_program_is_generated_once() -> None:
    def square(x: float) -> float:
        return x * x

    first: Any = source.forward(square, 2.0)[1]
    second: Any = source.forward(square, 3.0)[1]
    assert first.run is second.run


FACTOR = 2.0


def helper(x: float) -> float:
    return x * 3.0


def uses_globals(x: float) -> float:
    return helper(x) * FACTOR


def test_globals_are_those_of_the_time_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    assert source.grad(uses_globals)(1.0) == 6.0
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert source.grad(uses_globals)(1.0) == 15.0
    monkeypatch.setitem(globals(), "helper", lambda x: x * x)
    assert source.grad(uses_globals)(3.0) == 30.0


def test_imports_inside_functions() -> None:
    def program(x: Any) -> Any:
        import math as m
        import os.path

        from numpy import sin

        return m.exp(x) * sin(x) if os.path.exists(os.sep) else x

    slope = math.exp(0.5) * (math.sin(0.5) + math.cos(0.5))
    assert source.grad(program)(0.5) == pytest.approx(slope, rel=1e-14)
    compiled = tinyjax.grad(tinyjax.jit(program, control_flow="source"))(0.5)
    assert float(compiled) == pytest.approx(slope, rel=1e-6)


def test_a_refusal_at_run_time_names_the_line_of_the_program() -> None:
    def program(x: float) -> float:
        for _ in range(2):
            x = math.sin(x)
            x = struct.unpack("d", struct.pack("d", x))[0]  # here
        return x

    def adds(x: Any) -> Any:
        x += 1j  # here
        return x

    runs: list[tuple[Any, ...]] = [
        (source.grad(program), 1.0),
        (read_gradient, program, 1.0),
        (read_gradient, adds, np.ones(2)),
        (source.grad(source.grad(program)), 1.0),
        (source.grad(source.grad(source.grad(program))), 1.0),
    ]
    for run, *args in runs:
        with pytest.raises(SourceError) as caught:
            run(*args)
        assert caught.value.location is not None
        assert caught.value.location.text.endswith("# here")


def of_a_pair(x: float) -> Any:
    return x, x


def test_errors_of_gradients() -> None:
    with raises(DifferentiationError, match="returned tuple"):
        source.grad(of_a_pair)(1.0)
    with raises(DifferentiationError, match=r"argument 0 of .* is of type int"):
        source.grad(power)(2)
    with raises(DifferentiationError, match="is of type Walk"):
        source.grad(lambda walk: walk.run(1.0))(Walk())
    with raises(ArgumentError, match="with respect to argnums=1"):
        source.grad(power, argnums=1)(2.0)


def test_errors_of_the_program_are_its_own() -> None:
    unbound = compiled(
        "def program(x):\n    for i in range(int(x)):\n        y = i * x\n    return y\n"
    )
    with raises(UnboundLocalError, match="'y'"):
        source.grad(unbound)(0.5)
    with raises(AssertionError, match=r"-200\.0 is too small"):
        source.grad(guarded)(-200.0)
    with raises(ValueError, match="too many values to unpack"):
        source.evaluate(source.ir_of(lambda x: [a for a, b in unchecked([(x, x, x)])]), 1.0)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: math.hypot(x, 2 * x),
        lambda x: math.hypot(x, x, x),
        lambda x: math.dist((x, 0.0), (0.0, x)),
        lambda x: np.hypot(x, 2 * x),
        lambda x: np.sum(np.hypot([x, 1.0], [x, 0.0])),
    ],
)
def test_lengths_of_zero(fun: Any) -> None:
    """As ``tinyjax.grad`` says of ``jnp.hypot``."""
    assert source.grad(fun)(0.0) == 0.0
    assert tinyjax.grad(lambda x: jnp.hypot(x, 2 * x))(0.0) == 0.0


def test_keywords_keep_their_order() -> None:
    cube = source.grad(lambda x: Pair(b=x**3, a=x).b)
    assert cube(2.0) == 12.0
    assert source.grad(cube)(2.0) == 12.0


@pytest.mark.parametrize("arctan2", [math.atan2, np.arctan2])
def test_the_angle_of_nothing_is_zero_and_has_no_slope(arctan2: Any) -> None:
    """As ``tinyjax.grad`` says of ``jnp.arctan2``."""
    value, slope = source.value_and_grad(lambda y: arctan2(y, 2 * y))(0.0)
    expected = tinyjax.grad(lambda y: jnp.arctan2(y, 2 * y))(0.0)
    np.testing.assert_equal([value, slope], [0.0, float(expected)])
    np.testing.assert_allclose(source.grad(arctan2)(1.0, 2.0), 0.4)


def test_ill_formed_programs_are_found() -> None:
    x, y = Variable(1), Variable(2)
    double = Statement(y, Call(Constant(abs, "abs"), (x,)))

    def program(*blocks: Block) -> IR:
        return IR("f", None, blocks, "")

    verify(program(Block((x,), (double,), (returning(y),))))
    for blocks, message in [
        ((Block((x,), (double, double), (returning(y),)),), "defined twice"),
        ((Block((), (double,), (returning(y),)),), "not defined"),
        (
            (Block((x,), (), (returning(y),)), Block((), (double,), (returning(y),))),
            "may not be defined",
        ),
        ((Block((x,), (), (Branch(1),)), Block((y,), (), (returning(y),))), "0 values for 1"),
        ((Block((x,), (), ()),), "does not end"),
        ((Block((x,), (), (Branch(0, (x,)),)),), "branches to no block"),
    ]:
        with raises(JaxprTypeError, match=message):
            verify(program(*blocks))


def test_what_has_no_program() -> None:
    with raises(ArgumentError, match="ir_of takes a Python function"):
        source.ir_of(math.sin)
    with raises(SourceError, match=r"no derivative is known of .*Converted"):
        read_gradient(lambda x: Converted(x).value, 1.0)
    with raises(SourceError, match=r"no derivative is known of _struct\.pack"):
        read_gradient(lambda x: struct.unpack("d", struct.pack("d", x))[0], 1.0)


class Corner(NamedTuple):
    a: Any
    b: Any


def iterated(x: Any) -> Any:
    total = 0.0
    for row in x:
        total = total + row[0] * row[1]
    return total


def unpacked(x: Any) -> Any:
    first, *rest = x
    a, b = first
    return a * b + rest[0][1] * a


def chosen_default(x: Any) -> Any:
    return getattr(x, "nothing", x[0, 0] * x[1, 1]) + x.T[0, 1]


#: Programs of a matrix of numbers between 0.3 and 0.9, NumPy's or tinyjax's.
OF_ARRAYS: list[Any] = [
    iterated,
    unpacked,
    chosen_default,
    lambda x: abs(x - 0.5).sum() + abs(x[0, 0] - 0.7),
    lambda x: max(x[0, 0], x[1, 1]) * min(x[0, 1], 0.5) + max([x[0, 0], x[0, 0]]) ** 2,
    lambda x: (x**3 + x**0 + 2.0**x + x**x).sum() + pow(x[0, 1], 2),
    lambda x: (x @ x + x @ x[0] + x[1] @ x).sum() + x[0] @ x[1],
    lambda x: (x.mT @ x.T * x).sum(),
    lambda x: sum(x[0], x[1, 0]) + sum([x[0, 0] * x[1, 1], x[0, 1]]),
    lambda x: sum([row @ row for row in x]),
    lambda x: sum(dict([("a", x[0, 0]), ("b", x[0, 1]), ("a", x[1, 1])]).values()),  # noqa: C406
    lambda x: sum(({"a": x[0, 0]} | {"a": x[0, 1], "b": x[1, 1]}).values()) * x[0, 0],
    lambda x: divmod(x[0, 0] * 3, 0.4)[1] + (x[1, 1] * 3) % 0.4 + (x % 0.25).sum(),
    lambda x: (x.reshape(4)[1:] * x.ravel()[:3]).sum() + x.transpose(1, 0)[0] @ x.transpose()[1],
    lambda x: (x[None, :, 0] * x[..., 1]).sum() + x[np.array([0, 1, 0])].sum() * x[1, 0],
    lambda x: float(3) * x[0, 0] + int(2.7) * x[0, 1] + (x > 0.5).sum() * x[1, 1],
    lambda x: math.prod([x[0, 0], x[0, 1], x[1, 1]]) + len(x) * x[1, 0],
    lambda x: functools.reduce(operator.mul, [x[0, 0], x[0, 1], x[1, 0]], 2.0),
    lambda x: sum(itertools.accumulate([x[0, 0], x[0, 1], x[1, 0]], operator.mul)),
    lambda x: sum(a * b for a, b in itertools.pairwise([x[0, 0], x[0, 1], x[1, 0]])),
    lambda x: sum(a * b for a, b in itertools.product([x[0, 0], x[0, 1]], [x[1, 0], x[1, 1]])),
    lambda x: sum(a * b for a, b in itertools.combinations([x[0, 0], x[0, 1], x[1, 0]], 2)),
    lambda x: sum(itertools.starmap(pow, [(x[0, 0], x[0, 1]), (x[1, 0], 2)])),
    lambda x: sum(map(operator.mul, [x[0, 0], x[1, 0]], [x[0, 1], x[1, 1]])),
    lambda x: sum(filter(None, [x[0, 0] * x[0, 1], 0.0, x[1, 1]])),
    lambda x: sum(itertools.chain([x[0, 0] * x[0, 1]], [x[1, 1]])),
    lambda x: {"a": x[0, 0] * x[1, 1]}.get("a", 0.0) + {"a": 1.0}.get("b", x[0, 1]),
    lambda x: sum({"a": x[0, 0] ** 2, "b": x[1, 0]}.copy().values()) * [x[0, 1]].copy()[0],
    lambda x: sum(v * 2 for _, v in {"a": x[0, 0] ** 2, "b": x[1, 0]}.items()),
    lambda x: Corner(x[0, 0], x[0, 1])._replace(b=x[1, 1] ** 2).b * Corner(x[0, 0], 1.0).a,
    lambda x: sorted([x[0, 0], x[1, 1], x[0, 1]])[1] * x[1, 0],
    lambda x: sum(reversed([x[0, 0] ** 2, x[1, 1]])) + [*zip(x[0], x[1], strict=True)][1][0],
    lambda x: sum(i * v for i, v in enumerate([x[0, 0], x[1, 1] ** 2], 1)),
    lambda x: x.tolist()[0][1] * 2.0 if isinstance(x, np.ndarray) else x[0, 1] * 2.0,
]


@pytest.mark.parametrize("fun", OF_ARRAYS)
def test_programs_of_arrays_of_either_library(fun: Any) -> None:
    """NumPy's against differences, tinyjax's against the same operations traced, to order two."""
    x = np.array([[0.35, 0.62], [0.48, 0.81]])
    way = np.array([[1.0, -0.5], [0.25, 2.0]])
    gradient = source.grad(fun)
    np.testing.assert_allclose(gradient(x), difference(fun, x), rtol=1e-7, atol=1e-7)
    traced, array = tinyjax.grad(fun), jnp.asarray(x)
    np.testing.assert_allclose(gradient(array), traced(array), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        source.grad(lambda x: (gradient(x) * way).sum())(array),
        tinyjax.grad(lambda x: (traced(x) * way).sum())(array),
        *(1e-12, 1e-12),
    )


def slope_of_a_closure(x: Any) -> Any:
    def inner(y: float, z: float) -> tuple[float, float]:
        return x * y * y * z, y

    found, aux = source.grad(inner, (0, 1), has_aux=True)(x, 2.0)
    value, slope = source.value_and_grad(lambda y: x * y)(3.0)
    return found[0] * aux + found[1] + value * slope  # 4 x^3 + x^3 + 3 x^2


def test_gradients_within_of_functions_that_close_over_the_argument() -> None:
    assert source.grad(slope_of_a_closure)(2.0) == 15 * 4.0 + 6 * 2.0
    assert source.grad(source.grad(slope_of_a_closure))(2.0) == 30 * 2.0 + 6


def difference(fun: Any, x: Any) -> Any:
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        found[place] = (fun(x + step) - fun(x - step)) / 2e-6
    return found


def _pairs(xs: list[float]) -> float:
    total = 0.0
    for x, y in zip(xs, reversed(xs), strict=True):
        total = total + x * y
    return total


def _by_index(xs: tuple[float, ...]) -> float:
    total = 0.0
    for i in range(len(xs)):
        total = total + xs[i] * xs[-i]
    return total


def _rows(rows: list[list[float]]) -> float:
    total = 0.0
    for row in rows:
        for x in row:
            total = total + x * x
    return total


@pytest.mark.parametrize(
    ("fun", "make"),
    [
        (_pairs, lambda n: [0.5] * n),
        (_by_index, lambda n: (0.5,) * n),
        (_rows, lambda n: [[0.5]] * n),
        (_rows, lambda n: [[0.5] * n]),
    ],
)
def test_gradients_of_loops_over_sequences_take_linear_time(
    fun: Callable[..., float], make: Callable[[int], Any]
) -> None:
    gradient = source.grad(fun)

    def calls(length: int) -> int:
        argument, count = make(length), 0

        def on_event(frame: Any, event: str, arg: object) -> None:
            nonlocal count
            count += event == "call"

        gradient(argument)
        before = sys.getprofile()
        sys.setprofile(on_event)
        try:
            gradient(argument)
        finally:
            sys.setprofile(before)
        return count

    assert calls(400) < 2.2 * calls(200)


def _reductions(x: Any) -> Any:
    edges = np.diff(x)
    extremes = np.max(x, axis=0) * np.min(x, axis=0)
    outer = np.outer(np.max(x, axis=1, keepdims=True), edges[0])
    return np.sum(outer**2) + np.sum(extremes * x) + np.sum(np.diff(x[:, :1]) ** 2) + np.max(x)


def test_reductions_differences_and_outer_products_of_numpy() -> None:
    x = np.random.default_rng(3).normal(size=(3, 4))

    def differences(fun: Callable[[Any], Any]) -> Any:
        steps = 1e-6 * np.eye(x.size).reshape(-1, *x.shape)
        return np.reshape([(fun(x + s) - fun(x - s)) / 2e-6 for s in steps], x.shape)

    def slope(x: Any) -> Any:
        return np.sum(source.grad(_reductions)(x) ** 2)

    np.testing.assert_allclose(source.grad(_reductions)(x), differences(_reductions), rtol=1e-6)
    np.testing.assert_allclose(source.grad(slope)(x), differences(slope), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(source.grad(np.max)(np.array([1.0, 2.0, 2.0])), [0, 0.5, 0.5])
