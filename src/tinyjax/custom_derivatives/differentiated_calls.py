"""Calls with rules under a derivative: the rule is applied, or the call passed on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import attrs

from tinyjax.core.primitives.rules import add_tangents, instantiate_all
from tinyjax.core.primitives.shape import batch_axes_in_front, move_batch_axis
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.tracing.primitive import (
    ZERO,
    MappedAxis,
    Primitive,
    Tangent,
    marked,
    nonzeros,
    present,
    with_zeros,
)
from tinyjax.core.tracing.program_rules import asks, dce
from tinyjax.core.tracing.trace import (
    CustomCall,
    DerivativeRule,
    Trace,
    current_trace,
    use_trace,
)
from tinyjax.core.transforms import batching as bt, jvp as jv, linearize as lz
from tinyjax.core.transforms.linearize import LinearTrace
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import splat
from tinyjax.dtypes import is_inexact

P = TypeVar("P")


def differentiated(trace: jv.JVPTrace, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
    """Apply the derivative rule of a call; where it has no tangent, pass it on.

    The rule gives the derivative in the arguments. The derivative in what the function closes
    over is that of its own operations.
    """
    primals, tangents = trace.split(args)
    active = any(t is not ZERO for t in tangents)
    if active and call.jvp is None and call.batch is not None and trace.linearizing:
        return _linearized(trace, call, args)
    touched = [False]
    stripped = _PrimalTrace(trace.parent, trace, touched).strip(call)
    out_tangents: Sequence[Tangent]
    if active and stripped.jvp is not None:
        outs, out_tangents = _apply_rule(trace.parent, stripped.jvp, primals, tangents)
    elif active and stripped.batch is not None and not trace.records(tangents):
        outs, out_tangents = _push_through(trace.parent, stripped, primals, tangents)
        if not touched[0]:
            return trace.joined(outs, out_tangents)
    else:
        outs = trace.parent.process_custom_call(stripped, primals)
        out_tangents = [ZERO] * len(outs)
    if touched[0] or (active and call.jvp is None):
        with use_trace(trace):
            plain = call.fun(*(primals if call.jvp is not None else args))
        with use_trace(trace.parent):
            own = trace.split(plain)[1]
            out_tangents = (
                own
                if call.jvp is None
                else [add_tangents(a, b) for a, b in zip(out_tangents, own, strict=True)]
            )
    return trace.joined(outs, out_tangents)


def _linearized(trace: jv.JVPTrace, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
    """Linearize a call with a batching rule: its derivative is that of its operations.

    Its results are those of the call that is passed on. If its operations have rules for
    reverse mode only, that call applies them too: the trace below may differentiate its results
    in forward mode, which it can do with what the rules compute.
    """
    primals, _ = trace.split(args)
    linear = trace.parent
    assert isinstance(linear, LinearTrace), "it records the tangents"
    start = len(linear.eqns)
    with use_trace(trace):
        plain = call.fun(*args)
    stripped = _PrimalTrace(linear, trace, [False]).strip(call)
    if any(map(asks, linear.eqns[start:])):
        stripped = _applying_rules(stripped)
    outs = linear.process_custom_call(stripped, primals)
    return trace.joined(outs, trace.split(plain)[1])


def _applying_rules(call: CustomCall) -> CustomCall:
    """The call whose results are those that a linearization computes."""

    def batch(
        mapped: MappedAxis, args: Sequence[Array], batched: Sequence[bool]
    ) -> tuple[Sequence[Array], Sequence[bool]]:
        rule = call.batch
        assert rule is not None, "the call has one"
        flags: list[bool] = []

        def run(*xs: Array) -> Sequence[Array]:
            outs, flags[:] = rule(mapped, xs, batched)
            return outs

        return lz.linearize_flat(run, args).primals_out, flags

    def fun(*args: Array) -> Sequence[Array]:
        return lz.linearize_flat(call.fun, args).primals_out

    return attrs.evolve(call, fun=fun, batch=batch)


def _apply_rule(
    trace: Trace, rule: DerivativeRule, primals: Sequence[Array], tangents: Sequence[Tangent]
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    """Apply the derivative rule of a call whose tangents a trace computes, or records."""
    start = len(trace.eqns) if isinstance(trace, LinearTrace) else 0
    with use_trace(trace):
        outs, out_tangents = rule(primals, tangents)
    if not isinstance(trace, LinearTrace):
        return outs, out_tangents
    # What a linear map gives without regard to its argument is zero.
    dependent = [t if t is not ZERO and trace.owns(t) else ZERO for t in out_tangents]
    return _untangle(trace, start, outs), dependent


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
    program = dce(jx.Jaxpr(tuple(free), tuple(reversed(eqns)), results))
    values = dict(trace.consts.values())
    with use_trace(trace.parent):
        operands = [values[v] if v in values else splat(0, v.aval) for v in free]
        untangled = iter(jx.eval_jaxpr(program, operands))
    return [next(untangled) if trace.owns(out) else out for out in outs]


def _push_through(
    trace: Trace, call: CustomCall, primals: Sequence[Array], tangents: Sequence[Tangent]
) -> tuple[Sequence[Array], list[Tangent]]:
    """Push tangents through a call with a batching rule, whose jvp is the rule of its jvp.

    Args:
        trace: the trace that the primals and tangents belong to.
        call: the call; it has no derivative of its own.
        primals: its arguments.
        tangents: theirs.
    """
    n, nonzero = len(primals), nonzeros(tangents)
    has_tangent: list[bool] = []

    def push(fun: Callable[..., Sequence[Array]], values: Sequence[Array]) -> list[Array]:
        outs, pushed = jv.jvp_flat(fun, values[:n], with_zeros(nonzero, values[n:]))
        has_tangent[:] = [is_inexact(out.dtype) for out in outs]
        return [*outs, *marked(instantiate_all(pushed, [x.aval for x in outs]), has_tangent)]

    def batch(
        mapped: MappedAxis, values: Sequence[Array], batched: Sequence[bool]
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
            # Either primals or tangents are mapped: to the rule, nothing is. But as it is asked
            # only of mapped arguments otherwise, it need not know what to say then.
            axes = [0 if has else None for has in batched]
            with suppress(Exception):
                outs, out_axes = bt.batch_flat(
                    lambda *xs: run([False] * n, xs), mapped, values, axes
                )
                if not any(flags):
                    moved = batch_axes_in_front(outs, out_axes)
                    return moved, [axis is not None for axis in out_axes]
        either = [a or b for a, b in pairs]
        to_front = [*either, *marked(either, nonzero)]
        filled = [
            move_batch_axis(x, 0 if has else None, 0, mapped.size) if want else x
            for x, has, want in zip(values, batched, to_front, strict=True)
        ]
        outs = run(either, filled)
        return outs, [*flags, *marked(flags, has_tangent)]

    derived = attrs.evolve(call, fun=lambda *xs: push(call.fun, xs), batch=batch)
    results = trace.process_custom_call(derived, [*primals, *present(tangents)])
    return results[: len(has_tangent)], with_zeros(has_tangent, results[len(has_tangent) :])


class _PrimalTrace(Trace):
    """Takes the tangents of one trace off the values that user code closes over.

    Attributes:
        of: the trace.
        touched: one element, whether it has met such a value.
    """

    __slots__ = ("of", "touched")

    transformation = "jvp"

    def __init__(self, parent: Trace, of: jv.JVPTrace, touched: list[bool]) -> None:
        super().__init__(parent, of.fun)
        self.of = of
        self.touched = touched

    def primal(self, value: Array) -> Array:
        if type(value) is jv.JVPTracer and value._trace is self.of:
            self.touched[0] = True
            return value.primal
        return value

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        return self.parent.process(primitive, [self.primal(x) for x in args], params)

    def process_custom_call(self, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        return self.parent.process_custom_call(self.strip(call), [self.primal(x) for x in args])

    def strip(self, call: CustomCall) -> CustomCall:
        """The call without the tangents; what it closes over is constant."""
        return call.within(
            lambda: use_trace(_PrimalTrace(current_trace(), self.of, self.touched)), self.primal
        )
