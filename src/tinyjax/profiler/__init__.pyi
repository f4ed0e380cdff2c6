# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.profiler.line_costs import summary as summary
from tinyjax.profiler.recording import ProfileOptions as ProfileOptions
from tinyjax.profiler.recording import StepTraceAnnotation as StepTraceAnnotation
from tinyjax.profiler.recording import TraceAnnotation as TraceAnnotation
from tinyjax.profiler.recording import annotate_function as annotate_function
from tinyjax.profiler.recording import start_trace as start_trace
from tinyjax.profiler.recording import stop_trace as stop_trace
from tinyjax.profiler.recording import trace as trace

__all__ = [
    'ProfileOptions',
    'StepTraceAnnotation',
    'TraceAnnotation',
    'annotate_function',
    'start_trace',
    'stop_trace',
    'summary',
    'trace',
]
