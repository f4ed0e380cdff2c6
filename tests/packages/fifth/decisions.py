"""The fifth set: yields, floods, choices, colors, games, and sensitivities."""

import warnings
from typing import Any, Final

import lmoments3
import numpy as np
import pymcdm
import trueskill
from coloraide.everything import ColorAll as Color
from lmoments3 import distr
from nelson_siegel_svensson import NelsonSiegelCurve, NelsonSiegelSvenssonCurve, calibrate
from pymcdm import methods, normalizations
from SALib.analyze import dgsm, fast, morris, sobol
from SALib.sample import fast_sampler, morris as trajectories, sobol as sequence
from SALib.test_functions import Ishigami, Sobol_G

from packages.row import Row

warnings.filterwarnings("ignore")

NOISE: Final = np.array(
    [0.31, -0.75, 0.56, 0.94, -0.89, 0.12, -0.38, 0.67, 0.05, -0.22, 0.81, -0.47]
)
SERIES: Final = (NOISE, NOISE[::-1] ** 2 + 0.3 * NOISE, np.sin(NOISE) + 0.2 * NOISE[::-1])
FLOODS: Final = np.array([3.1, 2.4, 5.6, 9.4, 4.2, 3.3, 2.9, 2.1, 1.8, 4.4, 6.1, 3.9])
PEAKS: Final = (FLOODS + 0.3 * NOISE, 1.2 * FLOODS - 0.4 * NOISE, FLOODS * (1.0 + 0.1 * NOISE))
MATURITIES: Final = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 25.0, 30.0])
COLORS: Final = (
    np.array([0.2, 0.5, 0.7]),
    np.array([0.8, 0.3, 0.4]),
    np.array([0.35, 0.6, 0.15]),
)
PLAYERS: Final = (np.array([25.0, 8.3]), np.array([31.0, 4.2]), np.array([19.0, 6.1]))
COSTS: Final = np.array([1, -1, 1])
SHARES: Final = np.array([0.5, 0.2, 0.3])
PROBLEM: Final = {
    "num_vars": 3,
    "names": ["x1", "x2", "x3"],
    "bounds": [[-np.pi, np.pi], [-np.pi, np.pi], [-np.pi, np.pi]],
}
LEVELS: Final = (np.array([7.0, 0.1]), np.array([5.0, 0.05]), np.array([3.0, 0.3]))


def curve(numbers: Any) -> Any:
    short, long = np.exp(numbers[3]), 4.0 * np.exp(numbers[4])
    bond = NelsonSiegelSvenssonCurve(0.03, *(0.02 * numbers[:3]), short, long)
    return np.sum(bond(MATURITIES) * MATURITIES) + np.sum(bond.forward(MATURITIES))


def fitted(numbers: Any) -> Any:
    yields = 0.03 - 0.02 * np.exp(-MATURITIES / 3.0) + 0.002 * numbers
    bond, _ = calibrate.betas_ns_ols(2.1, MATURITIES, yields)
    return 100.0 * (bond.beta0 + 2.0 * bond.beta1 + bond.zero(8.0))


def calibrated(numbers: Any) -> Any:
    start = NelsonSiegelCurve(0.03, -0.02, 0.04, 1.7)
    yields = start(MATURITIES) + 0.0002 * numbers
    error = calibrate.errorfn_ns_ols(1.9, MATURITIES, yields)
    bond, _ = calibrate.betas_nss_ols((1.5, 6.0), MATURITIES, yields)
    return 1e6 * error + 100.0 * bond.forward(4.0)


def moments(floods: Any) -> Any:
    first, second, *ratios = lmoments3.lmom_ratios(floods, nmom=5)
    return first + 2.0 * second + sum(ratios)


def frequencies(floods: Any) -> Any:
    shape, location, scale = distr.gev.lmom_fit(floods).values()
    return shape + location + distr.gev(shape, loc=location, scale=scale).ppf(0.99)


