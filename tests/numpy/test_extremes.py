"""Values and derivatives at zeros, infinities, NaN, ties and the ends of types.

Against NumPy, SciPy and jax where these agree with mathematics; else against a closed form.
"""

import operator
import re
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy
import numpy as np
import pytest
import scipy.special

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax, nn, random
from tinyjax.dtypes import ALL, FLOAT8, INTEGERS, bfloat16, kind
from tinyjax.errors import ArgumentError
from tinyjax.example_libraries import stax
from tinyjax.experimental.sparse import BCOO
from tinyjax.implicit import odeint
from tinyjax.scipy import ndimage, signal
from tinyjax.scipy.special import logsumexp

inf, nan = np.inf, np.nan


def either_way(fun: Callable[..., Any], *args: Any) -> Any:
    """Return the eager results of a function, which must be those of the compiled one."""
    eager = fun(*args)
    for x, y in zip(
        tinyjax.tree.leaves(eager), tinyjax.tree.leaves(tinyjax.jit(fun)(*args)), strict=True
    ):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)
    return eager


def slopes(fun: Callable[[Any], Any], x: Any) -> Any:
    """The Jacobian, by columns and by rows, which must agree."""
    forward = np.asarray(tinyjax.jacfwd(fun)(x))
    np.testing.assert_array_equal(forward, tinyjax.jacrev(fun)(x))
    return forward


# Divisions of integers by zero

DIVISIONS: Final = ("floor_divide", "remainder", "fmod", "divmod")


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_divided_by_zero_and_at_the_ends(name: str, dtype: Any) -> None:
    """As compiled by jax; and as by NumPy, but for the quotient."""
    ends = np.iinfo(dtype)
    most, least = ends.max, ends.min
    x = np.array([0, 1, 5, most, least, least, least, 7, 3, most], dtype)
    y = np.array([0, 0, 0, 0, 0, most if least == 0 else -1, 1, 5, most, most], dtype)
    found = either_way(getattr(jnp, name), jnp.asarray(x), jnp.asarray(y))
    with jax.enable_x64(True):
        expected = jax.tree.map(np.asarray, getattr(jax.numpy, name)(x, y))
    for a, b in zip(tinyjax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.dtype == dtype
        np.testing.assert_array_equal(a, b)
    if name in ("remainder", "fmod"):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found, getattr(np, name)(x, y))


def test_a_constant_divisor() -> None:
    x = jnp.arange(-5, 5)
    for divisor in (3, -3, 0, 1, jnp.zeros(10, jnp.int32), np.int32(0)):
        fixed: Any = divisor
        with np.errstate(all="ignore"):
            for fun, other in ((operator.mod, np.remainder), (jnp.fmod, np.fmod)):
                expected = other(np.asarray(x), np.asarray(fixed))
                np.testing.assert_array_equal(fun(x, fixed), expected)


def test_the_quotient_of_floats_is_constant_where_it_is_known() -> None:
    x = np.array([1.0, -1.0, 6.0, -6.0, 0.0, 2.5, -3.0])
    y = np.array([0.0, -0.0, 3.0, 3.0, 2.0, 0.5, 1.0])
    for t in (x, y):
        for fun in (jnp.floor_divide, lambda a, b: jnp.divmod(a, b)[0]):
            quotient, change = tinyjax.jvp(fun, (x, y), (t, t))
            np.testing.assert_array_equal(change, np.zeros(7))
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(quotient, np.floor_divide(x, y))


# Signs


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", [d for d in ALL if kind(d) == "f"], ids=str)
def test_signs_are_those_of_the_bits(dtype: Any) -> None:
    """Of NaNs with every payload too, as NumPy's."""
    bits = np.arange(256 if dtype.itemsize == 1 else 1 << 16)
    x = (bits << 8 * max(dtype.itemsize - 2, 0)).astype(f"u{dtype.itemsize}").view(dtype)
    np.testing.assert_array_equal(either_way(jnp.signbit, x), np.signbit(x))
    one = dtype.type(1)
    np.testing.assert_array_equal(either_way(jnp.copysign, one, x), np.where(np.signbit(x), -1, 1))


# Powers of two, and decimal places

