"""Effects of what staged programs call: as often as in Python, or an error that names the call."""

import collections
import functools
import logging
import math
import operator
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import source
from tinyjax.errors import SourceError

pytestmark = pytest.mark.usefixtures("double_precision")

Function = Callable[[Any], Any]


class Counter:
    """An object that counts how often it is called."""

    def __init__(self) -> None:
        self.count = 0

    def hit(self) -> int:
        self.count += 1
        return self.count

    def passed(self, x: Any) -> Any:
        self.count += 1
        return x

    @property
    def next(self) -> int:
        self.count += 1
        return self.count

    def __enter__(self) -> int:
        return self.hit()

    def __exit__(self, *_: object) -> None:
        pass


counter = Counter()
log: list[Any] = []
untyped_log: Any = log
logger: Any = logging.getLogger(__name__)
set_item: Any = operator.setitem
totals: dict[str, Any] = {}
queue: collections.deque[Any] = collections.deque()
array = np.zeros(3)
generator = random.Random(0)
assigned = 0.0


def recorded(x: Any) -> Any:
    log.append(x)
    return x


def noted_once() -> float:
    log.append("once")
    return 1.0


def noted_by_another_name(x: Any) -> Any:
    other = log
    other += [x]
    return x


def noted_within(x: Any) -> Any:
    def inner() -> None:
        log.append(x)

    inner()
    return x


def counted_globally(x: Any) -> Any:
    global assigned  # noqa: PLW0603
    assigned += 1.0
    return x


def totalled(x: Any) -> Any:
    totals["x"] = x
    return x


def assigns_item(x: Any) -> Any:
    array[0] = 1.0
    return x


def yielded(x: Any) -> Iterator[Any]:
    log.append(x)
    yield x


@functools.cache
def remembered(n: int) -> float:
    log.append(n)
    return 1.0


@attrs.frozen
class Noting:
    """A class whose making is noted."""

    value: Any

    def __attrs_post_init__(self) -> None:
        log.append(self.value)


@contextmanager
def noting() -> Iterator[float]:
    log.append("entered")
    yield 1.0


def managed(x: Any) -> Any:
    with counter:
        return x


def managed_by_a_generator(x: Any) -> Any:
    with noting() as one:
        return x * one


def made_a_counter() -> Callable[[], int]:
    count = 0

    def hit() -> int:
        nonlocal count
        count += 1
        return count

    return hit


hit_elsewhere = made_a_counter()

#: Calls with effects, by what the message says of them.
EFFECTS: list[tuple[Function, str]] = [
    (counter.passed, "Counter.passed() depends .* and assigns an attribute"),
    (lambda x: x + counter.hit(), "Counter.hit() depends .* and assigns an attribute"),
    (lambda x: x * counter.next, "Counter.next() depends .* and assigns an attribute"),
    (recorded, "recorded() depends .* and calls .append()"),
    (lambda x: x * noted_once(), "noted_once() depends .* and calls .append()"),
    (noted_by_another_name, "an augmented assignment changes a value of type list in place"),
    (noted_within, "inner() depends .* and calls .append()"),
    (counted_globally, "counted_globally() depends .* and assigns a global variable"),
    (totalled, "totalled() depends .* and assigns an item"),
    (assigns_item, "assigns_item() depends .* and assigns an item"),
    (lambda x: x + sum(yielded(x)), "yielded() depends .* and calls .append()"),
    (lambda x: x * remembered(2), "remembered() depends .* and calls .append()"),
    (lambda x: Noting(x).value, "Noting() depends .* and calls .append()"),
    (managed, "Counter.__enter__() depends .* and calls .hit()"),
    (managed_by_a_generator, "noting() depends .* and calls .append()"),
    (lambda x: x + hit_elsewhere(), "hit() depends .* and assigns a nonlocal variable"),
    (lambda x: x + max([1, 2], key=lambda _: counter.hit()), "max() depends .* calls .hit()"),
    (lambda x: x + len([*filter(recorded, [1, 2])]), "recorded() depends .* calls .append()"),
    (lambda x: x + sum(map(recorded, [1, 2])), "recorded() depends .* calls .append()"),
    (lambda x: x + functools.partial(recorded, 1)(), "recorded() depends .* calls .append()"),
    (lambda x: x + log.pop(), "list.pop() depends .* and changes a list"),
    (lambda x: x if untyped_log.append(x) is None else 0, "list.append() .* changes a list"),
    (lambda x: x + totals.setdefault("y", 1.0), "dict.setdefault() .* and changes a dict"),
    (lambda x: x + queue.popleft(), "deque.popleft() .* changes a deque"),
    (lambda x: x if set_item(log, 0, x) is None else 0, "setitem() .* does more"),
    (lambda x: x + random.random(), "Random.random() .* may do more"),
    (lambda x: x + generator.gauss(0, 1), "Random.gauss() .* may do more"),
    (lambda x: x + np.random.normal(), "RandomState.normal() .* may do more"),  # noqa: NPY002
    (lambda x: x if logger.info("x") is None else 0, "Logger.info() .* may do more"),
]


