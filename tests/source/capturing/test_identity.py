"""Functions keep their identity under capture, whatever they are given to."""

import collections
import functools
import operator
import weakref
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from tinyjax import source


def double(x: Any) -> Any:
    return 2.0 * x


def triple(x: Any) -> Any:
    return 3.0 * x


def difference(x: Any, y: Any) -> Any:
    return x - y


class Model:
    function: Any = None

    def scaled(self, x: Any) -> Any:
        return 4.0 * x


MODEL: Final = Model()


def table() -> dict[Any, float]:
    return {double: 1.0, triple: 2.0}


def same(function: Any) -> Any:
    return function


def after(container: Any, method: str, *args: Any) -> Any:
    """Return a container after a call of a method."""
    getattr(container, method)(*args)
    return container


#: What programs ask of functions, as a number.
QUESTIONS: Final[dict[str, Callable[[], Any]]] = {
    "dict": lambda: table()[triple] + (double in table()),
    "dict.get": lambda: table().get(double, 5.0),
    "dict.pop": lambda: table().pop(double, 7.0),
    "dict.setdefault": lambda: table().setdefault(triple, 9.0),
    "dict.update": lambda: after({}, "update", {double: 4.0}).get(double, 1.0),
    "dict.fromkeys": lambda: dict.fromkeys([double, triple], 2.0).get(triple, 1.0),
    "dict of methods": lambda: {MODEL.scaled: 3.0}.get(MODEL.scaled, 1.0),
    "defaultdict": lambda: len(after(collections.defaultdict(list), "__getitem__", double)),
    "Counter": lambda: collections.Counter([double, double, triple])[double],
    "list.append": lambda: after([], "append", double)[0] is double,
    "list.insert": lambda: after([], "insert", 0, double)[0] is double,
    "list.index": lambda: [triple, double].index(double),
    "list.count": lambda: [triple, double].count(double),
    "list.remove": lambda: len(after([triple, double], "remove", double)),
    "list": lambda: list(table())[-1] is triple,
    "tuple.index": lambda: (triple, double).index(double),
    "set.add": lambda: double in after(set(), "add", double),
    "set.discard": lambda: len(after({double, triple}, "discard", double)),
    "deque": lambda: after(collections.deque(), "append", double)[0] is double,
    "id": lambda: (id(double) == id(same(double))) + (id(double) == id(triple)),
    "hash": lambda: hash(double) == hash(same(double)),
    "operator.is_": lambda: operator.is_(double, double),
    "operator.eq": lambda: operator.eq(double, double) + operator.ne(double, double),
    "operator.contains": lambda: operator.contains([double], double),
    "partial": lambda: functools.partial(double, 1.0).func is double,
    "weakref": lambda: weakref.ref(double)() is double,
    "setattr": lambda: after(Model(), "__setattr__", "function", double).function is double,
}
#: What programs compute with functions that they have given to something.
CALLS: Final[dict[str, Callable[[Any], Any]]] = {
    "list": lambda x: after([], "append", double)[0](x) ** 2,
    "map": lambda x: sum(map(double, [x, x])),
    "a partial": lambda x: sum(map(functools.partial(operator.add, 1.0), [x, double(x)])),
    "a partial of a function": lambda x: max([x, 2 * x], key=functools.partial(double)),
    "iter": lambda x: next(iter(functools.partial(double, x), None)),
    "cmp_to_key": lambda x: sorted([x, -x], key=functools.cmp_to_key(difference))[1],
    "defaultdict": lambda x: collections.defaultdict[str, Any](lambda: double(x))["missing"],
    "property": lambda x: type("Made", (), {"doubled": property(lambda self: double(x))})().doubled,
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_functions_are_themselves(name: str) -> None:
    def answer(x: Any) -> Any:
        return float(QUESTIONS[name]()) * x

    assert float(tinyjax.grad(source.capture(answer))(np.float64(1.5))) == answer(1.0)


@pytest.mark.parametrize("name", CALLS)
def test_functions_are_captured_wherever_they_are(name: str) -> None:
    fun = CALLS[name]
    slope = (fun(1.5 + 1e-6) - fun(1.5 - 1e-6)) / 2e-6
    np.testing.assert_allclose(tinyjax.grad(source.capture(fun))(np.float64(1.5)), slope, 1e-6)
