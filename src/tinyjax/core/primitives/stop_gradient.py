"""The identity whose derivative is zero."""

from __future__ import annotations

from tinyjax.core import explicit
from tinyjax.core.primitives import families as fam, rules as ru
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values.array import Array

stop_gradient_p: prim.Primitive[prim.NoParams] = prim.Primitive("stop_gradient", prim.NoParams)


ru.def_identity(stop_gradient_p)


ru.def_constant(stop_gradient_p)
stop_gradient_p.def_rule(prim.SUMS)(explicit.together())


# a tangent may go through it; as a map of values it is the identity
ru.def_transposes(stop_gradient_p, lambda ct, x: ct)


fam.def_elementwise_batch(stop_gradient_p)


def stop_gradient(x: Array) -> Array:
    """Return ``x`` as a constant to derivatives."""
    return tr.bind1(stop_gradient_p, (x,), prim.NO_PARAMS)
