"""Calls with rules of their own, through every transformation.

A call is bound with callables, so Python control flow in them works as long as data is there. It
goes down the chain of traces, and each trace makes of it a call for the next: ``vmap`` batches the
function and its rule, a derivative applies the rule or, where the call has no tangent, passes it
on. What user code closes over may belong to any trace of the chain, so it always runs under the
trace that it was written under, put on top of the one it is called from. A recorder stages the
function and writes ``custom_call``, whose rules make a call with callables again.

The derivative with respect to what the function closes over is that of its own operations; the
rule speaks for the arguments.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import attrs

from tinyjax.core.array import Array, splat
from tinyjax.core.avals import ShapedArray
from tinyjax.core.closures import each_searched_once, holds_tracer, tracers_in
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, Var, eval_jaxpr
from tinyjax.core.primitive import STEPWISE, ZERO, MappedAxis, Primitive, Tangent
from tinyjax.core.stablehlo import Lowering
from tinyjax.core.staging import Recorder, stage
from tinyjax.core.trace import EVAL, EvalTrace, Running, Trace, Tracer, current_trace, use_trace
from tinyjax.core.unnest import INLINED
from tinyjax.dtypes import is_inexact
from tinyjax.errors import ArgumentError, DifferentiationError
from tinyjax.primitives.families import add_arrays
from tinyjax.primitives.shape import instantiate, move_batch_axis, slice_in_dim, squeeze
from tinyjax.transforms.batching import BatchAxis, BatchTrace, BatchTracer, batch_flat
from tinyjax.transforms.dependence import prune
from tinyjax.transforms.jvp import JVPTrace, JVPTracer, jvp_flat
from tinyjax.transforms.linearize import LinearizeTrace, LinearTrace, linear_trace
from tinyjax.transforms.transpose import transpose_jaxpr

P = TypeVar("P")

Flat = Callable[..., Sequence[Array]]
#: Primals and tangents to results and theirs, all flat; either may be ``ZERO``.
FlatJvp = Callable[[Sequence[Array], Sequence[Tangent]], tuple[Sequence[Array], Sequence[Tangent]]]
#: Arguments, batched at the front or not, and which are, to results and which are.
FlatBatch = Callable[
    [MappedAxis, Sequence[Array], Sequence[bool]], tuple[Sequence[Array], Sequence[bool]]
]


@attrs.frozen(eq=False)
class Call:
    """A function of arrays with its own rule for derivatives, or for batching.

    Each is called with the trace that its arguments belong to as the current one.

    Attributes:
        fun: the function.
        name: what messages and StableHLO call it.
        jvp: its derivative, if that is its own.
        batch: its batched form, if that is its own.
        key: the identity of what the user wrote, by which a recursion is known; None for a call
            that was recorded before, and so has an end.
        holds: what the user wrote, to be searched for tracers.
        batch_rule: what of it says how to batch.
        reverse: whether the derivative is known by its transpose, which says of no tangent what it
            depends on.
        consts: what a function that was recorded before closes over.
    """

    fun: Flat
    name: str
    jvp: FlatJvp | None = None
    batch: FlatBatch | None = None
    key: int | None = None
    holds: Sequence[object] = ()
    batch_rule: object = None
    reverse: bool = False
    consts: Sequence[Array] = ()

    @property
    def closes_over_tracer(self) -> bool:
        return holds_tracer(tuple(self.holds))


def apply(trace: Trace, call: Call, args: Sequence[Array]) -> Sequence[Array]:
    """Apply a call under a trace."""
    if isinstance(trace, EvalTrace):
        with use_trace(trace):
            return call.fun(*args)
    if isinstance(trace, JVPTrace):
        return _differentiate(trace, call, args)
    if isinstance(trace, BatchTrace):
        return _batch(trace, call, args)
    if isinstance(trace, _PrimalTrace):
        return apply(trace.parent, trace.strip(call), [trace.primal(x) for x in args])
    if isinstance(trace, LinearTrace) and not any(_belongs(x, trace) for x in args):
        return apply(trace.parent, call, args)
    return _record(trace, call, args)


def _belongs(value: Array, trace: Trace) -> bool:
    return isinstance(value, Tracer) and value._trace is trace


# Derivatives


class _PrimalTrace(Trace):
    """Takes the tangents of one trace off the values that user code closes over."""

    __slots__ = ("of", "touched")

    transformation = "jvp"

    def __init__(self, parent: Trace, of: JVPTrace, touched: list[bool]) -> None:
        super().__init__(parent, of.fun)
        self.of = of
        self.touched = touched

    def primal(self, value: Array) -> Array:
        if type(value) is JVPTracer and value._trace is self.of:
            self.touched[0] = True
            return value.primal
        return value

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        return self.parent.process(primitive, [self.primal(x) for x in args], params)

    def strip(self, call: Call) -> Call:
        """The call without the tangents; what it closes over is constant."""
        of, touched = self.of, self.touched

        def fun(*args: Array) -> Sequence[Array]:
            trace = _PrimalTrace(current_trace(), of, touched)
            with use_trace(trace):
                return [trace.primal(out) for out in call.fun(*args)]

        def jvp(
            primals: Sequence[Array], tangents: Sequence[Tangent]
        ) -> tuple[Sequence[Array], Sequence[Tangent]]:
            assert call.jvp is not None, "asked only where there is a rule"
            trace = _PrimalTrace(current_trace(), of, touched)
            with use_trace(trace):
                outs, out_tangents = call.jvp(primals, tangents)
                return (
                    [trace.primal(out) for out in outs],
                    [t if t is ZERO else trace.primal(t) for t in out_tangents],
                )

        def batch(
            mapped: MappedAxis, args: Sequence[Array], batched: Sequence[bool]
        ) -> tuple[Sequence[Array], Sequence[bool]]:
            assert call.batch is not None, "asked only where there is a rule"
            trace = _PrimalTrace(current_trace(), of, touched)
            with use_trace(trace):
                outs, out_batched = call.batch(mapped, args, batched)
                return [trace.primal(out) for out in outs], out_batched

        return attrs.evolve(
            call,
            fun=fun,
            jvp=None if call.jvp is None else jvp,
            batch=None if call.batch is None else batch,
        )


def _differentiate(trace: JVPTrace, call: Call, args: Sequence[Array]) -> Sequence[Array]:
    pairs = [trace.split(x) for x in args]
    primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
    active = any(t is not ZERO for t in tangents)
    touched = [False]
    stripped = _PrimalTrace(trace.parent, trace, touched).strip(call)
    out_tangents: Sequence[Tangent]
    below = trace.parent
    with use_trace(below):
        if active and stripped.jvp is not None:
            start = len(below.eqns) if isinstance(below, LinearTrace) else 0
            outs, out_tangents = stripped.jvp(primals, tangents)
            if isinstance(below, LinearTrace):
                outs = _untangle(below, start, outs)
        else:
            outs = apply(trace.parent, stripped, primals)
            out_tangents = [ZERO] * len(outs)
    if touched[0] or (active and call.jvp is None):
        # the function's own operations tell the derivative that no rule speaks for
        with use_trace(trace):
            plain = call.fun(*(primals if call.jvp is not None else args))
        with use_trace(trace.parent):
            own = [trace.split(out)[1] for out in plain]
            out_tangents = [_add(a, b) for a, b in zip(out_tangents, own, strict=True)]
    if isinstance(below, LinearTrace):
        # What a linear map gives without regard to its argument is zero.
        out_tangents = [t if t is not ZERO and _belongs(t, below) else ZERO for t in out_tangents]
    return [
        out if tangent is ZERO else JVPTracer(trace, out, tangent)
        for out, tangent in zip(outs, out_tangents, strict=True)
    ]


def _untangle(linear: LinearTrace, start: int, outs: Sequence[Array]) -> Sequence[Array]:
    """Take results out of the recording of tangents that the rule's equations were put in.

    It happens where the rule computes results and tangents with one program (``jit`` of both), of
    which a linearization records the whole. Of that program the part that gives the results is
    applied, once more, to what was there. Where it cannot be parted (``while_loop``), the
    tangents in it are zeros, on which results do not depend.

    Args:
        linear: the recorder.
        start: how many equations it had before the rule was applied.
        outs: the results, of which some may be its tracers.
    """
    tangled = [out for out in outs if _belongs(out, linear)]
    if not tangled:
        return outs
    results = tuple([linear.atom(out) for out in tangled])
    # in the order of their first use: variables have no order of their own
    free: dict[Var, None] = dict.fromkeys(x for x in results if isinstance(x, Var))
    eqns: list[JaxprEqn] = []
    for eqn in reversed(linear.eqns[start:]):
        if any(var in free for var in eqn.out_binders):
            eqns.append(eqn)
            free.update(dict.fromkeys(x for x in eqn.inputs if isinstance(x, Var)))
            for var in eqn.out_binders:
                free.pop(var, None)
    program = prune(Jaxpr(tuple(free), tuple(reversed(eqns)), results))
    values = dict(linear.consts.values())
    with use_trace(linear.parent):
        given = [values[v] if v in values else splat(0, v.aval) for v in free]
        found = iter(eval_jaxpr(program, given))
    return [next(found) if _belongs(out, linear) else out for out in outs]


def _add(a: Tangent, b: Tangent) -> Tangent:
    if a is ZERO or b is ZERO:
        return b if a is ZERO else a
    return add_arrays(a, b)


# Batching


@contextmanager
def _on_top(trace: Trace) -> Iterator[None]:
    """Run under a trace, put on top of the current one; it may be one that has ended."""
    parent, live = trace.parent, trace.live
    trace.parent, trace.live = current_trace(), True
    try:
        with use_trace(trace):
            yield
    finally:
        trace.parent, trace.live = parent, live


class _Placed:
    """The batch axes of a call's results.

    Function and rule, of which the traces below run either or both, now or later, may batch
    different results. So all of them are given a batch axis, unless nothing is below; those that
    turn out to be the same for all examples lose it again.
    """

    def __init__(self, trace: BatchTrace) -> None:
        self.trace = trace
        self.everything = trace.parent is not EVAL
        #: Which results have differed from example to example; None before the first run.
        self.varying: list[bool] | None = None
        self.axes: list[BatchAxis] = []

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
            self.varying = [a or b for a, b in zip(self.varying, varying, strict=True)]
        return [
            value if axis == to or to is None else move_batch_axis(value, axis, to, self.size)
            for (value, axis), to in zip(pairs, self.axes, strict=True)
        ]

    def results(self, found: Sequence[Array]) -> list[Array]:
        """The results of the call below, as this trace's."""
        assert self.varying is not None, "the function or its rule has run"
        results: list[Array] = []
        for out, axis, varies in zip(found, self.axes, self.varying, strict=True):
            if axis is None:
                results.append(out)
            elif varies or not self.size:
                results.append(BatchTracer(self.trace, out, axis))
            else:
                results.append(squeeze(slice_in_dim(out, 0, 1), (0,)))
        return results

    @property
    def size(self) -> int:
        return self.trace.mapped.size


