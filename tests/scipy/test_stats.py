"""Distributions against SciPy: values, eager and compiled, and derivatives."""

import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final

import numpy as np
import pytest
import scipy.stats

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, DtypeError, ShapeError
from tinyjax.scipy import stats

pytestmark = pytest.mark.usefixtures("each_tier")

COUNT: Final = 60
DISCRETE: Final = ("bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson")
#: Where an argument is drawn, by the distribution and its name, or by its name.
RANGES: Final = {
    ("beta", "x"): (-0.2, 1.2),
    ("pareto", "x"): (0.5, 5),
    ("wrapcauchy", "x"): (-1, 7),
    ("uniform", "x"): (-0.5, 1.5),
    ("logistic", "x"): (0.01, 0.99),
    ("truncnorm", "a"): (-2.5, 1),
    ("truncnorm", "b"): (1.1, 4),
    "x": (-3, 6),
    "q": (0.01, 0.99),
    "p": (0.02, 0.98),
    "df": (0.5, 9),
    "dfn": (0.5, 9),
    "dfd": (0.5, 9),
    "s": (0.3, 2),
    "mu": (0.1, 30),
    "kappa": (0.1, 9),
    "c": (0.05, 0.95),
    "loc": (-0.5, 0.5),
    "scale": (0.5, 2),
    "a": (0.3, 6),
    "b": (0.3, 6),
    "beta": (0.5, 3),
}
DISTRIBUTIONS: Final = [
    name
    for name in stats.__all__
    if isinstance(getattr(stats, name), ModuleType)
    and name not in ("dirichlet", "multinomial", "multivariate_normal")
]


def drawn(distribution: str, argument: str, rng: np.random.Generator) -> HostArray:
    if argument in ("k", "n") or (argument == "loc" and distribution in DISCRETE):
        ends = {"k": (-1, 7), "n": (1, 8), "loc": (0, 1)}[argument]
        return rng.integers(*ends, COUNT).astype(np.float64)
    low, high = RANGES.get((distribution, argument)) or RANGES[argument]
    return rng.uniform(low, high, COUNT)


@pytest.mark.sampled(4, 0)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_distribution_is_that_of_scipy(name: str) -> None:
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    rng = np.random.default_rng(len(name))
    calls: dict[str, tuple[HostArray, ...]] = {}
    for function in ours.__all__:
        arguments = inspect.signature(getattr(ours, function)).parameters
        calls[function] = tuple(drawn(name, argument, rng) for argument in arguments)

    def run(calls: dict[str, Any]) -> dict[str, Any]:
        return {function: getattr(ours, function)(*args) for function, args in calls.items()}

    compiled, eager = tinyjax.jit(run)(calls), run(calls)
    for function, args in calls.items():
        with np.errstate(all="ignore"):
            expected = getattr(theirs, function)(*args)
        for found in (compiled, eager):
            np.testing.assert_allclose(found[function], expected, 1e-9, 1e-13, err_msg=function)


#: What is put in the place of a first argument: a place, or a share.
SPECIAL: Final = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 40.0, -40.0, 1e-300)
#: Where SciPy is no reference: it takes the place below all others for a share of 0, and infinity
#: for one of 1e-300.
UNLIKE_SCIPY: Final = (("bernoulli", "ppf"), ("f", "isf"))


def eager_and_compiled(fun: Callable[..., Any], args: Sequence[HostArray]) -> list[HostArray]:
    return [np.asarray(fun(*args)), np.asarray(tinyjax.jit(fun)(*args))]


@pytest.mark.sampled(4, 2)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_distribution_at_its_ends(name: str) -> None:
    """At infinities, at ends and far in the tails values are SciPy's."""
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    rng = np.random.default_rng(len(name) + 2)
    for function in ours.__all__:
        fun = getattr(ours, function)
        names = inspect.signature(fun).parameters
        args = [drawn(name, argument, rng)[: len(SPECIAL)] for argument in names]
        if (name, function) in UNLIKE_SCIPY or function == "entropy":
            continue
        args[0] = np.array(SPECIAL)
        with np.errstate(all="ignore"):
            expected = getattr(theirs, function)(*args)
        # SciPy has no density where a gamma distribution ends
        defined = ~np.isnan(expected) | np.isnan(args[0])
        for found in eager_and_compiled(fun, args):
            what = f"{function} of {args}"
            np.testing.assert_allclose(found[defined], expected[defined], 1e-9, 1e-15, err_msg=what)


