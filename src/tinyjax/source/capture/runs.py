"""A run of a captured program: what it refused, and which decisions Python took on traced values."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

import attrs
import numpy as np

from tinyjax._base import frames
from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.transforms.batching import BatchTracer
from tinyjax.core.values import Array
from tinyjax.dtypes import HostArray
from tinyjax.errors import CaptureError, ConcretizationError
from tinyjax.source.capture.witness import WitnessTracer


@attrs.define(eq=False)
class Run:
    """A call of a captured function.

    Attributes:
        refusals: what was refused. An error that the program catches refuses its result.
        has_text: whether a traced value has been written as text.
    """

    refusals: list[CaptureError] = attrs.field(factory=list)
    has_text: bool = False


current: Final[ContextVar[Run | None]] = ContextVar("run of a captured program", default=None)


def refusal(what: str, advice: str = "") -> CaptureError:
    """Make the error that refuses what only data can be used for, and note it."""
    error = CaptureError(
        f"{what} needs data, but its value is traced. "
        + (advice or "Give the function that needs it a rule: tinyjax.source.rule.")
    ).at(_location())
    run = current.get()
    if run is not None:
        run.refusals.append(error)
    return error


def _location() -> frames.Location | None:
    frame = frames.user_frame()
    if frame is None:
        return None
    return frames.Location(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)


def decide(value: Array | HostArray, purpose: str = "a decision") -> HostArray:
    """Return the data of a traced value that the program's path depends on.

    Raises:
        ConcretizationError: there is no data, since the value is staged.
        DivergenceError: the examples of a batch decide differently.
    """
    if not isinstance(value, Tracer):
        return np.asarray(value)
    if isinstance(value, BatchTracer):
        return _common(value, purpose)
    parts = value.components()
    if not parts:
        return value.concrete(purpose)
    return decide(parts[0], purpose)


def _common(tracer: BatchTracer, purpose: str) -> HostArray:
    """Return what all examples of a batch decide."""
    rows = np.moveaxis(decide(tracer.val, purpose), tracer.axis, 0)
    if len(rows) and not all(np.array_equal(row, rows[0], equal_nan=True) for row in rows[1:]):
        raise DivergenceError(tracer, rows)
    return rows[0]


class DivergenceError(ConcretizationError):
    """Examples of a batch that take different paths through a captured program.

    Attributes:
        tracer: the batched value that they differ in.
        rows: its data, an example a row.
    """

    def __init__(self, tracer: BatchTracer, rows: HostArray) -> None:
        self.tracer = tracer
        self.rows = rows
        super().__init__(
            "examples of a batch take different paths through the program, which depends on their "
            "values. Map over fewer examples, or write np.where in place of if."
        )


def data(value: Any) -> HostArray | None:
    """Return the data of a value; None where it is staged or batched."""
    while isinstance(value, Tracer):
        if isinstance(value, WitnessTracer):
            return value.data
        if isinstance(value, BatchTracer) or not (parts := value.components()):
            return None
        value = parts[0]
    return np.asarray(value)
