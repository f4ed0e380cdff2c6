"""The eighth set: choices, tests of ability, copulas, mixtures, options, and beliefs."""

import warnings
from typing import Any, Final

import catsim.irt
import choix
import copulae
import gmr
import numpy as np
from bayespy.inference import VB
from bayespy.nodes import Gamma, Gaussian, GaussianARD, SumMultiply, Wishart
from catsim.estimation import NumericalSearchEstimator
from catsim.item_bank import ItemBank
from vollib.black import black
from vollib.black_scholes import black_scholes
from vollib.black_scholes.greeks import analytical
from vollib.black_scholes.implied_volatility import implied_volatility
from vollib.black_scholes_merton import black_scholes_merton

from packages.row import Row

warnings.filterwarnings("ignore")

STRENGTHS: Final = (
    np.array([0.4, -0.7, 0.2, 0.9]),
    np.array([-0.3, 0.5, 1.1, -0.6]),
    np.array([0.8, 0.1, -0.5, 0.3]),
)
MARKETS: Final = (np.array([0.3, 0.05]), np.array([0.22, 0.02]), np.array([0.41, 0.08]))
PAIRS: Final = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 1), (1, 0), (2, 0), (1, 3)]
RANKINGS: Final = [(0, 1, 2), (3, 2, 1), (1, 0, 3), (2, 3, 0), (0, 3, 1)]
ITEMS: Final = np.array([
    [1.1, -0.4, 0.1, 1.0], [0.8, 0.3, 0.2, 0.98], [1.5, 0.9, 0.15, 1.0], [0.9, -1.1, 0.05, 0.95],
    [1.2, 0.1, 0.1, 1.0], [0.7, 1.4, 0.0, 1.0],
])  # fmt: skip
NOISE: Final = np.sin(np.arange(400.0) ** 1.7)


def preference(strengths: Any) -> Any:
    pairs = choix.log_likelihood_pairwise(PAIRS, strengths)
    rankings = choix.log_likelihood_rankings(RANKINGS, strengths)
    top = choix.log_likelihood_top1([(0, (1, 2)), (3, (0, 2))], strengths)
    return pairs + rankings + top + choix.probabilities([0, 2, 3], strengths)[1]


def spectral(strengths: Any) -> Any:
    wins = np.exp(np.subtract.outer(strengths, 0.5 * strengths))
    np.fill_diagonal(wins, 0.0)
    dense = choix.lsr_pairwise_dense(wins, alpha=0.1)
    iterated = choix.ilsr_pairwise_dense(wins, alpha=0.1, max_iter=200)
    return np.sum(dense**3) + np.sum(iterated**2)


def refined(strengths: Any) -> Any:
    once = choix.lsr_pairwise(4, PAIRS, alpha=0.05, initial_params=strengths)
    ranks = choix.lsr_rankings(4, RANKINGS, alpha=0.05, initial_params=strengths)
    return np.sum(once**2) + np.sum(ranks**3)


def expectation(strengths: Any) -> Any:
    np.random.seed(3)  # noqa: NPY002 of the order of pairs, which it draws
    mean, covariance = choix.ep_pairwise(
        4, PAIRS, np.exp(0.3 * strengths[0]), model="probit", max_iter=100
    )
    return np.sum(mean**2) + np.trace(covariance)


def information(strengths: Any) -> Any:
    items = ITEMS[:, :4] + 0.0
    items[:, 1] = items[:, 1] + strengths[0]
    curve = catsim.irt.icc_hpc(strengths[1], items)
    spread = catsim.irt.see(strengths[2], items) + catsim.irt.reliability(strengths[3], items)
    return np.sum(curve) + spread + catsim.irt.test_info(strengths[1], items)


def answered(strengths: Any) -> Any:
    answers = [True, False, True, True, False, False]
    likelihood = catsim.irt.log_likelihood(strengths[0], answers, ITEMS)
    low, high = catsim.irt.confidence_interval(strengths[1], ITEMS)
    return likelihood + high - 0.5 * low + np.sum(catsim.irt.max_info_hpc(ITEMS) * strengths[2])


