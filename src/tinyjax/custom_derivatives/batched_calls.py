"""Calls with rules under ``vmap``: a rule for batches is applied, or function and rule batched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Final, TypeAlias

import attrs

from tinyjax.core.primitives.identities import optimization_barrier
from tinyjax.core.primitives.shape import move_batch_axis, squeeze
from tinyjax.core.primitives.slicing import slice_in_dim
from tinyjax.core.tracing.primitive import ZERO, MappedAxis, Tangent, fill_list, marked, with_zeros
from tinyjax.core.tracing.staging import stage
from tinyjax.core.tracing.trace import (
    BatchingRule,
    CustomCall,
    Trace,
    Tracer,
    enclosing_traces,
    on_top,
    use_trace,
)
from tinyjax.core.transforms import batching as bt
from tinyjax.core.values.array import Array
from tinyjax.custom_derivatives.closures import holds_tracer, tracers_in
from tinyjax.dtypes import is_inexact
from tinyjax.errors import ArgumentError, TinyjaxError


def batched(trace: bt.BatchTrace, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
    """Apply the batching rule of a call, or pass it on with its callables batched."""
    pairs = [trace.split(x) for x in args]
    values, axes = [value for value, _ in pairs], [axis for _, axis in pairs]
    if call.batch is not None:
        if any(axis is not None for axis in axes):
            return _apply_rule(trace, call, call.batch, pairs)
        if not (call.closes_over_tracer or holds_tracer(tuple(call.consts))):
            return trace.parent.process_custom_call(call, args)
    placed = _PlacedResults(trace)
    below = _batched_call(trace, call, axes, placed)
    outs = trace.parent.process_custom_call(below, values)
    with use_trace(trace.parent):
        recorded = any(t.recording for t in enclosing_traces())
        if below.jvp is not None and not placed.all_vary and recorded:
            # The rule comes later, and its tangent may vary where the result does not.
            pattern = call.key, tuple([axis is not None for axis in axes])
            if not _probe(below, values, pattern):
                placed.let_all_vary()
        return placed.results(outs)


def _apply_rule(
    trace: bt.BatchTrace,
    call: CustomCall,
    rule: BatchingRule,
    pairs: Sequence[tuple[Array, bt.BatchAxis]],
) -> Sequence[Array]:
    for tracer in tracers_in(call.batch_rule):
        live = tracer._trace.live
        if not live or _is_part_of(trace, tracer):
            what = (
                "that the same vmap maps"
                if live
                else "that was traced when it was staged (by jit or a loop)"
            )
            raise ArgumentError(
                f"the vmap rule of {call.name} closes over a value {what}, or is given a "
                "reference to it, and is applied to all examples at once. Make the value "
                f"itself an argument of {call.name}."
            )
    size = trace.mapped.size
    with use_trace(trace.parent):
        moved = [x if a is None else move_batch_axis(x, a, 0, size) for x, a in pairs]
        outs, batched = rule(trace.mapped, moved, [a is not None for _, a in pairs])
    return [
        bt.BatchTracer(trace, out, 0) if has else out
        for out, has in zip(outs, batched, strict=True)
    ]


def _is_part_of(trace: Trace, value: Array) -> bool:
    """Say whether a value is a tracer of a trace, which others may have wrapped."""
    return trace.owns(value) or (
        isinstance(value, Tracer) and any(_is_part_of(trace, x) for x in value.components())
    )


#: So many elements are kept, where they might be computed again for each use.
_FEW: Final = 4096


class _PlacedResults:
    """The batch axes of a call's results.

    Function and rule, of which the traces below run either or both, now or later, may batch
    different results. So all of them are given a batch axis, unless nothing is below; those that
    turn out to be the same for all examples lose it again.
    """

    def __init__(self, trace: bt.BatchTrace) -> None:
        self.trace = trace
        self.everything = not trace.parent.evaluates
        #: Which results have differed from example to example; None before the first run.
        self.varying: list[bool] | None = None
        self.axes: list[bt.BatchAxis] = []
        #: Which results are the same for all examples, though they are said to differ.
        self.alike: list[bool] = []

    def place(self, outs: Sequence[Array], counts: bool = True) -> list[Array]:
        """Move the batch axes of results, or of their tangents, to where they are wanted.

        Args:
            outs: the results.
            counts: whether one that is batched may differ from example to example.
        """
        pairs = [self.trace.split(out) for out in outs]
        varying = [axis is not None for _, axis in pairs]
        if self.varying is None:
            self.varying = varying
            self.axes = [0 if self.everything else axis for _, axis in pairs]
        elif counts:
            self.count(varying)
        return [
            value if axis == to or to is None else move_batch_axis(value, axis, to, self.size)
            for (value, axis), to in zip(pairs, self.axes, strict=True)
        ]

    def results(self, outs: Sequence[Array]) -> list[Array]:
        """The results of the call below, as this trace's."""
        assert self.varying is not None, "the function or its rule has run"
        results: list[Array] = []
        alike = self.alike or [False] * len(outs)
        for out, axis, varies, same in zip(outs, self.axes, self.varying, alike, strict=True):
            if axis is None:
                results.append(out)
            elif same and out.size <= _FEW:
                # XLA would move the copies, as of times, behind what is computed with them, by one
                # operation in each run of its simplifier, and after 50 say that it is stuck.
                (kept,) = optimization_barrier([out])
                results.append(bt.BatchTracer(self.trace, kept, axis))
            elif varies or not self.size:
                results.append(bt.BatchTracer(self.trace, out, axis))
            else:
                results.append(squeeze(slice_in_dim(out, 0, 1), (0,)))
        return results

    def count(self, varying: Sequence[bool]) -> None:
        """Take some results for ones that may differ from example to example."""
        assert self.varying is not None, "the function or its rule has run"
        self.varying = [a or b for a, b in zip(self.varying, varying, strict=True)]

    @property
    def all_vary(self) -> bool:
        assert self.varying is not None, "the function or its rule has run"
        return all(self.varying)

    def let_all_vary(self) -> None:
        """Take every result for one that may differ from example to example."""
        assert self.varying is not None, "the function or its rule has run"
        self.alike = [not varies for varies in self.varying]
        self.varying = [True] * len(self.axes)

    @property
    def size(self) -> int:
        return self.trace.mapped.size


