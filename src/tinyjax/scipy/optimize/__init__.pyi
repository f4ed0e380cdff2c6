# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.scipy.optimize.bfgs import OptimizeResults as OptimizeResults
from tinyjax.scipy.optimize.fits import LeastSquaresResult as LeastSquaresResult
from tinyjax.scipy.optimize.fits import curve_fit as curve_fit
from tinyjax.scipy.optimize.fits import least_squares as least_squares
from tinyjax.scipy.optimize.fits import nnls as nnls
from tinyjax.scipy.optimize.minima import minimize as minimize
from tinyjax.scipy.optimize.minima import minimize_scalar as minimize_scalar
from tinyjax.scipy.optimize.roots import RootResult as RootResult
from tinyjax.scipy.optimize.roots import RootResults as RootResults
from tinyjax.scipy.optimize.roots import root as root
from tinyjax.scipy.optimize.roots import root_scalar as root_scalar

__all__ = [
    'LeastSquaresResult',
    'OptimizeResults',
    'RootResult',
    'RootResults',
    'curve_fit',
    'least_squares',
    'minimize',
    'minimize_scalar',
    'nnls',
    'root',
    'root_scalar',
]
