"""The functions that programs call in place of Python's syntax."""

from __future__ import annotations

import builtins
import contextlib
import dis
import functools
import inspect
import itertools
import math
import sys
import threading
import warnings
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, _GeneratorContextManager
from types import CellType, CodeType, FunctionType, MethodDescriptorType, MethodType, ModuleType
from typing import Any, Final, NoReturn

import numpy as np

from tinyjax import errors
from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.values import Array
from tinyjax.core.values.array import has_own_semantics
from tinyjax.source.ir.find import refusal


class Undefined:
    """Stands for a variable that has no value yet."""

    def __repr__(self) -> str:
        return "undefined"


class Box:
    """Stands for a value in programs that a context runs on values of its own."""

    __slots__ = ()


UNDEFINED: Final = Undefined()


def contains(item: Any, container: Any) -> bool:
    """``item in container``."""
    return item in container


def lacks(item: Any, container: Any) -> bool:
    """``item not in container``."""
    return item not in container


def make_tuple(*items: Any) -> tuple[Any, ...]:
    """Return a tuple of the arguments."""
    return items


def make_list(*items: Any) -> list[Any]:
    """Return a list of the arguments."""
    return [*items]


def make_dict(*items: Any) -> dict[Any, Any]:
    """Return a dict of alternating keys and values."""
    return dict(zip(items[::2], items[1::2], strict=True))


def joined(*parts: Iterable[Any]) -> tuple[Any, ...]:
    """Return the items of several sequences, one after the other."""
    return tuple([item for part in parts for item in part])


