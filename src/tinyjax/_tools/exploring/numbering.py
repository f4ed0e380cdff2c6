"""The page of a program: its lines numbered, its parts as text, and the document that has them."""

from __future__ import annotations

import html
import json
import linecache
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from typing import Any, Final

import attrs
import numpy as np

from tinyjax._base import frames, pycode
from tinyjax._extensions.costs import Work, iterations, programs_run
from tinyjax._extensions.host import plans
from tinyjax._tools.exploring import model
from tinyjax.core.api.staging import make_jaxpr
from tinyjax.core.tracing import jaxpr as jx

# The NumPy program that a function becomes, as text.


def numpy_text(fun: Callable[..., Any]) -> Callable[..., str]:
    """Show NumPy's program for a function that is evaluated again and again.

    Args:
        fun: takes and returns arrays, in any containers.

    Returns:
        A function that takes the same arguments, and returns the text of a Python function of NumPy
        arrays: ``a0`` and so on are the arguments' leaves, ``c7`` and so on numbers that are shown
        first, and a function is named by the primitive that it evaluates.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.extend import numpy_text
        >>> print(numpy_text(lambda x: jnp.sin(x) * x + 1.0)(jnp.ones(3)))
        c8 = 1.0
        def program(a0):
            v2 = add_9(mul_7(sin_6(a0), a0), c8)
            return [v2]
    """

    def text(*args: Any, **kwargs: Any) -> str:
        closed = make_jaxpr(fun)(*args, **kwargs)
        body = plans.PythonBody(closed.jaxpr, closed.consts)
        after = [pycode.returned(pycode.list_of(body.results))]
        code = [*body.straightened(after), *after]
        program = pycode.printed(
            [pycode.FunctionDefinition("program", body.parameters, code)], pycode.WIDTH
        )
        numbers = [
            f"{name} = {value.flat[0]}\n"
            for name, value in body.scope.items()
            if isinstance(value, (np.ndarray, np.generic)) and not any(value.strides)
        ]
        return "".join([*numbers, str(program).rstrip()])

    return text


# Numbers for the programs within a program, for their equations, and for the user's lines.


@attrs.frozen(eq=False)
class ProgramTree:
    """A program and those nested in it, each once.

    Attributes:
        jaxprs: the programs; those that run another come before it.
        times: the number of runs of each.
        bounded: whether the lengths of all loops are known.
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
        """Return the numbers of the programs that an equation runs."""
        return tuple([self.of_jaxpr[id(jaxpr)] for jaxpr in programs_run(eqn)])

    def equations(self) -> Iterator[tuple[int, jx.JaxprEqn]]:
        """Yield all equations in the order of their numbers, each with its program's number."""
        for i, jaxpr in enumerate(self.jaxprs):
            for eqn in jaxpr.eqns:
                yield i, eqn


def unused(jaxpr: jx.Jaxpr) -> list[bool]:
    """Return the mask of a program's dead equations, which have no effects."""
    read = {x for x in jaxpr.outs if isinstance(x, jx.Var)}
    idle_eqns: list[bool] = []
    for eqn in reversed(jaxpr.eqns):
        idle = read.isdisjoint(eqn.out_binders) and not jx.effects_of(eqn).any
        idle_eqns.append(idle)
        if not idle:
            read.update(x for x in eqn.inputs if isinstance(x, jx.Var))
    idle_eqns.reverse()
    return idle_eqns


def programs_of(jaxpr: jx.Jaxpr) -> ProgramTree:
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
            count = iterations(eqn)
            if not idle:
                bounded = bounded and count is not None
                for inner in programs_run(eqn):
                    times[of_jaxpr[id(inner)]] += times[i] * (1 if count is None else count)
    return ProgramTree(tuple(jaxprs), tuple(times), bounded, tuple(first), of_jaxpr, dict(of_eqn))


def _in_order(jaxpr: jx.Jaxpr) -> list[jx.Jaxpr]:
    """Return a program and those nested in it, each once and before those that it runs."""
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


class LineNumbers:
    """Numbers for the lines that make equations, in the order of their first use."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int], int] = {}

    def number(self, location: frames.Location | None) -> int | None:
        """Return the number of a line; None where there is no line."""
        if location is None:
            return None
        key = (location.filename, location.lineno)
        return self._numbers.setdefault(key, len(self._numbers))

    def finish(
        self, equations: tuple[model.EquationView, ...], waiting: tuple[model.PendingValue, ...]
    ) -> tuple[model.Line, ...]:
        """Return the lines with the costs of their equations."""
        lines = [
            model.Line(file, number, linecache.getline(file, number).rstrip())
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


# The page: the model as JSON in one HTML document, whose script joins the views.


#: Of a longer text the rest is left out, and the page says so.
_LONGEST_TEXT: Final = 1_400_000
_LONGEST_EQUATION: Final = 400
_MOST_MOMENTS: Final = 1_000
#: How many lines are shown around those that make equations.
_AROUND: Final = 8
_DIRECTIONS: Final[tuple[frames.Direction, ...]] = ("forward", "tangent", "backward")


def page(seen: model.Explored) -> str:
    """Return the page of an exploration."""
    template = files("tinyjax._tools.exploring").joinpath("page.html").read_text(encoding="utf-8")
    # "<" begins neither the end of a script nor a comment in JSON that has none
    data = json.dumps(contents(seen), separators=(",", ":")).replace("<", "\\u003c")
    before, _, rest = template.partition("@title@")
    middle, _, after = rest.partition("@data@")
    return f"{before}{html.escape(seen.name)}, explored{middle}{data}{after}"


def contents(seen: model.Explored) -> dict[str, Any]:
    """Return the data of the page's script; -1 is no line."""
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
    # whole numbers take half of the space
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


def _hlo(computations: Sequence[model.Computation]) -> list[dict[str, Any]]:
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
        # a computation that does not fit keeps its number, by which others call it
        entries.append({"heading": _cut(computation.heading), "rows": rows})
    return entries


def _thinned(moments: Sequence[model.Moment]) -> list[model.Moment]:
    """Of many moments the one of each stretch with most memory."""
    size = -(-len(moments) // _MOST_MOMENTS) or 1
    stretches = [moments[i : i + size] for i in range(0, len(moments), size)]
    return [max(stretch, key=lambda m: m.nbytes) for stretch in stretches]


def _waiting(seen: model.Explored) -> list[list[Any]]:
    """Return the rows of values that wait for a backward pass, by their line, the largest first."""
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


def _files(lines: Sequence[model.Line]) -> list[dict[str, Any]]:
    """Return the files that lines are in: for each these lines and those around them."""
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
        name = frames.place(file, min(numbers)).rpartition(", line ")[0] or file
        entries.append({"name": name, "rows": rows})
    return entries
