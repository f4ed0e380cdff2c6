"""The compiled form of a program: StableHLO by equation, and compiled HLO by line of StableHLO."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from tinyjax._extensions.parallel.communication import called_by, computations_of
from tinyjax._tools.exploring.model import Computation, Instruction
from tinyjax._tools.exploring.numbering import ProgramTree
from tinyjax.core.tracing.jaxpr import JaxprEqn

_LOCATION: Final = re.compile(r' loc\("(\d+)"\)$')


@attrs.frozen
class StableHLO:
    """The lines of a module.

    Attributes:
        lines: the lines.
        of_equation: for each equation, the lines that it became.
    """

    lines: tuple[str, ...]
    of_equation: tuple[tuple[int, ...], ...]


class EquationMarks:
    """Marks equations by their numbers where they are lowered."""

    def __init__(self, programs: ProgramTree) -> None:
        self._programs = programs

    def __call__(self, eqn: JaxprEqn) -> str:
        """Return the mark of an equation; nothing for one that a rule has made up."""
        numbers = self._programs.of_eqn.get(id(eqn))
        return "" if numbers is None else f'"{numbers[0]}"'


def read_stablehlo(text: str, programs: ProgramTree) -> StableHLO:
    """Return a module's text without the marks, and the lines of each mark.

    A function that is called at several places is emitted once: then the equations of each are
    those lines.
    """
    lines: list[str] = []
    lines_of_eqn: dict[int, list[int]] = defaultdict(list)
    opened: list[int] = []
    for i, line in enumerate(text.rstrip("\n").split("\n")):
        mark = _LOCATION.search(line)
        if line.endswith("({"):
            opened.append(i)
        elif line.lstrip().startswith("})"):
            # an operation with regions is marked where these end
            first = opened.pop()
            if mark is not None:
                lines_of_eqn[int(mark[1])].append(first)
        if mark is not None:
            lines_of_eqn[int(mark[1])].append(i)
        lines.append(line if mark is None else line[: mark.start()])
    for numbers in programs.of_eqn.values():
        for other in numbers[1:]:
            lines_of_eqn[other] = lines_of_eqn[numbers[0]]
    count = sum(len(jaxpr.eqns) for jaxpr in programs.jaxprs)
    _share_written(programs, lines_of_eqn)
    return StableHLO(tuple(lines), tuple([tuple(sorted(lines_of_eqn[i])) for i in range(count)]))


def _share_written(programs: ProgramTree, lines_of_eqn: dict[int, list[int]]) -> None:
    """Give equations of equal programs the lines of the one that was emitted."""
    equal: dict[bytes, list[int]] = defaultdict(list)
    for i, jaxpr in enumerate(programs.jaxprs):
        if jaxpr.eqns:
            equal[jaxpr.digest].append(i)
    for same in equal.values():
        size = len(programs.jaxprs[same[0]].eqns)
        for offset in range(size if len(same) > 1 else 0):
            numbers = [programs.first[i] + offset for i in same]
            written = next((lines_of_eqn[n] for n in numbers if lines_of_eqn[n]), [])
            for n in numbers:
                lines_of_eqn[n] = lines_of_eqn[n] or written


_FRAME: Final = re.compile(r"^(\d+) \{file_location_id=(\d+)")
_PLACE: Final = re.compile(r"^(\d+) \{file_name_id=.* line=(\d+) ")
_OWN_LINE: Final = re.compile(r" source_line=(\d+)")
_FRAME_OF: Final = re.compile(r"stack_frame_id=(\d+)")
_NAME: Final = re.compile(r"(?:ROOT )?%?([\w.\-]+) = ")
_DETAILS: Final = re.compile(r", (?:metadata|backend_config|frontend_attributes)=\{.*")
_LAYOUT: Final = re.compile(r"(?<=\])\{[\d,]*\}")


def read_hlo(text: str) -> tuple[Computation, ...]:
    """Read compiled HLO whose metadata names lines of StableHLO; the entry comes first."""
    frames: dict[str, str] = {}
    places: dict[str, int] = {}
    for line in text.split("\n"):
        if (frame := _FRAME.match(line)) is not None:
            frames[frame[1]] = frame[2]
        elif (place := _PLACE.match(line)) is not None:
            places[place[1]] = int(place[2])
    computations = sorted(computations_of(text), key=lambda x: not x.is_entry)
    numbers = {x.name: i for i, x in enumerate(computations)}

    def line_of(instruction: str) -> int | None:
        own = _OWN_LINE.search(instruction)
        if own is not None:
            return int(own[1]) - 1
        frame = _FRAME_OF.search(instruction)
        place = None if frame is None else places.get(frames.get(frame[1], ""))
        return None if place is None else place - 1

    def read(instruction: str) -> Instruction:
        calls = tuple([numbers[name] for name in called_by(instruction) if name in numbers])
        bare = _LAYOUT.sub("", _DETAILS.sub("", instruction))
        name = _NAME.match(bare)
        return Instruction("" if name is None else name[1], bare, line_of(instruction), calls)

    return tuple(
        [
            Computation(x.name, _LAYOUT.sub("", x.heading), tuple(map(read, x.instructions)))
            for x in computations
        ]
    )


_PRODUCT: Final = re.compile(r"= \w+\[([\d,]*)\] (dot|convolution)\(")
_WRITTEN_PRODUCT: Final = re.compile(
    r"stablehlo\.(dot|convolution).*-> \(?tensor<((?:\d+x)*)\w+>\)?$"
)


def with_products(hlo: Sequence[Computation], stablehlo: Sequence[str]) -> tuple[Computation, ...]:
    """Return the computations with lines for products whose origin XLA does not report.

    XLA rewrites convolutions, and products of matrices and vectors. One is recognised if it is the
    only one without a line that has a result of its size, and one such line became nothing.
    """
    instructions = [one for computation in hlo for one in computation.instructions]
    known = {one.stablehlo for one in instructions}
    lines: defaultdict[tuple[str, tuple[int, ...]], list[int]] = defaultdict(list)
    for i, line in enumerate(stablehlo):
        written = _WRITTEN_PRODUCT.search(line)
        if written is not None and i not in known:
            lines[written[1], _size(written[2].split("x"))].append(i)
    names: defaultdict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
    for one in instructions:
        product = _PRODUCT.search(one.text)
        if product is not None and one.stablehlo is None:
            names[product[2], _size(product[1].split(","))].append(one.name)
    line_of = {
        products[0]: lines[key][0]
        for key, products in names.items()
        if len(products) == 1 and len(lines[key]) == 1
    }

    def read(one: Instruction) -> Instruction:
        return attrs.evolve(one, stablehlo=line_of[one.name]) if one.name in line_of else one

    return changed(hlo, read)


def changed(
    hlo: Sequence[Computation], change: Callable[[Instruction], Instruction]
) -> tuple[Computation, ...]:
    """Change each instruction of a program, in their order."""
    return tuple([attrs.evolve(x, instructions=tuple(map(change, x.instructions))) for x in hlo])


def _size(shape: Sequence[str]) -> tuple[int, ...]:
    """Return the lengths of axes, in no order and without those of one element."""
    return tuple(sorted(int(n) for n in shape if n not in ("", "1")))
