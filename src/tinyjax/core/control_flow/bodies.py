"""Bodies of loops: programs from constants, a carry and slices to a new carry and outputs.

A transformation of a loop transforms its body part by part: a transformed constant is constant, and
a transformed carry is carried. So operands, results and programs name their parts here, and a loop
is flat only where it is bound and lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from itertools import compress
from operator import not_
from typing import Any, Generic, TypeVar

import attrs

from tinyjax import tree
from tinyjax.core.control_flow.common import at_front, convert_all
from tinyjax.core.control_flow.compaction import compacted
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules, staging
from tinyjax.core.transforms import batching
from tinyjax.core.transforms.jvp import jvp_jaxpr
from tinyjax.core.transforms.linearize import LinearizedJaxpr, linearize_jaxpr
from tinyjax.core.transforms.transpose import backward_pass
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array

T = TypeVar("T")
U = TypeVar("U")


@tree.register_dataclass
@attrs.frozen(eq=False, repr=False)
class LoopOperands(Generic[T]):
    """The operands of a loop or of its body, or something of each of them, such as its type.

    Attributes:
        consts: the constants, which are the same in every iteration.
        carry: the state.
        xs: the inputs of the loop, or the slices that an iteration has of them.
    """

    consts: Sequence[T]
    carry: Sequence[T]
    xs: Sequence[T] = ()

    @property
    def flat(self) -> tuple[T, ...]:
        """All of them, in order."""
        return (*self.consts, *self.carry, *self.xs)

    def like(self, values: Sequence[U]) -> LoopOperands[U]:
        """Name the parts of a sequence of as many values."""
        k = len(self.consts)
        n = k + len(self.carry)
        return LoopOperands(values[:k], values[k:n], values[n:])

    def cut(self: LoopOperands[bool], values: Sequence[U]) -> LoopOperands[U]:
        """Name the parts of a sequence of as many values as are marked."""
        k = sum(self.consts)
        n = k + sum(self.carry)
        return LoopOperands(values[:k], values[k:n], values[n:])

    def __add__(self, others: LoopOperands[T]) -> LoopOperands[T]:
        """Put the parts of others behind these parts."""
        return LoopOperands(
            (*self.consts, *others.consts), (*self.carry, *others.carry), (*self.xs, *others.xs)
        )

    def divided(self, first: LoopOperands[Any]) -> tuple[LoopOperands[T], LoopOperands[T]]:
        """Undo an addition to one with parts as long as these."""
        k, m, n = len(first.consts), len(first.carry), len(first.xs)
        return (
            LoopOperands(self.consts[:k], self.carry[:m], self.xs[:n]),
            LoopOperands(self.consts[k:], self.carry[m:], self.xs[n:]),
        )

    def each(self, fun: Callable[[Sequence[T]], Sequence[U]]) -> LoopOperands[U]:
        """Apply a function to each part."""
        return LoopOperands(fun(self.consts), fun(self.carry), fun(self.xs))

    def marked(self, marks: LoopOperands[bool]) -> LoopOperands[T]:
        """Return those that are marked."""
        return LoopOperands(
            tuple(compress(self.consts, marks.consts)),
            tuple(compress(self.carry, marks.carry)),
            tuple(compress(self.xs, marks.xs)),
        )

    def partitioned(self, marks: LoopOperands[bool]) -> tuple[LoopOperands[T], LoopOperands[T]]:
        """Return those that are not marked, and those that are."""
        unmarked = LoopOperands(
            tuple(compress(self.consts, map(not_, marks.consts))),
            tuple(compress(self.carry, map(not_, marks.carry))),
            tuple(compress(self.xs, map(not_, marks.xs))),
        )
        return unmarked, self.marked(marks)


def grown(
    marks: LoopOperands[bool], iteration: Callable[[LoopOperands[bool]], Sequence[bool]]
) -> LoopOperands[bool]:
    """Mark more of the carry until an iteration of the loop adds none.

    What has a tangent, or a batch axis, after one iteration has it in the next. Every round but the
    last adds a value, and usually the first finds all.

    Args:
        marks: the operands marked at first.
        iteration: of the operands marked, gives which of the carry are marked after it.
    """
    carry = tuple(marks.carry)
    while True:
        current = LoopOperands(marks.consts, carry, marks.xs)
        after = tuple([a or b for a, b in zip(carry, iteration(current), strict=True)])
        if after == carry:
            return current
        carry = after


@attrs.frozen(eq=False, repr=False)
class LoopResults(Generic[T]):
    """The results of a loop or of its body, or something of each of them.

    Attributes:
        carry: the last state, or the next one.
        ys: the outputs of the loop, or the slices of them that an iteration gives.
    """

    carry: Sequence[T]
    ys: Sequence[T] = ()

    @property
    def flat(self) -> tuple[T, ...]:
        """All of them, in order."""
        return (*self.carry, *self.ys)

    def __add__(self, others: LoopResults[T]) -> LoopResults[T]:
        """Put the parts of others behind these parts."""
        return LoopResults((*self.carry, *others.carry), (*self.ys, *others.ys))

    def divided(self, first: LoopResults[Any]) -> tuple[LoopResults[T], LoopResults[T]]:
        """Undo an addition to one with parts as long as these."""
        m, n = len(first.carry), len(first.ys)
        return (LoopResults(self.carry[:m], self.ys[:n]), LoopResults(self.carry[m:], self.ys[n:]))


def first_tangents(
    operands: LoopOperands[Array], tangents: LoopOperands[prim.Tangent], nonzero: LoopOperands[bool]
) -> LoopOperands[Array]:
    """Return the tangents of a loop's operands, zeros where only later iterations have one."""
    carry = [
        sh.zeros_like(x) if t is prim.ZERO else t
        for x, t, has in zip(operands.carry, tangents.carry, nonzero.carry, strict=True)
        if has
    ]
    return LoopOperands(prim.present(tangents.consts), carry, prim.present(tangents.xs))


