"""Integers by their bits: how many lead, the upper half of a product, and powers."""

from __future__ import annotations

from typing import Final

import numpy as np

from tinyjax import dtypes
from tinyjax.core.primitives import elementwise as ew, families, shape as sh
from tinyjax.core.primitives.reduce import reduce_or
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.values import Array

_HALVES = (32, 16, 8, 4, 2, 1)


def _unsigned(dtype: dtypes.DType) -> dtypes.DType:
    return np.dtype(f"u{dtype.itemsize}")


def _clz(x: dtypes.HostArray) -> dtypes.HostArray:
    """Halve the bits that are looked at, again and again."""
    bits = 8 * x.dtype.itemsize
    rest = x.astype(_unsigned(x.dtype))
    count = np.full(x.shape, bits, rest.dtype)
    for half in _HALVES:
        if half < bits:
            upper = rest >> rest.dtype.type(half)
            is_upper = upper != 0
            count = np.where(is_upper, count - rest.dtype.type(half), count)
            rest = np.where(is_upper, upper, rest)
    return np.asarray(count - rest).astype(x.dtype)


def _lower_clz(b: Lowering, x: hlo.SSAValue) -> hlo.SSAValue:
    """Count in 32 bits at least, without a sign: of other constants XLA counts wrongly."""
    bits = 8 * x.dtype.itemsize
    plain = x if x.dtype.kind == "u" else b.bitcast(x, _unsigned(x.dtype))
    wide = b.convert(plain, np.dtype(np.uint32)) if bits < 32 else plain
    count = b.op("stablehlo.count_leading_zeros", wide, result=wide.type)
    if bits < 32:
        count = b.sub(count, b.full_like(count, 32 - bits))
    return b.convert(count, x.dtype)


clz: Final = families.declared("clz", _clz, _lower_clz, "iu")


def _mulhi(x: dtypes.HostArray, y: dtypes.HostArray) -> dtypes.HostArray:
    bits = 8 * x.dtype.itemsize
    if bits < 64:
        wide = np.dtype(f"{x.dtype.kind}{2 * x.dtype.itemsize}")
        return np.asarray((x.astype(wide) * y.astype(wide)) >> wide.type(bits)).astype(x.dtype)
    product = np.asarray((x.astype(object) * y.astype(object)) // (1 << 64))
    return product.astype(x.dtype)


def _lower_mulhi(b: Lowering, x: hlo.SSAValue, y: hlo.SSAValue) -> hlo.SSAValue:
    """Write the upper half; of 64 bits, from the products of the halves (Warren, 8-2)."""
    dtype, bits = x.dtype, 8 * x.dtype.itemsize
    shift = b.shift_right_arithmetic if dtype.kind == "i" else b.shift_right_logical
    if bits < 64:
        wide = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")
        product = b.mul(b.convert(x, wide), b.convert(y, wide))
        return b.convert(shift(product, b.full_like(product, bits)), dtype)
    half, mask = b.full_like(x, 32), b.full_like(x, 0xFFFFFFFF)
    (x0, x1), (y0, y1) = ((b.and_(v, mask), shift(v, half)) for v in (x, y))
    low = b.shift_right_logical(b.mul(x0, y0), half)
    middle = b.add(b.mul(x1, y0), low)
    other = b.add(b.mul(x0, y1), b.and_(middle, mask))
    return b.add(b.add(b.mul(x1, y1), shift(middle, half)), shift(other, half))


mulhi: Final = families.declared("mulhi", _mulhi, _lower_mulhi, "iu")


def _power(x: dtypes.HostArray, y: dtypes.HostArray) -> dtypes.HostArray:
    with np.errstate(all="ignore"):
        negative = y < 0
        if not negative.any():
            return np.asarray(np.power(x, y)).astype(x.dtype, copy=False)
        # what is no integer is 0, as its part after the point is dropped
        unit = np.where(y % 2 == 0, np.ones_like(x), x)
        fraction = np.where(abs(x) == 1, unit, np.zeros_like(x))
        whole = np.power(x, np.where(negative, np.zeros_like(y), y))
        return np.where(negative, fraction, whole).astype(x.dtype)


#: The bits of the exponents that one round of the loop takes.
_PER_ROUND: Final = 6


def _lower_power(b: Lowering, x: hlo.SSAValue, y: hlo.SSAValue) -> hlo.SSAValue:
    """Square and multiply until no exponent has bits left: XLA's own power takes six of them."""

    def start(x: Array, y: Array) -> list[Array]:
        zero, one = sh.full_like(x, 0), sh.full_like(x, 1)
        if x.dtype.kind == "u":
            return [one, x, y]
        even = ew.eq(ew.and_(y, one), zero)
        unit = ew.select(ew.eq(ew.abs_(x), one), ew.select(even, one, x), zero)
        negative = ew.lt(y, zero)
        return [ew.select(negative, unit, one), x, ew.select(negative, zero, y)]

    def round_(result: Array, power: Array, rest: Array) -> list[Array]:
        zero, one = sh.full_like(rest, 0), sh.full_like(rest, 1)
        for _ in range(_PER_ROUND):
            odd = ew.ne(ew.and_(rest, one), zero)
            result = ew.select(odd, ew.mul(result, power), result)
            power = ew.mul(power, power)
            rest = ew.shift_right_logical(rest, one)
        return [result, power, rest]

    def going(state: hlo.Values) -> hlo.Values:
        def any_left(rest: Array) -> list[Array]:
            return [reduce_or(ew.ne(rest, sh.full_like(rest, 0)), tuple(range(rest.ndim)))]

        return families.lower_formula(b, any_left, state[2:])

    state = families.lower_formula(b, start, (x, y))
    return b.while_(state, going, lambda state: families.lower_formula(b, round_, state))[0]


#: Integers to the power of integers, modulo the width of the type.
power: Final = families.declared("power", _power, _lower_power, "iu", broadcasts=True)
