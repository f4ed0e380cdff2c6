"""Roots of sums of squares: where they are zero their derivative is zero, as that of a norm.

The formula of a root divides by zero there, and multiplies by zero. So values are followed whose
derivative is zero wherever they are: squares, sums of these, and what positive data multiplies.
They are noted where the data has a zero, or is not known. Second derivatives of such a root are not
known: it may be of squares of squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.tracing.trace import Tracer, current_trace
from tinyjax.core.transforms.jvp import JVPTrace
from tinyjax.source.capturing import runs

#: Functions that give the square of a vector twice, and those that do of any array.
_PRODUCTS: Final = (np.matmul, np.dot, np.inner)
_SQUARES: Final = (np.multiply, np.vdot)
#: Functions of one value, and of two, whose results are noted where their operands are.
_SUMS: Final = (np.sum, np.mean, np.real, np.absolute)
_MULTIPLES: Final = (np.multiply, np.true_divide)


def follow(function: Any, values: Sequence[Any], result: Any) -> Any:
    """Return the result of a function, noted as a sum of squares, or as the root of one."""
    run = runs.current.get()
    if run is None or not isinstance(result, Tracer) or not values:
        return result
    x, *others = values
    y = others[0] if others else None
    if _is_square(function, x, y):
        known = runs.data(result)
        may_vanish = result.dtype.kind == "f" and (known is None or not known.all())
        if may_vanish and not _is_differentiated_twice():
            run.squares[id(result)] = result
    elif run.squares:
        of_x, of_y = id(x) in run.squares, id(y) in run.squares
        if of_x and _is_root(function, y):
            return jnp.where(x == 0, 0, result)
        is_sum = function is np.add and (of_x or _is_zero(x)) and (of_y or _is_zero(y))
        is_multiple = function in _MULTIPLES and of_x and _is_positive(y)
        is_multiple = is_multiple or (function is np.multiply and of_y and _is_positive(x))
        if is_sum or is_multiple or (of_x and function in _SUMS):
            run.squares[id(result)] = result
    return result


def _is_square(function: Any, x: Any, y: Any) -> bool:
    if function is np.power:
        return isinstance(y, (int, float, np.number)) and bool(y == 2)
    if x is not y or not isinstance(x, Tracer):
        return function is np.square
    return function in _SQUARES or (function in _PRODUCTS and x.ndim == 1)


def _is_root(function: Any, exponent: Any) -> bool:
    if function is np.power:
        return isinstance(exponent, (int, float, np.number)) and bool(exponent == 0.5)
    return function is np.sqrt


def _is_differentiated_twice() -> bool:
    trace, count = current_trace(), 0
    while trace.parent is not trace:
        count += isinstance(trace, JVPTrace)
        trace = trace.parent
    return count > 1


def _is_zero(x: Any) -> bool:
    return isinstance(x, (int, float, np.number)) and bool(x == 0)


def _is_positive(x: Any) -> bool:
    return isinstance(x, (int, float, np.number, np.ndarray)) and bool(np.all(np.asarray(x) > 0))
