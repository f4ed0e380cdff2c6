"""The bits of elements: read as another type, and floats rounded to fewer than they have."""

from __future__ import annotations

from math import prod
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.primitives import families, shape as sh
from tinyjax.core.primitives.rules import check_kind, def_constant
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import Primitive, primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av


@attrs.frozen(eq=False, repr=False)
class BitcastParams(prim.Params):
    """The dtype that the bits are read as."""

    dtype: dtypes.DType


bitcast_convert_type_p: Final = Primitive("bitcast_convert_type", BitcastParams, repeatable=True)


def _bits(dtype: dtypes.DType) -> int:
    return dtypes.STORED.get(dtype, 8 * dtype.itemsize)


@bitcast_convert_type_p.def_impl
def _bitcast_impl(operands: prim.Hosts, params: BitcastParams) -> prim.Hosts:
    x = np.ascontiguousarray(operands[0]).reshape(operands[0].shape)
    dtype, shape = params.dtype, _shape(x.shape, x.dtype, params.dtype)
    if x.dtype in dtypes.STORED or dtype in dtypes.STORED:
        x = _regrouped(x, _bits(x.dtype), _bits(dtype))
        return (x.reshape(shape).view(dtype),)
    return (np.frombuffer(x.tobytes(), dtype).reshape(shape),)


