"""The fourth set: sound, light, and signals."""

import warnings
from typing import Any, Final

import allantools
import colorspacious
import dust_extinction.parameter_averages as dust
import miepython
import numpy as np
import pyloudnorm
from colorspacious import cspace_convert
from dust_extinction.shapes import FM90
from neurodsp import aperiodic, filt, rhythm, spectral, timefrequency
from pyloudnorm.iirfilter import IIRfilter

from packages.row import Row

warnings.filterwarnings("ignore")

COLORS: Final = (
    np.array([0.2, 0.5, 0.7]),
    np.array([0.8, 0.3, 0.4]),
    np.array([0.35, 0.6, 0.15]),
)
TIMES: Final = np.arange(48.0)
TONE: Final = np.sin(0.9 * TIMES) + 0.4 * np.cos(2.1 * TIMES + 0.3) + 0.1 * np.sin(TIMES**2)
LONG: Final = np.tile(TONE, 5)
MIXES: Final = (
    np.array([1.0, 0.4, -0.3]),
    np.array([0.5, -0.8, 0.2]),
    np.array([-0.7, 0.3, 0.9]),
)
PHASES: Final = (
    np.array([0.0, 1.2, 0.7, 2.1, 3.4, 2.8, 4.4, 5.3, 4.7, 6.1, 7.2, 6.6]),
    np.array([0.3, -0.4, 0.8, 1.9, 1.1, 0.2, -0.7, 0.6, 1.4, 2.6, 1.7, 0.9]),
    np.array([1.0, 1.7, 0.4, 0.9, 2.2, 3.6, 2.9, 1.3, 0.1, 1.5, 2.4, 3.9]),
)


def mixed(weights: Any) -> Any:
    """Mix three signals of 240 samples."""
    return weights[0] * LONG + weights[1] * LONG[::-1] ** 2 + weights[2] * np.cos(0.3 * LONG)


def loudness(weights: Any) -> Any:
    return pyloudnorm.Meter(200, block_size=0.2).integrated_loudness(mixed(weights))


def loudness_of_two(weights: Any) -> Any:
    meter = pyloudnorm.Meter(200, "DeMan", block_size=0.2)
    return meter.integrated_loudness(np.stack([mixed(weights), 0.5 * LONG], axis=1))


def shelf(gain: Any) -> Any:
    stage = IIRfilter(gain, 0.7, 1500.0, 44100.0, "high_shelf")
    return np.sum(stage.apply_filter(TONE) ** 2)


def normalized(weights: Any) -> Any:
    return np.sum(
        pyloudnorm.normalize.loudness(mixed(weights), -12.0 + weights[0], -14.0)[::7] ** 3
    )


def crossed(weights: Any) -> Any:
    loud = np.stack([mixed(weights), 0.5 * LONG], axis=1)
    return np.sum(pyloudnorm.normalize.peak(loud, -1.0) ** 2)


def lightness(color: Any) -> Any:
    return np.sum(cspace_convert(color, "sRGB1", "JCh") * [1.0, 2.0, 0.1])


def weakened(color: Any) -> Any:
    space = {"name": "sRGB1+CVD", "cvd_type": "deuteranomaly", "severity": 50}
    return np.sum(cspace_convert(color, space, "sRGB1") ** 2)


def scattered(size: Any) -> Any:
    extinction, scattering, back, asymmetry = miepython.efficiencies_mx(1.5 - 0.1j, size)
    return extinction + scattering + back + asymmetry


def phase_function(size: Any) -> Any:
    return np.sum(miepython.i_unpolarized(1.3 - 0.05j, size, np.linspace(-0.9, 0.9, 5)))


def drop(index: Any) -> Any:
    return miepython.efficiencies(index - 0.01j, 0.8, 0.6)[0]


def coefficients(size: Any) -> Any:
    a, b = miepython.coefficients(1.5 - 0.1j, size)
    return np.sum(np.abs(a) ** 2 + (a * np.conj(b)).real)


def reddened(ratio: Any) -> Any:
    model = dust.F19(Rv=ratio)
    return np.sum(model.extinguish(np.linspace(1.0, 8.0, 9), Ebv=0.3))


def dimmed(wavenumbers: Any) -> Any:
    return np.sum(dust.CCM89(Rv=3.1)(wavenumbers) ** 2)


def bumped(parameters: Any) -> Any:
    model = FM90(C3=parameters[0], C4=parameters[1], xo=4.6, gamma=parameters[2])
    return np.sum(model(np.linspace(3.5, 9.0, 9)))


def deviation(name: str, **options: Any) -> Any:
    def function(phases: Any) -> Any:
        _, deviations, *_ = getattr(allantools, name)(phases, **options)
        return np.sum(deviations)

    return function


