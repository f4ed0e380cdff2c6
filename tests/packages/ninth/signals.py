"""The ninth set: uncertain signals, loudness, telescopes, and patterns."""

import warnings
from typing import Any, Final

import aotools
import numpy as np
import ordpy
from aotools.functions import karhunenLoeve, zernike
from aotools.turbulence import atmos_conversions, slopecovariance
from mosqito.sound_level_meter import noct_spectrum
from mosqito.sq_metrics import sii_ansi_level
from PyDynamic.misc.SecondOrderSystem import sos_FreqResp
from PyDynamic.uncertainty.interpolate import interp1d_unc
from PyDynamic.uncertainty.propagate_convolution import convolve_unc
from PyDynamic.uncertainty.propagate_DFT import GUM_DFT, DFT2AmpPhase, DFT_deconv
from PyDynamic.uncertainty.propagate_filter import FIRuncFilter

from packages.row import Row

warnings.filterwarnings("ignore")

SHAPES: Final = (
    np.array([0.4, -0.7, 0.2, 0.9]),
    np.array([-0.3, 0.5, 1.1, -0.6]),
    np.array([0.8, 0.1, -0.5, 0.3]),
)
NUMBERS: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
NOISE: Final = np.sin(np.arange(2400.0) ** 1.7)
TIMES: Final = np.linspace(0.0, 1.0, 64, endpoint=False)


def wave(shape: Any) -> Any:
    slow = (1.0 + 0.2 * shape[0]) * np.cos(2.0 * np.pi * 3.0 * TIMES + shape[1])
    return slow + 0.5 * np.cos(2.0 * np.pi * (12.0 + shape[2]) * TIMES) + shape[3] * NOISE[:64]


def spectrum(shape: Any) -> Any:
    signal = wave(shape)[:16]
    values, covariance = GUM_DFT(signal, 0.1 + 0.05 * shape[0] ** 2)
    amplitude, phase, uncertainty = DFT2AmpPhase(values, covariance)
    response = np.concatenate([1.0 + np.arange(9.0), NOISE[:9] + shape[1]])
    unfolded, _ = DFT_deconv(response, values, np.eye(18) * 0.01, covariance)
    return np.sum(amplitude**2) + np.sum(uncertainty) + np.sum(unfolded**2) + np.sum(np.cos(phase))


def filtered(shape: Any) -> Any:
    taps = np.array([0.2, 0.5, 0.2]) + 0.1 * shape[:3]
    output, deviations = FIRuncFilter(wave(shape)[:20], 0.1, taps, np.diag([0.01, 0.02, 0.01]))
    return np.sum(output**2) + np.sum(deviations)


def convolved(shape: Any) -> Any:
    first, second = wave(shape)[:8], np.exp(-np.arange(4.0) * (1.0 + 0.1 * shape[0]))
    values, covariance = convolve_unc(first, np.eye(8) * 0.1, second, np.diag(second**2) * 0.01)
    _, finer, uncertain = interp1d_unc(
        np.linspace(0.1, 0.9, 7), TIMES, wave(shape), 0.1 + 0.01 * shape[0] * TIMES, kind="linear"
    )[:3]
    response = sos_FreqResp(1.0, 0.3 + 0.1 * shape[1], 20.0, np.linspace(1.0, 40.0, 5))
    total = np.sum(values**2) + np.sum(covariance) + np.sum(finer**2) + np.sum(uncertain)
    return total + np.sum(np.abs(response))


def understood(shape: Any) -> Any:
    index, specific, _ = sii_ansi_level(50.0 + 4.0 * shape[0], "octave", "normal")
    return index * 10.0 + np.sum(specific)


def octaves(shape: Any) -> Any:
    times = np.arange(4800.0) / 48000.0
    signal = np.sin(2.0 * np.pi * (900.0 + 20.0 * shape[0]) * times) + shape[1] * np.cos(
        1e4 * times
    )
    levels, _ = noct_spectrum(signal, 48000, fmin=200, fmax=4000)
    return np.sum(levels)


