"""Objects in programs: records, their methods and operators, functions of other functions."""

import copy
import functools
import math
import operator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import attrs
import pytest
from random_programs import compiled
from reading import read_gradient
from semantics import F, Function, check

from raising import raises
from tinyjax.errors import SourceError

PROGRAMS: list[Any] = []


def program(fun: F) -> F:
    PROGRAMS.append(pytest.param(fun, id=fun.__name__))
    return fun


class Oscillator:
    """A class with a plain constructor."""

    def __init__(self, place: Any, speed: Any = 1.0, *, stiffness: Any) -> None:
        self.place = place
        self.speed: Any = speed
        self.stiffness = stiffness
        self.name = "oscillator"
        self.weights = [1.0, 2.0]

    def after(self, dt: float) -> "Oscillator":
        speed = self.speed - dt * self.stiffness * self.place
        return Oscillator(self.place + dt * speed, speed, stiffness=self.stiffness)

    @property
    def energy(self) -> Any:
        return self.weights[1] * self.stiffness * self.place**2 + self.speed**2


@program
def objects_of_a_plain_class(x: Any) -> Any:
    oscillator = Oscillator(x, stiffness=x * 2)
    for _ in range(3):
        oscillator = oscillator.after(0.1)
    return oscillator.energy + oscillator.place


@functools.wraps(abs)
def wrapped_fn(x: Any) -> Any:
    return x * 3


@program
def uses_wrapped(x: Any) -> Any:
    return wrapped_fn(x)


def deco(f: Any) -> Any:

    @functools.wraps(f)
    def g(*a: Any, **k: Any) -> Any:
        return 2 * f(*a, **k)

    return g


@deco
def decorated_fn(x: Any) -> Any:
    return x * x


@program
def uses_decorated(x: Any) -> Any:
    return decorated_fn(x)


@attrs.frozen
class AVec:  # noqa: PLW1641
    a: float
    b: float

    def __add__(self, o: Any) -> Any:
        return AVec(self.a + o.a, self.b + o.b)

    def __mul__(self, k: Any) -> Any:
        return AVec(self.a * k, self.b * k)

    def __getitem__(self, i: Any) -> Any:
        return self.a if i == 0 else self.b

    def __len__(self) -> Any:
        return 2

    def __iter__(self) -> Any:
        return iter([self.a, self.b])

    def __call__(self, y: Any) -> Any:
        return self.a * y

    def __bool__(self) -> Any:
        return True

    def __eq__(self, o: Any) -> Any:
        return self.a == o.a

    def __neg__(self) -> Any:
        return AVec(-self.a, -self.b)

    def __abs__(self) -> Any:
        return math.hypot(self.a, self.b)

    def __float__(self) -> Any:
        return self.a * self.b

    def __contains__(self, v: Any) -> Any:
        return v == self.a

    def __lt__(self, o: Any) -> Any:
        return self.a < o.a

    def __radd__(self, o: Any) -> Any:
        return self if o == 0 else AVec(self.a + o, self.b)

    def __matmul__(self, o: Any) -> Any:
        return self.a * o.a + self.b * o.b

    def __iadd__(self, o: Any) -> Any:
        return AVec(self.a + o.a, self.b)


@program
def overloaded_attrs(x: Any) -> Any:
    v = AVec(x, 2.0) + AVec(1.0, x)
    return v.a * v.b


@program
def overloaded_mul(x: Any) -> Any:
    v = AVec(x, 2.0) * x
    return v.a * v.b


@program
def overloaded_getitem(x: Any) -> Any:
    v = AVec(x, x * x)
    return v[0] * v[1]


@program
def overloaded_call(x: Any) -> Any:
    return AVec(x, 1.0)(x)


@program
def overloaded_neg(x: Any) -> Any:
    return (-AVec(x, 1.0)).a


@program
def overloaded_abs(x: Any) -> Any:
    return abs(AVec(x, 1.0))


@program
def overloaded_float(x: Any) -> Any:
    return float(AVec(x, x))


@program
def overloaded_sum(x: Any) -> Any:
    total: Any = sum([AVec(x, 1.0), AVec(x, 2.0)])
    return total.a


@program
def overloaded_matmul(x: Any) -> Any:
    return AVec(x, 2.0) @ AVec(1.0, x)


@program
def overloaded_lt(x: Any) -> Any:
    return max([AVec(x, 1.0), AVec(2 * x, 1.0)]).a


@program
def property_and_static(x: Any) -> Any:
    return Stat.twice(x) + Stat(x).prop + Stat.make(x).v


@attrs.frozen
class Stat:
    v: float

    @staticmethod
    def twice(y: Any) -> Any:
        return 2 * y

    @classmethod
    def make(cls, y: Any) -> Any:
        return cls(y * y)

    @property
    def prop(self) -> Any:
        return self.v**2


