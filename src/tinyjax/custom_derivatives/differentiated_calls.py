"""Calls of functions with rules of their own: batched, and differentiated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from itertools import chain, repeat
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from tinyjax import dtypes, errors
from tinyjax.core import api
from tinyjax.core.primitives import identities, shape as sh, slicing
from tinyjax.core.primitives.rules import add_tangents, instantiate_all
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules, staging, trace as tr
from tinyjax.core.transforms import batching
from tinyjax.core.transforms.jvp import JVPTrace, JVPTracer, jvp_flat
from tinyjax.core.transforms.linearize import LinearTrace, linearize_flat
from tinyjax.core.values import Array, operands as opd
from tinyjax.custom_derivatives.closures import holds_tracer, tracers_in

# Calls with rules under a derivative: the rule is applied, or the call passed on.


P = TypeVar("P")


def differentiated(trace: JVPTrace, call: tr.CustomCall, args: Sequence[Array]) -> Sequence[Array]:
    """Apply the derivative rule of a call; where it has no tangent, pass it on.

    The rule gives the derivative in the arguments. The derivative in what the function closes
    over is that of its own operations.
    """
    primals, tangents = trace.split(args)
    active = any(t is not prim.ZERO for t in tangents)
    if active and call.jvp is None and call.batch is not None and trace.linearizing:
        return _linearized(trace, call, args)
    touched = [False]
    stripped = _stripped(call, trace, touched)
    out_tangents: Sequence[prim.Tangent]
    if active and stripped.jvp is not None:
        parent = trace.parent
        start = len(parent.eqns) if isinstance(parent, LinearTrace) else 0
        with tr.use_trace(parent):
            outs, out_tangents = stripped.jvp(primals, tangents)
        if isinstance(parent, LinearTrace):
            # What a linear map gives without regard to its argument is zero.
            out_tangents = [
                t if t is prim.ZERO or parent.owns(t) else prim.ZERO for t in out_tangents
            ]
            outs = _untangle(parent, start, outs)
    elif active and stripped.batch is not None and not trace.records(tangents):
        outs, out_tangents = _push_through(trace.parent, stripped, primals, tangents)
        if not touched[0]:
            return trace.joined(outs, out_tangents)
    else:
        outs = trace.parent.process_custom_call(stripped, primals)
        out_tangents = [prim.ZERO] * len(outs)
    if touched[0] or (active and call.jvp is None):
        with tr.use_trace(trace):
            plain = call.fun(*(primals if call.jvp is not None else args))
        with tr.use_trace(trace.parent):
            own = trace.split(plain)[1]
            out_tangents = (
                own
                if call.jvp is None
                else [add_tangents(a, b) for a, b in zip(out_tangents, own, strict=True)]
            )
    return trace.joined(outs, out_tangents)


def _linearized(trace: JVPTrace, call: tr.CustomCall, args: Sequence[Array]) -> Sequence[Array]:
    """Linearize a call with a batching rule: its derivative is that of its operations.

    Its results are those of the call that is passed on. If its operations have rules for
    reverse mode only, that call applies them too: the trace below may differentiate its results
    in forward mode, which it can do with what the rules compute.
    """
    primals, _ = trace.split(args)
    linear = trace.parent
    assert isinstance(linear, LinearTrace), "it records the tangents"
    start = len(linear.eqns)
    with tr.use_trace(trace):
        plain = call.fun(*args)
    stripped = _stripped(call, trace, [False])
    if any(map(program_rules.has_live_root, linear.eqns[start:])):
        stripped = _applying_rules(stripped)
    outs = linear.process_custom_call(stripped, primals)
    return trace.joined(outs, trace.split(plain)[1])


def _applying_rules(call: tr.CustomCall) -> tr.CustomCall:
    """Return the call whose results are those that a linearization computes."""

    def batch(
        mapped: prim.MappedAxis, args: Sequence[Array], batched: Sequence[bool]
    ) -> tuple[Sequence[Array], Sequence[bool]]:
        rule = call.batch
        assert rule is not None, "the call has one"
        flags: list[bool] = []

        def run(*xs: Array) -> Sequence[Array]:
            outs, flags[:] = rule(mapped, xs, batched)
            return outs

        return linearize_flat(run, args).primals_out, flags

    def fun(*args: Array) -> Sequence[Array]:
        return linearize_flat(call.fun, args).primals_out

    return attrs.evolve(call, fun=fun, batch=batch)


def _untangle(trace: LinearTrace, start: int, outs: Sequence[Array]) -> Sequence[Array]:
    """Take the results of a derivative rule out of the recording of tangents.

    They are in it where the rule computes results and tangents with one program (``jit`` of
    both), which is recorded as a whole. Of that program the part that gives the results is
    applied, once more, to what was there. Where it cannot be parted (``while_loop``), the
    tangents in it are zeros, on which results do not depend.

    Args:
        trace: the recording.
        start: how many equations there were before the rule was applied.
        outs: the results, of which some may be tracers of that trace.
    """
    tangled = [out for out in outs if trace.owns(out)]
    if not tangled:
        return outs
    results = tuple([trace.atom(out) for out in tangled])
    # in the order of their first use: variables have no order of their own
    free: dict[jx.Var, None] = dict.fromkeys(x for x in results if isinstance(x, jx.Var))
    eqns: list[jx.JaxprEqn] = []
    for eqn in reversed(trace.eqns[start:]):
        if any(var in free for var in eqn.out_binders):
            eqns.append(eqn)
            free.update(dict.fromkeys(x for x in eqn.inputs if isinstance(x, jx.Var)))
            for var in eqn.out_binders:
                free.pop(var, None)
    program = program_rules.dce(jx.Jaxpr(tuple(free), tuple(reversed(eqns)), results))
    values = dict(trace.consts.values())
    with tr.use_trace(trace.parent):
        operands = [values[v] if v in values else opd.splat(0, v.aval) for v in free]
        untangled = iter(jx.eval_jaxpr(program, operands))
    return [next(untangled) if trace.owns(out) else out for out in outs]


def _push_through(
    trace: tr.Trace, call: tr.CustomCall, primals: Sequence[Array], tangents: Sequence[prim.Tangent]
) -> tuple[Sequence[Array], list[prim.Tangent]]:
    """Push tangents through a call with a batching rule, whose jvp is the rule of its jvp.

    Args:
        trace: the trace that the primals and tangents belong to.
        call: the call; it has no derivative of its own.
        primals: its arguments.
        tangents: theirs.
    """
    n, nonzero = len(primals), prim.nonzeros(tangents)
    has_tangent: list[bool] = []

    def push(fun: Callable[..., Sequence[Array]], values: Sequence[Array]) -> list[Array]:
        outs, pushed = jvp_flat(fun, values[:n], prim.with_zeros(nonzero, values[n:]))
        has_tangent[:] = [dtypes.is_inexact(out.dtype) for out in outs]
        return [*outs, *prim.marked(instantiate_all(pushed, [x.aval for x in outs]), has_tangent)]

    def batch(
        mapped: prim.MappedAxis, values: Sequence[Array], batched: Sequence[bool]
    ) -> tuple[Sequence[Array], Sequence[bool]]:
        rule = call.batch
        assert rule is not None, "the call has one"
        flags: list[bool] = []

        def run(shared: Sequence[bool], operands: Sequence[Array]) -> list[Array]:
            def apply(*xs: Array) -> Sequence[Array]:
                outs, out_batched = rule(mapped, xs, shared)
                flags[:] = out_batched
                return outs

            return push(apply, operands)

        of_tangents = iter(batched[n:])
        pairs = [
            (has, next(of_tangents) if there else has)
            for has, there in zip(batched[:n], nonzero, strict=True)
        ]
        if not any(a and b for a, b in pairs):
            # Either primals or tangents are mapped: to the rule, nothing is. But as it is called
            # only with mapped arguments otherwise, it need not handle this case.
            axes = [0 if has else None for has in batched]
            with suppress(Exception):
                outs, out_axes = batching.batch_flat(
                    lambda *xs: run([False] * n, xs), mapped, values, axes
                )
                if not any(flags):
                    moved = sh.batch_axes_in_front(outs, out_axes)
                    return moved, [axis is not None for axis in out_axes]
        either = [a or b for a, b in pairs]
        to_front = [*either, *prim.marked(either, nonzero)]
        filled = [
            sh.move_batch_axis(x, 0 if has else None, 0, mapped.size) if want else x
            for x, has, want in zip(values, batched, to_front, strict=True)
        ]
        outs = run(either, filled)
        return outs, [*flags, *prim.marked(flags, has_tangent)]

    derived = attrs.evolve(call, fun=lambda *xs: push(call.fun, xs), batch=batch)
    results = trace.process_custom_call(derived, [*primals, *prim.present(tangents)])
    return results[: len(has_tangent)], prim.with_zeros(has_tangent, results[len(has_tangent) :])


class _ReplacingTrace(tr.Trace):
    """A trace that replaces closed-over values of user code among its operands.

    Attributes:
        replace: returns what stands for a value.
        values: what it returns that no search of what is closed over finds.
    """

    __slots__ = ("replace", "values")

    transformation = "jvp"

    def __init__(
        self, parent: tr.Trace, replace: Callable[[Array], Array], values: Sequence[Array]
    ) -> None:
        super().__init__(parent)
        self.replace = replace
        self.values = values

    def process(
        self, primitive: prim.Primitive[P], args: Sequence[Array], params: P
    ) -> Sequence[Array]:
        return self.parent.process(primitive, [self.replace(x) for x in args], params)

    def process_custom_call(self, call: tr.CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        replaced = _replacing(call, self.replace, self.values)
        return self.parent.process_custom_call(replaced, [self.replace(x) for x in args])


def _replacing(
    call: tr.CustomCall, replace: Callable[[Array], Array], values: Sequence[Array] = ()
) -> tr.CustomCall:
    """Return a call whose callables compute with other values than they close over."""
    inside = call.in_context(
        lambda: tr.use_trace(_ReplacingTrace(tr.current_trace(), replace, values)), replace
    )
    held = (*map(replace, call.consts), *values)
    return attrs.evolve(inside, consts=held) if held else inside


def _stripped(call: tr.CustomCall, trace: JVPTrace, touched: list[bool]) -> tr.CustomCall:
    """Return a call without the tangents of a trace; its closed-over values are constant.

    Args:
        call: the call.
        trace: the trace.
        touched: one element, which becomes whether the call has met a value with such a tangent.
    """

    def primal(value: Array) -> Array:
        if type(value) is JVPTracer and value._trace is trace:
            touched[0] = True
            return value.primal
        return value

    return _replacing(call, primal)


# Calls with rules under traces of Taylor's kind, which differentiate rules in forward mode.


def with_closed_over(
    trace: tr.Trace, call: tr.CustomCall, args: Sequence[Array]
) -> tuple[tr.CustomCall, Sequence[Array]]:
    """Make operands of the tracers of a trace that a call closes over.

    The derivative in the call's own operands is that of its rule, in the others that of the
    function's own operations, as under ``jvp``.

    Returns:
        The call, and its operands.
    """
    held = [*tracers_in((tuple(call.holds), tuple(call.consts)))]
    found = list({id(x): x for tracer in held for x in _parts_of(trace, tracer)}.values())
    rule, n = call.jvp, len(args)
    if rule is None or not found:
        return call, args

    def with_values(values: Sequence[Array]) -> tr.CustomCall:
        own = {id(x): value for x, value in zip(found, values, strict=True)}
        return _replacing(call, lambda x: own.get(id(x), x), values)

    def fun(*operands: Array) -> Sequence[Array]:
        return with_values(operands[n:]).fun(*operands[:n])

    def jvp(primals: Sequence[Array], tangents: Sequence[prim.Tangent]) -> prim.JvpResult:
        own = with_values(primals[n:])
        if own.jvp is not None and any(t is not prim.ZERO for t in tangents[:n]):
            outs, out_tangents = own.jvp(primals[:n], tangents[:n])
        else:
            outs = tr.current_trace().process_custom_call(own, primals[:n])
            out_tangents = [prim.ZERO] * len(outs)
        _, more = jvp_flat(lambda *values: fun(*primals[:n], *values), primals[n:], tangents[n:])
        return outs, [add_tangents(a, b) for a, b in zip(out_tangents, more, strict=True)]

    others = [x for x in held if not any(True for _ in _parts_of(trace, x))]
    return attrs.evolve(call, fun=fun, jvp=jvp, holds=others, consts=()), [*args, *found]


def _parts_of(trace: tr.Trace, value: Array) -> Iterator[Array]:
    """Yield the tracers of a trace that a value is, or is made of by other traces."""
    if trace.owns(value):
        yield value
    elif isinstance(value, tr.Tracer):
        for x in value.components():
            yield from _parts_of(trace, x)


def forward_rule(call: tr.CustomCall) -> tr.DerivativeRule:
    """Return the rule of a call for forward mode, made of that for reverse mode if need be."""
    if call.reverse:
        return by_reverse_mode(lambda *xs: tr.current_trace().process_custom_call(call, xs))
    assert call.jvp is not None, "asked only where there is a rule"
    return call.jvp


def by_reverse_mode(fun: Callable[..., Sequence[Array]]) -> tr.DerivativeRule:
    """Make a derivative rule of a function that has one for reverse mode only.

    The pull-back is linear, and its own pull-back is the push-forward.
    """

    def rule(primals: prim.Arrays, tangents: prim.Tangents) -> prim.JvpResult:
        nonzero = prim.nonzeros(tangents)

        def of_active(*active: Array) -> tuple[list[Array], list[Array]]:
            rest = iter(active)
            outs = fun(*[next(rest) if has else x for x, has in zip(primals, nonzero, strict=True)])
            return [x for x in outs if dtypes.is_inexact(x.dtype)], list(outs)

        values, pull, outs = api.vjp(of_active, *prim.marked(primals, nonzero), has_aux=True)
        _, push = api.vjp(pull, [sh.zero_tangent(x.aval) for x in values])
        (moved,) = push(tuple(prim.present(tangents)))
        return outs, prim.with_zeros([dtypes.is_inexact(x.dtype) for x in outs], moved)

    return rule


# Calls with rules under ``vmap``: a rule for batches is applied, or function and rule batched.


def batched(
    trace: batching.BatchTrace, call: tr.CustomCall, args: Sequence[Array]
) -> Sequence[Array]:
    """Apply the batching rule of a call, or pass it on with its callables batched."""
    pairs = [trace.split(x) for x in args]
    values, axes = [value for value, _ in pairs], [axis for _, axis in pairs]
    if call.batch is not None:
        if any(axis is not None for axis in axes):
            return _apply_batch_rule(trace, call, call.batch, pairs)
        if not (call.closes_over_tracer or holds_tracer(tuple(call.consts))):
            return trace.parent.process_custom_call(call, args)
    placed = _PlacedResults(trace)
    below = _batched_call(trace, call, axes, placed)
    outs = trace.parent.process_custom_call(below, values)
    with tr.use_trace(trace.parent):
        recorded = any(t.recording for t in tr.enclosing_traces())
        if below.jvp is not None and not all(placed.varying) and recorded:
            # The rule comes later, and its tangent may vary where the result does not.
            pattern = call.key, tuple([axis is not None for axis in axes])
            try:
                is_known = _probe(below, values, pattern)
            except errors.TinyjaxError:  # it cannot be staged; it is told when one is wanted
                is_known = False
            except Exception as error:  # it has no tangents
                placed.refusal, is_known = f"{type(error).__name__}: {error}", True
            if not is_known:
                placed.let_all_vary()
        return placed.results(outs)


def _apply_batch_rule(
    trace: batching.BatchTrace,
    call: tr.CustomCall,
    rule: tr.BatchingRule,
    pairs: Sequence[tuple[Array, batching.BatchAxis]],
) -> Sequence[Array]:
    for tracer in tracers_in(call.batch_rule):
        live = tracer._trace.live
        if not live or any(True for _ in _parts_of(trace, tracer)):
            what = (
                "that the same vmap maps"
                if live
                else "that was traced when it was staged (by jit or a loop)"
            )
            raise errors.ArgumentError(
                f"the vmap rule of {call.name} closes over a value {what}, or is given a "
                "reference to it, and is applied to all examples at once. Make the value "
                f"itself an argument of {call.name}."
            )
    size = trace.mapped.size
    with tr.use_trace(trace.parent):
        moved = [x if a is None else sh.move_batch_axis(x, a, 0, size) for x, a in pairs]
        outs, batched = rule(trace.mapped, moved, [a is not None for _, a in pairs])
    return [
        batching.BatchTracer(trace, out, 0) if has else out
        for out, has in zip(outs, batched, strict=True)
    ]


#: So many elements are kept, where they might be computed again for each use.
_FEW: Final = 4096


class _PlacedResults:
    """The batch axes of a call's results.

    Function and rule, of which the traces below run either or both, now or later, may batch
    different results. So all of them are given a batch axis, unless nothing is below; those that
    turn out to be the same for all examples lose it again.
    """

    def __init__(self, trace: batching.BatchTrace) -> None:
        self.trace, self.size = trace, trace.mapped.size
        #: Which results have differed from example to example.
        self.varying: list[bool] = []
        #: Where their batch axes are; None before the first run.
        self.axes: list[batching.BatchAxis] | None = None
        #: Which results are the same for all examples, though they are said to differ.
        self.alike: list[bool] = []
        #: What the rule raised when it was staged: then the results were placed without it.
        self.refusal: str = ""

    def place(self, outs: Sequence[Array], counts: bool = True) -> list[Array]:
        """Move the batch axes of results, or of their tangents, to the required positions.

        Args:
            outs: the results.
            counts: whether one that is batched may differ from example to example.
        """
        pairs = [self.trace.split(out) for out in outs]
        varying = [axis is not None for _, axis in pairs]
        if self.axes is None:
            front = not self.trace.parent.evaluates
            self.varying, self.axes = varying, [0 if front else axis for _, axis in pairs]
        elif counts:
            self.count(varying)
        return [
            value if axis == to or to is None else sh.move_batch_axis(value, axis, to, self.size)
            for (value, axis), to in zip(pairs, self.axes, strict=True)
        ]

    def results(self, outs: Sequence[Array]) -> list[Array]:
        """Return the results of the call below, as this trace's."""
        assert self.axes is not None, "the function or its rule has run"
        results: list[Array] = []
        alike = self.alike or [False] * len(outs)
        for out, axis, varies, same in zip(outs, self.axes, self.varying, alike, strict=True):
            if axis is None:
                results.append(out)
            elif same and out.size <= _FEW:
                # XLA would move the copies, as of times, behind what is computed with them, by one
                # operation in each run of its simplifier, and after 50 say that it is stuck.
                (kept,) = identities.optimization_barrier([out])
                results.append(batching.BatchTracer(self.trace, kept, axis))
            elif varies or not self.size:
                results.append(batching.BatchTracer(self.trace, out, axis))
            else:
                results.append(sh.squeeze(slicing.slice_in_dim(out, 0, 1), (0,)))
        return results

    def count(self, varying: Sequence[bool]) -> None:
        """Take some results for ones that may differ from example to example."""
        before = self.varying
        self.varying = [a or b for a, b in zip(before, varying, strict=True)]
        if self.refusal and self.varying != before:
            raise errors.ArgumentError(
                "a rule of a function under vmap returns a tangent that differs between examples, "
                "for a result that does not. When it was staged to find that out, it raised "
                f"{self.refusal}. Let the rule raise in all its calls, or in none."
            )

    def let_all_vary(self) -> None:
        """Take every result for one that may differ from example to example."""
        self.alike = [not varies for varies in self.varying]
        self.varying = [True] * len(self.varying)