def merged(*parts: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the entries of several mappings; later ones win."""
    return {key: value for part in parts for key, value in part.items()}


def apply(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``fun(*args, **kwargs)``."""
    check_overwrites_nothing(fun, args, kwargs)
    return fun(*args, **kwargs)


def check_overwrites_nothing(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise where an argument is given by which a function may change another, or that one."""
    for name, neutral in overwriting_options(fun).items():
        if bool(kwargs.get(name, neutral)) is not neutral:
            raise refusal(f"{name}= may change an argument, which is not taken: leave it out.")
    owner, name = getattr(fun, "__self__", None), getattr(fun, "__name__", str(fun))
    is_at = fun is accumulate_at or (name == "at" and isinstance(owner, np.ufunc))
    if is_at or is_in(fun, WRITERS):
        raise refusal(f"{name}() by another name is not taken. Assign to items: a[index] = value.")
    place = place_of_out(fun)
    by_position = args[place] if place is not None and place < len(args) else None
    is_users = isinstance(fun, (FunctionType, MethodType)) and not is_of_numpy(fun)
    if by_position is not None or (kwargs.get("out") is not None and not is_users):
        raise refusal(f"out of {name}() is not taken in such a call. Assign the result: y[:] = ...")


def is_of_numpy(fun: Any) -> bool:
    """Return whether a function is one of NumPy's."""
    module = getattr(fun, "__module__", None) or ""
    return isinstance(fun, np.ufunc) or module.partition(".")[0] == "numpy"


#: The places of ``out`` among the arguments by position of methods of ufuncs.
_OUT_OF_UFUNCS: Final = {"accumulate": 3, "outer": 2, "reduce": 3, "reduceat": 4}


def place_of_out_of_method(name: str) -> int | None:
    """Return the place of the argument ``out`` of a method of arrays: that of NumPy's function."""
    place = place_of_out(getattr(np, name, None))
    return None if place is None else place - 1


def place_of_out(fun: Any) -> int | None:
    """Return the place of the argument ``out`` among those by position of a function of NumPy's."""
    if isinstance(fun, np.ufunc):
        return fun.nin
    name, owner = getattr(fun, "__name__", ""), getattr(fun, "__self__", None)
    if isinstance(owner, np.ufunc):
        return _OUT_OF_UFUNCS.get(name)
    if isinstance(owner, (np.ndarray, np.generic)):
        return place_of_out_of_method(name)
    if isinstance(fun, MethodDescriptorType) and issubclass(fun.__objclass__, _OF_ARRAYS):
        return place_of_out(getattr(np, name, None))
    return _place_in_signature(fun) if is_of_numpy(fun) and isinstance(fun, Hashable) else None


_OF_ARRAYS: Final = (np.ndarray, np.generic)


@functools.lru_cache(maxsize=1024)
def _place_in_signature(fun: Any) -> int | None:
    try:
        parameters = inspect.signature(fun).parameters
    except (TypeError, ValueError):  # the function is written in C
        return None
    out = parameters.get("out")
    if out is None or out.kind is inspect.Parameter.KEYWORD_ONLY:
        return None
    return list(parameters).index("out")


def overwriting_options(fun: Any) -> dict[str, bool]:
    """Return the options by which a function of NumPy's or SciPy's may change an argument.

    Returns:
        Their names, with the values that change nothing.
    """
    if (getattr(fun, "__module__", None) or "").partition(".")[0] not in ("numpy", "scipy"):
        return {}
    if fun is np.nan_to_num:
        return {"copy": True}
    try:
        parameters = inspect.signature(fun).parameters
    except (TypeError, ValueError):  # written in C
        return {}
    return {name: False for name in parameters if name.startswith("overwrite_")}


def by_rows(index: Any) -> Any:
    """``np.r_[index]``."""
    return np.r_[index]


def by_columns(index: Any) -> Any:
    """``np.c_[index]``."""
    return np.c_[index]


def items_of(iterable: Any) -> Any:
    """Return the items of an iterable as an object with a length and an index."""
    if isinstance(iterable, (range, tuple, np.ndarray, Array)):
        return iterable
    if isinstance(iterable, memoryview):  # of an array that may change
        raise refusal("a loop over a memoryview is not taken. Go through the array.")
    if isinstance(iterable, _ENDLESS):
        raise refusal(
            f"a loop over itertools.{type(iterable).__name__} has no end that can be known. Write "
            "while True and count."
        )
    if isinstance(iterable, itertools.groupby):  # whose groups end where the next one begins
        return tuple([(key, [*group]) for key, group in iterable])
    return tuple(iterable)


def check_no_iterator(value: Any) -> None:
    """Refuse an iterator from outside, of which a loop may leave the rest to others.

    Raises:
        SourceError: it is one.
    """
    if isinstance(value, Iterator):
        raise refusal(
            f"a {type(value).__name__}, which is an iterator, is not taken from outside of the "
            "function. Give a list of its items."
        )


_ENDLESS: Final = (itertools.count, itertools.cycle, itertools.repeat)


def unpacked(value: Any, count: int) -> tuple[Any, ...]:
    """Return the items of a sequence that must have so many."""
    items = items_of(value)
    if len(items) != count:
        raise ValueError(
            f"not enough values to unpack (expected {count}, got {len(items)})"
            if len(items) < count
            else f"too many values to unpack (expected {count})"
        )
    return tuple([items[i] for i in range(count)])


def check_container(value: Any) -> None:
    """Refuse that an array is taken apart in a program that changes arrays.

    Raises:
        SourceError: it is one.
    """
    if isinstance(value, np.ndarray):
        raise refusal(
            "an array is taken apart in a function that changes arrays: it is not certain what "
            "shares memory with what. Capture the function: source.capture(f)."
        )


def unpacked_star(value: Any, before: int, after: int) -> tuple[Any, ...]:
    """Return the items of a sequence, those in the middle as a list."""
    items = [*items_of(value)]
    if len(items) < before + after:
        raise ValueError(
            f"not enough values to unpack (expected at least {before + after}, got {len(items)})"
        )
    end = len(items) - after
    return (*items[:before], items[before:end], *items[end:])


def collected(chain: Any) -> list[Any]:
    """Return the items that a comprehension has chained, each to those before it."""
    items = []
    while chain is not None:
        chain, item = chain
        items.append(item)
    items.reverse()
    return items


def defined(value: Any, name: str) -> Any:
    """Return a variable that some paths to here give no value.

    Raises:
        UnboundLocalError: this path did not.
    """
    if value is UNDEFINED:
        raise UnboundLocalError(
            f"cannot access local variable '{name}' where it is not associated with a value"
        )
    return value


def captured(fun: FunctionType, name: str) -> Any:
    """Return the value of a variable that a function closes over."""
    assert fun.__closure__ is not None, f"{fun!r} closes over nothing"
    cell = fun.__closure__[fun.__code__.co_freevars.index(name)]
    try:
        return cell.cell_contents
    except ValueError:
        raise NameError(
            f"cannot access free variable '{name}' where it is not associated with a value in "
            "enclosing scope"
        ) from None


def global_value(fun: FunctionType, name: str) -> Any:
    """Return the value of a global variable of a function's module."""
    try:
        return fun.__globals__[name]
    except KeyError:
        pass
    try:
        return getattr(builtins, name)
    except AttributeError:
        raise NameError(f"name '{name}' is not defined") from None


def make_functions(
    maker: FunctionType,
    codes: tuple[CodeType, ...],
    defaults: tuple[tuple[Any, ...], ...],
    keyword_defaults: tuple[dict[str, Any], ...],
    *values: Any,
) -> tuple[FunctionType, ...]:
    """Return functions defined one after the other inside ``maker``, which may call each other.

    The values are those that they close over besides each other.
    """
    cells = {name: CellType(v) for name, v in zip(free_names(codes), values, strict=True)}
    cells.update({code.co_name: CellType() for code in codes})
    functions: list[FunctionType] = []
    for code, positional, by_keyword in zip(codes, defaults, keyword_defaults, strict=True):
        closure = tuple([cells[name] for name in code.co_freevars])
        fun = FunctionType(code, maker.__globals__, code.co_name, positional or None, closure)
        fun.__kwdefaults__ = by_keyword or None
        cells[code.co_name].cell_contents = fun
        functions.append(fun)
    return tuple(functions)


def free_names(codes: tuple[CodeType, ...]) -> tuple[str, ...]:
    """Return the names that functions which call each other close over, without their own."""
    own = {code.co_name for code in codes}
    names = [name for code in codes for name in code.co_freevars if name not in own]
    return tuple(dict.fromkeys(names))


def optional_names(code: CodeType, count: int) -> tuple[str, ...]:
    """Return the positional parameters with a default, given the number of defaults."""
    return code.co_varnames[code.co_argcount - count : code.co_argcount]


def exchange(array: Any, index: Any, value: Any) -> Any:
    """Assign ``array[index] = value``, and return a copy of the old value.

    Raises:
        SourceError: it is no array.
    """
    if not isinstance(array, np.ndarray):
        raise refusal(_assigned_to(array))
    check_no_objects(array)
    before = array[index]
    if isinstance(before, np.ndarray) and before.base is not None:
        before = before.copy()
    is_number = isinstance(value, Array) and value.weak_type and not isinstance(value, Tracer)
    try:
        array[index] = value.item() if is_number else value  # one of Python's, of which it is
    except (TypeError, ValueError):
        if not isinstance(value, Array):
            raise
        raise refusal(
            "a traced value is written to an array of NumPy. Compile the function itself, and "
            'differentiate that: tinyjax.grad(tinyjax.jit(f, control_flow="source")).'
        ) from None
    if (log := writes.log) is not None:
        log.append((array, index, before))
    return before


def check_no_objects(array: np.ndarray[Any, Any]) -> None:
    """Raise if an array that is written to holds objects, which may be arrays, or texts."""
    if array.dtype.kind in "OUSV":
        raise refusal("an assignment to an array of objects or texts is not taken. Use a list.")


def log_writes(*arrays: Any) -> None:
    """Log arrays which a program may write to from now on without logging each write."""
    log = writes.log
    if log is None:
        return
    log.append((None, (), None))
    for array in arrays:
        root = array
        check_no_objects(root)
        while isinstance(root.base, np.ndarray) and root.base.flags.writeable:
            root = root.base
        place = writes.copied.get(id(root), -1)
        if not (writes.start <= place < len(log) and log[place][0] is root):
            writes.copied[id(root)] = len(log)
            log.append((root, ..., root.copy()))


def replaced(array: Any, index: Any, value: Any) -> Any:
    """``array[index] = value``, of an array that only the program knows; as ``exchange``."""
    before = array[index]
    if isinstance(before, np.ndarray) and before.base is not None:
        before = before.copy()
    array[index] = value
    return before


def increased(array: Any, index: Any, value: Any) -> Any:
    """``array[index] += value``, likewise; the index names no element twice."""
    before = array[index]
    if isinstance(before, np.ndarray):
        if before.base is not None:
            before = before.copy()
        array[index] += value
    else:
        array[index] = before + value
    return before


def accumulate_at(array: Any, index: Any, value: Any) -> Any:
    """Apply ``np.add.at(array, index, value)``, and return a copy of the old value."""
    before = array[index]
    if isinstance(before, np.ndarray) and before.base is not None:
        before = before.copy()
    np.add.at(array, index, value)
    if (log := writes.log) is not None:
        log.append((array, index, before))
    return before


def diagonal(array: Any) -> Any:
    """Return the index of the diagonal of an array."""
    return (np.arange(min(array.shape)),) * array.ndim


def everything(array: Any) -> Any:
    """Return the index of a whole array."""
    return ...


#: Functions of NumPy that write their second argument to the first: the index to which they do.
WRITERS: Final[dict[Any, Callable[[Any], Any]]] = {
    np.fill_diagonal: diagonal,
    np.copyto: everything,
}


class WriteLog(threading.local):
    """The writes of programs to arrays.

    Attributes:
        log: each array with the index and the overwritten value; None where nothing is recorded.
            An entry without an array stands for a program that writes.
        copied: the places in the log of whole arrays, by their identity.
        start: the length of the log when the current attempt began.
        managers: the context managers that are entered, while writes are recorded.
        is_cautious: whether a function that is called may write to its arguments.
    """

    log: list[tuple[Any, Any, Any]] | None = None
    start: int = 0
    is_cautious: bool = False

    def __init__(self) -> None:
        self.copied: dict[int, int] = {}
        self.managers: list[AbstractContextManager[Any]] = []

    def undo(self, count: int = 0, depth: int = 0) -> None:
        """Leave the contexts, and restore the arrays, except for the first of each."""
        while len(self.managers) > depth:
            manager = self.managers.pop()
            type(manager).__exit__(manager, *sys.exc_info())
        while self.log and len(self.log) > count:
            array, index, before = self.log.pop()
            if array is not None:
                array[index] = before


writes: Final = WriteLog()


class InPlaceError(Exception):
    """A function is about to change an array unexpectedly."""


def _assigned_to(value: Any) -> str:
    """Return the error message for an assignment to an item of a value that is no NumPy array."""
    name = errors.type_name(value)
    if isinstance(value, (list, dict)):
        instead = "[*xs[:i], x, *xs[i + 1:]]" if isinstance(value, list) else "{**d, k: v}"
        return (
            f"an assignment to an item of a {name} is not taken by tinyjax.source, which takes "
            f"those of NumPy arrays. Build a new {name}: {instead}."
        )
    if isinstance(value, Array):
        return (
            "an assignment to an item of an array of tinyjax, which cannot be changed. Write "
            "x = x.at[i].set(v), or give the function NumPy arrays."
        )
    return (
        f"an assignment to an item of a {name} is not taken by tinyjax.source, which takes those "
        "of NumPy arrays."
    )


def updated(operation: Callable[[Any, Any], Any], value: Any, operand: Any) -> Any:
    """Return ``value += by`` and the like.

    Raises:
        SourceError: it would change a list or an object in place.
        InPlaceError: it would change an array where that was not expected.
    """
    if isinstance(value, np.ndarray) and writes.log is not None and not writes.is_cautious:
        raise InPlaceError
    return augmented(operation, value, operand)


def augmented(operation: Callable[[Any, Any], Any], value: Any, operand: Any) -> Any:
    """Return ``value += by`` and the like, for an array changed in place or another value."""
    if isinstance(value, np.ndarray):
        exchange(value, ..., fitting(operation(value, operand), value, value))
        return value
    check_in_place(operation, value)
    return operation(value, operand)


#: Augmented assignments, of names and of what is changed in place.
AUGMENTING: Final = frozenset((updated, augmented))
#: What makes containers of the items of others.
BUILDING: Final = frozenset((make_tuple, make_list, make_dict, joined, merged, unpacked, collected))


def fitting(result: Any, array: Any, place: Any) -> Any:
    """Return the result of an operation if NumPy writes it to an array.

    Args:
        result: the result.
        array: the array that is written to.
        place: what an augmented assignment changes, the array or a part of it; None for ``out=``.

    Raises:
        SourceError: the array's dtype does not hold it, or it has another shape.
    """
    if isinstance(array, np.ndarray | Array):
        check_place(result, array if place is None else place)
    if isinstance(result, Array) and isinstance(array, np.ndarray):
        raise refusal(
            "an augmented assignment of an array of tinyjax to one of NumPy gives another array. "
            "Write x = x + y in place of x += y."
        )
    for x in (result, array):
        if isinstance(x, np.ndarray) and has_own_semantics(type(x)):
            raise refusal(
                f"an augmented assignment, or out=, of {type(x).__name__} is not taken: its own "
                "operators, methods or protocols would be lost. Use its data, np.asarray(x)."
            )
    if not isinstance(array, np.ndarray) or getattr(result, "dtype", None) is array.dtype:
        return result
    dtype = np.result_type(result)
    if not np.can_cast(dtype, array.dtype, "same_kind"):
        raise refusal(
            f"an augmented assignment writes {dtype} to an array of {array.dtype}, which NumPy "
            "does not do. Convert the array first: x = x.astype(float)."
        )
    return result


def check_place(result: Any, place: Any) -> None:
    """Check that a result has the shape of the place that it is written to.

    Raises:
        SourceError: it has another one, which NumPy takes of some functions.
    """
    shape, other = np.shape(result), getattr(place, "shape", ())
    if shape != other:
        raise refusal(
            f"an augmented assignment, or out=, writes an array of the shape {shape} into {other}. "
            "Write y[...] = result."
        )


def changes(operation: Callable[[Any, Any], Any], value: Any) -> bool:
    """Return whether an augmented assignment may change a value in place."""
    return hasattr(type(value), f"__i{operation.__name__.strip('_')}__")


def check_in_place(operation: Callable[[Any, Any], Any], value: Any) -> None:
    """Raise if an augmented assignment would change a value in place.

    Raises:
        SourceError: it would.
    """
    if changes(operation, value) and not isinstance(value, (np.generic, Array)):
        raise refusal(
            f"an augmented assignment changes a value of type {type(value).__name__} in place, "
            "which every other name of it would see. Write x = x + y in place of x += y."
        )


_CONVERSIONS: Final[dict[str, Callable[[Any], str]]] = {"s": str, "r": repr, "a": ascii}


def formatted(value: Any, conversion: int, spec: str) -> str:
    """One replacement field of an f-string."""
    if conversion != -1:
        value = _CONVERSIONS[chr(conversion)](value)
    return format(value, spec)


def text(*parts: str) -> str:
    """Return the joined parts of an f-string."""
    return "".join(parts)


def thrown(error: BaseException | type[BaseException], cause: BaseException | None) -> NoReturn:
    """``raise error from cause``."""
    raise error from cause


def enter(manager: AbstractContextManager[Any]) -> Any:
    """Return the value that a ``with`` statement binds."""
    value = type(manager).__enter__(manager)
    if writes.log is not None:
        writes.managers.append(manager)
    return value


def leave(manager: AbstractContextManager[Any]) -> None:
    """The regular end of a ``with`` statement."""
    if writes.managers and writes.managers[-1] is manager:
        writes.managers.pop()
    type(manager).__exit__(manager, None, None, None)


#: Managers that collect what a program prints.
REDIRECTING: Final = (contextlib.redirect_stdout, contextlib.redirect_stderr)


def catches(manager: AbstractContextManager[Any]) -> bool:
    """Return whether a context manager may catch exceptions, as ``contextlib.suppress`` does."""
    if isinstance(manager, _GeneratorContextManager):
        generator: Any = manager.gen
        names = [x.opname for x in dis.get_instructions(generator.gi_code)]
        is_bare = ("PUSH_EXC_INFO", "POP_TOP") in itertools.pairwise(names)
        return is_bare or not {"CHECK_EXC_MATCH", "WITH_EXCEPT_START"}.isdisjoint(names)
    method = getattr(type(manager), "__exit__", None)
    if not isinstance(method, FunctionType):
        return False
    steps = [(x.opname, x.argval) for x in dis.get_instructions(method)]
    return any(
        name == "RETURN_VALUE" and before != ("LOAD_CONST", None)
        for before, (name, _) in itertools.pairwise(steps)
    )


def heeds_warnings(fun: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Return whether a call lets a program see the warnings that NumPy gives for numbers."""
    if fun is np.seterrcall:
        return args != (None,)
    if fun is np.errstate or fun is np.seterr:
        return not SEEN.isdisjoint((*args, *kwargs.values()))
    if fun is warnings.catch_warnings:
        return bool(args or kwargs.get("record")) or kwargs.get("action") == "error"
    if fun is warnings.simplefilter or fun is warnings.filterwarnings:
        bound = inspect.signature(fun).bind(*args, **kwargs).arguments
        return bound["action"] == "error" and issubclass(
            RuntimeWarning, bound.get("category", Warning)
        )
    return False


#: What NumPy does with an error of numbers, so that a program sees it.
SEEN: Final = {"call", "log", "raise"}
#: The functions of which some calls let a program see warnings.
OF_WARNINGS: Final = (
    *(np.errstate, np.seterr, np.seterrcall),
    *(warnings.catch_warnings, warnings.simplefilter, warnings.filterwarnings),
)
#: Functions that give whole numbers, whatever they are given.
WHOLE: Final = frozenset((len, int, ord, math.floor, math.ceil, math.factorial, math.comb))


def module_of_class(kind: type) -> str:
    """Return the name of the module of a class, which one that C or ``exec`` makes may lack."""
    return getattr(kind, "__module__", None) or ""


def is_in(value: object, several: Container[Any]) -> bool:
    """Return whether a value is one of several, and hashable."""
    try:
        return value in several
    except TypeError:  # it cannot be hashed
        return False


#: Objects of NumPy that join the parts of an index: the functions that do that.
JOINING: Final[dict[Any, Callable[[Any], Any]]] = {np.r_: by_rows, np.c_: by_columns}


def is_static(value: object) -> bool:
    """Return whether a global is resolved when a program is read: functions, classes, modules."""
    return isinstance(value, ModuleType) or callable(value) or is_in(value, JOINING)
