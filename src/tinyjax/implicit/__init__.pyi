# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.implicit.fixed_points import fixed_point as fixed_point
from tinyjax.implicit.krylov import Info as Info
from tinyjax.implicit.linear_operators import custom_linear_solve as custom_linear_solve
from tinyjax.implicit.linear_systems import linear_solve as linear_solve
from tinyjax.implicit.minima import minimize as minimize
from tinyjax.implicit.ode import odeint as odeint
from tinyjax.implicit.roots import custom_root as custom_root
from tinyjax.implicit.roots import root as root

__all__ = [
    'Info',
    'custom_linear_solve',
    'custom_root',
    'fixed_point',
    'linear_solve',
    'minimize',
    'odeint',
    'root',
]
