"""Objects of the user's under capture: what NumPy and Python ask them for.

Of each class, what NumPy gives is compared with what a captured program gives, and its derivative
with central differences.
"""

import array
import functools
import inspect
import math
from collections import UserList, deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

import tinyjax
from tinyjax import source


class Plain:
    """An object with ``__array__``, and nothing else."""

    def __init__(self, elements: Any) -> None:
        self.elements = np.asarray(elements)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.elements


class Operators(Plain):
    def __mul__(self, other: Any) -> Any:
        return type(self)(5 * np.asarray(other) * self.elements)

    def __rmul__(self, other: Any) -> Any:
        return type(self)(3 * np.asarray(other) * self.elements)

    def __radd__(self, other: Any) -> Any:
        return type(self)(3 + np.asarray(other) * self.elements)


class Priority(Operators):
    __array_priority__ = 10


class Opaque(Operators):
    __array_ufunc__ = None


CLASSES: Final[tuple[type[Plain], ...]] = (Plain, Operators, Priority, Opaque)
OPERANDS: Final[dict[str, Callable[[Any], Any]]] = {
    "a number of NumPy's": lambda x: x,
    "a number of Python's": float,
    "an array of no axes": np.array,
    "an array": lambda x: np.array([x, 2 * x]),
}
PROGRAMS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "x * m": lambda x, m: x * m,
    "m * x": lambda x, m: m * x,
    "x + m": lambda x, m: x + m,
    "m - x": lambda x, m: m - x,
    "x / m": lambda x, m: x / m,
    "x < m": lambda x, m: x * (x < m),
    "x @ m": lambda x, m: x @ m,
    "np.add": np.add,
    "np.sum": lambda x, m: np.sum(m) + x,
    "np.dot": lambda x, m: np.dot(m, m) * x,
    "np.hstack": lambda x, m: np.hstack([np.ravel(x), m]),
    "np.stack": lambda x, m: np.stack((m, m)) + x,
    "np.asarray": lambda x, m: np.asarray([m, m]) * x,
}
#: NumPy raises an error, and a captured program computes.
LENIENT: Final = {("np.sum", Opaque)}


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("operand", OPERANDS)
def test_objects_are_what_they_are_to_numpy(cls: type[Plain], operand: str) -> None:
    x = np.float64(1.3)
    for name, program in PROGRAMS.items():
        if (name, cls) in LENIENT:
            continue
        kinds: list[type[Any]] = []

        def total(x: Any, program: Any = program, kinds: list[type[Any]] = kinds) -> Any:
            result = program(OPERANDS[operand](x), cls(np.array([1.5, 2.0]) * x))
            kinds.append(result.__class__)
            return np.sum(np.asarray(result)) * 1.0

        try:
            slope = (total(x + 1e-6) - total(x - 1e-6)) / 2e-6
        except (TypeError, ValueError):
            with pytest.raises((TypeError, ValueError)):
                tinyjax.grad(source.capture(total))(x)
        else:
            gradient = tinyjax.grad(source.capture(total))(x)
            np.testing.assert_allclose(gradient, slope, 1e-5, err_msg=name)
            assert len({*kinds}) == 1, name


class Angle:
    """An object that is a number by ``__float__``."""

    def __init__(self, radians: Any) -> None:
        self.radians = radians

    def __float__(self) -> float:
        return float(self.radians)

    def __sub__(self, other: Any) -> "Angle":
        return Angle(self.radians - other.radians)


def stored(x: Any) -> Any:
    angles = np.zeros(3)
    angles[1] = Angle(x)
    return angles


