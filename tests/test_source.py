"""Derivatives from source: programs, containers, compositions, refusals, and random programs."""

import linecache
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from itertools import count
from types import FunctionType
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import source
from tinyjax.errors import (
    ArgumentError,
    DifferentiationError,
    JaxprTypeError,
    SourceError,
)
from tinyjax.source.ir import IR, Block, Branch, Call, Constant, Return, Statement, Variable
from tinyjax.source.verify import verify


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with tinyjax.default_dtypes("float64"):
        yield


def slope(fun: Callable[[float], float], x: float) -> float:
    """The derivative by central differences, extrapolated: an error of the order of step**6."""

    def difference(step: float) -> float:
        return (fun(x + step) - fun(x - step)) / (2 * step)

    a, b, c = (difference(0.002 / 2**i) for i in range(3))
    d, e = (4 * b - a) / 3, (4 * c - b) / 3
    return (16 * e - d) / 15


# Programs of one float


def newton(x: float) -> float:
    y = x
    for i in range(50):
        d = (y * y - x) / (2 * y)
        if i == 0:
            continue
        y = y - d
        if abs(d) < 1e-12:
            break
    else:
        y = 0.0
    return y


def early_return(x: float) -> float:
    for k in range(1, 20):
        x = x * 1.5
        if x > 4:
            return x * k
        if x < -4:
            return -x / k
    return x


def power(x: float) -> float:
    n, r = 5, 1.0
    while n > 0:
        if n % 2:
            r *= x
        x = x * x
        n //= 2
    return r


def nested_loops(x: float) -> float:
    total = 0.0
    for i in range(3):
        for j in range(4):
            if j > i:
                break
            if (i + j) % 2:
                continue
            total = total + x**i * math.sin(j * x)
    return total


def while_else(x: float) -> float:
    k = 0
    while x < 10:
        x, k = x * x + 1, k + 1
        if k == 7:
            break
    else:
        x = x / 2
    return x


def swapped(x: float) -> float:
    a, b = x, 1.0
    for _ in range(6):
        a, b = b, a * b + x
    return a - b


def choices(x: Any) -> Any:
    y = x if x > 0.5 else -x
    z = (x > 1 and x * 3) or y
    w = 0 < x <= 1 < x + 1
    return y * z if not w else z + y


def recursive(x: float) -> float:
    def fall(n: int, z: float) -> float:
        return z if n == 0 else fall(n - 1, z * x + 1)

    return fall(4, x)


def fibonacci(x: Any, n: int = 6) -> Any:
    return x if n < 2 else fibonacci(x, n - 1) * 0.5 + fibonacci(x, n - 2)


def closures(x: Any) -> Any:
    def scaled(y: Any, *, by: Any = 2.0) -> Any:
        return x * y * by

    def twice(f: Any, y: float) -> Any:
        return f(f(y))

    return twice(scaled, x) + scaled(x, by=x)


def comprehensions(x: float) -> float:
    powers = [x**i for i in range(5) if i != 2]
    pairs = {i: p * x for i, p in enumerate(powers)}
    return sum(p * q for p in powers for q in (1.0, x)) + pairs[3]


def lists(x: float) -> float:
    xs = [x, x * x, 3.0]
    first, *rest = [*xs, x]
    (a, b), c = (first, rest[0]), xs[-1]
    return a * b + c * sum(rest[1:]) + max(xs) - min(x, 2.0)


def dicts(x: Any) -> Any:
    d: dict[str, Any] = {"a": x, "b": {"c": x * x}}
    e = {**d, "a": d["b"]["c"] * d["a"]}
    return e["a"] * e.get("z", x) + sum(list(d.values())[:1])


def arguments(x: float) -> float:
    def collect(a: float, *rest: float, scale: float = 1.0, **named: float) -> float:
        return a * scale + sum(rest) * named["k"]

    given, named = (x, x * 2), {"k": 1.0}
    return collect(x, *given, k=x) + collect(*given, **{**named, "scale": x})


def walrus(x: float) -> float:
    if (y := x * x) > 1:
        return y * x
    return -y


def guarded(x: float) -> float:
    assert x > -100, f"{x} is too small"
    with np.errstate(all="ignore"):
        try:
            if x > 1:
                return math.exp(-x)
            y = math.log(1 + x * x)
        finally:
            pass
    if x < -50:
        raise ValueError("never here")
    return y


