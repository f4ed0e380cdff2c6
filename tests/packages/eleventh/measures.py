"""The eleventh set: survival, studies of studies, information, free energies, and acid seas."""

import warnings
from typing import Any, Final

import chaospy
import dendropy
import dissonant
import dit
import numpy as np
import pandas as pd
import PyCO2SYS
import pymbar
import semopy
from dendropy.calculate import treecompare, treemeasure
from dendropy.model import birthdeath, coalescent
from lifelines import GeneralizedGammaFitter, LogNormalFitter, WeibullFitter
from lifelines.statistics import power_under_cph
from lifelines.utils import ridge_regression
from nara_wpe import wpe
from PyCO2SYS import minimal
from pymare import estimators, stats
from pymbar import timeseries

from packages.row import Row

warnings.filterwarnings("ignore")

NUMBERS: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
NOISE: Final = np.sin(np.arange(600.0) ** 1.7)
TIMES: Final = 1.0 + 9.0 * np.abs(NOISE[:30])
DEATHS: Final = NOISE[30:60] > -0.4
NEWICK: Final = "((A:1.0,B:1.0):2.0,((C:0.5,D:0.5):1.5,E:2.0):1.0);"


def survived(number: Any) -> Any:
    weibull = WeibullFitter()
    place = np.array([5.0 * number[0], 1.2 * number[1]])
    loss = weibull._negative_log_likelihood_right_censoring(
        place, (TIMES, None), DEATHS, np.zeros(30), np.ones(30)
    )
    return loss + np.sum(weibull._survival_function(place, TIMES))


def lasted(number: Any) -> Any:
    gamma, normal = GeneralizedGammaFitter(), LogNormalFitter()
    first = gamma._negative_log_likelihood_right_censoring(
        np.array([1.5 * number[0], 0.1, 0.8 * number[1]]),
        (TIMES, None),
        DEATHS,
        np.zeros(30),
        np.ones(30),
    )
    second = normal._negative_log_likelihood_interval_censoring(
        np.array([1.2 * number[0], 0.9 * number[1]]),
        (TIMES, TIMES + 1.0 + number[0]),
        np.zeros(30, dtype=bool),
        np.zeros(30),
        np.ones(30),
    )
    return first + second


def powered(number: Any) -> Any:
    power = power_under_cph(200.0, 150.0, 0.35 * number[0], 0.3, 0.6 * number[1], alpha=0.05)
    design = np.outer(NOISE[:20], [1.0, 0.5]) * number + NOISE[40:80].reshape(20, 2)
    beta, spread = ridge_regression(design, NOISE[80:100], c1=0.1 * number[0], c2=0.0)
    return power + np.sum(beta) + np.sum(np.square(spread))


def pooled(number: Any) -> Any:
    y = NOISE[:8, np.newaxis] * number[0] + 0.3
    v = (0.1 + NOISE[8:16, np.newaxis] ** 2) * number[1]
    model = estimators.DerSimonianLaird().fit(y, v, np.column_stack([np.ones(8), NOISE[20:28]]))
    summary = model.summary()
    return np.sum(summary.fe_params) + np.sum(summary.tau2) + np.sum(summary.get_fe_stats()["se"])


def hedged(number: Any) -> Any:
    y = NOISE[:8, np.newaxis] * number[0] + 0.3
    v = 0.02 + 0.1 * NOISE[8:16, np.newaxis] ** 2 * number[1]
    model = estimators.Hedges().fit(y, v, np.ones((8, 1)))
    summary = model.summary()
    return np.sum(summary.get_fe_stats()["est"]) + np.sum(summary.tau2)


def weighted(number: Any) -> Any:
    y = NOISE[:8, np.newaxis] * number[0] + 0.3
    v = 0.02 + 0.1 * NOISE[8:16, np.newaxis] ** 2
    design = np.column_stack([np.ones(8), NOISE[20:28]])
    beta, cov = stats.weighted_least_squares(y, v, design, tau2=0.1 * number[1], return_cov=True)
    return np.sum(beta) + np.sum(cov) + np.sum(stats.q_gen(y, v, design, 0.1 * number[1])) / 10.0


