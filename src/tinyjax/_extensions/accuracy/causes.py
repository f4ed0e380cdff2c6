"""The operations that an error comes from: a path from a result back to where digits were lost.

A ``CauseTrace`` keeps each operation with its operands. An error of an element is traced to the
operand's element that contributes most to it, by the derivative of the operation, and so on back.
The digits that are lost on the way add up to those that the result lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from math import inf, log10
from typing import Any, Final, TypeAlias, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import frames
from tinyjax._base.frames import Location
from tinyjax._extensions.accuracy import shadows
from tinyjax._extensions.accuracy.shadows import ShadowTracer
from tinyjax.core.api import vjp
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules, trace as tr
from tinyjax.core.tracing.primitive import Arrays, Primitive
from tinyjax.core.values import Array, operands as opd
from tinyjax.dtypes import HostArray

P = TypeVar("P")
Index: TypeAlias = tuple[int, ...]


@attrs.frozen
class LoopIndex:
    """One iteration of a loop.

    Attributes:
        loop: the loop's name.
        location: the user's line.
        index: the iteration's index.
    """

    loop: str
    location: Location | None
    index: int


_loops: ContextVar[tuple[LoopIndex, ...]] = ContextVar("tinyjax_accuracy_loops", default=())
#: The history of values is kept for so many bytes of later ones.
_MOST_BYTES: Final = 1 << 30


class LineAdapter(tr.Adapter):
    """Tells the lines of derivatives, and the examples of a ``vmap``."""

    __slots__ = ()

    def source(self, recorder: tr.Trace, source: frames.Source | None) -> frames.Source | None:
        return source_here()

    def batch(
        self, rule: Any, mapped: prim.MappedAxis, values: Arrays, axes: prim.BatchAxes, params: P
    ) -> prim.BatchResult:
        outs, out_axes = rule(mapped, values, axes, params)
        for out, axis in zip(outs, out_axes, strict=True):
            if isinstance(out, ShadowTracer) and axis is not None and not mapped.of_basis:
                out.examples = ((axis, mapped.size), *out.examples)
        return outs, out_axes

    def transposing(
        self, eqns: Sequence[jx.JaxprEqn], rule: prim.ApplyTranspose
    ) -> prim.ApplyTranspose:
        def apply(eqn: jx.JaxprEqn, cts: prim.Tangents, operands: prim.Operands) -> Any:
            source = eqn.source or tr.evaluated_source()
            if source is not None:  # also of the additions that follow it
                backward = frames.TracedSource(source.code, source.instruction, "backward")
                tr.set_evaluated_source(backward)
            return rule(eqn, cts, operands)

        return apply


class CauseTrace(shadows.ShadowTrace):
    """A trace that keeps where values with shadows come from.

    Attributes:
        branches: the decisions that shadows would have made otherwise: how often, by what decided
            and the line, and the iterations of the first.
        bytes: the size of what was computed.
    """

    __slots__ = ("branches", "bytes")

    def __init__(self, parent: tr.Trace, fun: Callable[..., object]) -> None:
        super().__init__(parent, fun)
        self.keeps_lines = True
        self.adapters = (*self.adapters, LineAdapter())
        self.branches: dict[tuple[str, Location | None], tuple[int, tuple[LoopIndex, ...]]] = {}
        self.bytes: int = 0

    def remember(
        self, outs: Arrays, primitive: Any, args: Sequence[Array], params: object
    ) -> Arrays:
        source, loops = source_here(), _loops.get()
        for i, x in enumerate(outs):
            if type(x) is ShadowTracer and x._trace is self:
                self.bytes += x.value.size * 12 + 1000
                x.source, x.loops, x.examples, x.place = source, loops, (), i
                x.primitive, x.params, x.operands, x.born = primitive, params, args, self.bytes
        if self.bytes > _MOST_BYTES:
            for y in args:
                if type(y) is ShadowTracer and 0 < y.born < self.bytes - _MOST_BYTES:
                    y.primitive, y.operands, y.born = None, (), 0
                    self.unshadowed["operations before the last gigabyte of values"] = None
        return outs

    def choose(self, primitive: Primitive[Any], x: Array) -> None:
        if isinstance(x, ShadowTracer) and self.owns(x):
            self._compare(x, f"elements of {primitive}")

    def read(self, x: ShadowTracer, purpose: str) -> HostArray:
        if dtypes.is_inexact(x.dtype):
            self.unshadowed[f"what Python read at {location_here()}"] = None
        else:
            self._compare(x, purpose)
        return super().read(x, purpose)

    def _compare(self, x: ShadowTracer, kind: str) -> None:
        if not np.array_equal(host(x.value), host(x.parts[0])):
            decision = kind, location_here()
            count, first = self.branches.get(decision, (0, _loops.get()))
            self.branches[decision] = count + 1, first

    def process_program(self, primitive: Primitive[P], args: Arrays, params: P) -> Sequence[Array]:
        if program_rules.ITERATIONS not in primitive.rules.extensions:
            return super().process_program(primitive, args, params)
        length = primitive.rule(program_rules.ITERATIONS)(params)
        backwards = getattr(params, "reverse", False) and length is not None
        here, outer, first, count = location_here(), _loops.get(), list[jx.Jaxpr](), -1

        def run(jaxpr: jx.Jaxpr, args: Sequence[Any], times: int = 1) -> list[Any]:
            nonlocal count
            first[:] = first or [jaxpr]
            count += jaxpr is first[0]
            index = (length or 0) - 1 - count if backwards else count
            _loops.set((*outer, LoopIndex(primitive.name, here, index)))  # also of its decision
            return jx.eval_jaxpr(jaxpr, args)

        with tr.use_trace(self), tr.assigned(_loops, outer):
            return program_rules.evaluate_stepwise(primitive, args, params, run)


def source_here() -> frames.Source | None:
    """Return where in the user's source the operation is that is being run."""
    return tr.evaluated_source() or frames.user_source()