def higher_order(x: float) -> float:
    from_map = sum(map(lambda y: y * x, [x, 1.0]))  # noqa: C417
    return reduce(lambda a, b: a * b + x, [x, from_map, x], x)


def zipped(x: float) -> float:
    total = x
    for i, (a, b) in enumerate(zip([x, 2 * x, 3.0], (1.0, x, x), strict=True)):
        total += a * b * i
    for a in reversed([x, 1.0, *sorted([-x, x * x], reverse=True)]):
        total = total * 0.5 + a
    return total


def functions(x: Any) -> Any:
    return (
        math.sin(x) * math.exp(x / 3)
        + math.atan2(x, 2.0)
        + math.hypot(x, 1.5)
        + math.tanh(x) ** 2
        + math.log1p(x * x)
        + 2.0**x
        + abs(x - 3)
        + math.sqrt(x * x + 1)
        + x % 0.7
        + float(np.cos(x) * np.arctan(x))
    )


def mandelbrot(x: float) -> float:
    a, b = 0.0, 0.0
    for k in range(30):
        a, b = a * a - b * b + x, 2 * a * b + 0.3
        if a * a + b * b > 4:
            return a * k + b
    return a + b


def bisection(x: float) -> float:
    low, high = 0.0, 4.0
    for _ in range(3):
        middle = (low + high) / 2
        if middle**3 < x:
            low = middle * (1 + 0.001 * x)
        else:
            high = middle * (1 - 0.001 * x)
    return low + high


def runge_kutta(x: float) -> float:
    def field(t: float, y: float) -> float:
        return math.sin(t) - x * y

    y, t, h = x, 0.0, 0.1
    while t < 0.95:
        a = field(t, y)
        b = field(t + h / 2, y + h / 2 * a)
        c = field(t + h / 2, y + h / 2 * b)
        d = field(t + h, y + h * c)
        y, t = y + h / 6 * (a + 2 * b + 2 * c + d), t + h
    return y


def cholesky(x: float) -> float:
    a = ((4.0 + x, 1.0, x), (1.0, 5.0, 0.5), (x, 0.5, 6.0))
    rows: list[list[float]] = []
    for i in range(3):
        row: list[float] = []
        for j in range(i + 1):
            s = sum(row[k] * (rows[j] if j < i else row)[k] for k in range(j))
            row = [*row, math.sqrt(a[i][i] - s) if i == j else (a[i][j] - s) / rows[j][j]]
        rows = [*rows, row]
    return rows[0][0] * rows[1][1] * rows[2][2]


def distance(x: float) -> float:
    first, second = [x, 1.0, 2.0], [0.5, x * x, 2.5]
    above = [0.0] + [math.inf] * 3
    for p in first:
        row = [math.inf]
        for j, q in enumerate(second):
            row = [*row, (p - q) ** 2 + min(above[j], above[j + 1], row[j])]
        above = row
    return above[-1]


class Walk:
    """An object with a method that is differentiated."""

    steps = 3

    def run(self, x: float) -> float:
        for _ in range(self.steps):
            x = x * x - 0.5
        return x


PROGRAMS: list[Callable[[float], float]] = [
    newton,
    early_return,
    power,
    nested_loops,
    while_else,
    swapped,
    choices,
    recursive,
    fibonacci,
    closures,
    comprehensions,
    lists,
    dicts,
    arguments,
    walrus,
    guarded,
    higher_order,
    zipped,
    functions,
    mandelbrot,
    bisection,
    runge_kutta,
    cholesky,
    distance,
    Walk().run,
    lambda x: x * x if x > 1 else -x,
]
POINTS = (0.3, 0.8, 1.7)
name_of = lambda fun: getattr(fun, "__qualname__", str(fun))  # noqa: E731


