"""Convolution, spectra and filters of signals, by SciPy's names."""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "": "windows",
        "design": "butter firwin freqz resample_poly upfirdn",
        "filters": "filtfilt hilbert lfilter medfilt resample savgol_filter sosfilt sosfiltfilt",
        "spectra": (
            "convolve convolve2d correlate correlate2d csd detrend fftconvolve istft stft welch"
        ),
    },
)
