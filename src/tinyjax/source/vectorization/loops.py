"""Loops that count, and what keeps their iterations from being made at once."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import attrs

from tinyjax._primitives.dot import dot_general_p
from tinyjax.core.tracing import jaxpr as jx, staging
from tinyjax.core.tracing.primitive import MappedAxis
from tinyjax.core.transforms import batching
from tinyjax.core.values import Array
from tinyjax.source.vectorization.accesses import Indices


class Obstacle(Enum):
    """A reason why a loop stays a loop."""

    CONTROL_FLOW = "an iteration contains a choice, a loop of unknown length, or an effect"
    CARRIED = "an iteration takes a value that the one before has computed"
    SHARED = "iterations read or write parts of an array that others write"
    GATHERED = "an iteration reads at places of its own, and would with all others one by one"
    LONG = "an iteration computes so many elements that it is as fast by itself"
    MEMORY = "all iterations at once would take too much memory"


@attrs.frozen(eq=False)
class CountedLoop:
    """A loop that counts from zero.

    Attributes:
        body: the program of an iteration, which takes constants, carry, rows and counter.
        state: the first carry.
        rows: the arrays of which each iteration takes a row.
        length: the number of iterations.
        counted: whether the last row is the counter.
        indices: the indices in the program.
    """

    body: staging.Staged
    state: Sequence[Array]
    rows: Sequence[Array]
    length: int
    counted: bool
    indices: Indices = attrs.field(init=False)

    @indices.default
    def _indices(self) -> Indices:
        ahead = {self.slices[-1]: 0} if self.counted else {}
        return Indices(self.body.jaxpr, self.length, ahead)

    @property
    def constants(self) -> Sequence[jx.Var]:
        """The parameters that are the same in all iterations."""
        return self.body.jaxpr.in_binders[: len(self.body.consts)]

    @property
    def carry(self) -> Sequence[jx.Var]:
        """The parameters that are the carry."""
        n = len(self.body.consts)
        return self.body.jaxpr.in_binders[n : n + len(self.state)]

    @property
    def slices(self) -> Sequence[jx.Var]:
        """The parameters that are rows, the counter among them."""
        return self.body.jaxpr.in_binders[len(self.body.consts) + len(self.state) :]


def is_product(eqn: jx.JaxprEqn) -> bool:
    """Return whether an equation is a product of matrices or vectors."""
    return eqn.primitive is dot_general_p


def batched(
    program: jx.Jaxpr, length: int, args: Sequence[Array], axes: Sequence[int | None]
) -> tuple[list[Array], list[int | None]]:
    """Evaluate a program for all iterations at once.

    Args:
        program: the program.
        length: the number of iterations.
        args: its arguments.
        axes: for each, the axis that the iterations are along; None where they share it.

    Returns:
        The results, and the axes of these.
    """

    def evaluated(*args: Array) -> Sequence[Array]:
        return jx.eval_jaxpr(program, args)

    return batching.batch_flat(evaluated, MappedAxis(length), args, axes)
