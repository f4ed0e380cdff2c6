"""The debugger of the setting ``debug_nans``: where a NaN was born, by line, iteration and example.

It is loaded when the setting is first switched on, and attached by one table: for each class of
traces, the one that stands in for it.
"""

from tinyjax.core.tracing.trace import Debugger, attach_debugger
from tinyjax.core.transforms.batching import BatchTrace
from tinyjax.core.transforms.jvp import JVPTrace
from tinyjax.core.transforms.linear_trace import LinearTrace
from tinyjax.core.transforms.transpose import Transposer
from tinyjax.nans.provenance import (
    LaneTrace,
    SourcedJVPTrace,
    SourcedLinearTrace,
    SourcedTransposer,
)
from tinyjax.nans.trace import NANS, run_program, watch

attach_debugger(
    Debugger(
        NANS,
        {
            BatchTrace: LaneTrace,
            JVPTrace: SourcedJVPTrace,
            LinearTrace: SourcedLinearTrace,
            Transposer: SourcedTransposer,
        },
        watch,
        run_program,
    )
)
