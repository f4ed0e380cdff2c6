"""The fifth set: spectra, modes, filters, seismograms, and loudspeakers."""

import warnings
from typing import Any, Final

import numpy as np
import pydmd
import pylops
import sfs
from pybaselines import Baseline
from pylops.avo import avo
from pylops.avo.poststack import PoststackInversion, PoststackLinearModelling
from pylops.utils.wavelets import ricker
from sk_dsp_comm import digitalcom, sigsys, synchronization

from packages.row import Row

warnings.filterwarnings("ignore")

TIMES: Final = np.arange(48.0)
TONE: Final = np.sin(0.9 * TIMES) + 0.4 * np.cos(2.1 * TIMES + 0.3) + 0.1 * np.sin(TIMES**2)
MIXES: Final = (
    np.array([1.0, 0.4, -0.3]),
    np.array([0.5, -0.8, 0.2]),
    np.array([-0.7, 0.3, 0.9]),
)
ROCKS: Final = (
    np.array([2.2, 1.1, 2.1]),
    np.array([2.6, 1.4, 2.3]),
    np.array([3.1, 1.7, 2.2]),
)
SOURCES: Final = (np.array([0.5, 3.2]), np.array([-1.4, 2.6]), np.array([0.1, 4.5]))
GRID: Final = sfs.util.xyz_grid([-0.6, 0.6], [-0.5, 0.4], 0, spacing=0.3)
SPACE: Final = np.linspace(-3.0, 3.0, 10)


def mixed(weights: Any) -> Any:
    """Mix three signals of 48 samples."""
    return weights[0] * TONE + weights[1] * TONE[::-1] ** 2 + weights[2] * np.cos(0.3 * TONE)


def spectrum(weights: Any) -> Any:
    """Place two peaks on a sloping background."""
    peaks = 4.0 * np.exp(-(((TIMES - 15.0) / 2.0) ** 2)) + 2.5 * np.exp(
        -(((TIMES - 33.0) / 3) ** 2)
    )
    return peaks + 3.0 + 0.02 * TIMES * weights[0] + 0.1 * mixed(weights)


def flow(weights: Any) -> Any:
    """Record two travelling waves at ten places and sixteen times."""
    times = np.linspace(0.0, 4.0, 16)
    slow = np.outer(1.0 / np.cosh(SPACE + 2.0), np.exp(0.1 * weights[0] * times) * np.cos(times))
    fast = np.outer(np.tanh(SPACE), np.exp(-0.2 * times) * np.sin((2.5 + 0.2 * weights[1]) * times))
    return slow + (0.5 + 0.1 * weights[2]) * fast + 0.01 * np.cos(np.outer(SPACE, times**2))


def _baseline() -> Any:
    """Return fits that solve by SciPy, whether or not pentapy's compiled solver is there."""
    fits = Baseline(TIMES)
    fits.banded_solver = 3
    return fits


def whittaker(weights: Any) -> Any:
    fitted, _ = _baseline().asls(spectrum(weights), lam=1e3, p=0.03, max_iter=12)
    return np.sum(fitted**2)


def reweighted(weights: Any) -> Any:
    fitted, parameters = _baseline().arpls(spectrum(weights), lam=1e3, max_iter=15)
    return np.sum(fitted**2) + np.sum(parameters["weights"])


def polynomial(weights: Any) -> Any:
    fitted, parameters = Baseline(TIMES).modpoly(spectrum(weights), poly_order=2, return_coef=True)
    return np.sum(fitted**2) + np.sum(parameters["coef"])


def clipped(weights: Any) -> Any:
    fitted, _ = Baseline(TIMES).snip(spectrum(weights), max_half_window=6, decreasing=True)
    return np.sum(fitted**2)


def modes(weights: Any) -> Any:
    dmd = pydmd.DMD(svd_rank=4).fit(flow(weights))
    return np.sum(np.abs(dmd.eigs) ** 2) + np.sum(np.abs(dmd.amplitudes)) + np.sum(dmd.growth_rate)


