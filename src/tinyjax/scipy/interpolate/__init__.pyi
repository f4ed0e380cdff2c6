# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.scipy.interpolate.grids import RegularGridInterpolator as RegularGridInterpolator
from tinyjax.scipy.interpolate.piecewise import Akima1DInterpolator as Akima1DInterpolator
from tinyjax.scipy.interpolate.piecewise import CubicHermiteSpline as CubicHermiteSpline
from tinyjax.scipy.interpolate.piecewise import CubicSpline as CubicSpline
from tinyjax.scipy.interpolate.piecewise import PPoly as PPoly
from tinyjax.scipy.interpolate.piecewise import PchipInterpolator as PchipInterpolator
from tinyjax.scipy.interpolate.piecewise import interp1d as interp1d
from tinyjax.scipy.interpolate.radial import RBFInterpolator as RBFInterpolator
from tinyjax.scipy.interpolate.splines import BSpline as BSpline
from tinyjax.scipy.interpolate.splines import BarycentricInterpolator as BarycentricInterpolator
from tinyjax.scipy.interpolate.splines import make_interp_spline as make_interp_spline

__all__ = [
    'Akima1DInterpolator',
    'BSpline',
    'BarycentricInterpolator',
    'CubicHermiteSpline',
    'CubicSpline',
    'PPoly',
    'PchipInterpolator',
    'RBFInterpolator',
    'RegularGridInterpolator',
    'interp1d',
    'make_interp_spline',
]
