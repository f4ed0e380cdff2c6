"""What is to be compiled: a program, and how. It is what compiled programs are found by."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from tinyjax.core.jaxpr import Jaxpr

Flag: TypeAlias = str | int | float | bool
#: Flags of XLA and their values, sorted by name.
Flags: TypeAlias = tuple[tuple[str, Flag], ...]


@attrs.frozen
class Compilation:
    """A program to be compiled; two are equal where the programs are, whatever their names.

    Attributes:
        jaxpr: the program.
        name: the name of its module.
        donated: the parameters whose memory may be reused.
        flags: the user's for XLA, besides what the setting ``effort`` means.
    """

    jaxpr: Jaxpr
    name: str = attrs.field(eq=False)
    donated: tuple[int, ...] = ()
    flags: Flags = ()