EXPONENTS: Final = [
    *range(-2300, 2300, 97), 0, 1, -1, 127, 128, -126, -149, -150, 1023, 1024, -1022, -1074, -1075,
    2**31 - 1, -(2**31),
]  # fmt: skip
NUMBERS: Final = np.array(
    [0.0, -0.0, 1.5, -2.5, inf, -inf, nan, 1e300, 5e-324, 2.0**-1022, 1.9, 1.2e-310, 3e38, 1e-40]
)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_ldexp_rounds_once_and_overflows_only_at_the_end(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        x = np.concatenate([NUMBERS, rng.normal(size=50) * 10.0 ** rng.integers(-8, 8, 50)]).astype(
            dtype
        )
        for exponent in EXPONENTS:
            expected = np.ldexp(x, np.int32(exponent))
            found = jnp.ldexp(x, jnp.full(x.shape, exponent, jnp.int32))
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    # XLA takes numbers of less than full precision for zero
    tiny = np.finfo(dtype).tiny
    fast = tinyjax.jit(jnp.ldexp)
    for exponent in (-130, -3, 0, 5, 40, 900):
        with np.errstate(all="ignore"):
            expected = np.ldexp(x, np.int32(exponent))
        subnormal = ((np.abs(x) < tiny) & (x != 0)) | ((np.abs(expected) < tiny) & (expected != 0))
        compiled = np.asarray(fast(x, np.int32(exponent)))
        np.testing.assert_array_equal(compiled[~subnormal], expected[~subnormal])


@pytest.mark.usefixtures("each_tier")
def test_ldexp_takes_exponents_of_any_integer_type() -> None:
    for dtype in INTEGERS:
        found = either_way(jnp.ldexp, np.float32(1.5), jnp.asarray(np.array([0, 3, 100], dtype)))
        np.testing.assert_array_equal(found, np.array([1.5, 12.0, 1.5 * 2.0**100], np.float32))
    for exponent, expected in ((2**62, inf), (-(2**62), 0.0)):
        assert float(jnp.ldexp(1.5, jnp.asarray(np.int64(exponent)))) == expected
    assert float(tinyjax.grad(lambda x: jnp.ldexp(x, 1030))(2.0**-1000)) == inf
    assert float(tinyjax.grad(lambda x: jnp.ldexp(x, -3))(2.0)) == 0.125


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_round_at_all_decimals(dtype: Any) -> None:
    """Python rounds exactly; what has too few places is left as it is."""
    x = np.array([0.0, -0.0, 1.25, -2.5, 12345.678, inf, -inf, nan, 6e4, 1e-5]).astype(dtype)
    error = 2 * float(np.finfo(dtype).eps)
    for decimals in (0, 1, 2, 5, 10, 17, 40, 300, 308, 309, 400):
        for places in (decimals, -decimals):
            with np.errstate(all="ignore"):
                exact = np.array([round(float(v), places) if v - v == 0 else v for v in x])
                exact = exact.astype(dtype)
            found = jnp.round(x, places)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, exact, error)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(x))
            np.testing.assert_allclose(tinyjax.jit(lambda x: jnp.round(x, places))(x), found, error)  # noqa: B023
            change = tinyjax.jvp(lambda x: jnp.round(x, places), (x,), (np.ones_like(x),))[1]  # noqa: B023
            np.testing.assert_array_equal(change, np.zeros_like(x))
    z = np.array([1.26 - 2.34j, 1e20 + 0.05j])
    np.testing.assert_allclose(jnp.round(z, 1), np.round(z, 1), 1e-15)


# Ranges


@pytest.mark.parametrize("name", ["linspace", "geomspace", "logspace"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.complex64, np.float32, np.int64])
def test_ranges_are_as_precise_and_as_complex_as_their_type(name: str, dtype: Any) -> None:
    for start, stop in ((1, 8), (1.0, 0.7), (-1.0, -4.0), (-1, 1), (0.1, 2), (1, 8j), (-1, 1 + 1j)):
        is_complex = np.dtype(dtype).kind == "c"
        if isinstance(stop, complex) and not is_complex:
            continue
        if name == "geomspace" and stop == 1 and not is_complex:
            continue  # there are none between numbers of different signs
        found = getattr(jnp, name)(start, stop, 5, dtype=dtype)
        expected = getattr(np, name)(start, stop, 5, dtype=dtype)
        assert found.dtype == dtype
        error = 1e-5 if np.dtype(dtype) in (np.float32, np.complex64) else 1e-13
        np.testing.assert_allclose(found, expected, error, error)