NUMBERS: Final[dict[str, Callable[[Any], Any]]] = {
    "an array of objects": lambda x: np.asarray(np.array([Angle(x), Angle(2 * x)]), dtype=float),
    "a nested list": lambda x: np.array([[Angle(x), x], (1, Angle(x))], dtype=float),
    "astype": lambda x: (np.array([Angle(x)]) - np.array([Angle(3 * x)])).astype(float),
    "float": lambda x: float(Angle(x)),
    "np.float64": lambda x: np.float64(Angle(x)) ** 2,
    "math": lambda x: math.sin(Angle(x)),
    "an element": stored,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_objects_are_numbers_by_their_method(name: str) -> None:
    def total(x: Any) -> Any:
        return np.sum(NUMBERS[name](x)) * 1.0

    slope = (total(1.3 + 1e-6) - total(1.3 - 1e-6)) / 2e-6
    np.testing.assert_allclose(tinyjax.grad(source.capture(total))(np.float64(1.3)), slope, 1e-6)


class Vector(np.ndarray):
    """An array with a constructor that asks which class it is a method of."""

    @classmethod
    def from_point(cls, x: Any) -> Any:
        return np.asarray(x).view(cls) * len(cls.__name__)


class Position(Vector):
    @classmethod
    def from_point(cls, x: Any) -> Any:
        return super().from_point(x) + 1.0


def test_methods_of_classes_are_those_of_the_subclass() -> None:
    def moved(x: Any) -> Any:
        position = Position.from_point(x)
        return np.sum(np.asarray(position.from_point(position)))

    np.testing.assert_allclose(tinyjax.grad(source.capture(moved))(np.ones(2)), [64.0, 64.0])


class Body:
    """An object that a function which keeps its results is called with."""

    def __init__(self, mass: Any) -> None:
        self.mass = mass


@functools.lru_cache
def energy(body: Body, speed: float) -> Any:
    return np.stack([body.mass, body.mass * 2.0]) @ np.full(2, speed**2)


def test_functions_that_keep_results_take_objects_of_traced_values() -> None:
    def total(x: Any) -> Any:
        return energy(Body(x), 3.0) + energy(Body(2.0), 3.0)

    assert float(tinyjax.grad(source.capture(total))(np.float64(0.5))) == 27.0
    assert energy.cache_info().currsize == 1


def summed(*values: Any) -> Any:
    total = 0.0
    for x in values:
        total = total + np.sin(x)
    return total


setattr(summed, "__signature__", inspect.Signature())  # noqa: B010


@pytest.mark.parametrize("entry", [source.capture, lambda f: f])
def test_functions_may_show_another_signature(entry: Callable[[Any], Any]) -> None:
    def twice(x: Any) -> Any:
        return summed(x, 2 * x) + summed(x)

    derivative = tinyjax.grad(entry(twice)) if entry is source.capture else source.grad(twice)
    np.testing.assert_allclose(derivative(0.4), 2 * np.cos(0.4) + 2 * np.cos(0.8), 1e-6)


FLAT: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "np.multiply": np.multiply,
    "x * flat": lambda x, flat: x * flat,
    "flat - x": lambda x, flat: flat - x,
    "flat > x": lambda x, flat: (flat > x) * x,
    "np.where": lambda x, flat: np.where(x > 0, flat, x),
    "np.stack": lambda x, flat: np.stack((flat, x)),
    "np.polyval": lambda x, flat: np.polyval(flat, x),
}


