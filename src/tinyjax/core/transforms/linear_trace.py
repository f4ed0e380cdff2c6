"""The trace that records the tangents of a linearization."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tinyjax.config import settings
from tinyjax.core.tracing import dependence as dep, jaxpr as jx, staging as stg, trace as tr
from tinyjax.core.tracing.primitive import ZERO, Primitive, Tangent
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import splat

P = TypeVar("P")


class LinearTrace(stg.Recorder):
    """Records what depends on its tracers, and passes everything else on."""

    __slots__ = ()

    transformation = "linearize"

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        # of the many operands that a program may take the residuals come first
        for arg in args if len(args) <= stg.FEW else reversed(args):
            if type(arg) is stg.StagingTracer and arg._trace is self:
                return self.record(primitive, args, params, None)
        return self.parent.process(primitive, args, params)

    def process_custom_call(self, call: tr.CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        if any(self.owns(x) for x in args):
            return call.record(self, args)
        return self.parent.process_custom_call(call, args)

    def apply_derivative_rule(
        self, rule: tr.DerivativeRule, primals: Sequence[Array], tangents: Sequence[Tangent]
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        start = len(self.eqns)
        outs, out_tangents = super().apply_derivative_rule(rule, primals, tangents)
        # What a linear map gives without regard to its argument is zero.
        dependent = [t if t is not ZERO and self.owns(t) else ZERO for t in out_tangents]
        return self._untangle(start, outs), dependent

    def _untangle(self, start: int, outs: Sequence[Array]) -> Sequence[Array]:
        """Take the results of a derivative rule out of the recording of tangents.

        They are in it where the rule computes results and tangents with one program (``jit`` of
        both), which is recorded as a whole. Of that program the part that gives the results is
        applied, once more, to what was there. Where it cannot be parted (``while_loop``), the
        tangents in it are zeros, on which results do not depend.

        Args:
            start: how many equations there were before the rule was applied.
            outs: the results, of which some may be tracers of this trace.
        """
        tangled = [out for out in outs if self.owns(out)]
        if not tangled:
            return outs
        results = tuple([self.atom(out) for out in tangled])
        # in the order of their first use: variables have no order of their own
        free: dict[jx.Var, None] = dict.fromkeys(x for x in results if isinstance(x, jx.Var))
        eqns: list[jx.JaxprEqn] = []
        for eqn in reversed(self.eqns[start:]):
            if any(var in free for var in eqn.out_binders):
                eqns.append(eqn)
                free.update(dict.fromkeys(x for x in eqn.inputs if isinstance(x, jx.Var)))
                for var in eqn.out_binders:
                    free.pop(var, None)
        program = dep.dce(jx.Jaxpr(tuple(free), tuple(reversed(eqns)), results))
        values = dict(self.consts.values())
        with tr.use_trace(self.parent):
            operands = [values[v] if v in values else splat(0, v.aval) for v in free]
            untangled = iter(jx.eval_jaxpr(program, operands))
        return [next(untangled) if self.owns(out) else out for out in outs]


def linear_trace(fun: Callable[..., object] | None = None) -> LinearTrace:
    """A recorder of tangents under the current trace."""
    parent = tr.current_trace()
    return tr.stand_in(LinearTrace, parent, settings())(parent, fun)