@pytest.mark.parametrize("fun", PROGRAMS, ids=name_of)
def test_programs(fun: Callable[[float], float]) -> None:
    ir = source.ir_of(fun)
    own = getattr(fun, "__self__", None)
    for x in POINTS:
        expected = fun(x)
        assert source.evaluate(ir, *([] if own is None else [own]), x) == expected
        value, gradient = source.value_and_grad(fun)(x)
        assert value == expected
        assert gradient == pytest.approx(slope(fun, x), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("fun", PROGRAMS, ids=name_of)
def test_second_derivatives(fun: Callable[[float], float]) -> None:
    first = source.grad(fun)
    found = source.grad(first)(0.8)
    assert found == pytest.approx(slope(first, 0.8), rel=1e-6, abs=1e-6)


def test_third_derivatives() -> None:
    third = source.grad(source.grad(source.grad(power)))
    assert third(2.0) == pytest.approx(60 * 2.0**2, rel=1e-14)


def test_each_derivative_of_a_tracer_is_that_of_tinyjax() -> None:
    def program(x: Any) -> Any:
        total = x
        for i in range(4):
            if total > 1:
                total = total * 0.5 + i
                continue
            total = total * total + jnp.sin(x)
        return total

    for x in POINTS:
        expected = float(tinyjax.grad(program)(x))
        assert float(source.grad(program)(x)) == pytest.approx(expected, rel=1e-14)
        curved = float(tinyjax.grad(tinyjax.grad(program))(x))
        assert float(tinyjax.grad(source.grad(program))(x)) == pytest.approx(curved, rel=1e-13)
        assert float(source.grad(source.grad(program))(x)) == pytest.approx(curved, rel=1e-13)


# Arrays


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


ARRAY_FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda x: np.sum(x, axis=0),
    lambda x: np.mean(x, axis=1, keepdims=True) * x,
    lambda x: x.sum() * x.T,
    lambda x: x.reshape(4).cumsum() + np.ravel(x),
    lambda x: np.max(x, axis=1) - np.min(x),
    lambda x: np.maximum(x, 0.5) * np.minimum(x[0], x[1]),
    lambda x: np.where(x > 0.6, x * x, -x),
    lambda x: np.linalg.inv(x) @ x[0],
    lambda x: np.linalg.solve(x, x[:, 1]),
    lambda x: np.linalg.det(x) * np.trace(x),
    lambda x: np.concatenate([x, x * x], axis=1)[:, 1:3],
    lambda x: np.stack([x[0], x[1] * 2], axis=1),
    lambda x: np.array([x[0, 0], x[1, 1] * x[0, 1]]),
    lambda x: np.outer(x[0], x[1]) + np.diag(np.diag(x)),
    lambda x: np.prod(x) * np.exp(-x) / np.sqrt(x),
    lambda x: x[[0, 1, 0]] * 2.0,
    lambda x: np.transpose(x) @ np.dot(x, x[0]),
    lambda x: np.linalg.norm(x) ** 3 + np.hypot(x, 1.0),
    lambda x: sum(row @ row for row in x) * x,
    lambda x: x**2 + 2.0**x + x**x,
]


def shifted(fun: Callable[[Any], Any], x: Any, unit: Any, weights: Any, t: float) -> float:
    return float(np.sum(weights * fun(x + t * unit)))


