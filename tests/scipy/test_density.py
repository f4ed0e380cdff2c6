"""Estimates of densities, against SciPy and jax."""

from typing import Any, Final

import jax
import numpy as np
import pytest
import scipy.stats
from jax.scipy.stats import gaussian_kde as jax_kde

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import ArgumentError, DtypeError, ShapeError
from tinyjax.scipy.stats import gaussian_kde
from tinyjax.test_util import check_grads

RNG: Final = np.random.default_rng(5)
LINE: Final = RNG.standard_normal(7)
PLANE: Final = RNG.standard_normal((2, 9))
WEIGHTS: Final = RNG.uniform(0.2, 1, 9)

ESTIMATES: Final[list[tuple[Any, dict[str, Any]]]] = [
    (LINE, {}),
    (LINE, {"bw_method": "silverman"}),
    (PLANE, {"bw_method": 0.7}),
    (PLANE, {"weights": WEIGHTS}),
    (PLANE, {"weights": WEIGHTS, "bw_method": lambda kde: kde.neff**-0.5 + kde.d / kde.n}),
]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize(("data", "options"), ESTIMATES)
def test_densities(data: Any, options: Any) -> None:
    ours, theirs = gaussian_kde(data, **options), scipy.stats.gaussian_kde(data, **options)
    at = RNG.standard_normal((*data.shape[:-1], 5))
    compiled = tinyjax.jit(lambda kde, x: kde(x))(ours, at)
    for density in (ours(at), ours.pdf(at), ours.evaluate(at), compiled):
        np.testing.assert_allclose(density, theirs(at), 1e-10)
    np.testing.assert_allclose(ours.logpdf(at), theirs.logpdf(at), 1e-10)
    np.testing.assert_allclose(ours.covariance, theirs.covariance, 1e-10)
    np.testing.assert_allclose(ours.inv_cov, theirs.inv_cov, 1e-10)
    np.testing.assert_allclose(ours.neff, theirs.neff, 1e-10)
    assert (ours.n, ours.d) == (theirs.n, theirs.d)


@pytest.mark.parametrize(("data", "options"), ESTIMATES)
def test_integrals(data: Any, options: Any) -> None:
    ours, theirs = gaussian_kde(data, **options), scipy.stats.gaussian_kde(data, **options)
    mean, cov = np.full(ours.d, 0.3), np.eye(ours.d) * 0.5 + 0.1
    np.testing.assert_allclose(
        ours.integrate_gaussian(mean, cov), theirs.integrate_gaussian(mean, cov), 1e-10
    )
    np.testing.assert_allclose(
        ours.integrate_kde(gaussian_kde(data[..., :5])),
        theirs.integrate_kde(scipy.stats.gaussian_kde(data[..., :5])),
        1e-10,
    )
    if ours.d == 1:
        np.testing.assert_allclose(
            ours.integrate_box_1d(-0.5, 1), theirs.integrate_box_1d(-0.5, 1), 1e-10
        )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("data", [LINE, PLANE])
@pytest.mark.parametrize("shape", [(), (4,)])
def test_draws_are_those_of_jax(data: Any, shape: tuple[int, ...]) -> None:
    ours = gaussian_kde(data.astype("f")).resample(tinyjax.random.key(3), shape)
    theirs = jax_kde(data.astype("f")).resample(jax.random.key(3), shape)
    np.testing.assert_allclose(ours, theirs, 1e-5, 1e-5)


def test_many_draws_have_the_density() -> None:
    kde = gaussian_kde(PLANE, weights=WEIGHTS)
    drawn = np.asarray(kde.resample(tinyjax.random.key(0), (40, 500))).reshape(2, -1)
    np.testing.assert_allclose(drawn.mean(1), np.average(PLANE, 1, WEIGHTS), atol=0.03)
    spread = np.cov(PLANE, aweights=WEIGHTS, bias=True) + np.asarray(kde.covariance)
    np.testing.assert_allclose(np.cov(drawn), spread, atol=0.06)


def test_derivatives_and_batches() -> None:
    def density(data: Any, weights: Any, points: Any) -> Any:
        return gaussian_kde(data, weights=weights).logpdf(points).sum()

    check_grads(density, (PLANE, WEIGHTS, PLANE[:, :3] + 0.1), 2, rtol=1e-6)
    at = PLANE[:, :3]
    each = tinyjax.vmap(lambda data: gaussian_kde(data)(at))(np.stack([PLANE, 2 * PLANE]))
    np.testing.assert_allclose(each[1], gaussian_kde(2 * PLANE)(at), 1e-10)


def test_what_is_no_estimate() -> None:
    kde = gaussian_kde(PLANE)
    wrong: Any = "wide"
    calls: list[tuple[Any, type[Exception], str]] = [
        (lambda: gaussian_kde(1.0), ShapeError, "two numbers at least"),
        (lambda: gaussian_kde(PLANE[None]), ShapeError, r"\(n,\) or \(d, n\)"),
        (lambda: gaussian_kde(LINE + 1j), DtypeError, "must be real"),
        (lambda: gaussian_kde(LINE, wrong), ArgumentError, "'scott', 'silverman'"),
        (lambda: gaussian_kde(LINE, LINE), ShapeError, "scalar for the factor"),
        (lambda: gaussian_kde(LINE, weights=WEIGHTS), ShapeError, "a weight for each"),
        (lambda: kde(np.ones((3, 2))), ShapeError, r"shape \(2, m\)"),
        (lambda: kde.integrate_gaussian(0.0, 1.0), ShapeError, r"mean of shape \(2,\)"),
        (lambda: kde.integrate_box_1d(0.0, 1.0), ShapeError, "of one coordinate"),
        (lambda: kde.integrate_kde(gaussian_kde(LINE)), ShapeError, "as many coordinates"),
        (lambda: kde.integrate_box(0.0, 1.0), ArgumentError, "integrate_box_1d"),
        (kde.set_bandwidth, ArgumentError, "make another"),
    ]
    for call, error, message in calls:
        with raises(error, match=message):
            call()
    assert kde(jnp.zeros(2)).shape == (1,)
