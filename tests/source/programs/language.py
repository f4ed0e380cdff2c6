"""The features of the language: closures, containers, objects, clean-ups, ways out of loops."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, NamedTuple

import attrs
import numpy as np

from programs.table import Program

GRAVITY = 9.81


class Point(NamedTuple):
    """A named tuple."""

    x: float
    y: float

    def length(self) -> float:
        return math.sqrt(self.x**2 + self.y**2)


@dataclass(frozen=True)
class Account:
    """A state that is replaced, not changed."""

    balance: float
    rate: float = 0.05

    def after_a_year(self) -> "Account":
        return Account(self.balance * (1 + self.rate), self.rate)


@attrs.frozen
class Shape:
    """A class with a method that another one replaces."""

    size: float

    def area(self) -> float:
        return self.size**2

    @property
    def doubled(self) -> float:
        return 2 * self.area()


@attrs.frozen
class Disc(Shape):
    """The other one."""

    def area(self) -> float:
        return math.pi * self.size**2


@attrs.frozen
class Polynomial:
    """An object that is called."""

    coefficients: Sequence[float]

    def __call__(self, x: float) -> float:
        return reduce(lambda value, c: value * x + c, self.coefficients, 0.0)


def nested_tuples(x: float) -> float:
    tree = (x, (x * x, 2.0, (math.sin(x),)), ((), 3.0))

    def total(node: Any, depth: int) -> float:
        if isinstance(node, tuple):
            return sum([total(child, depth + 1) for child in node])
        return float(node) * depth

    return total(tree, 0)


def dataclass_state(start: float) -> float:
    account = Account(start, rate=0.01 * start)
    for year in range(4):
        account = account.after_a_year()
        if account.balance > 5:
            break
        if year == 1:
            account = Account(account.balance - 0.1, account.rate * 1.1)
    return account.balance * account.rate


def attrs_state(x: float) -> float:
    shapes = [Shape(x), Disc(size=x / 2), Shape(1.0)]
    return sum(s.area() * s.doubled for s in shapes)


def named_tuples(x: float) -> float:
    path = [Point(x, 1.0), Point(y=x * x, x=0.5), Point(2.0, -x)]
    total = 0.0
    for p, q in itertools.pairwise(path):
        total += Point(q.x - p.x, q.y - p.y).length()
    return total


def called_objects(x: float) -> float:
    p = Polynomial([1.0, x, 0.5])
    q = Polynomial((p(x), 2.0))
    return p(q(0.3))


def adders(x: float) -> float:
    def adder(n: float) -> Callable[[float], float]:
        return lambda y: y * n + x

    functions = [adder(float(k)) for k in range(4)]
    result = x
    for f in functions:
        result = f(result)
    return result


def composition(x: float) -> float:
    def compose(*functions: Callable[[float], float]) -> Callable[[float], float]:
        def composed(y: float) -> float:
            for f in reversed(functions):
                y = f(y)
            return y

        return composed

    return compose(math.sin, lambda y: y * x, math.exp, partial(pow, 1.5))(x)


def even_or_odd(x: float) -> float:
    def even(n: int, value: float) -> float:
        return value if n == 0 else odd_from(n - 1, value * x)

    def odd_from(n: int, value: float) -> float:
        return -value if n == 0 else odd(n - 1, value + x)

    def odd(n: int, value: float) -> float:
        return value * value if n <= 0 else odd(n - 2, value * 0.5 + x)

    return even(7, 1.0) + even(0, x)


def memo_by_comprehension(x: float) -> Any:
    powers = {n: x**n / math.factorial(n) for n in range(8)}
    chosen = {n: p for n, p in powers.items() if n % 2}
    return sum(p * (-1) ** (n // 2) for n, p in chosen.items()) + powers.get(99, x)


def walrus_loop(x: float) -> float:
    total = 0.0
    while (step := x / 2) > 0.05:
        total += step
        x = x - step
        if (square := step * step) > 0.1:
            total += square
    return total


def try_finally(x: float) -> float:
    y = x
    for k in range(3):
        try:
            if k == 1:
                continue
            y = y * x + k
            if y > 5:
                return y
        finally:
            y += 0.5 * x
    return y * y


def with_context(x: float) -> float:
    with np.errstate(divide="ignore"), np.errstate(invalid="ignore"):
        for k in range(4):
            x = math.log(1 + x * x)
            if x < 0.2:
                return x * k
    return x


def while_else(x: float) -> float:
    k = 0
    while k < 5:
        k += 1
        x = x * 1.5 - 0.1
        if x > 3:
            break
    else:
        return x**2
    return x + k


def for_else(x: float) -> float:
    for factor in (2.0, 3.0, 5.0):
        for power in (1, 2):
            if x * factor**power > 20:
                x = x / factor
                break
        else:
            x = x * factor
            continue
        break
    else:
        x = -x
    return x * x


def nested_jumps(x: float) -> float:
    total = 0.0
    for i in range(5):
        if i == 1:
            continue
        for j in range(5):
            if j == i:
                continue
            if i * j > 6:
                break
            if total > 50:
                return total
            total += x**i * math.cos(j * x)
        else:
            total *= 0.9
            continue
        total -= x
    return total


def early_returns(x: float) -> float:
    if x < -1:
        return -x
    if x < 0:
        if x > -0.5:
            return x * x
        return x**3
    for k in range(3):
        if x > k + 0.5:
            continue
        return x * (k + 1)
    return math.sqrt(x)


def star_arguments(x: float) -> float:
    def weigh(first: float, *rest: float, scale: float = 1.0, **named: float) -> float:
        total = first * scale
        for i, r in enumerate(rest):
            total += r / (i + 2)
        return total + sum(named[k] * (i + 1) for i, k in enumerate(sorted(named)))

    given = (x * x, 3.0)
    return weigh(x, *given, scale=x, b=x, a=2 * x) * weigh(*given, z=x)


def default_arguments(x: float) -> float:
    def shifted(y: float, step: float = 2 * x, *, power: int = 2) -> float:
        return (y + step) ** power

    scale = 3.0
    scaled: Callable[..., float] = lambda y, k=scale * x: y * k  # noqa: E731
    return shifted(x) + shifted(x, 1.0, power=3) + scaled(x) + scaled(x, 2.0)


def decorated(x: float) -> float:
    def twice(f: Callable[[float], float]) -> Callable[[float], float]:
        return lambda y: f(f(y))

    @twice
    def grow(y: float) -> float:
        return y * x + 1

    return grow(x)


def built_ins(x: float) -> float:
    xs = sorted([x, 0.3, x * x, -1.0], reverse=True)
    pairs = [*zip(xs, reversed(xs), strict=True)]
    ys = [max(a, b) * min(a, b) for a, b in pairs]
    total = sum(map(lambda y: y * x, filter(lambda y: y < 2, ys)))  # noqa: C417
    return total + abs(min(ys)) + math.fsum(ys) + math.prod([x, 2.0, x + 1]) + divmod(x, 0.3)[1]


def chained_comparisons(x: float) -> float:
    a = 2 * x if 0 < x < 1 < x + 0.5 else x * x
    b = x and (x > 5 or x * 3)
    c = 0.0 if not (x > 0.1 and x < 4) else x**1.5
    return a + b + c - (x if x != x else 1.0)  # noqa: PLR0124


def swaps(x: float) -> float:
    a, b, c = x, 1.0, x * x
    for _ in range(4):
        a, b, c = b, c, a * b - c
        (p, q), r = (a, b), c
        a = b = p * q + r
    first, *middle, last = [a, b, c, x]
    return first * last + sum(middle)


def table_of_functions(x: float) -> float:
    operations: dict[str, Callable[[float, float], float]] = {
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "pow": math.pow,
        "max": max,
    }
    value = x
    for name, argument in (("add", 1.0), ("mul", x), ("pow", 1.5), ("max", 0.2)):
        value = operations[name](value, argument)
    return value


def nested_comprehensions(x: float) -> float:
    grid = [[x**i * j for j in range(3) if j != i] for i in range(3)]
    flat = [v for row in grid for v in row]
    turned = [[row[j] for row in grid] for j in range(2)]
    return sum(a * b for a, b in zip(flat, sum(turned, []), strict=True))  # noqa: RUF017


def formatted(x: float) -> float:
    label = f"{len([1, 2]):03d}-{'big' if x > 1 else 'small'}"
    count = int(label[:3])
    assert count == 2, f"{label} is wrong for {x:.3f}"
    return x**count if label.endswith("small") else x * count


def global_constants(x: float) -> float:
    time = math.sqrt(2 * x / GRAVITY)
    return GRAVITY * time**2 * x + math.tau * math.e


def loop_variables(x: float) -> float:
    """Use variables that outlive their loops, and variables of comprehensions, which do not."""
    i = 5
    total = x
    squares = [i * x for i in range(3)]
    for k, y in enumerate(squares):
        total += k * y
    k2 = k
    return total + i * x + k2 * y


def whole_numbers(x: float) -> float:
    n, bits, total = 37, 0, x
    while n:
        n, bit = divmod(n, 2)
        bits += bit
        total = total * (1 + 0.1 * bit) + (n >> 1 ^ bit)
    return total + bits * x + 7 // 2 * x - (-7 // 2) + -7 % 3 + round(2.6) * x


def dispatched(x: float) -> Any:
    def area(shape: tuple[Any, ...]) -> Any:
        kind = shape[0]
        if kind == "disc":
            return math.pi * shape[1] ** 2
        if kind == "box":
            _, width, height = shape
            return width * height
        if kind == "union":
            return sum(area(s) for s in shape[1:])
        raise ValueError(kind)

    return area(("union", ("disc", x), ("box", x, 2.0), ("union", ("box", x, x))))


def inherited(x: float) -> float:
    def largest(shapes: Sequence[Shape]) -> Shape:
        best = shapes[0]
        for shape in shapes:
            if shape.area() > best.area():
                best = shape
        return best

    return largest([Shape(x), Disc(x * 0.6), Shape(0.1)]).size ** 3


def replaced(x: float) -> float:
    account = replace(Account(x), rate=x / 10)
    return attrs.evolve(Shape(x), size=account.rate * 2).area() + account.balance


PROGRAMS = (
    Program(nested_tuples, (0.7,), (1.9,)),
    Program(dataclass_state, (0.7,), (4.9,)),
    Program(attrs_state, (0.7,), (1.9,)),
    Program(named_tuples, (0.7,), (1.9,)),
    Program(called_objects, (0.7,), (1.9,)),
    Program(adders, (0.7,), (1.9,)),
    Program(composition, (0.7,), (1.9,)),
    Program(even_or_odd, (0.7,), (1.9,)),
    Program(memo_by_comprehension, (0.7,), (1.9,)),
    Program(walrus_loop, (0.7,), (1.9,)),
    Program(try_finally, (0.7,), (1.9,), (2.5,)),
    Program(with_context, (0.7,), (1.9,)),
    Program(while_else, (0.7,), (0.2,), (1.9,)),
    Program(for_else, (0.7,), (0.1,), (12.0,)),
    Program(nested_jumps, (0.7,), (1.9,), (3.1,)),
    Program(early_returns, (0.7,), (-0.3,), (-0.8,), (-2.0,), (5.0,)),
    Program(star_arguments, (0.7,), (1.9,)),
    Program(default_arguments, (0.7,), (1.9,)),
    Program(decorated, (0.7,), (1.9,)),
    Program(built_ins, (0.7,), (1.9,)),
    Program(chained_comparisons, (0.7,), (1.9,), (5.5,)),
    Program(swaps, (0.7,), (1.9,)),
    Program(table_of_functions, (0.7,), (1.9,)),
    Program(nested_comprehensions, (0.7,), (1.9,)),
    Program(formatted, (0.7,), (1.9,)),
    Program(global_constants, (0.7,), (1.9,)),
    Program(loop_variables, (0.7,), (1.9,)),
    Program(whole_numbers, (0.7,), (1.9,)),
    Program(dispatched, (0.7,), (1.9,)),
    Program(inherited, (0.7,), (1.9,)),
    Program(replaced, (0.7,), (1.9,)),
)
