"""The page: the model as JSON in one HTML document, whose script joins the views."""

from __future__ import annotations

import html
import json
import linecache
from collections import defaultdict
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final

from tinyjax.exploring.model import Computation, Explored, Line, Moment, Work
from tinyjax.frames import Direction, place

#: Of a longer text the rest is left out, and the page says so.
_LONGEST_TEXT: Final = 1_400_000
_LONGEST_EQUATION: Final = 400
_MOST_MOMENTS: Final = 1_000
#: How many lines are shown around those that make equations.
_AROUND: Final = 8
_DIRECTIONS: Final[tuple[Direction, ...]] = ("forward", "tangent", "backward")


def page(seen: Explored) -> str:
    """Return the page of an exploration."""
    template = files("tinyjax.exploring").joinpath("page.html").read_text(encoding="utf-8")
    # "<" begins neither the end of a script nor a comment in JSON that has none
    data = json.dumps(contents(seen), separators=(",", ":")).replace("<", "\\u003c")
    before, _, rest = template.partition("@title@")
    middle, _, after = rest.partition("@data@")
    return f"{before}{html.escape(seen.name)}, explored{middle}{data}{after}"


def contents(seen: Explored) -> dict[str, Any]:
    """Return what the page's script reads; -1 stands for no line."""
    stablehlo = _shortened(seen.stablehlo)
    return {
        "name": seen.name,
        "bounded": seen.bounded,
        "total": _work(seen.work),
        "untold": seen.untold_seconds or 0,
        "timings": [[timing.name, timing.seconds] for timing in seen.timings],
        "files": _files(seen.lines),
        "lines": [_work(line.work) for line in seen.lines],
        "programs": [
            {
                "binders": _cut(program.binders),
                "outs": _cut(program.outs),
                "equations": [min(program.equations, default=0), len(program.equations)],
            }
            for program in seen.programs
        ],
        "equations": [
            [
                _cut(eqn.text),
                -1 if eqn.line is None else eqn.line,
                eqn.program,
                eqn.nested,
                _work(eqn.work),
                eqn.times,
                _DIRECTIONS.index(eqn.direction),
                eqn.stablehlo,
            ]
            for eqn in seen.equations
        ],
        "stablehlo": stablehlo,
        "hlo": _hlo(seen.hlo),
        "memory": [[m.equation, m.nbytes] for m in _thinned(seen.memory)],
        "waiting": _waiting(seen),
    }


def _work(work: Work) -> list[float]:
    numbers = (work.flops, work.functions, work.nbytes)
    # whole numbers take half of the room
    return [*(int(x) for x in numbers), work.seconds or 0, work.xla_seconds or 0]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_EQUATION else f"{text[:_LONGEST_EQUATION]} …"


def _shortened(lines: Sequence[str]) -> list[str]:
    shown: list[str] = []
    room = _LONGEST_TEXT
    for line in lines:
        room -= len(line)
        if room < 0:
            return [*shown, f"… {len(lines) - len(shown)} more lines"]
        shown.append(line)
    return shown


def _hlo(computations: Sequence[Computation]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    room = _LONGEST_TEXT
    for computation in computations:
        rows: list[list[Any]] = []
        for instruction in computation.instructions:
            room -= len(instruction.text)
            if room < 0:
                rest = len(computation.instructions) - len(rows)
                rows.append([f"… {rest} more", -1, (), 0])
                break
            line = -1 if instruction.stablehlo is None else instruction.stablehlo
            rows.append([instruction.text, line, instruction.calls, instruction.seconds or 0])
        # a computation without room keeps its place, by which others call it
        entries.append({"heading": _cut(computation.heading), "rows": rows})
    return entries


def _thinned(moments: Sequence[Moment]) -> list[Moment]:
    """Of many moments the one of each stretch with most memory."""
    size = -(-len(moments) // _MOST_MOMENTS) or 1
    stretches = [moments[i : i + size] for i in range(0, len(moments), size)]
    return [max(stretch, key=lambda m: m.nbytes) for stretch in stretches]


def _waiting(seen: Explored) -> list[list[Any]]:
    """What waits for a backward pass, by the line that made it, the most first."""
    by_line: defaultdict[int, list[int]] = defaultdict(list)
    for value in seen.waiting:
        by_line[-1 if value.line is None else value.line].append(value.nbytes)
    rows: list[list[Any]] = []
    for line, sizes in sorted(by_line.items(), key=lambda item: -sum(item[1])):
        label = "arguments, or of no line of yours"
        if line >= 0:
            origin = seen.lines[line]
            label = f"{origin.number}: {origin.text.strip()}"
        values = f"{len(sizes)} value{'' if len(sizes) == 1 else 's'}"
        rows.append([f"{values}  {label}", sum(sizes), line])
    return rows


def _files(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The files that lines are in: for each these lines and those around them."""
    by_file: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for i, line in enumerate(lines):
        by_file[line.file][line.number] = i
    entries: list[dict[str, Any]] = []
    for file, numbers in by_file.items():
        text = linecache.getlines(file)
        context = {
            near
            for number in numbers
            for near in range(max(1, number - _AROUND), min(len(text), number + _AROUND) + 1)
        }
        rows: list[list[Any]] = []
        last = 0
        for number in sorted(context | set(numbers)):
            if rows and number > last + 1:
                rows.append(["", "…", -1])
            shown = text[number - 1].rstrip() if number <= len(text) else ""
            rows.append([number, _cut(shown), numbers.get(number, -1)])
            last = number
        # a cell of a notebook has a name of its own
        name = place(file, min(numbers)).rpartition(", line ")[0] or file
        entries.append({"name": name, "rows": rows})
    return entries
