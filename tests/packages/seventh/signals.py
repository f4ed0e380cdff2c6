"""The seventh set: peaks, voices, spectra of pixels, fields of light, and integral transforms."""

import warnings
from typing import Any, Final

import hankel
import LightPipes
import MFDFA
import numpy as np
import peakutils
import spectral
from spafe.features.gfcc import gfcc
from spafe.features.lpc import lpc, lpcc
from spafe.features.mfcc import mfcc
from spafe.features.rplp import plp
from spafe.utils.preprocessing import SlidingWindow

from packages.row import Row

warnings.filterwarnings("ignore")
spectral.settings.show_progress = False

MIXES: Final = (np.array([1.0, 0.4]), np.array([0.7, -0.5]), np.array([1.3, 0.8]))
TIMES: Final = np.arange(1200.0) / 8000.0
GRID: Final = np.linspace(0.0, 10.0, 101)
NOISE: Final = np.sin(np.arange(2400.0) ** 1.7)
CUBE: Final = 1.5 + NOISE[:192].reshape(6, 8, 4) + 0.3 * NOISE[192:384].reshape(6, 8, 4) ** 2
WINDOW: Final = SlidingWindow(0.025, 0.0125, "hamming")


def peaks(mix: Any) -> Any:
    hills = mix[0] * np.exp(-((GRID - 3.0) ** 2)) + 0.9 * np.exp(-2.0 * (GRID - 7.0) ** 2)
    return hills + 0.05 * mix[1] * GRID


def fitted(mix: Any) -> Any:
    signal = peaks(mix)
    places = peakutils.indexes(signal, thres=0.4, min_dist=20)
    centres = peakutils.interpolate(GRID, signal, ind=places, width=12)
    return np.sum(centres) + peakutils.centroid(GRID, signal) + np.sum(peakutils.scale(signal)[0])


def levelled(mix: Any) -> Any:
    base = peakutils.baseline(peaks(mix) + 0.2 * np.cos(0.3 * GRID), deg=2)
    upper = peakutils.envelope(peaks(mix), deg=3, max_it=20)
    return np.sum(base**2) + np.mean(upper)


def centred(mix: Any) -> Any:
    near, hills = GRID[15:46], peaks(np.abs(mix))
    amplitude, centre, width = peakutils.gaussian_fit(near, hills[15:46], center_only=False)
    middle, spread = peakutils.peak.centroid2(hills, GRID)
    return amplitude + centre + width + middle + spread


def fluctuating(mix: Any) -> Any:
    series = mix[0] * NOISE[:400] + mix[1] * np.sin(NOISE[400:800] * 3.0)
    _, fluctuations = MFDFA.MFDFA(
        series, lag=np.array([8, 16, 32, 64]), q=np.array([-2.0, 1.0, 3.0]), order=2
    )
    return np.sum(np.log(fluctuations))


def voice(mix: Any) -> Any:
    tone = np.sin(2.0 * np.pi * 220.0 * TIMES) + 0.3 * np.sin(2.0 * np.pi * 900.0 * TIMES)
    return mix[0] * tone + 0.3 * mix[1] * NOISE[:1200] + 0.1 * NOISE[1200:]


def cepstrum(mix: Any) -> Any:
    found = mfcc(voice(mix), fs=8000, num_ceps=8, window=WINDOW, nfilts=16, nfft=256, lifter=3)
    return np.sum(found[2]) + np.sum(found**2) / 1e3


def gammatones(mix: Any) -> Any:
    found = gfcc(voice(mix), fs=8000, num_ceps=6, window=WINDOW, nfilts=12, nfft=256,
                 normalize="mvn", use_energy=True)  # fmt: skip
    return np.sum(found[3] * np.arange(6.0)) + np.sum(found[:, 1] ** 3)


def predicted(mix: Any) -> Any:
    coefficients, errors = lpc(voice(mix), fs=8000, order=6, window=WINDOW)
    cepstra = lpcc(voice(mix), fs=8000, order=6, window=WINDOW, lifter=2)
    return np.sum(np.real(coefficients[1])) + np.sum(errors) + np.sum(np.real(cepstra[3]))


def perceived(mix: Any) -> Any:
    found = plp(voice(mix), fs=8000, order=6, window=WINDOW, nfilts=14, nfft=256)
    return np.sum(found[1]) + np.sum(found**2) / 100.0


def pixels(mix: Any) -> Any:
    return CUBE + 0.1 * mix[0] * np.arange(4.0) + mix[1] * CUBE[::-1] ** 2 / 5.0


def anomalies(mix: Any) -> Any:
    scores = spectral.rx(pixels(mix))
    targets = np.array([1.0, 2.0, 1.5, 0.7])
    matched = spectral.matched_filter(pixels(mix), targets)
    return scores[2, 3] + np.sum(matched**2) + np.sum(spectral.ace(pixels(mix), targets)[0])


