"""Loops of a captured program, of which derivatives take the adjoint that is generated for them.

A traced operation costs microseconds, in which Python does a hundred of its own. So a function is
traced once, and from then on no more, if it is a loop that calls nothing without a rule, changes
nothing that it has not made, and returns a number. Its gradient is computed with its value, as by
``source.grad``, and only the product with the tangents is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import Any, Final
from weakref import WeakSet

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.tracing import trace as tr
from tinyjax.core.transforms.jvp import JVPTracer
from tinyjax.core.values import Array, ConcreteArray, avals as av
from tinyjax.source import api
from tinyjax.source.adjoint import pullbacks
from tinyjax.source.capturing import ndarrays, runs
from tinyjax.source.ir import find

_DOUBLE: Final = np.dtype(np.float64)
#: Classes of arguments beside data and arrays.
_OF_NUMBERS: Final = (str, ndarrays.CapturedFloat, ndarrays.CapturedScalar)

#: The code of functions that are always traced.
_traced: Final[WeakSet[CodeType]] = WeakSet()


def differentiated(fun: FunctionType, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return the result of a function, and record its tangent by its gradient.

    Args:
        fun: the function.
        args: its arguments, as the program sees them.
        kwargs: its keyword arguments.

    Returns:
        The traced number; None where the function has to be traced.
    """
    trace, code = tr.current_trace(), fun.__code__
    if code in _traced:
        return None
    try:
        operands = find.bound(fun, tuple(args), kwargs).values
        cells = [cell.cell_contents for cell in fun.__closure__ or ()]
    except (TypeError, ValueError):  # which Python raises where the function runs
        return None
    if not find.is_plain(fun, operands) or not all(map(_is_plain, operands)):
        return None
    values = [x._captured_value if ndarrays.is_captured(x) else x for x in operands]
    places = [i for i, x in enumerate(values) if isinstance(x, JVPTracer) and x._trace is trace]
    data = [_data_of(x, value, trace) for x, value in zip(operands, values, strict=True)]
    is_known = not any(x is ndarrays.UNKNOWN for x in data)
    if not places or not is_known or ndarrays.holds_captured(cells):
        return None
    pair = _value_and_gradient(fun, tuple(places), tuple(data))
    if pair is None:
        _traced.add(code)
        return None
    y, gradients = pair
    if not all(np.isfinite(x).all() for x in (y, *gradients)):
        return None  # what is not taken of it is not known here
    traced: list[JVPTracer] = [values[i] for i in places]
    is_weak = type(y) is float and all(x.aval.weak_type and x.dtype == _DOUBLE for x in traced)
    primal = ConcreteArray(np.array(y), av.ShapedArray((), _DOUBLE, is_weak))
    with tr.use_trace(trace.parent):
        parts = [jnp.sum(x.tangent * np.asarray(g)) for x, g in zip(traced, gradients, strict=True)]
        tangent: Array = sum(parts[1:], start=parts[0])
    number = ndarrays.wrap(JVPTracer(trace, primal, tangent))
    return ndarrays.number(number) if type(y) is float else number


def _is_plain(x: Any) -> bool:
    """Return whether an argument is data, a traced number, or a traced array as most are."""
    kind = type(x)
    if kind is ndarrays.CapturedArray:
        is_plain: bool = x.dtype == _DOUBLE and x.ndim > 0 and x.flags.c_contiguous
        return is_plain
    return kind in ndarrays.DATA or kind in _OF_NUMBERS


def _data_of(x: Any, value: Any, trace: tr.Trace) -> Any:
    """Return the data of an argument, if it is known, and of 64 bits or a number of Python's."""
    if not isinstance(value, Array):
        return value
    primal = value.primal if isinstance(value, JVPTracer) and value._trace is trace else value
    if type(primal) is not ConcreteArray or primal.dtype.kind != "f":
        return ndarrays.UNKNOWN
    if type(x) is ndarrays.CapturedFloat:
        return float(primal.host)
    return primal.host[()] if primal.dtype == _DOUBLE else ndarrays.UNKNOWN


def _value_and_gradient(
    fun: FunctionType, places: tuple[int, ...], data: tuple[Any, ...]
) -> tuple[Any, Sequence[Any]] | None:
    """Return the value of a function and its gradient; None if it is no loop of this kind."""
    run = runs.current.get()
    assert run is not None, "captured functions are called in runs"
    count = len(run.refusals)
    try:
        if not pullbacks.plan_of(fun, data).adjoint.has_inline_loops:
            return None
        y, gradients = pullbacks.attempt(api.value_and_gradient, fun, places, False, data, {})
    except Exception:  # traced, it raises what Python raises, or goes on
        return None
    finally:
        is_data = len(run.refusals) == count
        del run.refusals[count:]
    is_data = is_data and all(isinstance(x, (float, np.ndarray)) for x in gradients)
    return (y, gradients) if is_data and type(y) in (float, np.float64) else None
