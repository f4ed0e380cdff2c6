"""State of captured programs: nothing traced stays in objects that outlive them."""

import functools
import math
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import source
from tinyjax.errors import CaptureError


class Model:
    def __init__(self) -> None:
        self.last: Any = 3.0
        self.history: list[Any] = [0.0]
        self.cache: dict[str, Any] = {}

    @functools.cached_property
    def table(self) -> Any:
        return np.linspace(0.0, 1.0, 5) * 2.0

    def value(self, x: Any) -> Any:
        self.last = math.sin(x)
        self.history.append(self.last)
        self.cache["x"] = x
        return np.sum(self.table * self.last)


def test_objects_have_what_they_had() -> None:
    model = Model()
    captured = source.capture(model.value)
    for f in (tinyjax.grad(captured), tinyjax.jit(tinyjax.grad(captured))):
        np.testing.assert_allclose(f(np.float64(0.5)), 5.0 * math.cos(0.5))
        assert (model.last, model.history, model.cache) == (3.0, [0.0], {})
        assert type(vars(model)["table"]) is np.ndarray
    np.testing.assert_allclose(model.value(0.5), 5.0 * math.sin(0.5))


def test_objects_have_what_they_had_after_a_refusal() -> None:
    model = Model()

    def refused(x: Any) -> Any:
        model.value(x)
        return hash(x)

    with raises(CaptureError, match="hash"):
        tinyjax.grad(source.capture(refused))(np.float64(0.5))
    assert (model.last, model.history, model.cache) == (3.0, [0.0], {})


def bounded(base: Any) -> Any:
    """Make an empty container of a class whose constructor and methods are its own."""

    def keep_size(container: Any, size: int) -> None:
        container.size = size

    def refuse(*_: Any) -> Any:
        raise NotImplementedError

    names = ("copy", "pop", "update", "clear", "extend", "items")
    return type("Bounded", (base,), {"__init__": keep_size, **dict.fromkeys(names, refuse)})(3)


CONTAINERS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "dict": lambda c, x: c.__setitem__("x", x) or c["x"],
    "OrderedDict": lambda c, x: c.__setitem__("x", x) or c["x"],
    "list": lambda c, x: c.append(x) or c[-1],
    "deque": lambda c, x: c.append(x) or c[-1],
}


@pytest.mark.parametrize("base", [dict, OrderedDict, list, deque])
def test_containers_of_subclasses_have_what_they_had(base: Any) -> None:
    container = bounded(base)

    def stored(x: Any) -> Any:
        return CONTAINERS[base.__name__](container, x * x)

    assert float(tinyjax.grad(source.capture(stored))(np.float64(1.5))) == 3.0
    assert len(container) == 0
    assert container.size == 3


def test_check_sees_a_value_that_an_earlier_call_has_left() -> None:
    memory: dict[str, Any] = {}

    def remembered(x: Any) -> Any:
        if "x" not in memory or np.max(np.abs(memory["x"] - x)) > 1e-12:
            memory["x"], memory["y"] = np.array(x), np.sum(np.sin(x))
        return memory["y"]

    x = np.array([1.0, 2.0])
    remembered(x)
    with raises(CaptureError, match="keeps data between calls"):
        tinyjax.grad(source.capture(remembered, check=True))(x)


def test_check_takes_what_is_right() -> None:
    captured = source.capture(lambda x: np.sum(np.sin(x)) * x[0] + abs(x[1]), check=True)
    x = np.array([1.0, -2.0, 3.0])
    slope = np.cos(x) * x[0] + np.array([np.sum(np.sin(x)), -1.0, 0.0])
    np.testing.assert_allclose(tinyjax.grad(captured)(x), slope)
    np.testing.assert_allclose(tinyjax.jit(tinyjax.grad(captured))(x), slope)