def reconstructed(weights: Any) -> Any:
    dmd = pydmd.DMD(svd_rank=4, opt=True, tlsq_rank=5).fit(flow(weights))
    dmd.dmd_time["tend"] = 18
    return np.sum(dmd.reconstructed_data.real[::2] ** 2)


def delayed(weights: Any) -> Any:
    dmd = pydmd.HankelDMD(svd_rank=4, d=3, exact=True).fit(flow(weights)[2:4])
    return np.sum(np.abs(dmd.eigs) ** 2) + np.sum(np.abs(dmd.frequency))


def steered(weights: Any) -> Any:
    states = flow(weights)
    control = np.cos(np.arange(15.0)).reshape(1, 15)
    dmd = pydmd.DMDc(svd_rank=3, svd_rank_omega=5).fit(states, control)
    return np.sum(dmd.reconstructed_data().real ** 2) + np.sum(np.abs(dmd.eigs))


def equalized(weights: Any) -> Any:
    gains = np.concatenate([10.0 * weights, np.zeros(7)])
    return np.sum(sigsys.ten_band_eq_filt(TONE, gains) ** 2)


def overlapped(weights: Any) -> Any:
    filtered = sigsys.oa_filter(mixed(weights), np.array([0.2, 0.5, -0.3, 0.1]), 16)
    _, transform = sigsys.ft_approx(filtered, TIMES * 0.1, 32)
    return np.sum(np.abs(transform) ** 2) + np.sum(digitalcom.time_delay(filtered, 1.6)[::5])


def tracked(weights: Any) -> Any:
    phase = np.cumsum(0.02 * mixed(weights))
    estimate, voltage, _ = synchronization.PLL1(phase, 100.0, 2, 1.0, 5.0, 0.707, 1)
    return np.sum(estimate**2) + np.sum(voltage[::5])


def resampled(weights: Any) -> Any:
    slower = digitalcom.farrow_resample(mixed(weights), 1.0, 0.9)
    lags, _ = digitalcom.xcorr(mixed(weights), TONE, 3)
    return np.sum(np.asarray(slower) ** 2) + np.sum(np.abs(lags) ** 2)


def shaped(rolloff: Any) -> Any:
    pulse = sigsys.sqrt_rc_imp(5, rolloff, 3)
    frequencies = np.linspace(-1.0, 1.0, 9)
    return np.sum(pulse[::3]) + np.sum(sigsys.fs_approx(pulse[:9], frequencies, TIMES[:6]) ** 2)


def inverted(weights: Any) -> Any:
    operator = pylops.Smoothing1D(nsmooth=5, dims=48)
    solution, *_ = pylops.optimization.leastsquares.regularized_inversion(
        operator, mixed(weights), [pylops.SecondDerivative(48)], epsRs=[0.3], iter_lim=40
    )
    return np.sum(solution[::3] ** 2)


def stacked(weights: Any) -> Any:
    line = pylops.LinearRegression(TIMES / 48.0)
    both = pylops.VStack([line, 0.5 * pylops.MatrixMult(np.cos(np.outer(TIMES[:6], [1.0, 0.3])))])
    data = np.concatenate([mixed(weights), mixed(weights)[:6] ** 2])
    return np.sum((both.H @ data) ** 2) + np.sum(pylops.optimization.basic.cgls(both, data)[0])