def test_geomspace_of_complex_numbers_is_a_spiral() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        a, b, s, t = rng.normal(size=4) + 1j * rng.normal(size=4)
        for endpoint in (True, False):
            found = jnp.geomspace(a, b, 6, endpoint)
            np.testing.assert_allclose(found, np.geomspace(a, b, 6, endpoint), 1e-12)
        eps = 1e-6
        ahead, behind = (np.geomspace(a + e * s, b + e * t, 6) for e in (eps, -eps))
        _, slope = tinyjax.jvp(lambda a, b: jnp.geomspace(a, b, 6), (a, b), (s, t))
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * eps), 1e-6, 1e-6)


@pytest.mark.parametrize("k", [2**31 - 1, -(2**31), 2**40, -(10**30)])
def test_a_diagonal_far_outside_a_matrix(k: int) -> None:
    x, near = np.arange(12).reshape(3, 4), min(max(k, -9), 9)
    np.testing.assert_array_equal(jnp.tril(x, k), np.tril(x, near))
    np.testing.assert_array_equal(jnp.triu(x, k), np.triu(x, near))
    np.testing.assert_array_equal(jnp.tri(3, 4, k), np.tri(3, 4, near))
    np.testing.assert_array_equal(jnp.eye(3, 4, k), np.eye(3, 4, near))


def test_diff_zero_times_is_the_array_itself() -> None:
    x = np.arange(3.0)
    for kwargs in ({"append": 5.0}, {"prepend": np.array([1.0])}, {}):
        options: Any = kwargs
        np.testing.assert_array_equal(jnp.diff(x, n=0, **options), np.diff(x, n=0, **options))
        np.testing.assert_array_equal(jnp.diff(x, n=2, **options), np.diff(x, n=2, **options))


# Variances of too few


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_variances_with_no_degrees_of_freedom_are_nan(name: str) -> None:
    x = np.array([1.0, 2.0, 4.0])
    for ddof in (0, 1, 2, 3, 4, 7):
        found = either_way(lambda x: getattr(jnp, name)(x, ddof=ddof), x)  # noqa: B023
        # NumPy divides by zero where this is not above zero, which it need not
        expected = getattr(np, name)(x, ddof=ddof) if ddof < 3 else nan
        np.testing.assert_allclose(found, expected, 1e-14)
        with jax.enable_x64(True):
            np.testing.assert_allclose(found, getattr(jax.numpy, name)(x, ddof=ddof), 1e-14)
        mask = np.array([True, False, True])
        if name in ("var", "std"):
            kept = getattr(jnp, name)(x, ddof=ddof, where=mask)
            direct = getattr(np, name)(x[mask], ddof=ddof) if ddof < 2 else nan
            np.testing.assert_allclose(kept, direct, 1e-14)


# Numbers


@pytest.mark.parametrize("dtype", ["uint64", "int64", "int8", "float64", "complex64", "bool"])
@pytest.mark.parametrize(
    "number",
    [2**63 - 1, 2**63 + 1, 2**64 - 1, 2**64, pytest.param(10**400, id="10**400")],
)
def test_lists_of_long_ints_keep_them(number: int, dtype: str) -> None:
    for given in ([0, number], [[number], [True]], [number, -1]):
        numbers = [int(n) for n in np.array(given, object).ravel()]
        ends = np.iinfo(dtype) if "int" in dtype else None
        fit = all(ends.min <= n <= ends.max for n in numbers) if ends else number < 10**400
        if fit or dtype == "bool":
            got = np.asarray(jnp.array(given, dtype))
            expected = np.array(given, object).astype(dtype)
            assert got.dtype == expected.dtype
            assert got.tolist() == expected.tolist()
        else:
            with raises(ArgumentError, match=r"does not fit in|beyond the range of"):
                jnp.array(given, dtype)
        with raises(ArgumentError, match="does not fit in int32"):
            jnp.array(given)


# Places


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_of_numbers_that_the_type_does_not_hold(dtype: Any, side: Any) -> None:
    line = np.array([0, 1, 2, 5, 100], dtype)
    for v in (-1, 300, 2, -(2**31), 2**31, 2**40, -(2**63), 2**64):
        number: Any = v
        expected = sum(1 for x in line.tolist() if x < v or (side == "right" and x == v))
        assert int(jnp.searchsorted(line, number, side)) == expected
        assert int(tinyjax.jit(lambda a: jnp.searchsorted(a, number, side))(line)) == expected  # noqa: B023
        if side == "left":
            assert int(jnp.digitize(number, line, right=True)) == expected


