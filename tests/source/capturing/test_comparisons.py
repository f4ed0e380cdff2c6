"""Values under capture beside what is no number, axes of numbers, and arrays that are replaced."""

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import scipy.linalg

import tinyjax
from tinyjax import source
from tinyjax.errors import CaptureError

POINT: Final = np.array([0.7, 1.3])
KINDS: Final[dict[str, Callable[[Any], Any]]] = {
    "array": lambda x: x,
    "NumPy's number": lambda x: x[0],
    "Python's number": lambda x: float(x[0]),
    "truth value": lambda x: bool(x[0] > 0),
    "complex": lambda x: x[0] * 1j,
}
OTHERS: Final[tuple[Any, ...]] = ("auto", b"auto", "0.7", None, ..., int, object(), {})
#: What Python's numbers have nothing to do with, and NumPy makes arrays of.
SEQUENCES: Final[tuple[Any, ...]] = ([], [0.7], (), ("a",))
OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "reflected ==": lambda x, y: y == x,
    "in": lambda x, y: x in (y, y),
    "<": operator.lt,
    "+": operator.add,
}


def outcome(apply: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Return what an operator gives, or the class of its error."""
    try:
        result = apply(x, y)
    except (TypeError, ValueError) as error:
        return TypeError if isinstance(error, TypeError) else ValueError
    return type(result) if isinstance(result, bool) else None, np.asarray(result).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATORS)
def test_what_is_no_number(kind: str, name: str) -> None:
    """NumPy and Python say that it equals none, or raise what they raise."""
    for other in (*OTHERS, *(SEQUENCES if "Python's" in kind else ())):
        outcomes: list[Any] = []

        def function(x: Any, other: Any = other, outcomes: list[Any] = outcomes) -> Any:
            outcomes.append(outcome(OPERATORS[name], KINDS[kind](x), other))
            return np.sum(x**2)

        function(POINT)
        np.testing.assert_allclose(tinyjax.grad(source.capture(function))(POINT), 2 * POINT)
        assert outcomes[1] == outcomes[0], (kind, name, other)


@pytest.mark.parametrize("is_old", [lambda x, y: x == y, lambda x, y: not x != y])  # noqa: SIM202
def test_keys_of_caches(is_old: Callable[[Any, Any], bool]) -> None:
    """A result that was computed of data, for equal numbers, has no derivative."""
    cache: list[Any] = [[2, 0.0], 0.0]

    def function(x: Any) -> Any:
        key = [2, x[0]]
        if not is_old(cache[0], key):
            cache[:] = key, x[0] ** 2
        return cache[1] * x[1]

    gradient = tinyjax.grad(source.capture(function))
    expected = [2 * POINT[0] * POINT[1], POINT[0] ** 2]
    np.testing.assert_allclose(gradient(POINT), expected)
    function(POINT)
    with pytest.raises(CaptureError, match="keys of caches"):
        gradient(POINT)


AXES: Final[dict[str, Callable[..., Any]]] = {
    **{name: getattr(np, name) for name in ("sum", "prod", "mean", "max", "std", "cumsum")},
    **{name: getattr(np, name) for name in ("nansum", "median", "average", "argmax", "squeeze")},
    "add.reduce": np.add.reduce,
    "maximum.reduce": np.maximum.reduce,
    "method": lambda x, **options: np.asarray(x).sum(**options),
}


@pytest.mark.parametrize("name", AXES)
def test_axes_of_numbers(name: str) -> None:
    """NumPy takes an axis of a number, where it reduces along it."""
    for options in ({"axis": 0}, {"axis": -1}, {"axis": 1}, {"axis": None}, {}):
        shapes: list[Any] = []

        def function(x: Any, options: Any = options, shapes: list[Any] = shapes) -> Any:
            try:
                result = AXES[name](x[0], **options)
            except (TypeError, ValueError, IndexError):
                shapes.append("error")
                return np.sum(x)
            shapes.append(np.shape(result))
            return np.sum(result * x[1])

        expected = function(POINT)
        value = tinyjax.value_and_grad(source.capture(function))(POINT)[0]
        assert float(value) == pytest.approx(float(expected))
        assert shapes[1] == shapes[0]


def solved(x: Any, key: Any) -> Any:
    matrix = np.array([[3.0, 1.0], [0.5, 2.0]]) * x[0]
    made = np.array([[1.0, 2.0], [0.0, 1.0]])
    made[key] = scipy.linalg.solve(matrix, made, overwrite_b=True)
    return np.sum(made**2) + made[0, 1] * x[1]


@pytest.mark.parametrize("key", [..., (), slice(None), (slice(None), ...)])
def test_arrays_that_were_overwritten_and_are_replaced(key: Any) -> None:
    def function(x: Any) -> Any:
        return solved(x, key)

    slopes = [(function(POINT + h) - function(POINT - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    gradient = tinyjax.grad(source.capture(function))
    np.testing.assert_allclose(gradient(POINT), slopes, rtol=1e-7)
    np.testing.assert_allclose(tinyjax.jit(gradient)(POINT), slopes, rtol=1e-7)


def test_arrays_that_were_overwritten_and_are_read() -> None:
    def backwards(x: Any) -> Any:
        return solved(x, slice(None, None, -1))

    with pytest.raises(CaptureError, match="undefined"):
        tinyjax.grad(source.capture(backwards))(POINT)


def test_names_in_a_traced_order() -> None:
    weights = {"a": 1.0, "b": 3.0}
    names: dict[str, Any] = {
        "objects": np.array(["a", "b"], object),
        "texts": np.array(["a", "b"]),
    }
    for made in names.values():

        def function(x: Any, made: Any = made) -> Any:
            first = made[np.argsort(x)][0]
            return weights[str(first)] * x[0] + weights[str(made[np.argmax(x)])] * x[1]

        captured = source.capture(function)
        batch = np.array([[0.2, 0.5], [0.9, 0.1], [0.3, 0.4]])
        expected = [*map(function, batch)]
        np.testing.assert_allclose(tinyjax.vmap(captured)(batch), expected)
        np.testing.assert_allclose([*map(tinyjax.jit(captured), batch)], expected)


POLYNOMIALS: Final[dict[str, Callable[[Any], Any]]] = {
    "matrix": lambda x: np.poly(np.array([[0.0, 1.0, 0.3], [-1.0, 0.0, 0.2], [0.1, 0.4, x[0]]])),
    "pairs": lambda x: np.poly(np.array([x[0] + 1j * x[1], x[0] - 1j * x[1]])),
    "zeros": np.poly,
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_conjugate_roots_are_real(name: str) -> None:
    def function(x: Any) -> Any:
        return np.sum(POLYNOMIALS[name](x) * np.arange(len(POLYNOMIALS[name](x))))

    slopes = [(function(POINT + h) - function(POINT - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    gradient = tinyjax.grad(source.capture(function))
    np.testing.assert_allclose(gradient(POINT), slopes, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(tinyjax.jit(gradient)(POINT), slopes, rtol=1e-6, atol=1e-8)
