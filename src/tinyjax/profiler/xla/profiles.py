"""XLA's profiler, and the reader of its records.

XLA writes an event for each instruction of a compiled program that it runs by itself: a fusion, a
product, a loop. What is done by a library's threads, or after other instructions were begun, ends
with an event of its own, which names the first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection

import attrs
from jaxlib._profile_data import ProfileData
from jaxlib._profiler import ProfileOptions, ProfilerSession, TraceMe

from tinyjax._base.records import Record


@attrs.frozen(eq=False, repr=False)
class OpEvent(Record):
    """A run of an instruction.

    Attributes:
        op: the instruction's name.
        module: its program's.
        run: which run of the program it belongs to.
        start: when it began, in seconds.
        end: when it was done.
    """

    op: str
    module: str
    run: int
    start: float
    end: float


@attrs.frozen(eq=False, repr=False)
class SpanEvent(Record):
    """A block that made itself known.

    Attributes:
        name: the span's name.
        thread: the thread, by its place in the profile.
        start: when it began, in seconds.
        end: when it ended.
    """

    name: str
    thread: int
    start: float
    end: float


@attrs.frozen(eq=False, repr=False)
class Profile(Record):
    """The contents of a profile.

    Attributes:
        ops: the instructions that ran, in the order in which they began.
        spans: the requested spans.
    """

    ops: tuple[OpEvent, ...]
    spans: tuple[SpanEvent, ...]


def start_profile(python_level: int = 0, host_level: int = 2) -> ProfilerSession:
    """Start to record XLA's work, and annotations.

    Args:
        python_level: 1 to record each call of a Python function, too.
        host_level: how much XLA is to say.
    """
    options = ProfileOptions()
    options.python_tracer_level = python_level
    options.host_tracer_level = host_level
    return ProfilerSession(options)


def annotation(name: str, metadata: dict[str, object]) -> TraceMe:
    """Make a span of the profile, which lasts as long as a ``with`` block."""
    return TraceMe(name, **metadata)


def profile_of(call: Callable[[], None]) -> Profile | None:
    """Call a function and return its profile; None where another is being recorded."""
    session = start_profile()
    call()
    try:
        recorded = session.stop()
    except RuntimeError:  # there is one at a time
        return None
    return read_profile(recorded)


def read_profile(recorded: bytes, names: Collection[str] = ()) -> Profile:
    """Read a profile.

    Args:
        recorded: what a session has returned.
        names: of the spans to be read.
    """
    # jaxlib makes the types of these at their first use, which Python warns of from 3.12 on; and
    # where warnings are errors, it ends the process
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return _read(recorded, names)


def _read(recorded: bytes, names: Collection[str]) -> Profile:
    begun: dict[object, OpEvent] = {}
    ends: dict[object, float] = {}
    spans: list[SpanEvent] = []
    thread = 0
    for plane in ProfileData.from_serialized_xspace(recorded).planes:
        for line in plane.lines:
            thread += 1
            for event in line.events:
                name, start, end = event.name, 1e-9 * event.start_ns, 1e-9 * event.end_ns
                if name in names:
                    spans.append(SpanEvent(name, thread, start, end))
                    continue
                told = dict(event.stats)
                if "hlo_op" in told:
                    op, module, run = told["hlo_op"], told["hlo_module"], told["run_id"]
                    begun[told["_p"]] = OpEvent(str(op), str(module), int(run), start, end)
                elif name.startswith("end: "):
                    ends[told.get("_c")] = end
    ops = [
        attrs.evolve(event, end=max(event.end, ends.get(key, event.end)))
        for key, event in begun.items()
    ]
    return Profile(tuple(sorted(ops, key=lambda event: event.start)), tuple(spans))
