"""Runtime checks of the signatures of public entry points.

The check of a call is derived from the function's annotations. A cheap test accepts most values;
the others are passed to typeguard, which decides and reports the expected type. So typeguard, whose
import takes longer than all of ours, is loaded only for a mistake.

Functions that run in less time than a check are not checked. If one of them fails with an error of
Python's own, its arguments are checked afterwards (``explained``).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from types import CodeType, EllipsisType, ModuleType, NoneType, UnionType
from typing import Any, Final, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np

from tinyjax._base import lazy
from tinyjax._base.frames import wraps
from tinyjax._base.tracebacks import fold, shorten
from tinyjax.core.devices import DeviceOps
from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.values.integers import SymbolicSize, holds_items, items_of
from tinyjax.dtypes import MakesScalars
from tinyjax.errors import ArgumentError, TinyjaxError, TracedArgumentError, described

P = ParamSpec("P")
R = TypeVar("R")
Test = Callable[[object], bool]

#: So deep may lists be nested that become an array: NumPy's arrays have no more axes.
DEEPEST: Final = 64


def checked(fun: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of every call against the annotations, and fold its tracebacks.

    Raises:
        ArgumentError: when called with an argument of another type; it names the argument.

    Example:
        >>> from tinyjax.core.tracing.checking import checked
        >>> @checked
        ... def double(x: int) -> int:
        ...     return 2 * x
        >>> double("a")
        Traceback (most recent call last):
            ...
        tinyjax.errors.ArgumentError: x of double must be int, but got 'a' (str)...
    """
    # what follows *args is given by name, and is no name for the second of those
    names = _positional(inspect.unwrap(fun).__code__)
    tests: dict[str, Test | None] = dict.fromkeys(fun.__annotations__)

    def learn(name: str) -> Test:
        test = tests[name] = _test_of(_hint(fun, name))
        return test

    def admit(name: str, value: Any) -> Any:
        if name not in tests:
            return value
        test = tests[name] or learn(name)
        if test(value):
            return value
        if isinstance(value, (np.generic, np.ndarray, ConcreteArray)) and not value.shape:
            number = value.item()  # NumPy's numbers are accepted for Python's
            if test(number):
                return number
        is_array = isinstance(value, (np.ndarray, ConcreteArray)) and value.shape
        if (is_array or holds_items(value)) and _asks_for_sequence(_hint(fun, name)):
            items = _items(value, f"{name} of {fun.__qualname__}")
            if test(items):
                return items
        _judge(fun, name, value, _hint(fun, name))
        return value

    @wraps(fun)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        call_it: Callable[..., R] = fun
        try:
            for name, value in chain(zip(names, args, strict=False), kwargs.items()):
                if name in tests and not (tests[name] or learn(name))(value):
                    admitted = [admit(*pair) for pair in zip(names, args, strict=False)]
                    rest = {name: admit(name, value) for name, value in kwargs.items()}
                    return call_it(*admitted, *args[len(names) :], **rest)
            return fun(*args, **kwargs)
        except (Exception, KeyboardInterrupt) as error:
            _suggest_argument(fun, kwargs, error)
            fold(error, sys._getframe())
            raise

    return call


def _suggest_argument(
    fun: Callable[..., Any], kwargs: dict[str, Any], error: BaseException
) -> None:
    """Say which argument may have been meant by one that a function does not take."""
    for name in kwargs:
        if str(error) == f"{fun.__qualname__}() got an unexpected keyword argument '{name}'":
            code = inspect.unwrap(fun).__code__
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            error.args = (f"{error}.{lazy.did_you_mean(name, names)}",)


def _items(values: Any, what: str) -> tuple[object, ...]:
    """Return the items of a container other than a tuple, with NumPy's numbers as Python's."""
    numbers = (np.generic, ConcreteArray)
    items = items_of(values, what)
    return tuple([x.item() if isinstance(x, numbers) and not x.shape else x for x in items])


def _asks_for_sequence(hint: Any) -> bool:
    """Return whether an annotation names a sequence; a tree, of tuples and dicts, is none."""
    return any(get_origin(part) is Sequence for part in (hint, *get_args(hint)))


def _positional(code: CodeType) -> tuple[str, ...]:
    """Return the names of positional parameters; ``inspect.signature`` takes ten times as long."""
    has_rest = code.co_flags & inspect.CO_VARARGS
    rest = code.co_argcount + code.co_kwonlyargcount
    return (*code.co_varnames[: code.co_argcount], *code.co_varnames[rest : rest + bool(has_rest)])