def _batched_call(
    trace: batching.BatchTrace,
    call: tr.CustomCall,
    axes: Sequence[batching.BatchAxis],
    placed: _PlacedResults,
) -> tr.CustomCall:
    """Return a call whose callables take batches, for the traces below."""

    def wrap(values: Sequence[prim.Tangent]) -> list[Any]:
        return [
            x if x is prim.ZERO or axis is None else batching.BatchTracer(trace, x, axis)
            for x, axis in zip(values, axes, strict=True)
        ]

    def fun(*values: Array) -> Sequence[Array]:
        with tr.on_top(trace):
            outs = call.fun(*wrap(values))
        return placed.place(outs)

    def jvp(
        primals: Sequence[Array], tangents: Sequence[prim.Tangent]
    ) -> tuple[Sequence[Array], Sequence[prim.Tangent]]:
        assert call.jvp is not None, "asked only where there is a rule"
        reports: list[_Varying] = []
        asked = ((trace.mapped, reports),) if call.reverse else ()
        with tr.on_top(trace), tr.assigned(_varying_axes, (*_varying_axes.get(), *asked)):
            outs, out_tangents = call.jvp(wrap(primals), wrap(tangents))
        primals_out = placed.place(outs)
        filled = [out if t is prim.ZERO else t for out, t in zip(outs, out_tangents, strict=True)]
        moved = placed.place(filled, counts=not call.reverse)
        if reports and not all(placed.varying):
            inexact = [dtypes.is_inexact(out.dtype) for out in outs]
            # results of no linear map come last: contents of references
            flags = chain(reports[0](), repeat(False))
            placed.count(prim.fill_list(inexact, flags, False))
        return primals_out, [
            prim.ZERO if t is prim.ZERO else x for t, x in zip(out_tangents, moved, strict=True)
        ]

    rule = None if call.jvp is None else jvp
    return attrs.evolve(call, fun=fun, jvp=rule, batch=None, batch_rule=None)