NARROW: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "append": jnp.append,
    "select": lambda x, v: jnp.select([x > 0], [x], v),
    "concatenate": lambda x, v: jnp.hstack([x, v]),
    "max": lambda x, v: jnp.max(x, initial=v),
    "diff": lambda x, v: jnp.diff(x, append=v),
    "add": jnp.add,
    "where": lambda x, v: jnp.where(x > 0, x, v),
    "set": lambda x, v: x.at[0].set(v),
    "polyval": jnp.polyval,
    "pad": lambda x, v: jnp.pad(x, 1, constant_values=v),
    "lax": lax.add,
}


@pytest.mark.parametrize("name", NARROW)
def test_a_number_that_does_not_fit_raises_wherever_it_is_an_operand(name: str) -> None:
    x = jnp.arange(3).astype(jnp.uint8)
    for v in (-1, 300):
        with raises(ArgumentError, match=f"{v} does not fit in .*uint8"):
            NARROW[name](x, v)
    NARROW[name](x, 200)


def test_an_explicit_conversion_wraps() -> None:
    assert int(lax.convert_element_type(-1, jnp.uint32)) == 2**32 - 1
    assert int(jnp.astype(-1, jnp.uint8)) == 255


def test_a_scalar_has_no_axes_to_be_found_along() -> None:
    for scalar in (0, 3, 0.0, nan, True):
        value: Any = scalar
        np.testing.assert_array_equal(jnp.argwhere(value), np.argwhere(value))
        assert jnp.argwhere(value).shape == np.argwhere(value).shape
        assert jnp.argwhere(value, size=2).shape == jax.numpy.argwhere(value, size=2).shape
        for fun in (jnp.nonzero, jnp.where):
            with raises(ValueError, match="atleast_1d"):
                fun(value)


# Running extrema, products and logarithms

RUNS: Final = [
    [1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 2.0, 1.0, 3.0, 3.0, 2.0], [0.0, -0.0, 0.0], [3.0, 2.0, 1.0],
    [inf, inf, 1.0], [-inf, -inf, 1.0],
]  # fmt: skip


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_ties_of_running_extrema_share_the_derivative(name: str, reverse: bool) -> None:
    """As those of ``max`` do: the derivative of each is that of the extremum up to there."""
    whole = {"cummax": jnp.max, "cummin": jnp.min}[name]
    for run in RUNS:
        x = np.array(run)
        found = slopes(lambda x: getattr(lax, name)(x, reverse=reverse), x)
        for i in range(x.size):
            part = slice(i, None) if reverse else slice(0, i + 1)
            expected = np.zeros_like(x)
            expected[part] = tinyjax.grad(whole)(x[part])
            np.testing.assert_allclose(found[i], expected, 1e-15, err_msg=str(run))


@pytest.mark.usefixtures("each_tier")
def test_running_extrema_have_second_derivatives() -> None:
    x = np.array([1.0, 2.0, 2.0, 1.0, 2.0])

    def f(x: Any) -> Any:
        return jnp.sum(jnp.sin(lax.cummax(x)))

    first = tinyjax.grad(f)
    np.testing.assert_allclose(
        tinyjax.jacfwd(first)(x), tinyjax.jit(tinyjax.jacrev(first))(x), 1e-14
    )
    weights = np.asarray(tinyjax.jacfwd(lax.cummax)(x))
    expected = -weights.T @ np.diag(np.sin(lax.cummax(x))) @ weights
    np.testing.assert_allclose(tinyjax.hessian(f)(x), expected, 1e-14, 1e-15)


def test_after_nan_a_running_extremum_depends_on_nothing() -> None:
    for run in ([1.0, nan, 2.0], [nan, 1.0, 2.0]):
        x = np.array(run)
        for name in ("cummax", "cummin"):
            found = slopes(getattr(lax, name), x)
            with jax.enable_x64(True):
                np.testing.assert_array_equal(found, jax.jacfwd(getattr(jax.lax, name))(x))


