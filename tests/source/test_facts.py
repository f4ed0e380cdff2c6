"""The facts about NumPy, compared with NumPy in all layouts, with all values of options.

What is said of the axes and types of results is compared for operands of several sizes and values.
"""

import ast
import contextlib
import inspect
import itertools
import operator
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pytest
from capturing import comparing, rows
from numpy_calls import TABLE, X

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError
from tinyjax.source import facts
from tinyjax.source.ir import runtime

#: Calls that the tables have not: of options without a value there, and of no power or derivative.
FURTHER: Final = (
    "np.meshgrid(x[0], x[1], copy=False)",
    "np.linalg.matrix_power(x[:, :2], 1)",
    "np.polyder(x[0], 0)",
    "np.polyint(x[0], 0)",
    "np.ix_(x[0], x[1])",
    "np.apply_over_axes(np.sum, x, [])",
    "np.real_if_close(x)",
    "np.unwrap(x[0])",
    "np.resize(x, (2, 3))",
    "np.tile(x, 1)",
    "np.repeat(x, 1)",
    "np.roll(x, 0)",
    "np.concatenate([x])",
    "np.stack([x])",
    "np.block([[x]])",
    "np.pad(x, 0)",
    "np.kron(x, 1)",
    "np.max(x, axis=())",
    "np.sum(x, axis=())",
    "np.mean(x, axis=())",
    "np.delete(x, [])",
    "np.insert(x, [], 1)",
    "np.append(x, [])",
    "np.clip(x, None, None)",
    "np.polyadd(x[0], [])",
    "np.polymul(x[0], [1])",
    "np.linalg.multi_dot([x, x.T])",
    "np.argpartition(x, 1)",
    "np.partition(x, 1)",
    "np.partition(x[0], 0)",
    "np.einsum('ij->ji', x)",
    "np.einsum('ii->i', x[:, :2])",
    "np.frombuffer(x)",
    "np.fromiter(x[0], float)",
    "np.mask_indices(3, np.triu)",
    "np.lib.stride_tricks.as_strided(x, (2,), (8,))",
    "np.polydiv(x[0], x[1])",
    "np.polydiv(x[0], [1.0])",
    "np.trace(np.stack([x, x], -1))",
    "np.linalg.trace(np.stack([x[:, :2]]))",
    "np.linalg.det(np.stack([x[:, :2]]))",
    "np.linalg.slogdet(np.stack([x[:, :2]]))",
    "np.linalg.cond(np.stack([x[:, :2]]))",
    "np.linalg.matrix_rank(np.stack([x]))",
    "np.linalg.eig(x[:, :2])",
    "np.linalg.eigh(x[:, :2])",
    "np.linalg.eigvals(x[:, :2])",
    "np.linalg.lstsq(x, x[:, 0])",
    "np.linalg.qr(x)",
    "np.linalg.qr(x, 'raw')",
    "np.intersect1d(x[0], x[0])",
    "np.setdiff1d(x[0], [])",
    "np.setxor1d(x[0], [])",
    "np.union1d(x[0], x[1])",
    "np.unique_all(x[0])",
    "np.unique_counts(x[0])",
    "np.unique_inverse(x[0])",
    "np.unique_values(x[0])",
    "np.arange(x[0, 0])",
    "np.bartlett(3)",
    "np.blackman(3)",
    "np.hamming(3)",
    "np.hanning(3)",
    "np.kaiser(3, x[0, 0])",
    "np.empty(2)",
    "np.empty_like(x)",
    "np.diag_indices(3)",
    "np.indices((2, 3))",
    "np.tri(3)",
    "np.tril_indices(3)",
    "np.triu_indices(3)",
    "np.fft.fftfreq(3)",
    "np.fft.rfftfreq(3)",
    *[f"np.lib.scimath.{name}(x)" for name in ("arccos", "arcsin", "arctanh", "log", "log10")],
    *[f"np.lib.scimath.{name}(x)" for name in ("log2", "sqrt")],
    "np.lib.scimath.logn(2, x)",
    "np.lib.scimath.power(x, 1)",
)
LAYOUTS: Final = {k: v for k, v in comparing.LAYOUTS.items() if k not in ("list", "scalar")}


