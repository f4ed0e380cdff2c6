"""Loops of captured programs whose derivative is the adjoint generated for them."""

import math
import operator
import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.source.capturing import calls, runs

Function = Callable[[Any], Any]


pytestmark = pytest.mark.usefixtures("double_precision")


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Record, for each loop that is called with a tangent, whether it is generated."""
    module = calls._generated()
    differentiated, kinds = module.differentiated, []

    def counted(*args: Any) -> Any:
        result = differentiated(*args)
        kinds.append(result is not None)
        return result

    monkeypatch.setattr(module, "differentiated", counted)
    return kinds


def difference(function: Function, x: Any) -> Any:
    """Return the gradient by central differences."""
    x = np.asarray(x, float)
    gradient = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        steps = []
        for h in (1e-6, -1e-6):
            moved = x.copy()
            moved[index] += h
            steps.append(float(function(moved if x.ndim else moved[()])))
        gradient[index] = (steps[0] - steps[1]) / 2e-6
    return gradient


# Loops that are generated


def newton(x: Any) -> Any:
    root = x
    for i in range(20):
        root = root - (root * root - x) / (2.0 * root) if i % 3 else 0.9 * root + 0.1
    return root


def series(x: Any) -> Any:
    total = 0.0
    for k in range(1, 9):
        total += math.sin(k * x) * math.exp(-k * x) / math.sqrt(1.0 + k)
    return total


def kepler(x: Any, eccentricity: Any = 0.3) -> Any:
    anomaly = x
    while abs(anomaly - eccentricity * math.sin(anomaly) - x) > 1e-12:
        slope = 1.0 - eccentricity * math.cos(anomaly)
        anomaly = anomaly - (anomaly - eccentricity * math.sin(anomaly) - x) / slope
    return anomaly


def branching(x: Any) -> Any:
    total = 0.0
    for i in range(10):
        if x * i > 2.1:
            total = total + x**2
        elif i % 2:
            total -= math.cos(x) * i
        else:
            continue
        if total > 30:
            break
    return total


def elements(x: Any) -> Any:
    total = 0.0
    for i in range(1, len(x)):
        total += x[i] * x[i - 1] - 0.5 * x[-i] ** 2
    return total


def smoothed(x: Any) -> Any:
    levels = x.copy()
    inner = levels[1:-1]
    for _ in range(4):
        inner += 0.1 * (levels[2:] - 2.0 * inner + levels[:-2])
        levels[0] = levels[1]
        levels[-1] *= 0.9
    return np.sum(levels**2)


def table(x: Any) -> Any:
    values = np.zeros((len(x), 2))
    for i in range(1, len(x)):
        values[i, 0] = values[i - 1, 0] + x[i]
        values[i, 1] = values[i, 0] * x[i - 1] - values[i - 1, 1]
    return values.sum()


NUMBERS: Final = (0.4, 0.9, 1.3)
ARRAYS: Final = tuple(np.sin(np.arange(6.0) + k) for k in range(3))
GENERATED: Final[list[tuple[Function, Any]]] = [
    *((f, NUMBERS) for f in (newton, series, kepler, branching)),
    *((f, ARRAYS) for f in (elements, smoothed, table)),
]


@pytest.mark.parametrize(
    ("function", "points"), GENERATED, ids=lambda x: getattr(x, "__name__", "")
)
def test_gradients(function: Function, points: Any, generated: list[bool]) -> None:
    """The second gradient and those after it are generated, and are those of traced loops."""
    gradient = tinyjax.value_and_grad(source.capture(lambda x: 2.0 * function(x)))
    gradient(points[0])  # traced, unless another test has called the function
    del generated[:]
    for x in points:
        value, slope = gradient(x)
        np.testing.assert_allclose(value, 2.0 * function(x), rtol=1e-14)
        np.testing.assert_allclose(slope, difference(lambda x: 2.0 * function(x), x), atol=1e-6)
    assert generated == [True] * len(points)


@pytest.mark.parametrize(
    ("function", "points"), GENERATED, ids=lambda x: getattr(x, "__name__", "")
)
def test_every_derivative(function: Function, points: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated or traced, all derivatives are the same, in values and dtypes."""
    captured = source.capture(function)
    derivatives: dict[str, Function] = {
        "grad": tinyjax.value_and_grad(captured),
        "jvp": lambda x: tinyjax.jvp(captured, (x,), (np.cos(x),)),
        "linearize": lambda x: tinyjax.linearize(captured, x)[1](np.cos(x)),
        "vjp": lambda x: tinyjax.vjp(captured, x)[1](2.0),
        "jacfwd": tinyjax.jacfwd(captured),
        "jacrev": tinyjax.jacrev(captured),
        "hessian": tinyjax.hessian(captured),
        "pulled back by vmap": lambda x: tinyjax.vmap(tinyjax.vjp(captured, x)[1])(np.arange(3.0)),
        "vmap": lambda x: tinyjax.vmap(tinyjax.grad(captured))(np.stack([x, x])),
        "jit": tinyjax.jit(tinyjax.value_and_grad(captured)),
        "jit of vjp": lambda x: tinyjax.jit(tinyjax.vjp(captured, x)[1])(2.0),
        "aux": tinyjax.grad(source.capture(lambda x: (function(x), x)), has_aux=True),
    }
    results = {name: [derivative(x) for x in points] for name, derivative in derivatives.items()}
    monkeypatch.setattr(runs, "is_differentiated_once", lambda: False)
    for name, derivative in derivatives.items():
        for x, result in zip(points, results[name], strict=True):
            leaves, others = tinyjax.tree.leaves(result), tinyjax.tree.leaves(derivative(x))
            for y, z in zip(leaves, others, strict=True):
                assert (y.shape, y.dtype) == (z.shape, z.dtype), name
                assert name != "grad" or y.weak_type == z.weak_type
                np.testing.assert_allclose(y, z, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("dtypes", ["float32", "float64"])
@pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.array, tinyjax.numpy.asarray])
def test_types_of_results(kind: Any, dtypes: Any) -> None:
    """The type of a value and of a gradient is that of the first, traced call."""
    with tinyjax.config.default_dtypes(dtypes):

        def function(x: Any) -> Any:
            total = 0.0
            for k in range(3):
                total += math.sin(k * x) if dtypes == "float32" else x * k
            return total

        gradient = tinyjax.value_and_grad(source.capture(function))
        results = [gradient(kind(0.4)) for _ in range(3)]
        for result in results[1:]:
            for x, y in zip(result, results[0], strict=True):
                assert x.aval == y.aval
                np.testing.assert_allclose(x, y, rtol=1e-6)


