"""Profiles of programs: JAX's ``profiler``, and the costs of their lines.

A profile has spans of tinyjax's own work (``trace``, ``transform``, ``lower``, ``compile``,
``load``, ``execute``, ``transfer``), of the compiler, of compiled programs and of their operations,
on each thread, and the spans that you name. It is written as ``*.xplane.pb``, which XProf and
TensorBoard show, and as ``*.trace.json.gz``, which https://ui.perfetto.dev and Chrome's
``about:tracing`` open. ``summary`` prints which of your lines took longest in compiled programs.

Eager operations are NumPy's, which any profiler of Python sees. For the cost of a program line by
line see ``tinyjax.explore``.
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
