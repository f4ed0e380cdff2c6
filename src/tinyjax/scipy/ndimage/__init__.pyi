# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.scipy.ndimage.coordinates import map_coordinates as map_coordinates
from tinyjax.scipy.ndimage.filters import convolve as convolve
from tinyjax.scipy.ndimage.filters import convolve1d as convolve1d
from tinyjax.scipy.ndimage.filters import correlate as correlate
from tinyjax.scipy.ndimage.filters import correlate1d as correlate1d
from tinyjax.scipy.ndimage.filters import gaussian_filter as gaussian_filter
from tinyjax.scipy.ndimage.filters import gaussian_filter1d as gaussian_filter1d
from tinyjax.scipy.ndimage.filters import laplace as laplace
from tinyjax.scipy.ndimage.filters import median_filter as median_filter
from tinyjax.scipy.ndimage.filters import sobel as sobel
from tinyjax.scipy.ndimage.filters import uniform_filter as uniform_filter
from tinyjax.scipy.ndimage.resampling import affine_transform as affine_transform
from tinyjax.scipy.ndimage.resampling import rotate as rotate
from tinyjax.scipy.ndimage.resampling import shift as shift
from tinyjax.scipy.ndimage.resampling import zoom as zoom

__all__ = [
    'affine_transform',
    'convolve',
    'convolve1d',
    'correlate',
    'correlate1d',
    'gaussian_filter',
    'gaussian_filter1d',
    'laplace',
    'map_coordinates',
    'median_filter',
    'rotate',
    'shift',
    'sobel',
    'uniform_filter',
    'zoom',
]