def informed(number: Any) -> Any:
    pmf = np.array([0.3 * number[0], 0.2, 0.1 * number[1], 0.4])
    d = dit.Distribution(["00", "01", "10", "11"], pmf / np.sum(pmf))
    return (
        dit.shannon.entropy(d)
        + dit.shannon.mutual_information(d, [0], [1])
        + dit.multivariate.total_correlation(d)
    )


def diverged(number: Any) -> Any:
    p = np.array([0.3 * number[0], 0.2, 0.1 * number[1], 0.4])
    q = np.array([0.25, 0.2 * number[1], 0.3, 0.25])
    first = dit.Distribution(["a", "b", "c", "d"], p / np.sum(p))
    second = dit.Distribution(["a", "b", "c", "d"], q / np.sum(q))
    return dit.divergences.kullback_leibler_divergence(first, second) + (
        dit.divergences.jensen_shannon_divergence([first, second])
    )


def ordered(number: Any) -> Any:
    pmf = np.array([0.3 * number[0], 0.2, 0.1 * number[1], 0.4])
    d = dit.Distribution([1, 2, 3, 4], pmf / np.sum(pmf))
    return (
        dit.other.renyi_entropy(d, 2.5)
        + dit.other.tsallis_entropy(d, 1.7)
        + dit.other.extropy(d)
        + dit.other.perplexity(d)
    )


def freed(number: Any) -> Any:
    forward = 1.0 + number[0] + 0.8 * NOISE[:60]
    reverse = -0.4 * number[1] + 0.7 * NOISE[60:120]
    both = pymbar.bar(forward, reverse, method="self-consistent-iteration")
    return both["Delta_f"] + both["dDelta_f"]


def averaged(number: Any) -> Any:
    work = 1.0 + number[0] + 0.8 * NOISE[:60] * number[1]
    return (
        pymbar.exp(work)["Delta_f"]
        + pymbar.exp(work)["dDelta_f"]
        + pymbar.exp_gauss(work)["Delta_f"]
        + pymbar.bar_zero(work, 0.3 * work[::-1] - number[1], 0.2 * number[0])
    )


def remembered(number: Any) -> Any:
    walk = np.cumsum(NOISE[:200]) * number[0] + number[1] * NOISE[200:400]
    return timeseries.statistical_inefficiency(walk) + np.sum(
        timeseries.normalized_fluctuation_correlation_function(walk, N_max=10)
    )


def mixed(number: Any) -> Any:
    energies = 0.5 * np.array([[1.0], [2.0], [3.0]]) * number[0] * (NOISE[:60] * 2.0) ** 2
    energies = energies + number[1] * np.array([[0.0], [0.1], [0.3]])
    model = pymbar.MBAR(energies, np.array([20, 20, 20]), solver_protocol="robust")
    return np.sum(model.f_k)


def expanded(number: Any) -> Any:
    law = chaospy.J(chaospy.Normal(number[0], 0.5), chaospy.Uniform(-1.0, 1.0 + number[1]))
    points = np.array([[0.9, 1.1, 0.4], [0.1, -0.3, 0.6]])
    return np.sum(law.pdf(points)) + np.sum(law.cdf(points)) + np.sum(law.inv(points[:, :1] / 2.0))


def orthogonal(number: Any) -> Any:
    law = chaospy.Beta(1.5 * number[0], 2.0 * number[1])
    nodes, weights = chaospy.generate_quadrature(3, law, rule="gaussian")
    return np.sum(weights * np.exp(nodes[0])) + np.sum(law.mom([1, 2, 3]))


def spread(number: Any) -> Any:
    law = chaospy.LogNormal(0.3 * number[0], 0.5)
    other = chaospy.Gamma(2.0, number[1])
    grid = np.array([0.5, 1.2, 2.5])
    return np.sum(law.pdf(grid)) + np.sum(other.cdf(grid)) + np.sum(other.pdf(grid) ** 2)