@pytest.mark.parametrize("reverse", [False, True])
def test_running_products_that_begin_with_infinity(reverse: bool) -> None:
    for run in ([inf, 1.0, 2.0], [-inf, 3.0], [inf], [2.0, 3.0, 4.0], [0.0, 2.0, 0.0]):
        x = np.array(run[::-1] if reverse else run)
        for t in np.eye(x.size):
            found = tinyjax.jvp(lambda x: lax.cumprod(x, reverse=reverse), (x,), (t,))[1]
            with jax.enable_x64(True):
                theirs = jax.jvp(lambda x: jax.lax.cumprod(x, reverse=reverse), (x,), (t,))[1]
            np.testing.assert_array_equal(found, theirs)


def test_running_logarithms_of_sums_at_infinity() -> None:
    """The whole of an infinite sum is that of the infinite element."""
    for run, expected in (
        ([inf, 1.0, 2.0], [[1, 0, 0], [1, 0, 0], [1, 0, 0]]),
        ([1.0, inf, 2.0], [[1, 0, 0], [0, 1, 0], [0, 1, 0]]),
        ([inf, inf], [[1, 0], [0.5, 0.5]]),
        ([-inf, 0.0, -inf], [[0, 0, 0], [0, 1, 0], [0, 1, 0]]),
    ):
        np.testing.assert_array_equal(slopes(lax.cumlogsumexp, np.array(run)), expected)


# Sums of exponentials with factors


@pytest.mark.parametrize("where", [None, np.array([True, False, True, True])], ids=["all", "some"])
def test_logsumexp_has_its_derivative_where_a_factor_is_zero(where: Any) -> None:
    rng = np.random.default_rng(2)
    mask = np.ones(4, bool) if where is None else where
    for scale in (1.0, 300.0):
        a = rng.normal(size=4) * scale
        for b in ([1.0, 2.0, 0.0, 3.0], [0.0, 0.0, 0.5, 0.0]):
            factors = np.array(b) * mask
            top = np.max(a[factors != 0])
            present = np.where(factors != 0, a - top, -inf)
            total = np.sum(factors * np.exp(present))
            with np.errstate(all="ignore"):
                weights = np.where(mask, np.exp(a - top), 0) / total

            def of_factors(b: Any, a: Any = a) -> Any:
                return logsumexp(a, b=b, where=where)

            expected = scipy.special.logsumexp(a, b=factors)
            np.testing.assert_allclose(of_factors(np.array(b)), expected, 1e-12)
            if np.max(weights) < 1e100:  # whose squares are numbers
                found = tinyjax.grad(of_factors)(np.array(b))
                np.testing.assert_allclose(found, weights, 1e-10)
                second = tinyjax.hessian(of_factors)(np.array(b))
                np.testing.assert_allclose(second, -np.outer(weights, weights), 1e-9)
            of_values = tinyjax.grad(lambda a: logsumexp(a, b=np.array(b), where=where))(a)  # noqa: B023
            np.testing.assert_allclose(of_values, factors * np.exp(present) / total, 1e-10)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("a", [[1.0, inf, 3.0], [1.0, nan, 3.0], [1.0, 1e5, 3.0], [-inf, 1.0, 2.0]])
@pytest.mark.parametrize("b", [[1.0, inf, 3.0], [1.0, nan, 3.0], [1.0, 0.0, 3.0], [1.0, 2.0, 3.0]])
def test_what_logsumexp_masks_does_not_get_into_it(a: list[float], b: list[float]) -> None:
    for where in ([True, False, True], [False, False, False]):
        mask = np.array(where)

        def sums(a: Any, b: Any, m: Any = mask, f: Any = logsumexp) -> Any:
            return f(a, b=b, where=m)

        with jax.enable_x64(True):
            theirs = jax.scipy.special.logsumexp
            expected = jax.value_and_grad(lambda a, b: sums(a, b, f=theirs), (0, 1))(  # noqa: B023
                np.array(a), np.array(b)
            )
        found = tinyjax.value_and_grad(sums, (0, 1))(np.array(a), np.array(b))
        for x, y in zip(tinyjax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(x, y, 1e-12)


# Times that are none


@pytest.mark.parametrize("gradient", ["adjoint", "checkpointed"])
def test_the_state_at_a_time_that_is_nan_is_nan(gradient: Any) -> None:
    def states(times: Any) -> Any:
        return odeint(lambda y, t: -y, jnp.array([1.0, 2.0]), times, gradient=gradient)

    for times, known in (
        ([0.0, nan, 2.0], [True, False, True]),
        ([0.0, 1.0, nan], [True, True, False]),
        ([nan, 1.0, 2.0], [True, False, False]),
        ([1.0, nan, 0.0], [True, False, True]),
    ):
        found = np.asarray(states(np.array(times)))
        exact = np.exp(times[0] - np.array(times))[:, None] * np.array([1.0, 2.0])
        exact[0] = [1.0, 2.0]
        np.testing.assert_allclose(found, np.where(np.array(known)[:, None], exact, nan), 1e-5)


# Types that NumPy does not know

THEIRS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "matmul": jnp.matmul,
    "dot": jnp.dot,
    "vdot": jnp.vdot,
    "inner": jnp.inner,
    "outer": jnp.outer,
    "einsum": lambda x, y: jnp.einsum("ij,jk->ik", x, y),
    "add": jnp.add,
    "divide": jnp.divide,
    "where": lambda x, y: jnp.where(x > 0, x, y),
    "sum": lambda x, y: jnp.sum(x),
    "mean": lambda x, y: jnp.mean(y),
    "sort": lambda x, y: jnp.sort(x, axis=0),
    "searchsorted": lambda x, y: jnp.searchsorted(x[0], x),
}


