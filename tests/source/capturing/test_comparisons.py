"""Values under capture beside what is no number, axes of numbers, and arrays that are replaced."""

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import scipy.linalg

import tinyjax
from tinyjax import source
from tinyjax.errors import CaptureError, TinyjaxError
from tools.modules import module_of

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


#: How a program finds that it has computed something before, in a function of ``x``.
CONDITIONS: Final[tuple[str, ...]] = (
    "x == kept.x",
    "kept.x == x",
    "not x != kept.x",
    "np.all(x == kept.x)",
    "(np.asarray(x) == kept.x).all()",
    "not np.any(x != kept.x)",
    "np.array_equal(x, kept.x)",
    "np.array_equiv(x, kept.x)",
    "np.ndim(x) and np.allclose(x, kept.x)",
    "np.ndim(x) and np.all(np.isclose(x, kept.x))",
    "np.all(np.equal(x, kept.x))",
    "np.all(operator.eq(x, kept.x))",
    "np.sum(x) in [np.sum(kept.x)]",
    "np.sum(x) in {np.sum(kept.x)}",
    "np.sum(x) in np.array([np.sum(kept.x), 1.0])",
    "not (np.sum(x), 1) not in {(np.sum(kept.x), 1)}",
    "float(np.sum(x)) in kept.all.keys()",
    "[np.sum(kept.x)].index(np.sum(x)) == 0",
    "np.sum(x) == np.sum(kept.x) == kept.sum",
    "[2, 'a', np.sum(x)] == [2, 'a', np.sum(kept.x)]",
    "(np.sum(x), 1) == (np.sum(kept.x), 1)",
    "np.asarray(x).tolist() == np.asarray(kept.x).tolist()",
    "np.asarray(x).tobytes() == np.asarray(kept.x).tobytes()",
    "repr(x) == repr(kept.x)",
    "hash(float(np.sum(x))) == hash(float(kept.sum))",
    "np.count_nonzero(x == kept.x) == np.size(x)",
    "np.all(np.isin(x, kept.x))",
    "not np.setdiff1d(x, kept.x).size",
    "kept.all.get(float(np.sum(x))) is not None",
    "float(np.sum(x)) in kept.all",
    "kept.all[float(np.sum(x))]",
)
KEEPING: Final = """
import math, operator
import numpy as np

class Kept:
    x = sum = None
    all = {{}}

kept = Kept()

def function(x):
    if kept.x is not None and {condition}:
        return kept.result
    result = np.sum(np.asarray(x) ** 2)
    kept.x, kept.sum, kept.result = x, np.sum(x), result
    kept.all[float(np.sum(x))] = result
    return result
"""
ENTRIES: Final[dict[str, Callable[[Any], Any]]] = {
    "captured": lambda f: tinyjax.grad(source.capture(f)),
    "compiled": lambda f: tinyjax.jit(tinyjax.grad(source.capture(f))),
    "mapped": lambda f: (
        lambda x: tinyjax.vmap(tinyjax.grad(source.capture(f)))(np.stack([x + 0.25, x]))[1]
    ),
    "read": source.grad,
    "staged": lambda f: tinyjax.grad(tinyjax.jit(f, control_flow="source")),
    "staged, mapped": lambda f: (
        lambda x: tinyjax.vmap(tinyjax.grad(tinyjax.jit(f, control_flow="source")))(
            np.stack([x + 0.25, x])
        )[1]
    ),
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_keys_of_caches(condition: str, entry: str, tmp_path: Path) -> None:
    """A result that was computed of data, for equal numbers, has no derivative."""
    text = KEEPING.format(condition=condition)
    for i, x in enumerate((np.float64(1.5), 1.5, np.array([1.5, -0.5]))):
        function = module_of(text, tmp_path / f"kept{i}.py").function
        function(x)
        with suppress(TinyjaxError, ValueError, KeyError):  # as in Python
            np.testing.assert_allclose(ENTRIES[entry](function)(x), 2 * np.asarray(x))


class Squares:
    """Squares that are kept: in an attribute, and in what modules have."""

    def __init__(self) -> None:
        self.all: dict[float, float] = {}

    def of_attribute(self, x: float) -> float:
        if x in self.all:
            return self.all[x]
        self.all[x] = x**2 + x
        return self.all[x]


_SQUARES: Final[dict[float, float]] = {}
_LAST: Final = [0.0, 0.0]


def of_dictionary(x: float) -> float:
    def square(t: float) -> float:
        if t not in _SQUARES:
            _SQUARES[t] = t**2
        return _SQUARES[t]

    return square(x) + x


def of_list(x: float) -> float:
    if x != _LAST[0]:
        _LAST[:] = [x, x**2]
    return _LAST[1] + x


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("function", [Squares().of_attribute, of_dictionary, of_list])
def test_numbers_that_are_kept(function: Callable[[float], float], entry: str) -> None:
    x = np.float64(1.5)
    function(x)
    with pytest.raises(TinyjaxError):
        ENTRIES[entry](function)(x)


#: How a program looks up what others have computed, which it only reads: ``KEYS`` and ``VALUES``.
LOOKUPS: Final[tuple[str, ...]] = (
    "for k, v in zip(KEYS, VALUES):\n        if x[0] == k: return v",
    "for k in KEYS:\n        if k == x[0] * 1.0: return VALUES[0]",
    "for i, k in enumerate(KEYS):\n        if np.all(x[:1] == k): return VALUES[i]",
    "for i in range(len(KEYS)):\n        if not KEYS[i] != x[0]: return VALUES[i]",
    "for i in range(1):\n        if np.array_equal(x[:1], KEYS[i : i + 1]): return VALUES[i]",
    "i = 0\n    while i < 1 and KEYS[i] != x[0]: i += 1\n    if i < 1: return VALUES[i]",
    "r = [v for k, v in zip(KEYS, VALUES) if k == x[0]]\n    if r: return r[0]",
    "if any(k == x[0] for k in KEYS): return VALUES[0]",
    "if x[0] in KEYS: return VALUES[KEYS.index(x[0])]",
    "if np.any(np.array(KEYS) == x[0]): return VALUES[0]",
    "if x.T[0] == ARRAY[0]: return VALUES[0]",
    "i = np.searchsorted(ARRAY, x[0])\n    if ARRAY[i] == x[0]: return VALUES[i]",
    "y = x[0]\n    if y == KEYS[0]: return VALUES[0]",
    "if x[0] == keys[0]: return VALUES[0]",
    "if ALL['x'] == x[0]: return ALL['y']",
    "if MODEL.x == x[0]: return MODEL.y",
    "if np.equal(x[0], KEYS[0]): return VALUES[0]",
    "it = iter(KEYS)\n    if next(it) == x[0]: return VALUES[0]",
    "if x[0] - 0.0 == sum(KEYS): return VALUES[0]",
    "if max(KEYS) == x.max(): return VALUES[0]",
    "if (x == WHOLE).all(): return VALUES[0]",
    "if not np.any(WHOLE != x): return VALUES[0]",
    "if x[0] == NUMBER: return VALUES[0]",
    "if x[0] == LAST: return VALUES[0]",
    "return TABLE.get(float(x[0]), x[0] ** 2)",
    "r = TABLE.get(x.tolist()[0])\n    if r is not None: return r",
    "return {**TABLE}.pop(x[0], x[0] ** 2)",
    "try: return TABLE[float(x[0])]\n    except KeyError: pass",
    "return TABLE.setdefault(x.item(0), x[0] ** 2)",
    "if KEYS.count(x[0]): return VALUES[0]",
    "if set(KEYS) == {float(x[0])}: return VALUES[0]",
    "if hash(x[0]) == hash(KEYS[0]): return VALUES[0]",
    "if TABLE.__contains__(x[0]): return TABLE.__getitem__(x[0])",
    "if x[0] in {KEYS[0], 2.0}: return VALUES[0]",
    "if x[0] in set(KEYS): return VALUES[0]",
    "if not x[0] not in (KEYS[0], LAST): return VALUES[0]",
)
LOOKING: Final = """
import numpy as np
KEYS, VALUES, ARRAY, ALL = [1.5], [2.25], np.array([1.5, 2.5]), {{"x": 1.5, "y": 2.25}}
class Model:
    x, y = 1.5, 2.25
MODEL = Model()
TABLE = {{1.5: 2.25}}
WHOLE, NUMBER, LAST = np.array([1.5, 0.5]), np.array(1.5), 1.5
def renew():
    global LAST
def function(x, keys=KEYS):
    {lookup}
    return x[0] ** 2
"""


@pytest.mark.parametrize("lookup", LOOKUPS)
def test_keys_that_are_only_read(lookup: str, tmp_path: Path) -> None:
    function = module_of(LOOKING.format(lookup=lookup), tmp_path / "looking.py").function
    for x in (np.array([1.5, 0.5]), np.array([1.25, 0.5])):
        for entry, lift in ENTRIES.items():
            with suppress(TinyjaxError):
                np.testing.assert_allclose(lift(function)(x), [2 * x[0], 0.0], err_msg=entry)


Function = Callable[[Any], Any]


def _of_close(x: float) -> float:
    return 2 * x if x == 1.5 else 1.0


#: Comparisons with constants of the program, with other numbers, and of what was computed; and the
#: slopes of the functions.
NO_KEYS: Final[dict[str, tuple[Function, Function]]] = {
    "constant": (
        lambda x: x if x == 0.0 else math.sin(x) / x,
        lambda x: 1.0 if x == 0.0 else math.cos(x) / x - math.sin(x) / x**2,
    ),
    "constants": (
        lambda x: 3 * x if -x != -1.5 and x * 2.0 != 3.0 else x**2,
        lambda x: 2 * x if x == 1.5 else 3.0,
    ),
    "close": (lambda x: x**2 if math.isclose(x, 1.5) or np.isclose(x, 1.5) else x, _of_close),
    "constants of a set": (
        lambda x: 3 * x if x not in {1.5, None, "a"} and x not in (1.5, -2.0) else x**2,
        lambda x: 2 * x if x == 1.5 else 3.0,
    ),
    "others of a set": (
        lambda x: x**2 if x in {2.5: 1} or x in np.array([2.5, 3.5]) else 3 * x,
        lambda x: 3.0,
    ),
    "of a module": (lambda x: x**2 if x == math.pi or x != np.e else x, lambda x: 2 * x),
    "others": (lambda x: sum(x**k if x != k else 0 for k in (1.0, 2.0)), lambda x: 1 + 2 * x),
    "computed": (
        lambda x: np.sum(np.where(np.array([x, x]) == np.max([x, 0.1]), x, 0.0)),
        lambda x: 2.0 if x > 0.1 else 0.0,
    ),
    "elements": (lambda x: np.sum((np.array([1.5, 2.5, math.pi, 0.0]) == x) * x), lambda x: 1.0),
}


@pytest.mark.parametrize("name", NO_KEYS)
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("x", [0.0, 1.5, math.pi])
def test_comparisons_that_find_no_keys(name: str, entry: str, x: float) -> None:
    function, slope = NO_KEYS[name]
    np.testing.assert_allclose(ENTRIES[entry](function)(np.float64(x)), slope(x), rtol=1e-7)


class Pair:
    """Numbers that are compared, one by one, with those of any sequence."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[float]:
        return iter(self.numbers)

    def __getitem__(self, i: int) -> float:
        return self.numbers[i]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (list, Pair)) and all(map(operator.eq, self, other))

    def __hash__(self) -> int:
        return hash(self.numbers)

    def __contains__(self, number: Any) -> bool:
        return bool(self.numbers[0] < float(number) < self.numbers[1])


PAIR: Final = Pair(0.7, 2.0)
#: Comparisons of the user's, those that find a key of a cache last.
OWN: Final[tuple[Callable[[Any], bool], ...]] = (
    lambda x: Pair(x[0], 1.0) == [x[0], x[1]],
    lambda x: [x[1], 2.0] == Pair(x[0], 2.0),
    lambda x: Pair(x[0], 1.0) != Pair(x[0], x[1]) and x[0] not in Pair(0.1, 0.9),
    lambda x: x[0] in PAIR,
    lambda x: [x[0], 2.0] == PAIR,
    lambda x: Pair(x[0], 2.0) == PAIR,
)


@pytest.mark.parametrize("entry", ["captured", "compiled"])
@pytest.mark.parametrize("i", range(len(OWN)))
def test_comparisons_of_the_users(i: int, entry: str) -> None:
    gradient = ENTRIES[entry](lambda x: x[0] if OWN[i](x) else x[1] ** 2)
    if i < 4:
        np.testing.assert_allclose(gradient(POINT), [0.0, 2.6])
    else:
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


def item_or_none(table: dict[Any, Any], key: Any) -> Any:
    with suppress(KeyError):
        return table[key]
    return None


OF_TABLES: Final[dict[str, Callable[[dict[Any, Any], Any], Any]]] = {
    "get": lambda table, key: table.get(key),
    "get of a default": lambda table, key: table.get(key, None),
    "pop": lambda table, key: dict(table).pop(key, None),
    "item": item_or_none,
}


@pytest.mark.parametrize("name", OF_TABLES)
def test_keys_that_no_dictionary_has(name: str) -> None:
    """A table without the key is a decision; one that has it may be a cache."""
    kinds: tuple[Callable[[Any], Any], ...] = (float, np.float64, lambda number: (number, 1))
    for key_of in kinds:
        table = {key_of(0.0): 1.0, key_of(2.0): 0.5}

        def function(x: Any, table: Any = table, key_of: Any = key_of) -> Any:
            value = OF_TABLES[name](table, key_of(x[0]))
            return np.sin(x[0]) * x[1] if value is None else value

        gradient = tinyjax.grad(source.capture(function))
        expected = [np.cos(POINT[0]) * POINT[1], np.sin(POINT[0])]
        np.testing.assert_allclose(gradient(POINT), expected)
        np.testing.assert_allclose(tinyjax.jit(gradient)(POINT), expected)
        for transformed in (gradient, tinyjax.jit(gradient)):
            with pytest.raises(CaptureError, match="keys of caches"):
                transformed(np.array([2.0, 1.0]))
