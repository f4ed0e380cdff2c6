"""Every function and method of NumPy's under ``capture``: its value, class, memory and slope."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
import pytest
from capturing import rows
from capturing.comparing import LAYOUTS, compared
from numpy_calls import GONE, TABLE, WITHOUT_ARRAYS, public

import tinyjax
from tinyjax import source
from tinyjax.errors import CheckFailedError

pytestmark = pytest.mark.usefixtures("double_precision")

#: How ``o`` is made, which calls write into: the arguments of ``np.full``.
OUT: Final = "(2, 3), 0.25"

NO_ORDER: Final = "complex numbers have no order here"
#: What is refused, and why: patterns of layouts and calls.
REFUSED: Final = {
    r"byteswap|tobytes|dumps|x\.ctypes|x\.data|from_dlpack": "bytes have no derivative",
    r"r = (np\.(nditer|broadcast|asmatrix)|memoryview|v\.view)\(": "an object holds the data",
    r"x\.resize\(": "memory would move",
    r"frompyfunc|excluded=": "results are objects",
    r"overwrite_input=True": "NumPy leaves open what becomes of the argument",
    r"complex: .*(searchsorted|histogram)": NO_ORDER,
    r"complex: .*(clip|(nan)?median|interp|digitize|sort_complex)": NO_ORDER,
    r"complex: .*(percentile|quantile|heaviside|lexsort|partition)": NO_ORDER,
    r"complex: .*(initial=x|dtype=float\))": "a real result would lose the imaginary part",
    r"complex: .*(getfield|setfield)\(": "parts of elements are no views of a traced array",
    r"(zero-dimensional|scalar): ": "tinyjax has no axis 0 where there are no axes",
    r"(scalar|list): .*busday": "dates have no derivative",
    r"casting='": "tinyjax joins arrays by its own promotion",
    r"correction=": "tinyjax has ddof",
    r"device='cpu'": "a device is one of tinyjax's",
    r"qr\(.*mode='(complete|raw)'": "there is no rule",
    r"ldexp\(x, k, dtype=": "the exponent is an integer",
    r"(empty|list): ": "rows of another kind of argument",
}
#: What differs from NumPy, and why it may.
DIFFERENT: Final = {
    r"histogram2d|histogramdd|vectorize\(|permuted\(|np\.eye\(": "the order of axes in memory",
    r"linalg\.eig\(": "the strides of the result",
    r"x\[0, 0\] = np\.array\(\[3\.0\]\)": "NumPy deprecated it before it refused it",
    r"weights=V\[:3\] \+ 1|axes=\(-1, 0\)": "arguments of shapes that NumPy refuses",
    r"(std|var)\(.*dtype=complex": "a real result for a complex dtype",
    r"retstep=True, dtype": "the class of the step",
    r"mode='empty'": "NumPy leaves the elements open",
    r"full=True": "the class of the rank",
    r"hfft\(|ifft2\(x, out|irfft2\(x, out|fftn\(x, s=": "NumPy leaves out, or one pass of it, out",
    r"np\.dot\(.*out=o": "the class of a result without axes",
    r"(empty|zero-dimensional|scalar|list): ": "errors where nothing is computed",
    r"(read-only|broadcast): .*\.(put|at|copyto)\(": "which error comes first",
    r"broadcast: .*argsort": "NumPy's sort is not stable",
    r"float32: .*(percentile|quantile|trapezoid|histogram)": "where NumPy rounds",
    r"float32: .*(gradient|float_power)": "where NumPy rounds",
    r"complex: .*(out=o|o\[:2\]|int\()": "the imaginary part would be lost",
    r"matmul\(.*order='A'|F: .*order='A', copy=True": "the order of axes in memory",
    r"float32: .*ord=-1": "the norm has a kink within the step of differences",
    r"accumulate\(.*dtype=complex": "the order of axes in memory",
    r"complex: .*polyfit\(.*cov=True": "the covariance of complex numbers",
    r"complex: .*aweights=x": "complex weights",
    r"complex: .*(std|var)\(": "what NumPy makes of the imaginary parts",
    r"broadcast: .*float32": "the order of axes in memory",
}


def reason(table: dict[str, str], case: str) -> str:
    """Return why a case may be what it is; nothing where no pattern of the table has it."""
    return next((why for pattern, why in table.items() if re.search(pattern, case)), "")


def mistakes(cases: Iterable[tuple[str, str]], layout: str, *, reverse: bool = False) -> list[str]:
    """Compare calls, and describe those that are not as they are to be."""
    found = []
    for name, call in cases:
        outcome = compared(call, layout, OUT, reverse=reverse)
        case = f"{layout}: {call}"
        if outcome.kind == "refused" and not reason(REFUSED, case):
            found.append(f"{name} | {case} | refused | {outcome.detail}")
        elif outcome.is_mistake and not reason(DIFFERENT, case):
            found.append(f"{name} | {case} | {outcome.kind} | {outcome.detail}")
    return found


def calls() -> Iterator[tuple[str, str]]:
    for name, texts in TABLE.items():
        yield from ((name, text.lstrip("?!")) for text in texts)


def written_rows() -> Iterator[tuple[str, str]]:
    yield from rows.rows(rows.METHODS)
    yield from rows.rows(rows.STATEMENTS)
    yield from rows.rows(rows.WRITES)


def sampled(cases: Iterable[tuple[str, str]], every: int, first: int = 0) -> list[tuple[str, str]]:
    """Return one case in so many."""
    return [*cases][first::every]


#: Layouts of the plain run, and of how many calls one is made there; the others are searched.
PLAIN: Final = {"C": 1, "F": 5}
PLAIN_OR_SEARCHED: Final = [
    pytest.param(layout, every, id=f"{layout}-1/{every}") for layout, every in PLAIN.items()
] + [pytest.param(layout, 1, id=f"{layout}-all", marks=pytest.mark.fuzz) for layout in LAYOUTS]


@pytest.mark.parametrize(("layout", "every"), PLAIN_OR_SEARCHED)
def test_functions(layout: str, every: int) -> None:
    """A call of each function gives what it gives without ``capture``."""
    assert mistakes(sampled(calls(), every), layout) == []


@pytest.mark.parametrize(("layout", "every"), PLAIN_OR_SEARCHED)
def test_methods_and_writes(layout: str, every: int) -> None:
    """Methods, statements and functions that write do what they do without ``capture``."""
    assert mistakes(sampled(written_rows(), every, 2), layout) == []


@pytest.mark.parametrize("every", [pytest.param(8), pytest.param(1, marks=pytest.mark.fuzz)])
def test_derivatives_in_reverse(every: int) -> None:
    """Derivatives in reverse mode are those in forward mode."""
    cases = [*calls(), *written_rows()]
    assert mistakes(sampled(cases, every, 3), "C", reverse=True) == []


@pytest.mark.parametrize("every", [pytest.param(5), pytest.param(1, marks=pytest.mark.fuzz)])
def test_arguments_by_keyword(every: int) -> None:
    """Arguments by their names are those by their places."""
    assert mistakes(sampled(rows.by_keyword(), every, 4), "C") == []


@pytest.mark.parametrize("every", [pytest.param(3), pytest.param(1, marks=pytest.mark.fuzz)])
def test_results_in_out(every: int) -> None:
    """Each function that has the option writes its result into ``out``."""
    found = [
        f"{call} | {out} | {outcome}"
        for _, call, out in [*rows.outs()][::every]
        if (outcome := compared(call, "C", out)).kind in ("wrong", "error", "refused")
        and not reason({**DIFFERENT, **REFUSED}, f"C: {call}")
    ]
    assert found == []


@pytest.mark.parametrize("first", [5])
def test_some_options(first: int) -> None:
    """Some values of options of functions do what they do without ``capture``."""
    cases = [*rows.variants()]
    assert len(cases) > 5000
    assert mistakes(sampled(cases, 29, first), "C") == []


@pytest.mark.fuzz
@pytest.mark.parametrize("layout", ["C", "F", "strided", "read-only", "complex", "float32"])
def test_all_options(layout: str) -> None:
    """Each value of each option of each function does what it does without ``capture``."""
    assert mistakes(rows.variants(), layout) == []


def test_each_public_name_has_a_row() -> None:
    """A function, or a method of arrays, that NumPy gains fails until it has a row."""
    functions = {*public(np), *public(np.linalg), *public(np.fft)} - GONE
    assert functions - {*TABLE} - {*WITHOUT_ARRAYS} == set()
    methods = {line.partition(": ")[0] for line in rows.METHODS.strip().splitlines()}
    assert {name for name in dir(np.ndarray) if name[0] != "_"} == methods


def test_each_option_has_a_value() -> None:
    """An option that NumPy gains fails until a row gives it."""
    tried: set[tuple[str, str]] = set()
    listed: set[tuple[str, str]] = set()
    texts = [call for _, call in (*calls(), *written_rows(), *rows.variants())]
    for call in (*texts, *[call for _, call, _ in rows.outs()]):
        for _, node, function in rows.calls_of(call.rpartition(" >> ")[2]):
            if not isinstance(function, np.ufunc):
                tried |= {(function.__name__, option) for option in rows.bound(node, function)}
                listed |= {(function.__name__, option) for option in rows.parameters(function)}
    missing = {
        (name, option) for name, option in listed - tried if name not in rows.WITHOUT_OPTIONS
    }
    assert missing == set()


@pytest.mark.fuzz
@pytest.mark.parametrize("table", [REFUSED, DIFFERENT], ids=["refused", "different"])
def test_reasons_are_needed(table: dict[str, str]) -> None:
    """A pattern that speaks of no layout has a call in the layout C that is not right."""
    everything = [*calls(), *written_rows(), *rows.variants()]
    for pattern in table:
        if re.search(r"^\(?(empty|zero|scalar|list|read|broadcast|float32|complex)|: ", pattern):
            continue
        cases = [call for _, call in everything if re.search(pattern, f"C: {call}")]
        if re.search("matmul|accumulate|hfft|out=o", pattern):  # in other rows alone
            continue
        kinds = {compared(call, "C", OUT).kind for call in cases[:200]}
        assert kinds & {"refused", "wrong", "error", "unclear"}, pattern


WRITES_BY_NUMPY: Final[dict[str, Callable[[Any, Any], object]]] = {
    "equal indices": lambda z, x: np.put(z, [0, 4, 4], [x, 2.0 * x, 3.0 * x]),
    "repeated values": lambda z, x: np.put(z, [0, 1, 2, 3], [x, 2.0 * x]),
    "clipped": lambda z, x: np.put(z, [0, 99], x, mode="clip"),
    "outside": lambda z, x: np.put(z, [99], x),
    "by name": lambda z, x: np.place(arr=z, mask=z < 4.0, vals=[x]),
    "no values": lambda z, x: np.place(z, z < 4.0, []),
    "a mask": lambda z, x: np.putmask(z, z < 5.0, [x, x * x]),
    "a row": lambda z, x: np.copyto(z, x * np.ones(z.shape[1:]), where=z > 2.0),
    "a cast": lambda z, x: np.copyto(z, np.asarray(x * 1j), where=z > 2.0),
    "flat": lambda z, x: z.flat.__setitem__(slice(1, 4), [x, 2.0 * x]),
}


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.minimum])
def test_integers_are_changed_by_traced_integers(ufunc: np.ufunc) -> None:
    """An array of integers, whose changes are decisions, is changed by the function itself."""

    def program(x: Any, count: Any) -> Any:
        z = np.full(3, 2)
        ufunc.at(z, [0, 0], count)
        return np.sum(z) * x

    captured, count = source.capture(program), np.int64(5)
    expected = program(1.5, count)
    assert tinyjax.jit(captured)(1.5, count) == expected
    assert tinyjax.vmap(captured)(np.full(2, 1.5), np.full(2, 5)).tolist() == [expected] * 2


@pytest.mark.parametrize("layout", [lambda z: z, np.transpose, lambda z: z[:, ::2]])
@pytest.mark.parametrize("name", WRITES_BY_NUMPY)
def test_writes_are_where_numpy_writes(name: str, layout: Callable[[Any], Any]) -> None:
    """Values go where NumPy puts them, in all layouts, or its error is raised."""

    def program(x: Any) -> Any:
        base = np.arange(6.0).reshape(2, 3) * 1.0
        view = layout(base)
        WRITES_BY_NUMPY[name](view, x)
        return np.sum(base**2 * np.arange(1.0, 7.0).reshape(2, 3))

    captured = source.capture(program)
    try:
        expected = program(1.5)
    except (IndexError, TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            tinyjax.grad(captured)(1.5)
        return
    value, slope = tinyjax.value_and_grad(captured)(1.5)
    assert value == expected
    np.testing.assert_allclose(slope, (program(1.5 + 1e-6) - program(1.5 - 1e-6)) / 2e-6, 1e-6)


@pytest.mark.parametrize("order", ["K", "A", "C", "F"])
@pytest.mark.parametrize("is_traced", [False, True])
def test_astype_gives_the_array_that_numpy_gives(order: Any, is_traced: bool) -> None:
    """It is the array itself where NumPy's is, and has the strides that it has there."""

    def seen(array: Any) -> Any:
        parts = [array, array.T, array[:, ::2], array[::-1]]
        made = [part.astype(float, order, copy=False) for part in parts]
        pairs = zip(made, parts, strict=True)
        return [(x is part, x.strides) for x, part in pairs]

    results: list[Any] = []

    def program(x: Any) -> Any:
        results[:] = seen(np.ones((2, 3)) * (x if is_traced else 1.0))
        return x

    tinyjax.grad(source.capture(program))(1.0)
    assert results == seen(np.ones((2, 3)))


