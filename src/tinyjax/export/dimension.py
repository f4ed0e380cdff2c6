"""The size of an axis as a number: a constant, once the size is known."""

from __future__ import annotations

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.primitives.rules import def_constant
from tinyjax.core.stablehlo import Lowering, types as hlo
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av, operands as opd


@attrs.frozen(eq=False, repr=False)
class DimensionParams(prim.Params):
    """A size, and the dtype of the number that it becomes.

    Attributes:
        size: the size, which is symbolic in a program for many sizes.
        dtype: of the number.
        weak_type: whether the dtype is weak.
    """

    size: int
    dtype: dtypes.DType
    weak_type: bool = False


dim_as_value_p: prim.Primitive[DimensionParams] = prim.Primitive("dim_as_value", DimensionParams)


@dim_as_value_p.def_impl
def _dimension_impl(operands: prim.Hosts, params: DimensionParams) -> prim.Hosts:
    return (opd.scalar(params.size, params.dtype).host,)


@dim_as_value_p.def_abstract_eval
def _dimension_type(avals: prim.Avals, params: DimensionParams) -> prim.Avals:
    return (av.ShapedArray((), params.dtype, params.weak_type),)


@dim_as_value_p.def_lowering
def _dimension_lowering(b: Lowering, operands: hlo.Values, params: DimensionParams) -> hlo.Values:
    return [b.constant(np.asarray(opd.scalar(params.size, params.dtype).host))]


def_constant(dim_as_value_p)


dim_as_value_p.def_batch(
    lambda mapped, values, axes, params: (tr.bind(dim_as_value_p, (), params), (None,))
)


def dim_as_value(size: int) -> Array:
    """Return the size of an axis, which may be symbolic, as an array of weak type."""
    return tr.bind1(dim_as_value_p, (), DimensionParams(size, dtypes.default_int(), True))
