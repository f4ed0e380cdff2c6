"""Functions defined by equations: linear systems, roots, fixed points, minima, and flows.

An iteration that keeps no intermediate values finds the solution. Its derivative follows from the
equation, by the implicit function theorem; for a differential equation, from the adjoint equation.
Each rule is a linear map of tangents, which gives forward mode, reverse mode and higher
derivatives. Staging the equation finds the values it closes over, which are differentiated like
arguments.
"""

from tinyjax.implicit.fixed_points import fixed_point
from tinyjax.implicit.information import Info
from tinyjax.implicit.linear_operators import custom_linear_solve
from tinyjax.implicit.linear_systems import linear_solve
from tinyjax.implicit.minima import minimize
from tinyjax.implicit.ode import odeint
from tinyjax.implicit.roots import custom_root, root

__all__ = [
    "Info",
    "custom_linear_solve",
    "custom_root",
    "fixed_point",
    "linear_solve",
    "minimize",
    "odeint",
    "root",
]
