"""Calls of NumPy's functions by their signatures: the shapes, dtypes and options of the arguments.

A call is checked once for each: that NumPy takes it, and whether tinyjax's function alone says what
it gives.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tinyjax.core.values import Array
from tinyjax.dtypes import HostArray
from tinyjax.source import facts, numpy_errors
from tinyjax.source.capturing import ndarrays, runs

_role = "interprets"  # see ``frames.Role``


def are_plain(operands: Sequence[Any]) -> bool:
    """Return whether arguments have no methods of the program's, and no objects that may."""
    return PLAIN_ARGUMENTS.issuperset(map(type, operands)) and not any(
        map(ndarrays.has_objects, operands)
    )


#: Calls of which only tinyjax's function says what they give, by what they are remembered by.
DIRECT: Final[set[Any]] = set()


def check_call(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raise what NumPy raises for a call."""
    key = key_of_call(func, args, kwargs)
    depends = SOUND.get(key)
    if depends is False:
        return
    example = functools.partial(_filled, ([*args], kwargs)) if depends is None else None
    failures = numpy_errors.check_call(
        func, ndarrays.unwrap([*args]), ndarrays.unwrap(kwargs), example
    )
    runs.raise_failures(failures)
    if key is not None:
        if len(SOUND) >= _MOST_SOUND:
            SOUND.clear()
            DIRECT.clear()
        SOUND[key] = failures != ()


#: Calls that NumPy takes, as shapes, dtypes and options, and whether it may raise for numbers.
SOUND: Final[dict[Any, bool]] = {}
_MOST_SOUND: Final = 10_000


def key_of_call(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what a call is remembered by; None if an argument may change."""
    has_content = func not in facts.DETERMINED
    try:
        options = _signature(kwargs, has_content) if kwargs else ()
        return func, tuple([_signature(x, has_content) for x in args]), options
    except TypeError:
        return None


def _signature(x: Any, has_content: bool) -> Any:
    """Return the types of what is traced in an argument, and the others with classes.

    Args:
        x: the argument.
        has_content: whether floats and truth values in arrays of data matter.

    Raises:
        TypeError: one is neither a number nor a text, and may change, or would be kept alive.
    """
    kind = type(x)
    if issubclass(kind, ndarrays.Captured):
        value = x._captured_value
        if isinstance(value, Array):
            strides = x.strides if value.ndim > 1 and ndarrays.is_permuted(x) else None
            return kind, value.shape, value.dtype, strides
        return kind, _content(value, has_content)
    if kind is dict:
        return tuple([(name, _signature(item, has_content)) for name, item in x.items()])
    if kind in ndarrays.CONTAINERS:
        return kind, tuple([_signature(item, has_content) for item in x])
    if kind is np.ndarray:
        return kind, _content(x, has_content)
    if x is not None and not isinstance(x, _UNCHANGING):
        raise TypeError("it may change")
    return kind, x


def _content(array: HostArray, has_content: bool) -> Any:
    """Return the type of an array of numbers, its layout, and what is in it if that matters.

    Raises:
        TypeError: that is too much, or they are no numbers.
    """
    kind = array.dtype.kind
    has_content = has_content or kind not in "bfc" or array.size < 2  # which may be an option
    if kind not in "biufc" or (has_content and array.nbytes > _SMALL_SIZE):
        raise TypeError("it may change")
    return array.shape, array.dtype, array.strides, array.tobytes() if has_content else None


#: Classes of arguments that stay as they are.
_UNCHANGING: Final = (int, float, complex, str, np.generic, np.dtype, type, type(Ellipsis))
#: The bytes of the largest arrays of data that are compared with those of calls before.
_SMALL_SIZE: Final = 256
#: Classes of arguments of NumPy's functions that have no methods of the program's.
PLAIN_ARGUMENTS: Final = {
    *(
        ndarrays.CapturedArray,
        ndarrays.CapturedScalar,
        ndarrays.CapturedFloat,
        ndarrays.CapturedBool,
        np.ndarray,
        type(None),
        type,
    ),
    *(int, float, complex, bool, str, np.float64, np.int64, np.bool_, np.complex128),
}


def _filled(x: Any, fill: int) -> Any:
    """Return a value with a number in place of what is traced."""
    if type(x) in ndarrays.CONTAINERS:
        return ndarrays.mapped(lambda item: _filled(item, fill), x)
    if not ndarrays.is_captured(x) or not isinstance(x._captured_value, Array):
        return ndarrays.plain(x)
    number = x.dtype.type(fill)
    if ndarrays.is_array(x):
        return np.full(x.shape, number)
    return number.item() if type(x) in ndarrays.NUMBERS else number