def arrays_in(result: Any) -> list[Any]:
    """Return the arrays of a result."""
    if isinstance(result, (tuple, list)):
        return [y for item in result for y in arrays_in(item)]
    return [result] if isinstance(result, np.ndarray) and result.size else []


def outcomes(call: str) -> Iterator[tuple[str, bool]]:
    """Yield whether the result of a call shares memory with what it is given, for each layout."""
    for layout, statement in LAYOUTS.items():
        scope: dict[str, Any] = {**comparing.SCOPE, "a": X.copy()}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                exec(statement, scope)
                for name in "kb":
                    if re.search(rf"\b{name}\b", call):
                        exec(comparing.NAMES[name], scope)
                operands = [y for y in scope.values() if isinstance(y, np.ndarray) and y.size]
                result = arrays_in(eval(call, scope))
            except Exception:  # NumPy refuses it
                continue
        if result:
            yield layout, any(np.shares_memory(y, z) for y in result for z in operands)


def calls() -> Iterator[tuple[Any, str, int, tuple[str, ...]]]:
    """Yield calls of functions and methods: what is called, and with how many arguments and names.

    They write no results into other arrays.
    """
    tables = [text.lstrip("?!") for texts in TABLE.values() for text in texts]
    for text in (*tables, *[text for _, text in rows.variants()], *FURTHER):
        node = ast.parse(text, mode="eval").body
        function = rows.function_of(node) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and function is not None:
            names = tuple([keyword.arg or "" for keyword in node.keywords])
            yield function, text, len(node.args), names
    for _, text in rows.rows(rows.METHODS):
        if ">>" in text or "=" in re.sub(r"\(.*\)", "", text):
            continue
        node = ast.parse(text, mode="eval").body
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            names = tuple([keyword.arg or "" for keyword in node.keywords])
            yield node.func.attr, text, len(node.args), names


CALLS: Final = [*calls()]


def test_each_name_is_one_of_numpy() -> None:
    names = facts._FRESH.split() + facts._VIEWS.split()
    assert len(facts.FRESH) + len(facts.VIEWS) >= len({*names}) - 8  # aliases of others


def test_fresh_results_share_nothing() -> None:
    """Results that are said to be fresh share memory with none of the arrays of a call."""
    known = [call for call in CALLS if facts.is_fresh(call[0], *call[2:])]
    assert len(known) > 3000
    shared = [
        (text, layout) for _, text, _, _ in known for layout, shares in outcomes(text) if shares
    ]
    assert shared == []


def test_views_share() -> None:
    """Functions that are said to give views do so, in one of the layouts at least."""
    shown = {
        function
        for function, text, _, _ in CALLS
        if function in facts.VIEWS or function in facts.VIEW_METHODS
        if any(shares for _, shares in outcomes(text))
    }
    missing = (facts.VIEWS | facts.VIEW_METHODS) - shown
    assert {getattr(f, "__name__", f) for f in missing} <= {"as_strided", "imag"}


