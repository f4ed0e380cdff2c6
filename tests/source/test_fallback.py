"""Derivatives of functions that cannot be read: ``source.grad`` and ``source.vjp`` capture them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import numpy as np
import pytest
import scipy.linalg
import test_array_programs
import test_idioms
import test_in_place
import test_language
import test_nonlocal
import test_objects
import test_own_objects
import test_rebinding
import test_refusals
import test_semantics
from differences import slope_at
from random_programs import compiled
from reading import read_gradient

import tinyjax
from raising import raises
from tinyjax import source
from tinyjax.errors import (
    ArgumentError,
    CaptureError,
    DifferentiationError,
    LeakedTracerError,
    SourceError,
)

pytestmark = pytest.mark.usefixtures("double_precision")

Function = Callable[..., Any]

#: Programs without a derivative, and the error that says so.
ERRORS: Final[dict[Function, type[Exception]]] = {
    test_refusals.generator: DifferentiationError,
    test_refusals.coroutine: DifferentiationError,
    test_refusals.function_with_nonlocal_returned: DifferentiationError,
    test_refusals.built_in_without_a_derivative: SourceError,
    test_refusals.arguments_without_a_derivative: TypeError,
    test_refusals.method_without_a_derivative: SourceError,
    test_refusals.set_of_floats: SourceError,
    test_refusals.WRONG_ARGUMENTS: TypeError,
}
#: Programs that leave state for the next call.
STATEFUL: Final = {"counted"}
UNREAD: Final[list[Function]] = [
    *[case.values[0] for case in test_refusals.CASES],
    *[case.values[0] for case in test_rebinding.ALIASES],
    test_own_objects.doubled,
    test_own_objects.handed_on,
    test_own_objects.kept_of_a_class_that_computes,
    test_own_objects.rated,
]
X: Final = 0.7


@pytest.mark.parametrize("fun", [f for f in UNREAD if f.__name__ not in STATEFUL])
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_what_cannot_be_read(fun: Function) -> None:
    """The value is Python's, and derivatives are those of differences; or there is an error."""
    if fun in ERRORS:
        with pytest.raises(ERRORS[fun]):
            source.grad(fun)(X)
        return
    gradient = source.grad(fun)
    value, slope = source.value_and_grad(fun)(X)
    plain = fun(X)
    assert value == pytest.approx(plain, rel=1e-14)
    assert type(value) is (np.float64 if isinstance(plain, tinyjax.Array) else type(plain))
    assert type(slope) is float
    assert slope == pytest.approx(slope_at(fun, X), rel=1e-8, abs=1e-9)
    if fun is not test_refusals.order_in_memory:  # whose second derivative is refused
        assert source.grad(gradient)(X) == pytest.approx(slope_at(gradient, X), rel=1e-7, abs=1e-8)


def test_errors_name_the_line_that_cannot_be_read() -> None:
    with raises(SourceError, match="no derivative is known of set") as caught:
        source.grad(test_refusals.set_of_floats)(X)
    assert caught.value.location is not None
    assert caught.value.location.text.endswith("# here")
    assert isinstance(caught.value.__cause__, CaptureError)


# Kinds of arguments and results


def guarded(fun: Function) -> Function:
    """Return a function that cannot be read, since it catches an error."""

    def program(*args: Any, **kwargs: Any) -> Any:
        try:
            return fun(*args, **kwargs)
        except KeyError:
            return 0.0

    with pytest.raises(SourceError, match="try with except is not taken"):
        source.forward(program, 1.0)
    return program


def test_division_by_zero_is_an_error_for_numbers_of_python() -> None:
    def inverse(x: Any) -> Any:
        try:
            return 1 / x
        except ZeroDivisionError:
            return 3.0 * x

    assert source.value_and_grad(inverse)(0.0) == (0.0, 3.0)
    with np.errstate(divide="ignore"):
        assert source.value_and_grad(inverse)(np.float64(0.0)) == (math.inf, -math.inf)


