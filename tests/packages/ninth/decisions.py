"""The ninth set: options, factors, curves of movement, codes, and perception."""

import warnings
from typing import Any, Final

import komm
import numpy as np
import pyfeng
import spm1d
from factor_analyzer import Rotator, calculate_bartlett_sphericity, calculate_kmo
from factor_analyzer.utils import (
    corr,
    duplication_matrix_pre_post,
    inv_chol,
    partial_correlations,
    smc,
)
from psignifit import Configuration
from psignifit._posterior import log_posterior

from packages.row import Row

warnings.filterwarnings("ignore")

SHAPES: Final = (
    np.array([0.4, -0.7, 0.2, 0.9]),
    np.array([-0.3, 0.5, 1.1, -0.6]),
    np.array([0.8, 0.1, -0.5, 0.3]),
)
MARKETS: Final = (np.array([0.3, 0.05]), np.array([0.22, 0.02]), np.array([0.41, 0.08]))
NUMBERS: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
NOISE: Final = np.sin(np.arange(800.0) ** 1.7)
STRIKES: Final = np.array([85.0, 95.0, 105.0, 115.0])


def priced(market: Any) -> Any:
    model = pyfeng.Bsm(market[0], intr=market[1], divr=0.01)
    prices = model.price(STRIKES, 100.0, 1.2)
    barrier = model.price_barrier(100.0, 120.0, 101.0, 0.8)
    return (
        np.sum(prices) + np.sum(model.impvol(prices * 1.02, STRIKES, 100.0, 1.2)) + np.sum(barrier)
    )


def smiling(market: Any) -> Any:
    model = pyfeng.SabrHagan2002(sigma=8.0 * market[0], vov=0.4, rho=-4.0 * market[1], beta=0.5)
    normal = pyfeng.Nsvh1(sigma=20.0, vov=market[0], rho=-4.0 * market[1])
    return np.sum(model.price(STRIKES, 100.0, 1.2)) + np.sum(normal.price(STRIKES, 100.0, 1.2))


def transformed(market: Any) -> Any:
    model = pyfeng.HestonFft(market[0] ** 2, vov=0.5, mr=1.5, rho=-0.6, intr=market[1])
    return np.sum(model.price(STRIKES, 100.0, 1.0))


def basket(market: Any) -> Any:
    model = pyfeng.BsmBasketLevy1992(sigma=market[0] * np.array([1.0, 0.8, 1.2]), rho=0.4,
                                     intr=market[1])  # fmt: skip
    spread = pyfeng.BsmSpreadKirk(market[0] * np.array([1.0, 0.7]), rho=0.5)
    spots = np.array([100.0, 95.0, 105.0])
    return np.sum(model.price(STRIKES, spots, 1.5)) + spread.price(
        5.0, np.array([100.0, 96.0]), 1.0
    )


def observed(shape: Any) -> Any:
    hidden = NOISE[:100].reshape(50, 2)
    loadings = np.array([[0.9, 0.1], [0.8, -0.2], [0.7, 0.3], [0.1, 0.8], [0.2, 0.9], [-0.1, 0.7]])
    loadings = loadings + 0.1 * np.outer(np.append(shape, shape[:2]), [1.0, -0.5])
    return hidden @ loadings.T + 0.5 * NOISE[300:600].reshape(50, 6)


def adequate(shape: Any) -> Any:
    data = observed(shape)
    each, total = calculate_kmo(data)
    statistic, p = calculate_bartlett_sphericity(data)
    partial = partial_correlations(data)
    return np.sum(each) + total + statistic / 100.0 + p + np.sum(partial**2)


def rotated(shape: Any) -> Any:
    loadings = np.array([[0.7, 0.4], [0.6, 0.5], [0.8, 0.3], [0.5, -0.6], [0.4, -0.7]])
    loadings = loadings + 0.1 * np.outer(np.append(shape, 0.2), [1.0, 0.5])
    varimax = Rotator(method="varimax", tol=1e-14, normalize=False).fit_transform(loadings)
    return np.sum(varimax**4)


def oblique(shape: Any) -> Any:
    loadings = np.array([[0.7, 0.4], [0.6, 0.5], [0.8, 0.3], [0.5, -0.6], [0.4, -0.7]])
    loadings = loadings + 0.1 * np.outer(np.append(shape, 0.2), [1.0, 0.5])
    rotator = Rotator(method="oblimin", tol=1e-9)
    return np.sum(rotator.fit_transform(loadings) ** 4) + np.sum(rotator.phi_)


def explained(shape: Any) -> Any:
    correlations = corr(observed(shape))
    halves = duplication_matrix_pre_post(
        np.outer(np.append(shape, shape), np.arange(1.0, 9.0))[:4, :4]
    )
    return (
        np.sum(smc(correlations)) + np.sum(inv_chol(correlations)[0] ** 2) + np.sum(halves) / 10.0
    )


def curves(shape: Any) -> Any:
    times = np.linspace(0.0, 1.0, 20)
    waves = np.sin(np.outer(1.0 + 0.2 * shape, 4.0 * times)) + np.cos(np.outer(shape, times))
    return np.concatenate([waves, waves**2, waves[::-1]]) + 0.3 * NOISE[:240].reshape(12, 20)


def compared(shape: Any) -> Any:
    data = curves(shape)
    test = spm1d.stats.ttest2(data[:6], data[6:], equal_var=False)
    one = spm1d.stats.ttest(data, 0.3)
    return np.sum(test.z) + np.sum(one.z) / 10.0 + one.fwhm


