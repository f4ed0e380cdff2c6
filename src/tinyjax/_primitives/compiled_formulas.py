"""Formulas of many passes, which XLA computes in one where arrays are large, to the same bits.

NumPy passes over memory once for each step of a formula. XLA takes the same steps, in double
precision, with each number in turn, and a result is rounded once. Its multiplications may be fused
with the additions after them, in double precision: that is far below what is rounded.

To compile takes as long as NumPy takes for some 10^7 numbers. So many NumPy computes first; small
arrays it computes always.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from tinyjax import config, dtypes
from tinyjax._primitives.bitcast import bitcast_convert_type
from tinyjax.core import xla
from tinyjax.core.primitives import elementwise as ew, families, shape as sh
from tinyjax.core.tracing import primitive as prim, staging
from tinyjax.core.values import Array, ConcreteArray, ShapedArray
from tinyjax.core.xla import threads

Coefficients: TypeAlias = tuple[float, ...]

#: So many elements of a type are computed by NumPy before a program is compiled for it.
PAYS: Final = 1 << 24
#: The bits of a float32 besides its sign, and those of the smallest normal one.
_MAGNITUDE: Final = 0x7FFFFFFF
_NORMAL: Final = 0x00800000


def polynomial(x: Array, coefficients: Coefficients) -> Array:
    """Evaluate by Horner's rule, the highest power's coefficient first."""
    first, *others, last = coefficients
    out = ew.mul(x, sh.full_like(x, first))
    for c in others:
        out = ew.mul(ew.add(out, sh.full_like(x, c)), x)
    return ew.add(out, sh.full_like(x, last))


def _in_double(x: Array, formula: Callable[[Array], Array], slope: float) -> Array:
    """Apply a formula to float32 in double precision, and round once.

    XLA treats numbers below the smallest normal number as zero. The bits of such a number are an
    integer, and so are those of the result: the product of that integer with the slope, rounded.
    Adding 2**52 rounds it to an integer, whose bits are the last bits of the sum.
    """
    bits = bitcast_convert_type(x, dtypes.int32)
    magnitude = ew.and_(bits, sh.full_like(bits, _MAGNITUDE))
    double = formula(ew.convert_element_type(x, dtypes.float64))
    single = bitcast_convert_type(ew.convert_element_type(double, dtypes.float32), dtypes.int32)
    count = ew.convert_element_type(magnitude, dtypes.float64)
    scaled = ew.add(ew.mul(count, sh.full_like(count, slope)), sh.full_like(count, 2.0**52))
    integer = ew.convert_element_type(bitcast_convert_type(scaled, dtypes.int64), dtypes.int32)
    tiny = ew.or_(integer, ew.and_(bits, sh.full_like(bits, -_MAGNITUDE - 1)))
    is_tiny = ew.lt(magnitude, sh.full_like(bits, _NORMAL))
    return bitcast_convert_type(ew.select(is_tiny, tiny, single), dtypes.float32)


def def_formula(
    primitive: families.Elementwise,
    usual: prim.Kernel,
    formula: Callable[[Array], Array],
    slope: float,
) -> None:
    """Have XLA compute an odd function of large arrays of float32.

    Args:
        primitive: the function.
        usual: what NumPy does.
        formula: the same steps: takes and returns float64.
        slope: the function of a number that is not normal is so many times that, in NumPy's steps.
    """

    @primitive.def_rule(prim.LARGE)
    def large(avals: prim.Avals, params: prim.NoParams) -> prim.HostCall | None:
        if avals[0].dtype != dtypes.float32:
            return None
        compiled: xla.Executable | None = None
        left = PAYS

        def evaluate(x: dtypes.HostArray) -> dtypes.HostArray:
            nonlocal compiled, left
            left -= x.size
            if left > 0 or threads.lacks_threads() or xla.is_absent():
                return np.asarray(usual(x))
            if compiled is None:
                compiled = compile_for(x.size)
            (out,) = compiled([ConcreteArray(x.reshape(-1))])
            return np.asarray(out).reshape(x.shape)

        return prim.HostCall(evaluate)

    def compile_for(size: int) -> xla.Executable:
        aval = ShapedArray((size,), dtypes.float32)
        with config.scoped(wide_dtypes=True):
            staged = staging.stage(lambda x: [_in_double(x, formula, slope)], [aval])
        return xla.compiled(xla.Compilation(staged.jaxpr, primitive.name))
