"""What memory a program needs over its course, and what waits for a backward pass."""

from __future__ import annotations

from typing import Final

from tinyjax import frames
from tinyjax.checkpointing.residuals import origin_of
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.exploring.model import Moment, Waiting
from tinyjax.exploring.numbering import Lines, Programs, programs_run
from tinyjax.frames import Direction, TracedSource
from tinyjax.host import costs

#: Programs that are called often are entered until there are so many moments.
_MOST_MOMENTS: Final = 50_000


def direction_of(eqn: jx.JaxprEqn) -> Direction:
    """Whether an equation belongs to a value, to a tangent, or to a backward pass."""
    return eqn.source.direction if isinstance(eqn.source, TracedSource) else "forward"


def moments(programs: Programs) -> tuple[Moment, ...]:
    """Follow the values that are live through a program, equation by equation.

    A value lives from the equation that computes it to the last one that reads it, an argument from
    the beginning. Of a loop one iteration is followed, of a choice each branch.
    """
    timeline: list[Moment] = []
    main = programs.jaxprs[0]
    arguments = sum(v.aval.nbytes for v in main.in_binders)
    _follow(main, arguments, frozenset(main.in_binders), programs, timeline)
    return tuple(timeline)


def _follow(
    jaxpr: jx.Jaxpr, live: int, owned: frozenset[jx.Var], programs: Programs, timeline: list[Moment]
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
            early = costs.iterations(eqn) != 1
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


def waiting(programs: Programs, lines: Lines) -> tuple[Waiting, ...]:
    """Find the values that equations compute, or arguments, and that a backward pass reads."""
    result: list[Waiting] = []
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
                result.append(Waiting(str(var.aval), var.aval.nbytes, line, first + i))
            elif var in arguments:
                result.append(Waiting(str(var.aval), var.aval.nbytes, None, None))
    return tuple(result)
