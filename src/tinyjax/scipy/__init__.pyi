# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.scipy import cluster as cluster
from tinyjax.scipy import fft as fft
from tinyjax.scipy import integrate as integrate
from tinyjax.scipy import interpolate as interpolate
from tinyjax.scipy import linalg as linalg
from tinyjax.scipy import ndimage as ndimage
from tinyjax.scipy import optimize as optimize
from tinyjax.scipy import signal as signal
from tinyjax.scipy import sparse as sparse
from tinyjax.scipy import spatial as spatial
from tinyjax.scipy import special as special
from tinyjax.scipy import stats as stats

__all__ = [
    'cluster',
    'fft',
    'integrate',
    'interpolate',
    'linalg',
    'ndimage',
    'optimize',
    'signal',
    'sparse',
    'spatial',
    'special',
    'stats',
]
