"""XLA's profiler."""

from tinyjax.core.xla import checked_namespace

__all__, __getattr__, __dir__ = checked_namespace(
    __name__,
    {
        "attaching": "attach",
        "profiles": "OpEvent Profile SpanEvent annotation profile_of read_profile start_profile",
    },
)
