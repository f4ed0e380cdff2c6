"""The state of a staging: the functions that are running, and the conditions around them.

It also knows which arrays are one array of NumPy, or views of one. NumPy changes an array in place
for ``b *= 2``, which every other name and every view of it sees; the arrays of tinyjax are never
changed. The arguments of a program are not known when it is staged. So an augmented assignment is
accepted only where both have the same effect: where no value that is used later shares its data.
"""

from __future__ import annotations

import copy
import functools
import operator
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
from tinyjax.source.adjoint import certainty
from tinyjax.source.ir import find, program as ir, runtime, syntax
from tinyjax.source.staging import graph as staging_graph
from tinyjax.source.staging.values import MutableArray, StagingError, is_same, take_apart

P = ParamSpec("P")
T = TypeVar("T")


class RaisedError(StagingError):
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


class TracedEndError(StagingError):
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

#: What reads a value that something outside of the program holds as well.
_READING: Final = (runtime.captured, runtime.global_value, getattr)
#: Augmented assignments, which note themselves what they change, and what passes values on.
_KNOWN: Final = (
    *(runtime.updated, runtime.augmented, runtime.fitting, runtime.defined),
    *(runtime.make_tuple, runtime.make_list, runtime.make_dict, runtime.make_functions),
)
#: Classes of values that share no data.
_ATOMS: Final = (str, bytes, int, float, complex, type(None), type, slice, range, np.dtype)

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
        views: by identity, each array that shares data with others, or object that may
            hold such arrays, and those, by identity too.
        external: the arrays that something outside of the program holds.
        ordered: by identity, arrays whose axes lie in memory from the widest to the narrowest.
        pinned: arrays that must stay alive, so that their identities remain unique.
    """

    views: dict[int, tuple[Any, Roots]] = attrs.field(factory=dict)
    external: set[int] = attrs.field(factory=set)
    ordered: dict[int, Array] = attrs.field(factory=dict)
    pinned: list[Any] = attrs.field(factory=list)

    def outer_roots(self, value: Any) -> Roots:
        """Return the arrays whose data a value shares, but for itself."""
        return self.views.get(id(value), (value, Roots()))[1]

    def roots(self, value: Any) -> Roots:
        """Return the arrays whose data a value shares; a number shares none."""
        if isinstance(value, np.ndarray):
            while isinstance(value.base, np.ndarray):
                value = value.base
            self.pinned.append(value)
            return Roots((id(value),))
        if not isinstance(value, Array):
            return self.outer_roots(value)
        return self.outer_roots(value) or Roots((id(value),) if value.shape else ())

    def follow(self, array: Any, roots: Iterable[int]) -> None:
        """Record that an array, or an object that may hold some, may share the data of others."""
        if shared := frozenset(roots):
            self.views[id(array)] = (array, self.outer_roots(array) | shared)

    def replace(self, value: Array, result: Array) -> None:
        """Record that an array has become another one, in place."""
        self.follow(result, (id(result),))

    def after(
        self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
    ) -> Any:
        """Record the aliasing of a call's result; a copy is another array even if it is equal.

        What is not known to be new may share the data of all that the call was given.
        """
        operands = [getattr(function, "__self__", None), *args, *kwargs.values()]
        is_operand = isinstance(result, Array) and any(result is x for x in operands)
        if is_operand and _copies(function, args, kwargs):
            params = ew.ConvertParams(result.dtype, result.weak_type)
            (result,) = tr.bind(ew.convert_element_type_p, (result,), params)
        if isinstance(result, Array):
            is_known = not _is_elementwise(function) or kwargs or self.is_in_order(result)
            if not is_known and all(map(self.is_in_order, arrays_in(args))):
                self.ordered[id(result)] = result
            if not result.shape:
                if runtime.is_in(function, (min, max)):  # one of its arguments
                    self.follow(result, Roots().union(*map(self.roots, arrays_in(args))))
                if self._gives_number(function, args, kwargs):
                    return result
                self.follow(result, (id(result),))
        if function in _READING and not isinstance(args[0], Array):
            arrays = [x for x in _leaves(result) if _is_array(x)]
            self.pinned += arrays
            self.external |= Roots().union(*map(self.roots, [*arrays, args[0]] if arrays else []))
        elif not gives_new(function, args, kwargs):
            self._follow_parts(result, operands)
        return result

    def _follow_parts(self, result: Any, operands: Sequence[Any]) -> None:
        """Record that what a result is made of may share the data of operands."""
        parts = [x for x in _leaves(result) if not isinstance(x, (FunctionType, MethodType))]
        if not parts:
            return
        leaves = [x for operand in operands for x in _leaves(operand)]
        roots = Roots().union(*map(self.roots, leaves))
        for part in parts if roots else ():
            if not any(part is x for x in leaves):
                self.follow(part, roots)

    def is_in_order(self, value: Any) -> bool:
        """Return whether the axes of an array certainly lie in memory in their order."""
        layouts = getattr(value, "layouts", (value,))
        if isinstance(layouts[0], np.ndarray):
            return all(map(_is_in_order, layouts))
        return id(value) in self.ordered or sum(n > 1 for n in value.shape) < 2

    def _gives_number(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Return whether NumPy gives a number here, and certainly no array without axes."""
        if function is operator.getitem:
            parts = args[1] if isinstance(args[1], tuple) else (args[1],)
            return not any(x is Ellipsis for x in parts)
        if _is_elementwise(function) or not _is_numpys(function, args):
            return "out" not in kwargs
        if isinstance(function, MethodType):
            function, args = getattr(np, function.__name__, None), (function.__self__, *args)
        arrays = arrays_in(args)
        if not all(hasattr(x, "ndim") for x in arrays):  # of slices with traced bounds
            return False
        kinds = [(x.ndim, _KINDS.get(x.dtype.kind)) for x in arrays]
        known = facts.is_determined(function) and {*kwargs} <= {"axis"} and all(k for _, k in kinds)
        return known and facts.result_of(function, tuple(kinds)) is not None

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
                if any(self.roots(x) & roots for x in parts):
                    raise _shared(variable.name or "a value")