#: What is put in the place of a parameter, of which some values define no distribution.
PARAMETERS: Final = (-np.inf, -2.0, -1.0, -0.5, -0.0, 0.0, 0.3, 1.0, 1.5, 2.0, 2.5)


@pytest.mark.sampled(4, 3)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_what_parameters_define_a_distribution(name: str) -> None:
    """Others give NaN, as in SciPy, arrays and Python's numbers."""
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    rng = np.random.default_rng(len(name) + 4)
    for function in ours.__all__:
        fun = getattr(ours, function)
        names = list(inspect.signature(fun).parameters)
        for place, argument in enumerate(names):
            if argument in ("x", "k", "q", "loc") or (place == 0 and argument == "p"):
                continue
            if (name, function, argument) == ("binom", "logcdf", "n"):  # SciPy's is 0
                continue
            args = [drawn(name, other, rng)[: len(PARAMETERS)] for other in names]
            args[place] = np.array(PARAMETERS)
            with np.errstate(all="ignore"):
                expected = getattr(theirs, function)(*args)
            numbers = [
                fun(*(z.item() if p == place else z for p, z in enumerate(row)))
                for row in zip(*args, strict=True)
            ]
            for found in [*eager_and_compiled(fun, args), np.array(numbers)]:
                what = f"{function} of {args}"
                np.testing.assert_allclose(found, expected, 1e-9, 1e-15, err_msg=what)


@pytest.mark.sampled(4, 1)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_distribution_of_what_is_no_number_is_none(name: str) -> None:
    """A NaN is answered with NaN, in each argument, inside the range of others and outside."""
    module = getattr(stats, name)
    rng = np.random.default_rng(len(name) + 3)
    for function in module.__all__:
        fun = getattr(module, function)
        names = list(inspect.signature(fun).parameters)
        for place, argument in enumerate(names):
            args = [drawn(name, other, rng) for other in names]
            args[0][:4] = -np.inf, np.inf, -99.0, 0.5
            args[place][:] = np.nan
            for found in eager_and_compiled(fun, args):
                assert np.isnan(found).all(), f"{function}, {argument}"


def test_what_is_no_distribution_has_no_entropy() -> None:
    mean, loc = np.array([-1.0, -150.0, 0.0, 3.0, 150.0, 3.0]), np.array([0, 0, 0, 1, -2, np.nan])
    with np.errstate(all="ignore"):
        expected = scipy.stats.poisson.entropy(mean, loc)
    for found in eager_and_compiled(stats.poisson.entropy, (mean, loc)):
        np.testing.assert_allclose(found, expected, 1e-9)


def test_a_student_of_infinitely_many_degrees_is_normal() -> None:
    x = np.linspace(-5, 5, 11)
    for found in eager_and_compiled(
        stats.t.logpdf, (x, np.full(11, np.inf), 0.5 + 0 * x, 2 + 0 * x)
    ):
        np.testing.assert_allclose(found, scipy.stats.norm.logpdf(x, 0.5, 2), 1e-12)
    assert float(tinyjax.grad(lambda x: stats.t.logpdf(x, np.inf))(0.5)) == -0.5


def hold_derivatives(fun: Callable[..., Any], args: list[HostArray], place: int, what: str) -> None:
    """The derivative in one argument, in both modes, is that of a central difference."""

    def of_one(x: Any) -> Any:
        return fun(*args[:place], x, *args[place + 1 :])

    _, slope = tinyjax.jvp(of_one, (args[place],), (np.ones(COUNT),))
    pulled = tinyjax.grad(lambda x: of_one(x).sum())(args[place])
    np.testing.assert_allclose(pulled, slope, 1e-9, 1e-12, err_msg=what)
    with np.errstate(all="ignore"):
        ends = [np.asarray(of_one(args[place] + step)) for step in (1e-6, -1e-6)]
        expected = (ends[0] - ends[1]) / 2e-6
    known = np.isfinite(expected) & (np.abs(expected) < 1e4)
    np.testing.assert_allclose(np.asarray(slope)[known], expected[known], 1e-5, 1e-7, err_msg=what)


@pytest.mark.sampled(4, 3)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_distribution_has_the_derivatives_of_its_values(name: str) -> None:
    rng = np.random.default_rng(len(name) + 1)
    module = getattr(stats, name)
    fixed = {"k", "n", *(["loc"] if name in DISCRETE else [])}
    for function in module.__all__:
        fun: Callable[..., Any] = getattr(module, function)
        arguments = list(inspect.signature(fun).parameters)
        args = [drawn(name, argument, rng) for argument in arguments]
        for place, argument in enumerate(arguments):
            if argument not in fixed:
                hold_derivatives(fun, args, place, f"{function} in {argument}")