def test_an_array_from_outside_is_not_written() -> None:
    scratch = np.zeros(3)

    def program(x: Any) -> Any:
        scratch[0] = x
        return scratch[0]

    with raises(CaptureError, match="outside of the captured program"):
        tinyjax.grad(source.capture(program))(np.float64(1.0))
    np.testing.assert_array_equal(scratch, 0.0)


def test_rules_of_functions_in_c() -> None:
    function = functools.partial(int.__add__, 1)
    source.rule(function, lambda x: x**2)
    slope = tinyjax.grad(source.capture(lambda x: function(x) * 3.0))(np.float64(2.0))
    np.testing.assert_allclose(slope, 12.0)


def _hash_of_bytes(array: Any) -> int:
    return hash(array.tobytes())


#: Arrays whose hash is that of their bytes, as trimesh has them.
Tracked: Any = type("Tracked", (np.ndarray,), {"__hash__": _hash_of_bytes})


@pytest.mark.parametrize(
    "reads",
    [
        lambda x: hash(x.view(Tracked)),
        lambda x: {x.view(Tracked): 1},
        lambda x: x.tobytes(),
        lambda x: x.view(np.uint8).sum(),
        lambda x: x.data,
        lambda x: x.__array_interface__,
        np.lib.array_utils.byte_bounds,
        lambda x: x.__dlpack__(),
    ],
)
def test_memory_of_a_traced_array_is_refused(reads: Callable[[Any], Any]) -> None:
    def program(x: Any) -> Any:
        reads(2.0 * x)
        return np.sum(x)

    program(np.ones(3))
    with raises(CaptureError, match="needs data, but its value is traced"):
        tinyjax.grad(source.capture(program))(np.ones(3))


def test_memory_of_data_may_be_read_but_not_written_then() -> None:
    seen: list[Any] = []

    def read(x: Any) -> Any:
        zeros = np.zeros(2)
        seen[:] = [zeros.tobytes(), hash(zeros.view(Tracked)), hasattr(zeros, "ctypes")]
        seen.append(hasattr(zeros, "__array_interface__"))
        zeros[0] = x
        return zeros[0]

    def shared(x: Any) -> Any:
        zeros = np.zeros(2)
        other = np.frombuffer(zeros.data)
        zeros[0] = x
        return other[0]

    assert shared(2.0) == 2.0
    assert tinyjax.grad(source.capture(read))(2.0) == 1.0
    assert seen == [bytes(16), hash(bytes(16)), True, True]
    with raises(CaptureError, match="code outside of the captured program may hold"):
        tinyjax.grad(source.capture(shared))(2.0)


class Annotated:
    def value(self, x: Any) -> Any:
        self.last: Any = 2.0 * x
        return self.last * x


def test_annotated_assignments_leave_nothing() -> None:
    model = Annotated()
    assert tinyjax.grad(source.capture(model.value))(3.0) == 12.0
    assert vars(model) == {}


def rows_of_tinyjax(x: Any) -> Any:
    rows = jnp.stack([x, x])
    row = rows[0]
    row *= 2
    return jnp.sum(rows)


def sine_of_tinyjax(x: Any) -> Any:
    a = jnp.sin(x) * 2
    b = a
    b += 1
    return np.sum(a)


@pytest.mark.parametrize("fun", [rows_of_tinyjax, sine_of_tinyjax])
def test_arrays_of_tinyjax_are_not_changed_in_place(fun: Any) -> None:
    """Captured arrays are NumPy's; what is not certain to be one is refused."""
    x = np.array([1.0, 2.0])
    for transformed in (tinyjax.grad(source.capture(fun)), tinyjax.jit(source.capture(fun))):
        with raises(CaptureError, match="augmented assignment changes an array is not known"):
            transformed(x)


def chained(x: Any) -> Any:
    table = np.zeros((6, 2))
    last = table[:, 1]
    for i in range(1, 6):
        table[i, 0] = table[i - 1, 0] + x * i
        last[i] = table[i, 0] * last[i - 1] + math.sin(x)
        table[-1, 1] *= 2.0
    return np.sum(table[1:] ** 2) + last[3]


