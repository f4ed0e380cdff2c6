"""Forward-mode differentiation: every value carries its tangent.

A ``JVPTracer`` pairs a primal with a tangent; the trace applies each primitive's ``jvp`` rule to
the pairs, and runs the rule under its parent, so that derivatives nest. A tangent that is known to
be zero is ``ZERO`` and takes part in no computation; a value without a tangent has no tracer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import ClassVar, TypeVar

import attrs

from tinyjax.config import settings
from tinyjax.core.primitives.rules import add_tangents, instantiate_all
from tinyjax.core.primitives.shape import batch_axes_in_front, move_batch_axis
from tinyjax.core.tracing.jaxpr import Atom, Jaxpr, eval_jaxpr, zero_literal
from tinyjax.core.tracing.list_partition import marked
from tinyjax.core.tracing.primitive import ZERO, MappedAxis, Primitive, Tangent
from tinyjax.core.tracing.staging import Staged, StagingTracer, stage
from tinyjax.core.tracing.tangents import nonzeros, present, with_zeros
from tinyjax.core.tracing.trace import (
    CustomCall,
    Running,
    Trace,
    Tracer,
    current_trace,
    is_known,
    leak_check,
    reset_trace,
    set_trace,
    stand_in,
    use_trace,
)
from tinyjax.core.transforms.batching import BatchTracer, batch_flat
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.dtypes import DType, HostArray, is_inexact
from tinyjax.errors import ConcretizationError

P = TypeVar("P")


class JVPTracer(Tracer):
    """A primal and its tangent."""

    __slots__ = ("_aval", "primal", "tangent")

    def __init__(self, trace: Trace, primal: Array, tangent: Array) -> None:
        self._trace = trace
        self.primal: Array = primal
        self.tangent: Array = tangent
        self._aval = primal._aval

    @property
    def aval(self) -> ShapedArray:
        return self._aval or self.primal.aval

    # asked for at every operation, so answered without going through aval
    @property
    def shape(self) -> tuple[int, ...]:
        aval = self._aval
        return self.primal.shape if aval is None else aval.shape

    @property
    def dtype(self) -> DType:
        aval = self._aval
        return self.primal.dtype if aval is None else aval.dtype

    @property
    def ndim(self) -> int:
        aval = self._aval
        return self.primal.ndim if aval is None else len(aval.shape)

    @property
    def weak_type(self) -> bool:
        aval = self._aval
        return self.primal.weak_type if aval is None else aval.weak_type

    def concrete(self, purpose: str) -> HostArray:
        return self.primal.concrete(purpose)

    def components(self) -> Sequence[Array]:
        return self.primal, self.tangent

    def held(self) -> dict[str, object]:
        parts = {"primal": self.primal, "tangent": self.tangent}
        return {name: x for name, x in parts.items() if is_known(x)}

    # What is computed from a number has no derivative, and nobody would notice: math.sin(x).

    def __float__(self) -> float:
        raise self._lost("float")

    def __complex__(self) -> complex:
        raise self._lost("complex")

    def _lost(self, kind: str) -> ConcretizationError:
        return ConcretizationError(
            f"a Python {kind} has no derivative, but {self.aval} is differentiated by "
            f"{self._trace.describe()}. Use a function of tinyjax.numpy instead of one of math. "
            f"For a constant, write {kind}(tinyjax.lax.stop_gradient(x))."
        )


class JVPTrace(Trace):
    """Applies ``jvp`` rules to the primitives that touch its tracers."""

    __slots__ = ()

    transformation = "jvp"

    #: Whether to prefer a primitive's ``linearize`` rule, where it has one.
    linearizing: ClassVar[bool] = False

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        primals: list[Array] = []
        tangents: list[Tangent] = []
        active = False
        for arg in args:
            if type(arg) is JVPTracer and arg._trace is self:
                active = True
                primals.append(arg.primal)
                tangents.append(arg.tangent)
            else:
                primals.append(arg)
                tangents.append(ZERO)
        if not active:
            return self.parent.process(primitive, args, params)
        rules = primitive.rules
        token = set_trace(self.parent)
        try:
            if rules.linearize is not None and self._records(tangents):
                primals_out, tangents_out = linearize_rule(primitive, primals, tangents, params)
            else:
                primals_out, tangents_out = rules.jvp(primals, tangents, params)
        finally:
            reset_trace(token)
        if len(primals_out) == 1:  # nearly always, and faster than the loop
            (primal,), (tangent,) = primals_out, tangents_out
            return (primal if tangent is ZERO else JVPTracer(self, primal, tangent),)
        results: list[Array] = []
        for primal, tangent in zip(primals_out, tangents_out, strict=True):
            results.append(primal if tangent is ZERO else JVPTracer(self, primal, tangent))
        return results

    def process_custom_call(self, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        """Apply the derivative rule; where the call has no tangent, pass it on.

        The rule gives the derivative in the arguments. The derivative in what the function closes
        over is that of its own operations.
        """
        primals, tangents = self.split(args)
        active = any(t is not ZERO for t in tangents)
        touched = [False]
        stripped = self.stripped(call, touched)
        out_tangents: Sequence[Tangent]
        if active and stripped.jvp is not None:
            outs, out_tangents = self.parent.apply_derivative_rule(stripped.jvp, primals, tangents)
        elif active and stripped.batch is not None and not self._records(tangents):
            outs, out_tangents = _push_through(self.parent, stripped, primals, tangents)
            if not touched[0]:
                return self.joined(outs, out_tangents)
        else:
            outs = self.parent.process_custom_call(stripped, primals)
            out_tangents = [ZERO] * len(outs)
        if touched[0] or (active and call.jvp is None):
            with use_trace(self):
                plain = call.fun(*(primals if call.jvp is not None else args))
            with use_trace(self.parent):
                own = self.split(plain)[1]
                out_tangents = (
                    own
                    if call.jvp is None
                    else [add_tangents(a, b) for a, b in zip(out_tangents, own, strict=True)]
                )
        return self.joined(outs, out_tangents)

    def stripped(self, call: CustomCall, touched: list[bool]) -> CustomCall:
        """The call without this trace's tangents in what it closes over; tell if it meets one."""
        return _PrimalTrace(self.parent, self, touched).strip(call)

    def _records(self, tangents: Sequence[Tangent]) -> bool:
        """Whether what is made of tangents is written down, so that primals are to be apart."""
        return self.linearizing or any(t is not ZERO and _is_recorded(t) for t in tangents)

    def joined(self, outs: Sequence[Array], tangents: Sequence[Tangent]) -> list[Array]:
        return [
            out if tangent is ZERO else JVPTracer(self, out, tangent)
            for out, tangent in zip(outs, tangents, strict=True)
        ]

    def split(self, values: Sequence[Array]) -> tuple[list[Array], list[Tangent]]:
        """Return the primals and tangents of values, which may be constants to this trace."""
        primals: list[Array] = []
        tangents: list[Tangent] = []
        for value in values:
            if type(value) is JVPTracer and value._trace is self:
                primals.append(value.primal)
                tangents.append(value.tangent)
            else:
                primals.append(value)
                tangents.append(ZERO)
        return primals, tangents


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
        outs, pushed = jvp_flat(fun, values[:n], with_zeros(nonzero, values[n:]))
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
                outs, out_axes = batch_flat(lambda *xs: run([False] * n, xs), mapped, values, axes)
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

    def process_custom_call(self, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        return self.parent.process_custom_call(self.strip(call), [self.primal(x) for x in args])

    def strip(self, call: CustomCall) -> CustomCall:
        """The call without the tangents; what it closes over is constant."""
        return call.within(
            lambda: use_trace(_PrimalTrace(current_trace(), self.of, self.touched)), self.primal
        )


def _is_recorded(tangent: Array) -> bool:
    """Whether a linearization around it records what is made of a tangent.

    It is so where a custom rule takes a jvp: a ``jvp`` rule would make one program of primals and
    tangents, with which the primals were recorded too.
    """
    match tangent:
        case StagingTracer():
            return tangent._trace.transformation == "linearize"
        case BatchTracer():
            return _is_recorded(tangent.value)
        case JVPTracer():  # of a tangent's tangent the trace below takes care
            return _is_recorded(tangent.primal)
        case _:
            return False


def linearize_rule(
    primitive: Primitive[P], primals: Sequence[Array], tangents: Sequence[Tangent], params: P
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    """Apply a ``linearize`` rule as though it were a ``jvp`` rule."""
    rule = primitive.rules.linearize
    assert rule is not None, "asked only where there is a rule"
    primals_out, nonzero, tangent_map = rule(primals, nonzeros(tangents), params)
    return primals_out, with_zeros(nonzero, tangent_map(present(tangents)))


def jvp_flat(
    fun: Callable[..., Sequence[Array]],
    primals: Sequence[Array],
    tangents: Sequence[Tangent],
    user_fun: Callable[..., object] | None = None,
) -> tuple[list[Array], list[Tangent]]:
    """Push tangents through a function of arrays.

    Args:
        fun: takes the primals positionally and returns a sequence of arrays.
        primals: where to differentiate.
        tangents: one per primal, of the same type, or ``ZERO``.
        user_fun: the function to name in messages.

    Returns:
        The results and their tangents, each of which may be ``ZERO``.
    """
    parent, current = current_trace(), settings()
    trace = stand_in(JVPTrace, parent, current)(parent, user_fun)
    with Running(trace):
        outs = fun(
            *[
                primal if tangent is ZERO else JVPTracer(trace, primal, tangent)
                for primal, tangent in zip(primals, tangents, strict=True)
            ]
        )
        primals_out, tangents_out = trace.split(outs)
    if current.check_leaks and user_fun is not None:
        check = leak_check(trace, fun)
        del trace, outs
        check()
    return primals_out, tangents_out


def jvp_jaxpr(
    jaxpr: Jaxpr, nonzero: tuple[bool, ...], required: tuple[bool, ...] | None = None
) -> tuple[Staged, tuple[bool, ...]]:
    """Stage the jvp of a jaxpr.

    Args:
        jaxpr: the program.
        nonzero: which parameters have tangents.
        required: which results must have one even where it is zero. Loops and conditionals need it:
            what has a tangent in one branch or iteration has one in all.

    Returns:
        A jaxpr that takes the parameters and then the tangents there are, and returns the results
        and then their tangents; and which results have one.
    """

    def make() -> tuple[Staged, tuple[bool, ...]]:
        nonzero_outs: list[tuple[bool, ...]] = []

        def run(*args: Array) -> list[Array]:
            n = len(nonzero)
            tangents = with_zeros(nonzero, args[n:])
            outs, out_tangents = jvp_flat(lambda *xs: eval_jaxpr(jaxpr, xs), args[:n], tangents)
            nonzero_outs.append(nonzeros(out_tangents))
            return [*outs, *present(out_tangents)]

        chosen = marked(jaxpr.in_avals, nonzero)
        staged = stage(run, [*jaxpr.in_avals, *(aval.tangent() for aval in chosen)])
        return staged, nonzero_outs[0]

    plain = jaxpr.derive(("jvp", nonzero), make)
    staged, nonzero_out = plain
    if required is None or not lacking(nonzero_out, required):
        return plain

    def fill() -> tuple[Staged, tuple[bool, ...]]:
        program, n = staged.jaxpr, len(nonzero_out)
        outs, tangents = fill_zeros(jaxpr.out_avals, program.outs[n:], nonzero_out, required)
        filled = Jaxpr(program.in_binders, program.eqns, (*program.outs[:n], *outs))
        return Staged(filled, staged.consts), tangents

    return jaxpr.derive(("jvp", nonzero, required), fill)


def lacking(present: Sequence[bool], required: Sequence[bool]) -> bool:
    """Whether there is a result that must have a tangent and has none."""
    return any(want and not has for has, want in zip(present, required, strict=True))


def fill_zeros(
    avals: Sequence[ShapedArray],
    tangents: Sequence[Atom],
    present: Sequence[bool],
    required: Sequence[bool],
) -> tuple[tuple[Atom, ...], tuple[bool, ...]]:
    """Put zeros among the tangents of a program's results, where they are wanted and not there.

    Args:
        avals: the types of the results.
        tangents: the tangents there are.
        present: which results have one.
        required: which must have one.

    Returns:
        The tangents, and which results have one now.
    """
    rest = iter(tangents)
    filled = tuple(
        [
            next(rest) if has else zero_literal(aval.tangent())
            for aval, has, want in zip(avals, present, required, strict=True)
            if has or want
        ]
    )
    return filled, tuple([a or b for a, b in zip(present, required, strict=True)])
