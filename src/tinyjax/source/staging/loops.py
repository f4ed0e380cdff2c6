"""Loops: in Python as long as their end is static, else as loops of the traced program."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from tinyjax.source.staging.carry import RestructuredError
from tinyjax.source.staging.graph import Loop
from tinyjax.source.staging.items import Items, is_scanned
from tinyjax.source.staging.outcomes import Arrival, Outcome
from tinyjax.source.staging.rolling import Roller
from tinyjax.source.staging.runner import Runner
from tinyjax.source.staging.session import RaisedError, Session, TracedEndError
from tinyjax.source.staging.traced_loops import TracedLoop, static_length

#: A loop of so many turns is unrolled where it cannot be a loop of the program.
_MOST_UNROLLED: Final = 64


def run_loop(run: Runner, header: int, arrival: Arrival, stops: frozenset[int]) -> Outcome:
    """Run a loop from its first block on, to the blocks that it leads to."""
    loop = run.graph.loops[header]
    run.enter(header, arrival)  # it may bring along more than the parameters
    arrival = arrival.first(len(run.graph.blocks[header].parameters))
    items = None if loop.counting is None else run.env[loop.counting.items]
    inner = stops | loop.exits | {header}
    if is_scanned(items):
        traced = TracedLoop(run, loop, inner, items)
        found = _attempt(run.session, lambda: traced.scan(arrival), items.length)
        if found is not None:
            return found
    return _in_python(run, loop, arrival, inner, items)


def _in_python(
    run: Runner, loop: Loop, arrival: Arrival, inner: frozenset[int], items: Any
) -> Outcome:
    """Make the turns of a loop one by one, until one does not say whether there is another."""
    header = loop.header
    count = len(run.graph.blocks[header].parameters)
    roller = Roller(run, loop, inner, items, items is None or isinstance(items, Items))
    while True:
        mark = run.session.mark()
        roller.begin()
        outcome = None
        with suppress(TracedEndError):
            outcome = run.execute(header, arrival, inner, turn_of=header, within=True)
        if outcome is not None:
            if outcome.only == header:
                arrival = outcome.arrivals[header].first(count)
                arrival = roller.end(arrival) or arrival
                continue
            if header not in outcome.arrivals:
                return outcome
        run.session.rewind(mark)
        run.forget(loop.blocks)
        traced = TracedLoop(run, loop, inner, items)
        length = static_length(items)
        if length is None:
            try:
                return traced.repeat(arrival)
            except RestructuredError as changed:
                raise changed.error from None
        found = _attempt(run.session, partial(traced.repeat, arrival), length)
        return _unrolled(run, loop, arrival, inner) if found is None else found


def _unrolled(run: Runner, loop: Loop, arrival: Arrival, inner: frozenset[int]) -> Outcome:
    """Make the turns one by one, each under the condition that the loop was not left before."""
    header = loop.header
    while True:
        outcome = run.execute(header, arrival, inner, within=True)
        if outcome.only == header:
            arrival = outcome.arrivals[header]
            continue
        if header not in outcome.arrivals:
            return outcome
        return run.resume(outcome, header, partial(_go_on, run, loop, outcome, inner))


def _go_on(run: Runner, loop: Loop, outcome: Outcome, inner: frozenset[int]) -> Outcome:
    return _unrolled(run.aside(), loop, outcome.arrivals[loop.header], inner)


def _attempt(session: Session, traced: Callable[[], Outcome], length: int) -> Outcome | None:
    """Make a loop of the program; None where it must be unrolled instead."""
    mark = session.mark()
    try:
        return traced()
    except RaisedError:
        raise
    except RestructuredError:
        pass
    except Exception:
        if length > _MOST_UNROLLED:
            raise
    session.rewind(mark)
    return None
