"""Linearization: the results at once, and the tangent map as a jaxpr to apply later.

It is jvp with the tangents postponed. The parent of the ``JVPTrace`` is a ``LinearTrace``, which
records a primitive if an operand depends on a tangent, and passes all others to its own parent. So
primals are computed at once, and Python control flow may depend on them. The tangent computation,
linear by construction, becomes a jaxpr whose constants are the residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Final, TypeVar

import attrs

from tinyjax._base import lazy
from tinyjax._base.frames import Applied, ScopedSource, Source, named_scopes
from tinyjax.config import Process, local_settings
from tinyjax.core.tracing import staging, trace as tr
from tinyjax.core.tracing.jaxpr import Jaxpr, JaxprEqn, Var, eval_jaxpr
from tinyjax.core.tracing.primitive import (
    ZERO,
    Primitive,
    Tangent,
    fill_list,
    marked,
    nonzeros,
    present,
    with_zeros,
)
from tinyjax.core.tracing.program_rules import dce, dependents
from tinyjax.core.transforms.jvp import JVPTrace, JVPTracer, fill_zeros, lacking
from tinyjax.core.transforms.transpose import pull_back
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.dtypes import is_inexact

P = TypeVar("P")

#: Whether loops in a program that is linearized keep what their tangent maps read, where they could
#: restore arrays that they update, and read these.
keeping: Final[ContextVar[bool]] = ContextVar("tinyjax_keeping_residuals", default=False)


class LinearTrace(staging.Recorder):
    """A trace that records operations on its tracers, and passes all others on."""

    __slots__ = ()

    transformation = "linearize"

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        # of the many operands that a program may take the residuals come first
        for arg in args if len(args) <= staging.FEW else reversed(args):
            if type(arg) is staging.StagingTracer and arg._trace is self:
                source: Source | None = None
                if self.keeps_lines and (
                    named_scopes.get() or type(tr.evaluated_source()) is ScopedSource
                ):
                    source = staging.scoped_source()
                for adapter in self.adapters:
                    source = adapter.source(self, source)
                return self.record(primitive, args, params, source)
        return self.parent.process(primitive, args, params)

    def process_custom_call(self, call: tr.CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        if any(self.owns(x) for x in args):
            return call.record(self, args)
        return self.parent.process_custom_call(call, args)


def stage_linear(
    fun: Callable[..., Sequence[Array]], avals: Sequence[ShapedArray], user_fun: Applied
) -> staging.Staged:
    """Record a linear function's operations on its arguments; others are computed now."""
    linear = LinearTrace(tr.current_trace(), user_fun)
    with tr.Running(linear, avals):
        return linear.build(fun(*linear.new_inputs(avals)))


class LinearizeTrace(JVPTrace):
    """A ``JVPTrace`` above a ``LinearTrace``, using ``linearize`` rules where there are any."""

    __slots__ = ()

    transformation = "linearize"
    linearizing = True


@attrs.frozen(eq=False, repr=False)
class LinearizedFunction:
    """A function's results at a point, and its tangent map there.

    Attributes:
        primals_out: the results.
        jaxpr: the tangent map; its first parameters are the residuals, the others the tangents of
            the arguments that have one, and what ``hooks`` read.
        residuals: the values of those first parameters.
        nonzero_in: the mask of arguments with a tangent: the floats and complexes differentiated.
        nonzero_out: the mask of results with one; the jaxpr returns only these, and the state of
            ``hooks``.
        hooks: the hooks of extensions, usually none.
    """

    primals_out: list[Array]
    jaxpr: Jaxpr
    residuals: tuple[Array, ...]
    nonzero_in: tuple[bool, ...]
    nonzero_out: tuple[bool, ...]
    hooks: tuple[staging.Hook, ...] = ()

    def apply(self, tangents: Sequence[Array]) -> list[Tangent]:
        """Apply the tangent map to the tangents of the arguments that have one."""
        outs = eval_jaxpr(self.jaxpr, [*self.residuals, *tangents])
        return with_zeros(self.nonzero_out, outs)

    def pull_back(
        self, cotangents: Sequence[Tangent], required: Sequence[bool] | None = None
    ) -> list[Tangent]:
        """Apply the transpose of the tangent map to one cotangent per result.

        Args:
            cotangents: the cotangents of the results.
            required: the arguments whose cotangents are computed; by default all.

        Returns:
            One cotangent per argument; ``ZERO`` for those that have none.
        """
        jaxpr, n = self.jaxpr, len(self.residuals)
        # every equation was recorded because it depends on a tangent
        eqns: Sequence[JaxprEqn] = jaxpr.eqns
        chosen: Sequence[Var] = jaxpr.in_binders[n:]
        places: Sequence[bool] = self.nonzero_in
        if required is not None:
            chosen = marked(chosen, marked(required, places))
            places = [a and b for a, b in zip(places, required, strict=True)]
            if self.hooks:
                chosen = [*chosen, *jaxpr.in_binders[n + sum(self.nonzero_in) :]]
            reached = dependents(eqns, chosen)
            eqns = [eqn for eqn in eqns if not reached.isdisjoint(eqn.inputs)]
        cotangents_out: Sequence[Tangent] = marked(cotangents, self.nonzero_out)
        hook_cts: list[Sequence[Tangent]] = []
        if self.hooks:
            hook_cts = [hook.cotangents() for hook in self.hooks]
            cotangents_out = [*cotangents_out, *[ct for own in hook_cts for ct in own]]
        cotangents_in = pull_back(
            eqns,
            dict(zip(jaxpr.in_binders, self.residuals, strict=False)),
            chosen,
            jaxpr.outs,
            cotangents_out,
        )
        for hook, own in zip(reversed(self.hooks), reversed(hook_cts), strict=True):
            last = len(cotangents_in) - len(own)
            hook.keep_cotangents(cotangents_in[last:])
            del cotangents_in[last:]
        return fill_list(places, cotangents_in, ZERO)


