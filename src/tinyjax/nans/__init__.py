"""The debugger of the setting ``debug_nans``: where a NaN was born, by line, iteration and example.

It is loaded when the setting is first switched on (``lazy.ROOMS``), and answers the core.

Attributes:
    base: the trace that evaluates.
    check_read: looks at an array that the user reads.
    stand_ins: for a class of traces, or of helpers of theirs, the one that is used in its place.
    watch: calls a transformed function, and looks at what it returns.
    run_program: runs a compiled program without effects.
"""

from typing import Any, Final

from tinyjax.core.names import bt, jv, lz, tp
from tinyjax.nans import trace
from tinyjax.nans.reports import check_read
from tinyjax.nans.trace import run_program, watch

__all__ = ["base", "check_read", "run_program", "stand_ins", "watch"]

base: Final = trace.NANS
stand_ins: Final[dict[type[Any], type[Any]]] = {
    bt.BatchTrace: trace.LaneTrace,
    jv.JVPTrace: trace.SourcedJVPTrace,
    lz.LinearTrace: trace.SourcedLinearTrace,
    tp.Transposer: trace.SourcedTransposer,
}
