"""The setting ``debug_nans``: transformations record lines, directions and examples.

With the setting on, ``vmap`` records the batch axes of every result (``SourceAdapter``). A
linearization records the user's lines. A transposition marks each equation that it applies as part
of a backward pass. Staged programs carry this in their equations' sources, evaluated ones in the
origins of their NaNs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import attrs
import numpy as np

from tinyjax._base.frames import Direction, ExampleAxis, Location, TracedSource, traced_source
from tinyjax._extensions.nans import origins, reports
from tinyjax._primitives.linear_maps import LinearMapParams
from tinyjax.core.tracing import (
    Primitive,
    jaxpr as jx,
    primitive as prim,
    program_rules,
    staging,
    trace as tr,
)
from tinyjax.core.tracing.primitive import Arrays, BatchAxes, BatchRule
from tinyjax.core.transforms import batching
from tinyjax.core.transforms.jvp import JVPTracer
from tinyjax.core.transforms.linearize import LinearTrace
from tinyjax.core.values import Array, ConcreteArray
from tinyjax.core.values.concrete import any_placed
from tinyjax.dtypes import HostArray, is_inexact

P = TypeVar("P")

#: Runs or evaluates a program on its arguments.
EvaluateProgram: TypeAlias = Callable[[Sequence[Array]], Sequence[Array]]


@attrs.frozen(eq=False)
class _Snapshot:
    """The state before a rule runs: the last origin, and the equations of each recorder."""

    serial: int
    recorded: dict[staging.Recorder, int]


def _now() -> _Snapshot:
    recorders = [x for x in tr.enclosing_traces() if isinstance(x, staging.Recorder)]
    return _Snapshot(origins.next_serial(), {x: len(x.eqns) for x in recorders})


def _add_examples(
    value: Array,
    examples: tuple[ExampleAxis, ...],
    below: tuple[ExampleAxis, ...],
    since: _Snapshot,
) -> None:
    """Record the batch axes of the values that a rule has computed or recorded."""
    match value:
        case batching.BatchTracer():
            trace, axis = value._trace, value.axis
            deeper = [example.shifted(axis) for example in below]
            if isinstance(trace, batching.BatchTrace):
                deeper.append(ExampleAxis(axis, trace.mapped.size, trace.mapped))
            shifted = tuple([example.shifted(axis) for example in examples])
            _add_examples(value.val, shifted, tuple(deeper), since)
        case JVPTracer():
            _add_examples(value.primal, examples, below, since)
            _add_examples(value.tangent, examples, below, since)
        case staging.StagingTracer():
            if isinstance(value._trace, staging.Recorder):
                _annotate(value._trace, value.binder, examples, since)
        case ConcreteArray():
            origins.add_examples(value, examples, below, since.serial)
        case _:
            pass


def _annotate(
    recorder: staging.Recorder, binder: jx.Var, examples: tuple[ExampleAxis, ...], since: _Snapshot
) -> None:
    eqns = recorder.eqns
    for i in range(since.recorded.get(recorder, len(eqns)), len(eqns)):
        eqn = eqns[i]
        if any(var is binder for var in eqn.out_binders):
            source = None if eqn.source is None else traced_source(eqn.source, direction_here())
            if source is not None:
                known = source.examples
                more = [x for x in examples if all(x.vmap is not y.vmap for y in known)]
                eqns[i] = attrs.evolve(eqn, source=attrs.evolve(source, examples=(*known, *more)))


def _grounds(value: Array) -> Iterator[Array]:
    """Yield the arrays, and the recorded values, that a value is made of."""
    match value:
        case batching.BatchTracer():
            yield from _grounds(value.val)
        case JVPTracer():
            yield from _grounds(value.primal)
            yield from _grounds(value.tangent)
        case _:
            yield value


def _relabel(recorder: staging.Recorder, start: int, primals: Sequence[Array]) -> None:
    """Mark the equations recorded last as serving tangents, unless they compute primals."""
    needed = {x.binder for x in primals if isinstance(x, staging.StagingTracer)}
    for i in range(len(recorder.eqns) - 1, start - 1, -1):
        eqn = recorder.eqns[i]
        if needed.intersection(eqn.out_binders):
            needed.update(x for x in eqn.inputs if isinstance(x, jx.Var))
        elif eqn.source is not None:
            recorder.eqns[i] = attrs.evolve(eqn, source=traced_source(eqn.source, "tangent"))


class SourceAdapter(tr.Adapter):
    """Records lines, directions and examples in transformations."""

    __slots__ = ()

    def source(self, recorder: tr.Trace, source: object) -> TracedSource | None:
        return traced_source(tr.evaluated_source(), "tangent", 3)

    def batch(
        self,
        rule: BatchRule[P],
        mapped: prim.MappedAxis,
        values: Arrays,
        axes: BatchAxes,
        params: P,
    ) -> prim.BatchResult:
        source = tr.evaluated_source()
        # of the axes of the operation as it was before it is batched
        old = source.examples if isinstance(source, TracedSource) else ()
        since = _now()
        if isinstance(source, TracedSource):
            tr.set_evaluated_source(attrs.evolve(source, examples=()))
        try:
            outs, out_axes = rule(mapped, values, axes, params)
        finally:
            tr.set_evaluated_source(source)
        for out, axis in zip(outs, out_axes, strict=True):
            if axis is not None:
                shifted = tuple([example.shifted(axis) for example in old])
                own = () if mapped.of_basis else (ExampleAxis(axis, mapped.size, mapped),)
                _add_examples(out, (*own, *shifted), (), since)
            elif old:
                _add_examples(out, old, (), since)
        return outs, out_axes

    def jvp(
        self,
        primitive: Primitive[P],
        rule: prim.JvpRule[P],
        primals: Arrays,
        tangents: prim.Tangents,
        params: P,
    ) -> prim.JvpResult:
        since = _now()
        primals_out, tangents_out = rule(primals, tangents, params)
        computed = [x for t in tangents_out if t is not prim.ZERO for x in _grounds(t)]
        if computed and not isinstance(tr.current_trace(), LinearTrace):
            own = [x for primal in primals_out for x in _grounds(primal)]
            origins.belong_to_tangents(own, computed, since.serial)
            for recorder, start in since.recorded.items():
                _relabel(recorder, start, own)
        return primals_out, tangents_out

    def transposing(
        self, eqns: Sequence[jx.JaxprEqn], rule: prim.ApplyTranspose
    ) -> prim.ApplyTranspose:
        """Return a function that transposes equations, as of the backward pass of their lines."""
        examples_of: dict[jx.Atom, tuple[ExampleAxis, ...]] = {}
        for eqn in eqns:
            if isinstance(eqn.source, TracedSource):
                examples_of.update((var, eqn.source.examples) for var in eqn.out_binders)

        def apply(eqn: jx.JaxprEqn, cts: prim.Tangents, operands: prim.Operands) -> prim.Cotangents:
            source = traced_source(eqn.source, "tangent") if eqn.source is not None else None
            if source is not None:
                shapes = {x.aval.shape for x in (*eqn.inputs, *eqn.out_binders) if x.aval.shape}
                tr.set_evaluated_source(
                    attrs.evolve(
                        source,
                        direction="backward",
                        transposed=not source.transposed,
                        # elsewhere they are those of other axes
                        examples=source.examples if len(shapes) <= 1 else (),
                    )
                )
            since = _now()
            with backward_pass():
                results = rule(eqn, cts, operands)
            for recorder, start in since.recorded.items():
                for i in range(start, len(recorder.eqns)):
                    entry = recorder.eqns[i]
                    if entry.source is not None and not isinstance(entry.source, TracedSource):
                        own = traced_source(entry.source, "backward")
                        recorder.eqns[i] = attrs.evolve(entry, source=own)
            for x, result in zip(eqn.inputs, results, strict=True):
                axes = examples_of.get(x)
                if axes and result is not None and result is not prim.ZERO:
                    _add_examples(result, axes, (), since)
            return results

        return apply


# Where NaNs come from: what the setting ``debug_nans`` does.
#
# A NaN is born where an operation gives one at an element that depends on no NaN among its
# operands. ``NanTrace`` evaluates as ``EvalTrace`` does and remembers, for each array with NaNs,
# their origins; NaNs that came in as data have none. A NaN that nothing depends on, such as one in
# the branch that a ``where`` does not take, is in no result and raises nothing. The error is raised
# where a NaN with an origin leaves: in the result of a transformed function, or where Python reads
# the data.
#
# A compiled program is run as always. Only if a result holds a NaN it is evaluated once more, one
# equation at a time, by the ``PROGRAM`` rules of the primitives that are programs. A program with
# effects is evaluated so from the start, since what is done must not be done twice.


R = TypeVar("R")


_iterations: ContextVar[tuple[origins.LoopIteration, ...]] = ContextVar(
    "tinyjax_iterations", default=()
)
_watching: ContextVar[bool] = ContextVar("tinyjax_watching_nans", default=False)
_backward: ContextVar[bool] = ContextVar("tinyjax_backward", default=False)
_recomputed: ContextVar[Location | None] = ContextVar("tinyjax_recomputed_loop", default=None)
_reversed: ContextVar[bool] = ContextVar("tinyjax_reversed_loop", default=False)


def direction_here() -> Direction:
    """Return the pass of the user's lines that is running."""
    return "backward" if _backward.get() else "forward"