# Points where derivatives are chosen, and not known

AT_POINTS: Final[dict[str, tuple[Callable[..., Any], float]]] = {
    "abs": (abs, 0.0),
    "np.abs": (np.abs, 0.0),
    "max": (lambda x: max(x, 0.0), 0.0),
    "max of equal": (lambda x: max(x, 2.0 * x), 0.0),
    "min": (lambda x: min(0.0, x), 0.0),
    "np.maximum": (lambda x: np.maximum(x, 0.0), 0.0),
    "np.minimum": (lambda x: np.minimum(x, x * x), 0.0),
    "np.fmax": (lambda x: np.fmax(x, -x), 0.0),
    "np.clip": (lambda x: np.clip(x, -1.0, 1.0), 1.0),
    "np.sign": (lambda x: np.sign(x) * x, 0.0),
    "np.where": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0),
    "math.sqrt": (math.sqrt, 0.0),
    "np.sqrt": (np.sqrt, 0.0),
    "power of zero": (lambda x: x**0.0, 0.0),
    "power": (lambda x: x**1.5, 0.0),
    "number to a power": (lambda x: 0.0**x, 0.0),
    "math.hypot": (lambda x: math.hypot(x, x), 0.0),
    "np.hypot": (lambda x: np.hypot(x, 0.0), 0.0),
    "math.atan2": (lambda x: math.atan2(x, 0.0), 0.0),
    "math.fabs": (math.fabs, 0.0),
    "math.copysign": (lambda x: math.copysign(x, -1.0), 0.0),
    "remainder": (lambda x: x % 1.0, 0.5),
    "floor": (lambda x: x // 1.0 + x, 0.5),
    "math.fmod": (lambda x: math.fmod(x, 0.3), 0.9),
    "math.asin": (math.asin, 1.0),
    "np.arccos": (np.arccos, -1.0),
    "np.log1p": (np.log1p, -1.0),
    "math.floor": (lambda x: math.floor(x) * x, 2.0),
    "round": (lambda x: round(x) * x, 2.5),
    "int": (lambda x: int(x) * x, 2.0),
    "np.nan_to_num": (np.nan_to_num, 0.0),
    "np.sinc": (np.sinc, 0.0),
    "comparison": (lambda x: x if x > 0 else -x, 0.0),
    "truth": (lambda x: x * (x == 0.0), 0.0),
}


