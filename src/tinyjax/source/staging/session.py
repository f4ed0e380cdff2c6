"""The state of a staging: the functions that are running, and the conditions around them.

It also knows which arrays are one array of NumPy, or views of one. NumPy changes an array in place
for ``b *= 2``, which every other name and every view of it sees; the arrays of tinyjax are never
changed. The arguments of a program are not known when it is staged. So an augmented assignment is
accepted only where both have the same effect: where no value that is used later shares its data.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from types import CodeType, FunctionType, MethodType
from typing import Any, Final, ParamSpec, TypeGuard, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base.frames import PACKAGE_DIRECTORY, Location
from tinyjax._extensions.callbacks import checks
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import staging, trace as tr
from tinyjax.core.values import Array
from tinyjax.source import facts
from tinyjax.source.ir import find, program as ir, runtime
from tinyjax.source.staging import graph as staging_graph
from tinyjax.source.staging.values import is_same, take_apart

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
    """Return the representation of an exception that the program raises."""
    if isinstance(error, type):
        return RaisedError(error.__name__, location)
    text, name = str(error), type(error).__name__
    return RaisedError(f"{name}: {text}" if text else name, location)


class TracedEndError(Exception):
    """The end of a loop that is run in Python depends on a traced condition."""


@attrs.define(eq=False)
class Buffer:
    """The content of a NumPy array that the program changes in place.

    Attributes:
        content: the value, which each write replaces.
    """

    content: Array


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
class Iteration:
    """An iteration of a loop that was staged, as an estimate of its others.

    Attributes:
        cost: an estimate of the time to compile it, in milliseconds.
        chooses: whether it contains conditionals.
        loops: whether it contains loops.
        buffers: the arrays that it writes to.
        varying: the carried parts that are arrays after it.
        counted: the carried parts that are other numbers after it.
    """

    cost: int
    chooses: bool
    loops: bool = False
    buffers: tuple[Buffer, ...] = ()
    varying: frozenset[tuple[int, int]] = frozenset()
    counted: frozenset[tuple[int, int]] = frozenset()


# Shared data

#: Attributes, methods and functions that give views, if not the array itself.
VIEWS: Final = frozenset(
    (*[function.__name__ for function in facts.VIEWS], *facts.VIEW_METHODS,
     *facts.VIEW_ATTRIBUTES, "asanyarray", "asarray", "ascontiguousarray", "einsum", "getitem",
     "unpacked", "unpacked_star")
)  # fmt: skip
#: Those that give copies, also where the arrays of tinyjax need none.
_COPIES: Final = frozenset(("array", "astype", "copy", "deepcopy", "flatten", "pos", "positive"))
#: What reads a value that something outside of the program holds as well.
_READING: Final = (runtime.captured, runtime.global_value, getattr)

Roots = frozenset[int]


@attrs.define(eq=False)
class Frame:
    """The statement of a program that is being run.

    Attributes:
        graph: the graph of the program.
        env: the values of its variables.
        block: the block of the statement.
        place: the index of the statement in the block.
    """

    graph: staging_graph.ControlFlowGraph
    env: dict[ir.Variable, Any]
    block: int
    place: int = 0


@attrs.define(eq=False)
class Aliases:
    """The arrays that share data.

    Attributes:
        views: by identity, each array that shares data with others, and those, by identity too.
        external: the arrays that something outside of the program holds.
        pinned: arrays that must stay alive, so that their identities remain unique.
    """

    views: dict[int, tuple[Array, Roots]] = attrs.field(factory=dict)
    external: set[int] = attrs.field(factory=set)
    pinned: list[Any] = attrs.field(factory=list)

    def outer_roots(self, value: Array) -> Roots:
        """Return the arrays whose data an array shares, but for itself."""
        return self.views.get(id(value), (value, Roots()))[1]

    def roots(self, value: Any) -> Roots:
        """Return the arrays whose data an array shares."""
        return self.outer_roots(value) or Roots((id(value),))

    def follow(self, array: Array, roots: Iterable[int]) -> None:
        """Record that an array may share the data of others."""
        if array.shape and (shared := frozenset(roots)):
            self.views[id(array)] = (array, self.outer_roots(array) | shared)

    def after(
        self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
    ) -> Any:
        """Record the aliasing of a call's result; a copy is another array even if it is equal."""
        if isinstance(result, Array):
            return self._record(function, args, kwargs, result) if result.shape else result
        name = _name_of(function, args)
        if type(result) in (tuple, list) and name in VIEWS and name != "getitem":
            for part in result:
                if isinstance(part, Array) and part.shape:
                    self._record(function, args, kwargs, part)
        return result

    def _record(
        self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
    ) -> Any:
        name = _name_of(function, args)
        first = next((x for x in args if not isinstance(x, str)), None)  # np.einsum has a text
        owner = function.__self__ if isinstance(function, MethodType) else first
        if name in _COPIES and "copy" not in kwargs:
            if any(result is arg for arg in (owner, *args)):
                params = ew.ConvertParams(result.dtype, result.weak_type)
                return tr.bind(ew.convert_element_type_p, (result,), params)[0]
        elif function in _READING and not isinstance(owner, Array):
            self.pinned.append(result)
            self.external |= self.roots(result)
        elif name in _COPIES | VIEWS and (name != "getitem" or not _is_advanced(args[1])):
            self.follow(result, self._roots_within(owner))
        return result

    def _roots_within(self, owner: Any) -> Roots:
        if isinstance(owner, Array):
            self.pinned.append(owner)
            return self.roots(owner)
        arrays = getattr(owner, "arrays", ())  # of items
        return Roots().union(*map(self.roots, arrays))

    def check(self, value: Array, frames: Sequence[Frame]) -> None:
        """Raise if a value that is used after the current statement shares an array's data.

        Raises:
            SourceError: something does.
        """
        roots = self.roots(value)
        if roots & self.external:
            raise _shared("what the function closes over, or an object,")
        for frame in frames:
            for variable in frame.graph.live_after(frame.block, frame.place):
                parts, _ = take_apart(frame.env.get(variable))
                if any(isinstance(x, Array) and x.shape and self.roots(x) & roots for x in parts):
                    raise _shared(variable.name or "a value")


