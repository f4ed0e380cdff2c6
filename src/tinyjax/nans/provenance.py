"""What the transformations note for the setting ``debug_nans``: lines, directions and examples.

With the setting on, ``vmap`` runs a ``LaneTrace`` and says of every result which of its axes is
the batch; a linearization records the user's lines; and a transposition says of each equation it
applies that it belongs to a backward pass. What is staged carries this in its equations' sources,
what is evaluated in the births of its NaNs (``tinyjax.nans.trace``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import attrs

from tinyjax.core.tracing import jaxpr as jx, staging as stg, trace as tr
from tinyjax.core.tracing.primitive import ZERO, Cotangents, Operands, Primitive, Tangent, Tangents
from tinyjax.core.transforms import batching as bt, jvp as jv, linearize as lz, transpose as tp
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.frames import ExampleAxis, TracedSource, traced_source
from tinyjax.nans.origins import add_examples, belong_to_tangents, next_serial
from tinyjax.nans.trace import backward_pass, direction_here

P = TypeVar("P")


@attrs.frozen(eq=False)
class _Moment:
    """What there was before a rule ran: births, and the equations of each recorder."""

    serial: int
    recorded: dict[stg.Recorder, int]


def _now(trace: tr.Trace) -> _Moment:
    recorded: dict[stg.Recorder, int] = {}
    while True:
        if isinstance(trace, stg.Recorder):
            recorded[trace] = len(trace.eqns)
        if trace.parent is trace:
            return _Moment(next_serial(), recorded)
        trace = trace.parent


def _add_examples(
    value: Array, examples: tuple[ExampleAxis, ...], below: tuple[ExampleAxis, ...], since: _Moment
) -> None:
    """Note on what a rule has computed or recorded along which axes its examples lie."""
    match value:
        case bt.BatchTracer():
            trace, axis = value._trace, value.axis
            deeper = [example.shifted(axis) for example in below]
            if isinstance(trace, LaneTrace):
                deeper.append(ExampleAxis(axis, trace.mapped.size, trace.mapped))
            shifted = tuple([example.shifted(axis) for example in examples])
            _add_examples(value.value, shifted, tuple(deeper), since)
        case jv.JVPTracer():
            _add_examples(value.primal, examples, below, since)
            _add_examples(value.tangent, examples, below, since)
        case stg.StagingTracer():
            if isinstance(value._trace, stg.Recorder):
                _annotate(value._trace, value.binder, examples, since)
        case ConcreteArray():
            add_examples(value, examples, below, since.serial)
        case _:
            pass


def _annotate(
    recorder: stg.Recorder, binder: jx.Var, examples: tuple[ExampleAxis, ...], since: _Moment
) -> None:
    eqns = recorder.eqns
    for i in range(since.recorded.get(recorder, len(eqns)), len(eqns)):
        eqn = eqns[i]
        if any(var is binder for var in eqn.out_binders):
            source = None if eqn.source is None else traced_source(eqn.source, direction_here())
            if source is not None:
                known = source.examples
                more = [x for x in examples if all(x.of is not y.of for y in known)]
                eqns[i] = attrs.evolve(eqn, source=attrs.evolve(source, examples=(*known, *more)))


class LaneTrace(bt.BatchTrace):
    """A ``BatchTrace`` that says where its examples are."""

    __slots__ = ()

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        source = tr.evaluated_source()
        # of the axes of the operation as it was before it is batched
        old = source.examples if isinstance(source, TracedSource) else ()
        since = _now(self)
        if isinstance(source, TracedSource):
            tr.set_evaluated_source(attrs.evolve(source, examples=()))
        try:
            outs = super().process(primitive, args, params)
        finally:
            tr.set_evaluated_source(source)
        for out in outs:
            if type(out) is bt.BatchTracer and out._trace is self:
                own = ExampleAxis(out.axis, self.mapped.size, self.mapped)
                shifted = [example.shifted(out.axis) for example in old]
                examples = tuple(shifted) if self.mapped.of_basis else (own, *shifted)
                _add_examples(out.value, examples, (), since)
            elif old:
                _add_examples(out, old, (), since)
        return outs


class SourcedLinearTrace(lz.LinearTrace):
    """A ``LinearTrace`` that records the user's lines."""

    __slots__ = ()

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        for arg in args:
            if type(arg) is stg.StagingTracer and arg._trace is self:
                source = traced_source(tr.evaluated_source(), "tangent", 3)
                return self.record(primitive, args, params, source)
        return self.parent.process(primitive, args, params)


