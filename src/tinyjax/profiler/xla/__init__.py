"""XLA's profiler."""

from tinyjax.core.xla import versions as versions  # it checks that it knows this jaxlib
from tinyjax.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {"profiles": "OpEvent Profile SpanEvent annotation profile_of read_profile start_profile"},
)
