"""The user's lines that took longest in compiled programs, from a profile."""

from __future__ import annotations

import linecache
import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import attrs

from tinyjax import errors
from tinyjax._base import frames
from tinyjax._tools.exploring import costs, exploration
from tinyjax.core import xla
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.profiler import recording
from tinyjax.profiler.run_log import SPANS, RunLog
from tinyjax.profiler.xla import OpEvent, Profile, SpanEvent, read_profile

_WIDEST: Final = 60


def summary(most: int = 10) -> None:
    """Print which of your lines took longest in compiled programs, in the last profile.

    The times are those of XLA's instructions, which run side by side where they can: their sum may
    exceed the time that passed. Functions whose programs ran are traced once more, so that a
    backward pass knows the lines that it differentiates.

    Args:
        most: how many lines.

    Raises:
        ArgumentError: ``most`` is not a positive number.
        ProfilerError: this process has recorded no profile, or is recording one.

    Example:
        >>> import tempfile, tinyjax, tinyjax.numpy as jnp
        >>> step = tinyjax.jit(lambda x: jnp.tanh(x @ x).sum(), tier="compiled")
        >>> with tempfile.TemporaryDirectory() as folder, tinyjax.profiler.trace(folder):
        ...     y = step(jnp.ones((500, 500))).block_until_ready()
        >>> tinyjax.profiler.summary()  # doctest: +ELLIPSIS
        <lambda>: 1 run, ...
    """
    if most < 1:
        raise errors.ArgumentError(f"most is how many lines to print, but got {most}.")
    recorded = recording.last_recorded()
    profile = read_profile(recorded.data, SPANS)
    sys.stdout.write("\n".join([*_programs(profile, recorded.notes, most), _spans(profile)]) + "\n")


@attrs.frozen(eq=False)
class _Candidate:
    """A program that may be the one of some events.

    Attributes:
        compilation: what was compiled.
        jaxpr: the program, whose equations know their lines.
        text: the compiled program.
        events: the events that are its.
    """

    compilation: xla.Compilation
    jaxpr: jx.Jaxpr
    text: str
    events: list[OpEvent] = attrs.field(factory=list[OpEvent])

    def has(self, ran: frozenset[tuple[str, str]]) -> bool:
        """Return whether instructions, with their modules, may be this program's."""
        module = self.text.split(",", 1)[0].removeprefix("HloModule ")
        return all(of == module and f"%{op} = " in self.text for of, op in ran)

    @property
    def runs(self) -> int:
        """The number of its runs."""
        return len(costs.runs_of(self.events))


def _candidates(notes: RunLog) -> list[_Candidate]:
    sourced = notes.sourced()
    candidates: list[_Candidate] = []
    for digest, compilation in notes.programs.items():
        for executable in xla.executables_of(compilation.jaxpr):
            text = executable.loaded.get_hlo_text()
            candidates.append(_Candidate(compilation, sourced[digest], text))
    return candidates


def _programs(profile: Profile, notes: RunLog, most: int) -> list[str]:
    """Return the lines that took longest, with the number of runs of their programs."""
    candidates = _candidates(notes)
    for events in costs.runs_of(profile.ops).values():
        ran = frozenset([(event.module, event.op) for event in events])
        for candidate in candidates:
            if candidate.has(ran):
                candidate.events.extend(events)
                break
    total: defaultdict[tuple[str, int] | None, float] = defaultdict(float)
    heads: list[str] = []
    for candidate in candidates:
        if candidate.events:
            hlo = costs.read_compiled(candidate.text, candidate.compilation)
            times = costs.line_times(candidate.events, hlo, candidate.jaxpr)
            for line, seconds in times.items():
                total[line] += seconds
            number = candidate.runs
            spent = exploration.seconds_text(sum(times.values()))
            heads.append(
                f"{candidate.compilation.name}: {number} run{'s' * (number > 1)}, {spent} in all"
            )
    if not heads:
        return [
            "No compiled program of a jitted function ran to its end while this was recorded.",
            "NumPy evaluates the first calls of a program, unless the setting tier is 'compiled'.",
        ]
    whole, untold = sum(total.values()), total.pop(None)
    largest = sorted(total.items(), key=lambda item: -item[1])
    rows = [_row(seconds, whole, _line(*line)) for line, seconds in largest[:most] if line]
    rest = sum([seconds for _, seconds in largest[most:]])
    if rest:
        rows.append(_row(rest, whole, f"{len(largest) - most} other lines"))
    if untold:
        rows.append(_row(untold, whole, "XLA does not say where it comes from"))
    return [*heads, *rows]


def _row(seconds: float, whole: float, what: str) -> str:
    return f"{seconds / whole:6.1%}  {exploration.seconds_text(seconds):>8}  {what}"


def _line(file: str, number: int) -> str:
    text = linecache.getline(file, number).strip()
    shown = text if len(text) <= _WIDEST else f"{text[:_WIDEST]} ..."
    return f"{frames.place(file, number)}: {shown}"


def _spans(profile: Profile) -> str:
    """Return the number and the total time of each kind of tinyjax's spans."""
    phrases: list[str] = []
    for name in SPANS:
        spans = [span for span in profile.spans if span.name == name]
        if spans:
            phrases.append(f"{name} {len(spans)} ({exploration.seconds_text(_covered(spans))})")
    return f"Spans: {', '.join(phrases) or 'none'}"


def _covered(spans: Sequence[SpanEvent]) -> float:
    """Return the total time of spans, without those within others of the same name."""
    total = 0.0
    thread, reached = -1, 0.0
    for span in sorted(spans, key=lambda x: (x.thread, x.start)):
        if span.thread != thread:
            thread, reached = span.thread, span.start
        total += max(span.end - max(span.start, reached), 0.0)
        reached = max(reached, span.end)
    return total
