"""The refusals of ``tinyjax.source``: each message whole, and the line that it names.

A case is a function of a float with one construct that is not taken, on the line marked ``# here``.
"""

import asyncio
import collections
import contextlib
import functools
import inspect
import itertools
import math
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import attrs
import numpy as np
import pytest
import scipy.fft
import scipy.fftpack
import scipy.linalg
import scipy.signal
import scipy.sparse.linalg
from random_programs import compiled
from reading import read_gradient
from unchecked import unchecked

import tinyjax
from tinyjax import source
from tinyjax.errors import SourceError, TinyjaxError

Function = Callable[[Any], Any]
CASES: list[Any] = []
total = 0.0


def refused(message: str) -> Callable[[Function], Function]:
    """Add a case."""

    def add(fun: Function) -> Function:
        CASES.append(pytest.param(fun, message, id=fun.__name__))
        return fun

    return add


@pytest.mark.parametrize(("fun", "message"), CASES)
def test_message(fun: Function, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_gradient(fun, 0.7)
    assert re.sub(r"line \d+", "line N", caught.value.message) == message
    assert caught.value.location is not None
    assert caught.value.location.filename == fun.__code__.co_filename
    assert str(caught.value).endswith("# here")


def overwriting() -> Iterator[tuple[str, str]]:
    """Name the options of NumPy's and SciPy's functions that may change an argument."""
    for module in (np, scipy.linalg, scipy.fft, scipy.fftpack, scipy.signal, scipy.sparse.linalg):
        for name, fun in vars(module).items():
            if not name.startswith("_") and callable(fun):
                with contextlib.suppress(ValueError, TypeError):
                    for option in inspect.signature(fun).parameters:
                        if option.startswith("overwrite"):
                            yield f"{module.__name__}.{name}", option


def test_no_option_lets_a_function_change_its_argument() -> None:
    options = [*overwriting()]
    assert len(options) > 70
    modules = {"numpy": np, "np": np, "scipy": scipy}
    for function, option in options:
        fun = compiled(f"def program(x):\n    return {function}(x, {option}=True)\n", **modules)
        with pytest.raises(SourceError, match=rf"^{option}= of .* is not taken"):
            read_gradient(fun, np.eye(2))
    for call in (
        "np.median(x, None, None, True)", "np.nan_to_num(x, copy=False)", "np.nan_to_num(x, False)",
        "scipy.linalg.solve(x, x, False, False, True)",
        "np.median(x, **{'overwrite_input': True})", "np.quantile(x, 0.5, overwrite_input=len(x))",
        "[np.median][0](x, overwrite_input=True)",
    ):  # fmt: skip
        fun = compiled(f"def program(x):\n    return {call}\n", **modules)
        with pytest.raises(TinyjaxError, match=r"overwr|copy"):
            read_gradient(fun, np.eye(2))
        with contextlib.suppress(TinyjaxError):
            matrix = np.eye(2) * 3.0
            value = tinyjax.jit(fun, control_flow="source")(matrix)
            np.testing.assert_allclose(value, fun(matrix.copy()), rtol=1e-14)
            np.testing.assert_array_equal(matrix, np.eye(2) * 3.0)
    for call in ("np.median(x, overwrite_input=False)", "np.sum(np.nan_to_num(x, copy=True))"):
        fun = compiled(f"def program(x):\n    return {call}\n", **modules)
        assert np.sum(source.grad(fun)(np.array([3.0, 1.0, 2.0]))) in (1.0, 3.0)


def test_there_are_many() -> None:
    assert len(CASES) > 40


@refused(  # here
    "generator is a generator, which is not taken. Return a list."
)
def generator(x: float) -> Iterator[float]:
    yield x


@refused("a generator is not taken by tinyjax.source. Instead, return a list.")
def generator_inside(x: float) -> float:
    def values() -> Iterator[float]:  # here
        yield x

    return sum(values())


@refused(
    "a generator expression here is not taken by tinyjax.source. Instead, write a list "
    "comprehension: [...]."
)
def generator_expression(x: float) -> float:
    values = (x * k for k in range(3))  # here
    return max(values)


@refused(  # here
    "coroutine is asynchronous, which is not taken. Define a regular function."
)
async def coroutine(x: float) -> float:
    return x


@refused("async def is not taken by tinyjax.source. Instead, define a regular function.")
def coroutine_inside(x: float) -> float:
    async def value() -> float:  # here
        return x

    return asyncio.run(value())


@refused(
    "global is not taken by tinyjax.source. Instead, pass the value in, and return what has "
    "become of it."
)
def global_statement(x: float) -> Any:
    global total  # noqa: PLW0603 # here
    total = x
    return total


def counter() -> Callable[[float], float]:
    count = 0.0

    def counted(x: float) -> float:
        nonlocal count  # here
        count += 1.0
        return x * count

    return counted


refused(
    "nonlocal is not taken by tinyjax.source. Instead, pass the value in, and return what has "
    "become of it."
)(counter())

HANDED_ON = (
    "'add', a function that uses variables assigned by nested functions (nonlocal), as a value is "
    "not taken by tinyjax.source. Instead, only call it, by its name, where it is defined; or "
    "return what has become of the variable."
)


@refused(HANDED_ON)
def function_with_nonlocal_handed_on(x: float) -> float:
    total = 0.0

    def add(v: float) -> None:
        nonlocal total
        total = total + v

    list(map(add, [x, x]))  # here
    return total


@refused(HANDED_ON)
def function_with_nonlocal_returned(x: float) -> Any:
    total = x

    def add(v: float) -> None:
        nonlocal total
        total = total + v

    return add  # here


@refused(
    "a lambda that closes over 'total', which a nested function assigns (nonlocal), is not taken "
    "by tinyjax.source. Instead, define it with def, and only call it."
)
def lambda_over_a_nonlocal(x: float) -> float:
    total = 0.0

    def add(v: float) -> None:
        nonlocal total
        total = total + v

    shown: Callable[[], float] = lambda: total  # noqa: E731 # here
    add(x)
    return shown()


@refused(
    "'fall', a function with nonlocal that calls itself, is not taken by tinyjax.source. Instead, "
    "write a loop, or return what has become of the variable."
)
def recursion_with_nonlocal(x: float) -> float:
    total = 0.0

    def fall(n: int) -> None:
        nonlocal total
        total = total + x
        if n:
            fall(n - 1)  # here

    fall(3)
    return total


@refused(
    "a decorated function (add) with nonlocal is not taken by tinyjax.source. Instead, leave out "
    "the decorator."
)
def decorated_with_nonlocal(x: float) -> float:
    total = 0.0

    @functools.cache
    def add(v: float) -> None:  # here
        nonlocal total
        total = total + v

    add(x)
    return total


@refused(
    "a call of 'add', a function with nonlocal, with * or ** is not taken by tinyjax.source. "
    "Instead, write out the arguments."
)
def star_call_with_nonlocal(x: float) -> float:
    total = 0.0

    def add(*values: float) -> None:
        nonlocal total
        total = total + sum(values)

    add(*[x, x])  # here
    return total


@refused(
    "'add', a function with nonlocal whose name is assigned again, is not taken by tinyjax.source. "
    "Instead, give each a name of its own."
)
def assigned_again_with_nonlocal(x: float) -> float:
    total = 0.0
    if x > 1:

        def add(v: float) -> None:  # here
            nonlocal total
            total = total + v
    else:

        def add(v: float) -> None:
            nonlocal total
            total = total - v

    add(x)
    return total


@refused("exec() is not taken by tinyjax.source. Instead, write the statements.")
def executed(x: float) -> float:
    exec("y = x")  # here
    return x


@refused("eval() is not taken by tinyjax.source. Instead, write the expression.")
def evaluated(x: float) -> float:
    y: float = eval("2 * x")  # here
    return y


@refused("locals() is not taken by tinyjax.source. Instead, name the variable.")
def local_names(x: float) -> float:
    y: float = locals()["x"]  # here
    return y


@refused(
    ".append(), which changes an object in place, is not taken by tinyjax.source. Instead, "
    "write xs = [*xs, x]."
)
def appended(x: float) -> float:
    ys = xs = [x]
    xs.append(x * x)  # here
    return sum(ys)


@refused(
    ".extend(), which changes an object in place, is not taken by tinyjax.source. Instead, "
    "write xs = [*xs, *ys]."
)
def extended(x: float) -> float:
    ys = xs = [x]
    xs.extend([x * x])  # here
    return sum(ys)


@refused(
    ".update(), which changes an object in place, is not taken by tinyjax.source. Instead, "
    "write d = {**d, **e}."
)
def updated(x: float) -> float:
    e = d = {"a": x}
    d.update(a=x * x)  # here
    return e["a"]


@refused(
    "no derivative is known of the method list.pop of builtins.list. It may change its object"
    " in place. Build a new one: [*xs, x], {**d, k: v}."
)
def popped(x: float) -> float:
    xs = [x, x * x]
    y = xs.pop()  # here
    return y


@refused(
    "no derivative is known of the method dict.pop of builtins.dict. It may change its object"
    " in place. Build a new one: [*xs, x], {**d, k: v}."
)
def popped_entry(x: float) -> float:
    d = {"a": x}
    return d.pop("a")  # here


@refused(
    "an assignment to an item of a list is not taken by tinyjax.source, which takes those of "
    "NumPy arrays. Build a new list: [*xs[:i], x, *xs[i + 1:]]."
)
def item(x: float) -> float:
    ys = xs = [x, x]
    xs[0] = x * x  # here
    return sum(ys)


@refused(
    "an assignment to an item of a list is not taken by tinyjax.source, which takes those of "
    "NumPy arrays. Build a new list: [*xs[:i], x, *xs[i + 1:]]."
)
def augmented_item(x: float) -> float:
    ys = xs = [x, x]
    xs[0] += x  # here
    return sum(ys)


@refused(
    "an augmented assignment changes a value of type list in place, which every other name of"
    " it would see. Write x = x + y in place of x += y."
)
def augmented_list(x: float) -> float:
    xs = [x]
    ys = xs
    ys += [x * x]  # here
    return sum(xs)


@dataclass
class Mutable:
    """An object that can be changed."""

    value: float


@refused(
    "an assignment to an attribute is not taken by tinyjax.source. Instead, build a new "
    "object (attrs.evolve)."
)
def attribute(x: float) -> float:
    m = [Mutable(1.0)][0]
    m.value = x  # here
    return m.value


@refused("setattr() is not taken by tinyjax.source. Instead, build a new object (attrs.evolve).")
def attribute_by_name(x: float) -> float:
    m = Mutable(1.0)
    setattr(m, "value", x)  # noqa: B010 # here
    return m.value


@refused(
    "an assignment to an item of a list is not taken by tinyjax.source, which takes those of "
    "NumPy arrays. Build a new list: [*xs[:i], x, *xs[i + 1:]]."
)
def argument_changed_by_callee(x: float) -> float:
    def put(xs: list[float]) -> None:
        xs[0] = x  # here

    given = [1.0]
    put(given)
    return given[0]


@refused(
    "an assignment to an item of a list is not taken by tinyjax.source, which takes those of "
    "NumPy arrays. Build a new list: [*xs[:i], x, *xs[i + 1:]]."
)
def loop_target(x: float) -> float:
    xs = [0.0]
    for xs[0] in (x, x * x):  # here
        pass
    return xs[0]


@refused(
    "no derivative is known of the method ufunc.reduce of numpy.ufunc. Write it with "
    "operators and the functions of math, NumPy and tinyjax.numpy that are known, or give it "
    "a derivative with tinyjax.custom_vjp."
)
def reduced_ufunc(x: float) -> Any:
    return np.hypot.reduce([x, x])  # here


@refused("try with except is not taken by tinyjax.source. Instead, test for the case with if.")
def caught_exception(x: float) -> float:
    try:  # here
        return 1 / x
    except ZeroDivisionError:
        return 0.0


@refused("match is not taken by tinyjax.source. Instead, write if and elif.")
def matched(x: float) -> float:
    match x:  # here
        case 0.0:
            return 1.0
        case _:
            return x


@refused("del is not taken by tinyjax.source. Instead, leave the variable as it is.")
def deleted(x: float) -> float:
    y = x
    del y  # here
    return x


@refused("del is not taken by tinyjax.source. Instead, leave the variable as it is.")
def deleted_item(x: float) -> float:
    xs = [x, x]
    del xs[0]  # here
    return sum(xs)


@refused(
    "a class defined in a function is not taken by tinyjax.source. Instead, define the class "
    "in the module."
)
def class_inside(x: float) -> float:
    class Scale:  # here
        factor = 2.0

    return Scale.factor * x


@refused(
    "an import of what is no module, class or function is not taken by tinyjax.source. Instead, "
    "name it in its module: module.name."
)
def import_of_a_number(x: float) -> float:
    from math import pi  # here

    return x * pi


@refused(
    "a function that closes over 'x', which line N assigns again, is not taken by "
    "tinyjax.source. Instead, pass it as an argument or bind it as a default (x=x)."
)
def late_binding(x: float) -> float:
    scaled: Callable[[float], float] = lambda y: y * x  # noqa: E731 # here
    x = 2.0
    return scaled(x)


@refused(
    "a function that closes over 'factor', which line N assigns only later, is not taken by "
    "tinyjax.source. Instead, pass it as an argument or bind it as a default (factor=factor)."
)
def bound_later(x: float) -> float:
    def scaled() -> float:  # here
        return x * factor

    factor = 2.0
    return scaled()


@refused(
    "a function that closes over 'k', which line N assigns again, is not taken by "
    "tinyjax.source. Instead, pass it as an argument or bind it as a default (k=k)."
)
def closure_in_a_loop(x: float) -> float:
    functions: list[Callable[[], float]] = []
    for k in range(3):
        functions = [*functions, lambda: x * k]  # noqa: B023 # here
    return sum([f() for f in functions])


@refused(
    "a function that closes over the variable 'k' of a comprehension is not taken by "
    "tinyjax.source. Instead, bind it as a default: lambda ..., k=k: ...."
)
def closure_in_a_comprehension(x: float) -> Any:
    functions: list[Any] = [lambda: x * k for k in range(3)]  # noqa: B023 # here
    return sum([f() for f in functions])


@refused(
    "a decorated function that calls itself, defined in a function, is not taken by "
    "tinyjax.source. Instead, define it in the module."
)
def memoized_inside(x: float) -> float:
    @functools.cache
    def power(n: int) -> float:  # here
        return x if n == 1 else x * power(n - 1)

    return power(3)


@refused(
    "an iterator that is kept is not taken by tinyjax.source. Instead, make it a list: list(...)."
)
def kept_iterator(x: float) -> float:
    pairs = zip([x, 2 * x], [1.0, 2.0], strict=True)  # here
    return sum([a * b for a, b in pairs]) + sum([a for a, b in pairs])


@refused("a loop over itertools.count has no end that can be known. Write while True and count.")
def endless(x: float) -> float:
    for k in itertools.count():  # here
        x = x * 1.5
        if x > 4:
            return x * k
    return x


@refused("next() is not taken by tinyjax.source. Instead, index the sequence.")
def advanced_iterator(x: float) -> float:
    return next(iter([x]))  # here


@refused(
    "no derivative is known of _struct.pack. Write it with operators and the functions of math,"
    " NumPy and tinyjax.numpy that are known, or give it a derivative with "
    "tinyjax.custom_vjp."
)
def built_in_without_a_derivative(x: float) -> Any:
    return struct.unpack("d", struct.pack("d", x))[0]  # here


@refused(
    "no derivative is known of numpy.fromiter. Write it with operators and the functions "
    "of math, NumPy and tinyjax.numpy that are known, or give it a derivative with "
    "tinyjax.custom_vjp."
)
def numpy_without_a_derivative(x: float) -> Any:
    return np.fromiter((x, x), float)[0]  # here


@refused(
    "no derivative is known of ediff1d with these arguments (1 by position and initial). It is "
    "known of ediff1d(ary, to_end, to_begin)."
)
def arguments_without_a_derivative(x: float) -> Any:
    return unchecked(np.ediff1d)(np.array([x, x]), initial=x)[0]  # here


@refused("order of reshape must be 'C' or 'F', but got 'A'.")
def order_in_memory(x: float) -> Any:
    return np.array([[x, x]]).reshape(2, order="A")[0]  # here


@refused(
    "method of quantile must be 'linear', 'lower', 'higher', 'midpoint', 'nearest' or "
    "'inverted_cdf', but got 'hazen'."
)
def method_of_quantiles(x: float) -> Any:
    return np.quantile(np.array([x, 2 * x]), 0.3, method="hazen")  # here


@refused(
    "no derivative is known of the method float.hex of builtins.float. Write it with "
    "operators and the functions of math, NumPy and tinyjax.numpy that are known, or give it "
    "a derivative with tinyjax.custom_vjp."
)
def method_without_a_derivative(x: float) -> float:
    return float.fromhex(x.hex())  # here


@refused(
    "no derivative is known of collections.deque. Write it with operators and the functions "
    "of math, NumPy and tinyjax.numpy that are known, or give it a derivative with "
    "tinyjax.custom_vjp."
)
def container_without_a_derivative(x: float) -> float:
    return collections.deque([x])[0]  # here


class Plain:
    """A class whose constructor does as it likes."""

    def __init__(self, value: float) -> None:
        self.value = value * 2


@refused(
    "no derivative is known of test_refusals.Plain. Store the arguments in its constructor and "
    "compute nothing of them, as a dataclass does."
)
def plain_class(x: float) -> float:
    return Plain(x).value  # here


@attrs.frozen
class Derived:
    """A class with a default that is computed from another field."""

    value: float
    double: float = attrs.field(default=attrs.Factory(lambda self: 2 * self.value, takes_self=True))


@refused(
    "no derivative is known of test_refusals.Derived. Store the arguments in its constructor "
    "and compute nothing of them, as a dataclass does."
)
def computed_default(x: float) -> float:
    return Derived(x).double  # here


@refused(
    "no derivative is known of set. Write it with operators and the functions of math, NumPy "
    "and tinyjax.numpy that are known, or give it a derivative with tinyjax.custom_vjp."
)
def set_of_floats(x: float) -> float:
    return sum({x, 2 * x})  # here


@refused("the default of max() and min() has no derivative. Ask first whether there are items.")
def default_of_min(x: float) -> float:
    return min([], default=x)  # here


class Shape:
    """A class to derive from."""

    def area(self, x: float) -> float:
        return x


class Disc(Shape):
    """A class whose method calls that of the other."""

    def area(self, x: float) -> float:
        return super().area(x) * math.pi  # here


@refused("super() is not taken by tinyjax.source. Instead, name the class: Base.method(self, ...).")
def method_of_super(x: float) -> float:
    return Disc().area(x)


@attrs.frozen
class Held:
    """A context manager that gives what it was given."""

    value: float

    def __enter__(self) -> float:
        return self.value

    def __exit__(self, *_: object) -> None:
        pass


@refused(
    "the function that tinyjax.vjp returns has no derivative here. Call source.vjp in a function "
    "that tinyjax.source differentiates."
)
def slope_by_tracing(x: float) -> Any:
    return tinyjax.vjp(lambda y: y * y, x)[1](1.0)[0]  # here


@refused("what a `with` statement binds (Held) cannot be differentiated. Use the value itself.")
def bound_by_with(x: float) -> float:
    with Held(x) as y:  # here
        return y * y


CALLED_FIRST = compiled("""
def program(x):
    total = 0.0
    for k in range(2):
        if k:
            add(x)  # here
        def add(v):
            nonlocal total
            total = total + v
    return total
""")
refused(
    "a call of 'add' before its definition is not taken by tinyjax.source. Instead, define it "
    "first."
)(CALLED_FIRST)

WRONG_ARGUMENTS = compiled("""
def program(x):
    total = 0.0
    def add(v):
        nonlocal total
        total = total + v
    add()  # here
    return total
""")
refused(
    "a call of 'add' with arguments that its parameters do not take is not taken by "
    "tinyjax.source. Instead, give one for each parameter."
)(WRONG_ARGUMENTS)


def no_source() -> Function:
    namespace: dict[str, Any] = {}
    exec("def square(x):\n    return x * x\n", namespace)
    function: Function = namespace["square"]
    return function


SQUARE = no_source()


def test_a_function_whose_source_cannot_be_read() -> None:
    with pytest.raises(SourceError) as caught:
        read_gradient(SQUARE, 0.7)
    assert caught.value.message == (
        "the source of square cannot be read (<string>). Define the function in a file or a "
        "notebook."
    )
