"""Values that are staged and have data beside, so that Python can decide by the data.

``jit`` of a captured function stages it on tracers that know the data of the call. Python's
decisions by them (a bool, an index, a length) are taken from the data and logged. The compiled
program returns the same values, as guards. It is used for other data where they are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard, TypeVar

import numpy as np

from tinyjax._base import frames
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.tracing.trace import CustomCall, Trace, Tracer, use_trace
from tinyjax.core.values import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.operands import as_array
from tinyjax.dtypes import HostArray

P = TypeVar("P")


class WitnessTracer(Tracer):
    """A staged value and its data."""

    __slots__ = ("aval", "data", "guards", "staged")

    aval: ShapedArray

    def __init__(self, trace: WitnessTrace, staged: Array, data: HostArray) -> None:
        self._trace = trace
        self.guards: list[Guard] = trace.guards
        self.staged: Array = staged
        self.data: HostArray = data
        self.aval = staged.aval

    def concrete(self, purpose: str) -> HostArray:
        """Return the data of what has no derivative, which is a decision.

        Raises:
            ConcretizationError: the value may have a derivative, which would be lost.
        """
        if self.aval.dtype.kind in "fc" and isinstance(self.staged, Tracer):
            return self.staged.concrete(purpose)
        return self.decided()

    def decided(self) -> HostArray:
        """Return the data, and log that the program depends on it."""
        self.guards.append(Guard(self.staged, self.data, str(frames.user_location())))
        return self.data


class Guard:
    """A value that Python has decided by.

    Attributes:
        staged: the value, to be computed by the compiled program.
        data: its data when the program was staged.
        line: the line of the program that decided.
    """

    __slots__ = ("data", "line", "staged")

    def __init__(self, staged: Array, data: HostArray, line: str) -> None:
        self.staged: Array = staged
        self.data: HostArray = data
        self.line: str = line


class WitnessTrace(Trace):
    """Stages each operation under its parent, and evaluates it beside."""

    __slots__ = ("evaluation", "guards")

    transformation = "jit"

    def __init__(self, parent: Trace, evaluation: Trace) -> None:
        super().__init__(parent)
        self.evaluation: Trace = evaluation
        self.guards: list[Guard] = []

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        if not any(self._owns(arg) for arg in args):  # constants
            below = self.parent if any(isinstance(arg, Tracer) for arg in args) else self.evaluation
            return below.process(primitive, args, params)
        outs = self.parent.process(primitive, self._staged(args), params)
        with use_trace(self.evaluation):
            data = self.evaluation.process(primitive, self._data(args), params)
        return self._joined(outs, data)

    def process_custom_call(self, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        if call.closes_over_tracer:
            return call.record(self, args)
        outs = self.parent.process_custom_call(call, self._staged(args))
        with use_trace(self.evaluation):
            data = call.fun(*self._data(args))
        return self._joined(outs, data)

    def _joined(self, outs: Sequence[Array], data: Sequence[Array]) -> list[Array]:
        pairs = zip(outs, data, strict=True)
        return [WitnessTracer(self, out, np.asarray(value)) for out, value in pairs]

    def _owns(self, value: Array) -> TypeGuard[WitnessTracer]:
        return type(value) is WitnessTracer and value._trace is self

    def _staged(self, args: Sequence[Array]) -> list[Array]:
        return [arg.staged if self._owns(arg) else arg for arg in args]

    def _data(self, args: Sequence[Array]) -> list[Array]:
        return [as_array(arg.data) if isinstance(arg, WitnessTracer) else arg for arg in args]
