"""The identity whose derivative is zero."""

from __future__ import annotations

from tinyjax.core.array import Array
from tinyjax.core.explicit import together
from tinyjax.core.primitive import NO_PARAMS, SUMS, NoParams, Primitive
from tinyjax.core.trace import bind1
from tinyjax.primitives.families import def_elementwise_batch
from tinyjax.primitives.rules import def_constant, def_identity, def_transposes

stop_gradient_p: Primitive[NoParams] = Primitive("stop_gradient", NoParams)


def_identity(stop_gradient_p)


def_constant(stop_gradient_p)
stop_gradient_p.def_rule(SUMS)(together())


# a tangent may go through it; as a map of values it is the identity
def_transposes(stop_gradient_p, lambda ct, x: ct)


def_elementwise_batch(stop_gradient_p)


def stop_gradient(x: Array) -> Array:
    """Return ``x`` as a constant to derivatives."""
    return bind1(stop_gradient_p, (x,), NO_PARAMS)
