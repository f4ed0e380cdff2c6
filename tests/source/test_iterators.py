"""Iterators that come from outside of a function, and may be gone through in part."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from tinyjax import source

ITERATORS: Final[dict[str, Callable[[], Iterator[float]]]] = {
    "iterator of a list": lambda: iter([0.0, 1.0, 2.0, 3.0, 4.0]),
    "of a tuple": lambda: iter((0.0, 1.0, 2.0, 3.0)),
    "of a range": lambda: iter(range(5)),
    "of a dict": lambda: iter({0.0: 1, 1.0: 2, 2.0: 3, 3.0: 4}),
    "of an array": lambda: iter(np.array([0.0, 1.0, 2.0, 3.0])),
    "generator": lambda: (float(i) for i in range(5)),
    "map": lambda: map(float, range(5)),
    "filter": lambda: filter(None, [1.0, 2.0, 3.0]),
    "reversed": lambda: reversed([3.0, 2.0, 1.0]),
    "chain": lambda: itertools.chain([0.0, 1.0], [2.0, 3.0]),
    "islice": lambda: itertools.islice(itertools.count(0.0), 5),
    "accumulate": lambda: itertools.accumulate([0.0, 1.0, 1.0, 1.0]),
}


class Box:
    """An object that holds an iterator."""

    def __init__(self, it: Any) -> None:
        self.it = it

    def items(self) -> Any:
        """Return the iterator."""
        return self.it


def two_loops(x: Any, it: Any) -> Any:
    total = 0.0
    for n in it:
        total = total + n * x**2
        if n == 2.0:
            break
    for n in it:
        total = total + n * x
    return total


def of_object(x: Any, it: Any) -> Any:
    box = it
    total = 0.0
    for n in box.it:
        total = total + n * x**2
        if n == 2.0:
            break
    for n in box.it:
        total = total + n * x
    return total


STORED: list[Any] = []


def stored() -> Any:
    return STORED[0]


def given_by_function(x: Any, it: Any) -> Any:
    total = 0.0
    for n in stored():
        total = total + n * x**2
        if n == 2.0:
            break
    for n in stored():
        total = total + n * x
    return total


def given_by_method(x: Any, it: Any) -> Any:
    total = 0.0
    for n in it.items():
        total = total + n * x**2
        if n == 2.0:
            break
    for n in it.items():
        total = total + n * x
    return total


def kept_by_name(x: Any, it: Any) -> Any:
    items = it.it
    total = 0.0
    for n in items:
        total = total + n * x**2
        if n == 2.0:
            break
    for n in items:
        total = total + n * x
    return total


def of_attribute(x: Any, it: Any) -> Any:
    return two_loops(x, it.it)


def of_item(x: Any, it: Any) -> Any:
    return two_loops(x, it[0])


def of_item_itself(x: Any, it: Any) -> Any:
    total = 0.0
    for n in it[0]:
        total = total + n * x**2
        if n == 1.0:
            break
    return total + sum(it[0]) * x


def sums(x: Any, it: Any) -> Any:
    return sum(it) * x + sum(it) * x * x


def lists(x: Any, it: Any) -> Any:
    first, second = list(it), list(it)
    return sum(first) * x + len(second) * x**2


def zipped(x: Any, it: Any) -> Any:
    total = 0.0
    for a, b in zip(it, [1.0, 2.0], strict=False):
        total = total + a * b * x
    for a in it:
        total = total + a * x * x
    return total


def enumerated(x: Any, it: Any) -> Any:
    total = 0.0
    for i, a in enumerate(it):
        if i == 2:
            break
        total = total + a * i * x
    for a in it:
        total = total + a * x * x
    return total


def comprehended(x: Any, it: Any) -> Any:
    return sum([a * x for a in it]) + len([*it]) * x * x


def unpacked(x: Any, it: Any) -> Any:
    a, b, *_ = it
    return a * x + b * x * x + sum(it)


def contained(x: Any, it: Any) -> Any:
    return x * (2.0 in it) + sum(it) * x * x


def _unreadable(x: Any) -> Any:
    try:
        return x * x
    except ValueError:
        return x


def captured_after_all(x: Any, it: Any) -> Any:
    total = sum(it) * x
    return total + _unreadable(x)


GLOBAL: Iterator[float] = iter(())


def of_global(x: Any, it: Any) -> Any:
    total = 0.0
    for n in GLOBAL:
        total = total + n * x**2
        if n == 2.0:
            break
    for n in GLOBAL:
        total = total + n * x
    return total


def closing_over(x: Any, it: Any) -> Any:
    def inner(y: Any) -> Any:
        total = 0.0
        for n in it:
            total = total + n * y
            if n == 1.0:
                break
        return total

    return inner(x) + inner(x * x)


def called(function: Callable[..., Any], use: Callable[..., Any], make: Any, x: float) -> Any:
    """Return what is made of a function, called with an iterator where the function wants it."""
    global GLOBAL
    GLOBAL = make()
    it: Any = GLOBAL
    STORED[:] = [it]
    if use in (of_object, of_attribute, given_by_method, kept_by_name):
        it = Box(it)
    elif use in (of_item, of_item_itself):
        it = [it]
    return function(x, it)


def pairs(count: int) -> Iterator[tuple[int, int]]:
    for i in range(count):
        yield i, i + 1


def made_in_place(x: Any) -> Any:
    total = 0.0
    for i, j in pairs(3):
        total = total + i * j * x
    for (i,) in np.ndindex(3):
        total = total + i * x**2
    for a, b in itertools.combinations_with_replacement((1.0, 2.0), 2):
        total = total + a * b * x**3
    for a, b in zip(reversed([1.0, 2.0]), map(abs, (-1.0, 2.0)), strict=True):
        total = total + a * b * x**4
    return total


def test_iterators_that_are_made_where_loops_begin_are_read() -> None:
    """Nothing else holds them."""
    assert "is read" in source.explain(made_in_place, 0.7).splitlines()[0]
    slope = (made_in_place(0.7 + 1e-6) - made_in_place(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(source.grad(made_in_place)(0.7), slope, rtol=1e-7)


USES: Final = (
    *(
        given_by_function,
        given_by_method,
        kept_by_name,
        two_loops,
        of_object,
        of_attribute,
        of_item,
        of_item_itself,
        sums,
        lists,
        zipped,
    ),
    *(enumerated, comprehended, unpacked, contained, captured_after_all, of_global, closing_over),
)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("use", USES, ids=lambda f: f.__name__)
def test_iterators_from_outside(use: Callable[..., Any]) -> None:
    """The next loop goes on where one has left an iterator, as in Python."""
    for make in ITERATORS.values():
        values = [called(use, use, make, 0.7 + h) for h in (1e-6, -1e-6)]
        slope = (values[0] - values[1]) / 2e-6
        for gradient in (
            source.value_and_grad(use),
            tinyjax.value_and_grad(source.capture(use)),
        ):
            for _ in range(2):
                value, result = called(gradient, use, make, 0.7)
                np.testing.assert_allclose(value, called(use, use, make, 0.7), rtol=1e-12)
                np.testing.assert_allclose(result, slope, rtol=1e-5, atol=1e-6)
