"""Integers by their bits: how many lead, and the upper half of a product."""

from __future__ import annotations

from typing import Final

import numpy as np

from tinyjax.dtypes import DType, HostArray
from tinyjax.primitives.families import elementwise
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Value

_HALVES = (32, 16, 8, 4, 2, 1)


def _unsigned(dtype: DType) -> DType:
    return np.dtype(f"u{dtype.itemsize}")


def _clz(x: HostArray) -> HostArray:
    """Halve the bits that are looked at, again and again."""
    bits = 8 * x.dtype.itemsize
    rest = x.astype(_unsigned(x.dtype))
    count = np.full(x.shape, bits, rest.dtype)
    for half in _HALVES:
        if half < bits:
            upper = rest >> rest.dtype.type(half)
            found = upper != 0
            count = np.where(found, count - rest.dtype.type(half), count)
            rest = np.where(found, upper, rest)
    return np.asarray(count - rest).astype(x.dtype)


def _lower_clz(b: Lowering, x: Value) -> Value:
    """Count in 32 bits at least, without a sign: of other constants XLA counts wrongly."""
    bits = 8 * x.dtype.itemsize
    plain = x if x.dtype.kind == "u" else b.bitcast(x, _unsigned(x.dtype))
    wide = b.convert(plain, np.dtype(np.uint32)) if bits < 32 else plain
    count = b.op("stablehlo.count_leading_zeros", wide, result=wide.type)
    if bits < 32:
        count = b.sub(count, b.full_like(count, 32 - bits))
    return b.convert(count, x.dtype)


clz: Final = elementwise("clz", _clz, _lower_clz, "iu")


def _mulhi(x: HostArray, y: HostArray) -> HostArray:
    bits = 8 * x.dtype.itemsize
    if bits < 64:
        wide = np.dtype(f"{x.dtype.kind}{2 * x.dtype.itemsize}")
        return np.asarray((x.astype(wide) * y.astype(wide)) >> wide.type(bits)).astype(x.dtype)
    product = np.asarray((x.astype(object) * y.astype(object)) // (1 << 64))
    return product.astype(x.dtype)


def _lower_mulhi(b: Lowering, x: Value, y: Value) -> Value:
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


mulhi: Final = elementwise("mulhi", _mulhi, _lower_mulhi, "iu")