def regressed(shape: Any) -> Any:
    data = curves(np.array([0.4, -0.7, 0.2, 0.9]))
    trend = spm1d.stats.regress(data, np.arange(12.0) + np.repeat(shape, 3))
    return np.sum(trend.z) + np.sum(trend.r**2) + trend.resels[1]


def grouped(shape: Any) -> Any:
    data = curves(shape)
    variance = spm1d.stats.anova1(data, np.arange(12) % 3, equal_var=True)
    hotelling = spm1d.stats.hotellings(data.reshape(12, 10, 2), np.array([0.1, 0.2]))
    return np.sum(variance.z) + np.sum(hotelling.z) / 100.0


def detected(shape: Any) -> Any:
    stars = komm.QAMConstellation(16, 2.0 + shape[0])
    received = NOISE[:6] + shape[1] + 1j * (NOISE[6:12] + shape[2])
    return (
        np.sum(stars.posteriors(received, noise_power=np.exp(shape[3])) ** 2) + stars.mean_energy()
    )


def informed(shape: Any) -> Any:
    weights = np.exp(shape)
    source = weights / weights.sum()
    crossing = 0.1 + 0.1 * shape[0] ** 2
    channel = komm.BinarySymmetricChannel(crossing)
    noisy = komm.DiscreteMemorylessChannel([[0.9 - crossing, 0.1 + crossing], [0.2, 0.8]])
    entropy = komm.DiscreteMemorylessSource(source).entropy_rate()
    return (
        channel.mutual_information([0.3, 0.7])
        + entropy
        + noisy.mutual_information([0.4, 0.6])
        + channel.capacity()
    )


def pulsed(shape: Any) -> Any:
    pulse = komm.RaisedCosinePulse(rolloff=0.3 + 0.1 * shape[0])
    gaussian = komm.GaussianPulse(0.5 + 0.1 * shape[1])
    times = np.array([0.13, 0.47, 1.21, 2.6]) * (1.0 + 0.1 * shape[2])
    return np.sum(pulse.waveform(times) ** 2) + np.sum(gaussian.waveform(times)) + pulse.energy()


def markov(shape: Any) -> Any:
    weights = np.exp(np.outer(shape[:3], shape[1:]))
    chain = komm.MarkovChain(weights / weights.sum(axis=1, keepdims=True))
    absorbing = komm.MarkovChain([[1.0, 0.0, 0.0], chain.transition_matrix[1], [0.2, 0.3, 0.5]])
    return np.sum(chain.stationary_distribution() ** 2) + np.sum(
        absorbing.mean_time_to_absorption()
    )


LEVELS: Final = np.linspace(0.001, 0.01, 9)
HITS: Final = np.array([45.0, 50.0, 44.0, 44.0, 52.0, 53.0, 62.0, 64.0, 76.0])


def perceived(number: Any) -> Any:
    sigmoid = Configuration(sigmoid="norm").make_sigmoid()
    skewed = Configuration(sigmoid="gumbel").make_sigmoid()
    levels = sigmoid(np.linspace(-1.0, 3.0, 7), number[0], number[1], 0.02, 0.1)
    inverse = skewed.inverse(np.array([0.4, 0.6]), number[0], number[1], 0.02, 0.1)
    return np.sum(levels**2) + np.sum(inverse) + sigmoid.slope(1.3, number[0], number[1], 0.02, 0.1)


def judged(number: Any) -> Any:
    data = np.stack([LEVELS * 100.0, HITS, np.full(9, 90.0)], axis=-1)
    grid = {"threshold": number[:1], "width": number[1:], "lambda": np.array([0.02]),
            "gamma": np.array([0.5]), "eta": np.array([0.05])}  # fmt: skip
    priors = dict.fromkeys(grid, lambda x: np.exp(-(x**2)))
    sigmoid = Configuration(sigmoid="logistic").make_sigmoid()
    return np.sum(log_posterior(data, sigmoid, priors, grid)) / 100.0


ROWS: Final = (
    Row("pyfeng", "Bsm.price", priced, MARKETS, compiled="mathpf.millsratio, Cython"),
    Row("pyfeng", "SabrHagan2002", smiling, MARKETS),
    Row("pyfeng", "HestonFft", transformed, MARKETS),
    Row("pyfeng", "BsmBasketLevy1992", basket, MARKETS),
    Row("factor-analyzer", "calculate_kmo", adequate, SHAPES),
    Row("factor-analyzer", "Rotator", rotated, SHAPES, tolerance=1e-3, rounding=1e-6, step=1e-2),
    Row("factor-analyzer", "method=oblimin", oblique, SHAPES, tolerance=1e-3,
        rounding=1e-5, step=1e-2),
    Row("factor-analyzer", "smc", explained, SHAPES),
    Row("spm1d", "ttest2", compared, SHAPES),
    Row("spm1d", "regress", regressed, SHAPES),
    Row("spm1d", "anova1", grouped, SHAPES),
    Row("komm", "QAMConstellation.posteriors", detected, SHAPES),
    Row("komm", "mutual_information", informed, SHAPES),
    Row("komm", "RaisedCosinePulse", pulsed, SHAPES),
    Row("komm", "MarkovChain", markov, SHAPES),
    Row("psignifit", "sigmoid", perceived, NUMBERS),
    Row("psignifit", "log_posterior", judged, NUMBERS),
)  # fmt: skip