@pytest.mark.parametrize("name", AT_POINTS)
@pytest.mark.parametrize("kind", [float, np.float64])
def test_derivatives_where_they_are_chosen(
    name: str, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At ties, kinks and edges the generated adjoint chooses as the traced one does."""
    function, x = AT_POINTS[name]

    def repeated(x: Any) -> Any:
        total = 0.0 * x
        for _ in range(2):
            total = total + function(x)
        return total

    gradient = tinyjax.value_and_grad(source.capture(repeated))
    with np.errstate(all="ignore"):
        results = [gradient(kind(x)) for _ in range(3)]
        monkeypatch.setattr(runs, "is_differentiated_once", lambda: False)
        expected = gradient(kind(x))
    for result in results:
        np.testing.assert_array_equal(result, expected)


# Loops from which values escape, or into which they come otherwise than as arguments

LIST: Final[list[Any]] = []
DICT: Final[dict[str, Any]] = {}
SET: Final[set[Any]] = set()
QUEUE: Final[deque[Any]] = deque()
ARRAY: Final = np.zeros(4)
NUMBER: Any = 0.0


class Box:
    """An object with state."""

    shared: Any = 0.0

    def __init__(self) -> None:
        self.value: Any = 0.0
        self.values: list[Any] = []


BOX: Final = Box()


def _into_list(x: Any) -> Any:
    for i in range(3):
        LIST.append(x * i)
    return x


def _into_argument(x: Any, items: Any) -> Any:
    for i in range(3):
        items.append(x * i)
    return x


def _extending(x: Any, items: Any) -> Any:
    for i in range(3):
        items += [x * i]
    return x


def _into_dict(x: Any) -> Any:
    for i in range(3):
        DICT["value"] = x * i
    return x


def _updating(x: Any) -> Any:
    for i in range(3):
        DICT.update(value=x * i)
    return x


def _by_setdefault(x: Any) -> Any:
    DICT.clear()
    for i in range(1, 3):
        DICT.setdefault("value", x * i)
    return x


def _into_queue(x: Any) -> Any:
    for i in range(3):
        QUEUE.append(x * i)
    return x


def _into_object(x: Any) -> Any:
    for i in range(3):
        BOX.value = x * i
    return x


def _into_object_of_argument(x: Any, box: Any) -> Any:
    for i in range(3):
        box.value = x * i
    return x


def _into_list_of_object(x: Any, box: Any) -> Any:
    for i in range(3):
        box.values.append(x * i)
    return x


def _by_setattr(x: Any, box: Any) -> Any:
    for i in range(3):
        setattr(box, "value", x * i)  # noqa: B010
    return x


def _into_class(x: Any) -> Any:
    for i in range(3):
        Box.shared = x * i
    return x


def _into_function(x: Any) -> Any:
    for i in range(3):
        _into_function.last = x * i  # type: ignore[attr-defined]
    return x


def _into_global(x: Any) -> Any:
    global NUMBER
    for i in range(3):
        NUMBER = x * i
    return x


def _into_default(x: Any, items: Any = LIST) -> Any:
    for i in range(3):
        items.append(x * i)
    return x


def _into_array_of_argument(x: Any, array: Any) -> Any:
    for i in range(3):
        array[i] = x * i
    return x


def _into_view_of_argument(x: Any, array: Any) -> Any:
    part = array[1:]
    for i in range(2):
        part[i] = x * (i + 1)
    return x


def _adding_to_argument(x: Any, array: Any) -> Any:
    for i in range(3):
        array += x * i
    return x


def _by_out(x: Any, array: Any) -> Any:
    for i in range(3):
        np.multiply(x, i, out=array[2:3])
    return x


def _by_copyto(x: Any, array: Any) -> Any:
    for i in range(3):
        np.copyto(array, x * i)
    return x


def _by_fill(x: Any, array: Any) -> Any:
    for i in range(3):
        array.fill(x * i)
    return x


def _by_setitem(x: Any, array: Any) -> Any:
    for i in range(3):
        operator.setitem(array, i, x * i)
    return x


def outer_of(inner: Function, read: Callable[[], Any], reset: Callable[[], None]) -> Function:
    """Return a function that calls another one three times, and reads what it has left behind."""

    def outer(x: Any) -> Any:
        reset()
        total = 0.0
        for i in range(3):
            total = total + inner(x * (i + 1))
        return total + read()

    return outer


def _nothing() -> None:
    """Reset nothing."""


def _with_list(inner: Callable[..., Any]) -> Function:
    def outer(x: Any) -> Any:
        items: list[Any] = []
        total = 0.0
        for i in range(3):
            total = total + inner(x * (i + 1), items)
        return total + sum(items)

    return outer


def _with_array(inner: Callable[..., Any]) -> Function:
    def outer(x: Any) -> Any:
        array = np.zeros(4)
        total = 0.0
        for i in range(3):
            total = total + inner(x * (i + 1), array)
        return total + array.sum()

    return outer


def _with_box(inner: Callable[..., Any]) -> Function:
    def outer(x: Any) -> Any:
        box = Box()
        total = 0.0
        for i in range(3):
            total = total + inner(x * (i + 1), box)
        return total + box.value + sum(box.values)

    return outer


def _nonlocal(x: Any) -> Any:
    last = 0.0

    def inner(x: Any) -> Any:
        nonlocal last
        for i in range(3):
            last = x * i
        return x

    return inner(x) + inner(2.0 * x) + inner(3.0 * x) + last


def _closed_over_number(x: Any) -> Any:
    factor = x * x

    def inner(y: Any) -> Any:
        total = 0.0
        for i in range(3):
            total = total + factor * y * i
        return total

    return inner(x) + inner(2.0 * x) + inner(3.0 * x)


def _closed_over_array(x: Any) -> Any:
    factors = np.zeros(3)
    factors[1] = x

    def inner(y: Any) -> Any:
        total = 0.0
        for i in range(3):
            total = total + factors[i] * y
        return total

    first = inner(x)
    factors[2] = x * x
    return first + inner(2.0 * x) + inner(3.0 * x)


def _closed_over_list(x: Any) -> Any:
    factors = [x, 2.0 * x]

    def inner(y: Any) -> Any:
        total = 0.0
        for factor in factors:
            total = total + factor * y
        return total

    return inner(x) + inner(2.0 * x) + inner(3.0 * x)


def _closed_over_object(x: Any) -> Any:
    box = Box()
    box.value = x * x

    def inner(y: Any) -> Any:
        total = 0.0
        for i in range(3):
            total = total + box.value * y * i
        return total

    return inner(x) + inner(2.0 * x) + inner(3.0 * x)


def _closed_over_object_in_conditions(x: Any) -> Any:
    box = Box()
    box.value = x * x

    def inner(y: Any) -> Any:
        total = y
        for i in range(3):
            total = max(total, box.value * i)
        return total

    return inner(x) + inner(2.0 * x) + inner(3.0 * x)


def _closed_over_object_in_arrays(x: Any) -> Any:
    box = Box()
    box.value = x * x

    def inner(y: Any) -> Any:
        values = np.zeros(3)
        for i in range(3):
            values[i] = box.value * i
        return values.sum() * y

    return inner(x) + inner(2.0 * x) + inner(3.0 * x)


def _closed_over_function(x: Any) -> Any:
    def factor(i: int) -> Any:
        return x * i

    def inner(y: Any) -> Any:
        total = 0.0
        for i in range(3):
            total = total + factor(i) * y
        return total

    return inner(x) + inner(2.0 * x) + inner(3.0 * x)


def _default_of_function(x: Any) -> Any:
    def inner(y: Any, factor: Any = x * x) -> Any:
        total = 0.0
        for i in range(3):
            total = total + factor * y * i
        return total

    return inner(x) + inner(2.0 * x) + inner(y=3.0 * x)


def _inner_stored_before(y: Any) -> Any:
    total = 0.0
    for i in range(3):
        total = total + BOX.value * y * i
    return total


def _stored_before(x: Any) -> Any:
    BOX.value = x
    result = _inner_stored_before(x) + _inner_stored_before(2.0 * x) + _inner_stored_before(3.0 * x)
    BOX.value = 0.0
    return result


def _inner_data_that_changes(y: Any) -> Any:
    total = 0.0
    for i in range(3):
        total = total + ARRAY[i] * y**2
    return total


def _data_that_changes(x: Any) -> Any:
    ARRAY[:] = 1.0
    first = _inner_data_that_changes(x)
    ARRAY[:] = 2.0
    second = _inner_data_that_changes(x)
    ARRAY[:] = 3.0
    third = _inner_data_that_changes(x)
    ARRAY[:] = 0.0
    return first + second + third


def _inner_argument_that_changes(y: Any, weights: Any) -> Any:
    total = 0.0
    for i in range(3):
        total = total + weights[i] * y**2
    return total


def _argument_that_changes(x: Any) -> Any:
    weights = np.ones(3)
    first = _inner_argument_that_changes(x, weights)
    weights[:] = 2.0
    second = _inner_argument_that_changes(x, weights)
    weights[1] = x
    return first + second + _inner_argument_that_changes(x, weights)


def _inner_random(y: Any) -> Any:
    total = 0.0
    for _ in range(3):
        total = total + random.random() * y**2
    return total


def _random(x: Any) -> Any:
    random.seed(1)
    return _inner_random(x) + _inner_random(2.0 * x) + _inner_random(3.0 * x)


def _inner_numpy_random(y: Any) -> Any:
    total = 0.0
    for _ in range(3):
        total = total + np.random.rand() * y**2
    return total


def _numpy_random(x: Any) -> Any:
    np.random.seed(1)
    return _inner_numpy_random(x) + _inner_numpy_random(2.0 * x) + _inner_numpy_random(3.0 * x)


def _inner_infinite(y: Any) -> Any:
    total = 1.0 / (y - y)
    for _ in range(3):
        total = total + next(QUEUE_OF_NUMBERS) * y
    return total


def _infinite(x: Any) -> Any:
    """A value that is not finite, whose loop must not run twice."""
    global QUEUE_OF_NUMBERS
    QUEUE_OF_NUMBERS = iter(range(100))
    with np.errstate(all="ignore"):
        values = [_inner_infinite(x) for _ in range(3)]
    return np.where(values[0] > values[1], x, next(QUEUE_OF_NUMBERS) * x)


QUEUE_OF_NUMBERS: Iterator[int] = iter(())


def _inner_iterator(y: Any) -> Any:
    total = 0.0
    for _ in range(3):
        total = total + next(QUEUE_OF_NUMBERS) * y**2
    return total


def _iterator(x: Any) -> Any:
    global QUEUE_OF_NUMBERS
    QUEUE_OF_NUMBERS = iter(range(100))
    return _inner_iterator(x) + _inner_iterator(2.0 * x) + _inner_iterator(3.0 * x)


def _inner_of_iterator(y: Any) -> Any:
    total = 0.0
    for number in QUEUE_OF_NUMBERS:
        total = total + number * y**2
        if number % 3 == 2:
            break
    return total


def _of_iterator(x: Any) -> Any:
    global QUEUE_OF_NUMBERS
    QUEUE_OF_NUMBERS = iter(range(100))
    return _inner_of_iterator(x) + _inner_of_iterator(2.0 * x) + _inner_of_iterator(3.0 * x)


def _closure() -> tuple[Function, Function]:
    """Return two functions that share a variable, of which one is captured as it is."""
    factor: Any = 0.0

    def setting(x: Any) -> Any:
        nonlocal factor
        factor = x

    def inner(y: Any) -> Any:
        total = 0.0
        for i in range(3):
            total = total + factor * y * i
        return total

    return setting, inner


SETTING, INNER_OF_CLOSURE = _closure()


def _of_closure(x: Any) -> Any:
    SETTING(x * x)
    return INNER_OF_CLOSURE(x) + INNER_OF_CLOSURE(2.0 * x) + INNER_OF_CLOSURE(3.0 * x)


def _inner_text(y: Any) -> Any:
    total = 0.0
    for i in range(3):
        total = total + float(f"{y * i}") ** 2
    return total


def _text(x: Any) -> Any:
    return _inner_text(x) + _inner_text(2.0 * x) + _inner_text(3.0 * x)


def _inner_integers(y: Any) -> Any:
    total = 0
    for i in range(3):
        total += int(y * i)
    return total


def _integers(x: Any) -> Any:
    return (_inner_integers(x) + _inner_integers(2.0 * x) + _inner_integers(3.0 * x)) * x


def _inner_views(array: Any) -> Any:
    part = array
    for _ in range(2):
        part = part[1:]
    return part


def _views(x: Any) -> Any:
    array = np.zeros(4) + x
    parts = [_inner_views(array), _inner_views(array), _inner_views(array)]
    parts[2][0] = x * x
    return sum(part.sum() for part in parts)


def _error(x: Any) -> Any:
    def inner(y: Any) -> Any:
        total = 0.0
        for i in range(3):
            if y * i > 2.0:
                raise ValueError(f"{i} is too far")
            total = total + y * i
        return total

    total = 0.0
    for i in range(4):
        try:
            total = total + inner(x * i)
        except ValueError:
            total = total + x
    return total


def _inner_masked(y: Any) -> Any:
    total = 0.0 * y
    for _ in range(2):
        total = total + np.sqrt(y)
    return total


def _masked(x: Any) -> Any:
    zero = x - 0.7
    with np.errstate(all="ignore"):
        parts = [_inner_masked(x), _inner_masked(zero * zero), _inner_masked(zero * zero)]
    return parts[0] + sum(np.where(zero > 0.25, part, x) for part in parts[1:])


def _inner_in_comprehension(y: Any) -> Any:
    return sum([y * i for i in range(3)])


def _in_comprehension(x: Any) -> Any:
    return (
        _inner_in_comprehension(x)
        + _inner_in_comprehension(2.0 * x)
        + _inner_in_comprehension(3.0 * x)
    )


def _inner_by_keywords(y: Any, *, power: int = 2, factor: Any = 1.0) -> Any:
    total = 0.0
    for i in range(3):
        total = total + factor * y**power * i
    return total


def _by_keywords(x: Any) -> Any:
    return (
        _inner_by_keywords(x)
        + _inner_by_keywords(2.0 * x, power=3)
        + _inner_by_keywords(3.0 * x, factor=x)
        + _inner_by_keywords(y=x, factor=2.0)
    )


def _inner_with_others(*values: Any, **named: Any) -> Any:
    total = 0.0
    for value in values:
        total = total + value * named["factor"]
    return total


def _with_others(x: Any) -> Any:
    return (
        _inner_with_others(x, x * x, factor=2.0)
        + _inner_with_others(x, factor=x)
        + _inner_with_others(3.0 * x, 2.0, factor=x)
    )


def _inner_recursive(y: Any, depth: int) -> Any:
    total = y
    for i in range(depth):
        total = total + _inner_recursive(y * 0.5, i)
    return total


def _recursive(x: Any) -> Any:
    return _inner_recursive(x, 3) + _inner_recursive(x * x, 2)


def _generators(x: Any) -> Any:
    def inner(y: Any) -> Any:
        for i in range(3):
            yield y * i

    return sum(inner(x)) + sum(inner(2.0 * x)) + sum(inner(x * x))


def _summed(array: Any) -> Any:
    total = 0.0
    for i in range(len(array.dtype) if array.dtype.names else np.size(array)):
        total = total + array.dtype.itemsize * i + np.sum(array.shape)
    return total


def _weighted(array: Any) -> Any:
    total = 0.0
    for i in range(array.shape[0]):
        total = total + (i + 1) * np.sum(array[i])
    return total


class _Sub(np.ndarray):
    """A class of arrays."""


def _of_arrays_of_all_kinds(x: Any) -> Any:
    whole = np.zeros((3, 4)) + x
    whole[1] *= x
    records = np.zeros(3, [("a", float), ("b", float)])
    records["a"] = x
    arrays = [
        *(whole, whole.T, whole[::2], whole[:, 1], whole.view(_Sub), np.asfortranarray(whole)),
        *(whole + 0j, whole > 0, np.broadcast_to(x, (3, 2))),
    ]
    total = _summed(records) + np.sum(records["a"]) + _summed(np.array(x)) + _summed(x)
    for array in arrays:
        total = total + np.real(_weighted(array)) + _summed(array)
    return total


def _reset() -> None:
    LIST.clear()
    DICT.clear()
    QUEUE.clear()


def _sum_of_list() -> Any:
    return sum(LIST)


def _value_of_dict() -> Any:
    return DICT["value"]


def _sum_of_queue() -> Any:
    return sum(QUEUE)


def _value_of_object() -> Any:
    return BOX.value


def _value_of_class() -> Any:
    return Box.shared


def _value_of_function() -> Any:
    return _into_function.last  # type: ignore[attr-defined]


def _value_of_global() -> Any:
    return NUMBER


ESCAPES: Final[dict[str, Function]] = {
    "list": outer_of(_into_list, _sum_of_list, _reset),
    "dict": outer_of(_into_dict, _value_of_dict, _reset),
    "update": outer_of(_updating, _value_of_dict, _reset),
    "setdefault": outer_of(_by_setdefault, _value_of_dict, _reset),
    "queue": outer_of(_into_queue, _sum_of_queue, _reset),
    "object": outer_of(_into_object, _value_of_object, _nothing),
    "class": outer_of(_into_class, _value_of_class, _nothing),
    "function": outer_of(_into_function, _value_of_function, _nothing),
    "global": outer_of(_into_global, _value_of_global, _nothing),
    "default": outer_of(_into_default, _sum_of_list, _reset),
    **{f.__name__: _with_list(f) for f in (_into_argument, _extending)},
    **{
        f.__name__: _with_array(f)
        for f in (
            *(_into_array_of_argument, _into_view_of_argument, _adding_to_argument, _by_out),
            *(_by_copyto, _by_fill, _by_setitem),
        )
    },
    **{
        f.__name__: _with_box(f)
        for f in (_into_object_of_argument, _into_list_of_object, _by_setattr)
    },
    **{
        f.__name__: f
        for f in (
            *(_nonlocal, _closed_over_number, _closed_over_array, _closed_over_list),
            *(_closed_over_object, _closed_over_object_in_conditions),
            *(_closed_over_object_in_arrays, _closed_over_function, _default_of_function),
            *(
                _stored_before,
                _data_that_changes,
                _argument_that_changes,
                _random,
                _numpy_random,
                _infinite,
            ),
            *(
                _iterator,
                _of_closure,
                _of_iterator,
                _text,
                _integers,
                _views,
                _error,
                _masked,
                _in_comprehension,
            ),
            *(_by_keywords, _with_others, _recursive, _generators, _of_arrays_of_all_kinds),
        )
    },
}
#: What capture refuses, generated or not.
REFUSED: Final = {"_text"}


@pytest.mark.parametrize("name", ESCAPES)
def test_values_that_escape(name: str) -> None:
    """Values that a loop stores elsewhere, or reads from elsewhere, keep their derivatives."""
    function = ESCAPES[name]
    gradient = tinyjax.value_and_grad(source.capture(function))
    for x in (0.7, 1.1, 0.8):
        try:
            value, slope = gradient(np.float64(x))
        except tinyjax.errors.TinyjaxError:
            assert name in REFUSED
            continue
        assert name not in REFUSED
        expected = difference(function, x)
        np.testing.assert_allclose(value, function(np.float64(x)), rtol=1e-12)
        np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)
