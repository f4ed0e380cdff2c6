"""Sound and signals: arlpy, padasip, python_speech_features."""

from typing import Any, Final

import numpy as np
import padasip
import python_speech_features as speech
from arlpy import bf, uwa

from packages.row import Row

RNG: Final = np.random.default_rng(3)
SIGNALS: Final = RNG.normal(size=(3, 48))
ARRAYS: Final = RNG.normal(size=(3, 3, 8))
STEERING: Final = bf.steering_plane_wave(np.array([0.0, 0.5, 1.0]), 1500.0, np.array([0.1, 0.5]))
TARGETS: Final = (
    np.array([1.0, 0.5, -0.3, 0.8]),
    np.array([0.2, 0.9, 0.4, -0.8]),
    np.array([1.5, 0.1, 0.3, 0.6]),
)
REGRESSORS: Final = np.array([[1.0, 0.2], [0.3, 0.5], [-0.4, 0.9], [0.7, -0.2]])
FRAMES: Final = {"samplerate": 1000, "winlen": 0.032, "winstep": 0.014, "nfilt": 6, "nfft": 32}


def capon(signals: Any) -> Any:
    return np.sum(bf.capon(signals * (1.0 + 0.5j), 1500.0, STEERING))


def bartlett(signals: Any) -> Any:
    return np.sum(bf.bartlett(signals * (1.0 + 0.5j), 1500.0, STEERING))


def squared_error(kind: Any, **settings: Any) -> Any:
    def run(signal: Any) -> Any:
        _, errors, _ = kind(n=2, w="zeros", **settings).run(signal, REGRESSORS)
        return np.sum(errors**2)

    return run


ROWS: Final = (
    Row("arlpy", "uwa.soundspeed", lambda t: uwa.soundspeed(t, depth=20), (25.0, 20.0, 10.0)),
    Row("arlpy", "uwa.absorption", uwa.absorption, (50000.0, 30000.0, 10000.0)),
    Row(
        "arlpy",
        "uwa.reflection_coeff",
        lambda a: uwa.reflection_coeff(a, 1200.0, 1600.0),
        (0.3, 0.5, 0.1),
    ),
    Row("arlpy", "bf.bartlett", bartlett, (ARRAYS[0], ARRAYS[1], ARRAYS[2])),
    Row("arlpy", "bf.capon", capon, (ARRAYS[0], ARRAYS[1], ARRAYS[2]), step=1e-4, tolerance=1e-4),
    Row("padasip", "FilterLMS.run", squared_error(padasip.filters.FilterLMS, mu=0.1), TARGETS),
    Row("padasip", "FilterRLS.run", squared_error(padasip.filters.FilterRLS, mu=0.9), TARGETS),
    Row("padasip", "FilterNLMS.run", squared_error(padasip.filters.FilterNLMS, mu=0.1), TARGETS),
    Row("padasip", "misc.RMSE", lambda d: padasip.misc.RMSE(d, REGRESSORS[:, 0]), TARGETS),
    Row("python_speech_features", "hz2mel", speech.hz2mel, (440.0, 500.0, 2000.0)),
    Row(
        "python_speech_features",
        "mfcc",
        lambda x: np.sum(speech.mfcc(x, numcep=4, **FRAMES) ** 2),
        (SIGNALS[0], SIGNALS[1], SIGNALS[2]),
    ),
    Row(
        "python_speech_features",
        "logfbank",
        lambda x: np.sum(speech.logfbank(x, **FRAMES)),
        (SIGNALS[0], SIGNALS[1], SIGNALS[2]),
    ),
    Row(
        "python_speech_features",
        "delta",
        lambda x: np.sum(speech.delta(x.reshape(8, 6), 1) ** 3),
        (SIGNALS[0], SIGNALS[1], SIGNALS[2]),
    ),
)