@pytest.mark.parametrize("name", THEIRS)
def test_evaluation_gives_the_type_that_is_staged(name: str) -> None:
    """A float8 is of NumPy's kind 'f' or 'V', and neither says what NumPy makes of it."""
    narrow = (*FLOAT8, bfloat16, np.dtype(np.float16))
    for a in narrow:
        for b in (*ALL, *narrow):
            x, y = jnp.ones((2, 2), a), jnp.ones((2, 2), b)
            try:
                staged = tinyjax.eval_shape(THEIRS[name], x, y)
            except tinyjax.errors.PromotionError:
                continue
            found = THEIRS[name](x, y)
            assert (found.dtype, found.shape) == (staged.dtype, staged.shape), (a, b)


@pytest.mark.usefixtures("each_tier")
def test_sums_of_narrow_floats_are_kept_in_float32() -> None:
    for dtype in (*FLOAT8, bfloat16):
        x = jnp.ones(64, dtype)
        for fun in (jnp.sum, lambda x: jnp.cumsum(x)[-1], lambda x: jnp.matmul(x, x)):
            # 64 or, in a type that ends before, the same infinity or NaN
            expected = np.float64(np.asarray(64.0).astype(dtype))
            np.testing.assert_array_equal(np.float64(fun(x)), expected)
            np.testing.assert_array_equal(np.float64(tinyjax.jit(fun)(x)), expected)


