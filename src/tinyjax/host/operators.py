"""Operators of arrays that are quick where both operands are floats of one type that was met."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from numpy import asarray, ndarray

from tinyjax import dtypes
from tinyjax.core.tracing.primitive import NO_PARAMS, Kernel, Primitive
from tinyjax.core.tracing.trace import EVAL, IGNORE, current_trace, reset_errors, set_errors
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.values.operands import PYTHON_NUMBERS, met_splats
from tinyjax.frames import imitate
from tinyjax.tracebacks import shorten

Operator: TypeAlias = Callable[[Array, Any], Array]
Beside: TypeAlias = Callable[[str, float, ShapedArray], object]
_FLOATS: Final = (dtypes.float32, dtypes.float64)
_MOST_TYPES: Final = 1024


def at_once(
    usual: Operator, primitive: Primitive[Any], beside: Beside, *, is_reflected: bool
) -> Operator:
    """Make an operator that is quick with two arrays of one type, or an array and a number.

    Args:
        usual: the operator that works for all; it must be the primitive where both operands are
            floats of one type that is not weak.
        primitive: the primitive.
        beside: makes the array that a number is beside one of a type, and remembers it.
        is_reflected: whether the array is the second operand.
    """
    types: dict[ShapedArray, tuple[Kernel, ShapedArray]] = {}

    def operator(x: Array, other: object) -> Array:
        aval = x._aval
        if aval is not None and aval in types and current_trace() is EVAL:
            kind = type(other)
            y = met_splats.get((other, kind, aval)) if kind in PYTHON_NUMBERS else other
            if type(y) is ConcreteArray and y._aval is aval:
                first, second = (y._host, x._host) if is_reflected else (x._host, y._host)
                if first is not None and second is not None:
                    function, aval_out = types[aval]
                    token = set_errors(IGNORE)
                    try:
                        out = function(first, second)
                    finally:
                        reset_errors(token)
                    return ConcreteArray(out if type(out) is ndarray else asarray(out), aval_out)
        elif current_trace() is EVAL and _learn(types, primitive, beside, x, other):
            return operator(x, other)
        try:
            return usual(x, other)
        except Exception as error:
            shorten(error, sys._getframe())
            raise

    return imitate(operator, usual)


def _learn(
    types: dict[ShapedArray, tuple[Kernel, ShapedArray]],
    primitive: Primitive[Any],
    beside: Beside,
    x: Array,
    other: object,
) -> bool:
    """Note what is needed at once for the operands' type, if both are floats of one plain type.

    Returns:
        Whether it is known now; it was not before.
    """
    aval = x.aval
    if aval.where is not None or aval.dtype not in _FLOATS or aval.weak_type:
        return False
    if type(other) is float:
        beside(primitive.name, other, aval)
    elif type(other) is not ConcreteArray or other.aval is not aval:
        return False
    if aval in types:  # x was of no known type until now
        return True
    call = primitive.host_function((aval, aval), NO_PARAMS)
    if call is None:
        return False
    (aval_out,) = primitive.rules.abstract_eval((aval, aval), NO_PARAMS)
    if len(types) >= _MOST_TYPES:
        types.clear()
    types[aval] = call, aval_out
    return True
