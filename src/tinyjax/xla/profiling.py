"""XLA's profiler."""

from __future__ import annotations

from jaxlib._profiler import ProfilerSession, TraceMe


def start_profile() -> ProfilerSession:
    """Start to record what XLA does, and what annotations say."""
    return ProfilerSession()


def annotation(name: str, metadata: dict[str, object]) -> TraceMe:
    """Make a span of the profile, which lasts as long as a ``with`` block."""
    return TraceMe(name, **metadata)
