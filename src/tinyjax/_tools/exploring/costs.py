"""The costs of a program: operations, memory, and the times of calls from a profile."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from tinyjax._base import frames
from tinyjax._extensions.checkpointing.residuals import origin_of
from tinyjax._extensions.costs import Work, estimate, iterations, programs_run, work_of
from tinyjax._tools.exploring import compiled, numbering
from tinyjax._tools.exploring.model import Computation, Instruction, Moment, PendingValue
from tinyjax._tools.exploring.numbering import LineNumbers, ProgramTree
from tinyjax.core import xla
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.profiler.xla import OpEvent

# What memory a program needs over its course, and what waits for a backward pass.


#: Programs that are called often are entered until there are so many moments.
_MOST_MOMENTS: Final = 50_000


def direction_of(eqn: jx.JaxprEqn) -> frames.Direction:
    """Return whether an equation belongs to a value, to a tangent, or to a backward pass."""
    return eqn.source.direction if isinstance(eqn.source, frames.TracedSource) else "forward"


def moments(programs: ProgramTree) -> tuple[Moment, ...]:
    """Follow the values that are live through a program, equation by equation.

    A value lives from the equation that computes it to the last one that reads it, an argument from
    the beginning. One iteration of a loop is followed, and each branch of a conditional.
    """
    timeline: list[Moment] = []
    main = programs.jaxprs[0]
    arguments = sum(v.aval.nbytes for v in main.in_binders)
    _follow(main, arguments, frozenset(main.in_binders), programs, timeline)
    return tuple(timeline)


def _follow(
    jaxpr: jx.Jaxpr,
    live: int,
    owned: frozenset[jx.Var],
    programs: ProgramTree,
    timeline: list[Moment],
) -> None:
    """Append the moments of a program.

    Args:
        jaxpr: the program.
        live: bytes that are live when it starts.
        owned: the parameters that end with their last use; the others are the caller's.
        programs: for the numbers of equations.
        timeline: where to append.
    """
    last = {x: i for i, eqn in enumerate(jaxpr.eqns) for x in (*eqn.inputs, *eqn.out_binders)}
    results_of_program = {x for x in jaxpr.outs if isinstance(x, jx.Var)}
    owned_here = set(owned)
    number = programs.first[programs.of_jaxpr[id(jaxpr)]]
    with frames.LEVEL:
        for i, eqn in enumerate(jaxpr.eqns):
            results = sum(v.aval.nbytes for v in eqn.out_binders)
            # the results of a loop are filled while it runs
            early = iterations(eqn) != 1
            for inner in programs_run(eqn):
                if len(timeline) < _MOST_MOMENTS:
                    _follow(inner, live + early * results, frozenset(), programs, timeline)
            live += results
            timeline.append(Moment(number + i, live))
            owned_here.update(eqn.out_binders)
            dead = {
                x
                for x in (*eqn.inputs, *eqn.out_binders)
                if isinstance(x, jx.Var)
                and x in owned_here
                and x not in results_of_program
                and last[x] == i
            }
            live -= sum(x.aval.nbytes for x in dead)
            owned_here -= dead


def waiting(programs: ProgramTree, lines: LineNumbers) -> tuple[PendingValue, ...]:
    """Find the values that equations compute, or arguments, and that a backward pass reads."""
    result: list[PendingValue] = []
    for which, (jaxpr, first) in enumerate(zip(programs.jaxprs, programs.first, strict=True)):
        backward = [direction_of(eqn) == "backward" for eqn in jaxpr.eqns]
        if not any(backward):
            continue
        read = {
            x: None
            for eqn, is_backward in zip(jaxpr.eqns, backward, strict=True)
            if is_backward
            for x in eqn.inputs
            if isinstance(x, jx.Var)
        }
        origins = {
            var: i
            for i, (eqn, is_backward) in enumerate(zip(jaxpr.eqns, backward, strict=True))
            if not is_backward
            for var in eqn.out_binders
        }
        arguments = frozenset(jaxpr.in_binders) if which == 0 else frozenset[jx.Var]()
        for var in read:
            i = origins.get(var)
            if i is not None:
                location = origin_of(jaxpr, var)[2]
                line = lines.number(location)
                result.append(PendingValue(str(var.aval), var.aval.nbytes, line, first + i))
            elif var in arguments:
                result.append(PendingValue(str(var.aval), var.aval.nbytes, None, None))
    return tuple(result)


# How long instructions and equations take, from XLA's profile of a compiled program.
#
# XLA tells how long each instruction took that it runs by itself. One that runs others, such as a
# loop, is left what these do not take. A fusion's time is divided among the equations that were
# fused in it, by what they are estimated to cost. Of copies, and of what XLA's passes make up, it
# does not tell where they come from: their time is no equation's.


@attrs.frozen
class CompiledTimes:
    """The times of a program's pieces in one run.

    Attributes:
        instructions: for each instruction that runs by itself, by name, the seconds.
        equations: for each equation, by number, the seconds.
        unattributed: seconds of instructions of unknown origin.
    """

    instructions: dict[str, float]
    equations: dict[int, float]
    unattributed: float


def compiled_times(
    events: Sequence[OpEvent],
    hlo: Sequence[Computation],
    hlo_lines: Sequence[tuple[int, ...]],
    works: Sequence[Work],
) -> CompiledTimes:
    """Divide the time of instructions among equations.

    Args:
        events: runs of the program's instructions, in the order in which they began.
        hlo: the compiled program.
        hlo_lines: for each equation, the lines of StableHLO that it became.
        works: what one run of each equation takes.
    """
    of_line: defaultdict[int, list[int]] = defaultdict(list)
    for number, lines in enumerate(hlo_lines):
        for line in lines:
            of_line[line].append(number)
    instructions = _seconds(events, _inner_instructions(hlo))
    equations: defaultdict[int, float] = defaultdict(float)
    untold = 0.0
    for computation in hlo:
        for instruction in computation.instructions:
            seconds = instructions.get(instruction.name)
            if seconds is None:
                continue
            sources = {*_sources(instruction, hlo)}
            costs = {i: estimate(works[i]) for line in sources for i in of_line[line]}
            total = sum(costs.values())
            for number, cost in costs.items():
                equations[number] += seconds * (cost / total)
            if not costs:
                untold += seconds
    return CompiledTimes(instructions, dict(equations), untold)


def _is_made_of_others(instruction: Instruction) -> bool:
    """Return whether an instruction consists of those of the computation that it calls."""
    return " fusion(" in instruction.text or " call(" in instruction.text


def _sources(instruction: Instruction, hlo: Sequence[Computation]) -> Iterator[int]:
    """Yield the lines of StableHLO that an instruction comes from."""
    has_lines = False
    if _is_made_of_others(instruction) or instruction.stablehlo is None:
        for number in instruction.calls:
            for inner in hlo[number].instructions:
                for line in _sources(inner, hlo):
                    has_lines = True
                    yield line
    if not has_lines and instruction.stablehlo is not None:
        yield instruction.stablehlo


def _inner_instructions(hlo: Sequence[Computation]) -> dict[str, frozenset[str]]:
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
    """Return the runs of programs, by number, each with its instructions'."""
    runs: defaultdict[int, list[OpEvent]] = defaultdict(list)
    for event in events:
        runs[event.run].append(event)
    return runs