def test_what_shares_is_not_said_to_be_fresh() -> None:
    """A call whose result shares memory in some layout is known for it, or not known at all."""
    for function, text, count, names in CALLS[:: len(CALLS) // 400]:
        if any(shares for _, shares in outcomes(text)):
            assert not facts.is_fresh(function, count, names), text


@pytest.mark.parametrize("name", sorted(facts.VIEW_ATTRIBUTES))
def test_attributes_are_views(name: str) -> None:
    x = X + 1j
    assert np.shares_memory(getattr(x, name), x)


@pytest.mark.parametrize("name", sorted(facts.PLAIN_ATTRIBUTES))
def test_plain_attributes_are_no_arrays(name: str) -> None:
    assert not isinstance(getattr(X, name), np.ndarray)


#: Sizes of operands by their number of axes, and values of numbers.
SIZES: Final[dict[int, list[tuple[int, ...]]]] = {
    1: [(3,), (1,), (0,)],
    2: [(3, 3), (3, 3), (1, 3), (0, 3)],
    3: [(2, 3, 3), (1, 1, 3)],
}
NUMBERS: Final[dict[type, list[Any]]] = {
    float: [-0.5, np.float64(2.5)],
    int: [0, 1, np.int64(2), -1],
    bool: [np.True_],
}
#: Functions whose results depend on the sizes or the values of operands, too.
WRONG: Final = """
bincount broadcast_to lib.scimath.log lib.scimath.sqrt linalg.eigvals nonzero reshape resize squeeze
"""
UFUNCS: Final = {x for x in vars(np).values() if isinstance(x, np.ufunc)}


def name_of(function: Any) -> str:
    """Return the name of a function."""
    return str(function.__name__)


def ordered(functions: Iterable[Any]) -> list[Any]:
    """Return functions in an order that is the same in each process."""
    return sorted(functions, key=lambda f: (name_of(f), type(f).__name__))


def operands_of(axes: int, scalar: type) -> list[Any]:
    """Return operands with this number of axes, of this type."""
    if not axes:
        return NUMBERS[scalar]
    draw = np.random.default_rng(1)
    return [draw.normal(0, 3, shape).astype(scalar) for shape in SIZES[axes]]


def differences(function: Any, *, has_axis: bool = False) -> tuple[list[str], int]:
    """Compare what is said of a function's results with NumPy.

    Returns:
        The calls in which it differs, and of how many kinds of operands something is said.
    """
    name, different, count = name_of(function), [], 0
    kinds: list[tuple[int, type]] = [*itertools.product(range(4), (float, int, bool))]
    counts = (1, 2, 3) if name in ("where", "clip") else (1, 2)
    several: list[tuple[tuple[int, type], ...]] = [
        operands for n in counts for operands in itertools.product(kinds[: 24 // n], repeat=n)
    ]
    for operands in several:
        said = facts.result_of(function, operands, has_axis=has_axis)
        count += said is not None and any(axes for axes, _ in operands)
        for args in zip(*itertools.starmap(operands_of, operands), strict=False):
            if function is operator.pow and type(args[0]) in (int, float):
                continue  # Python's powers may be complex
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    result = function(*args, **({"axis": -1} if has_axis else {}))
                except Exception:  # NumPy refuses it
                    continue
            is_number = np.ndim(result) == 0 and not isinstance(result, np.ndarray)
            if said is not None and (is_number or isinstance(result, np.ndarray)):
                found = np.ndim(result), facts._TYPES.get(np.asarray(result).dtype.kind)
                if found == said and is_number == (found[0] == 0):
                    continue
            if said is not None:
                different.append(f"{name}{args}: {said}, not {result}")
    return different, count


@pytest.mark.parametrize("function", ordered(facts.DETERMINED | UFUNCS), ids=name_of)
def test_results_are_determined(function: Any) -> None:
    """The axes and the type of a result are as they are said to be, whatever the operands."""
    if facts.is_determined(function):
        different, count = differences(function)
        assert different + differences(function, has_axis=True)[0] == []
        assert count > 0 or function not in facts._functions(facts._DETERMINED)


def refuses(function: Any, args: list[Any]) -> bool:
    """Return whether NumPy refuses a call."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            function(*args)
        except Exception:
            return True
    return False


@pytest.mark.parametrize("function", ordered(facts._functions(facts._DETERMINED)), ids=name_of)
def test_refusals_of_determined_do_not_depend_on_content(function: Any) -> None:
    """NumPy refuses arrays of several floats or truth values by their types alone."""
    contents: dict[type, list[float]] = {float: [0.5, 0.0, -2.0, np.nan, np.inf], bool: [1, 0]}
    shapes = ((3,), (3, 3), (0,))
    for count in (1, 2, 3):
        for kinds in itertools.product(itertools.product(contents, shapes), repeat=count):
            rows = [*itertools.product(*[contents[kind] for kind, _ in kinds])]
            calls: list[list[Any]] = [
                [np.full(shape, x, kind) for x, (kind, shape) in zip(row, kinds, strict=True)]
                for row in (rows if count < 3 else rows[:: len(rows) // 5])
            ]
            assert len({refuses(function, args) for args in calls}) == 1, (function, kinds)


@pytest.mark.parametrize("name", WRONG.split())
def test_wrong_rows_are_found(name: str) -> None:
    """Functions whose results depend on sizes or values differ, or nothing is said of them."""
    (function,) = facts._functions(name)
    different, count = differences(function)
    assert different or not count


SCALARS: Final[tuple[Any, ...]] = (-0.5, np.float64(2.5), 2, np.int64(3))


@pytest.mark.parametrize("function", ordered(facts.MAKERS), ids=name_of)
def test_makers(function: Any) -> None:
    """Makers give arrays of floats with the shape's axes, but for another dtype or a value."""
    shapes: list[Any] = [2] if function in facts.MATRICES else [2, (2,), (0, 3), (2, 3, 1)]
    values: tuple[Any, ...] = SCALARS if function is np.full else (None,)
    for shape, value, dtype in itertools.product(shapes, values, (None, float, int, bool)):
        args = (shape,) if value is None else (shape, value)
        made = function(*args) if dtype is None else function(*args, dtype=dtype)
        expected = np.result_type(float if value is None else value) if dtype is None else dtype
        assert made.dtype == expected
        assert made.ndim == (2 if function in facts.MATRICES else np.size(shape))


#: Calls of functions that the tables of calls have not.
OF_SHAPES: Final[dict[Any, str]] = {
    np.broadcast_shapes: "np.broadcast_shapes((2, 1), (3,))",
    np.diag_indices: "np.diag_indices(3)",
    np.issubdtype: "np.issubdtype(x.dtype, np.floating)",
    np.tril_indices: "np.tril_indices(3)",
    np.triu_indices: "np.triu_indices(3)",
}


def kinds_of(call: str) -> set[str]:
    """Return the kinds of the numbers in the result of a call, for all layouts."""
    kinds: set[str] = set()
    for statement in LAYOUTS.values():
        scope: dict[str, Any] = {**comparing.SCOPE, "a": X.copy()}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                for text in (statement, comparing.NAMES["k"], comparing.NAMES["b"]):
                    exec(text, scope)
                result = eval(call, scope)
            except Exception:  # NumPy refuses it
                continue
        for item in result if isinstance(result, (list, tuple)) else (result,):
            kinds.add(np.asarray(item).dtype.kind)
    return kinds


def test_discrete_results() -> None:
    """Functions that are said to give no floats give none in any call."""
    shown: dict[Any, set[str]] = {}
    for function, text in [*OF_SHAPES.items(), *[call[:2] for call in CALLS]]:
        if runtime.is_in(function, facts.DISCRETE):
            shown.setdefault(function, set()).update(kinds_of(text))
    assert {function for function, kinds in shown.items() if not kinds.isdisjoint("fcO")} == set()
    assert {f for f in facts.DISCRETE if not shown.get(f)} == {np.isnat}


@pytest.mark.parametrize("function", ordered(facts.STEPS), ids=name_of)
def test_steps(function: Any) -> None:
    """Steps are constant near a point, and have several values."""
    x = np.random.default_rng(0).normal(0, 2, (2, 100))
    args = x if function in (np.floor_divide, np.heaviside) else x[:1]
    value = function(*args)
    np.testing.assert_array_equal(function(*(args + 1e-9)), value)
    assert len({*value.ravel().tolist()}) > 1
    try:
        value = function(x[0] + 1j * x[1])
    except TypeError:  # it takes no complex numbers
        return
    np.testing.assert_array_equal(function(x[0] + 1e-9 + 1j * (x[1] - 1e-9)), value)


@pytest.mark.parametrize("function", ordered(facts.CHOOSING), ids=name_of)
def test_choosing(function: Any) -> None:
    """Each element of a result is one of the operands' elements."""
    args = np.random.default_rng(0).normal(0, 2, (3 if function is np.clip else 2, 100))
    value = function(*args)
    assert value.shape == (100,)
    assert np.all(np.any(args == value, axis=0))
    assert not any(np.array_equal(x, value) for x in args)


def writes(call: str) -> bool:
    """Return whether a call changes an array that it is given."""
    scope: dict[str, Any] = {**comparing.SCOPE, "a": X.copy()}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            exec(LAYOUTS["C"], scope)
            for name in comparing.NAMES:
                if re.search(rf"\b{name}\b", call):
                    exec(comparing.NAMES[name], scope)
            before = {name: y.copy() for name, y in scope.items() if isinstance(y, np.ndarray)}
            eval(call, scope)
        except Exception:  # NumPy refuses it
            return False
    return not all(np.array_equal(scope[name], y, equal_nan=True) for name, y in before.items())


def test_writers() -> None:
    """Functions that are said to write do so, and no others but by an option."""
    writers = {
        function
        for function, text, _, names in CALLS
        if not isinstance(function, str) and ".at(" not in text
        if {"out", "overwrite_input"}.isdisjoint(names)
        if writes(text)
    }
    assert writers == facts.WRITERS


def test_callers() -> None:
    """Functions that are said to call what they are given are those with such a parameter."""
    callers = set()
    for function in vars(np).values():
        with contextlib.suppress(TypeError, ValueError):  # it has no signature
            if any("func" in name for name in inspect.signature(function).parameters):
                callers.add(function)
    others = {np.mask_indices, np.seterrcall, np.vectorize}
    assert callers | {np.frompyfunc} == facts.CALLERS | others


@pytest.mark.parametrize("function", ordered(facts.REDUCTIONS), ids=name_of)
def test_reductions(function: Any) -> None:
    """A reduction applies its elementwise function, of which a number is neutral."""
    ufunc, x = facts.REDUCTIONS[function], np.random.default_rng(0).normal(0, 2, 5)
    result = function(x)
    assert result == ufunc.reduce(x)
    assert function([*x, facts.neutral_of(function)]) == result


#: Calls with arrays in the order of C, whose results have another one.
REORDERING_CALLS: Final[dict[Any, str]] = {
    np.cross: "np.cross(x, x + 1, axis=0)",
    np.histogram2d: "np.histogram2d(x[0], x[1])[0]",
    np.linspace: "np.linspace(x, x + 1, 4, axis=-1)",
    np.nanpercentile: "np.nanpercentile(x, [10, 20], axis=1)",
    np.nanquantile: "np.nanquantile(x, [0.1, 0.2], axis=1)",
    np.unique: "np.unique(x, axis=1)",
}


def test_reordering() -> None:
    """Functions that are said to change the order of axes do so in some call."""
    x = np.random.default_rng(0).normal(0, 2, (3, 3))
    assert set(REORDERING_CALLS) == facts.REORDERING
    for call in REORDERING_CALLS.values():
        assert not eval(call, {"np": np, "x": x}).flags.c_contiguous, call


@pytest.mark.parametrize("function", ordered(facts.ACCUMULATING), ids=name_of)
def test_accumulating(function: Any) -> None:
    """A function computes in the dtype of ``out``: the result is another one than without."""
    x = np.random.default_rng(0).uniform(0.9, 1.2, 99).astype(np.float32)
    out = np.zeros(np.shape(function(x)))
    function(x, out=out)
    np.testing.assert_array_equal(out, function(x, dtype=float))
    assert not np.array_equal(out, function(x))


@pytest.mark.parametrize("function", ordered(facts.OF_SEQUENCES), ids=name_of)
def test_of_sequences(function: Any) -> None:
    """The first argument is a sequence of arrays, all elements of which are in the result."""
    x, y = np.arange(3.0), np.arange(3.0, 6.0)
    assert {*function([x, y]).ravel().tolist()} == {*range(6)}


@pytest.mark.parametrize("function", ordered(facts.BY_SOURCE), ids=name_of)
def test_by_source(function: Any) -> None:
    """A function has a source in Python."""
    assert "def " in inspect.getsource(getattr(function, "_implementation", function))


#: What methods of arrays that need arguments are called with.
OF_METHODS: Final[dict[str, Any]] = {
    "argpartition": (1,),
    "choose": (np.arange(6.0).reshape(2, 3),),
    "dot": (np.eye(3),),
    "put": ([0, 4], [2.0, 3.0]),
    "repeat": (2,),
    "searchsorted": (0.5,),
    "swapaxes": (0, 1),
    "take": ([0],),
}


@pytest.mark.parametrize("name", sorted(facts.METHODS_AS_FUNCTIONS))
def test_methods_as_functions(name: str) -> None:
    """A method of arrays does what NumPy's function of its name does."""
    x = np.random.default_rng(0).normal(0, 2, (3, 3))
    x = x[0] if name in ("searchsorted", "argpartition") else x
    first, second = [x > 0 if name == "choose" else x.copy() for _ in range(2)]
    arguments = OF_METHODS.get(name, ())
    result = getattr(first, name)(*arguments)
    np.testing.assert_array_equal(result, getattr(np, name)(second, *arguments))
    np.testing.assert_array_equal(first, second)


def arguments() -> Iterator[tuple[Any, ...]]:
    """Yield arguments whose results may have no axes: numbers, and arrays of few elements."""
    for x in (0.7, np.float64(0.7), np.array(0.7)):
        pair = np.array([x, x])
        yield from ((x,), (x, x), (True, x, x), (x, 0), ([x, x],), ([x, x], x), (pair,))
        yield from ((pair, pair), (0, [x, x]), (np.outer(pair, pair) + np.eye(2),))
    yield from ((), ((),))


def outcomes_of(function: Any) -> Iterator[Any]:
    for args in arguments():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                yield function(*args), args
            except Exception:  # NumPy refuses it
                continue


@pytest.mark.parametrize("function", ordered(facts.FRESH), ids=name_of)
def test_results_without_axes(function: Any) -> None:
    """A result without axes is an array exactly where it is said to be one."""
    kinds = {isinstance(x, np.ndarray) for x, _ in outcomes_of(function) if is_point(x)}
    assert kinds != {True} or function in facts.POINTS
    assert False not in kinds or function not in facts.POINTS


def is_point(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and not np.ndim(x)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("function", ordered(facts.FRESH | UFUNCS), ids=name_of)
def test_captured_results_without_axes(function: Any) -> None:
    """A captured result without axes is an array where NumPy gives one."""
    for expected, args in outcomes_of(function):
        if not is_point(expected):
            continue
        made: list[bool] = []

        def program(x: Any, args: Any = args, made: list[bool] = made) -> Any:
            result = function(*[replaced(arg, x) for arg in args])
            made.append(isinstance(result, np.ndarray))
            return x

        try:
            tinyjax.grad(source.capture(program))(np.float64(1.0))
        except (TinyjaxError, TypeError, ValueError):  # it is refused
            continue
        assert made == [isinstance(expected, np.ndarray)], args


def replaced(arg: Any, x: Any) -> Any:
    """Return an argument that depends on a traced number."""
    if isinstance(arg, (list, tuple)):
        return type(arg)(replaced(part, x) for part in arg)
    return arg if isinstance(arg, (bool, int)) else arg * x
