"""Operators of the user's objects and arrays under ``capture``, and functions that stand for them.

NumPy's operators ask a class by its ``__array_ufunc__``, whatever else the class has, and the
functions of ``operator`` call methods that have to be captured.
"""

import copy
import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.errors import CaptureError, TinyjaxError

pytestmark = pytest.mark.usefixtures("double_precision")

X: Final = np.array([0.3, 1.7, 0.6])


class Asked:
    """An object that NumPy asks what its functions give."""

    def __init__(self, v: Any) -> None:
        self.v = v

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        operands = [x.v if isinstance(x, Asked) else x for x in inputs]
        return getattr(ufunc, method)(*operands, **options) + 0.5


class Reflecting(Asked):
    """One that has operators, too, which NumPy leaves aside."""

    def __mul__(self, other: Any) -> Any:
        return self.v * other + 1000.0

    def __rmul__(self, other: Any) -> Any:
        return other * self.v + 100.0

    def __radd__(self, other: Any) -> Any:
        return other + self.v + 100.0

    def __rpow__(self, other: Any) -> Any:
        return other**self.v + 100.0


class Refusing(Reflecting):
    """One that NumPy's operators leave alone."""

    __array_ufunc__: Any = None


class Declining(Reflecting):
    """One that does not know what NumPy's functions give."""

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        return NotImplemented


class First(Reflecting):
    """One that goes first by its priority, which its protocol overrules."""

    __array_priority__ = 100.0


OPERATORS: Final = (
    *(operator.mul, operator.add, operator.sub, operator.pow, operator.mod, operator.lt),
    *(operator.imul, operator.iadd),
)
OPERANDS: Final[dict[str, Callable[[Any], Any]]] = {
    "traced": lambda x: x.copy(),
    "an element": lambda x: x[0],
    "a number": lambda x: float(x[0]),
    "data": lambda _: np.ones(3),
    "0-d": lambda x: np.array(x[1]),
    "2.0": lambda _: 2.0,
}


def outcome(function: Callable[[], Any]) -> Any:
    """Return a number, or the class of what is raised."""
    try:
        return round(float(function()), 9)
    except Exception as error:
        return type(error)


def traced_value(function: Callable[[Any], Any]) -> Any:
    """Return what a function that is captured gives for traced numbers."""
    return tinyjax.jvp(source.capture(function), (X,), (X,))[0]


def program(operate: Any, make: Any, operand: Any, *, is_reflected: bool, is_traced: bool) -> Any:
    """Return a function that operates on an operand and an object."""

    def function(x: Any) -> Any:
        own, other = make(x[1] if is_traced else 2.0), operand(x)
        result = operate(own, other) if is_reflected else operate(other, own)
        return np.sum(result * 1.0) + 0.0 * x[0]

    return function


@pytest.mark.parametrize("make", [Asked, Reflecting, Refusing, Declining, First])
def test_protocols_decide_on_operators(make: Any) -> None:
    """Operators of arrays and objects give what NumPy's give, or raise what these raise."""
    wrong = []
    cases = itertools.product(OPERATORS, OPERANDS, (False, True), (False, True))
    for operate, name, is_reflected, is_traced in cases:
        function = program(
            operate, make, OPERANDS[name], is_reflected=is_reflected, is_traced=is_traced
        )
        expected = outcome(functools.partial(function, X))
        result = outcome(functools.partial(traced_value, function))
        if result not in (expected, CaptureError):
            wrong.append((operate.__name__, name, is_reflected, is_traced, expected, result))
    assert wrong == []


class Plain(np.ndarray):
    """An array of a class that has nothing of its own."""


class Scaled(np.ndarray):
    """An array with operators of its own."""

    def __mul__(self, other: Any) -> Any:
        return (np.asarray(self) * np.asarray(other) + 10.0).view(Scaled)

    def __rmul__(self, other: Any) -> Any:
        return (np.asarray(other) * np.asarray(self) + 100.0).view(Scaled)

    def __rtruediv__(self, other: Any) -> Any:
        return np.true_divide(other, self) * 2.0


class Tagged(np.ndarray):
    """An array that says which functions have made it."""

    __array_priority__ = 5.0
    tag = ""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        made = array.view(Tagged)
        made.tag = self.tag + (context[0].__name__ if context else "-")
        return made


