"""Every distribution has its law in every dtype, for small, ordinary and large parameters."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import random
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError
from tinyjax.random import uniforms

N = 10_000
DTYPES = ("float16", "bfloat16", "float32", "float64")
Law = Callable[..., Any]


def double_maxwell(loc: float, scale: float) -> Any:
    """``stats.maxwell`` on both sides: z^2 has the law of chi2(3)."""

    class Both:
        def cdf(self, x: HostArray) -> HostArray:
            z = (x - loc) / scale
            return np.asarray(0.5 + 0.5 * np.sign(z) * stats.chi2(3).cdf(z * z))

    return Both()


def generalized(p: float) -> Any:
    return stats.uniform(-1, 2) if p > 1e4 else stats.gennorm(p)


# Names, SciPy's laws of the parameters, and parameters. What takes no parameters is drawn from
# uniform numbers of the dtype itself, as by JAX.
CONTINUOUS: dict[str, tuple[Law, tuple[tuple[float, ...], ...]]] = {
    "normal": (stats.norm, ((),)),
    "exponential": (stats.expon, ((),)),
    "gumbel": (stats.gumbel_r, ((),)),
    "laplace": (stats.laplace, ((),)),
    "logistic": (stats.logistic, ((),)),
    "cauchy": (stats.cauchy, ((),)),
    "maxwell": (stats.maxwell, ((),)),
    "truncated_normal": (
        stats.truncnorm,
        (
            *((-1.0, 2.0), (5.0, 8.0), (-9.0, -6.0), (1.5, 1.75), (4.0, np.inf)),
            *((-np.inf, -12.0), (30.0, 31.0), (-np.inf, 0.5), (0.5, np.inf)),
        ),
    ),
    "lognormal": (stats.lognorm, ((0.1,), (2.0,))),
    "pareto": (stats.pareto, ((0.7,), (3.0,), (50.0,))),
    "rayleigh": (lambda scale: stats.rayleigh(scale=scale), ((0.01,), (2.0,), (1e3,))),
    "weibull_min": (
        lambda scale, c: stats.weibull_min(c, scale=scale),
        ((1.0, 0.5), (2.0, 1.5), (3.0, 40.0)),
    ),
    "double_sided_maxwell": (double_maxwell, ((1.0, 2.0),)),
    "triangular": (
        lambda a, b, c: stats.triang((b - a) / (c - a), a, c - a),
        ((-1.0, 0.0, 3.0), (0.0, 0.0, 1.0), (0.0, 10.0, 10.0)),
    ),
    "wald": (stats.invgauss, ((0.01,), (1.7,), (100.0,), (1e3,), (1e5,))),
    "gamma": (stats.gamma, ((0.05,), (1.0,), (1e4,))),
    "loggamma": (stats.loggamma, ((0.01,), (1.3,), (1e3,))),
    "beta": (stats.beta, ((0.1, 0.2), (2.0, 3.0), (300.0, 0.5))),
    "chisquare": (stats.chi2, ((0.1,), (3.0,), (1e3,))),
    "f": (stats.f, ((0.2, 3.0), (3.0, 5.0), (100.0, 200.0))),
    "t": (stats.t, ((0.3,), (4.0,), (1e3,))),
    "generalized_normal": (generalized, ((0.5,), (3.0,), (1e6,), (np.inf,))),
}
COUNTS: dict[str, tuple[Law, tuple[tuple[float, ...], ...]]] = {
    "geometric": (stats.geom, ((1e-3,), (0.2,), (1.0,))),
    "poisson": (stats.poisson, ((0.1,), (35.0,), (1e5,), (1e7,))),
    "binomial": (stats.binom, ((12.0, 0.3), (70.0, 0.6), (1e4, 1e-3), (1e7, 0.5), (1e7, 1e-4))),
}


@pytest.fixture(autouse=True)
def overflow() -> Iterator[None]:
    """SciPy's distribution functions overflow at the greatest numbers."""
    with np.errstate(all="ignore"):
        yield


def distance(drawn: HostArray, law: Any) -> float:
    """Return Kolmogorov's distance to a law that was rounded as the draws were, in deviations."""
    # NumPy 2.4 sorts some arrays of float16 wrongly with AVX-512
    values, counts = np.unique(drawn.astype(float), return_counts=True)
    values = values.astype(drawn.dtype)
    if drawn.dtype.kind == "i":
        ends = values.astype(float) + 0.5
    else:
        above = np.nextafter(values, np.array(np.inf, values.dtype)).astype(float)
        size = float(jnp.finfo(values.dtype).eps) * np.abs(values.astype(float))
        ends = (values.astype(float) + np.where(np.isinf(above), values + size, above)) / 2
    # not at the greatest number, which may be the last one inside of bounds
    shares = np.cumsum(counts)[:-1] / drawn.size
    return float(np.abs(shares - law.cdf(ends[:-1])).max(initial=0) * drawn.size**0.5)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_continuous_numbers_have_their_law(dtype: str) -> None:
    for name, (law, rows) in CONTINUOUS.items():
        for row in rows:
            kind = np.dtype(dtype)
            given = [float(np.array(x, kind)) for x in row]  # as they are used
            drawn = np.asarray(getattr(random, name)(random.key(3), *given, shape=(N,), dtype=kind))
            assert drawn.dtype == kind
            assert not np.isnan(drawn).any(), (name, row)
            # uniform numbers of few digits are below their mean by half of the last one
            is_direct = not row or (name == "truncated_normal" and row[0] < 1 and row[1] > -1)
            coarse = N**0.5 * float(jnp.finfo(kind).eps) if is_direct else 0
            assert distance(drawn, law(*given)) < 1.8 + coarse, (name, row)
            if law(*given).cdf(float(jnp.finfo(kind).max)) == 1:
                assert np.isfinite(drawn).all(), (name, row)


