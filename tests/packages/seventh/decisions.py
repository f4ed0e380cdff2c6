"""The seventh set: prices, scores of forecasts, likelihoods, maps, networks, and tensors."""

import warnings
from typing import Any, Final

import bct
import minisom
import numpy as np
import pyhf
import pyttb
import scoringrules
from finoptions import BlackScholesOption, MiltersenSchwartzOption
from finoptions.basic_american_options import BAWAmericanApproxOption, BSAmericanApproxOption
from finoptions.binomial_tree_options import CRRBinomialTreeOption, TrinomialTreeOption
from finoptions.spread_options import SpreadApproxOption

from packages.row import Row

warnings.filterwarnings("ignore")

MARKETS: Final = (np.array([0.3, 0.05]), np.array([0.22, 0.02]), np.array([0.41, 0.08]))
OBSERVED: Final = np.array([0.4, -1.1, 0.9, 0.2, 1.6])
FORECASTS: Final = (
    np.array([0.3, -0.8, 1.1, 0.5, 1.2]),
    np.array([0.9, -0.2, 0.6, -0.4, 1.9]),
    np.array([-0.1, -1.5, 1.4, 0.8, 0.7]),
)
YIELDS: Final = (np.array([1.1, 0.9, 1.2]), np.array([0.7, 1.1, 0.8]), np.array([1.4, 1.05, 0.95]))
WEIGHTS: Final = (
    np.array([0.5, 0.8, 0.3, 0.9, 0.6, 0.7]),
    np.array([0.9, 0.4, 0.7, 0.2, 0.8, 0.35]),
    np.array([0.25, 0.6, 0.95, 0.55, 0.4, 0.85]),
)
NOISE: Final = np.sin(np.arange(120.0) ** 1.7)


def european(market: Any) -> Any:
    option = BlackScholesOption(10.0, 8.0, 1.0, market[1], 0.02, sigma=market[0])
    greeks = option.delta() + option.gamma() + option.vega() + option.theta(call=False)
    return option.call() + option.put() + greeks


def american(market: Any) -> Any:
    approximate = BAWAmericanApproxOption(100.0, 95.0, 0.5, 0.1, market[1], sigma=market[0])
    flat = BSAmericanApproxOption(42.0, 40.0, 0.75, 0.04, market[1] - 0.1, sigma=market[0])
    return approximate.call() + approximate.put() + flat.call()["OptionPrice"]


def trees(market: Any) -> Any:
    crr = CRRBinomialTreeOption(50.0, 50.0, 5 / 12, 0.1, market[1], market[0], n=6, type="american")
    trinomial = TrinomialTreeOption(50.0, 48.0, 0.5, market[1], 0.03, market[0], n=5)
    return crr.put() + trinomial.call()


def several(market: Any) -> Any:
    spread = SpreadApproxOption(28.0, 20.0, 7.0, 0.25, market[1], market[1], market[1],
                                market[0], 0.36, 0.42)  # fmt: skip
    oil = MiltersenSchwartzOption(
        np.exp(-0.05), 95.0, 80.0, 0.25, 0.5, market[0], 0.266, 0.0096, 0.805, 0.0964, 0.1243,
        1.045, 0.2,
    )  # fmt: skip
    return np.sum(spread.call()) + oil.call() + oil.delta()


def parametric(mean: Any) -> Any:
    normal = scoringrules.crps_normal(OBSERVED, mean, 0.8)
    gamma = scoringrules.crps_gamma(np.abs(OBSERVED), 1.5 + mean**2, 2.0)
    student = scoringrules.crps_t(OBSERVED, 5.0, mean, 1.3)
    extreme = scoringrules.crps_gev(OBSERVED, 0.2, mean, 1.1)
    return np.sum(normal) + np.sum(gamma) + np.sum(student) + np.sum(extreme)


def members(mean: Any) -> Any:
    forecast = mean[:, None] + 0.7 * NOISE[:40].reshape(5, 8)
    fair = scoringrules.crps_ensemble(OBSERVED, forecast, estimator="fair")
    weighted = scoringrules.twcrps_ensemble(OBSERVED, forecast, a=-0.5, b=1.0)
    return np.sum(fair) + np.sum(weighted) + np.sum(scoringrules.crps_ensemble(OBSERVED, forecast))


def joint(mean: Any) -> Any:
    forecast = mean + NOISE[:40].reshape(8, 5)
    energy = scoringrules.es_ensemble(OBSERVED, forecast)
    variogram = scoringrules.vs_ensemble(OBSERVED, forecast, p=1.0)
    return energy + variogram + scoringrules.dssmv_ensemble(OBSERVED, forecast)


def logarithmic(mean: Any) -> Any:
    mixture = scoringrules.logs_mixnorm(0.3, mean, np.full(5, 0.6))
    beta = scoringrules.logs_beta(0.4, 2.0 + mean**2, 1.5)
    interval = scoringrules.interval_score(OBSERVED, mean - 0.47, mean + 0.63, 0.2)
    kernel = scoringrules.logs_ensemble(0.2, mean)
    return np.sum(mixture) + np.sum(beta) + np.sum(interval) + np.sum(kernel)


MODEL: Final = pyhf.simplemodels.uncorrelated_background([12.0, 11.0], [50.0, 52.0], [3.0, 7.0])
SHAPES: Final = pyhf.simplemodels.correlated_background(
    [5.0, 10.0], [50.0, 60.0], [55.0, 66.0], [45.0, 52.0]
)


def likelihood(pars: Any) -> Any:
    return -MODEL.logpdf(pars, [51.0, 48.0, *MODEL.config.auxdata])[0]