GUARDED: Final = """
def program(x):
    try:
        return {}
    except ZeroDivisionError:
        return 7.0 * x
    except OverflowError:
        return 9.0 * x
    except ValueError:
        return 11.0 * x
"""


@pytest.mark.parametrize(
    ("expression", "point"),
    [
        ("x**2", 0.5),
        ("x**-1", 0.0),
        ("1 / x**2", 0.0),
        ("pow(x, -1)", 0.0),
        ("0.0**x", -1.5),
        ("0**x", -1.5),
        ("abs(x**0.5)", -2.0),
        ("abs((-8) ** x)", 0.3),
        ("(x**0.5).imag * x", -2.0),
        ("x**x", 1.5),
        ("x**400", 1e10),
        ("(x * 1e300) ** 2", 1.0),
        ("x * 10.0**400", 1.0),
        ("x // 0.0", 1.0),
        ("x % 0.0", 1.0),
        ("1 / (x - 1)", 1.0),
        ("math.sqrt(x)", -1.0),
        ("math.exp(1000 * x)", 1.0),
        ("complex(x, 2.0).real * x", 3.0),
        ("abs(complex(2.0, x))", 3.0),
        ("(complex(x, x) * (1 + 1j) / (x - 1j)).imag", 3.0),
        ("float(np.float64(x)) / (x - 3)", 3.0),
    ],
)
def test_numbers_of_python(expression: str, point: float) -> None:
    """Errors and classes are those of Python's numbers, not of NumPy's."""
    fun = compiled(GUARDED.format(expression), math=math, np=np)
    expected = fun(point)
    value, slope = source.value_and_grad(fun)(point)
    assert type(value) is type(expected)
    assert value == pytest.approx(expected, rel=1e-14)
    is_error = any(expected == n * point for n in (7.0, 9.0, 11.0)) and point
    if is_error:
        assert slope == expected / point
    elif point:
        assert slope == pytest.approx(slope_at(fun, point), rel=1e-8)
    else:
        assert slope == 7.0  # of a division by zero


def test_classes_of_results() -> None:
    first: Any = guarded(lambda x: x[0] * x[1])
    differentiated: Any = source.value_and_grad(first)
    value, gradient = differentiated(np.array([2.0, 3.0]))
    assert type(value) is np.float64
    assert type(gradient) is np.ndarray
    assert (value, gradient.tolist()) == (6.0, [3.0, 2.0])
    gradient[0] = 1.0  # it may be written to
    value, gradient = differentiated([2.0, np.float64(3.0)])
    assert (value, gradient) == (6.0, [3.0, 2.0])
    assert [type(g) for g in gradient] == [float, np.float64]
    z = 1 + 2j
    squared = guarded(lambda z: (z * z.conjugate()).real)
    assert source.value_and_grad(squared)(z) == (5.0, 2 - 4j)
    assert source.grad(lambda z: (z * z.conjugate()).real)(z) == 2 - 4j


@dataclass
class Spring:
    """A record of two variables and a count."""

    stiffness: float
    lengths: np.ndarray
    count: int = 3


def test_records_and_containers() -> None:
    energy = guarded(lambda s: s.stiffness**2 * s.count + np.sum(s.lengths**3))
    differentiated: Any = source.value_and_grad(energy)
    value, slope = differentiated(Spring(2.0, np.array([1.0, 2.0])))
    assert value == pytest.approx(21.0)
    assert (slope.stiffness, slope.lengths.tolist(), slope.count) == (12.0, [3.0, 12.0], None)
    product = guarded(lambda d: d["a"] * d["b"][0] * d["b"][2])
    differentiated = source.value_and_grad(product)
    value, slope = differentiated({"a": 2.0, "b": (3.0, "name", 4)})
    assert (value, slope) == (24.0, {"a": 12.0, "b": (8.0, None, None)})