def branched(number: Any) -> Any:
    tree = dendropy.Tree.get(data=NEWICK, schema="newick")
    for k, edge in enumerate(tree.postorder_edge_iter()):
        if edge.length is not None:
            edge.length = edge.length * (number[0] + 0.1 * k * number[1])
    matrix = tree.phylogenetic_distance_matrix()
    return matrix.mean_pairwise_distance() + tree.length() + treemeasure.treeness(tree)


def coalesced(number: Any) -> Any:
    tree = dendropy.Tree.get(data=NEWICK, schema="newick")
    for edge in tree.postorder_edge_iter():
        if edge.length is not None:
            edge.length = edge.length * number[0]
    loss = coalescent.log_probability_of_coalescent_tree(tree, 3.0 * number[1])
    pure = birthdeath.fit_pure_birth_model_to_tree(tree)
    return loss + pure["birth_rate"] + pure["log_likelihood"]


def compared(number: Any) -> Any:
    names = dendropy.TaxonNamespace()
    first = dendropy.Tree.get(data=NEWICK, schema="newick", taxon_namespace=names)
    other = "(((A:1.0,B:1.2):2.0,C:0.7):0.3,(D:0.5,E:2.0):1.0);"
    second = dendropy.Tree.get(data=other, schema="newick", taxon_namespace=names)
    first.scale_edges(number[0])
    second.scale_edges(number[1])
    return treecompare.euclidean_distance(first, second) + (
        treecompare.weighted_robinson_foulds_distance(first, second)
    )


def acid(number: Any) -> Any:
    results = PyCO2SYS.sys(
        par1=2300.0 * np.sqrt(number[0]), par2=8.1, par1_type=1, par2_type=3,
        salinity=33.0 * number[1], temperature=15.0, opt_buffers_mode=0,
    )  # fmt: skip
    return results["dic"] / 1e3 + results["pCO2"] / 1e2 + results["saturation_aragonite"]


def buffered(number: Any) -> Any:
    results = PyCO2SYS.sys(
        par1=2300.0, par2=2000.0 + 50.0 * number[0], par1_type=1, par2_type=2,
        temperature=12.0 * number[1], opt_buffers_mode=2,
    )  # fmt: skip
    return results["pH"] + results["revelle_factor"] + results["fCO2"] / 100.0


def minimally(number: Any) -> Any:
    return minimal.pH_from_alkalinity_dic(
        2300.0, 2000.0 + 50.0 * number[0], temperature=15.0 * number[1]
    )


def heard(number: Any) -> Any:
    freqs, amps = dissonant.harmonic_tone([220.0, 300.0 + 20.0 * number[0]], n_partials=5)
    return dissonant.dissonance(freqs, amps * number[1], model="sethares1993")


def rough(number: Any) -> Any:
    freqs, amps = dissonant.harmonic_tone([220.0, 300.0 + 20.0 * number[0]], n_partials=4)
    return sum(
        dissonant.dissonance(freqs, amps * number[1], model=model)
        for model in ("vassilakis2001", "cook2009")
    )


def tuned(number: Any) -> Any:
    pitches = dissonant.freq_to_pitch(np.array([220.0, 311.0, 440.0]) * number[0])
    return np.sum(dissonant.pitch_to_freq(pitches + number[1], steps_per_octave=19)) / 100.0


def dry(number: Any) -> Any:
    signal = (NOISE[:240] + 1j * NOISE[240:480]).reshape(2, 3, 40) * number[0]
    signal[:, 1, 2:] += number[1] * signal[:, 0, :-2]
    return np.sum(np.abs(wpe.wpe_v8(signal, taps=2, delay=2, iterations=2)) ** 2)


def drier(number: Any) -> Any:
    signal = (NOISE[:240] + 1j * NOISE[240:480]).reshape(2, 3, 40) * number[0]
    signal[:, 1, 2:] += number[1] * signal[:, 0, :-2]
    return np.sum(np.abs(wpe.wpe_v6(signal, taps=2, delay=2, iterations=2)) ** 2)