def _is_recording(trace: Trace) -> bool:
    while trace.parent is not trace:
        if isinstance(trace, Recorder):
            return True
        trace = trace.parent
    return False


#: A call by its key, and which of its arguments are batched.
_Pattern = tuple[int | None, tuple[bool, ...]]
# The calls whose rules are being run to see what they batch.
_probed: ContextVar[tuple[_Pattern, ...]] = ContextVar("tinyjax_rules_being_probed", default=())


def _probe(call: Call, args: Sequence[Array], pattern: _Pattern) -> bool:
    """Run the rule of a batched call for types alone, so that what it batches is known.

    Returns:
        Whether that is known: not where the rule cannot be staged, nor inside the rule of another
        function, which would make the work grow faster than the program.
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
            rest = iter(values[len(avals) :])
            assert jvp is not None, "asked only where there is a rule"
            return jvp(values[: len(avals)], [next(rest) if has else ZERO for has in nonzero])[0]

        stage(run, [*avals, *(a for a, has in zip(avals, nonzero, strict=True) if has)])
    except Exception:  # it is told when a derivative is wanted
        return False
    finally:
        _probed.reset(token)
    return True


def _batch(trace: BatchTrace, call: Call, args: Sequence[Array]) -> Sequence[Array]:
    pairs = [trace.split(x) for x in args]
    axes = [axis for _, axis in pairs]
    size = trace.mapped.size
    if call.batch is not None:
        if any(axis is not None for axis in axes):
            for tracer in tracers_in(call.batch_rule):
                if _is_mapped(tracer, trace) or not tracer._trace.live:
                    what = (
                        "that the same vmap maps"
                        if tracer._trace.live
                        else "that was traced when it was staged (by jit or a loop)"
                    )
                    raise ArgumentError(
                        f"the vmap rule of {call.name} closes over a value {what}, and is applied "
                        f"to all examples at once. Make the value an argument of {call.name}."
                    )
            with use_trace(trace.parent):
                moved = [x if a is None else move_batch_axis(x, a, 0, size) for x, a in pairs]
                outs, batched = call.batch(trace.mapped, moved, [a is not None for a in axes])
            return [
                BatchTracer(trace, out, 0) if has else out
                for out, has in zip(outs, batched, strict=True)
            ]
        if not (call.closes_over_tracer or holds_tracer(tuple(call.consts))):
            return apply(trace.parent, call, args)

    def wrap(values: Sequence[Array]) -> list[Array]:
        return [
            x if axis is None else BatchTracer(trace, x, axis)
            for x, axis in zip(values, axes, strict=True)
        ]

    placed = _Placed(trace)

    def fun(*values: Array) -> Sequence[Array]:
        with _on_top(trace):
            outs = call.fun(*wrap(values))
        return placed.place(outs)

    def jvp(
        primals: Sequence[Array], tangents: Sequence[Tangent]
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        assert call.jvp is not None, "asked only where there is a rule"
        with _on_top(trace):
            wrapped = [
                t if t is ZERO or axis is None else BatchTracer(trace, t, axis)
                for t, axis in zip(tangents, axes, strict=True)
            ]
            outs, out_tangents = call.jvp(wrap(primals), wrapped)
        found = placed.place(outs)
        filled = [out if t is ZERO else t for out, t in zip(outs, out_tangents, strict=True)]
        moved = placed.place(filled, counts=not call.reverse)
        return found, [ZERO if t is ZERO else x for t, x in zip(out_tangents, moved, strict=True)]

    below = attrs.evolve(
        call, fun=fun, jvp=None if call.jvp is None else jvp, batch=None, batch_rule=None, consts=()
    )
    values = [value for value, _ in pairs]
    found = apply(trace.parent, below, values)
    varying = placed.varying
    assert varying is not None, "the function or its rule has run"
    if below.jvp is not None and not all(varying) and _is_recording(trace.parent):
        # The rule comes later, and may give a tangent that varies to a result that does not.
        with use_trace(trace.parent):
            if not _probe(below, values, (call.key, tuple([a is not None for a in axes]))):
                placed.varying = [True] * len(varying)
    with use_trace(trace.parent):
        return placed.results(found)


# Recording

#: As ``FlatJvp``, but what is closed over comes first.
ClosedJvp = Callable[
    [Sequence[Array], Sequence[Array], Sequence[Tangent]],
    tuple[Sequence[Array], Sequence[Tangent]],
]


@attrs.frozen(eq=False, repr=False)
class StagedRule:
    """The rule of a recorded call: as in ``Call``, but what is closed over comes first."""

    jvp: ClosedJvp | None
    batch: FlatBatch | None
    #: Whether the rule uses what comes first.
    closed: bool
    key: int | None
    holds: Sequence[object]
    batch_rule: object = None
    reverse: bool = False

    def __repr__(self) -> str:
        return "vmap" if self.jvp is None else "jvp"


@attrs.frozen
class CustomCallParams:
    """A recorded call.

    Attributes:
        jaxpr: the function; its first parameters are what it, or its rule, closes over.
        num_consts: how many those are.
        rule: its own rule; programs that differ in rules only compute the same.
        name: the function's name.
    """

    jaxpr: Jaxpr
    num_consts: int
    rule: StagedRule = attrs.field(eq=False)
    name: str = attrs.field(eq=False)


custom_call_p: Primitive[CustomCallParams] = Primitive("custom_call", CustomCallParams)

# The rules being staged. One that applies its own function would be staged for ever; each level
# is one more order of derivatives of a rule that closes over a value traced by jit.
_staging: ContextVar[tuple[int, ...]] = ContextVar("tinyjax_rules_being_staged", default=())
_MOST_LEVELS = 2


def _record(trace: Trace, call: Call, args: Sequence[Array]) -> Sequence[Array]:
    avals = [x.aval for x in args]
    with use_trace(trace), each_searched_once():
        staged = stage(call.fun, avals)
        jaxpr, consts = staged.jaxpr, staged.consts
        user_jvp = call.jvp
        rule = StagedRule(
            None if user_jvp is None else lambda _, primals, tangents: user_jvp(primals, tangents),
            call.batch,
            False,
            call.key,
            call.holds,
            call.batch_rule,
            call.reverse,
        )
        levels = _staging.get()
        key = call.key
        extra: tuple[Array, ...] = ()
        if user_jvp is not None and call.closes_over_tracer:
            # Later, when the derivative is wanted, the tracers it closes over may be gone.
            if key is not None and levels.count(key) == _MOST_LEVELS:
                rule = StagedRule(_no_rule(call.name), None, False, None, ())
            else:
                token = _staging.set(levels if key is None else (*levels, key))
                try:
                    jvp, extra = _stage_rule(user_jvp, avals, len(consts))
                    rule = StagedRule(jvp, None, True, None, (), reverse=call.reverse)
                finally:
                    _staging.reset(token)
            n = len(consts)
            binders = jaxpr.in_binders
            variables = tuple(Var(c.aval) for c in extra)
            jaxpr = Jaxpr((*binders[:n], *variables, *binders[n:]), jaxpr.eqns, jaxpr.outs)
            consts = (*consts, *extra)
    params = CustomCallParams(jaxpr, len(consts), rule, call.name)
    return trace.process(custom_call_p, (*consts, *args), params)


def _stage_rule(
    jvp: FlatJvp, avals: Sequence[ShapedArray], skip: int
) -> tuple[ClosedJvp, tuple[Array, ...]]:
    """Stage a rule; return it as a function of what it closes over, and that.

    Results and tangents are staged apart, so that a linearization which meets the rule records no
    results; unless the rule itself computes both with one program.
    """
    nonzero = [is_inexact(a.dtype) for a in avals]
    split: list[tuple[int, list[bool], Jaxpr]] = []

    def run(*primals: Array) -> list[Array]:
        linear = linear_trace()
        inputs = iter(linear.new_inputs([a for a, has in zip(avals, nonzero, strict=True) if has]))
        given = [next(inputs) if has else ZERO for has in nonzero]
        with Running(linear):
            outs, tangents = jvp(primals, given)
            if any(_belongs(out, linear) for out in outs):
                return []
            recorded = linear.build([t for t in tangents if t is not ZERO])
        split.append((len(outs), [t is not ZERO for t in tangents], recorded.jaxpr))
        return [*outs, *recorded.consts]

    staged = stage(run, avals)
    if not split:
        return _stage_joined(jvp, avals, skip)
    jaxpr = staged.jaxpr  # the rule outlives the trace, whose tracers it must not hold
    num_outs, present, tangent = split[0]

    def rule(
        consts: Sequence[Array], primals: Sequence[Array], tangents: Sequence[Tangent]
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        found = eval_jaxpr(jaxpr, [*consts[skip:], *primals])
        given = [
            instantiate(t, p) for t, p, has in zip(tangents, primals, nonzero, strict=True) if has
        ]
        rest = iter(eval_jaxpr(tangent, [*found[num_outs:], *given]))
        return found[:num_outs], [next(rest) if has else ZERO for has in present]

    return rule, staged.consts


def _stage_joined(
    jvp: FlatJvp, avals: Sequence[ShapedArray], skip: int
) -> tuple[ClosedJvp, tuple[Array, ...]]:
    """As ``_stage_rule``, results and tangents together."""
    nonzero = [is_inexact(a.dtype) for a in avals]
    present: list[bool] = []

    def run(*values: Array) -> list[Array]:
        primals, rest = values[: len(avals)], iter(values[len(avals) :])
        outs, tangents = jvp(primals, [next(rest) if has else ZERO for has in nonzero])
        present[:] = [t is not ZERO for t in tangents]
        return [*outs, *(t for t in tangents if t is not ZERO)]

    staged = stage(run, [*avals, *(a for a, has in zip(avals, nonzero, strict=True) if has)])

    jaxpr = staged.jaxpr  # the rule outlives the trace, whose tracers it must not hold

    def rule(
        consts: Sequence[Array], primals: Sequence[Array], tangents: Sequence[Tangent]
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        given = [
            instantiate(t, p) for t, p, has in zip(tangents, primals, nonzero, strict=True) if has
        ]
        outs = eval_jaxpr(jaxpr, [*consts[skip:], *primals, *given])
        rest = iter(outs[len(present) :])
        return outs[: len(present)], [next(rest) if has else ZERO for has in present]

    return rule, staged.consts


def _no_rule(name: str) -> ClosedJvp:
    def rule(
        consts: Sequence[Array], primals: Sequence[Array], tangents: Sequence[Tangent]
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        raise DifferentiationError(
            f"{name} was staged (by jit or a loop) with a rule that closes over a traced value and "
            f"applies {name} itself. Such a rule has derivatives up to order {_MOST_LEVELS + 1}; "
            f"make the value an argument of {name} to take more."
        )

    return rule


def _reopened(params: CustomCallParams) -> Flat:
    """The function of all operands that makes the call with callables again."""
    n, rule = params.num_consts, params.rule

    def fun(*operands: Array) -> Sequence[Array]:
        consts, args = operands[:n], operands[n:]
        rule_jvp = rule.jvp
        jvp: FlatJvp | None = None
        if rule_jvp is not None:

            def jvp(
                primals: Sequence[Array], tangents: Sequence[Tangent]
            ) -> tuple[Sequence[Array], Sequence[Tangent]]:
                return rule_jvp(consts, primals, tangents)

        call = Call(
            lambda *xs: eval_jaxpr(params.jaxpr, [*consts, *xs]),
            params.name,
            jvp,
            rule.batch,
            rule.key,
            consts if rule.closed else rule.holds,
            rule.batch_rule,
            rule.reverse,
            consts,
        )
        return apply(current_trace(), call, args)

    return fun


@custom_call_p.def_rule(STEPWISE)
@custom_call_p.def_evaluate
def _custom_call_evaluate(args: Sequence[Array], params: CustomCallParams) -> Sequence[Array]:
    return eval_jaxpr(params.jaxpr, args)


@custom_call_p.def_abstract_eval
def _custom_call_type(
    avals: Sequence[ShapedArray], params: CustomCallParams
) -> Sequence[ShapedArray]:
    return params.jaxpr.out_avals


@custom_call_p.def_rule(INLINED)
def _custom_call_inlined(params: CustomCallParams) -> Jaxpr:
    return params.jaxpr


@custom_call_p.def_lowering
def _custom_call_lowering(
    lowering: Lowering, operands: Sequence[str], params: CustomCallParams
) -> Sequence[str]:
    return lowering.call(params.jaxpr, params.name, operands)


@custom_call_p.def_jvp
def _custom_call_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: CustomCallParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    below = current_trace()
    if not isinstance(below, LinearTrace):
        return jvp_flat(_reopened(params), primals, tangents)
    # above a recorder of tangents, primals must not be recorded: compiled programs split in two
    trace = LinearizeTrace(below)
    with use_trace(trace):
        outs = _reopened(params)(
            *[
                primal if tangent is ZERO else JVPTracer(trace, primal, tangent)
                for primal, tangent in zip(primals, tangents, strict=True)
            ]
        )
        pairs = [trace.split(out) for out in outs]
    trace.live = False
    return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]


@custom_call_p.def_transpose
def _custom_call_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: CustomCallParams
) -> Sequence[Tangent | None]:
    linear = tuple(isinstance(x, Var) for x in operands)
    nonzero = tuple(ct is not ZERO for ct in cotangents)
    transposed = transpose_jaxpr(params.jaxpr, linear, nonzero)
    known = [x for x in operands if not isinstance(x, Var)]
    given = [ct for ct in cotangents if ct is not ZERO]
    staged = transposed.staged
    outs = iter(eval_jaxpr(staged.jaxpr, [*staged.consts, *known, *given]))
    results = iter([next(outs) if has else ZERO for has in transposed.nonzero_out])
    return [next(results) if is_linear else None for is_linear in linear]


@custom_call_p.def_batch
def _custom_call_batch(
    mapped: MappedAxis,
    values: Sequence[Array],
    axes: Sequence[int | None],
    params: CustomCallParams,
) -> tuple[Sequence[Array], Sequence[int | None]]:
    return batch_flat(_reopened(params), mapped, values, axes)


def _is_mapped(value: Array | None, trace: BatchTrace) -> bool:
    """Whether a trace maps a value, which other traces may have wrapped."""
    match value:
        case BatchTracer():
            return value._trace is trace or _is_mapped(value.value, trace)
        case JVPTracer():
            return _is_mapped(value.primal, trace) or _is_mapped(value.tangent, trace)
        case _:
            return False