ATTRIBUTES: Final = {*dir(np.ndarray), *dir(float), *dir(type), "__call__", "_captured_value"}


def attributes_that_differ(x: Any) -> list[Any]:
    array, ones = x * np.ones(2), np.ones(2)
    pairs = [(array, ones), (np.array(x), np.array(1.0)), (x * 2.0, 2.0), (array.sum(), ones.sum())]
    return [
        (type(model), name)
        for value, model in pairs
        for name in sorted(ATTRIBUTES)
        if hasattr(value, name) != hasattr(model, name)
    ]


def test_values_have_the_attributes_of_their_classes() -> None:
    """And none of those that the classes themselves have."""
    differences: list[Any] = []

    def program(x: Any) -> Any:
        differences[:] = attributes_that_differ(x)
        return x

    tinyjax.grad(source.capture(program))(1.0)
    assert not differences


def limited(v: Any) -> Any:
    return 0 if v < 1.5 else v**2


VECTORIZED: Final[dict[str, Callable[[Any], Any]]] = {
    "the first is an integer": np.vectorize(limited),
    "floats": np.vectorize(limited, otypes=[float]),
    "a text": np.vectorize(limited, otypes="f"),
    "integers": np.vectorize(np.sin, otypes=[int]),
    "complex": np.vectorize(limited, otypes=[complex]),
    "the first of two": lambda x: np.vectorize(lambda v: (v, limited(v)))(x)[1],
    "two": lambda x: np.vectorize(lambda v: (v, limited(v)), otypes="dd")(x)[1],
    "objects": lambda x: np.vectorize(limited, otypes=[object])(x).astype(float),
    "one": lambda x: np.vectorize(limited)(x[1]),
    "one object": lambda x: np.vectorize(limited, otypes=[object])(x[1]).astype(float),
    "objects beside one that is excluded": lambda x: np.array(
        np.vectorize(lambda v, k: limited(v) * k, excluded=[1], otypes=[object])(x, 2.0).tolist()
    ),
    "an object beside one that is excluded": lambda x: np.array(
        np.vectorize(lambda v, k: limited(v) * k, excluded=[1], otypes=[object])(x[1], 2.0).tolist()
    ),
    "later complex": np.vectorize(lambda v: 1.0 if v < 1.5 else v * 1j),
}


