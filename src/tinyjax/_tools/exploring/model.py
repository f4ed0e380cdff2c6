"""The explorer's model of a program: its pieces, their costs, and their compiled forms.

Every piece has a number within its kind, by which the others refer to it. A line of the user's has
equations; an equation has lines of StableHLO; and an instruction of compiled HLO has the line of
StableHLO that it comes from.
"""

from __future__ import annotations

import attrs

from tinyjax._base.frames import Direction
from tinyjax._extensions.costs import NO_WORK, Work


@attrs.frozen
class Line:
    """A line of the user's.

    Attributes:
        file: its file.
        number: its number there, from 1.
        text: its text.
        equations: the equations that it makes.
        work: their cost.
        residual_bytes: the bytes of their results that wait for a backward pass.
    """

    file: str
    number: int
    text: str
    equations: tuple[int, ...] = ()
    work: Work = NO_WORK
    residual_bytes: int = 0


@attrs.frozen
class EquationView:
    """An equation of the program, or of one nested in it.

    Attributes:
        program: the program that has it.
        primitive: its primitive.
        text: the equation, without the programs nested in it.
        line: the line of the user's that makes it, by its place among the lines; or None.
        direction: whether it belongs to a value, to a tangent, or to a backward pass.
        nested: the programs in its parameters.
        times: the number of its runs, with the known iterations of loops, and one for other loops;
            0 for one whose results nothing needs, which XLA drops.
        work: its cost, all its runs together, without the programs nested in it.
        stablehlo: the lines of StableHLO that it became, from 0.
    """

    program: int
    primitive: str
    text: str
    line: int | None
    direction: Direction
    nested: tuple[int, ...]
    times: float
    work: Work
    stablehlo: tuple[int, ...]


@attrs.frozen
class ProgramView:
    """A program: the one explored, which is the first, or one that is nested in it.

    Attributes:
        binders: its parameters with their types.
        outs: its results.
        equations: its equations, in order.
    """

    binders: str
    outs: str
    equations: tuple[int, ...]


@attrs.frozen
class Instruction:
    """An instruction of compiled HLO.

    Attributes:
        name: its name.
        text: the instruction, without layouts and metadata.
        stablehlo: the line of StableHLO that it comes from, from 0; None where XLA made it up.
        calls: the computations that it calls; those of a fusion are what was fused.
        seconds: its time in a run of the program, all its own runs together and without
            instructions that run by themselves within it; None where XLA's profile has none.
    """

    name: str
    text: str
    stablehlo: int | None
    calls: tuple[int, ...]
    seconds: float | None = None


@attrs.frozen
class Computation:
    """A computation of compiled HLO: the entry, a fusion, or the body of a loop.

    Attributes:
        name: its name.
        heading: its name with its parameters.
        instructions: its instructions.
    """

    name: str
    heading: str
    instructions: tuple[Instruction, ...]


@attrs.frozen
class PendingValue:
    """A value that waits for a backward pass.

    Attributes:
        type: its type.
        nbytes: its size.
        line: the line that computed it; None for an argument, or where that is not known.
        equation: the equation, of the program that has the backward pass; None for an argument.
    """

    type: str
    nbytes: int
    line: int | None
    equation: int | None


@attrs.frozen
class Moment:
    """The live memory while an equation runs, if nothing is fused or reused.

    Attributes:
        equation: the equation.
        nbytes: bytes of arguments, of values that are still needed, and of its results.
    """

    equation: int
    nbytes: int


@attrs.frozen
class Timing:
    """The time of a phase.

    Attributes:
        name: ``"trace"``, ``"lower"``, ``"compile"``, ``"first run"`` or ``"later runs"``.
        seconds: the time; the median of the later runs.
    """

    name: str
    seconds: float


@attrs.frozen(eq=False, repr=False)
class Explored:
    """A program with all its pieces.

    Attributes:
        name: the function's name.
        lines: the user's lines that make equations, with their costs.
        programs: the program, and those nested in it.
        equations: the equations of all of them.
        stablehlo: the lines of StableHLO.
        hlo: compiled HLO, the entry first.
        memory: the live memory in the course of the program.
        waiting: the values that wait for a backward pass.
        timings: the times of tracing, lowering, compiling and running.
        bounded: whether the lengths of all loops are known.
        untold_seconds: the time of instructions of unknown origin in a run of the compiled program;
            None where no profile was recorded.
    """

    name: str
    lines: tuple[Line, ...]
    programs: tuple[ProgramView, ...]
    equations: tuple[EquationView, ...]
    stablehlo: tuple[str, ...]
    hlo: tuple[Computation, ...]
    memory: tuple[Moment, ...]
    waiting: tuple[PendingValue, ...]
    timings: tuple[Timing, ...]
    bounded: bool
    untold_seconds: float | None = None

    @property
    def work(self) -> Work:
        """The cost of the whole program."""
        return sum([eqn.work for eqn in self.equations], NO_WORK)
