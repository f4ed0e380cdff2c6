"""How long instructions and equations take, from XLA's profile of a compiled program.

XLA tells how long each instruction took that it runs by itself. One that runs others, such as a
loop, is left what these do not take. A fusion's time is divided among the equations that were fused
in it, by what they are estimated to cost. Of copies, and of what XLA's passes make up, it does not
tell where they come from: their time is no equation's.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from tinyjax.core import xla
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.exploring import compiled, counting, numbering
from tinyjax.exploring.model import Computation, Instruction, Work
from tinyjax.profiler.xla import OpEvent

#: What a function such as ``exp`` takes, in operations, and what moving a byte does.
_OF_A_FUNCTION: Final = 10.0
_OF_A_BYTE: Final = 1 / 16


@attrs.frozen
class CompiledTimes:
    """How long the pieces of a program take in one run.

    Attributes:
        instructions: for each instruction that runs by itself, by name, the seconds.
        equations: for each equation, by number, the seconds.
        untold: seconds of instructions of which it is not known where they come from.
    """

    instructions: dict[str, float]
    equations: dict[int, float]
    untold: float


def compiled_times(
    events: Sequence[OpEvent],
    hlo: Sequence[Computation],
    written: Sequence[tuple[int, ...]],
    works: Sequence[Work],
) -> CompiledTimes:
    """Divide the time of instructions among equations.

    Args:
        events: runs of the program's instructions, in the order in which they began.
        hlo: the compiled program.
        written: for each equation, the lines of StableHLO that it became.
        works: what one run of each equation takes.
    """
    of_line: defaultdict[int, list[int]] = defaultdict(list)
    for number, lines in enumerate(written):
        for line in lines:
            of_line[line].append(number)
    instructions = _seconds(events, _within(hlo))
    equations: defaultdict[int, float] = defaultdict(float)
    untold = 0.0
    for computation in hlo:
        for instruction in computation.instructions:
            seconds = instructions.get(instruction.name)
            if seconds is None:
                continue
            sources = {*_sources(instruction, hlo)}
            costs = {i: _estimate(works[i]) for line in sources for i in of_line[line]}
            total = sum(costs.values())
            for number, cost in costs.items():
                equations[number] += seconds * (cost / total)
            if not costs:
                untold += seconds
    return CompiledTimes(instructions, dict(equations), untold)


def _estimate(work: Work) -> float:
    # what is neither computed nor moved takes some time, too
    return 1.0 + work.flops + _OF_A_FUNCTION * work.functions + _OF_A_BYTE * work.nbytes


def _is_made_of_others(instruction: Instruction) -> bool:
    """Whether an instruction stands for those of the computation that it calls."""
    return " fusion(" in instruction.text or " call(" in instruction.text


def _sources(instruction: Instruction, hlo: Sequence[Computation]) -> Iterator[int]:
    """The lines of StableHLO that an instruction comes from."""
    has_lines = False
    if _is_made_of_others(instruction) or instruction.stablehlo is None:
        for number in instruction.calls:
            for inner in hlo[number].instructions:
                for line in _sources(inner, hlo):
                    has_lines = True
                    yield line
    if not has_lines and instruction.stablehlo is not None:
        yield instruction.stablehlo


def _within(hlo: Sequence[Computation]) -> dict[str, frozenset[str]]:
    """For each instruction that runs computations, the instructions in these."""
    inside: dict[int, frozenset[str]] = {}

    def names(number: int) -> frozenset[str]:
        inner_names = inside.get(number)
        if inner_names is None:
            own = hlo[number].instructions
            inner = [names(called) for one in own for called in one.calls]
            inner_names = inside[number] = frozenset([one.name for one in own]).union(*inner)
        return inner_names

    return {
        one.name: frozenset[str]().union(*map(names, one.calls))
        for computation in hlo
        for one in computation.instructions
        if one.calls
    }


def runs_of(events: Sequence[OpEvent]) -> dict[int, list[OpEvent]]:
    """The runs of programs, by number, each with its instructions'."""
    runs: defaultdict[int, list[OpEvent]] = defaultdict(list)
    for event in events:
        runs[event.run].append(event)
    return runs


def _seconds(events: Sequence[OpEvent], within: Mapping[str, frozenset[str]]) -> dict[str, float]:
    """How long each instruction takes in one run, without those that run within it."""
    runs = runs_of(events)
    totals: defaultdict[str, float] = defaultdict(float)
    for run in runs.values():
        starts = [event.start for event in run]
        for event in run:
            duration = event.end - event.start
            inner = within.get(event.op)
            if inner:
                covered = event.start
                last = bisect_right(starts, event.end)
                for other in run[bisect_left(starts, event.start) : last]:
                    if other.op in inner:
                        start, end = max(other.start, covered), min(other.end, event.end)
                        duration -= max(end - start, 0.0)
                        covered = max(covered, end)
            totals[event.op] += duration
    return {op: seconds / len(runs) for op, seconds in totals.items()}


def with_times(hlo: Sequence[Computation], times: CompiledTimes) -> tuple[Computation, ...]:
    """The compiled program with what its instructions take."""
    seconds = times.instructions
    return compiled.changed(hlo, lambda one: attrs.evolve(one, seconds=seconds.get(one.name)))


@attrs.frozen
class LineTimes:
    """How long lines took in all runs of a program.

    Attributes:
        lines: by file and number, the seconds.
        untold: seconds of instructions of which it is not known which line they come from.
    """

    lines: dict[tuple[str, int], float]
    untold: float


def line_times(events: Sequence[OpEvent], hlo: Sequence[Computation], jaxpr: jx.Jaxpr) -> LineTimes:
    """Divide the time of a program's instructions among lines.

    Args:
        events: their runs, in the order in which they began.
        hlo: the compiled program.
        jaxpr: the program.
    """
    programs = numbering.programs_of(jaxpr)
    text, _ = xla.lowered(jaxpr, "f", (), compiled.Marks(programs))
    stablehlo = compiled.read_stablehlo(text, programs)
    eqns = [eqn for _, eqn in programs.equations()]
    joined = compiled.with_products(hlo, stablehlo.lines)
    times = compiled_times(events, joined, stablehlo.of_equation, [*map(counting.work_of, eqns)])
    runs = len(runs_of(events))
    lines: defaultdict[tuple[str, int], float] = defaultdict(float)
    untold = times.untold
    for number, seconds in times.equations.items():
        source = eqns[number].source
        if source is None:
            untold += seconds
        else:
            lines[source.location.filename, source.location.lineno] += seconds * runs
    return LineTimes(dict(lines), untold * runs)


def read_compiled(hlo: str, compilation: xla.Compilation) -> tuple[Computation, ...]:
    """Read compiled HLO, also where its metadata names the user's lines (setting ``locations``).

    Such a program is compiled once more. XLA names its instructions otherwise, but has them in the
    same order.
    """
    computations = compiled.read_hlo(hlo)
    if 'source_file="-"' in hlo:
        return computations
    plain = compiled.read_hlo(xla.compile_anew(compilation).loaded.get_hlo_text())
    names = [one.name for computation in computations for one in computation.instructions]
    if len(names) != sum(len(computation.instructions) for computation in plain):
        return ()
    rest = iter(names)
    return compiled.changed(plain, lambda one: attrs.evolve(one, name=next(rest)))
