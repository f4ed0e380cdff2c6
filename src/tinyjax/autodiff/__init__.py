"""Curvature, higher derivatives along curves, one mode from the other, cheap Jacobians.

``jacobian`` is ``tinyjax.jacobian`` too.
"""

from __future__ import annotations

from tinyjax.autodiff.accumulation import Order, jacobian, multiplications
from tinyjax.autodiff.modes import jvp_from_vjp, vjp_from_jvp
from tinyjax.autodiff.products import gauss_newton_vp, hutchinson_trace, hvp
from tinyjax.autodiff.taylor import jet

__all__ = [
    "Order",
    "gauss_newton_vp",
    "hutchinson_trace",
    "hvp",
    "jacobian",
    "jet",
    "jvp_from_vjp",
    "multiplications",
    "vjp_from_jvp",
]
