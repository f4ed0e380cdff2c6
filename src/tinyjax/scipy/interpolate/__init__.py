"""Interpolation, by SciPy's names, differentiable in points, values and knots."""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "grids": "RegularGridInterpolator",
        "piecewise": (
            "Akima1DInterpolator CubicHermiteSpline CubicSpline PPoly PchipInterpolator interp1d"
        ),
        "radial": "RBFInterpolator",
        "splines": "BSpline BarycentricInterpolator make_interp_spline",
    },
)