class Deciding(np.ndarray):
    """An array that says what universal functions give."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        operands = [np.asarray(x) if isinstance(x, Deciding) else x for x in inputs]
        return getattr(ufunc, method)(*operands, **options) * 2.0


_NUMBERS: Final = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 5.0], [0.5, 1.0, 2.0]])
#: Arrays that were made before the program is captured.
OUTSIDE: Final = [
    *[_NUMBERS.view(kind) for kind in (Plain, Scaled, Tagged, Deciding)],
    *[np.array(3.0).view(kind) for kind in (Plain, Scaled, Tagged, Deciding)],
    *(_NUMBERS.view(np.matrix), np.ma.masked_greater(_NUMBERS, 4.0)),
]
FUNCTIONS_OF_TWO: Final = (
    *(*OPERATORS, operator.truediv, operator.matmul, operator.ge, operator.eq),
    *(np.multiply, np.arctan2, np.maximum, np.less),
)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("constant", OUTSIDE, ids=lambda x: f"{type(x).__name__}{x.ndim}")
def test_arrays_of_subclasses_from_outside(constant: Any) -> None:
    """Operators and functions give what NumPy's give, in the class, or are refused."""
    wrong = []
    for operate, name, is_reflected in itertools.product(FUNCTIONS_OF_TWO, OPERANDS, (False, True)):
        function = of_constant(operate, constant, OPERANDS[name], is_reflected=is_reflected)
        expected = outcome(functools.partial(function, X))
        for entry in (traced_value, read_value):
            result = outcome(functools.partial(entry, function))
            is_refused = isinstance(result, type) and issubclass(result, TinyjaxError)
            if not (is_refused or repr(result) == repr(expected)):
                wrong.append((operate.__name__, name, is_reflected, expected, result))
    assert wrong == []


def of_constant(operate: Any, constant: Any, operand: Any, *, is_reflected: bool) -> Any:
    """Return a function of an operand and a copy of an array, which shows the class and the tag."""

    def function(x: Any) -> Any:
        own, other = constant.copy(), operand(x)
        result = operate(own, other) if is_reflected else operate(other, own)
        tag = getattr(result, "tag", "")
        return np.sum(np.asarray(result) * 1.0) + len(type(result).__name__ + tag) * x[1]

    return function


def read_value(function: Callable[[Any], Any]) -> Any:
    """Return the value that is computed with the gradient of a program that is read."""
    return source.value_and_grad(function)(X)[0]


class Box:
    """An object with methods that need capture, since they call functions of ``math``."""

    def __init__(self, w: Any) -> None:
        self.w = w
        self.v = [w, 2.0 * w]

    def __getattr__(self, name: str) -> Any:
        return math.sin(self.__dict__["w"]) * len(name)

    def __getitem__(self, i: Any) -> Any:
        return math.sqrt(self.v[i])

    def __setitem__(self, i: Any, x: Any) -> None:
        self.v[i] = math.exp(x)

    def __delitem__(self, i: Any) -> None:
        self.v[i] = math.exp(self.v[i])

    def __contains__(self, x: Any) -> Any:
        return math.sqrt(self.w) < x

    def __bool__(self) -> bool:
        return bool(math.sqrt(self.w) > 0.1)

    def __neg__(self) -> Any:
        return math.sin(self.w)

    def __abs__(self) -> Any:
        return math.cos(self.w)

    def __invert__(self) -> Any:
        return math.tan(self.w)

    def __call__(self, x: Any) -> Any:
        return x * math.sqrt(self.w)

    def __add__(self, other: Any) -> Any:
        return math.sin(self.w) + other

    def __iadd__(self, other: Any) -> Any:
        self.w = math.sin(self.w) + other
        return self

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        return math.sin(self.w) * other

    def __matmul__(self, other: Any) -> Any:
        return math.cos(self.w) * other

    def __lt__(self, other: Any) -> Any:
        return math.sin(self.w) < other

    def __copy__(self) -> Any:
        return Box(math.sin(self.w))

    def __deepcopy__(self, memo: Any) -> Any:
        return Box(math.cos(self.w) + len(memo))


def changed(box: Box, change: Callable[..., Any], *args: Any) -> Any:
    """Change an object, and return one of its items."""
    change(box, *args)
    return box[0]


