"""Operators of arrays that are quick where both operands are floats of one type that was met."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from numpy import asarray, ndarray

from tinyjax import dtypes, frames, tracebacks
from tinyjax.core import avals as av, operands as opd, primitive as prim, trace as tr
from tinyjax.core.array import Array
from tinyjax.core.concrete import ConcreteArray

Operator: TypeAlias = Callable[[Array, Any], Array]
_FLOATS: Final = (dtypes.float32, dtypes.float64)
_MOST_TYPES: Final = 1024


def at_once(usual: Operator, primitive: prim.Primitive[Any], *, is_reflected: bool) -> Operator:
    """Make an operator that is quick with two arrays of one type, or an array and a number.

    Args:
        usual: the operator that works for all; it must be the primitive where both operands are
            floats of one type that is not weak.
        primitive: the primitive.
        is_reflected: whether the array is the second operand.
    """
    types: dict[av.ShapedArray, tuple[prim.Kernel, av.ShapedArray]] = {}

    def operator(x: Array, other: object) -> Array:
        aval = x._aval
        if aval is not None and aval in types and tr.current_trace() is tr.EVAL:
            kind = type(other)
            y = opd.met_splats.get((other, kind, aval)) if kind in opd.PYTHON_NUMBERS else other
            if type(y) is ConcreteArray and y._aval is aval:
                first, second = (y._host, x._host) if is_reflected else (x._host, y._host)
                if first is not None and second is not None:
                    function, aval_out = types[aval]
                    token = tr.set_errors(tr.IGNORE)
                    try:
                        out = function(first, second)
                    finally:
                        tr.reset_errors(token)
                    return ConcreteArray(out if type(out) is ndarray else asarray(out), aval_out)
        try:
            result = usual(x, other)
        except Exception as error:
            tracebacks.shorten(error, sys._getframe())
            raise
        if aval not in types and type(x) is type(result) is ConcreteArray:
            _learn(types, primitive, x.aval)
        return result

    return frames.imitate(operator, usual)


def _learn(
    types: dict[av.ShapedArray, tuple[prim.Kernel, av.ShapedArray]],
    primitive: prim.Primitive[Any],
    aval: av.ShapedArray,
) -> None:
    """Note what evaluates operands of a type, if they are floats of a plain type."""
    is_plain = type(aval) is av.ShapedArray and aval.dtype in _FLOATS and not aval.weak_type
    host = primitive.host_call((aval, aval), prim.NO_PARAMS) if is_plain else None
    if host is not None:
        if len(types) >= _MOST_TYPES:
            types.clear()
        (aval_out,) = primitive.rules.abstract_eval((aval, aval), prim.NO_PARAMS)
        types[aval] = host.call, aval_out
