"""Distributions: jax's numbers, their laws by SciPy, and derivatives in their parameters."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import attrs
import jax
import numpy as np
import pytest
from scipy import stats

import tinyjax
from raising import raises
from tinyjax import config, random
from tinyjax.errors import ArgumentError, DtypeError, ShapeError
from tinyjax.random import gammas

pytestmark = pytest.mark.usefixtures("each_tier")

Draw = Callable[..., Any]


@attrs.frozen
class Row:
    """A distribution.

    Attributes:
        draw: draws from a module ``r`` with a key, a shape, a dtype and parameters.
        parameters: parameters that broadcast to the shape (3,).
        law: SciPy's distribution of one number, for scalar parameters; None where that is none.
        scalars: the scalar parameters.
        discrete: whether the numbers are counts.
        smooth: whether it is differentiable in its parameters.
    """

    draw: Draw
    parameters: tuple[Any, ...] = ()
    law: Any = None
    scalars: tuple[float, ...] = ()
    discrete: bool = False
    smooth: bool = True


def named(name: str) -> Draw:
    def draw(r: Any, key: Any, shape: Any, dtype: Any, *parameters: Any) -> Any:
        return getattr(r, name)(key, *parameters, shape=shape, dtype=dtype)

    return draw


def counts(name: str) -> Draw:
    def draw(r: Any, key: Any, shape: Any, dtype: Any, *parameters: Any) -> Any:
        return getattr(r, name)(key, *parameters, shape=shape, dtype=f"int{dtype.itemsize * 8}")

    return draw


def multivariate(method: str) -> Draw:
    cov = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, 0.3], [0.1, 0.3, 0.5]])

    def draw(r: Any, key: Any, shape: Any, dtype: Any, *parameters: Any) -> Any:
        scale = parameters[0].sum() if parameters else 1.0
        matrix = scale * cov.astype(dtype)
        return r.multivariate_normal(key, np.zeros(3, dtype), matrix, shape, dtype, method)

    return draw


SHARES = np.array([0.15, 0.0, 0.6, 0.25])
A = np.array([0.3, 1.0, 4.5])

ROWS = {
    "gamma": Row(named("gamma"), (A,), stats.gamma(0.7), (0.7,)),
    "gamma, large": Row(named("gamma"), (A + 50,), stats.gamma(60.0), (60.0,)),
    "loggamma": Row(named("loggamma"), (A,), stats.loggamma(1.3), (1.3,)),
    "beta": Row(named("beta"), (A, A[::-1]), stats.beta(0.7, 2.0), (0.7, 2.0)),
    "dirichlet": Row(
        lambda r, key, shape, dtype, alpha: r.dirichlet(key, alpha, shape, dtype), (A,)
    ),
    "chisquare": Row(named("chisquare"), (A,), stats.chi2(3.0), (3.0,)),
    "f": Row(  # whose parameters jax does not broadcast
        lambda r, key, shape, dtype, *df: r.f(
            key, *[x + np.zeros(shape, dtype) for x in df], shape=shape, dtype=dtype
        ),
        (A + 1, A[::-1] + 2),
        stats.f(3.0, 5.0),
        (3.0, 5.0),
    ),
    "t": Row(named("t"), (A,), stats.t(4.0), (4.0,)),
    "generalized_normal": Row(
        named("generalized_normal"), (np.array(3.0),), stats.gennorm(3.0), (3.0,)
    ),
    "ball": Row(lambda r, key, shape, dtype, *p: r.ball(key, 4, *p, shape=shape, dtype=dtype)),
    "ball of a norm": Row(
        lambda r, key, shape, dtype, *p: r.ball(key, 4, *p, shape=shape, dtype=dtype),
        (np.array(3.0),),
    ),
    "maxwell": Row(named("maxwell"), (), stats.maxwell()),
    "double_sided_maxwell": Row(named("double_sided_maxwell"), (A, A)),
    "triangular": Row(
        named("triangular"),
        (A - 5.0, A, A + 2.5),
        stats.triang(0.25, -1.0, 4.0),
        (-1.0, 0.0, 3.0),
    ),
    "wald": Row(named("wald"), (A,), stats.invgauss(1.7), (1.7,)),
    "geometric": Row(
        counts("geometric"),
        (np.array([0.1, 0.5, 0.9]),),
        stats.geom(0.2),
        (0.2,),
        discrete=True,
    ),
    "poisson": Row(
        counts("poisson"),
        (np.array([0.0, 3.5, 40.0]),),
        stats.poisson(4.5),
        (4.5,),
        discrete=True,
    ),
    "poisson, many": Row(counts("poisson"), (), stats.poisson(35.0), (35.0,), discrete=True),
    "binomial": Row(
        named("binomial"),
        (np.array([5.0, 100.0, 40.0]), np.array([0.5, 0.3, 0.9])),
        stats.binom(12, 0.3),
        (12.0, 0.3),
        discrete=True,
    ),
    "binomial, many": Row(named("binomial"), (), stats.binom(70, 0.6), (70.0, 0.6), discrete=True),
    "multinomial": Row(
        lambda r, key, shape, dtype, n: r.multinomial(
            key, n, SHARES.astype(dtype), shape=(*shape, 4), dtype=dtype
        ),
        (np.array([5.0, 100.0, 0.0]),),
        discrete=True,
    ),
    "multivariate_normal": Row(multivariate("cholesky"), (A,)),
    "multivariate_normal, eigh": Row(multivariate("eigh")),
    "multivariate_normal, svd": Row(multivariate("svd")),
    "orthogonal": Row(lambda r, key, shape, dtype: r.orthogonal(key, 3, shape, dtype)),
    "orthogonal, wide": Row(lambda r, key, shape, dtype: r.orthogonal(key, 2, shape, dtype, m=4)),
    "orthogonal, tall": Row(lambda r, key, shape, dtype: r.orthogonal(key, 4, shape, dtype, m=2)),
}

rows = pytest.mark.parametrize("name", ROWS)


@contextmanager
def stream(partitionable: bool) -> Iterator[None]:
    """One of the two streams, in both packages, with 64-bit types for the default ones."""
    with ExitStack() as stack:
        stack.enter_context(jax.threefry_partitionable(partitionable))
        stack.enter_context(jax.enable_x64(True))
        stack.enter_context(config.scoped(threefry_partitionable=partitionable))
        stack.enter_context(tinyjax.default_dtypes(np.float64))
        yield


@pytest.mark.sampled(16)
@pytest.mark.parametrize(
    ("partitionable", "dtype"),
    [(True, np.float32), (False, np.float64)],
    ids=["float32", "float64, old stream"],
)
@rows
def test_draws_are_those_of_jax(name: str, dtype: Any, partitionable: bool) -> None:
    row = ROWS[name]
    given = [np.asarray(x, dtype) for x in row.parameters or row.scalars]
    kind = np.dtype(dtype)

    def draws(r: Any, seed: Any) -> Any:
        key = r.key(seed) if partitionable else r.PRNGKey(seed)
        return [row.draw(r, key, shape, kind, *given) for shape in ((3,), (4, 3))]

    with stream(partitionable):
        expected = jax.jit(lambda: draws(jax.random, 3))()
        for found in (tinyjax.jit(lambda: draws(random, 3))(), draws(random, 3)):
            for x, y in zip(found, expected, strict=True):
                assert (x.shape, x.dtype) == (y.shape, y.dtype)
                np.testing.assert_allclose(x, y, 30 * np.finfo(dtype).eps, 30 * np.finfo(dtype).eps)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.law is not None])
def test_draws_have_their_law(name: str) -> None:
    row, kind = ROWS[name], np.dtype(np.float32)
    draw = tinyjax.jit(lambda key: row.draw(random, key, (20_000,), kind, *row.scalars))
    drawn = np.asarray(draw(random.key(1)), np.float64)
    if not row.discrete:
        assert stats.kstest(drawn, row.law.cdf).pvalue > 1e-3
        return
    low, high = row.law.ppf([0.002, 0.998])
    edges = np.concatenate([[-np.inf], np.arange(low, high + 1) + 0.5, [np.inf]])
    observed, _ = np.histogram(drawn, edges)
    expected = np.diff(row.law.cdf(edges)) * drawn.size
    assert stats.chisquare(observed, expected).pvalue > 1e-3


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "name", [name for name, row in ROWS.items() if row.parameters and not row.discrete]
)
def test_draws_are_differentiable_in_their_parameters(name: str) -> None:
    row, kind = ROWS[name], np.dtype(np.float64)

    def total(r: Any, *parameters: Any) -> Any:
        drawn = row.draw(r, r.PRNGKey(5), (4, 3), kind, *parameters)
        return (drawn * np.cos(np.arange(drawn.size).reshape(drawn.shape))).sum()

    every = tuple(range(len(row.parameters)))
    with stream(True):
        expected = jax.grad(lambda *xs: total(jax.random, *xs), every)(*row.parameters)
        gradient = tinyjax.grad(lambda *xs: total(random, *xs), every)
        for found in (gradient(*row.parameters), tinyjax.jit(gradient)(*row.parameters)):
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, 1e-9, 1e-12)
        tangents = tuple(np.ones_like(x) for x in row.parameters)
        _, slope = tinyjax.jvp(lambda *xs: total(random, *xs), row.parameters, tangents)
        np.testing.assert_allclose(slope, sum(np.sum(x) for x in expected), 1e-8)


@pytest.mark.parametrize("a", [0.01, 0.7, 3.0, 600.0])
def test_approximate_numbers_of_the_gamma_distribution(a: float) -> None:
    key, n = random.key(3), 20_000

    def draw(draw_one: Any, a: Any) -> Any:
        return draw_one(key, a, (n,), np.float64, method="approximate")

    logarithms = tinyjax.jit(partial(draw, random.loggamma))(np.float64(a))
    assert stats.kstest(logarithms, stats.loggamma(a).cdf).pvalue > 0.01
    np.testing.assert_allclose(draw(random.gamma, a), np.exp(logarithms), 1e-10)
    # the mean is a, so that its derivative is 1

    def total(a: Any) -> Any:
        return draw(random.gamma, a).mean()

    slope = tinyjax.grad(total)(a)
    assert abs(float(slope) - 1) < 0.05
    step = 1e-4 * a
    difference = (total(a + step) - total(a - step)) / (2 * step)
    np.testing.assert_allclose(slope, difference, 1e-6)
    keys = random.split(key, 3)
    each = tinyjax.vmap(lambda key: random.loggamma(key, a, method="approximate"))(keys)
    assert len(set(np.asarray(each))) == 3


def test_quantiles_of_approximate_numbers() -> None:
    shares = np.linspace(1e-3, 1 - 1e-3, 999)
    for a in (1e-3, 1.0, 50.0, 1e4):
        n = 2 * (a + 4)
        t = stats.norm.ppf(shares) / np.sqrt(n)
        rows = np.array(gammas.CUBE_ROOT) @ [1, 1 / n, 1 / n**2]
        found = n / 2 * np.polyval(rows[::-1], t) ** 3
        np.testing.assert_allclose(found, stats.gamma(a + 4).ppf(shares), 1e-3)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["gamma", "t", "wald", "poisson", "binomial", "multinomial"])
def test_draws_under_vmap_are_those_of_each_key(name: str) -> None:
    row, kind = ROWS[name], np.dtype(np.float32)
    given = [x.astype(kind) for x in row.parameters]
    keys = random.split(random.key(2), 3)

    def draw(key: Any) -> Any:
        return row.draw(random, key, (3,), kind, *given)

    expected = np.stack([draw(key) for key in keys])
    np.testing.assert_allclose(tinyjax.vmap(draw)(keys), expected, 1e-5)
    np.testing.assert_allclose(tinyjax.jit(tinyjax.vmap(draw))(keys), expected, 1e-5)


def test_counts_of_what_is_none() -> None:
    key = random.key(0)
    n, p = np.array([np.nan, -1.0, np.inf, 5.0]), np.array([0.5, 0.5, 0.5, np.nan])
    found = np.asarray(random.binomial(key, n.astype(np.float32), p.astype(np.float32)))
    np.testing.assert_array_equal(found, [np.nan, np.nan, np.inf, np.nan])
    assert random.poisson(key, np.float32(np.nan)) == -1


def test_mistakes_are_named() -> None:
    key = random.key(0)
    with raises(DtypeError, match="poisson draws integers"):
        random.poisson(key, 2.0, dtype=np.float32)
    with raises(ArgumentError, match="keys of threefry2x32"):
        random.poisson(random.key(0, impl="rbg"), 2.0)
    with raises(ShapeError, match="probabilities of several outcomes"):
        random.multinomial(key, 3, 0.5)
    with raises(ShapeError, match="multivariate_normal takes a mean"):
        random.multivariate_normal(key, np.zeros(2), np.eye(3))
    with raises(ArgumentError, match="ball takes a shape"):
        random.ball(key, -1)
    with raises(ArgumentError, match="orthogonal takes a shape"):
        random.orthogonal(key, 2, m=-1)
    with raises(ShapeError, match="wald takes parameters"):
        random.wald(key, np.ones((2, 3), np.float32), (3,))


@pytest.mark.wrong_types
def test_methods_that_are_none() -> None:
    method: Any = "lu"
    with raises(ArgumentError, match="method of gamma"):
        random.loggamma(random.key(0), 1.0, method=method)
    with raises(ArgumentError, match="method of multivariate_normal"):
        random.multivariate_normal(random.key(0), np.zeros(2), np.eye(2), method=method)


def test_binomials_end_whatever_their_parameters() -> None:
    """A probability of -0.0 made waiting times that are infinitely negative."""
    count = np.array([-1.5, 2.0, 30.0, np.inf, np.nan])[:, None]
    probability = np.array([-0.0, 0.0, 1.0, -0.5, 1.5, np.nan, np.inf])
    found = np.asarray(random.binomial(random.key(3), count, probability))
    np.testing.assert_array_equal(found[1:3, :3], [[0, 0, 2], [0, 0, 30]])
    assert np.isnan(found[[0, 4], :3]).all()
    assert np.isnan(found[:, [3, 5]]).all()


def test_derivatives_without_64_bit_types() -> None:
    """Special functions compute in float64 inside; jax's programs have float32 alone."""

    def slopes(m: Any) -> list[Any]:
        key = m.random.PRNGKey(0)
        beta = m.grad(lambda a: m.random.beta(key, a, 2.0))
        gamma = m.jit(m.grad(lambda a: m.random.gamma(key, a)))
        special = m.scipy.special
        below = m.jit(m.grad(special.gammainc, (0, 1)))(2.0, 3.0)
        return [beta(3.0), gamma(20.0), *below, m.jit(m.grad(special.betainc, 2))(2.0, 3.0, 0.4)]

    with jax.enable_x64(False), tinyjax.enable_x64(False):
        expected = slopes(jax)
        found = slopes(tinyjax)
    assert {x.dtype for x in found} == {np.dtype(np.float32)}
    np.testing.assert_allclose(found, expected, 1e-4)
