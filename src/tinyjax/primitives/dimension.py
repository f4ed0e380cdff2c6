"""The size of an axis as a number: a constant, once the size is known."""

from __future__ import annotations

import attrs
import numpy as np

from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.operands import scalar
from tinyjax.core.primitive import (
    Arrays,
    Avals,
    BatchAxes,
    BatchResult,
    Hosts,
    MappedAxis,
    Params,
    Primitive,
)
from tinyjax.core.trace import bind1
from tinyjax.dtypes import DType, default_int
from tinyjax.primitives.rules import def_constant
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values


@attrs.frozen(eq=False, repr=False)
class DimensionParams(Params):
    """A size, and the dtype of the number that it becomes.

    Attributes:
        size: the size, which is symbolic in a program for many sizes.
        dtype: of the number.
        weak_type: whether the dtype is weak.
    """

    size: int
    dtype: DType
    weak_type: bool = False


dim_as_value_p: Primitive[DimensionParams] = Primitive("dim_as_value", DimensionParams)


@dim_as_value_p.def_impl
def _dimension_impl(operands: Hosts, params: DimensionParams) -> Hosts:
    return (scalar(params.size, params.dtype).host,)


@dim_as_value_p.def_abstract_eval
def _dimension_type(avals: Avals, params: DimensionParams) -> Avals:
    return (ShapedArray((), params.dtype, params.weak_type),)


@dim_as_value_p.def_lowering
def _dimension_lowering(b: Lowering, operands: Values, params: DimensionParams) -> Values:
    return [b.constant(np.asarray(scalar(params.size, params.dtype).host))]


def_constant(dim_as_value_p)


@dim_as_value_p.def_batch
def _dimension_batch(
    mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: DimensionParams
) -> BatchResult:
    return (bind1(dim_as_value_p, (), params),), (None,)


def dim_as_value(size: int) -> Array:
    """Return the size of an axis, which may be symbolic, as an array of weak type."""
    return bind1(dim_as_value_p, (), DimensionParams(size, default_int(), True))