def test_choice_of_arguments() -> None:
    quotient = guarded(lambda a, b, c=1.0: a / b * c)
    assert source.grad(quotient, 1)(3.0, 2.0) == -0.75
    assert source.grad(quotient, (1, 0))(3.0, 2.0) == (-0.75, 0.5)
    assert source.grad(quotient, -1)(3.0, 2.0) == -0.75
    assert source.grad(quotient, (2, 0))(3.0, 2.0, 4.0) == (1.5, 2.0)
    assert source.grad(quotient)(3.0, 2, c=4.0) == 2.0
    with raises(DifferentiationError, match="argument 0 of .* is of type int"):
        source.grad(quotient)(3, 2.0)
    with raises(DifferentiationError, match=r"returned an array of shape \(2,\)"):
        source.grad(quotient)(np.ones(2), 2.0)
    with raises(ArgumentError, match="argnums"):
        source.grad(quotient, 5)(3.0, 2.0)


def test_auxiliary_data() -> None:
    fun = guarded(lambda x: (x * x, {"twice": 2 * x, "name": "x", "row": np.array([x, x])}))
    slope, aux = source.grad(fun, has_aux=True)(3.0)
    assert slope == 6.0
    assert (aux["twice"], type(aux["twice"]), aux["name"]) == (6.0, float, "x")
    assert type(aux["row"]) is np.ndarray
    assert aux["row"].tolist() == [3.0, 3.0]
    (value, _), slope = source.value_and_grad(fun, has_aux=True)(3.0)
    assert (value, slope) == (9.0, 6.0)


def test_arguments_stay_as_they_are() -> None:
    def program(x: float, log: list[float], buffer: np.ndarray, scale: np.ndarray) -> Any:
        try:
            log.append(x)
            buffer[0] = x * scale[0]
            scale[0] = 5.0
            return sum(log) * buffer[0] * scale[0]
        except KeyError:
            return 0.0

    log, buffer, scale = [1.0], np.ones(2), np.full(2, 3.0)
    slope = source.grad(program)(2.0, log, buffer, scale=scale)
    assert slope == 15 * (2 * 2.0 + 1.0)
    assert (log, buffer.tolist(), scale.tolist()) == ([1.0], [1.0, 1.0], [3.0, 3.0])
    point = np.array([2.0, 3.0])
    source.grad(guarded(lambda a: a.sort() or a[0] * a[1]))(point[::-1])
    assert point.tolist() == [2.0, 3.0]


def test_pullbacks() -> None:
    def program(x: float, n: int, w: np.ndarray, name: str) -> Any:
        try:
            return {name: x * w, "n": n}
        except KeyError:
            return 0.0

    value, pull_back = source.vjp(program, 2.0, 3, np.array([1.0, 2.0]), "y")
    assert type(value["y"]) is np.ndarray
    assert (value["y"].tolist(), value["n"]) == ([2.0, 4.0], 3)
    for _ in range(2):
        a, b, c, d = pull_back({"y": np.array([1.0, 10.0]), "n": None})
        assert (a, b, c.tolist(), d) == (21.0, None, [2.0, 20.0], None)
    pair, pull_back = source.vjp(guarded(lambda x, y: (x * y, [x - y])), 3.0, 2.0)
    assert pair == (6.0, [1.0])
    assert pull_back((1.0, [10.0])) == (12.0, -7.0)
    with raises(SourceError, match="try with except"):
        source.forward(program, 2.0, 3, np.ones(2), "y")
    with raises(SourceError, match="try with except"):
        source.vjp(program, 2, 3, np.ones(2, int), "y")  # no argument has a derivative


# Within other transformations


def cubed(x: Any) -> Any:
    try:
        return x**3 if x > 0 else -x
    except KeyError:
        return 0.0


def test_higher_derivatives_and_transformations() -> None:
    slope = source.grad(cubed)
    assert [slope(2.0), source.grad(slope)(2.0)] == [12.0, 12.0]
    assert source.grad(source.grad(slope))(2.0) == 6.0
    assert tinyjax.grad(slope)(2.0) == 12.0
    assert tinyjax.jvp(slope, (2.0,), (1.0,)) == (12.0, 12.0)
    compiled_slope = tinyjax.jit(slope)
    assert [float(compiled_slope(x)) for x in (2.0, -1.0, 3.0)] == [12.0, -1.0, 27.0]
    np.testing.assert_allclose(tinyjax.vmap(slope)(np.array([1.0, 2.0])), [3.0, 12.0])


