"""The state of a staging: the functions that are running, and the conditions around them."""

from __future__ import annotations

import cmath
import functools
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from types import CodeType, FunctionType, MethodType
from typing import Any, Final, ParamSpec, TypeGuard, TypeVar
from weakref import WeakValueDictionary

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base.frames import PACKAGE_DIRECTORY, Location
from tinyjax._extensions.callbacks import checks
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import staging, trace as tr
from tinyjax.core.values import Array
from tinyjax.source import facts
from tinyjax.source.ir import find, runtime, syntax
from tinyjax.source.ir.randomness import SeededGenerators
from tinyjax.source.staging import graph as staging_graph
from tinyjax.source.staging.values import (
    Known,
    MutableArray,
    StagingError,
    contents_of,
    is_same,
    not_staged,
    take_apart,
)

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
        buffers: how many arrays that are changed in place there were before the call.
    """

    code: CodeType
    parts: list[Any]
    conditions: int
    buffers: int


@attrs.frozen(eq=False)
class Iteration:
    """An iteration of a loop that was staged, as an estimate of its others.

    Attributes:
        cost: an estimate of the time to compile it, in milliseconds.
        chooses: whether it contains conditionals.
        loops: whether it contains loops.
        endless: the number of its loops whose lengths are not known.
        buffers: the arrays that it writes to.
        varying: the carried parts that are arrays after it.
        counted: the carried parts that are other numbers after it.
    """

    cost: int
    chooses: bool
    loops: bool = False
    endless: int = 0
    buffers: tuple[Buffer, ...] = ()
    varying: frozenset[tuple[int, int]] = frozenset()
    counted: frozenset[tuple[int, int]] = frozenset()


# Shared data


@attrs.frozen
class Traits:
    """Properties of a value that its type does not tell.

    Attributes:
        is_point: whether it may be an array without axes, and no number.
        is_own: whether it is an array of tinyjax's.
        is_of_python: whether it is certainly a number of Python's.
        is_mixed: whether it may be a number of several classes.
        kind: the kind of its dtype.
    """

    is_point: bool = False
    is_own: bool = False
    is_of_python: bool = False
    is_mixed: bool = False
    kind: str = ""


@attrs.define(eq=False)
class Layouts:
    """Properties of arrays that NumPy knows and tinyjax does not.

    Attributes:
        ordered: by identity, arrays whose axes lie in memory from the widest to the narrowest.
        points: by identity, arrays without axes, which NumPy distinguishes from numbers.
        own: by identity, arrays of tinyjax's, which never change.
        truths: by identity, truth values of Python's, whose type does not tell that.
        mixed: by identity, scalars that may be numbers of several classes.
        flat: by identity, the elements of arrays, which are indexed as flat iterators.
    """

    ordered: dict[int, Array] = attrs.field(factory=dict)
    points: dict[int, Array] = attrs.field(factory=dict)
    own: dict[int, Array] = attrs.field(factory=dict)
    truths: WeakValueDictionary[int, Array] = attrs.field(factory=WeakValueDictionary)
    mixed: WeakValueDictionary[int, Array] = attrs.field(factory=WeakValueDictionary)
    flat: WeakValueDictionary[int, Array] = attrs.field(factory=WeakValueDictionary)

    def after(
        self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
    ) -> Any:
        """Record what is known of the result of a call, and return it."""
        if not isinstance(result, Array):
            return result
        if function is getattr and args[1] == "flat" and not self.is_own(args[0]):
            result = _as_another(result, function, args, kwargs)
            self.flat[id(result)] = result
        if self._gives_truth(function, args, result):
            result = _as_another(result, function, args, kwargs)
            self.truths[id(result)] = result
            return result
        is_known = not _is_elementwise(function) or kwargs or self.is_in_order(result)
        if not is_known and all(map(self.is_in_order, arrays_in(args))):
            self.ordered[id(result)] = result
        if result.shape:
            return result
        is_one = runtime.is_in(function, (min, max)) and any(map(self.is_point, arrays_in(args)))
        if not is_one and self._gives_number(function, args, kwargs):
            return result
        if not self.is_point(result):
            result = _as_another(result, function, args, kwargs)
        self.points[id(result)] = result
        return result

    def _gives_truth(self, function: Any, args: Sequence[Any], result: Array) -> bool:
        """Return whether the result of a call is a truth value of Python's."""
        if result.dtype.kind != "b" or result.shape or self.is_of_python(result):
            return False
        if runtime.is_in(function, syntax.OPERATORS):
            return all(map(self.is_of_python, args))
        return runtime.is_in(function, _PREDICATES) or getattr(function, "__module__", "") == "math"

    def is_of_python(self, value: Any) -> bool:
        """Return whether a value is certainly a number of Python's."""
        if isinstance(value, Array):
            return not value.shape and (value.weak_type or id(value) in self.truths)
        return type(value.item(0) if isinstance(value, Known) else value) in _KIND_OF_CLASS

    def as_own(
        self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], array: Array
    ) -> Array:
        """Record that a call gives an array of tinyjax's, and return it."""
        if not self.is_own(array):
            array = _as_another(array, function, args, kwargs)
            self.own[id(array)] = array
        return array

    def is_own(self, value: Any) -> bool:
        """Return whether a value is known to be an array of tinyjax's."""
        return id(value) in self.own

    def is_point(self, value: Any) -> bool:
        """Return whether a value may be an array without axes, and no number."""
        return id(value) in self.points or (isinstance(value, np.ndarray) and not value.ndim)

    def check_no_view_of_point(
        self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
    ) -> None:
        """Refuse a view of an array without axes, where it may be written to by another name.

        Raises:
            NotStagedError: the result of the call may be one.
        """
        if not isinstance(result, Array) or not result.shape:
            return
        if isinstance(function, MethodType):
            function, args = function.__name__, (function.__self__, *args)
        count = len(args) - isinstance(function, str)
        is_new = _is_elementwise(function) or facts.is_fresh(function, count, (*kwargs,))
        if not is_new and any(map(self.is_point, arrays_in(args))):
            raise not_staged(
                "a view of an array without axes is not taken, where arrays change. Make the array "
                "with an axis."
            )

    def traits_of(self, value: Any) -> Traits:
        """Return what is known of a value beside its type."""
        number = value.item(0) if isinstance(value, Known) else value
        dtype = getattr(number, "dtype", None)
        kind = _KIND_OF_CLASS.get(type(number), "") if dtype is None else dtype.kind
        known = self.is_point(value), self.is_own(value), self.is_of_python(value)
        return Traits(*known, id(value) in self.mixed, kind)

    def join(self, array: Array, parts: Sequence[Traits]) -> None:
        """Record of an array what is known of the values that it may stand for."""
        names = {
            "points": any(x.is_point for x in parts),
            "own": all(x.is_own for x in parts),
            "truths": array.dtype.kind == "b" and all(x.is_of_python for x in parts),
            "mixed": any(x.is_mixed or x.kind != array.dtype.kind for x in parts),
        }
        for name, holds in names.items():
            if holds:
                getattr(self, name)[id(array)] = array

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