ROWS = [
    pytest.param(fun, said, id=said.partition("(")[0] + str(i))
    for i, (fun, said) in enumerate(EFFECTS)
]


def reset() -> None:
    log[:] = [1.0, 2.0]
    totals.clear()
    queue.clear()
    queue.extend((1.0, 2.0))
    global hit_elsewhere  # noqa: PLW0603
    counter.count = 0
    hit_elsewhere = made_a_counter()
    remembered.cache_clear()


def state() -> Any:
    return [*log], {**totals}, [*queue], counter.count, assigned


@pytest.mark.parametrize(("effect", "message"), ROWS)
def test_effects_under_traced_conditions_are_refused(effect: Function, message: str) -> None:
    def on_one_side(x: Any) -> Any:
        if x > 0:
            x = effect(x)  # here
        return x

    def in_an_expression(x: Any) -> Any:
        return (effect(x) if x > 0 else x) + 1  # here

    def in_a_loop(x: Any) -> Any:
        while x < 10:
            x = 2 * x + effect(1.0)  # here
        return x

    def in_a_for_that_is_left(x: Any) -> Any:
        for k in range(100):
            if x > k:
                break
            x = x + effect(1.0)  # here
        return x

    def in_a_long_scan(x: Any) -> Any:
        for k in jnp.ones(100) * x:
            x = x + k + effect(1.0)  # here
        return x

    for fun in (on_one_side, in_an_expression, in_a_loop, in_a_for_that_is_left, in_a_long_scan):
        reset()
        before = state()
        with pytest.raises(SourceError) as caught:
            tinyjax.make_jaxpr(source.stage(fun))(-2.0)
        pattern = "".join(
            ".*" if part == ".*" else re.escape(part) for part in re.split(r"(\.\*)", message)
        )
        assert re.match(pattern, caught.value.message), caught.value.message
        assert caught.value.location is not None
        assert caught.value.location.filename == __file__
        assert state() == before


@pytest.mark.parametrize(("effect", "message"), ROWS)
def test_effects_elsewhere_are_those_of_python(effect: Function, message: str) -> None:
    def always(x: Any) -> Any:
        total = 0.0
        for _ in range(2):
            total = total + effect(1.0)
        return total + x

    random_too = "may do more" in message

    def run(fun: Function) -> tuple[Any, Any]:
        reset()
        generator.seed(0)
        return float(fun(2.0)), state()

    (value, after), (expected, wanted) = (
        run(tinyjax.jit(always, control_flow="source")),
        run(always),
    )
    assert random_too or value == expected
    assert after[:4] == wanted[:4]


def gathered(x: Any) -> Any:
    found = [x]
    found.extend([x * 2, x * 3])
    table = {}
    table["sum"] = sum(found)
    return table["sum"]


def guarded(x: Any) -> Any:
    try:
        x += 1.0
        y = x
        y *= 2
    except ArithmeticError:
        return 0.0
    return y


def matched(x: Any) -> Any:
    match log:
        case []:
            return x
        case _:
            return -x


def filled(n: int) -> Any:
    values = np.zeros(n)
    for k in range(n):
        values[k] = k
    return values.sum()


class Weighted:
    """A class whose constructor computes."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.value *= 2


def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)


PURE: list[Function] = [
    gathered,
    guarded,
    matched,
    lambda x: x * filled(4),
    lambda x: Weighted(x).value,
    lambda x: x * factorial(5),
    lambda x: x * "abc".index("b") + len({1: 2}.get(1, 3) * [1]),
    lambda x: x + np.add.reduce(np.linspace(0, 1, 3)),
    lambda x: x + sum(map(abs, [1, -2])) + sum(sorted([3, 1], key=lambda v: -v)),
    lambda x: x * operator.itemgetter(1)([1, 2]) + functools.reduce(operator.add, [1, 2]),
    lambda x: x + jnp.zeros(3).at[1].add(x).sum(),
    lambda x: x + len(collections.Counter("aab")) + len(re.findall("a", "aab")),
]


@pytest.mark.parametrize("fun", PURE)
def test_what_only_computes_may_be_called_anywhere(fun: Function) -> None:
    def program(x: Any) -> Any:
        if x > 0:
            x = fun(x)
        k = 0
        while x < 10:
            x = x * x + abs(fun(0.5)) + 1
            k += 1
        return x + k

    reset()
    compiled = tinyjax.jit(program, control_flow="source")
    for x in (-0.5, 1.5, 20.0):
        assert float(compiled(x)) == pytest.approx(float(program(x)), rel=1e-12)


def test_a_list_that_a_function_appends_to_is_the_same_after_a_traced_condition() -> None:
    def program(x: Any) -> Any:
        log: list[Any] = []

        def note(v: Any) -> Any:
            log.append(v)
            return v * 0.5

        for _ in range(3):
            x = note(x)
            if x > 0:
                x = x + math.sin(len(log))
        return x

    for point in (0.3, -0.3):
        found = tinyjax.jit(program, control_flow="source")(point)
        assert float(found) == pytest.approx(program(point), rel=1e-6)
