"""Objects that functions make for themselves and change, and classes whose constructors compute."""

import linecache
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pytest
from own_classes import Accumulator, Rated
from reading import read_gradient

import tinyjax
from raising import raises
from tinyjax import source
from tinyjax.errors import SourceError

PROGRAMS: Final[list[Any]] = []
ESCAPES: Final[list[Any]] = []


def program(fun: Callable[[float], Any]) -> Callable[[float], Any]:
    PROGRAMS.append(pytest.param(fun, id=fun.__name__))
    return fun


def escape(fun: Callable[[float], Any]) -> Callable[[float], Any]:
    ESCAPES.append(pytest.param(fun, id=fun.__name__))
    return fun


class Rod:
    """Heat in a rod."""

    scale = 2.0
    count = 0

    def __init__(self, n: int, k: float) -> None:
        self.u = np.zeros(n)
        self.u[n // 2] = 1.0
        self.k: float = k
        self.t, self.work = 0.0, k**2

    @property
    def total(self) -> Any:
        return np.sum(self.u**2) * self.scale

    @staticmethod
    def weight(x: float) -> float:
        return 1.0 / (1.0 + x)

    def flow(self) -> Any:
        return self.k * (self.u[2:] - 2 * self.u[1:-1] + self.u[:-2])

    def update(self, dt: float = 0.1) -> None:
        self.u[1:-1] += dt * self.flow()
        self.t += dt * self.k
        self.count += 1

    def __call__(self, x: float) -> float:
        return x * self.t


class Heated(Rod):
    def __init__(self, n: int, k: float, heat: float) -> None:
        super().__init__(n, k)
        self.heat = heat

    def update(self, dt: float = 0.1) -> None:
        super().update(dt)
        if self.t > 0.2:
            self.u[2] += self.heat * dt


class Body:
    def __init__(self, x: float, v: float) -> None:
        self.x = x
        self.v = v

    def kick(self, a: float, dt: float) -> None:
        self.v = self.v + a * dt

    def drift(self, dt: float) -> float:
        self.x = self.x + self.v * dt
        return self.x


class System:
    def __init__(self, k: float) -> None:
        self.a: Body = Body(1.0, 0.0)
        self.b = Body(-1.0, 0.5 * k)
        self.k = k

    def step(self, dt: float) -> None:
        force = self.k * (self.b.x - self.a.x)
        self.a.kick(force, dt)
        self.b.kick(-force, dt)
        self.a.drift(dt)
        self.b.drift(dt)

    def energy(self) -> float:
        stretch = self.a.x - self.b.x
        return 0.5 * self.a.v**2 + 0.5 * self.b.v**2 + 0.5 * self.k * stretch**2


class Adam:
    """The optimiser, which remembers moments."""

    def __init__(self, rate: float) -> None:
        self.m = self.v = 0.0
        self.t = 0
        self.rate = rate

    def update(self, g: float) -> float:
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.99 * self.v + 0.01 * g * g
        root = math.sqrt(self.v / (1 - 0.99**self.t))
        return -self.rate * (self.m / (1 - 0.9**self.t)) / (root + 1e-3)


class Holder:
    def __init__(self, body: Body, n: float) -> None:
        self.body = body
        self.n = n * 2.0

    def move(self) -> float:
        self.body.drift(self.n)
        return self.body.x


@dataclass
class State:
    x: float
    v: float = 0.5
    log: list[float] = field(default_factory=list)
    n: int = 0


class Slotted:
    __slots__ = ("half", "x")

    def __init__(self, x: float) -> None:
        self.x = x
        self.half = x / 2


@dataclass
class WithOwnInit:
    x: float

    def __init__(self, x: float) -> None:
        self.x = 2.0 * x


@dataclass
class WithPostInit:
    x: float
    y: float = 0.0

    def __post_init__(self) -> None:
        self.y = self.x**2


def advance(s: State, dt: float, k: float = 2.0) -> float:
    s.v -= k * s.x * dt
    s.x += s.v * dt
    s.n += 1
    s.log = [*s.log, s.x]
    return s.x


@program
def rod(k: float) -> Any:
    r = Rod(9, k)
    for _ in range(5):
        r.update()
    return r.total + r.weight(r.t) + r(k) + r.count * r.work


@program
def heated(k: float) -> Any:
    r = Heated(9, k, 0.5 * k)
    for _ in range(4):
        r.update(0.2)
    return r.total


@program
def bodies(k: float) -> float:
    s = System(k)
    n = 0
    while n < 6:
        s.step(0.1)
        n += 1
    return s.energy() * s.a.x


@program
def oscillator(x: float) -> float:
    s = State(x)
    total = 0.0
    for _ in range(4):
        total += advance(s, dt=0.1 * x)
    return total + sum(s.log) + s.n


@program
def made_in_a_loop(x: float) -> float:
    total = 0.0
    for i in range(3):
        b = Body(x * i, 1.0)
        b.kick(x, 0.5)
        b.drift(0.1)
        total += b.x * b.v
    return total


@program
def minimized(rate: float) -> float:
    optimizer = Adam(rate)
    x = 1.0
    for _ in range(5):
        x += optimizer.update(2 * (x - 3.0) + 0.1 * x**3)
    return x


@program
def several_names(x: float) -> float:
    b = Body(x, 2.0 * x)
    h = Holder(b, x)
    h.move()
    c = h.body
    c.kick(1.0, x)
    return b.x * b.v + h.move()


@program
def in_branches(x: float) -> float:
    if x > 0.5:
        b = Body(x, 1.0)
    else:
        b = Body(1.0, x)
        b.drift(x)
    b.kick(x, 2.0)
    return b.x * b.v


@program
def in_a_comprehension(x: float) -> Any:
    r = Rod(5, x)
    r.update()
    return sum([r.u[i] * r.t * i for i in range(5)])


@program
def assigned_from_outside(x: float) -> float:
    b = Body(x, 1.0)
    b.v = x * b.x
    b.x, b.v = b.v, b.x
    b.v **= 2
    return b.x + 3.0 * b.v


@program
def made_of_the_one_before(x: float) -> float:
    b = Body(x, 1.0)
    for _ in range(3):
        b = Body(b.x * 2.0, b.v + x)
        b.drift(1.0)
    return b.x * b.v


@program
def dataclasses_that_compute(x: float) -> float:
    a = WithOwnInit(x)
    b = WithPostInit(x)
    return a.x * b.y


class Record:
    """A trajectory that remembers where it was."""

    def __init__(self, x: float) -> None:
        self.x = x
        self.history: list[float] = []

    def step(self, dt: float) -> None:
        self.x -= dt * self.x * self.x
        self.history.append(self.x)
        self.history.extend([1.0, self.x * 2])

    def mean(self) -> float:
        return sum(self.history) / len(self.history)


@program
def lists_that_grow(x: float) -> Any:
    r = Record(x)
    for _ in range(3):
        r.step(0.1)
    weighted = sum([value * i for i, value in enumerate(r.history)])
    return r.mean() + np.sum(np.array(r.history) ** 2) + r.history[-1] + weighted


@program
def with_slots(x: float) -> float:
    s = Slotted(x)
    s.half *= s.x
    return s.half


@program
def of_another_module(x: float) -> float:
    a = Accumulator(x)
    for i in range(3):
        a.add(x * i)
    return a.total


@program
def ended_early(x: float) -> float:
    b = Body(x, 1.0)
    for i in range(5):
        if b.drift(0.3) > 1.2:
            return b.x * i
    return b.x * x


@pytest.mark.parametrize("fun", PROGRAMS)
def test_programs(fun: Callable[[Any], Any]) -> None:
    x, small, large = 0.7, 1e-5, 1e-4
    first = (fun(x + small) - fun(x - small)) / (2 * small)
    second = (fun(x + large) - 2 * fun(x) + fun(x - large)) / large**2
    gradient = source.grad(fun)
    compiled = tinyjax.grad(tinyjax.jit(fun, control_flow="source"))
    point = np.float64(x)
    found = [
        (gradient(x), first),
        (source.grad(gradient)(x), second),
        (compiled(point), first),
        (tinyjax.grad(compiled)(point), second),
        (tinyjax.vmap(compiled)(np.array([x, x]))[1], first),
    ]
    for derivative, expected in found:
        np.testing.assert_allclose(derivative, expected, rtol=2e-5, atol=2e-6)


# What is no value: these are refused, or right


@escape
def returned(x: float) -> Any:
    b = Body(x, 1.0)
    b.kick(x, 1.0)
    return [b][0].v


@escape
def kept_from_an_iteration(x: float) -> float:
    last = Body(0.0, 0.0)
    for i in range(3):
        b = Body(x * i, 1.0)
        b.kick(x, 1.0)
        if i == 0:
            last = b
    return last.x * last.v


@escape
def another_in_its_place(x: float) -> float:
    b = Body(x, 1.0)
    c = b
    b = Body(2.0 * x, 3.0)
    b.kick(1.0, 1.0)
    return c.v * x


@escape
def closed_over(x: float) -> float:
    b = Body(x, 1.0)

    def speed(t: float) -> float:
        return b.v * t

    b.kick(x, 1.0)
    return speed(x)


def of_text(name: str, text: str) -> Callable[[float], Any]:
    """Return a function that no type checker reads."""
    filename, namespace = f"<{name}>", dict(globals())
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    exec(compile(text, filename, "exec"), namespace)
    fun: Callable[[float], Any] = namespace[name]
    return fun


escape(
    of_text(
        "read_before_it_is_made",
        """
def read_before_it_is_made(x):
    total = 0.0
    for i in range(3):
        if i > 0:
            b.kick(x, 1.0)
            total += b.v
        b = Body(x, 1.0)
    return total
""",
    )
)


@escape
def list_under_another_name(x: float) -> float:
    r = Record(x)
    places = r.history
    r.step(0.1)
    return sum(places)


@escape
def list_from_outside(x: float) -> float:
    places = [x]
    r = Record(x)
    r.history = places
    r.step(0.1)
    return sum(places)


@escape
def list_that_is_returned(x: float) -> float:
    r = Record(x)
    places = history_of(r)
    r.step(0.1)
    return sum(places)


def history_of(r: Record) -> list[float]:
    return r.history


@escape
def part_that_changes(x: float) -> float:
    a, b = Body(x, 1.0), Body(1.0, x)
    h = Holder(a, x)
    h.body = b
    return h.move()


@escape
def by_name(x: float) -> float:
    b = Body(x, 1.0)
    b.kick(x, 1.0)
    return float(getattr(b, "v"))  # noqa: B009


@escape
def sum_of_counts_of_a_class(x: float) -> float:
    r = Rod(5, x)
    for _ in range(2):
        counted(r)
    return r.count * x


def counted(r: Rod) -> None:
    r.count = r.count + 1


@pytest.mark.parametrize("fun", ESCAPES)
def test_objects_that_escape(fun: Callable[[Any], Any]) -> None:
    """They are right, or refused; none is wrong in silence."""
    x, small = 0.7, 1e-5
    expected = (fun(x + small) - fun(x - small)) / (2 * small)
    for derivative, point in (
        (source.grad(fun), x),
        (tinyjax.grad(tinyjax.jit(fun, control_flow="source")), np.float64(x)),
    ):
        try:
            found = derivative(point)
        except SourceError:
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("handed_on", "'b', an object that changes, as a value is not taken .*. Instead, use its"),
        ("kept_of_a_class_that_computes", "known of .*Logged.* Its objects are no variables: a li"),
        ("doubled", "more than 1,000 calls with objects that change is not taken"),
        ("rated", "'RATE', a variable of another module, in a method is not taken"),
    ],
)
def test_reasons_are_named(name: str, message: str) -> None:
    with raises(SourceError, match=message):
        read_gradient(globals()[name], 0.7)