def _batched_call(
    trace: bt.BatchTrace, call: CustomCall, axes: Sequence[bt.BatchAxis], placed: _PlacedResults
) -> CustomCall:
    """Return a call whose callables take batches, for the traces below."""

    def wrap(values: Sequence[Array]) -> list[Array]:
        return [
            x if axis is None else bt.BatchTracer(trace, x, axis)
            for x, axis in zip(values, axes, strict=True)
        ]

    def fun(*values: Array) -> Sequence[Array]:
        with on_top(trace):
            outs = call.fun(*wrap(values))
        return placed.place(outs)

    def jvp(
        primals: Sequence[Array], tangents: Sequence[Tangent]
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        assert call.jvp is not None, "asked only where there is a rule"
        asking: AbstractContextManager[Sequence[_Varying]] = (
            _asking(trace.mapped) if call.reverse else nullcontext(())
        )
        with on_top(trace), asking as told:
            wrapped = [
                t if t is ZERO or axis is None else bt.BatchTracer(trace, t, axis)
                for t, axis in zip(tangents, axes, strict=True)
            ]
            outs, out_tangents = call.jvp(wrap(primals), wrapped)
        primals_out = placed.place(outs)
        filled = [out if t is ZERO else t for out, t in zip(outs, out_tangents, strict=True)]
        moved = placed.place(filled, counts=not call.reverse)
        if told and not placed.all_vary:
            inexact = [is_inexact(out.dtype) for out in outs]
            placed.count(fill_list(inexact, told[0](), False))
        return primals_out, [
            ZERO if t is ZERO else x for t, x in zip(out_tangents, moved, strict=True)
        ]

    return attrs.evolve(
        call, fun=fun, jvp=None if call.jvp is None else jvp, batch=None, batch_rule=None, consts=()
    )


#: What finds out of which results the derivatives differ from example to example.
_Varying: TypeAlias = Callable[[], Sequence[bool]]
# The axes for which that is asked, the innermost last.
_asked: ContextVar[tuple[tuple[MappedAxis, list[_Varying]], ...]] = ContextVar(
    "tinyjax_axes_asked_for", default=()
)


@contextmanager
def _asking(mapped: MappedAxis) -> Iterator[Sequence[_Varying]]:
    told: list[_Varying] = []
    token = _asked.set((*_asked.get(), (mapped, told)))
    try:
        yield told
    finally:
        _asked.reset(token)


def tell(mapped: MappedAxis, varying: _Varying) -> None:
    """Say how to find out of which results of a linear map its transpose differs between examples.

    Of a map that is given by its transpose no tangent tells: a result that is the same for all
    examples may have a rule that multiplies its cotangent by each example's own number.
    """
    for asked, told in _asked.get():
        if asked is mapped:
            told.append(varying)


#: A call by its key, and which of its arguments are batched.
_Pattern = tuple[int | None, tuple[bool, ...]]
# The calls whose rules are being run to see what they batch.
_probed: ContextVar[tuple[_Pattern, ...]] = ContextVar("tinyjax_rules_being_probed", default=())


def _probe(call: CustomCall, args: Sequence[Array], pattern: _Pattern) -> bool:
    """Run the rule of a batched call for types alone, so that what it batches is known.

    Returns:
        Whether that is known, as it is where the rule refuses by a ``RuntimeError``: not where it
        cannot be staged, nor inside the rule of another function, which would make the work grow
        faster than the program.
    """
    jvp, under_way = call.jvp, _probed.get()
    if pattern in under_way:  # what a rule calls its own function for is what is being found out
        return True
    if any(key != call.key for key, _ in under_way):
        return False
    token = _probed.set((*under_way, pattern))
    try:
        avals = [x.aval for x in args]
        nonzero = [is_inexact(a.dtype) for a in avals]

        def run(*values: Array) -> Sequence[Array]:
            n = len(avals)
            assert jvp is not None, "asked only where there is a rule"
            return jvp(values[:n], with_zeros(nonzero, values[n:]))[0]

        stage(run, [*avals, *marked(avals, nonzero)])
    except Exception as error:  # it is told when a derivative is wanted
        # A rule that refuses has no tangents; what fails otherwise may be due to being staged.
        return isinstance(error, RuntimeError) and not isinstance(error, TinyjaxError)
    finally:
        _probed.reset(token)
    return True
