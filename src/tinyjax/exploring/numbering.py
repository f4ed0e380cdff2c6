"""Numbers for the programs within a program, for their equations, and for the user's lines."""

from __future__ import annotations

import linecache
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import attrs

from tinyjax import records
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.exploring.model import EquationView, Line, Waiting, Work
from tinyjax.frames import Location
from tinyjax.host import costs

#: Programs in parameters that derivatives and transposes run, and the equation itself does not.
_IDLE: Final = frozenset(("backward", "matvec", "transpose_solve"))


def programs_run(eqn: jx.JaxprEqn) -> list[jx.Jaxpr]:
    """The programs in an equation's parameters that it runs."""
    params = eqn.params
    idle: list[Any] = [getattr(params, n) for n in records.field_names(type(params)) if n in _IDLE]
    return [jaxpr for jaxpr in jx.subjaxprs(params) if not any(jaxpr is x for x in idle)]


@attrs.frozen(eq=False)
class Programs:
    """A program and those nested in it, each once.

    Attributes:
        jaxprs: the programs; those that run another come before it.
        times: how often each runs.
        bounded: whether all loops run as often as is known.
        first: the number of each program's first equation; the others follow.
        of_jaxpr: the number of each program, by identity.
        of_eqn: the numbers of each equation, by identity: programs may share equations.
    """

    jaxprs: tuple[jx.Jaxpr, ...]
    times: tuple[float, ...]
    bounded: bool
    first: tuple[int, ...]
    of_jaxpr: dict[int, int]
    of_eqn: dict[int, list[int]]

    def nested(self, eqn: jx.JaxprEqn) -> tuple[int, ...]:
        """The numbers of the programs that an equation runs."""
        return tuple([self.of_jaxpr[id(jaxpr)] for jaxpr in programs_run(eqn)])

    def equations(self) -> Iterator[tuple[int, jx.JaxprEqn]]:
        """All equations in the order of their numbers, each with its program's number."""
        for i, jaxpr in enumerate(self.jaxprs):
            for eqn in jaxpr.eqns:
                yield i, eqn


def unused(jaxpr: jx.Jaxpr) -> list[bool]:
    """Which equations of a program compute what it does not need, and have no effects."""
    read = {x for x in jaxpr.outs if isinstance(x, jx.Var)}
    idle_eqns: list[bool] = []
    for eqn in reversed(jaxpr.eqns):
        idle = read.isdisjoint(eqn.out_binders) and not jx.effects_of(eqn).any
        idle_eqns.append(idle)
        if not idle:
            read.update(x for x in eqn.inputs if isinstance(x, jx.Var))
    idle_eqns.reverse()
    return idle_eqns


def programs_of(jaxpr: jx.Jaxpr) -> Programs:
    """Find the programs within a program."""
    jaxprs = _in_order(jaxpr)
    of_jaxpr = {id(program): i for i, program in enumerate(jaxprs)}
    times = [0.0] * len(jaxprs)
    times[0] = 1.0
    first: list[int] = []
    of_eqn: dict[int, list[int]] = defaultdict(list)
    bounded = True
    number = 0
    for i, program in enumerate(jaxprs):
        first.append(number)
        for eqn, idle in zip(program.eqns, unused(program), strict=True):
            of_eqn[id(eqn)].append(number)
            number += 1
            count = costs.iterations(eqn)
            if not idle:
                bounded = bounded and count is not None
                for inner in programs_run(eqn):
                    times[of_jaxpr[id(inner)]] += times[i] * (1 if count is None else count)
    return Programs(tuple(jaxprs), tuple(times), bounded, tuple(first), of_jaxpr, dict(of_eqn))


def _in_order(jaxpr: jx.Jaxpr) -> list[jx.Jaxpr]:
    """A program and those nested in it, each once and before those that it runs."""
    ordered: list[jx.Jaxpr] = []
    seen: set[int] = {id(jaxpr)}
    pending: list[tuple[jx.Jaxpr, Iterator[jx.Jaxpr]]] = [(jaxpr, _nested(jaxpr))]
    while pending:
        current, rest = pending[-1]
        inner = next(rest, None)
        if inner is None:
            ordered.append(current)
            pending.pop()
        elif id(inner) not in seen:
            seen.add(id(inner))
            pending.append((inner, _nested(inner)))
    ordered.reverse()
    return ordered


def _nested(jaxpr: jx.Jaxpr) -> Iterator[jx.Jaxpr]:
    # those found last come first when the list is reversed
    for eqn in reversed(jaxpr.eqns):
        yield from reversed(programs_run(eqn))


class Lines:
    """Numbers for the lines that make equations, in the order in which they are asked for."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int], int] = {}

    def number(self, location: Location | None) -> int | None:
        """The number of a line; None where there is no line."""
        if location is None:
            return None
        key = (location.filename, location.lineno)
        return self._numbers.setdefault(key, len(self._numbers))

    def finish(
        self, equations: tuple[EquationView, ...], waiting: tuple[Waiting, ...]
    ) -> tuple[Line, ...]:
        """Return the lines with what their equations cost."""
        lines = [
            Line(file, number, linecache.getline(file, number).rstrip())
            for file, number in self._numbers
        ]
        of_lines: list[list[int]] = [[] for _ in lines]
        work = [Work() for _ in lines]
        residual_bytes = [0] * len(lines)
        for i, eqn in enumerate(equations):
            if eqn.line is not None:
                of_lines[eqn.line].append(i)
                work[eqn.line] += eqn.work
        for value in waiting:
            if value.line is not None:
                residual_bytes[value.line] += value.nbytes
        return tuple(
            [
                attrs.evolve(line, equations=tuple(e), work=w, residual_bytes=k)
                for line, e, w, k in zip(lines, of_lines, work, residual_bytes, strict=True)
            ]
        )