def expected(pars: Any) -> Any:
    data = MODEL.expected_data(pars)
    return np.sum(data**2) / 1e3 + np.sum(MODEL.expected_actualdata(pars))


def interpolated(pars: Any) -> Any:
    logpdf = SHAPES.logpdf(pars[:2] - 0.5, [53.0, 65.0, *SHAPES.config.auxdata])
    return -2.0 * logpdf[0] + SHAPES.constraint_logpdf(np.array(SHAPES.config.auxdata), pars[:2])


def organized(mean: Any) -> Any:
    points = mean + 0.5 * NOISE[:60].reshape(12, 5)
    maps = minisom.MiniSom(3, 3, 5, sigma=1.0, learning_rate=0.5, random_seed=1)
    maps.train(points, 20)
    return np.sum(maps.get_weights() ** 2) + maps.quantization_error(points)


def distances(mean: Any) -> Any:
    points = mean + 0.5 * NOISE[:60].reshape(12, 5)
    maps = minisom.MiniSom(4, 3, 5, neighborhood_function="mexican_hat", random_seed=3)
    maps.pca_weights_init(points)
    return np.sum(maps.distance_map() ** 2) + np.sum(maps.quantization(points)[0])


def network(weights: Any) -> Any:
    matrix = np.zeros((5, 5))
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 3)]
    for (i, j), weight in zip(edges, weights, strict=True):
        matrix[i, j] = matrix[j, i] = weight
    return matrix


def clustered(weights: Any) -> Any:
    return np.sum(bct.clustering_coef_wu(network(weights))) + bct.transitivity_wu(network(weights))


def efficient(weights: Any) -> Any:
    distances, _ = bct.distance_wei(bct.weight_conversion(network(weights), "lengths"))
    path, _, eccentricity, _, _ = bct.charpath(distances)
    return path + bct.efficiency_wei(network(weights)) + np.sum(eccentricity)


def central(weights: Any) -> Any:
    eigenvector = bct.eigenvector_centrality_und(network(weights))
    rank = bct.pagerank_centrality(network(weights), 0.85)
    passage = bct.mean_first_passage_time(network(weights))
    return np.sum(eigenvector**3) + 10.0 * np.sum(rank**2) + np.sum(passage) / 50.0


def modular(weights: Any) -> Any:
    groups = np.array([1, 1, 2, 2, 1])
    participation = bct.participation_coef(network(weights), groups)
    diversity, _ = bct.diversity_coef_sign(network(weights), groups)
    within = bct.module_degree_zscore(network(weights), groups)
    return np.sum(participation) + np.sum(diversity) + np.sum(within**3)


def tensor(weights: Any) -> Any:
    values = NOISE[:24].reshape(2, 3, 4) + np.outer(weights, NOISE[24:28]).reshape(2, 3, 4)
    return pyttb.tensor(values)


def contracted(weights: Any) -> Any:
    data = tensor(weights)
    product = data.ttm(NOISE[:6].reshape(2, 3), 1)
    vector = product.ttv(np.array([1.0, 2.0]), 0)
    return vector.norm() + data.innerprod(data) + np.sum(data.collapse(np.array([0, 1])).data)


def factored(weights: Any) -> Any:
    factors = [np.outer(weights[:2], [1.0, 0.5]) + 0.2, NOISE[:6].reshape(3, 2), np.ones((4, 2))]
    factors[2] = factors[2] + NOISE[6:14].reshape(4, 2)
    model = pyttb.ktensor(factors, weights[2:4])
    normal = pyttb.ktensor(factors, weights[4:6]).normalize()
    projection = tensor(weights).mttkrp(factors, 1)
    return model.norm() + np.sum(normal.weights) + np.sum(projection**2) + model.full().norm()


def decomposed(weights: Any) -> Any:
    start = pyttb.ktensor([NOISE[:4].reshape(2, 2), NOISE[4:10].reshape(3, 2),
                           NOISE[10:18].reshape(4, 2)])  # fmt: skip
    model, _, _ = pyttb.cp_als(tensor(weights), 2, maxiters=5, init=start, printitn=0, stoptol=0.0)
    return np.sum(model.weights) + model.full().norm()


ROWS: Final = (
    Row("finoptions", "BlackScholesOption", european, MARKETS),
    Row("finoptions", "BAWAmericanApproxOption", american, MARKETS, step=1e-5, rounding=1e-8),
    Row("finoptions", "CRRBinomialTreeOption", trees, MARKETS),
    Row("finoptions", "SpreadApproxOption", several, MARKETS),
    Row("scoringrules", "crps_normal", parametric, FORECASTS),
    Row("scoringrules", "crps_ensemble", members, FORECASTS, step=1e-5),
    Row("scoringrules", "es_ensemble", joint, FORECASTS, step=1e-5),
    Row("scoringrules", "logs_mixnorm", logarithmic, FORECASTS),
    Row("pyhf", "Model.logpdf", likelihood, YIELDS),
    Row("pyhf", "Model.expected_data", expected, YIELDS),
    Row("pyhf", "correlated_background", interpolated, YIELDS),
    Row("MiniSom", "MiniSom.train", organized, FORECASTS, step=1e-5),
    Row("MiniSom", "MiniSom.distance_map", distances, FORECASTS, step=1e-5),
    Row("bctpy", "clustering_coef_wu", clustered, WEIGHTS),
    Row("bctpy", "distance_wei", efficient, WEIGHTS),
    Row("bctpy", "pagerank_centrality", central, WEIGHTS),
    Row("bctpy", "participation_coef", modular, WEIGHTS),
    Row("pyttb", "tensor.ttm", contracted, WEIGHTS),
    Row("pyttb", "ktensor", factored, WEIGHTS),
    Row("pyttb", "cp_als", decomposed, WEIGHTS),
)
