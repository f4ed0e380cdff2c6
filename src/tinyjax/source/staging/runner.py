"""A run of a program, as far as its loops need it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from tinyjax.core.array import Array
from tinyjax.frames import Location
from tinyjax.source.ir.program import Atom, Variable
from tinyjax.source.staging.graph import Graph
from tinyjax.source.staging.outcomes import Arrival, Outcome
from tinyjax.source.staging.session import Session


class Runner(Protocol):
    """A run of a program (``staging.run``), as far as loops need it."""

    session: Session
    graph: Graph
    env: dict[Variable, Any]

    @property
    def function(self) -> Callable[..., Any]: ...
    def at(self, line: int) -> Location: ...
    def name_of(self, block: int, position: int) -> str: ...
    def lines_of_loop(self, block: int, position: int, line: int) -> tuple[int, int]: ...
    def arrival(self, atoms: tuple[Atom, ...]) -> Arrival: ...
    def complete(self, block: int, arrival: Arrival) -> Arrival: ...
    def enter(self, block: int, arrival: Arrival) -> None: ...
    def aside(self) -> Runner: ...
    def forget(self, blocks: Iterable[int]) -> None: ...
    def truth(self, condition: Atom) -> bool | Array: ...
    def run_statements(self, block: int) -> None: ...
    def execute(
        self,
        index: int,
        arrival: Arrival,
        stops: frozenset[int] = ...,
        *,
        turn_of: int | None = ...,
        within: bool = ...,
    ) -> Outcome: ...
    def resume(self, outcome: Outcome, key: int, go_on: Callable[[], Outcome]) -> Outcome: ...