def _as_another(
    array: Array, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Array:
    """Return an array that is equal to a call's result, and none of the arguments."""
    operands = [getattr(function, "__self__", None), *args, *kwargs.values()]
    if not any(array is x for x in take_apart(operands)[0]):
        return array
    params = ew.ConvertParams(array.dtype, array.weak_type)
    return tr.bind(ew.convert_element_type_p, (array,), params)[0]


#: The kinds of dtypes of Python's numbers.
_KIND_OF_CLASS: Final = {bool: "b", int: "i", float: "f", complex: "c"}
#: Functions that give truth values of Python's.
_PREDICATES: Final = frozenset(
    (operator.not_, operator.truth, operator.contains, runtime.contains, runtime.lacks, any, all,
     bool, cmath.isclose, cmath.isfinite, cmath.isinf, cmath.isnan)
)  # fmt: skip
#: The types of NumPy's kinds of numbers.
_KINDS: Final = {"f": float, "i": int, "b": bool}


def _is_elementwise(function: Any) -> bool:
    return isinstance(function, np.ufunc) or runtime.is_in(function, syntax.ARITHMETIC)


def _is_array(value: Any) -> bool:
    return isinstance(value, (Array, MutableArray, np.ndarray))


def arrays_in(values: Sequence[Any]) -> list[Any]:
    """Return the arrays in a sequence, and in the tuples and lists in it."""
    nested = [arrays_in(x) if isinstance(x, (tuple, list)) else [x] for x in values]
    return [x for part in nested for x in part if _is_array(x)]


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


def is_advanced(index: Any) -> bool:
    """Return whether indexing copies: by arrays and lists."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, (list, np.ndarray)) or _has_axes(part) for part in parts)


def _has_axes(part: Any) -> bool:
    return isinstance(part, Array) and (bool(part.shape) or part.dtype.kind == "b")


# The staging


@attrs.frozen(eq=False)
class NamedInteger:
    """The identity of a traced integer.

    Attributes:
        subject: the integer and the objects in its name, kept alive since the name has their ids.
        base: two integers with one base differ by their offsets.
        offset: the integer minus the one with the same base and offset zero.
    """

    subject: object
    base: Hashable
    offset: int = 0


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
        layouts: what NumPy knows of arrays.
        is_cautious: whether functions may change arrays that they are given.
        buffers: the contents of the arrays that are changed in place.
        snapshots: their contents at the beginning of each piece that is being staged.
        names: by identity, integers that are others plus constants, or elements of arrays.
        magnitudes: by identity, traced integers, with the greatest absolute value of each.
        masks: by identity, arrays of truth values: the array, the function that returned it, and
            the function's arguments.
        iterations: the loops of which all iterations were rolled up, each with one iteration.
        error: the last error of a statement.
        generators: the generators of random numbers that the program seeds.
    """

    call: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    run_loop: Callable[..., Any]
    entered: list[Entered] = attrs.field(factory=list)
    conditions: int = 0
    choices: int = 0
    failures: list[Array] = attrs.field(factory=list)
    managers: list[tuple[AbstractContextManager[Any], int]] = attrs.field(factory=list)
    shared: list[Any] = attrs.field(factory=list)
    layouts: Layouts = attrs.field(factory=Layouts)
    is_cautious: bool = False
    buffers: list[Buffer] = attrs.field(factory=list)
    snapshots: list[dict[Buffer, Array]] = attrs.field(factory=list)
    names: dict[int, NamedInteger] = attrs.field(factory=dict)
    magnitudes: dict[int, tuple[Array, int]] = attrs.field(factory=dict)
    masks: dict[int, tuple[Array, Any, tuple[Any, ...]]] = attrs.field(factory=dict)
    iterations: dict[staging_graph.LoopBlocks, Iteration] = attrs.field(factory=dict)
    error: Exception | None = None
    generators: SeededGenerators = attrs.field(factory=SeededGenerators)

    def is_of_program(self, error: Exception) -> bool:
        """Return whether an error is the program's own, or asks for another way of staging."""
        known = (StagingError, runtime.InPlaceError, errors.TinyjaxError)
        return isinstance(error, known) or error is self.error

    def own_buffers(self) -> set[Buffer]:
        """Return the arrays that the running function has made, and that nothing else has."""
        parts = [part for entered in self.entered for part in entered.parts]
        objects = [part for part in parts if not isinstance(part, MutableArray)]
        return {*self.buffers[self.entered[-1].buffers :]} - buffers_in(objects)

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

    def check(self, failed: Array, raised: RaisedError | checks.ErrorIfParams) -> None:
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
        """Leave a context manager; under a traced condition it is left at the end of the run."""
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


def buffers_in(value: object, seen: set[int] | None = None) -> set[Buffer]:
    """Return the arrays that are changed in place in a value, and those that its views are of."""
    seen = set() if seen is None else seen
    if isinstance(value, Buffer):
        return {value}
    parts = []
    if id(value) not in seen and not isinstance(value, Array):
        owner = getattr(value, "owner", None) if isinstance(value, MutableArray) else None
        parts = contents_of(value) if owner is None else [owner]
    seen.add(id(value))
    return {buffer for part in parts for buffer in buffers_in(part, seen)}


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


#: The depth of a recursion in which each call is under a further traced condition.
_MOST_CALLS: Final = 100


def is_read(fun: object) -> TypeGuard[FunctionType]:
    """Return whether a function's calls are staged: it is the user's, and not a library's."""
    return isinstance(fun, FunctionType) and _is_users_file(fun.__code__.co_filename)


@functools.cache
def _is_users_file(filename: str) -> bool:
    generated = filename.startswith((PACKAGE_DIRECTORY, "<frozen", "<attrs generated"))
    return not generated and not find.is_library(filename)
