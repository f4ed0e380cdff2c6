"""What a staging knows of itself: the functions that are being run, and what is around them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from types import CodeType, FunctionType
from typing import Any, Final, ParamSpec, TypeVar

import attrs

from tinyjax import dtypes, errors, tree
from tinyjax.callbacks import checks
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import staging as stg, trace as tr
from tinyjax.core.values.array import Array
from tinyjax.frames import PACKAGE_DIRECTORY, Location
from tinyjax.source.ir import origins, runtime
from tinyjax.source.staging import aliases as al, exits, values as vals

P = ParamSpec("P")
T = TypeVar("T")


class RaisedError(Exception):
    """An exception of the program's under a traced condition.

    Attributes:
        message: its class and text.
        location: the line that raises it.
    """

    def __init__(self, message: str, location: Location) -> None:
        super().__init__(message)
        self.message = message
        self.location = location


def raised_by(error: BaseException | type[BaseException], location: Location) -> RaisedError:
    """What stands for an exception that the program raises."""
    if isinstance(error, type):
        return RaisedError(error.__name__, location)
    text, name = str(error), type(error).__name__
    return RaisedError(f"{name}: {text}" if text else name, location)


class TracedEndError(Exception):
    """The end of a loop that is run in Python depends on a traced condition."""


@attrs.frozen(eq=False)
class Entered:
    """A function that is being run.

    Attributes:
        code: the function.
        parts: the parts of what it closes over and is given.
        conditions: how many traced conditions there were around the call.
    """

    code: CodeType
    parts: list[Any]
    conditions: int


@attrs.frozen(eq=False)
class Managed:
    """A context manager, and how many traced conditions there were around its ``with``."""

    manager: AbstractContextManager[Any]
    conditions: int


@attrs.frozen(eq=False)
class Mark:
    """How far a staging was.

    Attributes:
        trace: the trace that records.
        recorded: how far it was.
        managers: how many context managers had been entered.
        failures: how many checks there were.
    """

    trace: tr.Trace
    recorded: tuple[int, int, int] | None
    managers: int
    failures: int


@attrs.frozen(eq=False)
class Shared:
    """The program of a function that calls itself, for calls that differ in arrays only.

    Attributes:
        code: the function.
        structure: how its arguments are put together.
        parts: those of its arguments and of what it closes over; types in place of arguments that
            are arrays.
        piece: the program.
    """

    code: CodeType
    structure: tree.PyTreeDef
    parts: list[Any]
    piece: exits.Piece

    def serves(self, code: CodeType, structure: tree.PyTreeDef, parts: list[Any]) -> bool:
        """Whether a call may use the program."""
        return (
            self.code is code
            and self.structure == structure
            and len(self.parts) == len(parts)
            and all(map(vals.is_same, self.parts, parts))
        )


@attrs.define(eq=False)
class Session:
    """What is being staged.

    Attributes:
        call: makes the calls of the programs.
        run_loop: runs their loops.
        entered: the functions that are being run, outermost first.
        conditions: how many traced conditions and loops there are around.
        choices: how often a traced condition has chosen.
        failures: where the checks so far failed, of which the first is to be told.
        managers: the context managers that were entered and not left.
        shared: the programs of functions that call themselves.
        aliases: which arrays share data.
        frames: the statements that are being run, outermost first.
    """

    call: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    run_loop: Callable[..., exits.Outcome]
    entered: list[Entered] = attrs.field(factory=list)
    conditions: int = 0
    choices: int = 0
    failures: list[Array] = attrs.field(factory=list)
    managers: list[Managed] = attrs.field(factory=list)
    shared: list[Shared] = attrs.field(factory=list)
    aliases: al.Aliases = attrs.field(factory=al.Aliases)
    frames: list[al.Frame] = attrs.field(factory=list)

    def conditional(self, run: Callable[P, T]) -> Callable[P, T]:
        """A function of which what it does may not be done in the end, or more than once."""

        def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
            self.conditions += 1
            failures = len(self.failures)
            try:
                return run(*args, **kwargs)
            finally:
                self.conditions -= 1
                del self.failures[failures:]

        return wrapped

    def check(self, failed: Array, raised: RaisedError) -> None:
        """Raise an exception when the program runs and a condition holds."""
        first = ew.convert_element_type(failed, dtypes.bool_)
        for earlier in self.failures:
            first = ew.and_(first, ew.not_(earlier))
        self.failures.append(first)
        tr.bind(checks.error_if_p, (first,), checks.ErrorIfParams(raised.message, raised.location))

    def mark(self) -> Mark:
        """Remember how far the staging is."""
        trace = tr.current_trace()
        recorded = trace.mark() if isinstance(trace, stg.Recorder) else None
        return Mark(trace, recorded, len(self.managers), len(self.failures))

    def rewind(self, mark: Mark) -> None:
        """Forget what was staged since, which is staged again in another way."""
        if isinstance(mark.trace, stg.Recorder) and mark.recorded is not None:
            mark.trace.rewind(mark.recorded)
        self.leave_all(mark.managers)
        del self.failures[mark.failures :]

    def enter(self, manager: AbstractContextManager[Any]) -> Any:
        """Enter a context manager of the program's."""
        value = runtime.enter(manager)
        self.managers.append(Managed(manager, self.conditions))
        return value

    def leave(self, manager: AbstractContextManager[Any]) -> None:
        """Leave one, unless that depends on a traced condition: then the end of the run does."""
        for place in range(len(self.managers) - 1, -1, -1):
            entry = self.managers[place]
            if entry.manager is manager and entry.conditions == self.conditions:
                del self.managers[place]
                runtime.leave(manager)
                return

    def leave_all(self, first: int) -> None:
        """Leave all context managers from one on."""
        while len(self.managers) > first:
            runtime.leave(self.managers.pop().manager)

    def check_recursion(self, now: Entered) -> None:
        """See that a function that calls itself comes to an end.

        Raises:
            SourceError: the end depends on a traced condition.
        """
        earlier = [e for e in self.entered if e.code is now.code]
        again = any(
            e.conditions < now.conditions
            and len(e.parts) == len(now.parts)
            and all(map(_is_alike, e.parts, now.parts))
            for e in earlier
        )
        if again or len({e.conditions for e in earlier}) > _MOST_CALLS:
            code = now.code
            raise errors.SourceError(
                f"{code.co_qualname} calls itself under a condition that depends on traced values, "
                "so how deep it goes is not known when it is staged. Write a loop, or let a static "
                "argument (static_argnums, static_argnames) end it.",
                Location(code.co_filename, code.co_firstlineno, code.co_qualname),
            )


def _is_alike(x: Any, y: Any) -> bool:
    if isinstance(x, Array) and isinstance(y, Array):
        return x.aval.strip_weak() is y.aval.strip_weak()
    return vals.is_same(x, y)


current_session: ContextVar[Session | None] = ContextVar("tinyjax_source_staging", default=None)
#: So many calls of a function within calls of itself, each under another traced condition.
_MOST_CALLS: Final = 100


def is_read(fun: object) -> bool:
    """Whether calls of a function are looked into: it is the user's, and none of a library."""
    return isinstance(fun, FunctionType) and _is_users_file(fun.__code__.co_filename)


@functools.cache
def _is_users_file(filename: str) -> bool:
    generated = filename.startswith((PACKAGE_DIRECTORY, "<frozen", "<attrs generated"))
    return not generated and not origins.is_library(filename)
