# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.core.values import ShapedArray as ShapedArray
from tinyjax.custom_derivatives.custom_calls import Zero as Zero
from tinyjax.custom_derivatives.custom_calls import instantiate_zeros as instantiate_zeros
from tinyjax.experimental.hijax.primitives import AxisData as AxisData
from tinyjax.experimental.hijax.primitives import GradAccum as GradAccum
from tinyjax.experimental.hijax.primitives import NullAccum as NullAccum
from tinyjax.experimental.hijax.primitives import VJPHiPrimitive as VJPHiPrimitive
from tinyjax.experimental.hijax.primitives import ValAccum as ValAccum
from tinyjax.experimental.hijax.primitives import jvp_from_lin as jvp_from_lin
from tinyjax.experimental.hijax.primitives import linearize_from_jvp as linearize_from_jvp
from tinyjax.experimental.hijax.primitives import vjp_from_jvp as vjp_from_jvp
from tinyjax.experimental.hijax.primitives import vjp_from_lin as vjp_from_lin

__all__ = [
    'AxisData',
    'GradAccum',
    'NullAccum',
    'ShapedArray',
    'VJPHiPrimitive',
    'ValAccum',
    'Zero',
    'instantiate_zeros',
    'jvp_from_lin',
    'linearize_from_jvp',
    'vjp_from_jvp',
    'vjp_from_lin',
]