def test_gradients_within_programs() -> None:
    def by_gradient(x: float) -> Any:
        def inner(y: float) -> Any:
            try:
                return y * y * x
            except KeyError:
                return 0.0

        return source.grad(inner)(3 * x) * 2  # 12 x**2

    def by_pullback(x: float) -> Any:
        def inner(y: float) -> Any:
            try:
                return y * y * x
            except KeyError:
                return 0.0

        value, pull_back = source.vjp(inner, 3 * x)
        return value + pull_back(2.0)[0]  # 9 x**3 + 12 x**2

    assert source.value_and_grad(by_gradient)(2.0) == (48.0, 48.0)
    assert source.value_and_grad(by_pullback)(2.0) == (120.0, 156.0)


# State


total = 0.0


def adding(x: float) -> float:
    global total  # noqa: PLW0603
    total = total + x
    return total * x


def test_global_variables_that_one_call_leaves_for_the_next() -> None:
    """They have what they had before where a traced value would stay."""
    globals()["total"] = 0.0
    for _ in range(2):
        assert source.value_and_grad(adding)(0.7) == pytest.approx((0.49, 1.4))
    assert adding(0.7) == pytest.approx(0.49)


def accumulator() -> Callable[[float], float]:
    total = 0.0

    def add(x: float) -> float:
        nonlocal total
        total = total + x
        return total * x

    return add


def test_cells_that_one_call_leaves_for_the_next() -> None:
    """A traced value in a variable that is closed over is an error for whoever reads it."""
    add = accumulator()
    assert source.value_and_grad(add)(0.7) == pytest.approx((0.49, 1.4))
    with pytest.raises(SourceError) as caught:
        source.grad(add)(0.7)
    assert isinstance(caught.value.__cause__, LeakedTracerError)
    with pytest.raises(LeakedTracerError):
        add(0.7)


def test_counts_that_one_call_leaves_for_the_next() -> None:
    """Data stays, as after a plain call."""
    counted = test_refusals.counter()
    for n in (1.0, 2.0, 3.0):
        assert source.value_and_grad(counted)(0.7) == (0.7 * n, n)
    assert counted(0.7) == 0.7 * 4


class Log:
    """An object that outlives a call."""

    def __init__(self) -> None:
        self.total, self.calls = 0.0, 0
        self.items: list[float] = []

    def add(self, x: float) -> float:
        self.total += x
        self.calls += 1
        self.items.append(x)
        return self.total * sum(self.items)


def test_objects_that_one_call_leaves_for_the_next() -> None:
    log = Log()
    for _ in range(2):
        assert source.value_and_grad(log.add)(0.5) == (0.25, 1.0)
    assert (log.total, log.items) == (0.0, [])
    assert log.add(0.5) == 0.25


# Arrays that functions may overwrite


@pytest.mark.parametrize(
    "call",
    [
        "np.median(x, overwrite_input=True)",
        "np.quantile(x, 0.3, overwrite_input=True)",
        "scipy.linalg.det(x, overwrite_a=True)",
        "np.sum(scipy.linalg.inv(x, True))",
        "np.sum(scipy.linalg.solve(x, np.ones(3), False, True))",
    ],
)
def test_arrays_that_a_function_may_overwrite(call: str) -> None:
    """The derivative is right, unless the array is read again: what is in it is undefined."""
    text = "def program(a):\n    x = a.copy()\n    y = {}\n    return y + np.sum({}**2)\n"
    point = np.array([[3.0, 1.0, 0.5], [0.2, 2.0, 0.3], [0.1, 0.7, 1.5]])
    fun = compiled(text.format(call, "a"), np=np, scipy=scipy)
    with raises(SourceError, match="overwrite"):
        read_gradient(fun, point)
    value, gradient = source.value_and_grad(fun)(point)
    assert value == pytest.approx(fun(point))
    along = np.cos(np.arange(9.0)).reshape(3, 3)
    slope = slope_at(lambda t: fun(point + t * along), 0.0)
    assert np.sum(gradient * along) == pytest.approx(slope, rel=1e-7)
    again = compiled(text.format(call, "x"), np=np, scipy=scipy)
    with pytest.raises(SourceError) as caught:
        source.grad(again)(point)
    assert "what is in it is undefined" in str(caught.value.__cause__)