def skewed(floods: Any) -> Any:
    parameters = distr.pe3.lmom_fit(floods)
    theory = distr.pe3(**parameters).lmom_ratios(nmom=4)
    return parameters["skew"] + parameters["scale"] + theory[3]


def exceeded(floods: Any) -> Any:
    parameters = distr.gpa.lmom_fit(floods)
    logistic = distr.glo.lmom_fit(floods)
    return sum(parameters.values()) + distr.glo(**logistic).ppf(0.9)


def alternatives(numbers: Any) -> Any:
    """Return four alternatives by three criteria."""
    return np.exp(0.5 * numbers.reshape(4, 3)) * [1.0, 20.0, 5.0]


def topsis(numbers: Any) -> Any:
    scores = methods.TOPSIS(normalizations.vector_normalization)(
        alternatives(numbers), SHARES, COSTS
    )
    return np.sum(scores * [1.0, 2.0, 3.0, 4.0])


def promethee(numbers: Any) -> Any:
    matrix = alternatives(numbers)
    indifference, preference = [0.01, 0.1, 0.05], [1.5, 30.0, 9.0]
    method = methods.PROMETHEE_II("vshape_2", p=preference, q=indifference)
    return np.sum(method(matrix, SHARES, COSTS) * [1.0, 2.0, 3.0, 4.0])


def weighted(numbers: Any) -> Any:
    matrix = alternatives(numbers)
    weights = pymcdm.weights.entropy_weights(matrix) + pymcdm.weights.critic_weights(matrix)
    scores = methods.WASPAS()(matrix, 0.5 * weights, COSTS)
    return np.sum(scores * [1.0, 2.0, 3.0, 4.0])


def spotted(numbers: Any) -> Any:
    bounds = np.array([[0.3, 2.5], [8.0, 50.0], [2.0, 12.0]])
    distances = methods.SPOTIS(bounds)(alternatives(numbers), SHARES, COSTS)
    return np.sum(distances * [1.0, 2.0, 3.0, 4.0]) + pymcdm.correlations.pearson(
        distances, np.array([0.3, 0.5, 0.1, 0.7])
    )


def perceived(color: Any) -> Any:
    lightness, chroma, hue = Color("srgb", list(color)).convert("oklch").coords()
    return lightness + 3.0 * chroma + 0.01 * hue


def different(color: Any) -> Any:
    sample = Color("srgb", list(color))
    other = Color("#7a3c90")
    return sample.delta_e(other, method="2000") + 10.0 * sample.contrast(other)


def blended(color: Any) -> Any:
    middle = Color("srgb", list(color)).mix("teal", 0.3, space="lab")
    top = Color("srgb", [0.2, 0.7, 0.1], alpha=0.4)
    stack = Color.layer([top, middle], blend="multiply", space="srgb")
    return sum(stack.coords()) + middle.luminance()


def adapted(color: Any) -> Any:
    xyz = Color("srgb", list(color)).convert("xyz-d50").coords()
    appearance = Color("srgb", list(color)).convert("cam16-jmh").coords()
    return sum(xyz) + 0.01 * appearance[0] + 0.02 * appearance[1]


def rated(player: Any) -> Any:
    first, second = trueskill.Rating(player[0], player[1]), trueskill.Rating(27.0, 6.0)
    winner, loser = trueskill.rate_1vs1(first, second)
    return winner.mu + 2.0 * winner.sigma + loser.mu - loser.sigma


def drawn(player: Any) -> Any:
    game = trueskill.TrueSkill(draw_probability=0.2, beta=4.0)
    first, second = game.create_rating(player[0], player[1]), game.create_rating(26.0, 5.0)
    one, other = trueskill.rate_1vs1(first, second, drawn=True, env=game)
    return one.mu + one.sigma + game.expose(other) + game.quality([(one,), (other,)])