#: The types of NumPy's kinds of numbers.
_KINDS: Final = {"f": float, "i": int, "b": bool}


def _is_elementwise(function: Any) -> bool:
    return isinstance(function, np.ufunc) or runtime.is_in(function, syntax.ARITHMETIC)


def _copies(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Return whether NumPy gives a copy, also where an array of tinyjax needs none."""
    if isinstance(function, MethodType) and _is_array(function.__self__):
        return facts.is_fresh(function.__name__, len(args), (*kwargs,))
    is_copy = _is_elementwise(function) or function is copy.deepcopy
    return is_copy or facts.is_fresh(function, len(args), (*kwargs,))


def _is_array(value: Any) -> bool:
    return isinstance(value, (Array, MutableArray, np.ndarray))


def arrays_in(values: Sequence[Any]) -> list[Any]:
    """Return the arrays in a sequence, and in the tuples and lists in it."""
    nested = [arrays_in(x) if isinstance(x, (tuple, list)) else [x] for x in values]
    return [x for part in nested for x in part if _is_array(x)]


def _leaves(value: Any) -> list[Any]:
    """Return the arrays in a value, and the iterators and other objects."""
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in _leaves(part)]
    if isinstance(value, dict):
        return _leaves([*value.values()])
    if type(value).__module__.startswith(__package__) and hasattr(value, "arrays"):
        return [*value.arrays]  # of items
    return [] if isinstance(value, _ATOMS) else [value]


def gives_new(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Return whether what a function gives is known to share no data, or is known already."""
    while isinstance(function, functools.partial):
        function, args = function.func, (*function.args, *args)
    if isinstance(function, MethodType) and not _is_array(function.__self__):
        function = function.__func__
    if isinstance(function, MethodType):
        return facts.is_fresh(function.__name__, len(args), (*kwargs,))
    if function is operator.getitem:
        if isinstance(args[0], (tuple, list, dict)):  # which gives what it holds
            return isinstance(args[1], _ATOMS)
        return _is_array(args[0]) and is_advanced(args[1])
    if function is getattr:
        return False
    module = getattr(function, "__module__", None) or type(function).__module__
    return (
        is_read(function)
        or runtime.is_in(function, _KNOWN)
        or runtime.is_in(function, certainty.COMPUTING)
        or facts.is_fresh(function, len(args), (*kwargs,))
        or (module.startswith("tinyjax.") and not module.startswith("tinyjax.source"))
        or module in ("math", "cmath")
    )


def _is_in_order(array: np.ndarray[Any, Any]) -> bool:
    strides = [abs(s) for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    return strides == sorted(strides, reverse=True)


def _is_numpys(function: Any, args: Sequence[Any]) -> bool:
    """Return whether a function, or a method or an attribute of an array, is NumPy's."""
    if any(callable(x) for x in args):
        return False
    if function in (getattr, operator.getitem) or isinstance(function, MethodType):
        return _is_array(function.__self__ if isinstance(function, MethodType) else args[0])
    module = getattr(function, "__module__", None) or ""
    return module.startswith("numpy") and not isinstance(function, type)


def _shared(name: str) -> errors.SourceError:
    return errors.SourceError(
        "an augmented assignment changes an array of NumPy in place, and an array of tinyjax "
        f"never; {name} is used afterwards and shares its data, so that the two differ. Write "
        "x = x + y in place of x += y, or change a copy."
    )


def is_advanced(index: Any) -> bool:
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
        error: the last error of a statement.
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
    error: Exception | None = None

    def is_of_program(self, error: Exception) -> bool:
        """Return whether an error is one of the program's, or says that it is staged otherwise."""
        known = (StagingError, runtime.InPlaceError, errors.TinyjaxError)
        return isinstance(error, known) or error is self.error

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
