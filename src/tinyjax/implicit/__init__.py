"""Functions defined by equations: linear systems, roots, fixed points, minima, and flows.

Each is found by an iteration that keeps nothing, and differentiated by what its equation says: the
implicit function theorem, or for a differential equation its adjoint. The rules are linear maps of
tangents, so forward mode, reverse mode, and derivatives of derivatives come from one of them. What
the equation closes over is found by staging it, and is differentiated like an argument.
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