def aberrated(shape: Any) -> Any:
    phase = aotools.phaseFromZernikes(np.append(shape, shape**2), 16)
    spread = np.abs(aotools.ft2(np.exp(1j * phase) * aotools.circle(8, 16), 1.0)) ** 2
    centroid = aotools.centre_of_gravity(spread / spread.max())
    contrast = aotools.rms_contrast(spread)
    return np.sum(centroid) + contrast / 10.0 + np.sum(aotools.azimuthal_average(spread)[:4]) / 1e3


def turbulent(number: Any) -> Any:
    separations = np.linspace(0.1, 2.0, 8) * number[0]
    covariance = aotools.phase_covariance(separations, 0.15 * number[1], 25.0)
    structure = slopecovariance.structure_function_vk(separations, 0.15, 20.0 * number[1])
    seeing = atmos_conversions.cn2_to_seeing(1e-13 * number[0])
    return np.sum(covariance) / 1e3 + np.sum(structure) / 1e2 + seeing


def layers(number: Any) -> Any:
    heights = np.array([0.0, 2000.0, 5000.0, 10000.0]) + 500.0 * number[0]
    strengths = np.array([4e-13, 1e-13, 5e-14, 2e-14]) * np.array([number[1], 1.0, 1.2, 0.8])
    angle = atmos_conversions.isoplanaticAngle(strengths, heights)
    time = atmos_conversions.coherenceTime(strengths, 10.0 + 3.0 * number[0] * np.arange(4.0))
    grouped, weights = aotools.equivalent_layers(heights, strengths, 2)[:2]
    return angle + time * 1e3 + np.sum(grouped) / 1e3 + np.sum(weights) * 1e12


def karhunen(number: Any) -> Any:
    radii = karhunenLoeve.gkl_radii(0.2 + 0.05 * number[0], 8)
    orthogonal = karhunenLoeve.stf_vonKarman(radii * number[1], 3.0)
    return np.sum(orthogonal) + np.sum(radii) + np.sum(zernike.zernikeRadialFunc(4, 2, radii))


def weighted(shape: Any) -> Any:
    entropy = ordpy.weighted_permutation_entropy(wave(shape), dx=3)
    return entropy + shape[0] * 0.1


def complexity(shape: Any) -> Any:
    weights = np.exp(np.append(shape, [0.1, -0.2]))
    probabilities = weights / weights.sum()
    entropy, statistical = ordpy.complexity_entropy(probabilities, dx=3, probs=True)
    tsallis = ordpy.tsallis_entropy(probabilities, q=1.5, dx=3, probs=True)
    renyi = ordpy.renyi_entropy(probabilities, alpha=2.0, dx=3, probs=True)
    return entropy + statistical + np.sum(tsallis) + np.sum(renyi)


def informed(shape: Any) -> Any:
    weights = np.exp(np.append(shape, [0.1, -0.2]))
    entropy, fisher = ordpy.fisher_shannon(weights / weights.sum(), dx=3, probs=True)
    return entropy + fisher + ordpy.logq(np.exp(shape[0]) + 0.1, q=1.7)


ROWS: Final = (
    Row("PyDynamic", "GUM_DFT", spectrum, SHAPES),
    Row("PyDynamic", "FIRuncFilter", filtered, SHAPES),
    Row("PyDynamic", "convolve_unc", convolved, SHAPES),
    Row("mosqito", "sii_ansi_level", understood, SHAPES),
    Row("mosqito", "noct_spectrum", octaves, SHAPES),
    Row("aotools", "phaseFromZernikes", aberrated, SHAPES),
    Row("aotools", "phase_covariance", turbulent, NUMBERS),
    Row("aotools", "equivalent_layers", layers, NUMBERS),
    Row("aotools", "karhunenLoeve", karhunen, NUMBERS),
    Row("ordpy", "weighted_permutation_entropy", weighted, SHAPES),
    Row("ordpy", "complexity_entropy", complexity, SHAPES),
    Row("ordpy", "fisher_shannon", informed, SHAPES),
)  # fmt: skip
