# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.scipy.ndimage.coordinates import map_coordinates as map_coordinates
from tinyjax.scipy.ndimage.filters import convolve as convolve
from tinyjax.scipy.ndimage.filters import convolve1d as convolve1d
from tinyjax.scipy.ndimage.filters import correlate as correlate
from tinyjax.scipy.ndimage.filters import correlate1d as correlate1d
from tinyjax.scipy.ndimage.filters import gaussian_filter as gaussian_filter
from tinyjax.scipy.ndimage.filters import gaussian_filter1d as gaussian_filter1d
from tinyjax.scipy.ndimage.filters import laplace as laplace
from tinyjax.scipy.ndimage.filters import sobel as sobel
from tinyjax.scipy.ndimage.filters import uniform_filter as uniform_filter

__all__ = [
    'convolve',
    'convolve1d',
    'correlate',
    'correlate1d',
    'gaussian_filter',
    'gaussian_filter1d',
    'laplace',
    'map_coordinates',
    'sobel',
    'uniform_filter',
]