def cotangents_of(
    cotangents: Sequence[prim.Tangent], avals: Iterable[av.ShapedArray]
) -> list[Array]:
    """Return cotangents of values of some types, with zeros where one is ``ZERO``."""
    return [
        sh.zero_cotangent(aval) if ct is prim.ZERO else ct
        for ct, aval in zip(cotangents, avals, strict=True)
    ]


@attrs.frozen(eq=False, repr=False)
class LoopBody:
    """The program of an iteration: constants, the carry and slices to the new carry and outputs.

    Attributes:
        jaxpr: the program.
        num_consts: the number of parameters that are constants.
        num_carry: the number of parameters, and of results, that are the carry.
        closed: the values of its first constants, which are not operands.
    """

    jaxpr: jx.Jaxpr
    num_consts: int
    num_carry: int
    closed: Sequence[Array] = ()

    @classmethod
    def make(
        cls, operands: LoopOperands[jx.Var], eqns: Sequence[jx.JaxprEqn], outs: Sequence[jx.Atom]
    ) -> LoopBody:
        """Make a body of parts."""
        jaxpr = jx.Jaxpr(operands.flat, tuple(eqns), tuple(outs))
        return cls(jaxpr, len(operands.consts), len(operands.carry))

    @classmethod
    def stage(
        cls,
        iteration: Callable[[LoopOperands[Array]], LoopResults[Array]],
        avals: LoopOperands[av.ShapedArray],
    ) -> LoopBody:
        """Stage an iteration, for operands of these types."""
        staged = staging.stage(lambda *args: iteration(avals.like(args)).flat, avals.flat)
        return cls.closing_over(staged, avals)

    @classmethod
    def closing_over(cls, staged: staging.Staged, operands: LoopOperands[Any]) -> LoopBody:
        """Make a body of a staged program that takes such operands."""
        k = len(staged.consts) + len(operands.consts)
        return cls(staged.jaxpr, k, len(operands.carry), staged.consts)

    def operands(self, values: Sequence[T]) -> LoopOperands[T]:
        """Name the parts of something of each operand."""
        k = self.num_consts - len(self.closed)
        n = k + self.num_carry
        return LoopOperands(values[:k], values[k:n], values[n:])

    def results(self, values: Sequence[T]) -> LoopResults[T]:
        """Name the parts of something of each result."""
        return LoopResults(values[: self.num_carry], values[self.num_carry :])

    @property
    def binders(self) -> LoopOperands[jx.Var]:
        """The parameters that correspond to operands."""
        return self.operands(self.jaxpr.in_binders[len(self.closed) :])

    @property
    def in_avals(self) -> LoopOperands[av.ShapedArray]:
        """The types of the operands."""
        avals, n, k = self.jaxpr.in_avals, len(self.closed), self.num_consts
        m = k + self.num_carry
        return LoopOperands(avals[n:k], avals[k:m], avals[m:])

    @property
    def out_avals(self) -> LoopResults[av.ShapedArray]:
        """The types of the results."""
        avals, m = self.jaxpr.out_avals, self.num_carry
        return LoopResults(avals[:m], avals[m:])

    def stabilised(self) -> LoopBody:
        """Keep the type of the carry, whose weakness transformations may change."""
        k, m, jaxpr = self.num_consts, self.num_carry, self.jaxpr
        before = jaxpr.in_avals[k : k + m]
        if av.alike(before, jaxpr.out_avals[:m]):
            return self
        jaxpr = staging.extend(jaxpr, lambda *outs: [*convert_all(outs[:m], before), *outs[m:]])
        return attrs.evolve(self, jaxpr=jaxpr)

    # Derivatives

    def _required(self, carry: Sequence[bool]) -> tuple[bool, ...]:
        """Mark the results that the next iteration takes as this one has taken the carry."""
        return (*carry, *[False] * (len(self.jaxpr.outs) - self.num_carry))

    def _jvp(self, nonzero: LoopOperands[bool]) -> tuple[staging.Staged, tuple[bool, ...]]:
        return jvp_jaxpr(self.jaxpr, nonzero.flat, self._required(nonzero.carry))

    def tangents(self, nonzero: LoopOperands[bool]) -> LoopOperands[bool]:
        """Return which operands have tangents in some iteration, of those that have at first."""
        return grown(nonzero, lambda nonzero: self._jvp(nonzero)[1][: self.num_carry])

    def with_tangents(self, nonzero: LoopOperands[bool]) -> tuple[LoopBody, tuple[bool, ...]]:
        """Return the body with tangents of these operands, and the mask of results with one."""
        staged, nonzero_out = self._jvp(nonzero)
        n, p, t = len(staged.consts), len(self.jaxpr.outs), sum(nonzero.carry)
        closed, binders = staged.jaxpr.in_binders[:n], staged.jaxpr.in_binders[n:]
        outs, out_tangents = staged.jaxpr.outs[:p], staged.jaxpr.outs[p:]
        tangents = nonzero.cut(binders[len(self.jaxpr.in_binders) :])
        operands = self.operands(binders[: len(self.jaxpr.in_binders)]) + tangents
        results = self.results(outs) + LoopResults(out_tangents[:t], out_tangents[t:])
        jaxpr = jx.Jaxpr((*closed, *operands.flat), staged.jaxpr.eqns, results.flat)
        return LoopBody.closing_over(attrs.evolve(staged, jaxpr=jaxpr), operands), nonzero_out

    def linearized(self, nonzero: LoopOperands[bool]) -> tuple[LoopOperands[bool], LinearizedJaxpr]:
        """Split it in its primal half and its tangent map; say which operands have tangents."""

        def halves(nonzero: LoopOperands[bool]) -> LinearizedJaxpr:
            required = self._required(nonzero.carry)
            return compacted(linearize_jaxpr(self.jaxpr, nonzero.flat, required))

        nonzero = grown(nonzero, lambda nonzero: halves(nonzero).nonzero_out[: self.num_carry])
        return nonzero, halves(nonzero)

    def transposed(self, linear: LoopOperands[bool], nonzero: Sequence[bool]) -> LoopBody:
        """Make an iteration of the backward pass.

        Its constants are the known ones. Its carry consists of the sums of the cotangents of linear
        constants, and the cotangents of the linear carry. Its slices are the known carry, known
        slices, and cotangents of outputs. Its outputs are cotangents of linear slices.

        Args:
            linear: the operands in which the body is linear.
            nonzero: which outputs have a cotangent.
        """
        known, unknown = self.binders.partitioned(linear)
        known_avals, avals = self.in_avals.partitioned(linear)
        # The sums are cotangents of constants, as of results: what is added is added in its place.
        outs = (*self.jaxpr.outs, *unknown.consts)
        jaxpr = jx.Jaxpr((*known.flat, *unknown.flat), self.jaxpr.eqns, outs)
        num_sums, num_slices = len(unknown.consts), len(known.carry) + len(known.xs)

        def iteration(args: LoopOperands[Array]) -> LoopResults[Array]:
            sums, state = args.carry[:num_sums], args.carry[num_sums:]
            slices, outputs = args.xs[:num_slices], args.xs[num_slices:]
            cotangents = prim.with_zeros((*linear.carry, *nonzero), (*state, *outputs))
            cotangents = [*cotangents, *sums]
            into = unknown.like(backward_pass(jaxpr, [*args.consts, *slices], cotangents))
            carry = cotangents_of((*into.consts, *into.carry), (*avals.consts, *avals.carry))
            return LoopResults(carry, cotangents_of(into.xs, avals.xs))

        outputs = [aval.cotangent() for aval in prim.marked(self.out_avals.ys, nonzero)]
        return LoopBody.stage(
            iteration,
            LoopOperands(
                known_avals.consts,
                [aval.cotangent() for aval in (*avals.consts, *avals.carry)],
                [*known_avals.carry, *known_avals.xs, *outputs],
            ),
        )

    # Examples

    def batched(
        self, mapped: prim.MappedAxis, axes: LoopOperands[batching.BatchAxis], carry: Sequence[bool]
    ) -> tuple[LoopBody, LoopResults[batching.BatchAxis]]:
        """Map it over an axis; say which axis of each result is the batch.

        Args:
            mapped: the axis.
            axes: which axis of each constant and each slice is the batch.
            carry: which of the carry is batched, at the front, before and after an iteration.
        """
        in_axes = (*axes.consts, *at_front(carry), *axes.xs)
        staged, out_axes = batching.batch_jaxpr(self.jaxpr, mapped, in_axes, self._required(carry))
        operands = LoopOperands(axes.consts, carry, axes.xs)
        return LoopBody.closing_over(staged, operands), self.results(out_axes)

    # Dependence and liveness

    def dependent(self, marks: LoopOperands[bool]) -> LoopOperands[bool]:
        """Return which operands depend on those that are marked, in some iteration."""
        return grown(
            marks, lambda marks: program_rules.depends(self.jaxpr, marks.flat)[: self.num_carry]
        )

    def needed(self, used: LoopResults[bool]) -> tuple[LoopOperands[bool], LoopResults[bool]]:
        """Return which operands and which results results that are used need, in all iterations."""

        def needed(carry: Sequence[bool]) -> LoopOperands[bool]:
            return self.operands(program_rules.prune_results(self.jaxpr, (*carry, *used.ys))[1])

        start: LoopOperands[bool] = LoopOperands((), used.carry)
        carry = grown(start, lambda marks: needed(marks.carry).carry).carry
        operands = needed(carry)
        return LoopOperands(operands.consts, carry, operands.xs), LoopResults(carry, used.ys)

    def pruned(self, operands: LoopOperands[bool], results: LoopResults[bool]) -> LoopBody:
        """Return a body that computes only the parts found by ``needed``."""
        jaxpr = program_rules.shorten(self.jaxpr, results.flat, operands.flat)
        return LoopBody(jaxpr, sum(operands.consts), sum(operands.carry))

    # What is the same in every iteration

    def varying(self) -> set[jx.Atom]:
        """Return the variables that may differ between iterations, by the carry or a slice.

        The results of nested programs count as such, since computing those outside as well would
        make nested loops twice as long at every level.
        """
        return program_rules.dependents(
            self.jaxpr.eqns,
            self.jaxpr.in_binders[self.num_consts :],
            lambda eqn: eqn.primitive.effectful or jx.subjaxprs(eqn.params),
        )

    def invariant(self, varying: Set[jx.Atom], outs: Sequence[jx.Atom]) -> jx.Jaxpr:
        """Return the program that computes loop-invariant values from the constants."""
        eqns = [
            # what has no results is done in every iteration
            eqn
            for eqn in self.jaxpr.eqns
            if eqn.out_binders and varying.isdisjoint(eqn.out_binders)
        ]
        return program_rules.dce(
            jx.Jaxpr(self.jaxpr.in_binders[: self.num_consts], tuple(eqns), tuple(outs))
        )

    def hoisted(
        self, varying: Set[jx.Atom], fixed: Sequence[jx.Atom], consts: Sequence[Array]
    ) -> tuple[LoopBody, Sequence[Array]]:
        """Hoist loop-invariant computation out of the loop.

        Args:
            varying: the variables that may differ between iterations.
            fixed: the loop-invariant variables to compute.
            consts: the constants.

        Returns:
            A body that takes these values as constants, and the values of ``fixed``.
        """
        if not fixed:
            return self, ()
        values = jx.eval_jaxpr(self.invariant(varying, fixed), [*self.closed, *consts])
        jaxpr, parameters = self.jaxpr, {*self.jaxpr.in_binders}
        computed = {
            x: value
            for x, value in zip(fixed, values, strict=True)
            if isinstance(x, jx.Var) and x not in parameters
        }
        if not computed:
            return self, values
        names: dict[jx.Atom, jx.Var] = {x: jx.Var(x.aval) for x in computed}
        eqns, outs = program_rules.renamed(jaxpr, names)
        given = program_rules.dce(jx.Jaxpr((*names.values(), *jaxpr.in_binders), eqns, outs))
        closed = (*computed.values(), *self.closed)
        return LoopBody(given, len(names) + self.num_consts, self.num_carry, closed), values
