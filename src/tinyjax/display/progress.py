"""What the bars of loops say."""

from __future__ import annotations

import attrs


@attrs.frozen
class Progress:
    """What the bar of a loop says.

    Attributes:
        name: the loop and its function.
        total: the number of iterations, where it is known.
        phase: which part of a derivative the loop is: "", "tangent" or "backward".
        at: which value of the loop's state tells how far it has come; None where that is the number
            of its iterations.
    """

    name: str
    total: int | None = None
    phase: str = ""
    at: int | None = None

    @property
    def title(self) -> str:
        """The text before the bar."""
        return f"{self.name}, {self.phase}" if self.phase else self.name