# What is read, and what is captured


def halved(x: float) -> float:
    return x / 2


def counting(n: int) -> Any:
    yield from range(n)


def mixed(x: float) -> Any:
    try:
        terms = [halved(x) * k for k in counting(3)]
        return sum(terms) + halved(x)
    except KeyError:
        return 0.0


REASON: Final = (
    "try with except is not taken by tinyjax.source. Instead, test for the case with if."
)


def explained(fun: Function, *args: Any) -> list[str]:
    """Return the lines of an explanation without the lines of files."""
    lines = source.explain(fun, *args).splitlines()
    return [line.replace(__file__, "F") for line in lines]


def line_of(fun: Function) -> int:
    return fun.__code__.co_firstlineno


def test_explanations() -> None:
    place = f"halved (F:{line_of(halved)})"
    assert explained(halved, 1.0) == [f"{place} is read. Called are:", f"  {place}: 1 call"]
    at = line_of(mixed)
    assert explained(mixed, 1.0) == [
        f"mixed (F:{at}) is captured: {REASON}",
        f"  at F:{at + 1} in mixed: try:",
        "Called are:",
        f"  mixed (F:{at}): 1 call",
        f"  counting (F:{line_of(counting)}): 1 call",
        f"  {place}: 4 calls",
    ]
    assert explained(math.sin, 1.0) == ["sin is read. No function of Python's is called."]
    lines = explained(test_refusals.set_of_floats, 1.0)
    assert " is not read: no derivative is known of set." in lines[0]
    assert lines[2].startswith("It is not captured either: hash needs data")
    assert explained(mixed, 1)[-1] == "It is not captured either: no argument has a derivative."


def test_effects_before_a_call_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    """They are repeated where the function is captured; derivatives are right all the same."""

    def printing(x: float) -> Any:
        print("called")
        return [cubed][0](x)

    assert source.value_and_grad(printing)(2.0) == (8.0, 12.0)
    assert capsys.readouterr().out == "called\ncalled\n"


# Programs that can be read, captured all the same

#: Modules with programs, and the points that these are differentiated at.
MODULES: Final[dict[ModuleType, Any]] = {
    test_array_programs: X,
    test_idioms: X,
    test_in_place: test_in_place.POINT,
    test_language: X,
    test_nonlocal: X,
    test_objects: X,
    test_own_objects: X,
    test_rebinding: X,
    test_semantics: X,
}


def programs_of(module: ModuleType) -> dict[str, Function]:
    functions = [case if callable(case) else case.values[0] for case in module.PROGRAMS]
    functions = [fun for fun in functions if fun is not test_language.guarded]  # pytest rewrites it
    return {f"{module.__name__}.{fun.__name__}": fun for fun in functions}


READ: Final[dict[str, tuple[Function, Any]]] = {
    name: (fun, point)
    for module, point in MODULES.items()
    for name, fun in programs_of(module).items()
}


def test_programs_to_compare() -> None:
    assert len(READ) > 200


@pytest.mark.parametrize("name", READ)
def test_what_is_captured_and_what_is_read(name: str) -> None:
    """Both ways give one value and one derivative."""
    fun, point = READ[name]
    program = guarded(fun)
    x: Any = np.copy(point) if np.ndim(point) else point
    value, slope = source.value_and_grad(fun)(x)
    found = source.value_and_grad(program)(x)
    np.testing.assert_allclose(found[0], value, rtol=1e-12)
    np.testing.assert_allclose(found[1], slope, rtol=1e-9, atol=1e-12)
    assert np.array_equal(x, point)
