"""Evaluation of large arrays where NumPy's own loops are slow: blocks that stay in the cache.

The rules return, to the bit, the results of the primitives' ``host`` rules, which are faster for
few elements. There is one exception. Functions of bfloat16 are NumPy's of float32 here, and those
of the C library there: one result in some 10,000 is the other one of two that are almost equally
near. Blocks are divided among the cores, for all work that releases Python's lock: all but
conversions of bfloat16.

These are times of 10^6 elements on one core, in ms. On two cores, beside other work, a selection
took 0.8 of them, an extremum 0.55 and an exponential of bfloat16 0.7.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from tinyjax import dtypes
from tinyjax._base import cores
from tinyjax.core.primitives import elementwise as ew, families
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.values import operands as opd
from tinyjax.dtypes import HostArray

#: So many elements are computed at a time.
_BLOCK: Final = 1 << 16


def in_place(
    primitive: prim.Primitive[Any], fun: np.ufunc, avals: prim.Avals, params: Any
) -> prim.Kernel:
    """Let a function of NumPy's put a large result where XLA reads it."""
    if fun.nout > 1 or any(aval.where is not None for aval in avals):
        return fun
    (out,) = primitive.rules.abstract_eval(avals, params)
    return partial(_into_aligned, fun, out.shape, out.dtype)


def _into_aligned(
    fun: np.ufunc, shape: tuple[int, ...], dtype: dtypes.DType, *operands: HostArray
) -> HostArray:
    """Call a function of NumPy's with aligned memory for its result, unless that is given."""
    in_order = all(x.flags.c_contiguous or _is_repeated_in_order(x) for x in operands)
    if len(operands) > fun.nin or not in_order:  # NumPy keeps the order of the operands' axes
        return np.asarray(fun(*operands))
    return np.asarray(fun(*operands, out=opd.aligned(shape, dtype)))


def _is_repeated_in_order(x: HostArray) -> bool:
    """Return whether an array is a view of one in C order, repeated along some axes."""
    steps = [step for step, size in zip(x.strides, x.shape, strict=True) if step and size > 1]
    return steps == sorted(steps, reverse=True)


@ew.select_p.def_rule(prim.LARGE)
def _large_choice(avals: prim.Avals, params: Any) -> prim.HostCall | None:
    return prim.HostCall(_choose, fresh=True) if avals[1].dtype.itemsize <= 8 else None


def _by_blocks(
    compute: Callable[..., object], out: HostArray, *operands: HostArray, block: int = _BLOCK
) -> HostArray:
    """Compute a result block by block.

    Args:
        compute: computes a block of the result, given its memory and the blocks of the operands.
            Smaller operands are cut to as many elements.
        out: the memory of the result.
        operands: the operands.
        block: the number of elements in a block.
    """
    flat, *flats = [x.reshape(-1) for x in (out, *operands)]

    def work(block: slice) -> None:
        result = flat[block]
        compute(result, *[x[block] if x.size == flat.size else x[: result.size] for x in flats])

    cores.over_blocks(out.size, block, work)
    return out


def _choose(predicate: HostArray, x: HostArray, y: HostArray) -> HostArray:
    """Choose elements of at most eight bytes by arithmetic, where NumPy takes branches."""
    bits = f"i{x.dtype.itemsize}"

    def choose(chosen: HostArray, mask: HostArray, on_true: HostArray, on_false: HostArray) -> None:
        np.bitwise_xor(on_true, on_false, chosen)
        chosen *= mask
        chosen ^= on_false

    out = opd.aligned(predicate.shape, x.dtype)
    flats = [a.reshape(-1) for a in (predicate, x, y)]
    _by_blocks(choose, out.view(bits), flats[0].view("i1"), *[a.view(bits) for a in flats[1:]])
    return out


def _extremum(fun: np.ufunc, x: HostArray, y: HostArray) -> HostArray:
    """Compare with one number everywhere by an array of it, which NumPy does four times as fast."""
    if any(x.strides) and any(y.strides):
        return np.asarray(fun(x, y))
    a, b = [v if any(v.strides) else np.full(min(x.size, _BLOCK), v.flat[0]) for v in (x, y)]
    return _by_blocks(_with_output(fun), opd.aligned(x.shape, x.dtype), a, b)


