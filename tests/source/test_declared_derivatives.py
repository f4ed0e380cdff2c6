"""Derivatives that are written twice, compared at edges over the whole tables.

The formulas of ``tinyjax.source`` are compared with the declarations of the primitives, by way of
the function of ``tinyjax.numpy`` of the same meaning, and these with jax. Rows of SciPy's universal
functions are compared with the same functions in other terms. What differs has a reason in a table.
"""

import cmath
import itertools
import math
import operator
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import autodiff, source
from tinyjax._library.ufuncs.table import TABLE
from tinyjax.core.values import Array
from tinyjax.dtypes import HostArray, float0
from tinyjax.scipy import special
from tinyjax.source.adjoint.rules import registry
from tinyjax.source.ir import runtime
from tools.modules import module_of

pytestmark = pytest.mark.usefixtures("double_precision")

Function = Callable[..., Any]
gradient: Final = source.grad  # by which the rules are imported
inf, nan = math.inf, math.nan

# Where functions are compared

NUMBERS: Final = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 0.3, 10.0, -40.0, 800.0, -800.0),
    *(1e-10, -1e-10, 1 - 1e-10, 1e-200, 1e200, -1e200, 1e-320, inf, -inf, nan),
)
FEWER: Final = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-200, 1e200, inf, -inf, nan)
WHOLE: Final = (-3, -2, -1, 0, 1, 2, 3)
COMPLEX: Final = (
    *(0j, 1 + 0j, -1 + 0j, 1j, -1j, 0.5 + 0.3j, -0.5 + 0.3j, -0.5 - 0.3j, 3 - 2j, -3 + 2j, -3 - 2j),
    *(complex(s, t) for s in (2, -2) for t in (0.0, -0.0)),
    *(complex(s, t) for s in (0.0, -0.0) for t in (2, -2)),
    *(1e-200 + 1e-200j, 1e200 + 1e200j, 40 + 1j, -40 + 1j),
)
FEWER_COMPLEX: Final = (0j, 1 + 0j, -1 + 0j, 1j, 0.5 + 0.3j, -3 - 2j, complex(-2, -0.0), 2 + 0j)


def grid(*values: Any) -> list[HostArray]:
    return [np.array(column) for column in zip(*itertools.product(*values), strict=True)]


