"""XLA's text of a compiled program: its computations, and which of them an instruction runs."""

from __future__ import annotations

import re
from typing import Final

import attrs

from tinyjax.records import Record

_HEADING: Final = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
_CALLS: Final = re.compile(
    r"\b(?:calls|body|condition|to_apply|true_computation|false_computation)=%?([\w.\-]+)"
    r"|\bbranch_computations=\{([^}]*)\}"
)


@attrs.frozen(eq=False, repr=False)
class HloComputation(Record):
    """A computation of a module.

    Attributes:
        name: its name.
        heading: its first line, without the brace.
        is_entry: whether it is the program.
        instructions: its lines.
    """

    name: str
    heading: str
    is_entry: bool
    instructions: list[str] = attrs.field(factory=list)


def computations_of(hlo: str) -> list[HloComputation]:
    """Read the computations of a module, in the order of its text."""
    computations: list[HloComputation] = []
    for line in hlo.splitlines():
        heading = _HEADING.match(line)
        if heading is not None:
            computations.append(
                HloComputation(heading[2], line.removesuffix(" {"), heading[1] is not None)
            )
        elif line.startswith("  ") and computations:
            computations[-1].instructions.append(line.strip())
    return computations


def called_by(instruction: str) -> list[str]:
    """Return the names of the computations that an instruction runs."""
    return [
        name.strip().lstrip("%")
        for one, several in _CALLS.findall(instruction)
        for name in (one or several).split(",")
    ]
