"""The debugger of the setting ``debug_nans``: where a NaN was born, by line, iteration and example.

It is loaded when the setting is first switched on, and attached by one table: for each class of
traces, the one that stands in for it.
"""

from tinyjax.core.tracing.trace import Debugger, attach_debugger
from tinyjax.core.transforms import batching as bt, jvp as jv, linearize as lz, transpose as tp
from tinyjax.nans import trace

attach_debugger(
    Debugger(
        trace.NANS,
        {
            bt.BatchTrace: trace.LaneTrace,
            jv.JVPTrace: trace.SourcedJVPTrace,
            lz.LinearTrace: trace.SourcedLinearTrace,
            tp.Transposer: trace.SourcedTransposer,
        },
        trace.watch,
        trace.run_program,
    )
)