def explained(fun: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function so that a failing call names arguments of a wrong type.

    Calls that do not fail are not checked.

    Raises:
        ArgumentError: in place of an error of Python's own; it names the argument.

    Example:
        >>> from tinyjax.core.tracing.checking import explained
        >>> @explained
        ... def shouted(text: str) -> str:
        ...     return text.upper()
        >>> shouted(1.5)
        Traceback (most recent call last):
            ...
        tinyjax.errors.ArgumentError: text of shouted must be str, but got 1.5 (float)...
    """

    @wraps(fun)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            try:
                explain(fun, args, kwargs, error)
            except ArgumentError as explanation:
                shorten(explanation, sys._getframe())
                raise
            shorten(error, sys._getframe())
            raise

    return call


def explain(
    fun: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    error: Exception,
) -> None:
    """Look for the argument that made a call fail, if the error does not name it.

    Args:
        fun: the function that was called.
        args: its positional arguments.
        kwargs: its keyword arguments.
        error: the error of the call.

    Raises:
        ArgumentError: an argument is not of the type that it is declared to be, or, where Python's
            stack did not suffice, lists are nested too deep.
    """
    if isinstance(error, TinyjaxError):
        return
    for name, value in _named_arguments(fun, args, kwargs):
        if isinstance(error, RecursionError) and _is_deep(value):
            raise ArgumentError(
                f"{name} of {fun.__qualname__} holds lists that are nested more than {DEEPEST} "
                "deep, which no array is."
            ) from None
        if name not in fun.__annotations__:  # self
            continue
        try:
            hint = _hint(fun, name)
        except NameError:  # of what is there for type checkers only
            continue
        _judge(fun, name, value, hint)


def _named_arguments(
    fun: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    """Yield the arguments of a call by name; none where the call does not fit the function."""
    signature = inspect.signature(fun)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return
    for name, value in bound.arguments.items():
        match signature.parameters[name].kind:
            case inspect.Parameter.VAR_POSITIONAL:
                yield from ((name, part) for part in value)
            case inspect.Parameter.VAR_KEYWORD:
                yield from ((name, part) for part in value.values())
            case _:
                yield name, value


def _hint(fun: Callable[..., object], name: str) -> Any:
    annotation = fun.__annotations__[name]
    return (
        eval(annotation, inspect.unwrap(fun).__globals__)
        if isinstance(annotation, str)
        else annotation
    )


def _is_deep(value: object) -> bool:
    level: dict[int, object] = {id(value): value}
    for _ in range(DEEPEST):
        lists = [x for x in level.values() if isinstance(x, (list, tuple))]
        level = {id(part): part for x in lists for part in x}
    return any(isinstance(x, (list, tuple)) for x in level.values())


def _test_of(hint: Any) -> Test:
    """Return a cheap sufficient test of a type; typeguard may accept what it rejects."""
    origin = get_origin(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return lambda _: True
    if hint is None or hint is NoneType:
        return lambda value: value is None
    if origin is Callable or hint is Callable:
        return callable
    if origin in (Union, UnionType):
        tests = [_test_of(arg) for arg in get_args(hint)]
        return lambda value: any(test(value) for test in tests)
    if origin is Sequence:
        (item,) = map(_test_of, get_args(hint))
        return lambda value: isinstance(value, (tuple, list)) and all(map(item, value))
    if origin in (tuple, list, dict) and set(get_args(hint)) <= {Any, str, ...}:
        return lambda value: isinstance(value, origin)
    if origin is Literal:
        return lambda value: any(type(value) is type(x) and value == x for x in get_args(hint))
    if hint is int:
        return lambda value: isinstance(value, (int, SymbolicSize))
    if isinstance(hint, type):
        return lambda value: isinstance(value, hint)
    return lambda _: False


#: What is taken for a class in annotations though typeguard says that it is none: symbolic sizes
#: are said to be ints, and of ``jnp.float32`` it asks that instances can be called.
_TAKEN: Final = {int: (int, SymbolicSize), MakesScalars: (MakesScalars,), DeviceOps: (ModuleType,)}


def instruct_typeguard() -> None:
    """Have typeguard accept the same ints, dtypes and extensions as the cheap test."""
    import typeguard  # noqa: PLC0415, it takes long to load

    def check(value: object, origin: Any, args: object, memo: object) -> None:
        if not isinstance(value, _TAKEN[origin]):
            raise typeguard.TypeCheckError(f"is no {origin.__name__}")

    # before its own
    typeguard.checker_lookup_functions.insert(
        0, lambda origin, args, extras: check if origin in _TAKEN else None
    )


def _judge(fun: Callable[..., object], name: str, value: object, expected: Any) -> None:
    import typeguard  # noqa: PLC0415, it takes long to load

    # Version 2, which jaxtyping requires, takes the name, and raises TypeError.
    failure: type[Exception] = getattr(typeguard, "TypeCheckError", TypeError)
    check: Callable[..., object] = typeguard.check_type
    try:
        check(*((name, value) if failure is TypeError else (value,)), expected)
    except failure:
        shown = getattr(expected, "__name__", None) if isinstance(expected, type) else None
        takes = shown or _readable(expected)
        if isinstance(value, Tracer):
            types = " or ".join([f"`{part}`" for part in takes.split(" or ") if part != "None"])
            raise TracedArgumentError(
                f"The `{name}` argument to `{fun.__qualname__}` expects a concrete {types} value, "
                f"but got a value of type {value.aval} that is traced by {value.describe_trace()}. "
                f"{value.advise()}"
            ) from None
        raise ArgumentError(
            f"{name} of {fun.__qualname__} must be {takes}, but got {described(value)}."
        ) from None


#: What ``ArrayLike`` is a union of.
_ARRAY_LIKE: Final = ("Array", "ndarray", "generic", "bool", "int", "float", "complex")


def _readable(hint: Any) -> str:
    """Return an annotation as a user reads it."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        # the ellipsis represents an argument that is not given
        parts = [_readable(arg) for arg in get_args(hint) if arg is not EllipsisType]
        rest = [part for part in parts if part not in _ARRAY_LIKE]
        if len(parts) - len(rest) == len(_ARRAY_LIKE):
            parts = ["an array or a number", *rest]
        return " or ".join(dict.fromkeys(parts))
    if origin is Literal:
        return " or ".join(repr(x) for x in get_args(hint))
    if origin is Callable or hint is Callable:
        return "a function (callable)"
    if origin is Sequence:
        (item,) = (_readable(arg) for arg in get_args(hint))
        return f"a sequence of {item.replace('a function (callable)', 'functions (callables)')}"
    return "None" if hint is NoneType else getattr(hint, "__name__", str(hint))
