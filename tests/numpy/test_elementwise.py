"""Elementwise functions against jax.numpy: values, dtypes and weak types, and derivatives."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as oracle
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import ArgumentError, DtypeError, ShapeError

FLOATS = np.array([-2.5, -1.5, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.0, 1.5, 2.5, 30.0], np.float32)
SPECIAL = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1.0], np.float32)
INTS = np.array([-7, -3, -1, 0, 1, 2, 5, 100], np.int32)
BYTES = np.array([0, 1, 2, 7, 200, 255], np.uint8)
BOOLS = np.array([True, False, True])
COMPLEX = np.array([1 + 2j, -1.5 + 0.5j, -2 - 1j, 0.5 - 3j], np.complex64)
HALF = FLOATS.astype(np.float16)


def both(name: str, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """The results of tinyjax and of jax; NumPy arrays become arrays of either."""

    def call(module: Any) -> Any:
        converted = [module.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
        return getattr(module, name)(*converted, **kwargs)

    return call(jnp), call(oracle)


def same(
    got: Any, expected: Any, rtol: float = 2e-6, atol: float = 1e-6, weak: bool = True
) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            same(g, e, rtol, atol, weak)
        return
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    # jax calls some bools weak, which means nothing
    assert not weak or got.weak_type == expected.weak_type or got.dtype == np.bool_
    if np.dtype(expected.dtype).itemsize == 2 and np.dtype(expected.dtype).kind != "i":
        rtol = atol = 2e-3
    wide = np.complex128 if np.dtype(expected.dtype).kind == "c" else np.float64
    np.testing.assert_allclose(
        np.asarray(got).astype(wide), np.asarray(expected).astype(wide), rtol=rtol, atol=atol
    )


#: Their results are never weak in jax; here they are as weak as their operands.
STRONG = {"rint", "log2", "log10", "angle", "hypot", "logaddexp2"}
ROUNDING = ["floor", "ceil", "trunc", "rint", "round"]
FLOAT_ONLY = ["cbrt", "deg2rad", "rad2deg", "fabs", "isposinf", "isneginf"]
EXPONENTIAL = ["exp", "expm1", "log", "log1p", "sqrt", "reciprocal", "exp2", "log2", "log10"]
TRIGONOMETRIC = [
    *["sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "arcsinh", "sinc"],
    *["arcsin", "arccos", "arccosh", "arctanh"],
]
ANY = ["square", "positive", "abs", "isnan", "isfinite", "isinf", "real", "imag", "conj"]
ANY += ["logical_not", "isreal", "iscomplex"]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [*ROUNDING, *FLOAT_ONLY, *EXPONENTIAL, *TRIGONOMETRIC, *ANY])
def test_unary_functions_are_those_of_jax(name: str) -> None:
    inputs: list[Any] = [FLOATS, SPECIAL, HALF, INTS, BYTES, 2, 0.5]
    if name not in FLOAT_ONLY and name not in ROUNDING:
        inputs.append(COMPLEX)
    if name not in ("positive", "round"):
        inputs.append(BOOLS)
    for x in inputs:
        tolerance = 2e-5 if x is COMPLEX or name in ("tan", "sinc") else 2e-6
        if name in ("exp2", "log2", "log10", "cosh", "sinh", "tanh"):
            tolerance = 1e-5
        same(*both(name, x), rtol=tolerance, weak=name not in STRONG)


@pytest.mark.parametrize("x", [FLOATS, SPECIAL, INTS, BYTES, COMPLEX, 2.0])
@pytest.mark.parametrize("name", ["negative", "sign", "angle"])
def test_signs(name: str, x: Any) -> None:
    same(*both(name, x), weak=name not in STRONG)


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("invert", INTS),
        ("invert", BYTES),
        ("invert", BOOLS),
        ("bitwise_count", INTS),
        ("bitwise_count", BYTES),
        ("signbit", FLOATS),
        ("signbit", INTS),
        ("signbit", BYTES),
        ("nan_to_num", SPECIAL),
        ("nan_to_num", INTS),
        ("modf", FLOATS),
        ("rint", COMPLEX),
        ("round", COMPLEX),
    ],
)
def test_functions_of_some_types(name: str, x: Any) -> None:
    same(*both(name, x))


ARITHMETIC = ["add", "subtract", "multiply", "true_divide", "floor_divide", "remainder", "fmod"]
COMPARISON = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
LOGICAL = ["logical_and", "logical_or", "logical_xor", "maximum", "minimum", "fmax", "fmin"]
FLOATING = ["arctan2", "hypot", "logaddexp", "logaddexp2", "copysign", "nextafter", "heaviside"]
PAIRS: list[tuple[Any, Any]] = [
    (FLOATS[:6], FLOATS[4:10]),
    (FLOATS[:6], HALF[6:]),
    (INTS[1:7], HALF[2:8]),
    (BYTES, INTS[1:7]),
    (INTS, 3),
    (1.5, BYTES),
    (HALF, 3),
    (3, 1.5),
    (7, 3),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISON, *LOGICAL, *FLOATING])
def test_binary_functions_promote_as_in_jax(name: str) -> None:
    for x, y in PAIRS:
        if name in ("floor_divide", "remainder", "fmod") and isinstance(y, np.ndarray):
            y = np.where(y == 0, y.dtype.type(3), y)
        # 1.5 and int8 meet in the weak float, whose name is float32 in either
        same(*both(name, x, y), rtol=2e-5, weak=name not in STRONG)


@pytest.mark.parametrize(
    "name", ["add", "maximum", "less", "equal", "hypot", "logaddexp", "arctan2"]
)
def test_binary_functions_at_special_points(name: str) -> None:
    x, y = np.meshgrid(SPECIAL, SPECIAL)
    same(*both(name, x, y))


@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "maximum"])
def test_complex_numbers_are_ordered_by_their_parts(name: str) -> None:
    x, y = np.meshgrid(COMPLEX, np.array([1 + 2j, 1 + 1j, -2 - 1j], np.complex64))
    same(*both(name, x, y))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int32, np.uint8])
def test_division_with_any_signs(dtype: Any) -> None:
    x, y = np.meshgrid(np.arange(-9, 10), np.array([-4, -3, -2, -1, 1, 2, 3, 4]))
    if dtype is np.uint8:
        x, y = abs(x), abs(y)
    for name in ("floor_divide", "remainder", "fmod", "divmod"):
        got, expected = both(name, x.astype(dtype), y.astype(dtype))
        same(got, expected)
        same(*both(name, x.astype(dtype), 3))


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@pytest.mark.parametrize("y", [np.float32(np.inf), np.float32(0.0)])
def test_float_division_at_the_ends(name: str, y: Any) -> None:
    x = np.array([1.0, -1.0, 0.0, np.inf, np.nan], np.float32)
    same(*both(name, x, np.full(5, y)))


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bitwise(name: str) -> None:
    same(*both(name, INTS, INTS[::-1].copy()))
    same(*both(name, BYTES, 12))
    same(*both(name, BOOLS, BOOLS[::-1].copy()))
    same(*both(name, BYTES, True))


@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
def test_shifts(name: str) -> None:
    by = np.array([0, 1, 2, 3, 4, 5, 31, 6], np.int32)
    same(*both(name, INTS, by))
    same(*both(name, BYTES, 3))
    same(*both(name, BOOLS, BOOLS))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -1, -2, 0.5, 2.0])
@pytest.mark.parametrize("x", [np.abs(FLOATS) + 0.5, HALF[7:], INTS, BOOLS, 2.0, 3])
def test_powers_with_a_number(x: Any, exponent: Any) -> None:
    integral = isinstance(x, int) or (isinstance(x, np.ndarray) and x.dtype.kind in "biu")
    if integral and isinstance(exponent, int) and exponent < 0:
        with raises(DtypeError, match="negative power"):
            jnp.power(x if isinstance(x, int) else jnp.asarray(x), exponent)
    else:
        same(*both("power", x, exponent), rtol=2e-5)


def test_powers_of_arrays() -> None:
    x, y = np.meshgrid(np.arange(-3, 4), np.arange(0, 9))
    for dtype in (np.int8, np.int32, np.float32):
        same(*both("power", x.astype(dtype), y.astype(dtype)))
    same(*both("power", x.astype(np.float32), y.astype(np.int32)))
    same(*both("power", np.abs(x).astype(np.uint8), y.astype(np.uint8)))
    same(*both("power", BOOLS, BOOLS))
    same(*both("power", 2, INTS[3:7]))
    same(*both("float_power", INTS[3:7], 2))
    got = jnp.power(jnp.array([2, 1, -1, 0, -1]), jnp.array([-1, -5, -3, 70, 101]))
    assert got.tolist() == [0, 1, -1, 0, -1]


@pytest.mark.usefixtures("each_tier")
def test_second_derivatives_of_powers() -> None:
    """The factor y of the first derivative is not constant, even where the exponent is 0."""
    points = [(4.0, 0.0), (0.5, 0.0), (2.0, 3.0), (0.0, 2.0)]
    x, y = np.array(points, np.float32).T
    hessian = tinyjax.vmap(tinyjax.hessian(lambda x, y: x**y, (0, 1)))
    for ours in (hessian(x, y), tinyjax.jit(hessian)(x, y)):
        theirs = jax.vmap(jax.hessian(lambda x, y: x**y, (0, 1)))(x, y)
        np.testing.assert_allclose(np.array(ours), np.array(theirs), 2e-6, 1e-6)
    assert tinyjax.jacfwd(tinyjax.grad(lambda x: x**0.0))(0.0) == 0.0


def test_infinities_have_no_fraction() -> None:
    fraction, whole = jnp.modf(jnp.array([jnp.inf, -jnp.inf]))
    assert fraction.tolist() == [0.0, 0.0]
    assert whole.tolist() == [np.inf, -np.inf]


def test_ldexp() -> None:
    same(*both("ldexp", FLOATS, np.arange(12, dtype=np.int32) - 5))
    assert float(jnp.ldexp(1e-30, 200)) == pytest.approx(1e-30 * 2.0**200, rel=1e-6)
    with raises(DtypeError, match="integers"):
        jnp.ldexp(1.0, 2.0)


@pytest.mark.parametrize("bounds", [(0, 1), (0.5, 1), (None, 1), (0, None), (None, None), (2, 1)])
def test_clip(bounds: tuple[Any, Any]) -> None:
    for x in (FLOATS, INTS, BYTES):
        same(*both("clip", x, *bounds))
    same(*both("clip", FLOATS, min=bounds[0], max=np.full(12, 0.25, np.float32)))


def test_round_to_decimals() -> None:
    x = np.array([1.2345, -2.5, 1234.5678, 0.05], np.float32)
    for decimals in (0, 1, 2, 3, -1, -2):
        same(*both("round", x, decimals))
    same(*both("round", INTS, 2))
    with raises(ArgumentError, match="decimals"):
        jnp.round(jnp.asarray(INTS), -1)


@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose(equal_nan: bool) -> None:
    x, y = np.meshgrid(SPECIAL, np.concatenate([SPECIAL, [1.000001, 1.1]]).astype(np.float32))
    same(*both("isclose", x, y, equal_nan=equal_nan))
    same(*both("isclose", INTS, INTS + 1, atol=2.0))
    same(*both("isclose", COMPLEX, COMPLEX + 1e-7))
    same(*both("isclose", 1.0, 2))
    ours, theirs = (m.random.split(m.random.key(0)) for m in (tinyjax, jax))
    same(jnp.isclose(ours, ours[0]), jax.numpy.isclose(theirs, theirs[0]))
    for name in ("isfinite", "isinf", "isnan"):
        same(getattr(jnp, name)(ours), getattr(jax.numpy, name)(theirs))


def test_nan_to_num_replaces_with_what_is_given() -> None:
    same(*both("nan_to_num", SPECIAL, nan=7.0, posinf=1.0, neginf=-1.0))
    same(*both("nan_to_num", np.array([complex(np.nan, np.inf)], np.complex64)))


def test_astype() -> None:
    for dtype in ("int8", "uint8", "float16", "bool", "int32", "float32"):
        same(*both("astype", np.array([0.0, 1.7, -1.7, 100.5], np.float32).clip(0), dtype))
    assert jnp.astype(jnp.array([1.0]), jnp.bfloat16).dtype == jnp.bfloat16
    assert jnp.array([300.0, -300.0, jnp.nan]).astype(jnp.int8).tolist() == [127, -128, 0]


# Promotion and errors


@pytest.mark.parametrize(
    ("x", "y", "dtype", "weak"),
    [
        (np.ones(2, np.int8), 1, "int8", False),
        (np.ones(2, np.int8), 1.0, "float32", True),
        (np.ones(2, np.float16), 1.0, "float16", False),
        (np.ones(2, np.float16), np.ones(2, np.int32), "float16", False),
        (np.ones(2, np.float64), 1, "float64", False),
        (np.ones(2, np.float64), np.ones(2, np.float32), "float64", False),
        (np.ones(2, np.int64), 2**40, "int64", False),
        (np.ones(2, np.float32), 1j, "complex64", False),
        (np.ones(2, np.bool_), True, "bool", False),
        (np.ones(2, np.bool_), 2, "int32", True),
        (1, 2, "int32", True),
        (1, 2.0, "float32", True),
        (True, 2, "int32", True),
    ],
)
def test_results_of_add_have_these_types(x: Any, y: Any, dtype: str, weak: bool) -> None:
    for a, b in ((x, y), (y, x)):
        out = jnp.add(a, b)
        assert out.dtype.name == dtype
        assert out.weak_type == weak


def test_numbers_that_do_not_fit_the_other_operand_are_refused() -> None:
    with raises(ArgumentError, match="300 does not fit"):
        jnp.add(jnp.array([1], jnp.int8), 300)
    assert jnp.add(jnp.array([1.0]), 1e300).tolist() == [np.inf]


@pytest.mark.wrong_types
def test_other_operands_are_refused_by_name() -> None:
    untyped: Any = jnp
    with raises(ArgumentError, match=r"add: .*list.*jnp\.asarray"):
        untyped.add([1], 2)
    with raises(ArgumentError, match=r"sin: .*str"):
        untyped.sin("a")
    with raises(ShapeError, match=r"multiply: incompatible shapes for .*: \(3,\) and \(4,\)"):
        jnp.multiply(jnp.ones(3), jnp.ones(4))
    with raises(DtypeError, match="sub does not accept dtype bool"):
        jnp.subtract(jnp.array([True]), jnp.array([True]))
    with raises(DtypeError, match="hypot does not take complex"):
        jnp.hypot(1j, 1.0)
    with raises(ArgumentError, match="immutable"):
        untyped.round(1.0, 0, jnp.ones(()))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("name", ["add", "power", "logaddexp", "floor_divide", "less", "hypot"])
def test_the_same_eagerly_compiled_and_mapped(name: str) -> None:
    fun: Callable[..., tinyjax.Array] = getattr(jnp, name)
    x, y = jnp.array([[1.5, -2.0], [3.0, 0.5]]), jnp.array([2.0, 3.0])
    expected = fun(x, y)
    for got in (tinyjax.jit(fun)(x, y), tinyjax.vmap(fun, (0, None))(x, y)):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    mapped = tinyjax.vmap(fun, (1, 0), 1)(x, y)
    np.testing.assert_allclose(mapped, expected, rtol=1e-6)


# Derivatives where they are in doubt

GRADIENTS: list[tuple[str, Callable[[Any, Any], Any], tuple[float, ...]]] = [
    ("abs", lambda np_, x: np_.abs(x), (-2.0, 3.0)),
    ("sign", lambda np_, x: np_.sign(x), (2.0,)),
    ("floor", lambda np_, x: np_.floor(x) * x, (2.5,)),
    ("maximum at a tie", lambda np_, x: np_.maximum(x, 1.0), (1.0, 0.5, 2.0)),
    ("maximum with itself", lambda np_, x: np_.maximum(x, x), (1.0,)),
    ("minimum at a tie", lambda np_, x: np_.minimum(x, 1.0), (1.0, 0.5, 2.0)),
    ("clip", lambda np_, x: np_.clip(x, 0.0, 1.0), (0.0, 0.5, 1.0, 2.0)),
    ("where", lambda np_, x: np_.where(x > 1.0, x * 2, x * 3), (1.0, 2.0)),
    (
        "where that guards",
        lambda np_, x: np_.where(x > 0, np_.log(np_.where(x > 0, x, 1.0)), x),
        (0.0, 2.0),
    ),
    ("x**2 at 0", lambda np_, x: x**2, (0.0, 3.0)),
    ("x**0", lambda np_, x: x**0, (0.0, 3.0)),
    ("x**1", lambda np_, x: x**1, (0.0, 3.0)),
    ("x**-1", lambda np_, x: x**-1, (2.0,)),
    ("x**2.0 at 0", lambda np_, x: x**2.0, (0.0, 3.0)),
    ("x**0.0", lambda np_, x: x**0.0, (3.0,)),
    ("x**0.5", lambda np_, x: x**0.5, (0.0, 4.0)),
    ("2**x", lambda np_, x: 2**x, (0.0, 3.0)),
    ("0**x", lambda np_, x: np_.power(0.0, x), (2.0,)),
    ("x**x", lambda np_, x: x**x, (0.5, 1.0)),
    ("sqrt at 0", lambda np_, x: np_.sqrt(x), (0.0, 4.0)),
    ("logaddexp at a tie", lambda np_, x: np_.logaddexp(x, 1.0), (1.0, 2.0, -np.inf, np.inf)),
    ("logaddexp2", lambda np_, x: np_.logaddexp2(x, 1.0), (1.0, 2.0, -np.inf)),
    ("hypot", lambda np_, x: np_.hypot(x, 4.0), (3.0, 4.0, 0.0)),
    ("hypot of 0", lambda np_, x: np_.hypot(x, 0.0), (3.0, -3.0)),
    ("sinc", lambda np_, x: np_.sinc(x), (0.0, 0.05, 0.5, 2.0)),
    ("arctan2", lambda np_, x: np_.arctan2(x, 1.0), (0.0, -2.0)),
    ("remainder", lambda np_, x: np_.remainder(x, 3.0), (4.0, -4.0)),
    ("divisor", lambda np_, x: np_.remainder(7.0, x), (3.0, -3.0)),
    ("fmod", lambda np_, x: np_.fmod(x, 3.0), (4.0, -4.0)),
    ("square", lambda np_, x: np_.square(x), (0.0, 2.0)),
    ("reciprocal", lambda np_, x: np_.reciprocal(x), (2.0,)),
    ("copysign", lambda np_, x: np_.copysign(x, -1.0), (2.0, -2.0)),
    ("fmax", lambda np_, x: np_.fmax(x, 1.0), (0.5, 2.0)),
    ("nan_to_num", lambda np_, x: np_.nan_to_num(x), (2.0, np.inf)),
    ("modf", lambda np_, x: np_.modf(x)[0], (2.5,)),
    ("astype", lambda np_, x: np_.astype(x, "float16") * x, (2.0,)),
    ("real", lambda np_, x: np_.real(x * 1j) + np_.imag(x * 2j), (2.0,)),
    ("abs of complex", lambda np_, x: np_.abs(x + 1j * x), (2.0,)),
    ("angle", lambda np_, x: np_.angle(x + 1j), (2.0,)),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "fun", "points"), GRADIENTS, ids=[g[0] for g in GRADIENTS])
def test_gradients_are_those_of_jax(
    name: str, fun: Callable[[Any, Any], Any], points: tuple[float, ...]
) -> None:
    for x in points:
        got = tinyjax.grad(lambda x: fun(jnp, x))(x)
        expected = jax.grad(lambda x: fun(oracle, x))(x)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6, err_msg=f"at {x}")


def test_gradients_where_jax_has_another_choice() -> None:
    for fun in (jnp.abs, lambda x: jnp.hypot(x, 0.0), lambda x: x**0.0):
        assert float(tinyjax.grad(fun)(0.0)) == 0.0


@pytest.mark.parametrize(
    ("fun", "x", "second"),
    [
        (lambda x: jnp.logaddexp(x, 1.0), 1.0, 0.25),
        (lambda x: jnp.hypot(x, 1.0), 0.0, 1.0),
        (jnp.sinc, 0.0, -(np.pi**2) / 3),
        (lambda x: x**2, 0.0, 2.0),
        (lambda x: x**3, 0.0, 0.0),
        (lambda x: jnp.where(x > 0, x**2, 0.0), 1.0, 2.0),
    ],
)
def test_second_derivatives(fun: Any, x: float, second: float) -> None:
    assert float(tinyjax.grad(tinyjax.grad(fun))(x)) == pytest.approx(second, abs=1e-6)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("target", [np.int8, np.uint32, np.int32, np.int64])
def test_floats_become_integers_as_compiled_programs_make_them(source: Any, target: Any) -> None:
    # One value out of range, alone and among many: vector instructions must not miss it.
    bad = [np.nan, np.inf, -np.inf, 300.7, -1.2, 2147483648.0, -2147483904.0, 9.3e18, -9.3e18]
    convert = tinyjax.jit(lambda x: x.astype(target))
    for size in (1, 3, 1000):
        x = np.ones((len(bad), size), source)
        with np.errstate(over="ignore"):
            x[:, size // 2] = bad
        for row in x:
            np.testing.assert_array_equal(jnp.asarray(row).astype(target), convert(row))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "base"), [("log2", 2.0), ("log10", 10.0)])
def test_logarithms_that_are_whole_are_exact(
    name: str, base: float, dtype: type[np.floating[Any]]
) -> None:
    """Sizes and digits are counted by them: ``int(jnp.log2(64))``."""
    fun = getattr(jnp, name)
    whole = np.arange(-20, 21)
    with tinyjax.enable_x64(True):
        x = (base**whole).astype(dtype)
        for _ in range(30):  # also where calls are replayed
            np.testing.assert_array_equal(fun(x), getattr(np, name)(x))
        np.testing.assert_allclose(tinyjax.jit(fun)(x), whole, float(4 * np.finfo(dtype).eps))
        np.testing.assert_allclose(
            tinyjax.grad(lambda x: fun(x).sum())(x), 1 / x / np.log(base), 1e-6
        )
    assert [int(jnp.log2(2**n)) for n in range(30)] == list(range(30))
    assert jnp.log2(8.0).weak_type