def _shared(name: str) -> errors.SourceError:
    return errors.SourceError(
        "an augmented assignment changes an array of NumPy in place, and an array of tinyjax "
        f"never; {name} is used afterwards and shares its data, so that the two differ. Write "
        "x = x + y in place of x += y, or change a copy."
    )


def _name_of(function: Any, args: Sequence[Any]) -> str:
    return str(args[1] if function is getattr else getattr(function, "__name__", ""))


def _is_advanced(index: Any) -> bool:
    """Return whether indexing copies: by arrays and lists."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, (list, np.ndarray)) or _has_axes(part) for part in parts)


def _has_axes(part: Any) -> bool:
    return isinstance(part, Array) and (bool(part.shape) or part.dtype.kind == "b")


# The staging


@attrs.define(eq=False)
class Session:
    """The state of one staging.

    Attributes:
        call: makes the calls of the programs.
        run_loop: runs their loops.
        entered: the functions that are being run, outermost first.
        conditions: the number of traced conditions and loops around the current statement.
        choices: the number of conditionals that were staged.
        failures: the locations of the failed checks so far, of which the first is reported.
        managers: the context managers that are entered, each with the number of traced conditions
            around its ``with``.
        shared: the programs of functions that call themselves.
        aliases: which arrays share data.
        frames: the statements that are being run, outermost first.
        is_cautious: whether functions may change arrays that they are given.
        buffers: the contents of the arrays that are changed in place.
        snapshots: their contents at the beginning of each piece that is being staged.
        offsets: by identity, integers that are the sum of another and a number: the sum, the other
            and the number.
        masks: by identity, arrays of truth values: the array, the function that returned it, and
            the arguments of that.
        iterations: the loops of which all iterations were rolled up, and what one is like.
    """

    call: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    run_loop: Callable[..., Any]
    entered: list[Entered] = attrs.field(factory=list)
    conditions: int = 0
    choices: int = 0
    failures: list[Array] = attrs.field(factory=list)
    managers: list[tuple[AbstractContextManager[Any], int]] = attrs.field(factory=list)
    shared: list[Any] = attrs.field(factory=list)
    aliases: Aliases = attrs.field(factory=Aliases)
    frames: list[Frame] = attrs.field(factory=list)
    is_cautious: bool = False
    buffers: list[Buffer] = attrs.field(factory=list)
    snapshots: list[dict[Buffer, Array]] = attrs.field(factory=list)
    offsets: dict[int, tuple[Array, Array, int]] = attrs.field(factory=dict)
    masks: dict[int, tuple[Array, Any, tuple[Any, ...]]] = attrs.field(factory=dict)
    iterations: dict[staging_graph.Loop, Iteration] = attrs.field(factory=dict)

    def contents(self) -> dict[Buffer, Array]:
        """Return the current contents of the arrays."""
        return {buffer: buffer.content for buffer in self.buffers}

    def changes(self) -> dict[Buffer, Array]:
        """Return the contents of the arrays that were written to since the current piece began."""
        before = self.snapshots[-1]
        return {b: b.content for b, content in before.items() if b.content is not content}

    def conditional(self, run: Callable[P, T]) -> Callable[P, T]:
        """Return a function whose effects may be dropped or repeated."""

        def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
            self.conditions += 1
            failures = len(self.failures)
            self.snapshots.append(self.contents())
            try:
                return run(*args, **kwargs)
            finally:
                self.conditions -= 1
                restore(self.snapshots.pop())
                del self.failures[failures:]

        return wrapped

    def check(self, failed: Array, raised: RaisedError) -> None:
        """Raise an exception when the program runs and a condition holds."""
        first = ew.convert_element_type(failed, dtypes.bool_)
        for earlier in self.failures:
            first = ew.and_(first, ew.not_(earlier))
        self.failures.append(first)
        tr.bind(checks.error_if_p, (first,), checks.ErrorIfParams(raised.message, raised.location))

    def mark(self) -> Callable[[], None]:
        """Remember the state of the staging; return a function that discards later work."""
        trace = tr.current_trace()
        recorded = trace.mark() if isinstance(trace, staging.Recorder) else None
        managers, failures = len(self.managers), len(self.failures)
        contents, buffers = self.contents(), len(self.buffers)

        def rewind() -> None:
            restore(contents)
            del self.buffers[buffers:]
            if isinstance(trace, staging.Recorder) and recorded is not None:
                trace.rewind(recorded)
            self.leave_all(managers)
            del self.failures[failures:]

        return rewind

    def enter(self, manager: AbstractContextManager[Any]) -> Any:
        """Enter a context manager of the program's."""
        value = runtime.enter(manager)
        self.managers.append((manager, self.conditions))
        return value

    def leave(self, manager: AbstractContextManager[Any]) -> None:
        """Leave one, unless that depends on a traced condition: then the end of the run does."""
        for place in reversed(range(len(self.managers))):
            entered, conditions = self.managers[place]
            if entered is manager and conditions == self.conditions:
                del self.managers[place]
                runtime.leave(manager)
                return

    def leave_all(self, first: int) -> None:
        """Leave all context managers from one on."""
        while len(self.managers) > first:
            runtime.leave(self.managers.pop()[0])

    def check_recursion(self, now: Entered) -> None:
        """Raise if a recursion may not end.

        Raises:
            SourceError: the end depends on a traced condition.
        """
        earlier = [e for e in self.entered if e.code is now.code]
        outer = [e.parts for e in earlier if e.conditions < now.conditions]
        alike = [parts for parts in outer if len(parts) == len(now.parts)]
        again = any(all(map(_is_alike, parts, now.parts)) for parts in alike)
        if again or len({e.conditions for e in earlier}) > _MOST_CALLS:
            code = now.code
            raise errors.SourceError(
                f"{code.co_qualname} calls itself under a condition that depends on traced values, "
                "so how deep it goes is not known when it is staged. Write a loop, or let a static "
                "argument (static_argnums, static_argnames) end it.",
                find.place_of(code),
            )


def restore(contents: dict[Buffer, Array]) -> None:
    """Restore the earlier contents of arrays."""
    for buffer, content in contents.items():
        buffer.content = content


def _is_alike(x: Any, y: Any) -> bool:
    if isinstance(x, Array) and isinstance(y, Array):
        return x.aval.strip_weak() is y.aval.strip_weak()
    return is_same(x, y)


current_session: ContextVar[Session | None] = ContextVar("tinyjax_source_staging", default=None)


def this_session() -> Session:
    """Return the staging that goes on."""
    session = current_session.get()
    assert session is not None, "a program is staged in a session"
    return session


#: So many calls of a function within calls of itself, each under another traced condition.
_MOST_CALLS: Final = 100


def is_read(fun: object) -> TypeGuard[FunctionType]:
    """Return whether a function's calls are staged: it is the user's, and not a library's."""
    return isinstance(fun, FunctionType) and _is_users_file(fun.__code__.co_filename)


@functools.cache
def _is_users_file(filename: str) -> bool:
    generated = filename.startswith((PACKAGE_DIRECTORY, "<frozen", "<attrs generated"))
    return not generated and not find.is_library(filename)