def linearize_flat(
    fun: Callable[..., Sequence[Array]],
    primals: Sequence[Array],
    chosen: Sequence[bool] | None = None,
    user_fun: Callable[..., object] | None = None,
    *,
    transposed: bool = False,
) -> LinearizedFunction:
    """Evaluate a function of arrays and record its tangent map.

    Args:
        fun: takes the primals positionally and returns a sequence of arrays.
        primals: the point at which to linearize.
        chosen: which arguments to differentiate; by default all floats and complexes.
        user_fun: the function to name in messages.
        transposed: whether the tangent map is for ``pull_back`` alone.
    """
    parent, current = tr.current_trace(), local_settings() or Process.settings
    linear = LinearTrace(parent, user_fun)
    if transposed:
        linear.outside = "cotangents"
    # of adapters no kernel knows
    is_eager = parent is tr.EVAL and not parent.adapters
    eager = lazy.extensions["eager_derivatives"] if is_eager else None
    make = LinearizeTrace if eager is None else eager.EagerLinearizeTrace
    trace: LinearizeTrace = make(linear, user_fun)
    args: list[Array] = []
    nonzero_in: list[bool] = []
    avals: list[ShapedArray] = []
    for i, x in enumerate(primals):
        aval = x._aval or x.aval
        avals.append(aval)
        has_tangent = is_inexact(aval.dtype) and (chosen is None or chosen[i])
        args.append(JVPTracer(trace, x, linear.new_input(aval)) if has_tangent else x)
        nonzero_in.append(has_tangent)
    with tr.Running(trace, avals):
        outs = fun(*args)
        primals_out, tangents_out = trace.split(outs)
    staged = linear.build(present(tangents_out))
    linear.live = False
    if current.check_leaks and user_fun is not None:
        check = tr.leak_check(trace, fun)
        del trace, args, outs
        check()
    nonzero_out = nonzeros(tangents_out)
    return LinearizedFunction(
        primals_out, staged.jaxpr, staged.consts, tuple(nonzero_in), nonzero_out, staged.hooks
    )


@attrs.frozen(eq=False, repr=False)
class LinearizedJaxpr:
    """A jaxpr split in two by ``linearize_jaxpr``.

    Attributes:
        primal: takes the parameters; returns the results and then the residuals it computes.
        tangent: takes all residuals and then the tangents there are; returns those of the results.
        forwarded: for each residual, the parameter that it is, or None where it is computed.
        nonzero_out: which results have a tangent.
    """

    primal: staging.Staged
    tangent: Jaxpr
    forwarded: tuple[int | None, ...]
    nonzero_out: tuple[bool, ...]

    def residuals(
        self, args: Sequence[Array] | Mapping[int, Array], computed: Sequence[Array]
    ) -> list[Array]:
        """Return the residuals, from the parameters and the results of ``primal``."""
        if len(computed) == len(self.forwarded):
            return [*computed]
        rest = iter(computed)
        return [next(rest) if i is None else args[i] for i in self.forwarded]


def linearize_jaxpr(
    jaxpr: Jaxpr, nonzero: tuple[bool, ...], required: tuple[bool, ...] | None = None
) -> LinearizedJaxpr:
    """Split a jaxpr into its primal half, which also returns residuals, and its tangent map.

    Args:
        jaxpr: the program.
        nonzero: which parameters have tangents.
        required: which results must have one even where it is zero.
    """

    def make() -> LinearizedJaxpr:
        live = dce(jaxpr)  # what no result needs has no residuals
        halves: list[tuple[LinearizedFunction, tuple[int | None, ...]]] = []

        def run(*args: Array) -> list[Array]:
            linearized = linearize_flat(lambda *xs: eval_jaxpr(live, xs), args, nonzero)
            places = {id(arg): i for i, arg in enumerate(args)}
            forwarded = tuple(map(places.get, map(id, linearized.residuals)))
            halves.append((linearized, forwarded))
            computed = [
                r for r, i in zip(linearized.residuals, forwarded, strict=True) if i is None
            ]
            return [*linearized.primals_out, *computed]

        staged = staging.stage(run, jaxpr.in_avals)
        ((linearized, forwarded),) = halves
        return LinearizedJaxpr(staged, linearized.jaxpr, forwarded, linearized.nonzero_out)

    key = ("linearize", nonzero, keeping.get(), *tr.current_trace().adapters)
    plain = jaxpr.derive(key, make)
    if required is None or not lacking(plain.nonzero_out, required):
        return plain

    def fill() -> LinearizedJaxpr:
        tangent = plain.tangent
        outs, present = fill_zeros(jaxpr.out_avals, tangent.outs, plain.nonzero_out, required)
        filled = Jaxpr(tangent.in_binders, tangent.eqns, outs)
        return attrs.evolve(plain, tangent=filled, nonzero_out=present)

    return jaxpr.derive((*key, required), fill)