@pytest.mark.parametrize("dtype", DTYPES)
def test_counts_have_their_law(dtype: str) -> None:
    for name, (law, rows) in COUNTS.items():
        for row in rows:
            last = np.array(row[-1], dtype)
            if name == "poisson" and dtype != "float32":
                continue
            exact = law(*row[:-1], float(last))
            drawn = np.asarray(getattr(random, name)(random.key(4), *row[:-1], last, shape=(N,)))
            assert distance(drawn.astype(np.int64), exact) < 1.8, (name, row)
            z = abs(drawn.var(dtype=float) / max(exact.var(), 1e-9) - 1) if exact.var() else 0.0
            assert z < 6 * math.sqrt((2 + exact.stats("k")) / N) or not exact.var(), (name, row)


@pytest.mark.parametrize("dtype", DTYPES)
def test_choices_have_their_probabilities(dtype: str) -> None:
    key, p = random.key(5), np.full(1000, 1e-3).astype(dtype)
    logits, even = jnp.zeros(1000, dtype), stats.randint(0, 1000)
    for drawn in (random.categorical(key, logits, shape=(N,)), random.choice(key, 1000, (N,), p=p)):
        assert distance(np.asarray(drawn), even) < 1.8
    rare = np.array(2e-3, dtype)
    share = float(random.bernoulli(key, rare, (N,)).mean())
    assert abs(share - float(rare)) < 5 * math.sqrt(float(rare) / N)
    counts = np.asarray(random.multinomial(key, 3e7, np.array([0.25, 0.75], dtype)), float)
    assert abs(counts[0] / 3e7 - 0.25) < 5e-4


@pytest.mark.parametrize("p", [2.0, 100.0, np.inf])
def test_balls_are_uniform(p: float) -> None:
    """Of a vector in the ball, the p-th power of the norm to the d / p is uniform."""
    for dtype in DTYPES:
        x = np.asarray(random.ball(random.key(6), 3, p, (N,), np.dtype(dtype)), float)
        norm = np.abs(x).max(-1) if math.isinf(p) else (np.abs(x) ** p).sum(-1) ** (1 / p)
        eps = float(jnp.finfo(dtype).eps)
        assert norm.max() <= 1 + eps
        assert stats.kstest(norm**3, stats.uniform().cdf).statistic < 1.8 / N**0.5 + 3 * eps
        slope = tinyjax.grad(lambda p: random.ball(random.key(6), 3, p, (5,)).sum())(p)
        assert np.isfinite(slope)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_the_least_and_the_greatest_bits(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least and the greatest uniform number make none that would never be drawn."""
    names = ("normal", "gumbel", "laplace", "logistic", "cauchy", "rayleigh", "weibull_min")
    for shape, number in (((1, 1, 5), 0.0), ((1, 1, 7), 1.0)):

        def floats(own: Any, shape: Any, kind: Any, number: float = number) -> Any:
            return jnp.full(shape, number * (1 - float(jnp.finfo(kind).eps)), kind)

        monkeypatch.setattr(uniforms, "_floats", floats)
        for name in (*names, "truncated_normal"):
            law, rows = CONTINUOUS[name]
            for row in rows:
                kind = np.dtype(dtype)
                drawn = getattr(random, name)(random.key(0), *row, shape=shape, dtype=kind)
                x = np.asarray(drawn, float).flat[0]
                near = 1e-2 * abs(x) + 1e-9
                tail = min(law(*row).cdf(x + near), law(*row).sf(x - near))
                assert np.isfinite(x), (name, row)
                assert tail > 0.1 * min(float(jnp.finfo(kind).eps), 2.0**-23), (name, row, x)
        monkeypatch.undo()


def test_slopes_of_draws_in_tails() -> None:
    """Slopes of the mean in the bounds: those of SciPy's mean."""

    def mean(low: Any, high: Any) -> Any:
        return random.truncated_normal(random.key(1), low, high, (N,), np.float64).mean()

    for low, high in ((5.0, 5.2), (-12.0, -9.0)):
        step = 1e-4
        ends = [(low + step, high), (low - step, high), (low, high + step), (low, high - step)]
        a, b, c, d = (stats.truncnorm(*x).mean() for x in ends)
        for fun in (mean, tinyjax.jit(mean, tier="compiled")):
            slopes = tinyjax.grad(fun, (0, 1))(low, high)
            np.testing.assert_allclose(slopes, [(a - b) / 2 / step, (c - d) / 2 / step], 0.02, 0.01)
    for kind in DTYPES:
        total = tinyjax.grad(
            lambda x: random.truncated_normal(random.key(1), x, np.inf, (99,)).sum()
        )
        assert abs(float(total(np.array(40.0, kind))) / 99 - 1) < 0.02


def test_slopes_of_wald_in_a_large_mean() -> None:
    def draw(mean: Any, dtype: Any) -> Any:
        return random.wald(random.key(1), mean, (500,), dtype)

    expected = (draw(1e5 + 1, np.float64) - draw(1e5 - 1, np.float64)) / 2
    slope: Any = tinyjax.jacfwd(draw)
    slopes = slope(np.array(1e5), np.float64)
    np.testing.assert_allclose(slopes, expected, 1e-4, 1e-14)
    assert (np.asarray(slope(np.array(1e5, np.float32), np.float32)) > 0).all()


def test_empty_intervals_are_refused() -> None:
    with raises(ArgumentError, match=r"lower=5\.0 and upper=2\.0"):
        random.truncated_normal(random.key(0), 5.0, 2.0, (3,))
    with raises(ArgumentError, match="lower bound below"):
        tinyjax.nn.initializers.truncated_normal(lower=5.0)(random.key(0), (3,))
