"""Curvature, higher derivatives along curves, one mode from the other, cheap Jacobians.

``hessian`` and ``jacobian`` are ``tinyjax.hessian`` and ``tinyjax.jacobian`` too.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "accumulation": "Order hessian jacobian multiplications",
        "products": "gauss_newton_vp hutchinson_trace hvp jvp_from_vjp vjp_from_jvp",
        "taylor": "jet",
        "tinyjax._library.laplacians.functions": (
            "Laplacian directional_derivatives divergence laplacian"
        ),
        "tinyjax._extensions.rematerialization.planning": "MemoryPlan",
        "tinyjax._extensions.rematerialization.transformation": "memory_plan",
        "tinyjax._library.sparsity.colouring": "Colouring coloured",
        "tinyjax._library.sparsity.detection": "hessian_sparsity jacobian_sparsity",
        "tinyjax._library.sparsity.pattern": "SparsityPattern",
    },
)
