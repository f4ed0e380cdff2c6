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
from functools import partial
from types import FunctionType, MethodType
from typing import Any, TypeVar

import attrs

from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Jaxpr, Var, eval_jaxpr
from tinyjax.core.primitive import ZERO, MappedAxis, Primitive, Tangent
from tinyjax.core.stablehlo import Lowering
from tinyjax.core.staging import stage
from tinyjax.core.trace import EVAL, Trace, Tracer, current_trace, running, use_trace
from tinyjax.dtypes import is_inexact
from tinyjax.errors import DifferentiationError
from tinyjax.primitives.families import add_arrays
from tinyjax.primitives.shape import instantiate, move_batch_axis
from tinyjax.transforms.batching import BatchAxis, BatchTrace, BatchTracer, batch_flat
from tinyjax.transforms.jvp import JVPTrace, JVPTracer, jvp_flat
from tinyjax.transforms.linearize import LinearizeTrace, LinearTrace
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
    """

    fun: Flat
    name: str
    jvp: FlatJvp | None = None
    batch: FlatBatch | None = None
    key: int | None = None
    holds: Sequence[object] = ()

    @property
    def closes_over_tracer(self) -> bool:
        return holds_tracer(list(self.holds))


def apply(trace: Trace, call: Call, args: Sequence[Array]) -> Sequence[Array]:
    """Apply a call under a trace."""
    if trace is EVAL:
        with use_trace(EVAL):
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
    with use_trace(trace.parent):
        if active and stripped.jvp is not None:
            outs, out_tangents = stripped.jvp(primals, tangents)
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
    return [
        out if tangent is ZERO else JVPTracer(trace, out, tangent)
        for out, tangent in zip(outs, out_tangents, strict=True)
    ]


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
    """The batch axes of a call's results: those of its first run, which later ones keep to."""

    def __init__(self, trace: BatchTrace, name: str) -> None:
        self.trace = trace
        self.name = name
        # below are more rules, of which each may batch what others do not
        self.everything = trace.parent is not EVAL
        self.axes: list[BatchAxis] | None = None

    def place(self, outs: Sequence[Array]) -> list[Array]:
        pairs = [self.trace.split(out) for out in outs]
        if self.axes is None:
            self.axes = [0 if self.everything else axis for _, axis in pairs]
        return [
            value if axis == to or to is None else move_batch_axis(value, axis, to, self.size)
            for (value, axis), to in zip(pairs, self.axes, strict=True)
        ]

    @property
    def size(self) -> int:
        return self.trace.mapped.size


def _batch(trace: BatchTrace, call: Call, args: Sequence[Array]) -> Sequence[Array]:
    pairs = [trace.split(x) for x in args]
    axes = [axis for _, axis in pairs]
    size = trace.mapped.size
    if call.batch is not None:
        if any(axis is not None for axis in axes):
            with use_trace(trace.parent):
                moved = [x if a is None else move_batch_axis(x, a, 0, size) for x, a in pairs]
                outs, batched = call.batch(trace.mapped, moved, [a is not None for a in axes])
            return [
                BatchTracer(trace, out, 0) if has else out
                for out, has in zip(outs, batched, strict=True)
            ]
        if not call.closes_over_tracer:
            return apply(trace.parent, call, args)

    def wrap(values: Sequence[Array]) -> list[Array]:
        return [
            x if axis is None else BatchTracer(trace, x, axis)
            for x, axis in zip(values, axes, strict=True)
        ]

    placed = _Placed(trace, call.name)

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
        moved = placed.place(filled)
        return found, [ZERO if t is ZERO else x for t, x in zip(out_tangents, moved, strict=True)]

    below = Call(fun, call.name, None if call.jvp is None else jvp, None, call.key, call.holds)
    results = apply(trace.parent, below, [value for value, _ in pairs])
    assert placed.axes is not None, "the function or its rule has run"
    return [
        out if axis is None else BatchTracer(trace, out, axis)
        for out, axis in zip(results, placed.axes, strict=True)
    ]


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
    with use_trace(trace):
        staged = stage(call.fun, avals)
        jaxpr, consts = staged.jaxpr, staged.consts
        user_jvp = call.jvp
        rule = StagedRule(
            None if user_jvp is None else lambda _, primals, tangents: user_jvp(primals, tangents),
            call.batch,
            False,
            call.key,
            call.holds,
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
                    rule = StagedRule(jvp, None, True, None, ())
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
        linear = LinearTrace(current_trace())
        given = [
            linear.new_input(a) if has else ZERO for a, has in zip(avals, nonzero, strict=True)
        ]
        with running(linear):
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
        )
        return apply(current_trace(), call, args)

    return fun


@custom_call_p.def_evaluate
def _custom_call_evaluate(args: Sequence[Array], params: CustomCallParams) -> Sequence[Array]:
    return eval_jaxpr(params.jaxpr, args)


@custom_call_p.def_abstract_eval
def _custom_call_type(
    avals: Sequence[ShapedArray], params: CustomCallParams
) -> Sequence[ShapedArray]:
    return params.jaxpr.out_avals


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
    transposed = transpose_jaxpr(params.jaxpr, linear, nonzero, add_arrays)
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


def holds_tracer(value: object, seen: set[int] | None = None) -> bool:
    """Whether what the user wrote closes over a live tracer, as far as is seen from outside."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return False
    seen.add(id(value))
    inside: list[object]
    match value:
        case Tracer():
            return value._trace.live
        case FunctionType():
            inside = [c.cell_contents for c in value.__closure__ or () if _filled(c)]
            inside += [value.__defaults__, value.__kwdefaults__]
        case MethodType():
            inside = [value.__func__, value.__self__]
        case partial():
            inside = [value.func, value.args, value.keywords]
        case tuple() | list():
            inside = list(value)
        case dict():
            inside = list(value.values())
        case _ if hasattr(type(value), "__module__") and callable(value):
            inside = list(getattr(value, "__dict__", {}).values())
        case _:
            return False
    return any(holds_tracer(x, seen) for x in inside)


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
