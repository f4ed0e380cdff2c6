"""Curvature, higher derivatives along curves, one mode from the other, cheap Jacobians.

``hessian`` and ``jacobian`` are ``tinyjax.hessian`` and ``tinyjax.jacobian`` too.
"""

from __future__ import annotations

from tinyjax.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "accumulation": "Order hessian jacobian multiplications",
        "products": "gauss_newton_vp hutchinson_trace hvp jvp_from_vjp vjp_from_jvp",
        "taylor": "jet",
        "tinyjax.laplacians.functions": "Laplacian directional_derivatives divergence laplacian",
        "tinyjax.rematerialization.planning": "MemoryPlan",
        "tinyjax.rematerialization.transformation": "memory_plan",
        "tinyjax.sparsity.detection": "hessian_sparsity jacobian_sparsity",
        "tinyjax.sparsity.pattern": "SparsityPattern",
    },
)
