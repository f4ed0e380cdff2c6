"""Profiles of programs: JAX's ``profiler``, and what their lines cost.

A profile has spans of what tinyjax does (``trace``, ``transform``, ``lower``, ``compile``,
``load``, ``execute``, ``transfer``), of the compiler, of compiled programs and of what runs in
them, on each thread, and the spans that you name. It is written as ``*.xplane.pb``, which XProf and
TensorBoard show, and as ``*.trace.json.gz``, which https://ui.perfetto.dev and Chrome's
``about:tracing`` open. ``summary`` prints which of your lines took longest in compiled programs.

Eager operations are NumPy's, which any profiler of Python sees; what a program costs line by line,
``tinyjax.explore`` tells.
"""

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "line_costs": "summary",
        "recording": (
            "ProfileOptions StepTraceAnnotation TraceAnnotation annotate_function start_trace "
            "stop_trace trace"
        ),
    },
)