def online(number: Any) -> Any:
    signal = (NOISE[:96] + 1j * NOISE[240:336]).reshape(8, 4, 3) * number[0]
    inverse = np.stack([np.eye(6, dtype=complex)] * 4)
    filters = np.zeros((4, 6, 3), dtype=complex)
    total = 0.0
    for k in range(3):
        power = np.mean(np.abs(signal[k : k + 5]) ** 2, axis=(0, 2)) * number[1]
        cleaned, inverse, filters = wpe.online_wpe_step(
            signal[k : k + 5], power, inverse, filters, 0.99, taps=2, delay=2
        )
        total = total + np.sum(np.abs(cleaned) ** 2)
    return total


def structured() -> Any:
    data = pd.DataFrame(NOISE[:240].reshape(40, 6), columns=["x1", "x2", "x3", "y1", "y2", "y3"])
    data["x2"] += data["x1"]
    data["x3"] += data["x1"]
    data["y2"] += data["y1"] + data["x1"]
    data["y3"] += data["y1"]
    model = semopy.Model("f =~ x1 + x2 + x3\ng =~ y1 + y2 + y3\ng ~ f")
    model.load(data)
    return model


STRUCTURE: Final = structured()


def likely(number: Any) -> Any:
    place = STRUCTURE.param_vals + 0.1 * number[0]
    return STRUCTURE.obj_mlw(place * (1.0 + 0.1 * number[1]))


def squared(number: Any) -> Any:
    place = STRUCTURE.param_vals + 0.1 * number[0]
    return STRUCTURE.obj_uls(place * number[1]) + STRUCTURE.obj_gls(place)


def sloped(number: Any) -> Any:
    place = STRUCTURE.param_vals + 0.1 * number[0]
    return np.sum(STRUCTURE.grad_mlw(place * (1.0 + 0.1 * number[1])) ** 2)


ROWS: Final = (
    Row("lifelines", "WeibullFitter", survived, NUMBERS),
    Row("lifelines", "GeneralizedGammaFitter", lasted, NUMBERS),
    Row("lifelines", "power_under_cph", powered, NUMBERS),
    Row("PyMARE", "DerSimonianLaird", pooled, NUMBERS),
    Row("PyMARE", "Hedges", hedged, NUMBERS),
    Row("PyMARE", "weighted_least_squares", weighted, NUMBERS),
    Row("dit", "mutual_information", informed, NUMBERS),
    Row("dit", "kullback_leibler_divergence", diverged, NUMBERS),
    Row("dit", "renyi_entropy", ordered, NUMBERS),
    Row("pymbar", "bar", freed, NUMBERS),
    Row("pymbar", "exp", averaged, NUMBERS),
    Row("pymbar", "statistical_inefficiency", remembered, NUMBERS),
    Row("pymbar", "MBAR", mixed, NUMBERS),
    Row("chaospy", "J, Normal, Uniform", expanded, NUMBERS),
    Row("chaospy", "generate_quadrature", orthogonal, NUMBERS),
    Row("chaospy", "LogNormal, Gamma", spread, NUMBERS),
    Row("DendroPy", "phylogenetic_distance_matrix", branched, NUMBERS),
    Row("DendroPy", "log_probability_of_coalescent_tree", coalesced, NUMBERS),
    Row("DendroPy", "euclidean_distance", compared, NUMBERS),
    Row("PyCO2SYS", "sys: alkalinity, pH", acid, NUMBERS),
    Row("PyCO2SYS", "sys: alkalinity, dic", buffered, NUMBERS),
    Row("PyCO2SYS", "minimal.pH_from_alkalinity_dic", minimally, NUMBERS),
    Row("dissonant", "dissonance: sethares1993", heard, NUMBERS),
    Row("dissonant", "dissonance: vassilakis2001", rough, NUMBERS),
    Row("dissonant", "freq_to_pitch", tuned, NUMBERS),
    Row("nara-wpe", "wpe_v8", dry, NUMBERS),
    Row("nara-wpe", "wpe_v6", drier, NUMBERS),
    Row("nara-wpe", "online_wpe_step", online, NUMBERS),
    Row("semopy", "obj_mlw", likely, NUMBERS),
    Row("semopy", "obj_uls, obj_gls", squared, NUMBERS),
    Row("semopy", "grad_mlw", sloped, NUMBERS),
)
