"""What a call of a jitted function would do, and why."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from tinyjax import records
from tinyjax.core.jit.signatures import Signature


@attrs.frozen(eq=False, repr=False)
class Explanation(records.Record):
    """Say what a call of a jitted function would do, and why.

    Attributes:
        function: the function, and where it is defined.
        traces: whether the call would run the Python function, to record its program.
        compiles: whether XLA would compile the program.
        differences: how the call differs from the most similar earlier call: a line for each
            argument, static value or setting that differs.
        reasons: other reasons to trace or compile.
    """

    function: str
    traces: bool
    compiles: bool
    differences: tuple[str, ...]
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        match self.traces, self.compiles:
            case True, True:
                verdict = "is traced and compiled"
            case True, False:
                verdict = "is traced, but not compiled"
            case False, True:
                verdict = "was traced before, and is compiled"
            case _:
                verdict = "runs a program that was traced and compiled before"
        lines = [f"this call of {self.function} {verdict}"]
        return "\n".join([*lines, *(f"  {line}" for line in (*self.differences, *self.reasons))])

    def log(self) -> None:
        """Tell the logger ``tinyjax``, as the setting ``explain`` asks for."""
        logging.getLogger("tinyjax").warning(str(self))

    @classmethod
    def compare(
        cls, fun: Callable[..., Any], signature: Signature, earlier: Iterable[Signature]
    ) -> tuple[str, ...]:
        """Say how a call differs from the earlier one that it differs from least.

        A room says it (``tinyjax.explaining``); alone, the core says nothing.

        Args:
            fun: the function, for the names of its parameters.
            signature: the call.
            earlier: the signatures of earlier calls.
        """
        return ()