def ability(strengths: Any) -> Any:
    items = ITEMS.copy()
    items = items + np.array([0.0, 0.1, 0.0, 0.0]) * strengths[0]
    estimator = NumericalSearchEstimator(method="bounded")
    return estimator.estimate(
        item_bank=ItemBank(items), administered_items=[0, 1, 2, 3, 4, 5],
        response_vector=[True, True, False, True, False, True], est_theta=0.1,
    )  # fmt: skip


def uniform(strengths: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-(strengths[:, None] + NOISE[:8].reshape(4, 2))))


def dependent(strengths: Any) -> Any:
    copula = copulae.ClaytonCopula(theta=1.5 + strengths[0] ** 2, dim=2)
    frank = copulae.FrankCopula(theta=3.0 + strengths[1], dim=2)
    points = uniform(strengths)
    return (
        np.sum(np.log(copula.pdf(points))) + np.sum(frank.cdf(points)) + copula.tau
        + np.sum(frank.pdf(points, log=True))
    )  # fmt: skip


def elliptical(strengths: Any) -> Any:
    normal = copulae.GaussianCopula(2)
    normal.params = 0.5 * strengths[0]
    student = copulae.StudentCopula(2)
    student.params = (4.0, 0.4 * strengths[1])
    points = uniform(strengths)
    return np.sum(normal.pdf(points)) + np.sum(student.pdf(points, log=True)) + np.sum(normal.tau)


def extreme(strengths: Any) -> Any:
    gumbel = copulae.GumbelCopula(theta=1.4 + strengths[0] ** 2, dim=2)
    points = uniform(strengths)
    likelihood = gumbel.log_lik(points, to_pobs=False)
    return np.sum(gumbel.cdf(points)) + likelihood + gumbel.tau + gumbel.lambda_().upper


def mixture(strengths: Any) -> Any:
    means = np.array([[0.0, 1.0, 0.5], [1.0, -1.0, 0.2]]) + strengths[:3]
    spread = 0.1 * np.outer(strengths[1:], strengths[1:])
    covariances = np.array([np.eye(3) + spread, 0.5 * np.eye(3) + spread])
    return gmr.GMM(2, priors=np.array([0.4, 0.6]), means=means, covariances=covariances)


def regression(strengths: Any) -> Any:
    model = mixture(strengths)
    predicted = model.predict(np.array([0]), np.array([[0.3], [0.9], [-0.4]]))
    given = model.condition(np.array([0, 1]), np.array([0.2, 0.4]))
    return np.sum(predicted**2) + given.means[0, 0] + given.covariances[1, 0, 0]


def density(strengths: Any) -> Any:
    model = mixture(strengths)
    points = NOISE[:12].reshape(4, 3)
    merged = model.to_mvn()
    ellipses = model.extract_mvn(1).marginalize(np.array([0, 1])).to_ellipse()
    return (
        np.sum(model.to_responsibilities(points) ** 2) + np.sum(ellipses[1:])
        + 100.0 * np.sum(model.to_probability_density(points)) + np.linalg.det(merged.covariance)
    )  # fmt: skip


def trained(strengths: Any) -> Any:
    points = NOISE[:80].reshape(40, 2) * (1.0 + 0.2 * strengths[:2]) + strengths[2]
    points = points + 3.0 * np.outer(np.arange(40) % 2, strengths[2:] + 2.0)
    model = gmr.GMM(2, random_state=0)
    model.from_samples(points, n_iter=8, R_diff=0.0, init_params="kmeans++")
    return np.sum(model.means**2) + np.sum(model.covariances**3) + model.priors[0]


def priced(market: Any) -> Any:
    call = black_scholes("c", 100.0, 95.0, 0.5, market[1], market[0])
    put = black("p", 100.0, 105.0, 0.7, market[1], market[0])
    return call + put + black_scholes_merton("p", 50.0, 48.0, 1.0, market[1], market[0], 0.03)