@pytest.mark.parametrize("index", range(len(ARRAY_FUNCTIONS)))
def test_functions_of_arrays(index: int) -> None:
    fun = ARRAY_FUNCTIONS[index]
    x = np.array([[0.9, 0.3], [0.4, 0.7]])
    weights = np.cos(np.arange(np.size(fun(x)))).reshape(np.shape(fun(x)))
    _, back = source.vjp(fun, x)
    (found,) = back(weights)
    expected = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        unit = np.zeros_like(x)
        unit[i] = 1.0
        expected[i] = slope(partial(shifted, fun, x, unit, weights), 0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


# Containers and objects


@attrs.frozen
class Line:
    """A record of attrs."""

    slope: Any
    offset: Any = 0.0

    def at(self, x: Any) -> Any:
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
    def of_bend(bend: Bend, pair: Pair, given: dict[str, tuple[float, str]]) -> Any:
        return bend.line.at(pair.a) * bend.weights[1] + given["x"][0] * pair.b

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
        return line.at(a) * b * bend.weights[0]

    assert source.grad(program)(1.3) == pytest.approx(slope(program, 1.3), rel=1e-9)


def test_properties_and_merged_dicts() -> None:
    def program(x: float) -> Any:
        bend = Bend(Line(x), [x * x, x])
        merged = {"a": x * x, "b": x} | {"b": bend.first}
        return bend.first * x + merged["a"] * merged["b"]

    assert source.grad(program)(1.3) == pytest.approx(slope(program, 1.3), rel=1e-9)
    assert source.grad(lambda bend: bend.first)(Bend(Line(1.0), [2.0])).weights == [1.0]


def test_captured_values_have_cotangents() -> None:
    scale, shift = 3.0, 1.0
    _, back = source.forward(lambda x: x * scale + shift, 2.0)
    assert back(1.0) == ({"scale": 2.0, "shift": 1.0}, 3.0)


def test_partial_functions_and_callable_objects() -> None:
    fun = partial(Line(2.0, 1.0).at)
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


# The adjoint as text


def test_the_text_of_an_adjoint_runs_by_itself(tmp_path: Any) -> None:
    for fun in (newton, early_return, functions):
        text = source.adjoint_source(fun)
        namespace: dict[str, Any] = {}
        exec(compile(text, "adjoint", "exec"), namespace)
        value, back = namespace[f"forward_of_{fun.__name__}"](fun, 1.7)
        assert value == fun(1.7)
        assert back(1.0)[1] == source.grad(fun)(1.7)


def test_a_loop_is_written_as_a_loop() -> None:
    def halved(x: float) -> float:
        while x > 1:
            x = x / 2
        return x

    text = source.adjoint_source(halved)
    assert "    while x_1 > 1:\n" in text
    assert "block ==" not in text


def test_a_program_is_generated_once() -> None:
    def square(x: float) -> float:
        return x * x

    assert source.forward(square, 2.0)[1].run is source.forward(square, 3.0)[1].run


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


# What is refused


def refuses_global(x: float) -> float:
    global FACTOR  # noqa: PLW0603 # here
    FACTOR = x
    return x


def refuses_generator(x: float) -> float:
    return max(map(abs, (y for y in (x, 1.0))))  # here


def refuses_item(x: float) -> float:
    xs = [x, x]
    xs[0] = 1.0  # here
    return xs[0]


def refuses_append(x: float) -> float:
    xs = [x]
    xs.append(x)  # here
    return xs[1]


def refuses_except(x: float) -> float:
    try:  # here
        return 1 / x
    except ZeroDivisionError:
        return 0.0


def refuses_exec(x: float) -> float:
    exec("y = x")  # here
    return x


def refuses_late_binding(x: float) -> float:
    scaled: Callable[[float], float] = lambda y: y * x  # noqa: E731 # here
    x = 2.0
    return scaled(x)


def refuses_match(x: float) -> float:
    match x:  # here
        case _:
            return x


def refuses_delete(x: float) -> float:
    y = x
    del y  # here
    return x


def refuses_import(x: float) -> float:
    import math as m  # here

    return m.sin(x)


def refuses_attribute(x: float) -> float:
    unchecked(helper).scale = x  # here
    return x


def refuses_nonlocal(x: float) -> float:
    def inner() -> None:
        nonlocal x
        x = 2.0

    inner()
    return x


REFUSED: list[tuple[Callable[[float], float], str]] = [
    (refuses_global, "global is not taken"),
    (refuses_generator, "a generator expression here is not taken"),
    (refuses_item, "an assignment to an item is not taken"),
    (refuses_append, r"\.append\(\), which changes an object in place, is not taken"),
    (refuses_except, "try with except is not taken"),
    (refuses_exec, r"exec\(\) is not taken"),
    (refuses_late_binding, "a function that closes over 'x', which line"),
    (refuses_match, "match is not taken"),
    (refuses_delete, "del is not taken"),
    (refuses_import, "an import in a function is not taken"),
    (refuses_attribute, "an assignment to an attribute is not taken"),
]


@pytest.mark.parametrize(("fun", "message"), REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_what_is_not_taken_is_refused(fun: Callable[[float], float], message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        source.grad(fun)(1.0)
    assert "Instead, " in caught.value.message
    assert caught.value.location is not None
    assert caught.value.location.text.endswith("# here")


def test_more_refusals() -> None:
    def changes_an_array(x: Any) -> Any:
        x += 1.0
        return x.sum()

    def pops(x: float) -> float:
        xs = [x, x]
        y = xs.pop()
        return y

    def yields(x: float) -> Iterator[float]:
        yield x

    with pytest.raises(SourceError, match="changes a value of type ndarray in place"):
        source.grad(changes_an_array)(np.ones(2))
    with pytest.raises(SourceError, match=r"no derivative is known of the method list\.pop"):
        source.grad(pops)(1.0)
    with pytest.raises(SourceError, match="is a generator"):
        source.ir_of(yields)
    with pytest.raises(SourceError, match="nonlocal is not taken"):
        source.grad(refuses_nonlocal)(1.0)
    with pytest.raises(SourceError, match=r"no derivative is known of math\.gamma"):
        source.grad(math.gamma)(1.0)
    with pytest.raises(SourceError, match="given b by keyword"):
        source.grad(lambda x: np.dot(b=x, a=x))(np.ones(2))
    with pytest.raises(SourceError, match="the keyword out is not taken"):
        source.grad(lambda x: np.sin(x, out=x))(np.ones(2))
    with pytest.raises(SourceError, match=r"no derivative is known of .*Converted"):
        source.grad(lambda x: Converted(x).value)(1.0)
    with pytest.raises(SourceError, match="closes over variables"):
        source.grad(lambda x: tinyjax.grad(lambda y: y * x)(1.0))(1.0)
    with pytest.raises(ArgumentError, match="ir_of takes a Python function"):
        source.ir_of(math.sin)


def test_a_refusal_at_run_time_names_the_line_of_the_program() -> None:
    def program(x: float) -> float:
        for _ in range(2):
            x = math.sin(x)
            x = math.gamma(x)  # here
        return x

    def adds(x: Any) -> Any:
        x += 1.0  # here
        return x

    for fun, x in ((program, 1.0), (adds, np.ones(2))):
        with pytest.raises(SourceError) as caught:
            source.grad(fun)(x)
        assert caught.value.location is not None
        assert caught.value.location.text.endswith("# here")


def test_errors_of_gradients() -> None:
    with pytest.raises(DifferentiationError, match="returned tuple"):
        source.grad(lambda x: (x, x))(1.0)
    with pytest.raises(DifferentiationError, match=r"argument 0 of .* is of type int"):
        source.grad(power)(2)
    with pytest.raises(DifferentiationError, match="is of type Walk"):
        source.grad(lambda walk: walk.run(1.0))(Walk())
    with pytest.raises(ArgumentError, match="argnums names argument 1"):
        source.grad(power, argnums=1)(2.0)


def test_errors_of_the_program_are_its_own() -> None:
    unbound = compiled(
        "def program(x):\n    for i in range(int(x)):\n        y = i * x\n    return y\n"
    )
    with pytest.raises(UnboundLocalError, match="'y'"):
        source.grad(unbound)(0.5)
    with pytest.raises(AssertionError, match=r"-200\.0 is too small"):
        source.grad(guarded)(-200.0)
    with pytest.raises(ValueError, match="too many values to unpack"):
        source.evaluate(source.ir_of(lambda x: [a for a, b in unchecked([(x, x, x)])]), 1.0)


def test_ill_formed_programs_are_found() -> None:
    x, y = Variable(1), Variable(2)
    double = Statement(y, Call(Constant(abs, "abs"), (x,)))

    def of(*blocks: Block) -> IR:
        return IR("f", None, blocks, "")

    verify(of(Block((x,), (double,), (Return(y),))))
    for blocks, message in [
        ((Block((x,), (double, double), (Return(y),)),), "defined twice"),
        ((Block((), (double,), (Return(y),)),), "not defined"),
        ((Block((x,), (), (Return(y),)), Block((), (double,), (Return(y),))), "may not be defined"),
        ((Block((x,), (), (Branch(1),)), Block((y,), (), (Return(y),))), "0 values for 1"),
        ((Block((x,), (), ()),), "does not end"),
        ((Block((x,), (), (Branch(0, (x,)),)),), "branches to no block"),
    ]:
        with pytest.raises(JaxprTypeError, match=message):
            verify(of(*blocks))


# Random programs

_numbers = count()
VARIABLES = ("x", "y", "z")


def compiled(text: str) -> FunctionType:
    """A function from its text, which can be read again."""
    filename = f"<random program {next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"math": math}
    exec(compile(text, filename, "exec"), namespace)
    found = namespace["program"]
    assert isinstance(found, FunctionType)
    return found


expressions = st.recursive(
    st.sampled_from([*VARIABLES, "0.5", "2", "k"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        inner.map(lambda e: f"math.sin({e})"),
        inner.map(lambda e: f"({e}) / 2"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} > 0.1 else {p[2]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]} or {p[1]})"),
    ),
    max_leaves=4,
)
conditions = st.one_of(
    st.tuples(expressions, st.sampled_from(["<", ">"]), expressions).map(" ".join),
    st.tuples(expressions, expressions).map(lambda p: f"not ({p[0]} > 0.2 and {p[1]} < 1)"),
    st.tuples(expressions, expressions).map(lambda p: f"-0.3 < {p[0]} < {p[1]}"),
)
assignments = st.one_of(
    st.tuples(st.sampled_from(VARIABLES), expressions).map(lambda p: [f"{p[0]} = {p[1]}"]),
    st.tuples(st.sampled_from(VARIABLES), expressions).map(lambda p: [f"{p[0]} += {p[1]}"]),
    st.just(["x, y = y, x"]),
)


def flat(parts: list[list[str]]) -> list[str]:
    return [line for part in parts for line in part]


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def extended(inner: Any) -> Any:
    body: Any = st.lists(inner, min_size=1, max_size=3).map(flat)
    leaving = st.sampled_from([["break"], ["continue"], [], ["return z"]])
    looped = st.tuples(body, conditions, leaving, body).map(
        lambda p: [*p[0], f"if {p[1]}:", *indented([*p[3], *p[2]])]
    )
    return st.one_of(
        st.tuples(conditions, body, body).map(
            lambda p: [f"if {p[0]}:", *indented(p[1]), "else:", *indented(p[2])]
        ),
        st.tuples(conditions, body).map(lambda p: [f"if {p[0]}:", *indented([*p[1], "return y"])]),
        st.tuples(looped, body).map(
            lambda p: ["for k in range(3):", *indented(p[0]), "else:", *indented(p[1])]
        ),
        st.tuples(looped, conditions).map(
            lambda p: [
                "n = 0",
                f"while n < 3 and ({p[1]}):",
                *indented(["n += 1", *p[0]]),
            ]
        ),
    )


statements = st.recursive(assignments, extended, max_leaves=6)
programs = st.lists(statements, min_size=1, max_size=4).map(
    lambda parts: "\n".join(
        [
            "def program(x):",
            *indented(["y, z, k = x * 0.5, 0.25, 1", *flat(parts), "return x + y * z"]),
            "",
        ]
    )
)


@pytest.mark.slow
@settings(max_examples=60)
@given(text=programs, x=st.sampled_from([0.3, -0.7, 1.1]))
def test_random_programs(text: str, x: float) -> None:
    fun = compiled(text)
    expected = fun(x)
    assert source.evaluate(source.ir_of(fun), x) == expected
    value, found = source.value_and_grad(fun)(x)
    assert value == expected
    traced_text = text.replace("math.sin", "jnp.sin")
    traced = compiled(traced_text)
    traced.__globals__["jnp"] = jnp
    gradient = 0.0 if isinstance(expected, int) else float(tinyjax.grad(traced)(x))
    assert found == pytest.approx(gradient, rel=1e-9, abs=1e-9, nan_ok=True)


@pytest.mark.slow
@settings(max_examples=3)
@given(text=programs, x=st.sampled_from([0.3, -0.7, 1.1]))
def test_second_derivatives_of_random_programs(text: str, x: float) -> None:
    traced = compiled(text.replace("math.sin", "jnp.sin"))
    traced.__globals__["jnp"] = jnp
    fun = compiled(text)
    if not isinstance(fun(x), int):
        second = float(tinyjax.grad(tinyjax.grad(traced))(x))
        found = source.grad(source.grad(fun))(x)
        assert found == pytest.approx(second, rel=1e-9, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("keyword", ["elif", "if"])
def test_many_branches(keyword: str) -> None:
    lines = ["def program(x):", "    y = x"]
    for i in range(40):
        lines += [f"    {keyword if i else 'if'} x * {i + 1} > 30:", f"        y = y * x + {i}"]
    fun = compiled("\n".join([*lines, "    return y", ""]))
    for x in (0.9, 1.3):
        assert source.grad(fun)(x) == pytest.approx(slope(fun, x), rel=1e-7)