#: What finds out of which results the derivatives differ from example to example.
_Varying: TypeAlias = Callable[[], Sequence[bool]]
# The axes for which that is determined, the innermost last.
_varying_axes: ContextVar[tuple[tuple[prim.MappedAxis, list[_Varying]], ...]] = ContextVar(
    "tinyjax_requested_axes", default=()
)


def tell(mapped: prim.MappedAxis, varying: _Varying) -> None:
    """Say how to find out of which results of a linear map its transpose differs between examples.

    Of a map that is given by its transpose no tangent tells: a result that is the same for all
    examples may have a rule that multiplies its cotangent by each example's own number.
    """
    for asked, told in _varying_axes.get():
        if asked is mapped:
            told.append(varying)


#: A call by its key, and which of its arguments are batched.
_Pattern = tuple[int | None, tuple[bool, ...]]
# The calls whose rules are being run to see what they batch.
_probed: ContextVar[tuple[_Pattern, ...]] = ContextVar("tinyjax_rules_being_probed", default=())


def _probe(call: tr.CustomCall, args: Sequence[Array], pattern: _Pattern) -> bool:
    """Run the rule of a batched call for types alone, to learn which results it batches.

    Returns:
        Whether that is known. It is not inside the rule of another function, where the work would
        grow faster than the program.
    """
    jvp, under_way = call.jvp, _probed.get()
    if pattern in under_way:  # what a rule calls its own function for is what is being found out
        return True
    if any(key != call.key for key, _ in under_way):
        return False
    avals = [x.aval for x in args]
    nonzero = [dtypes.is_inexact(a.dtype) for a in avals]

    def run(*values: Array) -> Sequence[Array]:
        n = len(avals)
        assert jvp is not None, "asked only where there is a rule"
        return jvp(values[:n], prim.with_zeros(nonzero, values[n:]))[0]

    with tr.assigned(_probed, (*under_way, pattern)):
        staging.stage(run, [*avals, *prim.marked(avals, nonzero)])
    return True