def filtered(weights: Any) -> Any:
    signal = filt.filter_signal(
        mixed(weights), 100, "bandpass", (8, 20), n_cycles=3, remove_edges=False
    )
    return np.sum(signal**2)


def smoothed(weights: Any) -> Any:
    signal = filt.filter_signal(
        mixed(weights), 100, "lowpass", (None, 20), filter_type="iir", butterworth_order=3
    )
    return np.sum(signal**3)


def power(weights: Any) -> Any:
    frequencies, powers = spectral.compute_spectrum(mixed(weights), 100, nperseg=64)
    return spectral.compute_relative_power(frequencies, powers, (5, 20)) + np.sum(powers)


def amplitude(weights: Any) -> Any:
    envelope = timefrequency.amp_by_time(mixed(weights), 100, (8, 20), remove_edges=False)
    return np.sum(envelope**2)


def wavelets(weights: Any) -> Any:
    transform = timefrequency.compute_wavelet_transform(mixed(weights), 100, [8.0, 12.0], 4)
    return np.sum(np.abs(transform) ** 2)


def coherence(weights: Any) -> Any:
    return rhythm.compute_lagged_coherence(mixed(weights), 100, (8, 12))


def fluctuations(weights: Any) -> Any:
    _scales, values, exponent = aperiodic.compute_fluctuations(
        mixed(weights), 100, n_scales=4, min_scale=0.1, max_scale=0.8
    )
    return exponent + np.sum(values)


ROWS: Final = (
    Row("pyloudnorm", "Meter.integrated_loudness", loudness, MIXES),
    Row("pyloudnorm", "Meter.integrated_loudness DeMan", loudness_of_two, MIXES),
    Row("pyloudnorm", "IIRfilter.apply_filter", shelf, (3.0, -2.0, 6.0)),
    Row("pyloudnorm", "normalize.loudness", normalized, MIXES),
    Row("pyloudnorm", "normalize.peak", crossed, MIXES),
    Row("colorspacious", "cspace_convert JCh", lightness, COLORS),
    Row("colorspacious", "cspace_convert CVD", weakened, COLORS),
    Row(
        "colorspacious",
        "deltaE",
        lambda x: colorspacious.deltaE(x, np.array([0.5, 0.5, 0.4]), input_space="sRGB1"),
        COLORS,
    ),
    Row(
        "colorspacious",
        "cspace_convert CIELab",
        lambda x: np.sum(cspace_convert(cspace_convert(x, "sRGB1", "CIELab"), "CIELab", "xyY1")),
        COLORS,
    ),
    Row("miepython", "efficiencies_mx", scattered, (0.9, 2.3, 5.1)),
    Row("miepython", "i_unpolarized", phase_function, (0.9, 2.3, 5.1)),
    Row("miepython", "efficiencies", drop, (1.33, 1.45, 1.6)),
    Row("miepython", "coefficients", coefficients, (0.9, 2.3, 5.1)),
    Row("dust_extinction", "F19.extinguish", reddened, (2.6, 3.1, 5.2)),
    Row(
        "dust_extinction",
        "CCM89",
        dimmed,
        (
            np.array([0.5, 2.0, 4.7, 9.0]),
            np.array([0.8, 1.5, 6.5, 8.5]),
            np.array([1.0, 3.0, 5.0, 7.0]),
        ),
    ),
    Row(
        "dust_extinction",
        "FM90",
        bumped,
        (np.array([3.2, 0.4, 0.99]), np.array([2.7, 0.3, 0.9]), np.array([3.9, 0.5, 1.1])),
    ),
    Row("AllanTools", "adev", deviation("adev", taus=[1, 2, 3]), PHASES),
    Row(
        "AllanTools",
        "oadev of frequencies",
        deviation("oadev", data_type="freq", taus=[1, 2]),
        PHASES,
    ),
    Row("AllanTools", "mdev", deviation("mdev", taus="all"), PHASES),
    Row("AllanTools", "totdev", deviation("totdev", taus=[1, 2, 4]), PHASES),
    Row("AllanTools", "mtie", deviation("mtie", taus=[1, 2, 4]), PHASES),
    Row("neurodsp", "filter_signal", filtered, MIXES),
    Row("neurodsp", "filter_signal iir", smoothed, MIXES),
    Row("neurodsp", "compute_spectrum", power, MIXES),
    Row("neurodsp", "amp_by_time", amplitude, MIXES),
    Row("neurodsp", "compute_wavelet_transform", wavelets, MIXES),
    Row("neurodsp", "compute_lagged_coherence", coherence, MIXES),
    Row("neurodsp", "compute_fluctuations", fluctuations, MIXES),
)