def components(mix: Any) -> Any:
    image = pixels(mix)
    principal = spectral.principal_components(image)
    noise = spectral.noise_from_diffs(image)
    fractions = spectral.mnf(spectral.calc_stats(image), noise)
    return np.sum(principal.eigenvalues[:2]) + np.sum(fractions.napc.eigenvalues)


def shares(mix: Any) -> Any:
    members = np.array([[1.0, 0.5, 0.2, 0.9], [0.3, 1.4, 0.8, 0.1], [0.6, 0.4, 1.1, 0.7]])
    image = np.abs(pixels(mix))
    angles = spectral.spectral_angles(image, members)
    abundances = spectral.unmix(image, members)
    return np.sum(angles[1]) + np.sum(abundances[2] ** 2) + np.sum(spectral.ndvi(image, 0, 2))


def diffracted(mix: Any) -> Any:
    field = LightPipes.Begin(5e-3, 632.8e-9, 32)
    field = LightPipes.GaussAperture(field, (1.0 + 0.2 * mix[1]) * 1e-3)
    field = LightPipes.Lens(field, 0.6 + 0.2 * mix[0])
    field = LightPipes.Forvard(field, 0.2)
    intensity = LightPipes.Intensity(field)
    return np.sum(intensity[16] ** 2) + LightPipes.Power(field) * 1e5


def modes(mix: Any) -> Any:
    field = LightPipes.Begin(6e-3, 1e-6, 32)
    first = LightPipes.GaussHermite(field, (1.0 + 0.1 * mix[0]) * 1e-3, 1, 0)
    second = LightPipes.GaussLaguerre(field, 1.2e-3, p=1, l=1, A=mix[1])
    both = LightPipes.BeamMix(first, LightPipes.Tilt(second, 1e-4 * mix[0], 0.0))
    return np.sum(LightPipes.Intensity(LightPipes.Fresnel(both, 0.5))[14]) + LightPipes.Strehl(both)


def aberrated(mix: Any) -> Any:
    field = LightPipes.CircAperture(LightPipes.Begin(5e-3, 1e-6, 32), 2e-3)
    field = LightPipes.Zernike(field, 2, 0, 2e-3, 0.1 * mix[0], units="lam")
    field = LightPipes.Zernike(field, 3, 1, 2e-3, 0.05 * mix[1], units="lam")
    focus = LightPipes.LensFresnel(field, 2.0, 1.0)
    return LightPipes.Strehl(field) + np.max(LightPipes.Intensity(focus))


def transformed(mix: Any) -> Any:
    transform = hankel.HankelTransform(nu=0, N=120, h=0.03)
    values = transform.transform(
        lambda x: mix[0] * np.exp(-x * (1.0 + mix[1] ** 2)), np.array([0.5, 1.0, 2.0]),
        ret_err=False,
    )  # fmt: skip
    whole = transform.integrate(lambda x: np.exp(-mix[0] * x**2), ret_err=False)
    return np.sum(values) + whole


def powers(mix: Any) -> Any:
    transform = hankel.SymmetricFourierTransform(ndim=3, N=150, h=0.02)
    values = transform.transform(
        lambda r: np.exp(-mix[0] * r**2) / (1.0 + mix[1] ** 2 * r), np.array([0.3, 1.2]),
        ret_err=False, inverse=True,
    )  # fmt: skip
    return 100.0 * np.sum(values)


ROWS: Final = (
    Row("PeakUtils", "interpolate", fitted, MIXES, rounding=1e-6),
    Row("PeakUtils", "baseline", levelled, MIXES, step=1e-5),
    Row("PeakUtils", "gaussian_fit", centred, MIXES, rounding=1e-6),
    Row("MFDFA", "MFDFA", fluctuating, MIXES),
    Row("spafe", "mfcc", cepstrum, MIXES, step=1e-4),
    Row("spafe", "gfcc", gammatones, MIXES, step=1e-4),
    Row("spafe", "lpc", predicted, MIXES),
    Row("spafe", "plp", perceived, MIXES, step=1e-4),
    Row("spectral", "rx", anomalies, MIXES),
    Row("spectral", "principal_components", components, MIXES),
    Row("spectral", "spectral_angles", shares, MIXES),
    Row("LightPipes", "Forvard", diffracted, MIXES),
    Row("LightPipes", "GaussHermite", modes, MIXES),
    Row("LightPipes", "Zernike", aberrated, MIXES),
    Row("hankel", "HankelTransform", transformed, MIXES),
    Row("hankel", "SymmetricFourierTransform", powers, MIXES),
)