def location_here() -> Location | None:
    """Return the user's line that is being run."""
    source = source_here()
    return None if source is None else source.location


def host(x: Array) -> HostArray:
    """Return the data of an array."""
    return x.concrete("a report")


def element(x: ShadowTracer, index: Index) -> ShadowTracer:
    """Return an element of a value."""
    value, *parts = [opd.as_array(np.asarray(host(y)[index])) for y in (x.value, *x.parts)]
    return ShadowTracer(x._trace, value, tuple(parts))


def errors_of(x: ShadowTracer) -> HostArray:
    """Return the absolute errors of a value."""
    return host(shadows.error_of(x.value, x.parts))


def relative(x: ShadowTracer) -> HostArray:
    """Return relative errors, of which that of a wrong value in place of 0 is infinite."""
    error, size = errors_of(x), np.abs(host(x.parts[0]))
    with np.errstate(all="ignore"):
        return np.where(error == 0, 0.0, np.where(np.isfinite(error), error / size, inf))


@attrs.frozen(eq=False)
class OperationLoss:
    """Digits that were lost in an operation.

    Attributes:
        tracer: its result.
        index: the element of the result that is looked at.
        condition: the factor by which relative errors of operands may grow there.
        digits: how many were lost.
    """

    tracer: ShadowTracer
    index: Index
    condition: float
    digits: float


def trace_back(tracer: ShadowTracer, index: Index, unit: float) -> list[OperationLoss]:
    """Return the operations in which digits were lost that an element of a result lacks.

    Args:
        tracer: the result.
        index: the element.
        unit: the relative error that is none.
    """
    losses: list[OperationLoss] = []
    level = min(float(relative(element(tracer, index))), 1.0)
    while tracer.primitive is not None:
        if tracer.primitive.name != "convert_element_type":  # where digits may be given away
            unit = max(unit, float(dtypes.finfo(tracer.dtype).eps) / 2)
        if level <= 2 * unit:
            break
        condition, cause = _cause(tracer, index)
        error = 0.0 if cause is None else float(relative(element(*cause)))
        before = max(unit, min(error, 1.0))
        if before < level:
            losses.append(OperationLoss(tracer, index, condition, log10(level / before)))
            level = before
        if cause is None:
            break
        tracer, index = cause
    return losses


def _cause(tracer: ShadowTracer, index: Index) -> tuple[float, tuple[ShadowTracer, Index] | None]:
    """Return the condition number of an element, and the operand's element that its error is of.

    There is none where the operation itself causes most of the error. Where an operand has no
    digits, its error explains all of this one.
    """
    shadow = abs(host(tracer.parts[0])[index])
    error = min(float(errors_of(element(tracer, index))), shadow)
    best, total, scale = 0.0, 0.0, 0.0
    cause: tuple[ShadowTracer, Index] | None = None
    for x, ct, own in _cotangents(tracer, index):
        with np.errstate(all="ignore"):
            if isinstance(x, ShadowTracer):
                y = x if own is None else element(x, own)
                lost, size = errors_of(y), np.abs(host(y.parts[0]))
                part = np.where((ct == 0) | (lost == 0), 0.0, np.abs(ct) * lost)
                part = np.where(np.isnan(part), inf, part)
                total += float(part.sum())
                if part.max(initial=0.0) > best:
                    best, place = float(part.max()), np.unravel_index(part.argmax(), part.shape)
                    cause = x, tuple(map(int, place)) if own is None else own
            else:
                size = np.abs(host(x) if own is None else host(x)[own])
            scale += float(np.nansum(np.abs(ct) * size))
    if cause is not None and total < 0.1 * error and relative(element(*cause)) < 0.5:
        cause = None
    return scale / shadow if shadow else inf, cause


def _cotangents(tracer: ShadowTracer, index: Index) -> list[tuple[Array, HostArray, Index | None]]:
    """Return real operands, the derivatives of an element in them, and the index of these, if any.

    Of elementwise operations only the element itself is looked at.
    """
    primitive, operands, shape = tracer.primitive, tracer.operands, tracer.aval.shape
    assert primitive is not None, "it is kept"
    name, is_elementwise = primitive.name, prim.ELEMENTWISE in primitive.rules.extensions
    values: list[Any] = []
    for x in operands:
        y = x
        if isinstance(x, ShadowTracer):
            y = x.parts[0] if dtypes.is_inexact(x.dtype) else x.value
        values.append(host(y).astype(shadows.wide(x.dtype)))
    own = None
    if (is_elementwise or name == "select") and all(x.shape == shape for x in operands):
        own, values = index, [np.asarray(x[index]) for x in values]
    arrays = [opd.as_array(x) for x in values]
    moved = [i for i, x in enumerate(arrays) if dtypes.is_inexact(x.dtype)]

    def apply(*xs: Array) -> Array:
        merged = [xs[moved.index(i)] if i in moved else x for i, x in enumerate(arrays)]
        return tr.bind(primitive, merged, shadows.widened(tracer.params))[tracer.place]

    try:
        out, pull_back = vjp(apply, *[arrays[i] for i in moved])
        ct = np.zeros(out.shape, out.dtype)
        ct[index if own is None else ()] = 1
        cts = pull_back(opd.as_array(ct)) if moved else ()
    except errors.TinyjaxError:  # a primitive without a derivative
        return []
    return [(operands[i], host(ct), own) for i, ct in zip(moved, cts, strict=True)]
