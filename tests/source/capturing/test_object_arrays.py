"""Arrays of objects that are traced numbers or arrays: NumPy does something to each, one by one."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from tinyjax import source

pytestmark = pytest.mark.usefixtures("double_precision")


class Components(np.ndarray):
    """Three arrays or numbers, as one-dimensional array of objects."""

    def __new__(cls, components: Any) -> Any:
        made = np.ndarray.__new__(cls, len(components), dtype=object)
        for i, component in enumerate(components):
            made[i] = component
        return made


def objects(components: Any) -> Any:
    made = np.empty(len(components), object)
    for i, component in enumerate(components):
        made[i] = component
    return made


GRID: Final = np.arange(6.0).reshape(2, 3) + 0.5
VALUES: Final[dict[str, Callable[[Any], Any]]] = {
    "arrays from outside": lambda x: objects([GRID, 2.0, GRID[0]]),
    "traced arrays": lambda x: objects([GRID * x[0], x[1], GRID[0]]),
    "a subclass": lambda x: Components([GRID * x[0], x[1], GRID[0]]),
    "a subclass from outside": lambda x: Components([GRID, 1.5, GRID[0]]),
    "numbers": lambda x: objects([x[0], 2.0, x[3]]),
}


def set_item(o: Any, x: Any) -> Any:
    o[0] = x[0]
    return o * x[1]


def add_in_place(o: Any, x: Any) -> Any:
    o += x[:3]
    return o


def subtract_from_floats(o: Any, x: Any) -> Any:
    y = np.zeros(3) + x[:3]
    return y - objects([1.0, 2.0, x[0]])


FUNCTIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "operators": lambda o, x: x[1] / (0.17 + 2.0 * o * x[0] - x[:3]) + (-o) ** 2,
    "reflected": lambda o, x: x[:3] - x[0] * o,
    "power": lambda o, x: x[0] ** abs(o),
    "ufuncs": lambda o, x: np.add(np.subtract(x[:3], o), np.multiply(o, x[0])),
    "ufunc with out": lambda o, x: np.multiply(o, x[:3], out=np.empty(3, object)),
    "sum": lambda o, x: np.sum(o * x[:3]) + (o * x[0]).sum() + np.add.reduce(o),
    "product": lambda o, x: np.prod(o * x[0]),
    "running sums": lambda o, x: np.cumsum(o * x[0])[1],
    "dot": lambda o, x: np.dot(o, x[:3]) + o @ x[:3] + np.inner(x[:3], o) + o.dot(x[:3]),
    "outer": lambda o, x: np.multiply.outer(objects([x[0], 1.0]), x[:2]),
    "norm": lambda o, x: np.linalg.norm(o - x[:3]) + np.linalg.norm(o[:2] - x[:2]),
    "square root": lambda o, x: np.sqrt(o[0] * x[0]),
    "items": lambda o, x: o[[0, 2]] * x[:2],
    "mask": lambda o, x: o[np.array([True, False, True])] * x[0],
    "iteration": lambda o, x: sum(item * y for item, y in zip(o, x, strict=False)),
    "set item": set_item,
    "add in place": add_in_place,
    "floats less objects": subtract_from_floats,
    "copy": lambda o, x: o.copy().reshape(3, 1) * x[:2],
    "concatenate": lambda o, x: np.concatenate([o, x[:3]]),
    "stack": lambda o, x: np.vstack([objects([x[0], 1.0]), x[:2]]),
    "where": lambda o, x: np.where([True, False, True], o, x[:3]),
    "roll": lambda o, x: np.roll(o, 1) * x[:3],
    "as floats": lambda o, x: np.array(objects([x[0], x[1], 1.0]), dtype=float),
    "astype": lambda o, x: objects([x[0], x[1], 1.0]).astype(float) * x[0],
    "of a list": lambda o, x: np.array([x[0], x[1], 2.0], dtype=object) * x[0],
    "of an array": lambda o, x: np.array(x, dtype=object) * o[1],
    "sort": lambda o, x: np.sort(objects([x[0], x[1], 1.0])),
    "comparison": lambda o, x: x[:3][(objects([x[0], x[1], 1.0]) > 1.5).astype(bool)],
}


def total(result: Any) -> Any:
    if isinstance(result, np.ndarray) and result.dtype == object and result.ndim:
        return sum(total(item) * np.cos(i) for i, item in enumerate(result.ravel()))
    array = np.asarray(result)
    return np.sum(array * np.cos(np.arange(array.size).reshape(array.shape)))


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_objects(name: str, kind: str) -> None:
    def f(x: Any) -> Any:
        return total(FUNCTIONS[name](VALUES[kind](x), x))

    x, way = np.array([1.3, 2.1, 0.7, 1.9]), np.array([0.3, -0.2, 0.5, 0.1])
    value, slope = tinyjax.jvp(source.capture(f), (x,), (way,))
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    difference = (f(x + 1e-6 * way) - f(x - 1e-6 * way)) / 2e-6
    np.testing.assert_allclose(slope, difference, rtol=1e-6)
    gradient = tinyjax.jit(tinyjax.grad(source.capture(f)))(x)
    np.testing.assert_allclose(np.asarray(gradient) @ way, difference, rtol=1e-6)


WRITTEN: Final[dict[str, Callable[[Any], Any]]] = {
    "arrays": lambda x: [x, x[:3] * x[0], np.outer(x, x)],
    "arrays of one shape": lambda x: [x, x * 2.0, x * x],
    "numbers": lambda x: [x[0], float(x[1]), 2.0],
    "an array": lambda x: x[:3],
    "a number": lambda x: x[0],
    "data beside": lambda x: (x, "text", GRID),
}
PLACES: Final[dict[str, Any]] = {
    "all": ...,
    "a slice": slice(0, 3),
    "places": [2, 0, 1],
    "backwards": slice(None, None, -1),
}


def numbers_in(o: Any) -> Any:
    items = [item for item in o.ravel() if not isinstance(item, str)]
    return sum(np.sum(item * np.cos(np.arange(np.size(item)).reshape(np.shape(item))))
               * (i + 1) for i, item in enumerate(items))  # fmt: skip


@pytest.mark.parametrize("values", WRITTEN)
@pytest.mark.parametrize("place", PLACES)
def test_values_become_the_objects_that_numpy_makes_of_them(place: str, values: str) -> None:
    def f(x: Any) -> Any:
        o = np.empty(3, object)
        o[PLACES[place]] = WRITTEN[values](x)
        pairs = np.zeros((2, 2), object)
        pairs[np.triu_indices(2)] = WRITTEN[values](x)
        return numbers_in(o) + numbers_in(pairs)

    x = np.array([1.3, 2.1, 0.7, 1.9])
    slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    gradient = tinyjax.grad(source.capture(f))
    np.testing.assert_allclose(gradient(x), slopes, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(tinyjax.jit(gradient)(x), slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["concatenate", "stack", "hstack", "vstack", "dstack", "array"])
def test_objects_are_the_arrays_of_a_sequence(name: str) -> None:
    def f(x: Any) -> Any:
        o = np.empty((2, 2), object)
        for place in np.ndindex(2, 2):
            o[place] = x[: 3 + (name in ("concatenate", "hstack") and sum(place))] * place[0]
        row = np.array([x, x[:2] * x[0]], dtype=object)
        return sum(numbers_in(getattr(np, name)(items)) for items in o) + numbers_in(row)

    x = np.array([1.3, 2.1, 0.7, 1.9, 0.4])
    slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(5)]
    np.testing.assert_allclose(tinyjax.grad(source.capture(f))(x), slopes, rtol=1e-6, atol=1e-8)
