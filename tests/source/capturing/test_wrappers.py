"""Methods that Python finds otherwise than as plain functions: wrapped in C, static, of proxies."""

import abc
import dataclasses
import functools
import sys
from collections.abc import Callable
from types import ModuleType, new_class
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np
import pytest

import tinyjax
from tinyjax import source

POINT: Final = np.array([0.7, 1.3, -0.4])


class WrapperInC(functools.partial[Any]):
    """A replacement of a class of wrapt's, which calls in C."""

    __module__ = "_wrappers"
    __wrapped__: Any = property(lambda self: self.func)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else WrapperInC(self.func.__get__(owner, kind))


class WrapperInPython:
    """The same in Python, as wrapt has it beside."""

    def __call__(self: Any, *args: Any) -> Any:
        return self.__wrapped__(*args)


class Body:
    def __init__(self, x: Any) -> None:
        self.x = x

    @property
    @functools.lru_cache  # noqa: B019 as users write it
    def volume(self) -> Any:
        return np.sum(np.asarray(self.x) ** 3)

    @functools.lru_cache  # noqa: B019
    def times(self, factor: float) -> Any:
        return np.sum(np.asarray(self.x) ** 2) * factor

    @functools.lru_cache  # noqa: B019
    def __getitem__(self, i: int) -> Any:
        return np.asarray(self.x)[i] ** 2

    area = property(WrapperInC(lambda self: np.sum(np.asarray(self.x) ** 2)))
    moment = WrapperInC(lambda self, k: np.sum(np.asarray(self.x) ** k))
    __matmul__ = WrapperInC(lambda self, other: np.sum(np.asarray(self.x) * other))

    @staticmethod
    def __call__(x: Any) -> Any:
        return np.sum(np.asarray(x) ** 2)

    @staticmethod
    def __neg__() -> Any:
        return 2.5


class Proxy:
    """An object of another class to Python, which it asks for its class when it is made."""

    def __init__(self, inner: Any) -> None:
        self.inner = np.asarray(inner) * 2.0

    __class__: Any = property(lambda self: type(self.inner))


FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "cached property": lambda x: Body(x).volume,
    "cached method": lambda x: Body(x).times(2.0),
    "cached item": lambda x: Body(x)[1] * x[0],
    "wrapped property": lambda x: Body(x).area * x[1],
    "wrapped method": lambda x: Body(x).moment(3),
    "wrapped operator": lambda x: Body(x) @ x,
    "wrapped function": WrapperInC(lambda x: np.sum(np.asarray(x) ** 2)),
    "static call": lambda x: Body(x)(x),
    "static operator": lambda x: -Body(x) * np.sum(x**2),
    "proxy": lambda x: np.sum(Proxy(x).inner ** 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrapped_methods(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrappers: Any = ModuleType("wrapt.wrappers")
    wrappers.WrapperInC = WrapperInPython
    monkeypatch.setitem(sys.modules, "wrapt", ModuleType("wrapt"))
    monkeypatch.setitem(sys.modules, "wrapt.wrappers", wrappers)
    function = FUNCTIONS[name]
    steps = 1e-6 * np.eye(len(POINT))
    slopes = [(function(POINT + h) - function(POINT - h)) / 2e-6 for h in steps]
    gradient = tinyjax.grad(source.capture(function))
    np.testing.assert_allclose(gradient(POINT), slopes, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(tinyjax.jit(gradient)(POINT), slopes, rtol=1e-7, atol=1e-8)


T = TypeVar("T")


class Sized(Protocol):
    def area(self) -> Any: ...


class OfAny(Generic[T]):
    pass


class Square:
    """Hold what a dataclass has beside what is generated, whose code has no text."""

    def __post_init__(self: Any) -> None:
        object.__setattr__(self, "side", float(self.side))

    def area(self: Any) -> Any:
        return self.side**2


def square(*bases: Any, **options: Any) -> Any:
    fields = {"__annotations__": {"side": float}, "__module__": __name__, "side": 1.0}
    made = new_class("Made", (Square, *bases), {}, lambda namespace: namespace.update(fields))
    return dataclasses.dataclass(**options)(made)


DATACLASSES: Final[dict[str, Any]] = {
    "plain": square(),
    "abstract": square(abc.ABC),
    "generic": square(OfAny),
    "protocol": square(Sized),
    "frozen": square(abc.ABC, frozen=True),
    "slots": square(OfAny, slots=True),
}


@pytest.mark.parametrize("name", DATACLASSES)
def test_dataclasses_that_convert_what_they_have(name: str) -> None:
    made: list[Any] = []

    def function(x: Any) -> Any:
        made.append(DATACLASSES[name](x[0]))
        return made[-1].area() * x[1]

    np.testing.assert_allclose(
        tinyjax.grad(source.capture(function))(POINT), [2 * 0.7 * 1.3, 0.49, 0.0]
    )
    assert type(made[-1]) is DATACLASSES[name]


class Scale:
    def __init__(self, number: Any) -> None:
        self.number = number

    def apply(self, v: Any) -> Any:
        return v * self.number


def by_cell(scale: Scale) -> Callable[[Any], Any]:
    return lambda v: scale.apply(v) * 1.0


def by_default(scale: Scale) -> Callable[[Any], Any]:
    def apply(v: Any, own: Scale = scale) -> Any:
        return own.apply(v)

    return apply


def by_list(scale: Scale) -> Callable[[Any], Any]:
    scales = [scale]
    return lambda v: scales[0].apply(v) * 1.0


def by_function(scale: Scale) -> Callable[[Any], Any]:
    apply = scale.apply
    return lambda v: apply(v) * 1.0


CALLBACKS: Final[dict[str, Callable[[Scale], Callable[[Any], Any]]]] = {
    "cell": by_cell,
    "default": by_default,
    "partial": lambda scale: functools.partial(Scale.apply, scale),
    "method": lambda scale: scale.apply,
    "list": by_list,
    "function in a cell": by_function,
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_vectorized_functions_that_reach_traced_numbers(name: str) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.vectorize(CALLBACKS[name](Scale(x)), otypes=[float])(np.array([0.2, 0.3])))

    np.testing.assert_allclose(tinyjax.grad(source.capture(f))(2.0), 0.5)