def sparse(weights: Any) -> Any:
    wavelet, *_ = ricker(TIMES[:8] * 0.02, f0=12)
    operator = pylops.signalprocessing.Convolve1D(48, h=wavelet, offset=len(wavelet) // 2)
    result, *_ = pylops.optimization.sparsity.fista(
        operator, mixed(weights), niter=15, eps=0.1, alpha=0.05
    )
    return np.sum(result**2)


def impedance(weights: Any) -> Any:
    wavelet, *_ = ricker(TIMES[:10] * 0.004, f0=30)
    rocks = np.log(4.0 + 0.3 * mixed(weights))
    trace = PoststackLinearModelling(wavelet, nt0=48) @ rocks
    model, _ = PoststackInversion(trace, wavelet, m0=np.full(48, 1.4), explicit=True, epsI=0.01)
    return np.sum(model**2)


def reflected(rock: Any) -> Any:
    angles = np.array([5.0, 15.0, 30.0])
    exact = avo.zoeppritz_pp(2.5, 1.2, 2.2, rock[0], rock[1], rock[2], angles)
    first, second, third = avo.akirichards(angles, rock[1] / rock[0])
    return np.sum(np.real(exact)) + np.sum(first + 2.0 * second + 3.0 * third) / 10.0


def monopole(source: Any) -> Any:
    field = sfs.fd.source.point(2.0 * np.pi * 300.0, [source[0], source[1], 0.0], GRID)
    return np.sum(np.abs(field + sfs.fd.source.plane(900.0, [0, 0, 0], [0, 1, 0], GRID)) ** 2)


def field_synthesis(source: Any) -> Any:
    array = sfs.array.linear(8, 0.2, orientation=[0, -1, 0], center=[0.0, 1.5, 0.0])
    weights, active, secondary = sfs.fd.wfs.point_25d(
        2.0 * np.pi * 400.0, array.x, array.n, [source[0], source[1], 0.0], xref=[0.0, -0.5, 0.0]
    )
    tapered = weights * sfs.tapering.tukey(active, alpha=0.3)
    return np.sum(np.abs(sfs.fd.synthesize(tapered, active, array, secondary, grid=GRID)) ** 2)


def ambisonics(radius: Any) -> Any:
    array = sfs.array.circular(9, radius)
    weights, active, secondary = sfs.fd.nfchoa.plane_2d(1500.0, array.x, radius, [0.6, 0.8, 0.0])
    return np.sum(np.abs(sfs.fd.synthesize(weights, active, array, secondary, grid=GRID)) ** 2)


def mirrored(source: Any) -> Any:
    images, orders = sfs.util.image_sources_for_box([source[0] + 3.0, source[1]], [6.0, 7.0], 1)
    distances = np.linalg.norm(images - np.array([2.0, 1.0]), axis=1)
    return np.sum(0.8 ** np.sum(orders, axis=1) * np.cos(2.0 * distances) / distances)


ROWS: Final = (
    Row("pybaselines", "Baseline.asls", whittaker, MIXES),
    Row("pybaselines", "Baseline.arpls", reweighted, MIXES),
    Row("pybaselines", "Baseline.modpoly", polynomial, MIXES),
    Row("pybaselines", "Baseline.snip", clipped, MIXES),
    Row("PyDMD", "DMD.eigs", modes, MIXES),
    Row("PyDMD", "DMD.reconstructed_data", reconstructed, MIXES),
    Row("PyDMD", "HankelDMD.fit", delayed, MIXES),
    Row("PyDMD", "DMDc.fit", steered, MIXES),
    Row("scikit-dsp-comm", "ten_band_eq_filt", equalized, MIXES),
    Row("scikit-dsp-comm", "oa_filter", overlapped, MIXES),
    Row("scikit-dsp-comm", "PLL1", tracked, MIXES),
    Row("scikit-dsp-comm", "farrow_resample", resampled, MIXES),
    Row("scikit-dsp-comm", "sqrt_rc_imp", shaped, (0.22, 0.35, 0.61)),
    Row("pylops", "regularized_inversion", inverted, MIXES),
    Row("pylops", "VStack", stacked, MIXES),
    Row("pylops", "fista", sparse, MIXES, step=1e-4),
    Row("pylops", "PoststackInversion", impedance, MIXES),
    Row("pylops", "avo.zoeppritz_pp", reflected, ROCKS),
    Row("sfs", "fd.source.point", monopole, SOURCES),
    Row("sfs", "fd.wfs.point_25d", field_synthesis, SOURCES),
    Row("sfs", "fd.nfchoa.plane_2d", ambisonics, (1.2, 1.5, 2.1)),
    Row("sfs", "util.image_sources_for_box", mirrored, SOURCES),
)
