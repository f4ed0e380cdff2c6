"""The user's lines, and which of them made each equation."""

from __future__ import annotations

import linecache

import attrs

from tinyjax.exploring.model import EquationView, Line, Waiting, Work
from tinyjax.frames import Location


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