#: Extrema of what XLA computes for several loops, and rounds in each as its multiplications and
#: additions come together there.
ROUNDED_TWICE: Final[dict[str, Callable[[Any], Any]]] = {
    "greatest": lambda u: jnp.max(jnp.stack([u, u * 0.9, u[::-1]]), 0),
    "least of two axes": lambda u: jnp.min(jnp.stack([u, u * 0.9, u[::-1], u * 1.2])[None], (0, 1)),
    "greatest in a window": lambda u: lax.reduce_window(u, -inf, lax.max, (2,), (1,), "VALID"),
    "least in a window": lambda u: lax.reduce_window(
        u, inf, lax.min, (2,), (1,), "VALID", None, (2,)
    ),
    "so far": lambda u: lax.cummax(u) + 2 * lax.cummin(u * 0.9, reverse=True),
    "at places": lambda u: (u * 0.9).at[np.array([0, 1, 0, 1, 2, 6, 2])].min(u[::-1]),
    "of two": lambda u: jnp.maximum(u, u[::-1]) + jnp.minimum(u, u[::-1] * 0.9),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("twice", [lambda x: x[::-1] * 0.61, lambda x: jnp.arange(x.size) * x])
@pytest.mark.parametrize("name", ROUNDED_TWICE)
def test_extrema_of_what_is_computed_twice(name: str, twice: Callable[[Any], Any]) -> None:
    """Compared with the result, none of the elements may be equal to it, and all slopes zero."""

    def total(x: Any) -> Any:
        return jnp.sum(jnp.sin(ROUNDED_TWICE[name](x * 1.37 + twice(x))))

    def slopes(x: Any) -> tuple[Any, ...]:
        return tinyjax.grad(total)(x), tinyjax.jacfwd(total)(x), tinyjax.hessian(total)(x)

    compiled = tinyjax.jit(slopes)
    for x in np.random.default_rng(0).uniform(-1.5, 1.5, (6, 7)):
        for found, expected in zip(compiled(x), slopes(x), strict=True):
            np.testing.assert_allclose(found, expected, 1e-9, 1e-9)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("perm", [(1, 0, 2), (2, 0, 1), (2, 1, 0)])
def test_extrema_of_what_was_transposed(perm: tuple[int, ...]) -> None:
    """Computed once, the array lies in memory as it did before it was transposed."""

    def total(x: Any) -> Any:
        moved = jnp.transpose(jnp.transpose(jnp.sin(x), perm) * 2, (1, 2, 0)) + 1
        return jnp.sum(jnp.max(moved, axis=1) ** 2)

    x = np.random.default_rng(0).integers(0, 3, (2, 3, 4)).astype(np.float32)
    slope = tinyjax.jit(tinyjax.grad(total), tier="compiled")
    np.testing.assert_allclose(slope(x), tinyjax.grad(total)(x), 1e-6)
    once = re.search(r"@optimization_barrier\w*\(%arg0: (.*?)\)", slope.lower(x).as_text())
    assert once
    assert once[1] == "tensor<2x3x4xf32>"


# Dtypes that cannot count the elements

#: Functions of numpy's and of integers or floats in a narrow dtype, of which there are more.
COUNTED: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "argsort": lambda np, x: np.argsort(x, stable=True),
    "searchsorted": lambda np, x: np.searchsorted(np.sort(x), x, side="right"),
    "nonzero": lambda np, x: np.nonzero(x)[0],
    "bincount": lambda np, x: np.bincount(x.astype("uint8")),
    "bincount of weights": lambda np, x: np.bincount(x.astype("uint8"), weights=x),
    "unique": lambda np, x: np.unique(x, return_counts=True)[1],
    "mean": lambda np, x: np.mean(x),
    "var": lambda np, x: np.var(x),
    "average": lambda np, x: np.average(x, weights=np.ones_like(x)),
    "median": lambda np, x: np.median(x),
    "quantile": lambda np, x: np.quantile(x, 0.75, method="nearest"),
    "cov": lambda np, x: np.cov(x),
    "corrcoef": lambda np, x: np.corrcoef(x, x[::-1])[0, 0],
    "histogram": lambda np, x: np.histogram(x, 5)[0],
    "unravel_index": lambda np, x: np.unravel_index(x.astype("uint8")[:9], (2, 300))[1],
    "indexing": lambda np, x: np.arange(300)[-x.astype("int8") - 1],
    "take": lambda np, x: np.take(np.arange(300), x.astype("uint8")),
    "partition": lambda np, x: np.sort(np.partition(x, 280)[:280]),
    "norm": lambda np, x: np.linalg.norm(np.concatenate([x.astype("float16")[:300]] * 2) * 30),
    "norm of order 3": lambda np, x: np.linalg.norm(x.astype("float16")[:300] * 9, 3),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize(
    ("dtype", "size"), [("int8", 300), ("uint8", 1000), ("float16", 70000), ("bfloat16", 3000)]
)
def test_counts_places_and_sums_do_not_take_the_dtype(name: str, dtype: str, size: int) -> None:
    x = np.random.default_rng(0).integers(0, 4 if "float" in dtype else 100, size)
    fun = COUNTED[name]
    wide = x.astype(float) if "float" in dtype else x
    if "norm" in name:
        with np.errstate(over="ignore"):
            factor, order = (30, 2) if name == "norm" else (9, 3)
            line = np.concatenate([wide[:300]] * 2) if order == 2 else wide[:300]
            expected = np.linalg.norm(line.astype(float) * factor, order)
    else:
        expected = fun(np, wide)
    mine = jnp.asarray(x).astype(dtype)
    found = fun(jnp, mine)
    error = 2e-2 if found.dtype == bfloat16 else 3e-3
    np.testing.assert_allclose(np.asarray(found, float), expected, error)
    if name not in ("nonzero", "unique", "bincount", "bincount of weights"):
        compiled = tinyjax.jit(lambda x: fun(jnp, x))(mine)
        np.testing.assert_allclose(np.asarray(compiled, float), expected, error)


@pytest.mark.usefixtures("each_tier")
def test_narrow_integers_choose_among_many() -> None:
    x = np.array([0, 3, 100, 127], np.int8)
    cases = [np.full(4, i) for i in range(300)]
    np.testing.assert_array_equal(lax.select_n(x, *cases), x)
    places = jnp.asarray(np.array([250, 3], np.uint8))
    deleted = tinyjax.jit(lambda p: jnp.delete(jnp.arange(600), p, assume_unique_indices=True))
    np.testing.assert_array_equal(deleted(places), np.delete(np.arange(600), [250, 3]))
    inserted = jnp.insert(jnp.arange(600), places, 7)
    np.testing.assert_array_equal(inserted, np.insert(np.arange(600), [250, 3], 7))
    flat = nn.softmax(jnp.zeros(70000, jnp.float16))
    np.testing.assert_allclose(flat[:3], 1 / 70000, 1e-2)
    logarithms = nn.log_softmax(jnp.zeros(70000, jnp.float16))
    np.testing.assert_allclose(logarithms[:3], -np.log(70000), 1e-3)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("name", ["kl_div", "rel_entr", "loggamma", "hyp1f1"])
def test_special_functions_at_ends_are_those_of_scipy(name: str) -> None:
    ends = np.array([0.0, -1.0, -2.0, 1.0, 2.0, inf, -inf, nan])
    finite = ends[np.isfinite(ends)]
    operands = {"loggamma": [ends], "hyp1f1": [finite] * 3}.get(name, [ends] * 2)
    args = [grid.ravel() for grid in np.meshgrid(*operands)]
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(*args)
    fun = getattr(tinyjax.scipy.special, name)
    for way in (fun, tinyjax.jit(fun, tier="compiled")):
        found = way(*args)
        np.testing.assert_allclose(found, expected, 1e-12, 1e-14)


@pytest.mark.usefixtures("each_tier")
def test_cumulative_sums_of_more_elements_than_an_int32_counts() -> None:
    many: Any = tinyjax.ShapeDtypeStruct((2**31 + 1,), "int8")
    compiled = tinyjax.jit(jnp.cumsum).lower(many).compile()
    assert compiled.memory_analysis().argument_size_in_bytes == 2**31 + 1


_MATRIX: Final = jnp.arange(12.0).reshape(4, 3)
_HEADS: Final = jnp.cos(jnp.arange(24.0)).reshape(1, 4, 2, 3)
#: Calls in which an int says how many, how far or where.
COUNTS: Final[dict[str, Callable[[Any], Any]]] = {
    "array_split": lambda n: jnp.array_split(_MATRIX, n(3))[0],
    "affine_transform": lambda n: ndimage.affine_transform(
        _MATRIX, jnp.eye(2), output_shape=(n(2), n(3))
    ),
    "attention": lambda n: nn.dot_product_attention(_HEADS, _HEADS, _HEADS, local_window_size=n(1)),
    "attention to one side": lambda n: nn.dot_product_attention(
        _HEADS, _HEADS, _HEADS, local_window_size=(n(1), n(0))
    ),
    "a sparse power": lambda n: (BCOO.fromdense(_MATRIX) ** n(2)).todense(),
    "a sparse sum": lambda n: BCOO.fromdense(_MATRIX).sum(n(1)).todense(),
    "batch norm": lambda n: stax.BatchNorm(n(0))[0](random.key(0), (2, 3))[1],
    "freqz": lambda n: signal.freqz(_MATRIX[0], worN=n(3)),
    "in_axes": lambda n: tinyjax.vmap(jnp.sum, in_axes=n(1))(_MATRIX),
    "argnums": lambda n: tinyjax.grad(jnp.vdot, argnums=n(1))(_MATRIX, _MATRIX),
    "length": lambda n: lax.scan(lambda c, _: (c * 2.0, c), 1.0, None, length=n(3)),
    "norm": lambda n: jnp.linalg.norm(_MATRIX[0], ord=n(3)),
    "pad": lambda n: jnp.pad(_MATRIX, n(1)),
    "split": lambda n: jnp.split(_MATRIX, n(2)),
    "zoom": lambda n: ndimage.zoom(_MATRIX, n(2)),
}


@pytest.mark.parametrize("name", COUNTS)
def test_ints_of_numpy_count_as_ints_of_python_do(name: str) -> None:
    expected = tinyjax.tree.leaves(COUNTS[name](int))
    for make in (np.int64, np.uint8):
        for x, y in zip(tinyjax.tree.leaves(COUNTS[name](make)), expected, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)