def _with_output(fun: np.ufunc) -> Callable[..., object]:
    """Let a function of NumPy's take the memory of its result first."""
    return lambda out, *operands: fun(*operands, out=out)


def _in_float32(fun: np.ufunc, *operands: HostArray) -> HostArray:
    """Compute with bfloat16 as float32, and round each result."""

    def compute(rounded: HostArray, *parts: HostArray) -> None:
        rounded[...] = fun(*[x.astype(np.float32) for x in parts])

    return _by_blocks(compute, opd.aligned(operands[0].shape, dtypes.bfloat16), *operands)


#: Functions whose results float32 holds, to be rounded once more.
_IN_FLOAT32: Final = frozenset(
    (
        *(np.add, np.subtract, np.multiply, np.true_divide, np.maximum, np.minimum),
        *(np.sqrt, np.exp, np.exp2, np.expm1, np.log, np.log1p, np.sin, np.cos, np.tan),
    )
)


def quotient(x: HostArray, y: HostArray, *, floor: bool = False) -> HostArray:
    """Divide integers of at most 32 bits in float64, whose quotient truncates to theirs.

    Args:
        x: the dividends.
        y: the divisors.
        floor: whether to round down. A quotient that is no integer is farther from the next one
            than float64's rounding error.
    """
    least = np.iinfo(x.dtype).min

    def divide(result: HostArray, dividend: HostArray, divisor: HostArray) -> None:
        ratio = dividend.astype(np.float64)
        ratio /= divisor.astype(np.float64)
        if floor:
            np.floor(ratio, ratio)
        np.copyto(result, ratio, casting="unsafe")
        if not divisor.all():
            result[divisor == 0] = ~x.dtype.type(0)  # -1
            if floor:
                result[(divisor == 0) & (dividend != 0)] -= x.dtype.type(1)
        if least and dividend.min() == least:  # its quotient by -1 is itself
            result[(dividend == least) & (divisor == -1)] = least

    return _by_blocks(divide, opd.aligned(x.shape, x.dtype), x, y, block=_BLOCK // 4)


def _in_threads(fun: np.ufunc, *operands: HostArray) -> HostArray:
    """Compute a function that takes long, on several cores."""
    if not all(x.flags.c_contiguous or not any(x.strides) for x in operands):
        return np.asarray(fun(*operands))
    return _by_blocks(
        _with_output(fun), opd.aligned(operands[0].shape, operands[0].dtype), *operands
    )


def _large_arithmetic(
    primitive: families.Elementwise, avals: prim.Avals, params: Any
) -> prim.HostCall | None:
    """Return NumPy's call for large arrays where the ``host`` rule is one of its functions."""
    usual = primitive.rules.host
    fun = None if usual is None else usual(avals, params)
    if not isinstance(fun, np.ufunc):
        return None
    dtype = avals[0].dtype
    if dtype == dtypes.bfloat16 and fun in _IN_FLOAT32:
        return prim.HostCall(partial(_in_float32, fun), fresh=True)
    if dtype not in (dtypes.float32, dtypes.float64):
        return None
    if fun in (np.maximum, np.minimum):
        return prim.HostCall(partial(_extremum, fun), fresh=True)
    if prim.TRANSCENDENTAL in primitive.rules.extensions:
        return prim.HostCall(partial(_in_threads, fun), fresh=True)
    return None


for _primitive in {x for x in vars(ew).values() if isinstance(x, families.Elementwise)} - {ew.div}:
    _primitive.def_rule(prim.LARGE)(partial(_large_arithmetic, _primitive))


@ew.div.def_rule(prim.LARGE)
def _large_quotient(avals: prim.Avals, params: Any) -> prim.HostCall | None:
    dtype = avals[0].dtype
    is_exact = dtypes.is_integer(dtype) and dtype.itemsize <= 4
    if is_exact:
        return prim.HostCall(quotient, fresh=True)
    return _large_arithmetic(ew.div, avals, params)