@pytest.mark.parametrize("name", FLAT)
def test_flat_iterators_are_arrays(name: str) -> None:
    def total(x: Any) -> Any:
        return np.sum(np.sin(FLAT[name](x, (2.0 * np.reshape(x, (2, 2)).T).flat)))

    x = np.array([0.3, 0.5, -0.2, 1.2])
    slopes = [(total(x + step) - total(x - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(tinyjax.grad(source.capture(total))(x), slopes, atol=1e-6)


class Adding:
    """An object that can be called."""

    def __call__(self, x: Any) -> Any:
        values = np.zeros(2)
        values[0] = x
        return self.sum(values)

    def sum(self, values: Any) -> Any:
        return np.sum(values) + 1.0


class Holding:
    """An object whose class stores a traced number in an array."""

    def __init__(self, x: Any) -> None:
        self.values = np.zeros(2)
        self.values[1] = x


def test_code_without_a_source_calls_objects_and_classes() -> None:
    text = "def total(x):\n    return add(x) * make(x).values[1] + add.sum(x) + isinstance(x, make)"
    scope: dict[str, Any] = {"add": Adding(), "make": Holding}
    exec(text.replace(" + add.sum(x)", "").replace(" + isinstance(x, make)", ""), scope)
    assert float(tinyjax.grad(source.capture(scope["total"]))(np.float64(3.0))) == 7.0
    exec("def total(x):\n    return add.sum(x) * isinstance(make, type)", scope)
    assert float(tinyjax.grad(source.capture(scope["total"]))(np.float64(3.0))) == 1.0


class Scaling(np.ndarray):
    """An array whose universal functions give twice their values."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = [np.asarray(x) for x in inputs]
        return 2.0 * getattr(ufunc, method)(*arrays, **options)


def test_einsum_takes_arrays_of_a_subclass_as_they_are() -> None:
    known = np.arange(4.0).reshape(2, 2).view(Scaling)

    def product(x: Any) -> Any:
        matrix = x.reshape(2, 2)
        result = np.einsum("ij,jk->ik", matrix, known) + np.einsum("ij->ji", known) * matrix
        return np.sum(result * matrix.view(Scaling)[0, 0])

    x = np.array([0.3, 1.2, -0.5, 0.7])
    slopes = [(product(x + step) - product(x - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(tinyjax.grad(source.capture(product))(x), slopes, 1e-6)


def test_einsum_takes_paths_of_numpy() -> None:
    path = ["einsum_path", (0, 2), (0, 1)]
    factors = np.arange(6.0).reshape(2, 3), np.arange(3.0)

    def product(x: Any) -> Any:
        return np.einsum("i,ij,j->", np.sin(x), *factors, optimize=path)

    slopes = np.cos([0.4, 1.1]) * (factors[0] @ factors[1])
    np.testing.assert_allclose(tinyjax.grad(source.capture(product))(np.array([0.4, 1.1])), slopes)


class Tenfold(np.ndarray):
    """An array that gives ten times its elements to who asks for one by its index."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) * 10.0


READS: Final[dict[str, Callable[[Any], Any]]] = {
    "item": lambda v: v[:1].item() + v.item(1) + v.reshape(2, 2).item(0, 1),
    "tolist": lambda v: sum(v.tolist()),
    "a loop": lambda v: sum([i * x for i, x in enumerate(v)]),
    "list": lambda v: np.sum(np.array(list(v))),
    "max": lambda v: max(v) + next(reversed(v)),
    "zip": lambda v: sum([a * b for a, b in zip(v, v, strict=True)]),
    "flat": lambda v: sum(v.flat) + np.sum(v.flat[1:3]) + v.flat.base[0],
    "np.take": lambda v: np.take(v, 1) + np.sum(v) + np.squeeze(v)[1],
}


@pytest.mark.parametrize("name", READS)
def test_elements_of_a_subclass_are_read_as_numpy_reads_them(name: str) -> None:
    def read(x: Any) -> Any:
        return np.asarray(READS[name](np.asarray(2.0 * x).view(Tenfold))) * 1.0

    x = np.array([0.3, 0.5, -0.2, 1.2])
    slopes = [(read(x + step) - read(x - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(tinyjax.grad(source.capture(read))(x), slopes, atol=1e-5)


def test_masked_arrays_are_written_as_arrays() -> None:
    """Their class has a ``__float__`` of its own, but they are no numbers."""

    def program(x: Any) -> Any:
        rows = np.ma.asarray(np.arange(4.0).reshape(2, 2))
        out = x * np.ones((2, 2))
        out[0] = rows[0]
        out[1, 1] = rows[1, 1] * x[0]
        return np.sum(out * out)

    x = np.array([0.3, 0.7])
    steps = 1e-6 * np.eye(2)
    slopes = [(program(x + step) - program(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(tinyjax.grad(source.capture(program))(x), slopes, 1e-6)


class Unit:
    """An object whose special methods are static ones, as SymPy's numbers have them."""

    @staticmethod
    def __abs__() -> float:
        return 3.0

    @staticmethod
    def __len__() -> int:
        return 2


def test_special_methods_may_be_static() -> None:
    def program(x: Any) -> Any:
        return x * abs(Unit()) * len(Unit())

    assert tinyjax.grad(source.capture(program))(0.5) == 6.0


class Three(NamedTuple):
    first: Any
    second: Any
    third: Any


class Indexed:
    """A sequence that has a length and items, and nothing else."""

    def __init__(self, items: Any) -> None:
        self.items = [*items]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> Any:
        return self.items[place]


class Listed(list[Any]):
    """A list of another class."""


#: What makes a sequence of three items.
SEQUENCES: Final[dict[str, Callable[[Any], Any]]] = {
    "deque": deque,
    "namedtuple": lambda items: Three(*items),
    "items": Indexed,
    "a subclass of list": Listed,
    "UserList": UserList,
    "a list of deques": lambda items: [deque([x, 2.0]) for x in items],
    "items of lists": lambda items: Indexed([[x, 2.0] for x in items]),
    "a deque of arrays": lambda items: deque([np.stack([x, x]) for x in items]),
    "a deque of data": lambda items: deque([1.0, 2.0, 3.0]),
}


def assigned(sequence: Any) -> Any:
    made = np.zeros(np.shape(sequence))
    made[...] = sequence
    made += sequence
    return made


OF_SEQUENCES: Final[dict[str, Callable[[Any], Any]]] = {
    "np.array": np.array,
    "np.asarray": lambda s: np.asarray(s, dtype=float),
    "np.vstack": np.vstack,
    "np.hstack": np.hstack,
    "np.stack": np.stack,
    "np.sum": np.sum,
    "np.sin": np.sin,
    "np.divmod": lambda s: np.divmod(s, 2.0)[1],
    "np.add.reduce": np.add.reduce,
    "np.max": np.max,
    "np.mean": np.mean,
    "np.where": lambda s: np.where(np.ones(np.shape(s)) > 0.0, s, 0.0),
    "np.full": lambda s: np.full(np.shape(s), s),
    "np.linalg.norm": np.linalg.norm,
    "array * s": lambda s: np.full(np.shape(s), 2.0) * s,
    "s + array": lambda s: s + np.full(np.shape(s), 2.0),
    "s == array": lambda s: np.ones(np.shape(s)) * (s == np.ones(np.shape(s))),
    "items": assigned,
    "size": lambda s: np.array(np.size(s) * np.ndim(s)),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_are_arrays(name: str) -> None:
    for function, apply in OF_SEQUENCES.items():

        def total(x: Any, apply: Callable[[Any], Any] = apply) -> Any:
            made = apply(SEQUENCES[name](np.sin(x)))
            return np.sum(np.cos(np.asarray([*made] if isinstance(made, UserList) else made)))

        x = np.array([0.3, 0.9, -0.6])
        slopes = [(total(x + step) - total(x - step)) / 2e-6 for step in 1e-6 * np.eye(3)]
        value, gradient = tinyjax.value_and_grad(source.capture(total))(x)
        np.testing.assert_allclose(value, total(x), 1e-12, err_msg=function)
        np.testing.assert_allclose(gradient, slopes, atol=1e-7, err_msg=function)


class Named(Indexed):
    """A dictionary, which NumPy takes as one object: its items have names."""

    def __getitem__(self, name: Any) -> Any:
        return {"x": self.items[0]}[name]

    def __mul__(self, other: Any) -> Any:
        return other * self["x"]


def test_dictionaries_are_objects() -> None:
    def program(x: Any) -> Any:
        named: Any = Named([x])
        objects = np.full(2, named, dtype=object)
        return (objects[1] * 3.0) + np.size(named) * named["x"]

    assert float(tinyjax.grad(source.capture(program))(np.float64(0.5))) == 4.0


#: Indices of other classes than NumPy's and lists.
KEYS: Final[dict[str, Any]] = {
    "a range": range(3),
    "a range backwards": range(3, 0, -2),
    "an empty range": range(0),
    "ranges": (range(3), range(3)),
    "a range and a slice": (range(2), slice(1, 3)),
    "a deque": deque([0, 2]),
    "items": Indexed([0, 2]),
    "array.array": array.array("l", [0, 2]),
    "memoryview": memoryview(array.array("l", [0, 2])),
    "a matrix": np.ones((1, 2), int).view(np.matrix),
    "an object": Plain([0, 2]),
    "a masked array": np.ma.array([0, 2]),
    "lists in a tuple": ([0, 2], (1, 1)),
    "floats": [0.0, 1.0],
    "a dict": {0: 1},
    "a text": "a",
}


def increased(x: Any, key: Any) -> Any:
    made = x * 2.0
    made[key] += x[0, 0]
    return made


def spread(x: Any, key: Any) -> Any:
    made = np.zeros((4, 3))
    made[key] = x[0, 0]
    return made


def added_at(x: Any, key: Any) -> Any:
    made = x * 2.0
    np.add.at(made, key, x[0, 0])
    return made


BY_KEY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "read": lambda x, key: x[key],
    "of a view": lambda x, key: x[::-1][key],
    "of data": lambda x, key: np.arange(12.0).reshape(4, 3)[key] * x[0, 0],
    "increased": increased,
    "written": spread,
    "np.add.at": added_at,
}


@pytest.mark.parametrize("name", KEYS)
def test_sequences_are_indices(name: str) -> None:
    x, key = np.arange(12.0).reshape(4, 3), KEYS[name]
    for use, by_key in BY_KEY.items():

        def total(x: Any, by_key: Callable[[Any, Any], Any] = by_key) -> Any:
            return np.sum(np.sin(by_key(x, key)) * 0.5)

        try:
            expected = total(x)
        except (IndexError, TypeError) as error:
            with pytest.raises(type(error)):
                tinyjax.grad(source.capture(total))(x)
            continue
        value, gradient = tinyjax.value_and_grad(source.capture(total))(x)
        np.testing.assert_allclose(value, expected, 1e-12, err_msg=use)
        direction = np.cos(x)
        slope = (total(x + 1e-6 * direction) - total(x - 1e-6 * direction)) / 2e-6
        np.testing.assert_allclose(np.sum(gradient * direction), slope, atol=1e-7, err_msg=use)


#: What gives an array without elements, and what copies it.
EMPTY: Final[dict[str, Callable[[Any], Any]]] = {
    "a slice": lambda x: x[:0],
    "a mask": lambda x: np.zeros((3, 2))[x < -9.0],
    "data": lambda x: np.zeros((0, 2)),
    "indices": lambda x: np.ones(3)[np.where(x < -9.0)[0]],
}


@pytest.mark.parametrize("name", EMPTY)
def test_arrays_without_elements_are_copied(name: str) -> None:
    def total(x: Any) -> Any:
        empty = EMPTY[name](x)
        copies = [empty.flatten(), empty.reshape(0, copy=True), empty.copy(), empty.flat[:]]
        return np.sum(x) + sum([np.sum(made) + made.size for made in copies])

    np.testing.assert_array_equal(tinyjax.grad(source.capture(total))(np.ones(3)), np.ones(3))


#: What says which element, or bin, has a number.
PLACES: Final[dict[str, Callable[[Any], Any]]] = {
    "argmax": lambda x: np.argmax(x * (1.0 + 0.5j)),
    "argmin of rows": lambda x: np.argmin(np.stack([x, 2.0 - x]) * 1.0j, axis=1),
    "of ties": lambda x: np.stack([0.0 * x + 1.0j, 0.0 * x]).argmax(axis=1, keepdims=True),
    "of NaN": lambda x: np.argmin(np.concatenate([x, [np.nan], x, [np.nan]]) * 1j),
    "argmax of eigenvalues": lambda x: np.argmax(np.linalg.eigvals(np.diag(x))),
    "digitize": lambda x: np.digitize(x * 1.1, x),
    "digitize downwards": lambda x: np.digitize([0.4, 1.0, 3.0], x[::-1], right=True),
    "digitize one": lambda x: np.digitize(0.7, np.concatenate([[-np.inf], x[:1] * [1.0, 1.0]])),
    "digitize unordered": lambda x: np.digitize(0.7, x[[1, 0, 2]]),
}


@pytest.mark.parametrize("name", PLACES)
def test_places_are_those_of_numpy(name: str) -> None:
    def program(x: Any) -> Any:
        return np.asarray(PLACES[name](x)) * 1.0 + x[0]

    x = np.array([0.5, 1.0, 2.0])
    captured = source.capture(program)
    try:
        expected = program(x)
    except ValueError:
        with pytest.raises(ValueError, match="monotonic"):
            tinyjax.jvp(captured, (x,), (x,))
        return
    np.testing.assert_array_equal(tinyjax.jvp(captured, (x,), (x,))[0], expected)
    np.testing.assert_array_equal(tinyjax.jit(captured)(x), expected)
    np.testing.assert_array_equal(tinyjax.vmap(captured)(np.stack([x, x]))[1], expected)


#: The protocols that are called, for which function, and the classes that NumPy names.
PROTOCOL_CALLS: list[tuple[str, str, list[str]]] = []


class Declining(np.ndarray):
    """An array that decides on all functions but one."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        PROTOCOL_CALLS.append(("Declining", func.__name__, sorted(t.__name__ for t in types)))
        return NotImplemented if func is np.dot else 5.0


class DecliningAll(Declining):
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        PROTOCOL_CALLS.append(("DecliningAll", func.__name__, sorted(t.__name__ for t in types)))
        return NotImplemented


class Scaled:
    """No array, which decides on all functions."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        PROTOCOL_CALLS.append(("Scaled", func.__name__, sorted(t.__name__ for t in types)))
        return 7.0 * self.x


CALLS_OF_PROTOCOLS: Final[dict[str, Callable[..., Any]]] = {
    "concatenate": lambda x, a, b, s: np.concatenate([a, b]),
    "concatenate, the subclass first": lambda x, a, b, s: np.concatenate([b, a]),
    "dot": lambda x, a, b, s: np.dot(a, s),
    "dot, Scaled first": lambda x, a, b, s: np.dot(s, a),
    "dot of an array": lambda x, a, b, s: np.dot(x, s),
    "where": lambda x, a, b, s: np.where(a > 0, s, b),
    "sum": lambda x, a, b, s: np.sum(s),
    "sum into": lambda x, a, b, s: np.sum(a, out=b),
    "sum of some": lambda x, a, b, s: np.sum(x, where=a > 0),
    "sum from": lambda x, a, b, s: np.sum(x, initial=b[0]),
    "block": lambda x, a, b, s: np.block([[x, s]]),
    "stack": lambda x, a, b, s: np.stack((x, s)),
    "shape of lists": lambda x, a, b, s: np.shape([a, a])[0] * 1.0,
    "einsum": lambda x, a, b, s: np.einsum("i,i", x, s),
    "full like": lambda x, a, b, s: np.full((2,), s, like=a),
    "array like": lambda x, a, b, s: np.array([1.0], like=s),
    "zeros like": lambda x, a, b, s: np.zeros(2, like=a),
    "clip": lambda x, a, b, s: np.clip(x, s, 9),
    "pad": lambda x, a, b, s: np.pad(s, 1),
    "norm": lambda x, a, b, s: np.linalg.norm(s),
    "fft": lambda x, a, b, s: np.fft.fft(s),
    "histogramdd": lambda x, a, b, s: np.histogramdd(a, 2),
}


@pytest.mark.parametrize("name", CALLS_OF_PROTOCOLS)
def test_array_functions_are_called_as_numpy_calls_them(name: str) -> None:
    """They are called in the order of classes, for the arguments that a function hands over by."""

    def function(x: Any) -> Any:
        operands = (x + 1).view(Declining), x.view(DecliningAll), Scaled(x[0] * x[1])
        result = CALLS_OF_PROTOCOLS[name](x, *operands)
        return np.sum(np.asarray(result)) + x[0] ** 2

    x = np.array([1.0, 2.0])
    PROTOCOL_CALLS.clear()
    value = function(x)
    expected = [*PROTOCOL_CALLS]
    slopes = [(function(x + h) - function(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    PROTOCOL_CALLS.clear()
    result, gradient = tinyjax.value_and_grad(source.capture(function))(x)
    assert expected == PROTOCOL_CALLS
    np.testing.assert_allclose(result, value)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-7)