def greeks(market: Any) -> Any:
    arguments = (49.0, 50.0, 0.3846, market[1], market[0])
    return (
        analytical.delta("c", *arguments) + analytical.gamma("p", *arguments)
        + analytical.vega("c", *arguments) + analytical.theta("p", *arguments)
        + analytical.rho("c", *arguments)
    )  # fmt: skip


def implied(market: Any) -> Any:
    price = 8.0 + 10.0 * market[0]
    return implied_volatility(price, 100.0, 101.0, 0.5, market[1], "c")


def inferred(strengths: Any) -> Any:
    data = NOISE[:10] + 2.0 * strengths[0] + np.repeat(strengths[1:3], 5)
    mu = GaussianARD(0.0, 1e-6)
    tau = Gamma(1e-6, 1e-6)
    observed = GaussianARD(mu, tau, plates=(10,))
    observed.observe(data)
    engine = VB(mu, tau, observed)
    engine.update(repeat=10, verbose=False, tol=0.0)
    return mu.get_moments()[0] + tau.get_moments()[0] + engine.loglikelihood_lowerbound()


def fitted(strengths: Any) -> Any:
    design = np.stack([np.ones(12), np.linspace(-1.0, 1.0, 12)], axis=-1)
    data = design @ strengths[:2] + 0.3 * NOISE[:12] * (1.0 + 0.2 * strengths[2])
    weights = GaussianARD(0.0, 1e-3, shape=(2,))
    tau = Gamma(1e-3, 1e-3)
    observed = GaussianARD(SumMultiply("i,i", weights, design), tau)
    observed.observe(data)
    engine = VB(weights, tau, observed)
    engine.update(repeat=10, verbose=False, tol=0.0)
    mean, second = weights.get_moments()
    return np.sum(mean**3) + np.sum(second) + tau.get_moments()[1]


def precision(strengths: Any) -> Any:
    data = NOISE[:40].reshape(20, 2) * (1.0 + 0.2 * strengths[:2]) + strengths[2:]
    mean = Gaussian(np.zeros(2), 1e-3 * np.eye(2))
    matrix = Wishart(2, 1e-2 * np.eye(2))
    observed = Gaussian(mean, matrix, plates=(20,))
    observed.observe(data)
    engine = VB(mean, matrix, observed)
    engine.update(repeat=6, verbose=False, tol=0.0)
    return np.sum(mean.get_moments()[0] ** 2) + np.sum(matrix.get_moments()[0] ** 2) / 10.0


ROWS: Final = (
    Row("choix", "log_likelihood_pairwise", preference, STRENGTHS),
    Row("choix", "ilsr_pairwise_dense", spectral, STRENGTHS, rounding=1e-6, tolerance=1e-4),
    Row("choix", "lsr_rankings", refined, STRENGTHS),
    Row("choix", "ep_pairwise", expectation, STRENGTHS, tolerance=1e-4, rounding=1e-6),
    Row("catsim", "irt.test_info", information, STRENGTHS),
    Row("catsim", "irt.log_likelihood", answered, STRENGTHS),
    Row("catsim", "NumericalSearchEstimator.estimate", ability, STRENGTHS, tolerance=1e-3,
        rounding=1e-5, step=3e-2),
    Row("copulae", "ClaytonCopula.pdf", dependent, STRENGTHS),
    Row("copulae", "StudentCopula.pdf", elliptical, STRENGTHS),
    Row("copulae", "GumbelCopula.cdf", extreme, STRENGTHS),
    Row("gmr", "GMM.predict", regression, STRENGTHS),
    Row("gmr", "GMM.to_probability_density", density, STRENGTHS),
    Row("gmr", "GMM.from_samples", trained, STRENGTHS),
    Row("vollib", "black_scholes", priced, MARKETS),
    Row("vollib", "greeks.analytical", greeks, MARKETS),
    Row("vollib", "implied_volatility", implied, MARKETS),
    Row("bayespy", "VB.update", inferred, STRENGTHS),
    Row("bayespy", "SumMultiply", fitted, STRENGTHS),
    Row("bayespy", "Wishart", precision, STRENGTHS),
)  # fmt: skip