def _regrouped(x: dtypes.HostArray, old: int, new: int) -> dtypes.HostArray:
    """Regroup the bits of numbers of at least a byte into smaller numbers, or the reverse."""
    if old >= 8:
        x, old = np.frombuffer(x.tobytes(), np.uint8), 8
    else:
        x = dtypes.to_physical(x)
    size = min(new, 8)
    if size > old:
        parts = x.reshape(-1, size // old) << np.arange(0, size, old, dtype=np.uint8)
        x = np.bitwise_or.reduce(parts, axis=-1)
    elif size < old:
        x = x.reshape(-1, 1) >> np.arange(0, old, size, dtype=np.uint8) & ((1 << size) - 1)
    return np.frombuffer(x.tobytes(), np.dtype(f"u{new // 8}")) if new > 8 else x


@bitcast_convert_type_p.def_host
def _bitcast_host(avals: prim.Avals, params: BitcastParams) -> prim.Kernel | None:
    (x,), dtype = avals, params.dtype
    return (lambda host: host.view(dtype)) if _bits(x.dtype) == _bits(dtype) else None


@bitcast_convert_type_p.def_abstract_eval
def _bitcast_type(avals: prim.Avals, params: BitcastParams) -> prim.Avals:
    (x,), dtype = avals, params.dtype
    check_kind("bitcast_convert_type", x, "iufs")
    if dtypes.kind(dtype) not in "iufs":
        raise errors.DtypeError(
            f"bitcast_convert_type makes integers and floats, but was asked for {dtype}."
        )
    old, size = _bits(x.dtype), _bits(dtype)
    if old < size and (not x.shape or x.shape[-1] * old != size):
        raise errors.ShapeError(
            f"bitcast_convert_type of {x} to {dtype.name}: the last axis must have size "
            f"{size // old}, so that its elements make one."
        )
    return (av.ShapedArray(_shape(x.shape, x.dtype, dtype), dtype),)


def _shape(shape: tuple[int, ...], source: dtypes.DType, dtype: dtypes.DType) -> tuple[int, ...]:
    old, size = _bits(source), _bits(dtype)
    return shape if old == size else (*shape, old // size) if old > size else shape[:-1]


@bitcast_convert_type_p.def_lowering
def _bitcast_lowering(b: Lowering, operands: hlo.Values, params: BitcastParams) -> hlo.Values:
    (x,), (result,) = operands, b.results
    old, new = _bits(x.dtype), _bits(params.dtype)
    if old == new or min(old, new) >= 8:
        return b.emit("stablehlo.bitcast_convert", operands, b.results)
    bits = b.reshape(_lower_regrouped(b, x, old, new), result.shape)
    if params.dtype in dtypes.STORED:
        return (hlo.SSAValue(bits.name, result),)
    return (b.bitcast(bits, params.dtype),)


def _lower_regrouped(b: Lowering, x: hlo.SSAValue, old: int, new: int) -> hlo.SSAValue:
    """Lower ``_regrouped``; numbers of at least a byte have the type of bytes."""
    count = prod(x.shape)
    if old > 8:
        parts = hlo.tensor((*x.shape, old // 8), dtypes.uint8)
        x, count, old = b.op("stablehlo.bitcast_convert", x, result=parts), count * old // 8, 8
    elif x.dtype != dtypes.uint8:
        x = b.bitcast(x, dtypes.uint8)
    size = min(new, 8)
    by = np.arange(0, max(old, size), min(old, size), dtype=np.uint8)
    if size > old:
        of = (count // len(by), len(by))
        shift = b.broadcast_in_dim(b.constant(by), of, (1,))
        zero = b.scalar(0, dtypes.uint8)
        (x,) = b.reduce(
            [b.shift_left(b.reshape(x, of), shift)], [zero], (1,), lambda b, pair: (b.or_(*pair),)
        )
    elif size < old:
        of = (count, len(by))
        shift = b.broadcast_in_dim(b.constant(by), of, (1,))
        x = b.broadcast_in_dim(b.reshape(x, (count,)), of, (0,))
        x = b.shift_right_logical(x, shift)
        x = b.and_(x, b.full_like(x, (1 << size) - 1))
    if new <= 8:
        return x
    wide = hlo.tensor((prod(x.shape) * 8 // new,), np.dtype(f"u{new // 8}"))
    return b.op("stablehlo.bitcast_convert", b.reshape(x, (*wide.shape, new // 8)), result=wide)


def_constant(bitcast_convert_type_p)


sh.def_simple_batch(bitcast_convert_type_p)


def bitcast_convert_type(x: Array, dtype: dtypes.DType) -> Array:
    """Return the bits of ``x`` read as another type.

    Args:
        x: integers or floats; also integers of 2 and 4 bits.
        dtype: another such type. Where it is narrower, the result has one more axis at the end, for
            the parts of each element (the low bits first). Where it is wider, the last axis of
            ``x`` holds the parts, and is removed.

    Raises:
        ShapeError: the last axis does not hold the parts of one element.
        DtypeError: a type is bool or complex.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import dtypes
        >>> from tinyjax._primitives.bitcast import bitcast_convert_type
        >>> bitcast_convert_type(jnp.array([1.0, -2.0]), dtypes.uint32)
        Array([1065353216, 3221225472], dtype=uint32)
    """
    return tr.bind1(bitcast_convert_type_p, (x,), BitcastParams(dtype))


# Floats rounded to fewer bits than they have


@attrs.frozen(eq=False, repr=False)
class PrecisionParams(prim.Params):
    """The number of bits of the exponent, and of the significand after its point."""

    exponent_bits: int
    mantissa_bits: int


def _rounded(x: dtypes.HostArray, params: PrecisionParams) -> dtypes.HostArray:
    if x.dtype.itemsize == 1:  # in a wider type, as XLA does
        return _rounded(x.astype(np.float16), params).astype(x.dtype)
    info = dtypes.finfo(x.dtype)
    exponent, mantissa = params.exponent_bits, params.mantissa_bits
    word = np.dtype(f"u{x.dtype.itemsize}")
    bits = np.ascontiguousarray(x).view(word).reshape(x.shape)
    one = word.type(1)
    if mantissa < info.nmant:
        drop = word.type(info.nmant - mantissa)
        # ties go to the even neighbour
        bits = bits + ((one << (drop - one)) - one) + ((bits >> drop) & one)
        bits = bits & ~((one << drop) - one)
    if exponent < info.nexp:
        places = word.type(info.nmant)
        sign = bits & (one << word.type(8 * x.dtype.itemsize - 1))
        size = (bits ^ sign) >> places
        bias, least = (1 << (info.nexp - 1)) - 1, (1 << (exponent - 1)) - 1
        infinity = word.type(((1 << info.nexp) - 1) << info.nmant)
        bits = np.where(size > word.type(bias + least), sign | infinity, bits)
        bits = np.where(size <= word.type(bias - least), sign, bits)
    rounded = np.ascontiguousarray(bits).view(x.dtype).reshape(x.shape)
    # no bits of the significand are left to tell a NaN from an infinity, as XLA has it
    lost = x if mantissa else np.copysign(x.dtype.type(np.inf), x)
    return np.where(np.isnan(x), lost, rounded)


def _lower(b: Lowering, x: hlo.SSAValue, params: PrecisionParams) -> hlo.SSAValue:
    return b.op(
        "stablehlo.reduce_precision",
        x,
        exponent_bits=hlo.integer(params.exponent_bits, 32),
        mantissa_bits=hlo.integer(params.mantissa_bits, 32),
    )


reduce_precision_p: families.Elementwise = families.declared(
    "reduce_precision",
    _rounded,
    _lower,
    "f",
    transposes=[lambda ct, x, p: tr.bind1(reduce_precision_p, (ct,), p)],
    params=PrecisionParams,
)


def reduce_precision(x: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round floats to the values of a type with fewer bits, to nearest; ties to even.

    Args:
        x: floats.
        exponent_bits: how many bits the exponent has: one at least. What is too great becomes
            infinite, what is too small zero.
        mantissa_bits: how many bits the significand has after its point. Without any, NaN
            becomes infinite.

    Raises:
        DtypeError: ``x`` does not hold floats.
        ArgumentError: there is no such type.
    """
    if exponent_bits < 1 or mantissa_bits < 0:
        raise errors.ArgumentError(
            "reduce_precision takes at least 1 for exponent_bits and 0 for mantissa_bits, but got "
            f"{errors.shortened(exponent_bits)} and {errors.shortened(mantissa_bits)}."
        )
    # which all floats have fewer of; XLA counts them in 32 bits
    params = PrecisionParams(min(exponent_bits, 64), min(mantissa_bits, 64))
    return tr.bind1(reduce_precision_p, (x,), params)