#: What functions of Python's make of an object and a number.
FUNCTIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "getitem": lambda b, x: operator.getitem(b, 0) * x,
    "setitem": lambda b, x: changed(b, operator.setitem, 0, x),
    "delitem": lambda b, x: changed(b, operator.delitem, 0) * x,
    "contains": lambda b, x: x * operator.contains(b, 2.0),
    "truth": lambda b, x: x * operator.truth(b),
    "not_": lambda b, x: x * operator.not_(b),
    "neg": lambda b, x: operator.neg(b) * x,
    "abs": lambda b, x: operator.abs(b) * x,
    "inv": lambda b, x: operator.inv(b) * x,
    "invert": lambda b, x: operator.invert(b) * x,
    "call": operator.call,
    "itemgetter": lambda b, x: operator.itemgetter(1)(b) * x,
    "itemgetters": lambda b, x: sum(operator.itemgetter(1, 0)(b)) * x,
    "attrgetter": lambda b, x: operator.attrgetter("size")(b) * x,
    "attrgetters": lambda b, x: operator.attrgetter("w.real", "size")(b)[1] * x,
    "methodcaller": lambda b, x: operator.methodcaller("__pow__", x, modulus=2)(b),
    "add": operator.add,
    "iadd": lambda b, x: functools.reduce(operator.iadd, [x], b).w,
    "pow": lambda b, x: pow(b, x) + pow(b, exp=x) + operator.pow(b, x),
    "matmul": operator.matmul,
    "lt": lambda b, x: x * operator.lt(b, 0.999),
    "reduce": lambda b, x: functools.reduce(operator.add, [b, x, 2.0]),
    "max": lambda b, x: max(b, Box(x), key=lambda box: box.w).size,
    "repeat": lambda b, x: sum([box.size for box in itertools.repeat(b, 2)]) * x,
    "accumulate": lambda b, x: [*itertools.accumulate([x, 2.0], operator.add, initial=b)][2],
    "starmap": lambda b, x: sum(itertools.starmap(b, [(x,), (2.0,)])),
    "groupby": lambda b, x: sum([key for key, _ in itertools.groupby([x, x], b)]),
    "filterfalse": lambda b, x: len([*itertools.filterfalse(b, [0.0, 1.0])]) * x,
    "copy": lambda b, x: copy.copy(b).w * x,
    "deepcopy of a list": lambda b, x: copy.deepcopy([x * np.ones(2), b.w])[0].sum(),
    "deepcopy": lambda b, x: copy.deepcopy(b).w * x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_call_methods_of_objects(name: str) -> None:
    """Functions that call methods of an object call them as they are captured."""

    def function(x: Any) -> Any:
        return FUNCTIONS[name](Box(x[1]), x[0])

    value, slopes = tinyjax.value_and_grad(source.capture(function))(X)
    np.testing.assert_allclose(value, function(X), rtol=1e-12)
    steps = 1e-6 * np.eye(3)
    expected = [(function(X + step) - function(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-8)


class Computing:
    """An object whose protocol computes with functions of Python's, and reads its data's module."""

    def __init__(self, v: Any) -> None:
        self.v = np.atleast_1d(v)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        operands = [math.exp(x.v[0]) if isinstance(x, Computing) else x for x in inputs]
        return self.v.__array_namespace__().add(getattr(ufunc, method)(*operands, **options), 0.5)


#: What functions and operators of NumPy's make of an object of traced values and data.
PROTOCOLS: Final[dict[str, Callable[[Any], Any]]] = {
    "number": lambda c: np.float64(1.5) - c,
    "array": lambda c: np.sum(np.ones(2) * c),
    "function": lambda c: np.hypot(c, 2.0),
    "functions": lambda c: np.exp(c) + np.power(2.0, c),
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_protocols_of_objects_run_under_capture(name: str) -> None:
    def function(x: Any) -> Any:
        return PROTOCOLS[name](Computing(x[1]))

    slopes = tinyjax.grad(source.capture(function))(X)
    steps = 1e-6 * np.eye(3)
    expected = [(function(X + step) - function(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-8)


@np.errstate(all="ignore")
def weighted(c: Computing, weights: Any) -> Any:
    return math.exp(c.v[0]) * np.sum(weights)


def test_functions_with_settings_of_numpy_run_under_capture() -> None:
    """Also where all that is traced is in an object, beside an array of data."""

    def function(x: Any) -> Any:
        weights = np.ones(2)
        weights[0] = 3.0
        return weighted(Computing(x[1]), weights)

    slopes = tinyjax.grad(source.capture(function))(X)
    np.testing.assert_allclose(slopes, [0.0, function(X), 0.0], rtol=1e-12)
