"""Loops as strategies of reverse mode see them: a ``scan`` and a ``while_loop`` in one form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import inf
from typing import TypeVar

import attrs

from tinyjax._extensions.checkpointing.schedule import INT, element, integer, plus, write
from tinyjax.core.control_flow.bodies import LoopBody, LoopOperands, LoopResults
from tinyjax.core.control_flow.common import Observer, in_phase
from tinyjax.core.control_flow.primitives import ScanParams, WhileParams, bind_scan, run_while
from tinyjax.core.control_flow.while_loop import MEMORY, states_kept
from tinyjax.core.primitives import shape as sh
from tinyjax.core.primitives.elementwise import lt, sub
from tinyjax.core.tracing.jaxpr import eval_jaxpr
from tinyjax.core.tracing.primitive import Arrays
from tinyjax.core.values import Array, ShapedArray
from tinyjax.core.values.avals import stacked

S = TypeVar("S")
T = TypeVar("T")

#: Makes one iteration: takes its number and the operands; returns the results.
Iteration = Callable[[Array, LoopOperands[Array]], LoopResults[Array]]


@attrs.frozen(eq=False, repr=False)
class LoopView(ABC):
    """A loop: its operands, one iteration, and the place of an iteration in inputs and outputs.

    Attributes:
        body: the program of an iteration.
        fixed: the types of operands that the body does not take, which come first.
        most: a bound on the number of iterations; None where it is not known.
        checkpoints: the number of states that reverse mode keeps.
        memory: the bytes that loops of its derivatives may use for their residuals.
        budget: the bytes that its own residuals may take.
        observer: the observer of its run.
    """

    body: LoopBody
    fixed: Sequence[ShapedArray]
    most: int | None
    checkpoints: int
    memory: int
    budget: float
    observer: Observer | None

    @property
    def avals(self) -> Sequence[ShapedArray]:
        """The types of all operands."""
        return [*self.fixed, *self.spread(self.body.in_avals).flat]

    @property
    def first_carry(self) -> int:
        """The place of the carry among all operands."""
        return len(self.fixed) + self.body.num_consts

    def operands(self, values: Sequence[T]) -> LoopOperands[T]:
        """Group a value per operand as the body's constants, carry and inputs."""
        return self.body.operands(values[len(self.fixed) :])

    @abstractmethod
    def run(
        self, body: LoopBody, args: Arrays, iterations: int
    ) -> tuple[Array, LoopResults[Array]]:
        """Run the loop with another body, of more outputs.

        Args:
            body: the body; its carry is the loop's.
            args: the operands.
            iterations: the number of iterations whose outputs are stacked.

        Returns:
            How often it has run, and its results.
        """

    @abstractmethod
    def again(
        self,
        iteration: Iteration,
        operands: LoopOperands[Array],
        avals: LoopOperands[ShapedArray],
        iterations: Array,
        memory: int = 0,
        most: int | None = None,
    ) -> LoopResults[Array]:
        """Run another body as often as the loop has run, in the same order.

        Args:
            iteration: makes one iteration.
            operands: the operands; inputs are as long as the loop's.
            avals: the types of operands of an iteration.
            iterations: how many.
            memory: the bytes that reverse mode may use for the residuals of all of them.
            most: a bound on their number.
        """

    @abstractmethod
    def place(self, i: Array) -> Array:
        """Return the place of an iteration in inputs and outputs."""

    @abstractmethod
    def spread(self, avals: LoopOperands[ShapedArray]) -> LoopOperands[ShapedArray]:
        """Return the types of the loop's operands, from the types of those of an iteration."""

    def slices(self, xs: Arrays, i: Array) -> list[Array]:
        """Read the slices of the inputs that an iteration takes."""
        return [element(x, self.place(i)) for x in xs]

    def write(self, ys: Arrays, slices: Arrays, i: Array) -> list[Array]:
        """Write the outputs of an iteration to the stacks."""
        return write(ys, slices, self.place(i))

    def repeat(
        self,
        goes_on: Callable[[S], Array],
        iteration: Callable[[S], S],
        start: S,
        most: int | None,
    ) -> S:
        """Run a loop that reverse mode treats as it treats this one."""
        return run_while(goes_on, iteration, start, self.checkpoints, None, self.memory, most)