def teams(player: Any) -> Any:
    newcomer = trueskill.Rating(player[0], player[1])
    groups = [
        (newcomer, trueskill.Rating(22.0, 5.0)),
        (trueskill.Rating(30.0, 3.0),),
        (trueskill.Rating(24.0, 7.0),),
    ]
    rated_groups = trueskill.rate(groups, ranks=[1, 0, 2])
    return sum(rating.mu + rating.sigma for group in rated_groups for rating in group)


def variances(levels: Any) -> Any:
    samples = sequence.sample(PROBLEM, 16, seed=3)
    outputs = Ishigami.evaluate(samples, A=levels[0], B=levels[1])
    result = sobol.analyze(PROBLEM, outputs, num_resamples=10, seed=5)
    return np.sum(result["S1"] * [1.0, 2.0, 3.0]) + np.sum(result["ST"]) + result["S2"][0, 2]


def effects(levels: Any) -> Any:
    samples = trajectories.sample(PROBLEM, 6, num_levels=4, seed=3)
    outputs = Ishigami.evaluate(samples, A=levels[0], B=levels[1])
    result = morris.analyze(PROBLEM, samples, outputs, num_resamples=10, seed=5)
    return np.sum(result["mu"]) + np.sum(result["mu_star"]) + np.sum(result["sigma"])


def spectra(levels: Any) -> Any:
    samples = fast_sampler.sample(PROBLEM, 65, seed=3)
    outputs = Ishigami.evaluate(samples, A=levels[0], B=levels[1])
    result = fast.analyze(PROBLEM, outputs, num_resamples=5, seed=5)
    return sum(result["S1"]) + 2.0 * sum(result["ST"])


def slopes(levels: Any) -> Any:
    base = np.linspace(0.1, 0.9, 15).reshape(5, 3)
    samples = np.repeat(base, 4, axis=0)
    for i in range(3):
        samples[i + 1 :: 4, i] += 0.01
    outputs = Sobol_G.evaluate(samples, a=np.array([levels[0], levels[1], 4.5]))
    problem = {**PROBLEM, "bounds": [[0.0, 1.0]] * 3}
    result = dgsm.analyze(problem, samples, outputs, num_resamples=5, seed=5)
    return np.sum(result["dgsm"]) + np.sum(result["vi"])


ROWS: Final = (
    Row("nelson-siegel-svensson", "NelsonSiegelSvenssonCurve", curve, SERIES),
    Row("nelson-siegel-svensson", "calibrate.betas_ns_ols", fitted, SERIES),
    Row("nelson-siegel-svensson", "calibrate.errorfn_ns_ols", calibrated, SERIES),
    Row("lmoments3", "lmom_ratios", moments, PEAKS),
    Row("lmoments3", "distr.gev.lmom_fit", frequencies, PEAKS),
    Row("lmoments3", "distr.pe3.lmom_fit", skewed, PEAKS),
    Row("lmoments3", "distr.gpa.lmom_fit", exceeded, PEAKS),
    Row("pymcdm", "methods.TOPSIS", topsis, SERIES),
    Row("pymcdm", "methods.PROMETHEE_II", promethee, SERIES),
    Row("pymcdm", "methods.WASPAS", weighted, SERIES),
    Row("pymcdm", "methods.SPOTIS", spotted, SERIES),
    Row("coloraide", "Color.convert", perceived, COLORS),
    Row("coloraide", "Color.delta_e", different, COLORS),
    Row("coloraide", "Color.mix", blended, COLORS),
    Row("coloraide", "Color.convert cam16", adapted, COLORS),
    Row("trueskill", "rate_1vs1", rated, PLAYERS),
    Row("trueskill", "TrueSkill.expose", drawn, PLAYERS),
    Row("trueskill", "rate", teams, PLAYERS),
    Row("SALib", "analyze.sobol", variances, LEVELS),
    Row("SALib", "analyze.morris", effects, LEVELS),
    Row("SALib", "analyze.fast", spectra, LEVELS),
    Row("SALib", "analyze.dgsm", slopes, LEVELS),
)
