# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.scipy.optimize.bfgs import OptimizeResults as OptimizeResults
from tinyjax.scipy.optimize.fits import LeastSquaresResult as LeastSquaresResult
from tinyjax.scipy.optimize.fits import curve_fit as curve_fit
from tinyjax.scipy.optimize.fits import least_squares as least_squares
from tinyjax.scipy.optimize.fits import leastsq as leastsq
from tinyjax.scipy.optimize.fits import lsq_linear as lsq_linear
from tinyjax.scipy.optimize.fits import nnls as nnls
from tinyjax.scipy.optimize.minima import differential_evolution as differential_evolution
from tinyjax.scipy.optimize.minima import fmin as fmin
from tinyjax.scipy.optimize.minima import minimize as minimize
from tinyjax.scipy.optimize.minima import minimize_scalar as minimize_scalar
from tinyjax.scipy.optimize.programs import LinprogResult as LinprogResult
from tinyjax.scipy.optimize.programs import linear_sum_assignment as linear_sum_assignment
from tinyjax.scipy.optimize.programs import linprog as linprog
from tinyjax.scipy.optimize.roots import RootResult as RootResult
from tinyjax.scipy.optimize.roots import RootResults as RootResults
from tinyjax.scipy.optimize.roots import brentq as brentq
from tinyjax.scipy.optimize.roots import fixed_point as fixed_point
from tinyjax.scipy.optimize.roots import fsolve as fsolve
from tinyjax.scipy.optimize.roots import newton as newton
from tinyjax.scipy.optimize.roots import root as root
from tinyjax.scipy.optimize.roots import root_scalar as root_scalar

__all__ = [
    'LeastSquaresResult',
    'LinprogResult',
    'OptimizeResults',
    'RootResult',
    'RootResults',
    'brentq',
    'curve_fit',
    'differential_evolution',
    'fixed_point',
    'fmin',
    'fsolve',
    'least_squares',
    'leastsq',
    'linear_sum_assignment',
    'linprog',
    'lsq_linear',
    'minimize',
    'minimize_scalar',
    'newton',
    'nnls',
    'root',
    'root_scalar',
]
