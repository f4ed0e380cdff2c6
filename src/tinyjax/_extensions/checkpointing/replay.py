"""The part of a loop's body that derivatives run again, and its tangent map."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from tinyjax._base import lazy
from tinyjax._primitives.linear_maps import MaskedPullBack
from tinyjax.core.control_flow.bodies import LoopBody, LoopOperands, grown
from tinyjax.core.control_flow.compaction import compacted
from tinyjax.core.tracing import primitive as prim, program_rules
from tinyjax.core.tracing.jaxpr import Jaxpr, eval_jaxpr
from tinyjax.core.tracing.primitive import Arrays
from tinyjax.core.transforms.linearize import LinearizedJaxpr, linearize_jaxpr
from tinyjax.core.transforms.transpose import backward_pass
from tinyjax.core.values import Array, ShapedArray


@attrs.frozen(eq=False, repr=False)
class Replay:
    """The part of a loop's body that derivatives run again.

    The replay leaves out a part of the state if no residual and no needed part depends on it, as on
    a counter or on a stack that is only written to. So a derivative of the backward pass does not
    stack stacks.

    Attributes:
        loop: the body.
        halves: the body, split in its primal half and its tangent map.
        nonzero: which operands of the body have tangents.
        needed: the operands that residuals depend on, in this iteration or in a later one.
        avals: the types of these.
        tangent: the tangent map, which may take masks.
        linear: the types of its linear operands.
    """

    loop: LoopBody
    halves: LinearizedJaxpr
    nonzero: LoopOperands[bool]
    needed: LoopOperands[bool]
    avals: LoopOperands[ShapedArray]
    tangent: Jaxpr
    linear: LoopOperands[ShapedArray]

    @staticmethod
    def linearized(
        body: LoopBody, nonzero: LoopOperands[bool], nonzero_out: tuple[bool, ...]
    ) -> LinearizedJaxpr:
        """Split a body, for tangents of these operands and results."""
        return compacted(linearize_jaxpr(body.jaxpr, nonzero.flat, nonzero_out))

    @classmethod
    def build(
        cls, body: LoopBody, nonzero: LoopOperands[bool], nonzero_out: tuple[bool, ...]
    ) -> Replay:
        halves = cls.linearized(body, nonzero, nonzero_out)
        primal, m = halves.primal, body.num_carry
        results = [False] * (len(nonzero_out) - m)
        computed = [True] * (len(primal.jaxpr.outs) - len(nonzero_out))

        def needed(state: Sequence[bool]) -> LoopOperands[bool]:
            _, marks = program_rules.prune_results(primal.jaxpr, (*state, *results, *computed))
            marks_in = enumerate(marks[len(primal.consts) :])
            return body.operands([mark or i in halves.forwarded for i, mark in marks_in])

        none: LoopOperands[bool] = LoopOperands((), [False] * m)
        operands = needed(grown(none, lambda marks: needed(marks.carry).carry).carry)
        avals = body.in_avals.marked(operands)
        linear = body.in_avals.marked(nonzero).each(lambda part: [aval.tangent() for aval in part])
        return cls(body, halves, nonzero, operands, avals, halves.tangent, linear)

    def masked(self, pull: Callable[..., Arrays]) -> MaskedPullBack:
        """Return the masked backward pass, which ``pull`` makes from a masked step and operands."""
        sizes_in = len(self.linear.consts), len(self.linear.carry), len(self.linear.xs)
        skip = len(self.tangent.in_binders) - sum(sizes_in)
        state, count = sizes_in[1], len(self.tangent.outs)
        sizes_out = state, count - state

        def pull_back(*operands: Array) -> Arrays:
            programs = lazy.hook("selections").programs
            tangent = programs.bordered(
                self.tangent,
                (*[False] * skip, *[True] * sum(sizes_in)),
                (True,) * count,
                (skip + sizes_in[0], *sizes_in[1:]),
                sizes_out,
            )
            linear = self.linear.each(programs.with_masks)
            return pull(attrs.evolve(self, tangent=tangent, linear=linear), *operands)

        linear = (True,) * sum(sizes_in)
        return MaskedPullBack(self.tangent, linear, sizes_in, sizes_out, pull_back)

    def body(self, operands: LoopOperands[Array]) -> list[Array]:
        """Compute the results of the body as its linearization does.

        Where a function in the body has a custom rule, its results are those of the rule, as in a
        loop that keeps all residuals. So a derivative of the backward pass does not apply the rule
        again.
        """
        loop, n = self.loop.jaxpr, len(self.loop.jaxpr.outs)
        primal = linearize_jaxpr(loop, self.nonzero.flat).primal
        jaxpr = program_rules.dce(primal.jaxpr, [i < n for i in range(len(primal.jaxpr.outs))])
        return eval_jaxpr(jaxpr, [*primal.consts, *operands.flat])

    def part(self, state: Arrays) -> list[Array]:
        """Return the parts of a state that are needed."""
        return [*prim.marked(state, self.needed.carry)]

    def step(self, operands: LoopOperands[Array]) -> list[Array]:
        """Make an iteration of the needed part alone."""
        return self._run(operands, self.needed.carry, residuals=False)

    def residuals(self, operands: LoopOperands[Array]) -> list[Array]:
        """Return the residuals of an iteration's tangent map, from the needed operands."""
        computed = self._run(operands, [False] * len(self.needed.carry), residuals=True)
        needed = self.needed.flat
        places = prim.marked(range(len(needed)), needed)
        return self.halves.residuals(dict(zip(places, operands.flat, strict=True)), computed)

    def pull_back(
        self, residuals: Arrays, cotangents: Arrays, sums: Arrays
    ) -> LoopOperands[prim.Tangent]:
        """Pull cotangents back through an iteration, whose residuals are these.

        Cotangents of constants are added to the sums, each in its place.
        """
        consts = self.tangent.in_binders[len(residuals) :][: len(sums)]
        tangent = attrs.evolve(self.tangent, outs=(*self.tangent.outs, *consts))
        return self.linear.like(backward_pass(tangent, residuals, [*cotangents, *sums]))

    def _run(
        self, operands: LoopOperands[Array], state: Sequence[bool], residuals: bool
    ) -> list[Array]:
        primal = self.halves.primal
        num_results = len(self.halves.nonzero_out)
        results = [False] * (num_results - len(state))
        used = (*state, *results, *[residuals] * (len(primal.jaxpr.outs) - num_results))
        needed = (*[True] * len(primal.consts), *self.needed.flat)
        return eval_jaxpr(
            program_rules.shorten(primal.jaxpr, used, needed), [*primal.consts, *operands.flat]
        )