#: The functions that have names of their own in NumPy.
_RENAMED: Final = {
    "neg": "negative",
    "pos": "positive",
    "sub": "subtract",
    "truediv": "divide",
    "mul": "multiply",
    "mod": "remainder",
    "pow": "power",
    "fabs": "abs",
    "absolute": "abs",
    "atan2": "arctan2",
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
#: Functions of NumPy's that are written otherwise in the tables.
_WRITTEN: Final[dict[Function, Callable[[Any], Function]]] = {
    math.remainder: lambda library: lambda x, d: x - d * library.rint(x / d),
    math.fmod: lambda library: library.fmod,
    math.erf: lambda library: (special if library is jnp else jax.scipy.special).erf,
    math.erfc: lambda library: (special if library is jnp else jax.scipy.special).erfc,
    math.nextafter: lambda library: (
        jnp.nextafter if library is jnp else lambda x, y: x + jax.lax.stop_gradient(0 * y)
    ),
}
#: Rules with formulas that have no counterpart, by reason.
WITHOUT_COUNTERPART: Final = {
    runtime.fitting: "it is the conversion of a write to the dtype of its array",
    np.where: "its derivative is a choice; the declaration is that of `select`",
}
FUNCTIONS: Final = [
    fun
    for fun, rule in registry.rules.items()
    if (rule.formulas or fun in (math.log, cmath.log)) and fun not in WITHOUT_COUNTERPART
]


def counterpart(fun: Function, library: Any) -> Function:
    """Return the function of ``tinyjax.numpy``, or of ``jax.numpy``."""
    if fun in _WRITTEN:
        return _WRITTEN[fun](library)
    name = fun.__name__.strip("_")
    result: Function = getattr(library, _RENAMED.get(name, name))
    return result


def name_of(fun: Function) -> str:
    home = getattr(fun, "__module__", None) or "numpy"
    return f"{home.strip('_')}.{fun.__name__}"


def count(fun: Function) -> int:
    return len(registry.rules[fun].parameters) or 1


def takes_complex(fun: Function) -> bool:
    home = getattr(fun, "__module__", None)
    if home == "math":
        return False
    if home == "cmath":
        return True
    try:
        with np.errstate(all="ignore"):
            fun(*[np.array([1 + 1j])] * count(fun))
    except TypeError:
        return False
    return True


@cache
def operands(fun: Function, kind: str) -> list[HostArray]:
    """Return the operands at which a function is compared: arrays of one element for each."""
    if "ldexp" in fun.__name__:
        return grid(FEWER, [0, 3, -3, 1023, -1030, 2000])
    if kind == "c":
        return grid(COMPLEX) if count(fun) == 1 else grid(FEWER_COMPLEX, FEWER_COMPLEX)
    return grid(NUMBERS) if count(fun) == 1 else grid(FEWER, FEWER)


# Slopes

Slopes = list[HostArray | None]


def declared(fun: Function, xs: list[HostArray]) -> Slopes:
    """Return the derivatives by the declarations of primitives."""
    y, back = tinyjax.vjp(counterpart(fun, jnp), *xs)
    return [None if x.dtype == float0 else np.asarray(x) for x in back(jnp.ones_like(y))]


def of_jax(fun: Function, xs: list[HostArray]) -> Slopes:
    with jax.enable_x64(True):
        y, back = jax.vjp(counterpart(fun, jax_numpy), *map(jax_numpy.asarray, xs))
        slopes = back(jax_numpy.ones_like(y))
    return [None if x.dtype == jax.dtypes.float0 else np.asarray(x) for x in slopes]


def of_formula(fun: Function, xs: list[Any]) -> tuple[Any, Any]:
    """Return a value, and the derivatives by the rule of the function."""
    y = fun(*xs)
    one = jnp.ones_like(y) if isinstance(y, Array) else np.ones_like(y)
    slopes = registry.rules[fun].adjoint(one if np.ndim(y) else type(y)(1), y, *xs)
    return y, slopes[: len(xs)]


def differs(x: HostArray, y: HostArray, tolerance: float) -> HostArray:
    """Return where two slopes differ; numbers that are not finite differ from finite ones alone."""
    x, y = np.broadcast_arrays(x, y)
    both = np.isfinite(x) & np.isfinite(y)
    if x.dtype.kind == "c" or y.dtype.kind == "c":
        size = np.hypot(y.real, y.imag)
        near = np.hypot((x - y).real, (x - y).imag) <= tolerance * size
        return np.asarray(np.where(both, ~near, np.isfinite(x) != np.isfinite(y)))
    near = np.abs(x - y) <= tolerance * np.abs(y)
    return np.asarray(~np.where(both, near, (x == y) | (np.isnan(x) & np.isnan(y))))


def report(
    actual: Any, expected: Slopes, value: Any, xs: list[HostArray], exempt: Any, tolerance: float
) -> list[Any]:
    """Return the operands at which slopes differ; they are not specified at NaN."""
    lines: list[Any] = []
    unspecified = np.isnan(np.asarray(value)) | np.any([np.isnan(x) for x in xs], 0) | exempt
    for i, (slope, other) in enumerate(zip(actual, expected, strict=True)):
        if other is None:  # of integers
            continue
        slope = np.zeros_like(other) if slope is None else np.asarray(slope)
        wrong = differs(slope, other, tolerance) & ~unspecified
        at = np.broadcast_to(slope, other.shape)
        lines += [
            (i, *[x[k].item() for x in xs], f"{at[k]} for {other[k]}")
            for k in np.flatnonzero(wrong)
        ]
    return lines


#: What differs from the declaration: where, as an expression of the operands, and why.
DIFFERENCES: Final = {
    "numpy.reciprocal": (
        "(x.dtype.kind == 'c') & edge(x)",
        "1 / x is declared as a power, whose square overflows; the slope of the formula is 0",
    ),
}


def exempted(table: dict[str, tuple[str, str]], fun: Function | str, xs: list[HostArray]) -> Any:
    """Return where a difference has a reason in a table."""
    name = fun if isinstance(fun, str) else name_of(fun)
    where, _ = table.get(name, ("False", "none differs"))
    names = dict(zip("xyz", xs, strict=False))
    return np.asarray(eval(where, {"np": np, "edge": edge}, names))


CASES: Final = [
    (fun, kind)
    for fun in FUNCTIONS
    for kind in ("f", "c")
    if (takes_complex(fun) if kind == "c" else getattr(fun, "__module__", None) != "cmath")
]
ARRAYS: Final = [c for c in CASES if getattr(c[0], "__module__", None) not in ("math", "cmath")]


def shown(value: Any) -> str:
    return name_of(value) if callable(value) else str(value)


@pytest.mark.parametrize(("fun", "kind"), ARRAYS, ids=shown)
@pytest.mark.parametrize("form", ["numpy", "numpy, single", "tinyjax"])
@np.errstate(all="ignore")
def test_formulas_of_arrays(fun: Function, kind: str, form: str) -> None:
    xs, tolerance = operands(fun, kind), 1e-11
    if form == "numpy, single":
        narrow = {"f": np.float32, "c": np.complex64, "i": np.int32}
        xs, tolerance = [x.astype(narrow[x.dtype.kind]) for x in xs], 2e-5
    expected, exempt = declared(fun, xs), exempted(DIFFERENCES, fun, xs)
    y, actual = of_formula(fun, [*map(jnp.asarray, xs)] if form == "tinyjax" else xs)
    assert not report(actual, expected, y, xs, exempt, tolerance)


@pytest.mark.parametrize(
    "fun", [f for f, kind in ARRAYS if count(f) == 2 and kind == "f"], ids=shown
)
@pytest.mark.parametrize("dtype", [np.int64, np.bool_])
@np.errstate(all="ignore")
def test_formulas_beside_integers(fun: Function, dtype: Any) -> None:
    """An integer has no cotangent, and is a number for the other operand."""
    if dtype is np.bool_ and fun in (operator.sub, np.subtract, np.ldexp):
        return  # which NumPy, or tinyjax, does not take
    floats, integers = grid(FEWER, WHOLE)
    for xs in ([floats, integers.astype(dtype)], [integers.astype(dtype), floats]):
        if fun is np.ldexp and xs[0] is not floats:
            continue
        exempt = exempted(DIFFERENCES, fun, xs)
        y, actual = of_formula(fun, xs)
        assert not report(actual, declared(fun, xs), y, xs, exempt, 1e-11)


#: What programs of Python's numbers raise where slopes are infinite, or too large.
_PYTHON: Final = (ZeroDivisionError, OverflowError, ValueError)


@pytest.mark.parametrize(("fun", "kind"), CASES, ids=shown)
@np.errstate(all="ignore")
def test_formulas_of_numbers(fun: Function, kind: str) -> None:
    xs = operands(fun, kind)
    expected, exempt = declared(fun, xs), exempted(DIFFERENCES, fun, xs)
    exempt = np.broadcast_to(exempt, xs[0].shape)
    for k, numbers in enumerate(zip(*[x.tolist() for x in xs], strict=True)):
        try:
            y = fun(*numbers)
        except _PYTHON:
            continue
        if isinstance(y, complex) and kind == "f":
            continue  # a root of a negative number, by **
        here = [None if x is None else x[k : k + 1] for x in expected]
        try:
            _, actual = of_formula(fun, [*numbers])
        except _PYTHON:
            sizes = [abs(np.nan_to_num(x[0])) for x in here if x is not None]
            assert max(sizes) > 1e200 or not all(np.isfinite(x[0]) for x in here if x is not None)
            continue
        assert not report(actual, here, y, [x[k : k + 1] for x in xs], exempt[k], 1e-11)


#: What jax has otherwise: functions, where, and why.
_JAX: Final = (
    ("operator.truediv numpy.divide", "edge(y)", "jax divides by the divisor's square"),
    ("operator.pow numpy.power numpy.float_power", "x == 0", "a product with zero is zero"),
    ("builtins.abs numpy.absolute numpy.fabs numpy.copysign", "x == 0", "at a kink it is the mean"),
    ("numpy.hypot numpy.arctan2", "edge(x) | edge(y) | (x == 0) & (y == 0)", "jax adds squares"),
    ("numpy.ldexp", "(x == 0) | np.isinf(x) | (abs(y) > 1000)", "jax has 1 at 0"),
    ("numpy.cos numpy.cbrt numpy.square", "abs(x) < 1e-310", "jax takes such numbers for 0"),
    ("numpy.cosh", "edge(x)", "jax loses small parts"),
    ("numpy.sqrt", "(abs(x) < 1e-310) | (x == complex(-2, -0.0))", "jax takes -0.0 for 0.0"),
    ("numpy.tanh", "abs(x.real) >= 10", "jax subtracts a square from 1"),
    ("numpy.expm1", "x.real <= -40", "jax adds 1 to the value"),
    ("numpy.arcsinh", "edge(x)", "the square overflows: 0 in jax, of complex NaN here"),
    ("numpy.arcsin numpy.arccos numpy.arctan numpy.arctanh numpy.reciprocal", "edge(x)",
     "the square of a complex number overflows: NaN here, 0 in jax"),
    ("numpy.arccosh", "edge(x) | (x.real <= 0)", "jax has the other sign on the left"),
    ("numpy.logaddexp numpy.logaddexp2", "edge(x) | edge(y)", "jax has e ** x beside infinity"),
)  # fmt: skip
JAX: Final = {name: (w, reason) for names, w, reason in _JAX for name in names.split()}


def edge(x: HostArray) -> HostArray:
    """Return where squares overflow or vanish."""
    size = np.abs(x)
    return np.asarray((size > 1e100) | ((size < 1e-100) & (size > 0)))


@pytest.mark.parametrize(("fun", "kind"), ARRAYS, ids=shown)
@np.errstate(all="ignore")
def test_declarations_are_those_of_jax(fun: Function, kind: str) -> None:
    xs = operands(fun, kind)
    y = np.asarray(fun(*xs))
    exempt = exempted(JAX, fun, xs)
    assert not report(declared(fun, xs), of_jax(fun, xs), y, xs, exempt, 1e-9)


# Rules that are functions, and derivatives of rules: through ``source.grad`` as a whole

#: Programs of two numbers, by those of ``tinyjax.numpy``.
PROGRAMS: Final[dict[str, tuple[Function, Function]]] = {
    "logarithm": (math.log, lambda x, y: jnp.log(x) / jnp.log(y)),
    "complex logarithm": (
        lambda x, y: cmath.log(complex(x, y), 2.0).imag,
        lambda x, y: jnp.log(jax_like_complex(x, y)).imag / math.log(2),
    ),
    "power": (pow, jnp.power),
    "quotient and remainder": (lambda x, y: divmod(x, y)[1], jnp.remainder),
    "length": (lambda x, y: math.hypot(x, y, 2.0), lambda x, y: jnp.sqrt(x * x + y * y + 4)),
    "distance": (lambda x, y: math.dist((x, 1.0), (y, 3.0)), lambda x, y: jnp.hypot(x - y, 2.0)),
    "fraction": (lambda x, y: math.modf(x * y)[0], lambda x, y: jnp.modf(x * y)[0]),
    "mantissa": (lambda x, y: math.frexp(x * y)[0], lambda x, y: jnp.frexp(x * y)[0]),
    "sum": (lambda x, y: math.fsum([x, y, x * y]), lambda x, y: x + y + x * y),
    "product": (lambda x, y: math.prod([x, y, x], start=y), lambda x, y: x * x * y * y),
    "gamma": (lambda x, y: math.gamma(x) * y, lambda x, y: special.gamma(x) * y),
    "logarithm of gamma": (lambda x, y: math.lgamma(x) * y, lambda x, y: special.gammaln(x) * y),
}


def jax_like_complex(x: Any, y: Any) -> Any:
    return x + 1j * y


@pytest.mark.parametrize("name", PROGRAMS)
def test_rules_that_are_functions(name: str) -> None:
    program, other = PROGRAMS[name]
    for x, y in ((0.7, 2.5), (3.3, 0.4), (1.7, 1.3)):
        expected = tinyjax.grad(other, argnums=(0, 1))(x, y)
        np.testing.assert_allclose(gradient(program, argnums=(0, 1))(x, y), expected, rtol=1e-12)
        second = tinyjax.grad(tinyjax.grad(other, argnums=1), argnums=0)(x, y)
        actual = gradient(gradient(program, argnums=1), argnums=0)(x, y)
        np.testing.assert_allclose(actual, second, rtol=1e-9, atol=1e-14)


#: Where derivatives of rules are compared; kinks have the slope 0 in all orders in ``source``.
SMOOTH: Final = {
    1: ((0.4,), (-0.7,), (1.6,), (9.0,), (0.0,)),
    2: ((0.4, 1.9), (2.6, 0.3)),
}


@pytest.mark.parametrize("fun", [f for f in FUNCTIONS if f is not cmath.log], ids=shown)
def test_derivatives_of_formulas(fun: Function, tmp_path: Path) -> None:
    """Derivatives to the second order of numbers, to the third in functions of one."""
    number, home = count(fun), name_of(fun).replace("numpy", "np").replace("builtins.", "")
    names = ("x", "y")[:number]
    imported = "import cmath, math, operator\nimport numpy as np\n"
    part = ".real" if home.startswith("cmath") else ""
    arguments = "x, 3" if "ldexp" in home else ", ".join(names)
    programs = module_of(
        f"{imported}def value({', '.join(names)}):\n    return {home}({arguments}){part}\n",
        tmp_path / "declared_program.py",
    )
    ours = counterpart(fun, jnp)

    def other(*xs: Any) -> Any:
        return ours(xs[0], 3) if "ldexp" in home else jnp.real(ours(*xs))

    for position, xs in itertools.product(range(number), SMOOTH[number]):
        try:
            with np.errstate(all="raise"):
                programs.value(*xs)
        except (ValueError, FloatingPointError):
            continue  # outside of the domain
        derivative, expected = programs.value, other
        for _ in range(4 - number):
            derivative = gradient(derivative, argnums=position)
            expected = tinyjax.grad(expected, argnums=position)
            slope = float(expected(*xs))
            if math.isfinite(slope) and (xs != (0.0,) or "abs" not in home):
                assert derivative(*xs) == pytest.approx(slope, rel=1e-9, abs=1e-12), (position, xs)


# Rules of NumPy's functions of arrays

TIES: Final = np.array([[1.0, 3.0, 3.0], [-2.0, 0.5, inf], [inf, 3.0, -inf]])
SQUARE: Final = np.array([[2.0, 0.3, -1.0], [0.1, 1.5, 0.7], [-0.4, 0.2, 3.0]])
STACK: Final = np.stack([SQUARE, SQUARE.T + 1])
#: Calls, by the arguments and those by keyword.
CALLS: Final[tuple[tuple[Function, tuple[Any, ...], dict[str, Any]], ...]] = (
    *((f, (TIES,), {"axis": a, "keepdims": k}) for f in (np.max, np.min) for k in (True, False)
      for a in (None, 0, -1, (0, 1))),
    *((f, (STACK,), {"axis": a, "keepdims": k}) for f in (np.sum, np.mean) for k in (True, False)
      for a in (None, 1, (0, 2))),
    *((np.diff, (x,), {}) for x in (SQUARE, SQUARE[0], SQUARE[0, :1])),
    *((np.outer, xs, {}) for xs in ((SQUARE[0], TIES[0]), (SQUARE, SQUARE[0]))),
    *((np.trace, (x,), {}) for x in (SQUARE, SQUARE[:2], STACK)),
    *((f, (x, 1), {}) for f in (np.flip, np.squeeze) for x in (STACK[:, :1], STACK[:1, :1])
      if f is np.flip or x.shape[1] == 1),
    (np.flip, (STACK,), {}),
    (np.fliplr, (SQUARE,), {}),
    (np.flipud, (SQUARE,), {}),
    (np.swapaxes, (STACK, 0, -1), {}),
    (np.moveaxis, (STACK, 0, -1), {}),
    (np.moveaxis, (STACK, (0, 1), (2, 0)), {}),
    (np.roll, (SQUARE, 2), {}),
    (np.roll, (SQUARE, (1, -1), (0, 1)), {}),
    (np.transpose, (STACK,), {}),
    (np.broadcast_to, (SQUARE[:, :1], (2, 3, 4)), {}),
    (np.ravel, (STACK,), {}),
    (np.expand_dims, (SQUARE, (0, 2)), {}),
    (np.linalg.inv, (SQUARE,), {}),
    (np.linalg.inv, (STACK,), {}),
    *((np.linalg.solve, xs, {}) for xs in ((SQUARE, SQUARE[0]), (STACK, SQUARE), (SQUARE, STACK))),
    *((f, xs, {}) for f in (np.matmul, np.dot) for xs in (
        (SQUARE, SQUARE), (SQUARE, SQUARE[0]), (SQUARE[0], SQUARE), (SQUARE[0], SQUARE[1]),
        (STACK, SQUARE), (STACK, SQUARE[0]), (SQUARE[0], STACK), (SQUARE, STACK), (STACK, STACK))),
)  # fmt: skip


@pytest.mark.parametrize("index", range(len(CALLS)))
@np.errstate(all="ignore")
def test_rules_of_arrays(index: int) -> None:
    fun, args, kwargs = CALLS[index]
    xs = [x for x in args if isinstance(x, np.ndarray)]
    others = args[len(xs) :]
    home: Any = jnp.linalg if fun in (np.linalg.inv, np.linalg.solve) else jnp
    y, back = tinyjax.vjp(lambda *xs: getattr(home, fun.__name__)(*xs, *others, **kwargs), *xs)
    ct = np.cos(np.arange(y.size)).reshape(y.shape)
    slopes = registry.rules[fun].adjoint(ct, fun(*args, **kwargs), *args, **kwargs)
    for slope, expected in zip(slopes, back(ct), strict=False):
        assert np.shape(slope) == expected.shape
        np.testing.assert_allclose(slope, expected, rtol=1e-12, atol=1e-13)


# Series, and SciPy's functions in terms of others


@pytest.mark.parametrize(("fun", "kind"), ARRAYS, ids=shown)
@np.errstate(all="ignore")
def test_series_are_nested_derivatives(fun: Function, kind: str) -> None:
    """``jet`` has series of its own for products and quotients, and otherwise the declarations."""
    xs, ours = operands(fun, kind), counterpart(fun, jnp)
    position = [i for i, x in enumerate(xs) if x.dtype.kind in "fc"][-1]

    def along(x: Any) -> Any:
        return ours(*xs[:position], x, *xs[position + 1 :])

    def derivative(function: Function, x: Any) -> Any:
        return tinyjax.jvp(function, (x,), (jnp.ones_like(x),))[1]

    x = xs[position]
    first = derivative(along, x)
    second = derivative(lambda x: derivative(along, x), x)
    y, terms = autodiff.jet(along, (x,), ((jnp.ones_like(x), jnp.zeros_like(x)),))
    exempt = ~np.isfinite(first) | ~np.isfinite(second) | exempted(KINKS, fun, xs)
    assert not report(terms, [np.asarray(first), np.asarray(second)], y, [x, x], exempt, 1e-9)


_KINK: Final = "the second term is that of one side"
#: Kinks, at which series of two terms are those of one side.
KINKS: Final = {
    **dict.fromkeys(["builtins.abs", "numpy.absolute", "numpy.fabs"], ("x == 0", _KINK)),
    **dict.fromkeys(["numpy.maximum", "numpy.minimum"], ("x == y", _KINK)),
}

#: Rows of the table as programs of other functions; both have derivatives of their own.
IDENTITIES: Final[dict[str, Function]] = {
    "jn": special.jv,
    "yn": special.yv,
    "kn": special.kv,
    "exp10": lambda x: jnp.power(10.0, x),
    "cosm1": lambda x: jnp.cos(x) - 1,
    "sindg": lambda x: jnp.sin(jnp.radians(x)),
    "cosdg": lambda x: jnp.cos(jnp.radians(x)),
    "tandg": lambda x: jnp.tan(jnp.radians(x)),
    "huber": lambda d, r: jnp.where(jnp.abs(r) <= d, r * r / 2, d * (jnp.abs(r) - d / 2)),
    "pseudo_huber": lambda d, r: d * d * (jnp.sqrt(1 + (r / d) ** 2) - 1),
    "inv_boxcox": lambda x, p: (1 + p * x) ** (1 / p),
    "inv_boxcox1p": lambda x, p: (1 + p * x) ** (1 / p) - 1,
    "powm1": lambda x, y: x**y - 1,
    "exprel": lambda x: jnp.expm1(x) / x,
    "erfcinv": lambda x: special.erfinv(1 - x),
    "ndtri_exp": lambda x: special.ndtri(jnp.exp(x)),
    "k0": lambda x: special.kv(0.0, x),
    "k1": lambda x: special.kv(1.0, x),
    "k0e": lambda x: special.kve(0.0, x),
    "k1e": lambda x: special.kve(1.0, x),
    "j0": lambda x: special.jv(0.0, x),
    "j1": lambda x: special.jv(1.0, x),
    "y0": lambda x: special.yv(0.0, x),
    "y1": lambda x: special.yv(1.0, x),
    "rgamma": lambda x: 1 / special.gamma(x),
    "binom": lambda n, k: special.gamma(n + 1) / special.gamma(k + 1) / special.gamma(n - k + 1),
    "betaincc": lambda a, b, x: 1 - special.betainc(a, b, x),
    "gdtr": lambda a, b, x: special.gammainc(b, a * x),
    "gdtrc": lambda a, b, x: special.gammaincc(b, a * x),
    "chdtr": lambda v, x: special.gammainc(v / 2, x / 2),
    "chdtrc": lambda v, x: special.gammaincc(v / 2, x / 2),
    "fdtr": lambda n, d, x: special.betainc(n / 2, d / 2, n * x / (n * x + d)),
    "stdtr": lambda d, t: jnp.where(t < 0, 0.0, 1.0) + jnp.where(t < 0, 0.5, -0.5) * (
        special.betainc(d / 2, 0.5, d / (d + t * t))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IDENTITIES)
@np.errstate(all="ignore")
def test_rows_are_those_of_other_functions(name: str) -> None:
    row = TABLE[name]
    example: tuple[Any, ...] = eval(f"({row.example},)")
    ends = (0.0, -0.0, 0.3, 0.5, 1.0, 2.0, 7.0, -1.5, 700.0)
    points = grid(*[(0, 1, 2) if type(x) is int else (x, *ends) for x in example])
    value = np.asarray(getattr(special, name)(*points))
    for i, parameter in enumerate(row.parameters):
        if parameter not in row.derivatives:
            continue

        def slope(function: Function, i: int = i) -> HostArray:
            return np.asarray(
                tinyjax.jvp(
                    lambda x: function(*points[:i], x, *points[i + 1 :]),
                    (points[i],),
                    (jnp.ones_like(points[i]),),
                )[1]
            )

        actual, expected = slope(getattr(special, name)), slope(IDENTITIES[name])
        # the other functions may have no limits where a row has them
        exempt = exempted(ROWS, name, points) | ~np.isfinite(value) | ~np.isfinite(expected)
        lines = report([actual], [expected], value, points, exempt, 1e-7)
        assert not lines, (parameter, lines)


#: Where rows differ from the other functions, and why.
ROWS: Final = {
    "pseudo_huber": ("abs(x) > 100", "the difference of the root and 1 cancels"),
    "binom": ("(x == 0.5) & (y == 2) | (x == 1)", "the slope is 0, but for rounding"),
    "fdtr": ("x == 700", "the operand of betainc rounds near 1, and its slopes cancel"),
    "k0": ("x > 697", "SciPy's function of real order is 0 from 698 on"),
    "k1": ("x > 697", "SciPy's function of real order is 0 from 698 on"),
}
