"""Computation that is not differentiated: each value from outside is a constant in it.

To put ``stop_gradient`` around results is not enough. The derivative would be computed and thrown
away, and a function without one, such as a callback, would be an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tinyjax.core.primitives.identities import stop_gradient_p
from tinyjax.core.tracing import Primitive, Tracer, primitive as prim, trace as tr
from tinyjax.core.values import Array
from tinyjax.dtypes import is_inexact

P = TypeVar("P")


class ConstantTrace(tr.Trace):
    """Applies primitives to its operands without their tangents."""

    __slots__ = ("_constants",)

    transformation = "stop_gradient"

    def __init__(self, parent: tr.Trace) -> None:
        super().__init__(parent)
        # tracers by their ids, which are their own for as long as the tracers are here
        self._constants: dict[int, tuple[Array, Array]] = {}

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        outs = self.parent.process(primitive, self._as_constants(args), params)
        return self._know(outs)

    def process_custom_call(self, call: tr.CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        return super().process_custom_call(call, self._as_constants(args))

    def _as_constants(self, args: Sequence[Array]) -> Sequence[Array]:
        return [self._constant(x) if isinstance(x, Tracer) else x for x in args]

    def _constant(self, x: Array) -> Array:
        if not is_inexact(x.dtype):
            return x
        if id(x) not in self._constants:
            (constant,) = self.parent.process(stop_gradient_p, (x,), prim.NO_PARAMS)
            self._constants[id(x)] = (x, constant)
            self._know((constant,))
        return self._constants[id(x)][1]

    def _know(self, outs: Sequence[Array]) -> Sequence[Array]:
        """Remember values computed from constants, which need not be made constant again."""
        for out in outs:
            if isinstance(out, Tracer):
                self._constants[id(out)] = (out, out)
        return outs


@contextmanager
def without_derivatives() -> Iterator[None]:
    """Compute within a block without derivatives, whatever transformations run around it.

    Values from outside that the block does not compute with keep their tangents.
    """
    trace = tr.current_trace()
    if isinstance(trace, tr.EvalTrace):
        yield
        return
    with tr.Running(ConstantTrace(trace)):
        yield
