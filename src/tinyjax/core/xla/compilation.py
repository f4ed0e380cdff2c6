"""What is to be compiled: a program, and how. It is what compiled programs are found by."""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs

from tinyjax.core.tracing.jaxpr import Jaxpr
from tinyjax.records import Record

#: Options of XLA's by name, and their values, as users give them.
CompilerOptions: TypeAlias = dict[str, Any]
Flag: TypeAlias = str | int | float | bool
#: Flags of XLA and their values, sorted by name.
Flags: TypeAlias = tuple[tuple[str, Flag], ...]


@attrs.frozen(eq=False, repr=False)
class Compilation(Record):
    """A program to be compiled; two are equal where the programs are, whatever their names.

    Attributes:
        jaxpr: the program.
        name: the name of its module.
        donated: the parameters whose memory may be reused.
        flags: the user's for XLA, besides what the setting ``effort`` means.
        placement: where it runs, as a plane has it (``elsewhere``); None for the first device.
    """

    jaxpr: Jaxpr
    name: str = attrs.field(eq=False)
    donated: tuple[int, ...] = ()
    flags: Flags = ()
    placement: Any = None

    @property
    def aliases(self) -> tuple[int | None, ...]:
        """For each parameter, which result may take over its memory: the next of the same type."""
        free: dict[tuple[Any, ...], list[int]] = {}
        for i, aval in enumerate(self.jaxpr.out_avals):
            free.setdefault((aval.shape, aval.dtype), []).append(i)
        aliases: list[int | None] = [None] * len(self.jaxpr.in_binders)
        for i in self.donated:
            aval = self.jaxpr.in_avals[i]
            candidates = free.get((aval.shape, aval.dtype))
            if candidates:
                aliases[i] = candidates.pop(0)
        return tuple(aliases)

    @property
    def given_up(self) -> tuple[int, ...]:
        """The parameters whose memory a result takes over."""
        aliases = self.aliases if self.donated else ()
        return tuple([i for i, alias in enumerate(aliases) if alias is not None])