@pytest.mark.parametrize("name", VECTORIZED)
def test_vectorized_functions_give_one_dtype(name: str) -> None:
    """It is that of the first result, if the program names none: later ones are truncated."""

    def total(x: Any) -> Any:
        return np.sum(np.real(VECTORIZED[name](x)) * 1.0)

    x = np.array([1.0, 2.3, 3.7])
    try:
        expected = total(x)
    except TypeError:
        with pytest.raises(TypeError):
            tinyjax.grad(source.capture(total))(x)
        return
    value, gradient = tinyjax.value_and_grad(source.capture(total))(x)
    np.testing.assert_allclose(value, expected, 1e-7)
    step = 1e-3 if name == "a text" else 1e-6
    slopes = [(total(x + d) - total(x - d)) / (2 * step) for d in step * np.eye(3)]
    np.testing.assert_allclose(gradient, slopes, atol=1e-3 if name == "a text" else 1e-7)


def least(x: Any) -> Any:
    """Return the place of the least element, which is a traced integer, as an array."""
    return np.array([np.argmin(x)])


PLACES: Final[dict[str, Callable[[Any], Any]]] = {
    "ravel_multi_index": lambda x: x[0] * np.ravel_multi_index((least(x), [1]), (3, 2))[0],
    "in order F": lambda x: x[0] * np.ravel_multi_index((least(x), [1]), (3, 2), order="F")[0],
    "wrapped": lambda x: x[0] * np.ravel_multi_index((least(x) - 1, [3]), (3, 2), mode="wrap")[0],
    "unravel_index": lambda x: x[0] * np.sum(np.unravel_index(least(x) + 1, (3, 2))),
    "choose": lambda x: np.choose(least(x), [x[0], x[1] ** 2, 3 * x[2]])[0],
    "choose by bools": lambda x: np.choose(least(x) > 1, [x[0], x[1] ** 2])[0],
    "choose from numbers": lambda x: np.sum(np.choose(least(x), (0.5, x, x[:, np.newaxis]))),
    "choose by data": lambda x: np.sum(np.array([0, 1, 1]).choose((x[0], x**2))),
    "take": lambda x: np.take(x**2, least(x))[0],
}


@pytest.mark.parametrize("name", PLACES)
def test_places_that_are_traced(name: str) -> None:
    """Functions that look whether they are in bounds take them as others do."""
    function = PLACES[name]
    points = np.array([[0.3, 0.7, 0.5], [0.9, 0.2, 0.4], [0.6, 0.8, 0.1]])
    expected = [function(point) for point in points]
    captured = source.capture(function)
    np.testing.assert_allclose(tinyjax.vmap(captured)(points), expected)
    np.testing.assert_allclose([tinyjax.jit(captured)(point) for point in points], expected)


@pytest.mark.parametrize("transform", [lambda f: f, tinyjax.jit])
@pytest.mark.parametrize("name", ["ravel_multi_index", "choose"])
def test_places_out_of_bounds(name: str, transform: Callable[[Any], Any]) -> None:
    def function(x: Any) -> Any:
        return PLACES[name](x)

    with pytest.raises((ValueError, CheckFailedError)):
        transform(source.capture(function))(np.array([0.9, 0.8, 0.7, 0.1]))
