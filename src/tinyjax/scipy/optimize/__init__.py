"""Minima, roots and fits by SciPy's names, with derivatives in and out.

``minimize`` by BFGS is traced. All else is SciPy's own code, which runs on the host: it gets
compiled derivatives of the user's function, and its solution is differentiable in everything that
the function is given or closes over. For solvers that are compiled as a whole, and for trees of
unknowns, see ``tinyjax.implicit``.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "bfgs": "OptimizeResults",
        "fits": "LeastSquaresResult curve_fit least_squares leastsq lsq_linear nnls",
        "minima": "differential_evolution fmin minimize minimize_scalar",
        "programs": "LinprogResult linear_sum_assignment linprog",
        "roots": "RootResult RootResults brentq fixed_point fsolve newton root root_scalar",
    },
)