def transposed(x: Any) -> Any:
    table = np.ones((3, 4)).T
    table[1, 2] = x**2
    table[0, -1] = table[1, 2] * x
    table[1] += 1.0
    return np.sum(table[:, 2] * table[:, -1]) + np.sum(table)


def reversed_views(x: Any) -> Any:
    values = np.linspace(0.0, 1.0, 5)
    back, every = values[::-1], values[::2]
    values[1] = x
    back[0] = values[1] * x
    every[1] = back[0] + back[3] + x
    values[3] = 7.0
    back[1] = values[3] * every[1]
    return np.sum(values * np.arange(5.0)) + back[4]


def parts(x: Any) -> Any:
    values = np.ones(4, complex)
    values[1] = x * (1 + 2j)
    values.imag[2] = x**2
    values[3] = values[2] * values[1]
    return np.sum(np.abs(values) ** 2)


def single(x: Any) -> Any:
    values = np.ones(5, np.float32)
    for i in (0, 2, 4):
        values[i] = x * i
    return np.sum(values.astype(float)) + float(values.dtype.itemsize) * x


def of_the_loop(x: Any) -> Any:
    values = np.zeros(12)
    for i in (0, 2, 4, 6, 8, 10):
        values[i] = x * i
        values[i] = values[i] ** 2
    return np.sum(values * np.arange(12.0)) + values[11]


def out_of_bounds(x: Any) -> Any:
    values = np.zeros(3)
    values[0] = x
    try:
        values[3] = x
    except IndexError:
        values[2] = values[0] ** 2
    return np.sum(values)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize(
    "f", [chained, transposed, reversed_views, parts, single, of_the_loop, out_of_bounds]
)
def test_elements_are_read_as_they_were_written(f: Callable[[Any], Any]) -> None:
    captured, x, h = source.capture(f), np.float64(0.6), 1e-4 if f is single else 1e-6
    quotient = (f(x + h) - f(x - h)) / (2 * h)
    tolerance = 1e-3 if f is single else 1e-7
    for slope in (tinyjax.grad(captured), tinyjax.jit(tinyjax.grad(captured))):
        np.testing.assert_allclose(slope(x), quotient, rtol=tolerance)
    np.testing.assert_allclose(
        tinyjax.vmap(captured)(np.array([0.6, 0.7])), [f(0.6), f(0.7)], rtol=1e-6
    )


@pytest.mark.parametrize("name", ["read", "written"])
def test_classes_may_take_their_properties_back(name: str) -> None:
    """As where a property loads a table when it is read, and stores it in its place."""

    class Element:
        mass: Any

    def load() -> None:
        del Element.mass
        for i, element in enumerate(elements):
            element.mass = i + 2.0

    def read(self: Any) -> Any:
        load()
        return self.mass

    def write(self: Any, value: Any) -> None:
        load()
        self.mass = value

    def weighed(x: Any) -> Any:
        if name == "written":
            elements[1].mass = 3.0
        return x * elements[1].mass

    Element.mass = property(read, write)
    elements: list[Any] = [Element(), Element()]
    for _ in range(2):
        assert float(tinyjax.grad(source.capture(weighed))(np.float64(2.0))) == 3.0
    assert weighed(2.0) == 6.0


def test_getattribute_of_object_reads_properties_by_their_rewritten_forms() -> None:
    class Inner:
        def __init__(self, x: Any) -> None:
            self._x = x

        @property
        def square(self) -> Any:
            return np.array([self._x])[0] ** 2

    class Outer(Inner):
        def __getattribute__(self, name: str) -> Any:
            if name == "cube":
                return self._x * super().__getattribute__("square")
            return object.__getattribute__(self, name)

    def f(x: Any) -> Any:
        outer: Any = Outer(x)
        return outer.square + outer.cube

    assert tinyjax.grad(source.capture(f))(np.float64(2.0)) == 16.0