def test_distributions_of_vectors() -> None:
    rng = np.random.default_rng(4)
    alpha = rng.uniform(0.5, 3, 4)
    shares = rng.dirichlet(alpha, 5)
    expected = scipy.stats.dirichlet.logpdf(shares.T, alpha)
    np.testing.assert_allclose(stats.dirichlet.logpdf(shares.T, alpha), expected, 1e-9)
    np.testing.assert_allclose(stats.dirichlet.logpdf(shares.T[:-1], alpha), expected, 1e-9)
    np.testing.assert_allclose(stats.dirichlet.pdf(shares.T, alpha), np.exp(expected), 1e-9)
    assert float(stats.dirichlet.pdf(np.array([0.5, 0.2]), np.ones(2))) == 0
    assert np.isnan(stats.dirichlet.logpdf(np.array([0.5, 0.5]), np.array([-1.5, 2.0])))
    with raises(ShapeError, match="as many entries as alpha"):
        stats.dirichlet.logpdf(shares, alpha)

    counts = rng.multinomial(9, shares[0], 6)
    for name in ("logpmf", "pmf"):
        reference = getattr(scipy.stats.multinomial, name)(counts, 9, shares[0])
        np.testing.assert_allclose(
            getattr(stats.multinomial, name)(counts, 9, shares[0]), reference, 1e-9
        )
    for share in ([-0.5, 1.5], [0.5, -0.5, 1.0], [np.nan, 0.5]):
        assert np.isnan(
            stats.multinomial.pmf(np.eye(len(share), dtype=int)[-1], 1, np.array(share))
        )
    with raises(DtypeError, match="counts in integers"):
        stats.multinomial.pmf(counts * 1.0, 9, shares[0])

    a = rng.normal(size=(3, 3))
    cov, mean, x = a @ a.T + np.eye(3), rng.normal(size=3), rng.normal(size=(2, 5, 3))
    for name in ("logpdf", "pdf"):
        fun = getattr(stats.multivariate_normal, name)
        reference = getattr(scipy.stats.multivariate_normal, name)
        np.testing.assert_allclose(fun(x, mean, cov), reference(x, mean, cov), 1e-9)
        np.testing.assert_allclose(fun(x, mean, 2.0), reference(x, mean, 2.0 * np.eye(3)), 1e-9)
        np.testing.assert_allclose(fun(x[0, :, 0], 0.5, 2.0), reference(x[0, :, 0], 0.5, 2.0), 1e-9)
    with raises(ShapeError, match="cov of multivariate_normal"):
        stats.multivariate_normal.pdf(x, mean, np.eye(2))


X: Final = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3], [5, 8, 9, 7, 9]])


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_ranks(method: Any, axis: int | None) -> None:
    for fun in (stats.rankdata, tinyjax.jit(stats.rankdata, static_argnames=("method", "axis"))):
        found = fun(X, method=method, axis=axis)
        expected = scipy.stats.rankdata(X, method, axis=axis)
        np.testing.assert_array_equal(np.ravel(found), np.ravel(expected))
    nan = jnp.array([1.0, np.nan])
    assert np.isnan(stats.rankdata(nan, method)).all()


@pytest.mark.wrong_types
def test_a_way_to_rank_that_there_is_not() -> None:
    unknown: Any = "first"
    with raises(ArgumentError, match="method of rankdata must be"):
        stats.rankdata(X, unknown)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_most_frequent_value_and_the_error_of_a_mean(axis: int | None, keepdims: bool) -> None:
    found = stats.mode(X, axis, keepdims=keepdims)
    expected = scipy.stats.mode(X, axis, keepdims=keepdims)
    np.testing.assert_array_equal(found.mode, expected.mode)
    np.testing.assert_array_equal(found.count, expected.count)
    holes = np.where(X == 9, np.nan, X)
    for policy in ("propagate", "omit"):
        reference = scipy.stats.sem(holes, axis, nan_policy=policy, keepdims=keepdims)
        got = stats.sem(holes, axis, nan_policy=policy, keepdims=keepdims)
        np.testing.assert_allclose(got, np.asarray(reference), 1e-12)
    with raises(ArgumentError, match="nan_policy of mode"):
        stats.mode(X, nan_policy="omit")