def _seconds(events: Sequence[OpEvent], nested: Mapping[str, frozenset[str]]) -> dict[str, float]:
    """Return the time of each instruction in one run, without those that run within it."""
    runs = runs_of(events)
    totals: defaultdict[str, float] = defaultdict(float)
    for run in runs.values():
        starts = [event.start for event in run]
        for event in run:
            duration = event.end - event.start
            inner = nested.get(event.op)
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
    """Return the compiled program with the times of its instructions."""
    seconds = times.instructions
    return compiled.changed(hlo, lambda one: attrs.evolve(one, seconds=seconds.get(one.name)))


def line_times(
    events: Sequence[OpEvent], hlo: Sequence[Computation], jaxpr: jx.Jaxpr
) -> dict[tuple[str, int] | None, float]:
    """Divide the time of a program's instructions among lines.

    Args:
        events: their runs, in the order in which they began.
        hlo: the compiled program.
        jaxpr: the program.

    Returns:
        The seconds of all runs, by file and number; by None those of which it is not known which
        line they come from.
    """
    programs = numbering.programs_of(jaxpr)
    text, _ = xla.lowered(jaxpr, "f", (), compiled.EquationMarks(programs))
    stablehlo = compiled.read_stablehlo(text, programs)
    eqns = [eqn for _, eqn in programs.equations()]
    joined = compiled.with_products(hlo, stablehlo.lines)
    times = compiled_times(events, joined, stablehlo.of_equation, [*map(work_of, eqns)])
    runs = len(runs_of(events))
    lines: dict[tuple[str, int] | None, float] = {None: times.unattributed * runs}
    for number, seconds in times.equations.items():
        source = eqns[number].source
        line = None if source is None else (source.location.filename, source.location.lineno)
        lines[line] = lines.get(line, 0.0) + seconds * runs
    return lines


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
