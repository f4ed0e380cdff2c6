"""Floats rounded to fewer bits than they have."""

from __future__ import annotations

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.primitives import families as fam
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values.array import Array


@attrs.frozen(eq=False, repr=False)
class PrecisionParams(prim.Params):
    """How many bits the exponent has, and the significand after its point."""

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


def _lower(b: Lowering, x: hlo.Value, params: PrecisionParams) -> hlo.Value:
    return b.op(
        "stablehlo.reduce_precision",
        x,
        exponent_bits=hlo.integer(params.exponent_bits, 32),
        mantissa_bits=hlo.integer(params.mantissa_bits, 32),
    )


reduce_precision_p: fam.Elementwise = fam.elementwise(
    "reduce_precision",
    _rounded,
    _lower,
    "f",
    transposes=[lambda ct, x, p: tr.bind1(reduce_precision_p, (ct,), p)],
    params=PrecisionParams,
)


def reduce_precision(x: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round floats to what a type with fewer bits holds, to nearest; ties to even.

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