class SourcedJVPTrace(jv.JVPTrace):
    """A ``JVPTrace`` that says what belongs to tangents."""

    __slots__ = ()

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        since = _now(self)
        outs = super().process(primitive, args, params)
        primals_out, tangents_out = self.split(outs)
        tangents = [x for t in tangents_out if t is not ZERO for x in _grounds(t)]
        if tangents:
            primals = [x for primal in primals_out for x in _grounds(primal)]
            belong_to_tangents(primals, tangents, since.serial)
            for recorder, start in since.recorded.items():
                _relabel(recorder, start, primals)
        return outs


def _grounds(value: Array) -> Iterator[Array]:
    """The arrays, and the recorded values, that a value is made of."""
    match value:
        case bt.BatchTracer():
            yield from _grounds(value.value)
        case jv.JVPTracer():
            yield from _grounds(value.primal)
            yield from _grounds(value.tangent)
        case _:
            yield value


def _relabel(recorder: stg.Recorder, start: int, primals: Sequence[Array]) -> None:
    """Say of the equations recorded last that they serve tangents, but for what gives primals."""
    needed = {x.binder for x in primals if isinstance(x, stg.StagingTracer)}
    for i in range(len(recorder.eqns) - 1, start - 1, -1):
        eqn = recorder.eqns[i]
        if needed.intersection(eqn.out_binders):
            needed.update(x for x in eqn.inputs if isinstance(x, jx.Var))
        elif eqn.source is not None:
            recorder.eqns[i] = attrs.evolve(eqn, source=traced_source(eqn.source, "tangent"))


class SourcedTransposer(tp.Transposer):
    """Transposes equations, each as belonging to the backward pass of its line."""

    follows = True

    def pull_back(self, cotangents: Sequence[Tangent]) -> list[Tangent]:
        self._examples_of: dict[jx.Var, tuple[ExampleAxis, ...]] = {}
        for eqn in self.eqns:
            if isinstance(eqn.source, TracedSource):
                self._examples_of.update((var, eqn.source.examples) for var in eqn.out_binders)
        return super().pull_back(cotangents)

    def apply(self, eqn: jx.JaxprEqn, cotangents: Tangents, operands: Operands) -> Cotangents:
        source = traced_source(eqn.source, "tangent") if eqn.source is not None else None
        examples = () if source is None else source.examples
        if source is not None:
            shapes = {x.aval.shape for x in (*eqn.inputs, *eqn.out_binders) if x.aval.shape}
            tr.set_evaluated_source(
                attrs.evolve(
                    source,
                    direction="backward",
                    transposed=not source.transposed,
                    # elsewhere they are those of other axes
                    examples=examples if len(shapes) <= 1 else (),
                )
            )
        since = _now(tr.current_trace())
        with backward_pass():
            results = super().apply(eqn, cotangents, operands)
        for recorder, start in since.recorded.items():
            for i in range(start, len(recorder.eqns)):
                entry = recorder.eqns[i]
                if entry.source is not None and not isinstance(entry.source, TracedSource):
                    own = traced_source(entry.source, "backward")
                    recorder.eqns[i] = attrs.evolve(entry, source=own)
        for x, result in zip(eqn.inputs, results, strict=True):
            if isinstance(x, jx.Var) and result is not None and result is not ZERO:
                axes = self._examples_of.get(x, ())
                if axes:
                    _add_examples(result, axes, (), since)
        return results