class Doubling:
    """Methods that call each other twice, ten deep."""

    def __init__(self, x: float) -> None:
        self.x = [x][0]

    def move(self) -> None:
        self.x += 0.001


for _i in range(10):
    _before = "move" if _i == 0 else f"move_{_i - 1}"
    _text = f"def move_{_i}(self):\n    self.{_before}()\n    self.{_before}()\n"
    setattr(Doubling, f"move_{_i}", of_text(f"move_{_i}", _text))


def doubled(x: float) -> float:
    d: Any = Doubling(x)
    d.move_9()
    return float(d.x)


def handed_on(x: float) -> float:
    b = Body(x, 1.0)
    b.v = x
    return sum([body.v for body in [b]])


class Logged:
    def __init__(self, x: float) -> None:
        self.log = [2.0 * x]

    def add(self, x: float) -> None:
        self.log.append(x)


def kept_of_a_class_that_computes(x: float) -> float:
    r = Logged(x)
    r.add(x)
    places = r.log
    return sum(places)


def rated(x: float) -> float:
    r = Rated(x)
    r.total += 1.0
    return r.total


def test_dataclasses_with_their_own_constructors_are_no_records() -> None:
    with raises(SourceError, match="no derivative is known of .*WithOwnInit"):
        read_gradient(lambda x: [WithOwnInit(x)][0].x, 0.7)
    assert source.grad(lambda x: [WithOwnInit(x)][0].x)(0.7) == 2.0


def test_methods_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def drift_twice(self: Body, dt: float) -> float:
        self.x = self.x + 2 * self.v * dt
        return self.x

    assert source.grad(drifted)(0.5) == pytest.approx(1.0)
    monkeypatch.setattr(Body, "drift", drift_twice)
    assert source.grad(drifted)(0.5) == pytest.approx(2.0)


def drifted(x: float) -> float:
    b = Body(x, x)
    b.kick(-1.0, 0.0)
    b.drift(1.0)
    return b.x - x
