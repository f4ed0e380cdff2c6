# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.scipy.signal import windows as windows
from tinyjax.scipy.signal.design import butter as butter
from tinyjax.scipy.signal.design import firwin as firwin
from tinyjax.scipy.signal.design import freqz as freqz
from tinyjax.scipy.signal.design import resample_poly as resample_poly
from tinyjax.scipy.signal.design import upfirdn as upfirdn
from tinyjax.scipy.signal.filters import filtfilt as filtfilt
from tinyjax.scipy.signal.filters import hilbert as hilbert
from tinyjax.scipy.signal.filters import lfilter as lfilter
from tinyjax.scipy.signal.filters import medfilt as medfilt
from tinyjax.scipy.signal.filters import resample as resample
from tinyjax.scipy.signal.filters import savgol_filter as savgol_filter
from tinyjax.scipy.signal.filters import sosfilt as sosfilt
from tinyjax.scipy.signal.filters import sosfiltfilt as sosfiltfilt
from tinyjax.scipy.signal.spectra import convolve as convolve
from tinyjax.scipy.signal.spectra import convolve2d as convolve2d
from tinyjax.scipy.signal.spectra import correlate as correlate
from tinyjax.scipy.signal.spectra import correlate2d as correlate2d
from tinyjax.scipy.signal.spectra import csd as csd
from tinyjax.scipy.signal.spectra import detrend as detrend
from tinyjax.scipy.signal.spectra import fftconvolve as fftconvolve
from tinyjax.scipy.signal.spectra import istft as istft
from tinyjax.scipy.signal.spectra import stft as stft
from tinyjax.scipy.signal.spectra import welch as welch

__all__ = [
    'butter',
    'convolve',
    'convolve2d',
    'correlate',
    'correlate2d',
    'csd',
    'detrend',
    'fftconvolve',
    'filtfilt',
    'firwin',
    'freqz',
    'hilbert',
    'istft',
    'lfilter',
    'medfilt',
    'resample',
    'resample_poly',
    'savgol_filter',
    'sosfilt',
    'sosfiltfilt',
    'stft',
    'upfirdn',
    'welch',
    'windows',
]
