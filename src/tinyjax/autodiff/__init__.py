"""Curvature, higher derivatives along curves, one mode from the other, cheap Jacobians.

``jacobian`` is ``tinyjax.jacobian`` too.
"""

from __future__ import annotations

from tinyjax.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "accumulation": "Order jacobian multiplications",
        "products": "gauss_newton_vp hutchinson_trace hvp jvp_from_vjp vjp_from_jvp",
        "taylor": "jet",
        "tinyjax.laplacians.functions": "Laplacian directional_derivatives divergence laplacian",
    },
)