@attrs.frozen(eq=False, repr=False)
class ScanView(LoopView):
    """A ``scan``."""

    params: ScanParams

    @classmethod
    def build(cls, params: ScanParams) -> ScanView:
        """View a loop with these parameters."""
        length, size = params.length, params.checkpoints
        size = states_kept(()) if size is None else min(size, length)
        return cls(params.loop_body, (), length, size, MEMORY, inf, params.observer, params)

    def run(
        self, body: LoopBody, args: Arrays, iterations: int
    ) -> tuple[Array, LoopResults[Array]]:
        return integer(iterations), bind_scan(body, self.operands(args), self.params)

    def again(
        self,
        iteration: Iteration,
        operands: LoopOperands[Array],
        avals: LoopOperands[ShapedArray],
        iterations: Array,
        memory: int = 0,
        most: int | None = None,
    ) -> LoopResults[Array]:
        def counted(args: LoopOperands[Array]) -> LoopResults[Array]:
            i, *carry = args.carry
            after = iteration(i, LoopOperands(args.consts, carry, args.xs))
            return LoopResults([plus(i, 1), *after.carry], after.ys)

        count = ShapedArray((), INT)
        types = LoopOperands(avals.consts, [count, *avals.carry], avals.xs)
        start = LoopOperands(operands.consts, [integer(0), *operands.carry], operands.xs)
        params = attrs.evolve(self.params, observer=in_phase(self.observer, "tangent"))
        outs = bind_scan(LoopBody.stage(counted, types), start, params)
        return LoopResults(outs.carry[1:], outs.ys)

    def place(self, i: Array) -> Array:
        return sub(integer(self.params.length - 1), i) if self.params.reverse else i

    def spread(self, avals: LoopOperands[ShapedArray]) -> LoopOperands[ShapedArray]:
        return LoopOperands(avals.consts, avals.carry, stacked(avals.xs, self.params.length))


@attrs.frozen(eq=False, repr=False)
class WhileView(LoopView):
    """A ``while_loop``, which has no inputs and no outputs."""

    params: WhileParams

    @classmethod
    def build(cls, params: WhileParams) -> WhileView:
        """View a loop with these parameters."""
        most, memory = params.most, params.memory
        if most is not None:
            most = max(most, 1)  # stacks of no rows could not be written to
        fixed = params.condition.in_avals[: params.num_condition]
        size, observer = params.checkpoints, params.observer
        return cls(params.loop_body, fixed, most, size, memory, memory, observer, params)

    def goes_on(self, args: Arrays) -> Callable[[Arrays], Array]:
        """Return the condition, of the state."""
        fixed, _ = self.params.operands(args)
        return lambda state: eval_jaxpr(self.params.condition, [*fixed, *state])[0]

    def run(
        self, body: LoopBody, args: Arrays, iterations: int
    ) -> tuple[Array, LoopResults[Array]]:
        operands, goes_on, m = self.operands(args), self.goes_on(args), body.num_carry
        stacks: Arrays = [
            sh.full((iterations, *aval.shape), 0, aval.dtype) for aval in body.out_avals.ys
        ]

        def iteration(now: tuple[Arrays, Array, Arrays]) -> tuple[Arrays, Array, Arrays]:
            state, n, stacks = now
            outs = eval_jaxpr(body.jaxpr, [*body.closed, *operands.consts, *state])
            return outs[:m], plus(n, 1), write(stacks, outs[m:], n)

        start = (operands.carry, integer(0), stacks)
        state, n, stacks = self.repeat(lambda now: goes_on(now[0]), iteration, start, self.most)
        return n, LoopResults(state, stacks)

    def again(
        self,
        iteration: Iteration,
        operands: LoopOperands[Array],
        avals: LoopOperands[ShapedArray],
        iterations: Array,
        memory: int = 0,
        most: int | None = None,
    ) -> LoopResults[Array]:
        def one(now: tuple[Array, Arrays]) -> tuple[Array, Arrays]:
            i, carry = now
            return plus(i, 1), iteration(i, LoopOperands(operands.consts, carry)).carry

        tangent = in_phase(self.observer, "tangent")
        start = (integer(0), operands.carry)
        _, carry = run_while(
            lambda now: lt(now[0], iterations), one, start, self.checkpoints, tangent, memory, most
        )
        return LoopResults(carry)

    def place(self, i: Array) -> Array:
        return i

    def spread(self, avals: LoopOperands[ShapedArray]) -> LoopOperands[ShapedArray]:
        return avals
