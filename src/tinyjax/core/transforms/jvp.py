"""Forward-mode differentiation: every value carries its tangent.

A ``JVPTracer`` pairs a primal with a tangent. The trace applies each primitive's ``jvp`` rule to
the pairs, and runs the rule under its parent, so that derivatives nest. A tangent that is known to
be zero is ``ZERO`` and takes part in no computation; a value without a tangent has no tracer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, TypeVar

from tinyjax.config import settings
from tinyjax.core import devices
from tinyjax.core.tracing.jaxpr import Atom, Jaxpr, eval_jaxpr, zero_literal
from tinyjax.core.tracing.primitive import (
    ZERO,
    Primitive,
    Tangent,
    marked,
    nonzeros,
    present,
    with_zeros,
)
from tinyjax.core.tracing.staging import Staged, StagingTracer, stage
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
)
from tinyjax.core.transforms.batching import BatchTracer
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray, where_of
from tinyjax.dtypes import HostArray
from tinyjax.errors import ShardingTypeError

P = TypeVar("P")


class JVPTracer(Tracer):
    """A primal and its tangent."""

    __slots__ = ("aval", "primal", "tangent")

    aval: ShapedArray

    def __init__(self, trace: Trace, primal: Array, tangent: Array) -> None:
        self._trace = trace
        self.primal: Array = primal
        self.tangent: Array = tangent
        self.aval = primal._aval or primal.aval

    def concrete(self, purpose: str) -> HostArray:
        return self.data_of(self.primal, purpose)

    def components(self) -> Sequence[Array]:
        return self.primal, self.tangent

    def named_data(self) -> dict[str, object]:
        parts = {"primal": self.primal, "tangent": self.tangent}
        return {name: x for name, x in parts.items() if is_known(x)}


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
            rule = rules.jvp
            if rules.linearize is not None and self.records(tangents):
                rule = partial(linearize_rule, primitive)
            for adapter in self.adapters:
                rule = partial(adapter.jvp, primitive, rule)
            primals_out, tangents_out = rule(primals, tangents, params)
        except ShardingTypeError:
            if rules.evaluate is not None or where_of([x.aval for x in args]) is None:
                raise
            # the user does not write the operations of a rule, and cannot annotate their shardings
            outcome = devices.ops().jvp_unspecified(primitive, primals, tangents, params)
            primals_out, tangents_out = outcome
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
        return call.differentiated(self, args)

    def records(self, tangents: Sequence[Tangent]) -> bool:
        """Return whether operations on tangents are recorded, and primals computed apart."""
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
        for adapter in self.adapters:
            tangents = adapter.tangents(self, primals, tangents)
        return primals, tangents


def _is_recorded(tangent: Array) -> bool:
    """Return whether a linearization around it records operations on a tangent.

    This is so where a custom rule computes a jvp. A ``jvp`` rule would make one program of primals
    and tangents, and record the primals with it.
    """
    match tangent:
        case StagingTracer():
            return tangent._trace.transformation == "linearize"
        case BatchTracer():
            return _is_recorded(tangent.val)
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
        primals: the point at which to differentiate.
        tangents: one per primal, of the same type, or ``ZERO``.
        user_fun: the function to name in messages.

    Returns:
        The results and their tangents, each of which may be ``ZERO``.
    """
    parent, current = current_trace(), settings()
    trace = JVPTrace(parent, user_fun)
    with Running(trace, [x._aval or x.aval for x in primals]):
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

    key = ("jvp", nonzero, *current_trace().adapters)
    plain = jaxpr.derive(key, make)
    staged, nonzero_out = plain
    if required is None or not lacking(nonzero_out, required):
        return plain

    def fill() -> tuple[Staged, tuple[bool, ...]]:
        program, n = staged.jaxpr, len(nonzero_out)
        outs, tangents = fill_zeros(jaxpr.out_avals, program.outs[n:], nonzero_out, required)
        filled = Jaxpr(program.in_binders, program.eqns, (*program.outs[:n], *outs))
        return Staged(filled, staged.consts), tangents

    return jaxpr.derive((*key, required), fill)


def lacking(present: Sequence[bool], required: Sequence[bool]) -> bool:
    """Return whether there is a result that must have a tangent and has none."""
    return any(want and not has for has, want in zip(present, required, strict=True))


def fill_zeros(
    avals: Sequence[ShapedArray],
    tangents: Sequence[Atom],
    present: Sequence[bool],
    required: Sequence[bool],
) -> tuple[tuple[Atom, ...], tuple[bool, ...]]:
    """Put zeros in place of missing tangents of a program's results, where they are required.

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
