# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.scipy.spatial import distance as distance
from tinyjax.scipy.spatial import transform as transform
from tinyjax.scipy.spatial.shapes import procrustes as procrustes

__all__ = [
    'distance',
    'procrustes',
    'transform',
]
