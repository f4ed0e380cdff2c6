"""Special functions against SciPy, near and far; scipy.special and scipy.stats against jax."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import pytest
import scipy.special
import scipy.stats

import tinyjax
import tinyjax.scipy
from raising import raises
from tinyjax import lax
from tinyjax._library.special import declaring
from tinyjax._primitives import special as primitives_special
from tinyjax.dtypes import HostArray
from tinyjax.errors import AxisError, DifferentiationError, DtypeError
from tinyjax.scipy import special
from tinyjax.scipy.stats import norm

pytestmark = pytest.mark.usefixtures("compiled")

RNG = np.random.default_rng(12)


def spread(*ends: float) -> HostArray:
    """Numbers between consecutive ends, and the ends."""
    parts = [RNG.uniform(a, b, 500) for a, b in pairwise(ends)]
    return np.concatenate([*parts, ends])


def small(n: int = 200) -> HostArray:
    return 10.0 ** RNG.uniform(-300, 0, n)


def relative_error(got: Any, expected: HostArray) -> float:
    found = np.asarray(got)
    assert found.dtype == expected.dtype
    assert not (np.isnan(found) & ~np.isnan(expected)).any()
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(all="ignore"):
        error = np.abs(found - expected) / np.abs(expected)
    return float(np.where(same, 0, error).max())


# SciPy's own erfc loses digits far out: it squares its argument, as the compiled form does.
POINTS: dict[str, tuple[Callable[..., Any], Callable[..., Any], HostArray, float]] = {
    "erf": (
        primitives_special.erf,
        scipy.special.erf,
        np.r_[spread(-7, -1, 0, 1, 7), small(), -small()],
        1e-15,
    ),
    "erfc": (primitives_special.erfc, scipy.special.erfc, spread(-7, -1, 0, 1, 4, 5), 1e-14),
    "erf_inv": (
        primitives_special.erf_inv,
        scipy.special.erfinv,
        np.r_[spread(-1, -0.85, 0, 0.85, 1), 1 - small(50), small(), -small()],
        2e-15,
    ),
    "lgamma": (
        primitives_special.lgamma,
        scipy.special.gammaln,
        np.r_[spread(2.1, 3, 8, 50), spread(1.1, 1.9), small(), 1 / small(), np.arange(9.0)],
        1e-14,
    ),
    "lgamma below 0": (
        primitives_special.lgamma,
        scipy.special.gammaln,
        spread(-1.9, -1.1, -0.1),
        1e-14,
    ),
    "digamma": (
        primitives_special.digamma,
        scipy.special.digamma,
        np.r_[spread(1.6, 8, 50, 1e9), small()],
        2e-15,
    ),
    "digamma below 0": (
        primitives_special.digamma,
        scipy.special.digamma,
        spread(-0.9, -0.6),
        1e-14,
    ),
}


@pytest.mark.parametrize("name", POINTS)
def test_agrees_with_scipy_to_the_last_digits(name: str) -> None:
    fun, reference, points, tolerance = POINTS[name]
    assert relative_error(fun(tinyjax.numpy.asarray(points)), reference(points)) < tolerance


@pytest.mark.parametrize("name", [name for name in POINTS if name != "erf_inv"])
def test_narrow_floats_are_rounded_once(name: str) -> None:
    fun, reference, points, _ = POINTS[name]
    for dtype in (np.float16, np.float32):
        with np.errstate(all="ignore"):
            narrow = points.astype(dtype)
            narrow = narrow[narrow != 0]
            expected = reference(narrow.astype(np.float64)).astype(dtype)
        few = [fun(tinyjax.numpy.asarray(narrow[i : i + 100])) for i in range(0, narrow.size, 100)]
        # small arrays are evaluated in another way
        for got in (np.asarray(fun(tinyjax.numpy.asarray(narrow))), np.concatenate(few)):
            assert relative_error(got, expected) <= np.finfo(dtype).eps
            assert (got == expected).mean() > 0.999


def test_erf_inv_in_float32_is_what_is_compiled() -> None:
    # whose error is that of 1 - x^2, and not the least possible
    x = np.r_[spread(-1, -0.9, 0, 0.9, 1)].astype(np.float32)
    expected = scipy.special.erfinv(x)
    inside = np.abs(x) < 1
    got = np.asarray(primitives_special.erf_inv(tinyjax.numpy.asarray(x)))
    compiled = np.asarray(tinyjax.jit(primitives_special.erf_inv)(x))
    np.testing.assert_allclose(got, compiled, 1e-6)
    np.testing.assert_allclose(got[inside], expected[inside], 2e-5)
    assert (got[~inside] == x[~inside] * np.inf).all()


def test_the_far_tail_of_erfc_has_all_its_digits() -> None:
    # by the asymptotic series: A. and S. 7.1.23
    x = np.array([15.0, 20.25, 23.61184420687357, 26.0])
    terms = np.ones_like(x)
    series = np.ones_like(x)
    for k in range(1, 20):
        terms *= -(2 * k - 1) / (2 * x * x)
        series += terms
    head = np.round(x * 64) / 64
    square = np.exp(-head * head) * np.exp(-(x - head) * (x + head))
    expected = square * series / (x * np.sqrt(np.pi))
    assert relative_error(primitives_special.erfc(tinyjax.numpy.asarray(x)), expected) < 1e-15


@pytest.mark.parametrize(
    "fun",
    [
        primitives_special.erf,
        primitives_special.erfc,
        primitives_special.lgamma,
        primitives_special.digamma,
    ],
)
def test_few_numbers_in_single_precision_are_those_of_many(fun: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    ends = [0, -0.0, -1, 0.5, 1, 1.4616321, 1.5, 2, 8, np.inf, -np.inf, np.nan]
    x = np.array([*ends, *rng.normal(size=3000) * 10.0 ** rng.integers(-8, 4, 3000)], np.float32)
    many = np.asarray(fun(tinyjax.numpy.asarray(x)))
    few = [np.asarray(fun(tinyjax.numpy.asarray(part))) for part in np.array_split(x, 100)]
    np.testing.assert_allclose(np.concatenate(few), many, 1.2e-7)


def test_log_gamma_near_its_zeros() -> None:
    z = np.array([1e-3, 1e-6, 1e-9, -1e-6])
    euler, zeta2, zeta3 = np.euler_gamma, np.pi**2 / 6, scipy.special.zeta(3)
    at_one = -euler * z + zeta2 * z**2 / 2 - zeta3 * z**3 / 3
    at_two = (1 - euler) * z + (zeta2 - 1) * z**2 / 2 - (zeta3 - 1) * z**3 / 3
    # 1 + z is rounded: the derivative says how much that matters
    for base, expected in ((1.0, at_one), (2.0, at_two)):
        x = base + z
        slope = -euler if base == 1 else 1 - euler
        expected = expected + slope * ((x - base) - z)
        np.testing.assert_allclose(
            np.asarray(primitives_special.lgamma(tinyjax.numpy.asarray(x))), expected, 1e-9
        )


def test_values_at_poles_and_ends() -> None:
    inf, nan = np.inf, np.nan
    ends = np.array([0.0, -0.0, -1.0, -20.0, inf, -inf, nan])

    def at_ends(fun: Callable[..., Any]) -> HostArray:
        return np.asarray(fun(tinyjax.numpy.asarray(ends)))

    np.testing.assert_array_equal(
        at_ends(primitives_special.lgamma), [inf, inf, inf, inf, inf, inf, nan]
    )
    np.testing.assert_array_equal(
        at_ends(primitives_special.digamma), [-inf, inf, nan, nan, inf, nan, nan]
    )
    np.testing.assert_array_equal(
        at_ends(primitives_special.erf),
        [0, 0, primitives_special._erf(-np.ones(1))[0], -1, 1, -1, nan],
    )
    np.testing.assert_array_equal(
        at_ends(primitives_special.erfc)[[0, 1, 3, 4, 5, 6]], [1, 1, 2, 0, 2, nan]
    )
    np.testing.assert_array_equal(
        at_ends(primitives_special.erf_inv), [0, 0, -inf, nan, nan, nan, nan]
    )


def test_trigamma_far_below_zero() -> None:
    x = np.array([-0.3, -10.7, -1234.25])
    # the reflection formula, A. and S. 6.4.7
    expected = (np.pi / np.sin(np.pi * x)) ** 2 - scipy.special.polygamma(1, 1 - x)
    np.testing.assert_allclose(special.polygamma(1, x), expected, 1e-11)


def test_zeta_and_polygamma_where_they_are_not_defined() -> None:
    s, q = np.array([1.0, 0.5, 2.0, 2.5]), np.array([2.0, 2.0, -1.0, -0.5])
    np.testing.assert_array_equal(special.zeta(s, q), [np.inf, np.nan, np.inf, np.nan])
    np.testing.assert_array_equal(special.polygamma(np.array([0.5, -1.0]), 2.0), [np.nan, np.nan])
    np.testing.assert_allclose(special.zeta(np.array([2.0, 30.0, 80.0]), 0.25), scipy_zeta(), 1e-14)
    np.testing.assert_allclose(special.zeta(2.0), np.pi**2 / 6, 1e-6)


def test_slopes_of_digamma_far_below_zero() -> None:
    """By reflection, where XLA's polygamma is wrong; XLA's of other orders is not used there."""
    x = np.array([-0.5, -3.2, -9.1, -20.5, -170.5, -1000.3])
    expected = scipy.special.polygamma(1, 1 - x)
    expected = (np.pi / np.sin(np.pi * (x - np.rint(x)))) ** 2 - expected
    with tinyjax.enable_x64(True):
        slope = tinyjax.grad(lambda x: special.digamma(x).sum())
        for found in (slope(x), tinyjax.jit(slope)(x), tinyjax.jit(special.polygamma)(1, x)):
            np.testing.assert_allclose(found, expected, 1e-9)
        assert np.isnan(tinyjax.jit(special.polygamma, tier="compiled")(3, -20.5))


def test_relative_entropies_of_nan() -> None:
    p, q = np.array([np.nan, np.nan, 0.0, -1.0]), np.array([0.5, -1.0, np.nan, np.nan])
    for found in (special.rel_entr(p, q), tinyjax.jit(special.kl_div)(p, q)):
        assert np.isnan(found).all()


@pytest.mark.parametrize("name", ["zeta", "polygamma"])
def test_poles_and_infinities_are_those_of_jax(name: str) -> None:
    orders = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [2.5], [0.5]])
    places = np.array([-np.inf, -2.0, -1.0, -0.0, 0.0, 0.5, 2.0, np.inf, np.nan])
    a, b = (np.array(x) for x in np.broadcast_arrays(orders, places))
    with jax.enable_x64(True):
        expected = getattr(jax.lax, name)(a, b)
    for fun in (getattr(lax, name), tinyjax.jit(getattr(lax, name))):
        np.testing.assert_allclose(fun(a, b), expected, 1e-11)


def scipy_zeta() -> HostArray:
    return np.asarray(scipy.special.zeta([2.0, 30.0, 80.0], 0.25))


def test_there_is_no_derivative_in_an_order() -> None:
    with raises(DifferentiationError, match="polygamma has no derivative in its order"):
        tinyjax.grad(special.polygamma)(1.0, 2.0)
    with raises(DifferentiationError, match="zeta has no derivative in its exponent"):
        tinyjax.grad(special.zeta)(2.0, 2.0)


def test_integers_are_not_taken_by_primitives_but_by_functions() -> None:
    with raises(DtypeError, match="erf does not accept dtype int32"):
        tinyjax.eval_shape(primitives_special.erf, np.int32(1))
    assert special.erf(1).dtype == np.float32


# tinyjax.scipy

X = np.r_[RNG.normal(size=60) * 4, [0.5, 1.0, 2.0, 30.0, -30.0]]
Y = np.r_[RNG.normal(size=60) * 4, [0.0, 1.0, 3.0, 20.0, -1.0]]
UNARY: dict[str, HostArray] = {
    "erf": X,
    "erfc": X,
    "erfinv": np.tanh(X / 8),
    "ndtr": X,
    "gammaln": X,
    "digamma": np.abs(X),
    "gamma": X,
    "gammasgn": np.r_[X, -1.0, 0.0],
    "expit": X,
    "logit": scipy.special.expit(X / 4),
    "entr": np.abs(X),
}


def assert_like_jax(ours: Callable[..., Any], theirs: Callable[..., Any], *args: HostArray) -> None:
    """The values and the derivatives of jax, in float64."""
    operands = tuple(range(len(args)))
    with jax.enable_x64(True):
        value = jax.jit(theirs)(*args)
        slopes = jax.jit(jax.grad(lambda *xs: theirs(*xs).sum(), operands))(*args)
    np.testing.assert_allclose(ours(*args), value, 1e-11, 1e-13)
    found = tinyjax.grad(lambda *xs: ours(*xs).sum(), operands)(*args)
    for a, b in zip(found, slopes, strict=True):
        np.testing.assert_allclose(a, b, 1e-9, 1e-12)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_argument(name: str) -> None:
    assert_like_jax(getattr(special, name), getattr(jax.scipy.special, name), UNARY[name])


@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "rel_entr", "kl_div"])
def test_functions_of_two_arguments(name: str) -> None:
    x, y = (X, Y) if name.startswith("x") else (np.abs(X) + 0.1, np.abs(Y) + 0.1)
    assert_like_jax(getattr(special, name), getattr(jax.scipy.special, name), x, np.abs(y))


def test_functions_promote_and_broadcast() -> None:
    assert special.xlogy(2, np.ones((3, 1), np.float32)).shape == (3, 1)
    assert special.betaln(np.float32(1), np.ones(3)).dtype == np.float64
    np.testing.assert_allclose(special.betaln(np.abs(X), 2.5), scipy.special.betaln(np.abs(X), 2.5))
    np.testing.assert_allclose(special.beta(2.0, np.array([3.0, -0.5])), [1 / 12, -4.0], 1e-6)
    np.testing.assert_allclose(special.factorial(np.array([0, 3, -1])), [1, 6, 0], 1e-6)
    np.testing.assert_allclose(special.polygamma(1, 1.0), np.pi**2 / 6, 1e-6)


def test_what_a_zero_factor_is_stronger_than() -> None:
    y = np.array([0.0, -1.0, np.inf, np.nan])
    np.testing.assert_array_equal(special.xlogy(0.0, y), [0, 0, 0, np.nan])
    np.testing.assert_array_equal(special.xlog1py(0.0, y - 1), [0, 0, 0, np.nan])
    np.testing.assert_array_equal(special.entr(np.array([0.0, -1.0])), [0, -np.inf])
    p, q = np.array([0.0, 1.0, -1.0]), np.array([0.0, 0.0, 1.0])
    np.testing.assert_array_equal(special.rel_entr(p, q), [0, np.inf, np.inf])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_ndtr_on_both_sides(dtype: Any) -> None:
    x = np.r_[spread(-100, -20, -10, 0, 5, 8), -1e4, 1e4].astype(dtype)
    expected = scipy.special.log_ndtr(x.astype(np.float64))
    # the rounding of x^2 is an error of x^2 units in the logarithm's argument
    np.testing.assert_allclose(special.log_ndtr(x), expected, 64 * np.finfo(dtype).eps)
    slope = np.exp(-0.5 * x.astype(np.float64) ** 2 - expected) / np.sqrt(2 * np.pi)
    wide = x.astype(np.float64)
    found = tinyjax.grad(lambda x: special.log_ndtr(x).sum())(wide)
    np.testing.assert_allclose(found, slope, 1e-8)


@pytest.mark.parametrize("name", ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"])
def test_the_normal_distribution(name: str) -> None:
    loc, scale = np.array([0.25, -1.0]), np.array([2.0, 0.5])
    x = RNG.normal(size=(40, 1)) * 5
    got = getattr(norm, name)(x, loc, scale)
    np.testing.assert_allclose(got, getattr(scipy.stats.norm, name)(x, loc, scale), 1e-12)
    np.testing.assert_allclose(
        getattr(norm, name)(np.float32(1)), getattr(scipy.stats.norm, name)(1), 1e-6
    )


OTHER_RNG = np.random.default_rng(13)


@pytest.mark.parametrize("compiled", [False, True])
def test_bessel_functions_and_spherical_harmonics_are_those_of_scipy(compiled: bool) -> None:
    z = np.r_[OTHER_RNG.uniform(-8, 8, 20), 0.0]
    found = tinyjax.jit(special.bessel_jn, static_argnames="v")(z, v=5)
    expected = [scipy.special.jv(order, z) for order in range(6)]
    np.testing.assert_allclose(found, expected, 1e-11, 1e-13)

    n = OTHER_RNG.integers(0, 7, 40)
    m = OTHER_RNG.integers(-n, n + 1)
    theta, phi = OTHER_RNG.uniform(-9, 9, 40), OTHER_RNG.uniform(-6, 6, 40)

    def harmonic(n: Any, m: Any, theta: Any, phi: Any) -> Any:
        return special.sph_harm_y(n, m, theta, phi, n_max=6)

    fun = tinyjax.jit(harmonic) if compiled else harmonic
    expected = scipy.special.sph_harm_y(n, m, theta, phi)
    np.testing.assert_allclose(fun(n, m, theta, phi), expected, 1e-11, 1e-13)
    for given in ({"v": -1}, {"v": 2**70}, {"v": 2, "n_iter": 2**70}):
        with raises(tinyjax.errors.ArgumentError, match="bessel_jn"):
            special.bessel_jn(z, **given)


@pytest.mark.parametrize("compiled", [False, True])
def test_functions_of_complex_numbers(compiled: bool) -> None:
    z = OTHER_RNG.normal(size=200) + 1j * OTHER_RNG.normal(size=200)
    z *= np.exp(OTHER_RNG.normal(size=200))
    for fun, reference in (
        (special.loggamma, scipy.special.loggamma),
        (special.wofz, scipy.special.wofz),
        (special.erfcx, scipy.special.erfcx),
        (special.gamma, scipy.special.gamma),
        (lambda z: special.xlogy(z, z.conj() - 1), lambda z: scipy.special.xlogy(z, z.conj() - 1)),
        (lambda z: special.xlog1py(z, 2 * z), lambda z: scipy.special.xlog1py(z, 2 * z)),
    ):
        expected = reference(z)
        known = np.isfinite(expected)
        found = np.asarray((tinyjax.jit(fun) if compiled else fun)(z))
        np.testing.assert_allclose(found[known], expected[known], 1e-11, 1e-12)
    slope = tinyjax.vmap(tinyjax.grad(special.loggamma, holomorphic=True))(z[:20])
    np.testing.assert_allclose(slope, scipy.special.digamma(z[:20]), 1e-10)
    assert np.isnan(special.loggamma(-0.5))
    assert np.isnan(special.gamma(np.array([0j, -3]))).all()
    zero, points = np.zeros(4, complex), np.array([0, -1, np.inf, complex(0, np.inf)])
    np.testing.assert_array_equal(special.xlogy(zero, points), zero)
    np.testing.assert_array_equal(special.xlog1py(zero, points), zero)


#: Where the compiled forms are held against SciPy, more widely than in tests/specs.
WIDE: dict[str, tuple[HostArray, ...]] = {
    "gammainc": (10.0 ** OTHER_RNG.uniform(-6, 3, 500), 10.0 ** OTHER_RNG.uniform(-4, 3, 500)),
    "gammaincc": (10.0 ** OTHER_RNG.uniform(-6, 2.3, 500), 10.0 ** OTHER_RNG.uniform(-4, 2.5, 500)),
    "betainc": (
        10.0 ** OTHER_RNG.uniform(-2, 4, 500),
        10.0 ** OTHER_RNG.uniform(-2, 4, 500),
        OTHER_RNG.uniform(0, 1, 500),
    ),
    "ndtri": (np.r_[OTHER_RNG.uniform(0, 1, 200), 10.0 ** OTHER_RNG.uniform(-300, 0, 200)],),
    "dawsn": (OTHER_RNG.uniform(-40, 40, 500),),
    "erfcx": (OTHER_RNG.uniform(-20, 400, 500),),
    "exp1": (10.0 ** OTHER_RNG.uniform(-6, 2.8, 500),),
    "expn": (OTHER_RNG.integers(0, 60, 500).astype(float), 10.0 ** OTHER_RNG.uniform(-4, 2.5, 500)),
    "spence": (10.0 ** OTHER_RNG.uniform(-6, 6, 500),),
    "owens_t": (OTHER_RNG.normal(size=500) * 4, OTHER_RNG.normal(size=500) * 3),
    "hyp1f1": (
        OTHER_RNG.uniform(-3, 6, 500),
        OTHER_RNG.uniform(0.2, 8, 500),
        np.r_[OTHER_RNG.uniform(-30, 40, 400), -(10.0 ** OTHER_RNG.uniform(1, 7, 100))],
    ),
    "hyp2f1": (
        OTHER_RNG.uniform(-3, 6, 500),
        OTHER_RNG.uniform(-3, 6, 500),
        OTHER_RNG.uniform(0.2, 8, 500),
        OTHER_RNG.uniform(-5, 1, 500),
    ),
    "poch": (OTHER_RNG.uniform(-5, 60, 500), OTHER_RNG.uniform(-5, 60, 500)),
    "comb": (OTHER_RNG.uniform(5, 60, 500), OTHER_RNG.uniform(0, 5, 500)),
    "i0e": (10.0 ** OTHER_RNG.uniform(-3, 5, 500),),
    "i1e": (-(10.0 ** OTHER_RNG.uniform(-3, 5, 500)),),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", WIDE)
def test_compiled_functions_are_those_of_scipy(name: str) -> None:
    args = WIDE[name]
    expected = getattr(scipy.special, name)(*args)
    np.testing.assert_allclose(tinyjax.jit(getattr(special, name))(*args), expected, 1e-10, 1e-290)


# logsumexp

LOGITS = RNG.normal(size=(4, 5))
INFINITE = LOGITS.copy()
INFINITE[1] = -np.inf
INFINITE[2, 2] = np.inf
INFINITE[3, 1] = -np.inf
FACTORS = RNG.normal(size=(4, 5))
MASK = RNG.random((4, 5)) > 0.5

KEYWORDS: dict[str, dict[str, Any]] = {
    "all": {},
    "rows": {"axis": 1},
    "kept": {"axis": 0, "keepdims": True},
    "both": {"axis": (0, 1)},
    "factors": {"axis": 1, "b": FACTORS},
    "signs": {"axis": 1, "b": FACTORS, "return_sign": True},
    "mask": {"axis": 1, "where": MASK},
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_logsumexp_is_that_of_jax(name: str) -> None:
    keywords = KEYWORDS[name]
    theirs = jax.jit(lambda values: jax.scipy.special.logsumexp(values, **keywords))
    for values in (LOGITS, 1000 * LOGITS, INFINITE, LOGITS + 1j * FACTORS):
        with jax.enable_x64(True):
            expected = theirs(values)
        got = special.logsumexp(values, **keywords)
        assert jax.tree.structure(expected).num_leaves == len(tinyjax.tree.leaves(got))
        for a, b in zip(tinyjax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, 1e-12, 1e-12)


def test_logsumexp_has_the_derivative_of_jax() -> None:
    slope_of_jax = jax.jit(jax.grad(lambda x: jax.scipy.special.logsumexp(x, 1).sum()))
    for values in (LOGITS, 1000 * LOGITS, INFINITE):
        with jax.enable_x64(True):
            expected = slope_of_jax(values)
        got = tinyjax.grad(lambda x: special.logsumexp(x, 1).sum())(values)
        np.testing.assert_allclose(got, expected, 1e-12)


def test_logsumexp_of_nothing_is_the_logarithm_of_zero() -> None:
    assert float(special.logsumexp(np.zeros(0, np.float32))) == -np.inf
    assert float(special.logsumexp(np.full(3, -np.inf))) == -np.inf
    with pytest.raises(AxisError):
        special.logsumexp(np.zeros(3), axis=1)


@pytest.mark.parametrize(
    ("a", "b", "c", "x"),
    [
        (-2.0, 1.5, -3.0, 0.5),
        (-2.0, 1.5, -1.0, 0.5),
        (1.75, 0.45, -1.0, -0.4),
        (1.75, 0.45, 0.0, 0.4),
        (1.0, 2.0, -1.0, 0.0),
        (-3.0, 1.5, -3.0, 0.5),
        (0.0, 1.5, -1.0, 0.5),
        (-2.0, 1.5, -3.0, 1.5),
    ],
)
def test_hyp2f1_at_poles(a: float, b: float, c: float, x: float) -> None:
    """If c is no positive number, the series has a pole unless it ends before."""
    arguments = [np.float64(value) for value in (a, b, c, x)]
    expected = scipy.special.hyp2f1(*arguments)
    np.testing.assert_allclose(tinyjax.jit(special.hyp2f1)(*arguments), expected, rtol=1e-12)
    np.testing.assert_allclose(special.hyp2f1(*arguments), expected, rtol=1e-12)


@pytest.mark.parametrize("b", [np.inf, -np.inf])
def test_hyp1f1_has_its_limit_at_infinite_parameters(b: float) -> None:
    a, x = (y.astype(np.float32) for y in np.meshgrid([2.5, -2, -2.5], [-20, -1.5, 0, 1.5]))
    wanted = scipy.special.hyp1f1(a, np.float32(b), x)
    for fun in (special.hyp1f1, tinyjax.jit(special.hyp1f1)):
        np.testing.assert_array_equal(fun(a, np.full_like(a, b), x), wanted)


def test_large_arguments_of_hyp1f1_end() -> None:
    x = np.array([1e30, 1e300, -1e30, np.inf, np.nan])
    for fun in (special.hyp1f1, tinyjax.jit(special.hyp1f1)):
        found = np.asarray(fun(0.5, 1.5, x))
        assert np.isposinf(found[[0, 1, 3]]).all()
        np.testing.assert_allclose(found[2], 8.862269254527579e-16, rtol=1e-12)
        assert np.isnan(found[4])


def test_scipy_is_given_arrays_for_scalars(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's functions return scalars for arrays of rank 0, which take other ways in SciPy."""

    class Watched:
        def __getattr__(self, name: str) -> Callable[..., Any]:
            def call(*operands: object) -> Any:
                assert all(isinstance(x, np.ndarray) for x in operands), name
                return getattr(scipy.special, name)(*operands)

            return call

    monkeypatch.setattr(declaring, "scipy_special", Watched)
    for name, points in WIDE.items():
        getattr(special, name)(*(float(x[0]) for x in points))


def test_the_compiled_logarithm_of_gamma_has_its_digits_near_its_zeros() -> None:
    at = [1.0000001, 0.9999999, 1.00001, 2.0000002, 1.9999999, 2.001, 3.0, -0.5, 1e30]
    x = np.array(at, np.float32)
    expected = scipy.special.gammaln(x.astype(np.float64)).astype(np.float32)
    for way in (special.gammaln, tinyjax.jit(special.gammaln, tier="compiled")):
        np.testing.assert_allclose(way(x), expected, 3e-7)


def test_digamma_at_zero_is_that_of_scipy() -> None:
    x = np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan])
    for way in (special.digamma, tinyjax.jit(special.digamma, tier="compiled")):
        np.testing.assert_array_equal(way(x), scipy.special.digamma(x))