# The trace


class NanTrace(tr.EvalTrace):
    """Evaluates, and remembers where NaNs come from.

    Attributes:
        replaying: whether programs are evaluated one equation at a time.
    """

    __slots__ = ("replaying",)

    evaluates = False

    def __init__(self, replaying: bool) -> None:
        super().__init__()
        self.keeps_lines = True
        self.adapters = (_SOURCES,)
        self.replaying: bool = replaying

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        tr.check_concrete(args)
        if any_placed(args):  # whose data is not looked at
            with tr.use_trace(tr.EVAL):
                return tr.EVAL.process(primitive, args, params)
        is_program = program_rules.PROGRAM in primitive.rules.extensions
        if is_program and self.replaying:
            return _stepwise(primitive, args, params)
        if is_program and any(jx.effects(j).any for j in jx.subjaxprs(params)):
            return _replay(partial(_stepwise, primitive), args, params)
        with tr.use_trace(tr.EVAL):
            outs = tr.EVAL.process(primitive, args, params)
        if all(origins.wanted_in(out) is None for out in outs):
            return outs
        if is_program:
            replayed = _replay(partial(_stepwise, primitive), args, params)
            _compare(primitive.name, args, outs, replayed)
        else:
            _track(primitive, args, params, outs)
        return outs


def _stepwise(primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
    """Run the programs that a primitive holds one equation at a time."""
    if program_rules.ITERATIONS not in primitive.rules.extensions:
        return program_rules.evaluate_stepwise(primitive, args, params)
    if isinstance(params, LinearMapParams):
        # the tangent of a loop, which is none itself; its transpose is a loop that goes back
        source = tr.evaluated_source()
        backward = isinstance(source, TracedSource) and source.transposed
        with tr.assigned(_reversed, backward):
            return program_rules.evaluate_stepwise(primitive, args, params)
    with _iterate(primitive.name, primitive.rule(program_rules.ITERATIONS)(params)) as run:
        return program_rules.evaluate_stepwise(primitive, args, params, run)


@contextmanager
def _iterate(name: str, length: int | None) -> Iterator[program_rules.ProgramEvaluator]:
    """Evaluate a loop by a context's functions, and count the iterations.

    Args:
        name: what the loop is called.
        length: the number of iterations, where it is known before they are made.
    """
    source = traced_source(tr.evaluated_source())
    location = None if source is None else source.location
    backward = source is not None and source.transposed
    if length is None:
        backward = _reversed.get()
    outer = _iterations.get()
    iterations: list[origins.LoopIteration] = []
    # A backward pass runs iterations again, from kept states. The iterations of its own loops are
    # not the user's.
    recomputed = _recomputed.get()
    hidden = location is not None and location == recomputed
    if hidden and outer and outer[-1].location == location:
        outer = outer[:-1]
    if backward and length is None:
        recomputed = location
    tokens = _iterations.set(outer), _reversed.set(False), _recomputed.set(recomputed)
    first: list[jx.Jaxpr] = []

    def run(jaxpr: jx.Jaxpr, args: Sequence[Any], times: int = 1) -> list[Any]:
        first[:] = first or [jaxpr]
        if jaxpr is first[0] and not hidden:  # an iteration begins
            iterations.append(origins.LoopIteration(name, location, len(iterations)))
            _iterations.set((*outer, iterations[-1]))
        return program_rules.by_equation(jaxpr, args)

    try:
        yield run
    finally:
        if backward:  # it goes through the iterations of the forward loop, the last one first
            # where the length is not known, the condition has been evaluated once more
            total = len(iterations) - 1 if length is None else length
            for one in iterations:
                one.index = total - 1 - one.index
        _iterations.reset(tokens[0])
        _reversed.reset(tokens[1])
        _recomputed.reset(tokens[2])


_SOURCES: Final = SourceAdapter()
NANS: Final = NanTrace(False)
_REPLAY: Final = NanTrace(True)


def watch(
    call: Callable[..., R],
    named: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> R:
    """Call a transformed function, and check its results.

    Args:
        call: the transformed function.
        named: the function that messages name.
        args: the arguments.
        kwargs: the keyword arguments.
    """
    if _watching.get() or not isinstance(tr.current_trace(), tr.EvalTrace):
        return call(*args, **kwargs)
    with tr.assigned(_watching, True), tr.use_trace(NANS):
        result = call(*args, **kwargs)
    reports.check_result(result, named, *args)
    return result


def run_program(
    run: EvaluateProgram, evaluate: EvaluateProgram, args: Sequence[Array]
) -> Sequence[Array]:
    """Run a compiled program without effects; with NaNs in a result, evaluate it once more.

    Args:
        run: runs it.
        evaluate: evaluates the same program one equation at a time.
        args: the arguments.
    """
    outs = run(args)
    if any(origins.wanted_in(out) is not None for out in outs):
        replayed = _replay(lambda args, _: evaluate(args), args, None)
        _compare("a compiled program", args, outs, replayed)
    return outs


def _replay(
    stepwise: Callable[[Sequence[Array], Any], Sequence[Array]],
    args: Sequence[Array],
    params: object,
) -> Sequence[Array]:
    start = origins.next_serial()
    source = tr.evaluated_source()
    backward = isinstance(source, TracedSource) and source.direction == "backward"
    with tr.use_trace(_REPLAY), backward_pass() if backward else nullcontext():
        outs = stepwise(args, params)
    for out in outs:
        for cause in origins.causes_in(out):
            # The program knows of every vmap around it.
            cause.closed = cause.closed or cause.serial > start
    return outs


def _compare(
    name: str,
    args: Sequence[Array],
    outs: Sequence[Array],
    replayed: Sequence[Array],
) -> None:
    """Give a compiled program's results the origins that a replay of it found."""
    dirty = any(origins.wanted_in(x) is not None for x in args)
    for out, again in zip(outs, replayed, strict=True):
        mask = origins.wanted_in(out)
        if mask is None or out is again or not isinstance(out, ConcreteArray):
            continue
        marks, known = origins.marks_of(again), origins.wanted_in(again)
        causes = [] if marks is None else list(marks.causes)
        where = np.zeros(mask.shape, np.int64) if marks is None else np.where(mask, marks.where, 0)
        if not dirty:
            only = mask if known is None else mask & ~known
            if only.any():
                # compiled and evaluated numbers may differ in their last bits, and overflow apart
                causes.append(_cause(name))
                causes[-1].values = "evaluated operation by operation, it gives none"
                where[only] = len(causes)
        origins.mark(out, where, causes)


def _track(
    primitive: Primitive[P], args: Sequence[Array], params: P, outs: Sequence[Array]
) -> None:
    """Remember the origins of the NaNs in an operation's results."""
    masks = [origins.wanted_in(x) for x in args]
    known = [
        None if mask is None else origins.marks_of(x) for x, mask in zip(args, masks, strict=True)
    ]
    causes = list(dict.fromkeys(b for marks in known if marks for b in marks.causes))
    dirty = any(mask is not None for mask in masks)
    alone = len(causes) == 1 and not any(map(_has_data, masks, known))
    # numbers made of none, or of integers' bits, are data
    computes = primitive.rules.evaluate is not None or any(is_inexact(x.dtype) for x in args)
    for i, out in enumerate(outs):
        mask = origins.wanted_in(out)
        if mask is None or not isinstance(out, ConcreteArray) or any(out is x for x in args):
            continue
        dependent = np.zeros(mask.shape, bool)
        if dirty:
            dependent = _depends(primitive, args, masks, params, i, mask.shape)
        where = np.zeros(mask.shape, np.int64)
        inherited = mask & dependent
        for k, cause in enumerate(causes, start=1):
            if alone:
                where[inherited] = k
                break
            own = [_of_cause(marks, cause) for marks in known]
            reached = _depends(primitive, args, own, params, i, mask.shape)
            where[inherited & reached & (where == 0)] = k
        all_causes = list(causes)
        born = mask & ~dependent
        if computes and born.any():
            place = tuple(int(n) for n in np.argwhere(born)[0])
            all_causes.append(_cause(primitive.name, args, out, place))
            where[born] = len(all_causes)
        origins.mark(out, where, all_causes)
        if primitive.selects:
            for k, cause in enumerate(causes, start=1):
                before = [_of_cause(marks, cause) for marks in known]
                origins.choose_examples(cause, before, np.asarray(where == k))


def _has_data(mask: HostArray | None, marks: origins.NanMarks | None) -> bool:
    """Return whether some of an operand's NaNs have no origin."""
    return mask is not None and (marks is None or bool((mask & (marks.where == 0)).any()))


def _of_cause(marks: origins.NanMarks | None, cause: origins.NanOrigin) -> HostArray | None:
    """Return the mask of an operand's NaNs that come from one origin."""
    if marks is None or cause not in marks.causes:
        return None
    return np.asarray(marks.where == marks.causes.index(cause) + 1)


def _depends(
    primitive: Primitive[P],
    args: Sequence[Array],
    masks: Sequence[HostArray | None],
    params: P,
    position: int,
    shape: tuple[int, ...],
) -> HostArray:
    """Return the mask of a result's elements that depend on the marked elements of the operands.

    The operation itself determines it: it is applied to NaNs at the marked elements, and to
    harmless numbers elsewhere. This is done with two such numbers. If both give a NaN, the element
    depends on a marked one.
    """
    everything = np.ones(shape, bool)
    if primitive.rules.evaluate is not None or primitive.orders:
        return everything
    for harmless in (1.0, 0.5):
        probes = [
            x if not is_inexact(x.dtype) else _probe(x, mask, harmless)
            for x, mask in zip(args, masks, strict=True)
        ]
        try:
            out = tr.EVAL.process(primitive, probes, params)[position]
        except Exception:  # who checks values may not like these
            return everything
        reached = origins.nans_in(out)
        everything &= np.zeros(shape, bool) if reached is None else reached
    return everything


def _probe(x: Array, mask: HostArray | None, harmless: float) -> ConcreteArray:
    host = np.full(x.shape, harmless, x.dtype)
    if mask is not None:
        host[mask] = np.nan
    return ConcreteArray(host, x.aval)


def _cause(
    name: str,
    args: Sequence[Array] = (),
    out: Array | None = None,
    place: tuple[int, ...] = (),
) -> origins.NanOrigin:
    source = traced_source(tr.evaluated_source(), direction_here())
    cause = origins.NanOrigin(
        name,
        None if source is None else source.location,
        direction_here() if source is None else source.direction,
        _iterations.get(),
    )
    if out is not None:
        _describe_operands(cause, args, out.shape, place)
        if isinstance(out, ConcreteArray) and not np.isnan(out.host[place]):
            cause.what = "an infinity"
        if source is not None:
            cause.examples = [
                origins.Example(
                    place[example.axis], example.size, example.vmap, example.axis, out.shape
                )
                for example in source.examples
                if origins.fits(example, out.shape)
            ]
    return cause


def _describe_operands(
    cause: origins.NanOrigin, args: Sequence[Array], shape: tuple[int, ...], place: tuple[int, ...]
) -> None:
    """Describe the operands of an operation where its first NaN is."""
    texts: list[str] = []
    zero = False
    for x in args:
        assert isinstance(x, ConcreteArray), "evaluation takes arrays with data"
        if x.shape == shape or not x.shape:
            value = x.host[place] if x.shape else x.host[()]
            texts.append(str(value))
            zero = zero or not value
        else:
            holds = is_inexact(x.dtype) and bool(np.isinf(x.host).any())
            texts.append(f"{x.aval} with infinities" if holds else str(x.aval))
    cause.values = f"{cause.primitive}({', '.join(texts)})"
    cause.zero = zero


# Directions


def backward_pass() -> AbstractContextManager[None]:
    """Mark the operations of a block as a backward pass."""
    return tr.assigned(_backward, True)
