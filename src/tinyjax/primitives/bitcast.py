"""Reading the bits of elements as another type."""

from __future__ import annotations

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.devices import Entries
from tinyjax.core.explicit import undivided, whole
from tinyjax.core.primitive import DIVISION, Avals, Hosts, Kernel, Params, Primitive
from tinyjax.core.trace import bind1
from tinyjax.dtypes import DType
from tinyjax.errors import DtypeError, ShapeError
from tinyjax.primitives.rules import check_kind, def_constant
from tinyjax.primitives.shape import def_simple_batch
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values


@attrs.frozen(repr=False)
class BitcastParams(Params):
    """The dtype that the bits are read as."""

    dtype: DType


bitcast_convert_type_p: Primitive[BitcastParams] = Primitive("bitcast_convert_type", BitcastParams)


@bitcast_convert_type_p.def_impl
def _bitcast_impl(operands: Hosts, params: BitcastParams) -> Hosts:
    x = np.ascontiguousarray(operands[0]).reshape(operands[0].shape)
    old, dtype = x.dtype.itemsize, params.dtype
    if old == dtype.itemsize:
        return (x.view(dtype),)
    if old > dtype.itemsize:
        parts = np.frombuffer(x.tobytes(), dtype)
        return (parts.reshape(*x.shape, old // dtype.itemsize),)
    return (np.frombuffer(x.tobytes(), dtype).reshape(x.shape[:-1]),)


@bitcast_convert_type_p.def_kernel
def _bitcast_kernel(avals: Avals, params: BitcastParams) -> Kernel | None:
    (x,), dtype = avals, params.dtype
    return (lambda host: host.view(dtype)) if x.dtype.itemsize == dtype.itemsize else None


@bitcast_convert_type_p.def_abstract_eval
def _bitcast_type(avals: Avals, params: BitcastParams) -> Avals:
    (x,), dtype = avals, params.dtype
    check_kind("bitcast_convert_type", x, "iuf")
    if dtypes.kind(dtype) not in "iuf":
        raise DtypeError(
            f"bitcast_convert_type makes integers and floats, but was asked for {dtype}."
        )
    old, size = x.dtype.itemsize, dtype.itemsize
    if old == size:
        return (ShapedArray(x.shape, dtype),)
    if old > size:
        return (ShapedArray((*x.shape, old // size), dtype),)
    if not x.shape or x.shape[-1] * old != size:
        raise ShapeError(
            f"bitcast_convert_type of {x} to {dtype.name}: the last axis must have size "
            f"{size // old}, so that its elements make one."
        )
    return (ShapedArray(x.shape[:-1], dtype),)


@bitcast_convert_type_p.def_lowering
def _bitcast_lowering(b: Lowering, operands: Values, params: BitcastParams) -> Values:
    return b.emit("stablehlo.bitcast_convert", operands, b.results)


@bitcast_convert_type_p.def_rule(DIVISION)
def _bitcast_division(params: BitcastParams, avals: Avals, outs: Avals) -> list[Entries]:
    entries, n = avals[0].entries, outs[0].ndim
    whole(entries, range(n, len(entries)), "whose elements become one")
    return [(*entries[:n], *undivided(n - len(entries)))]


def_constant(bitcast_convert_type_p)


def_simple_batch(bitcast_convert_type_p)


def bitcast_convert_type(x: Array, dtype: DType) -> Array:
    """Return the bits of ``x`` read as another type.

    Args:
        x: integers or floats.
        dtype: another such type. Where it is narrower the result has one more axis at the end, for
            the parts of each element (the low bits first); where it is wider the last axis of ``x``
            holds the parts, and goes.

    Raises:
        ShapeError: the last axis does not hold the parts of one element.
        DtypeError: a type is bool or complex.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> from tinyjax.primitives.bitcast import bitcast_convert_type
        >>> bitcast_convert_type(jnp.array([1.0, -2.0]), dtypes.uint32)
        Array([1065353216, 3221225472], dtype=uint32)
    """
    return bind1(bitcast_convert_type_p, (x,), BitcastParams(dtype))
