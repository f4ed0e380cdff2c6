"""Functions defined by equations: linear systems, roots, fixed points, minima, and flows.

An iteration that keeps no intermediate values finds the solution. Its derivative follows from the
equation, by the implicit function theorem; for a differential equation, from the adjoint equation.
Each rule is a linear map of tangents, which gives forward mode, reverse mode and higher
derivatives. Staging the equation finds the values it closes over, which are differentiated like
arguments.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "fixed_points": "fixed_point",
        "krylov": "Info",
        "linear_operators": "custom_linear_solve",
        "linear_systems": "linear_solve",
        "minima": "minimize",
        "ode": "odeint",
        "roots": "custom_root root",
    },
)