@attrs.frozen
class Slots:
    v: float = 2.0
    k: list[float] = attrs.Factory(list)


@program
def factory_plain(x: Any) -> Any:
    return Slots(x).v * x


@program
def getattr_builtin(x: Any) -> Any:
    m = AVec(x, 2.0)
    return m.a * x


@program
def functools_reduce(x: Any) -> Any:
    return functools.reduce(operator.mul, [x, 2.0, x])


@program
def copy_module(x: Any) -> Any:
    return copy.copy([x, 2.0])[0] * copy.deepcopy((x, [x]))[1][0]


@program
def type_call(x: Any) -> Any:
    return type(x)(x * 2)


@program
def method_bound_passed(x: Any) -> Any:
    p = P(x, 2.0)
    fs = [p.mul, p.add]
    return sum(f(x) for f in fs)


@attrs.frozen
class P:
    a: float
    b: float = 1.0

    def mul(self, k: Any) -> Any:
        return self.a * k * self.b

    def add(self, k: Any) -> Any:
        return self.a + k

    @property
    def norm(self) -> Any:
        return math.hypot(self.a, self.b)

    @staticmethod
    def unit() -> Any:
        return P(1.0, 0.0)

    @classmethod
    def build(cls, v: Any, **kw: Any) -> Any:
        return cls(v, **kw)

    def with_a(self, a: Any) -> Any:
        return attrs.evolve(self, a=a)


@program
def methods_chain(x: Any) -> Any:
    p = P.build(x, b=x * x).with_a(2 * x)
    return p.norm * P.unit().add(x) + p.mul(x)


@program
def attrs_default_factory(x: Any) -> Any:
    return D(x).items[0] * 0 + D(x, [x]).items[0] * D(x).v


@attrs.frozen
class D:
    v: float
    items: list[float] = attrs.Factory(lambda: [1.0])


@dataclass(frozen=True)
class DC:
    v: float
    w: float = 2.0
    tags: tuple[str, ...] = field(default=())

    def __add__(self, other: Any) -> Any:
        return DC(self.v + other.v, self.w)

    def __mul__(self, k: Any) -> Any:
        return DC(self.v * k, self.w * k)

    __rmul__ = __mul__

    def __sub__(self, o: Any) -> Any:
        return DC(self.v - o.v)

    def __truediv__(self, k: Any) -> Any:
        return DC(self.v / k)

    def __pow__(self, n: Any) -> Any:
        return DC(self.v**n)

    def __lt__(self, o: Any) -> Any:
        return self.v < o.v

    def __call__(self, y: Any) -> Any:
        return self.v * y

    def __getitem__(self, i: Any) -> Any:
        return (self.v, self.w)[i]

    def __len__(self) -> Any:
        return 2


@program
def dataclass_ops(x: Any) -> Any:
    a, b = (DC(x), DC(x * x, w=x))
    c = (2.0 * a + b * x - a) / x
    return (
        c.v * c.w + (c**2).v + a(x) + b[1] * len(a) + sorted([a, b])[0].v + sum([a, b], DC(0.0)).v  # noqa: FURB192
    )


class NT(NamedTuple):
    a: float
    b: float = 3.0

    def scaled(self, k: Any) -> Any:
        return NT(self.a * k, self.b)


@program
def namedtuple_ops(x: Any) -> Any:
    n = NT(x)._replace(b=x * x).scaled(2.0)
    a, b = n
    return a * b + n[0] + n.b + sum(n) + len(n)


@program
def inheritance_call(x: Any) -> Any:
    return Sub(x).total(2.0)


@attrs.frozen
class Base:
    v: float

    def part(self, k: Any) -> Any:
        return self.v * k

    def total(self, k: Any) -> Any:
        return self.part(k) + self.v


@attrs.frozen
class Sub(Base):
    def part(self, k: Any) -> Any:
        return Base.part(self, k) ** 2


@pytest.mark.parametrize("fun", PROGRAMS)
def test_it_means_what_it_means_in_python(fun: Function) -> None:
    check(fun)


@attrs.frozen
class Length:
    """A class whose methods for operators give numbers with a derivative."""

    v: Any

    def __sub__(self, other: "Length") -> "Length":
        return Length(self.v - other.v)

    def __floordiv__(self, k: Any) -> Any:
        return self.v * self.v / k

    def __floor__(self) -> Any:
        return self.v * 3.0


@pytest.mark.parametrize("operation", ["d // 2", "math.floor(d)"])
def test_methods_that_are_not_followed_are_refused(operation: str) -> None:
    """Also of what an operator gives, which has a derivative itself."""
    text = f"def program(x):\n    d = Length(x * x) - Length(x)\n    return {operation}\n"
    fun = compiled(text, Length=Length, math=math)
    with raises(SourceError, match="is a method of the class Length"):
        read_gradient(fun, 0.7)
