"""What a program is told of the class of traced values: a traced scalar is a Python number."""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Any, Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.values.array import Array
from tinyjax.errors import SourceError
from tinyjax.source.staging.numbers import is_integer, is_scalar
from tinyjax.source.staging.texts import TracedText

_PYTHON: Final = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
_ARRAYS: Final = (np.ndarray, np.generic)


def number_class(value: Array) -> type:
    """The class of the Python number that a traced scalar is."""
    return _PYTHON.get(value.dtype.kind, float)


def class_of(*args: Any) -> Any:
    """``type(value)``."""
    (value,) = args
    if isinstance(value, TracedText):
        return str
    if is_scalar(value):
        return number_class(value)
    if isinstance(value, Tracer):
        raise _unknown(value, "the class")
    return type(value)


def is_instance(value: Any, classes: Any) -> bool:
    """``isinstance(value, classes)``.

    Raises:
        SourceError: it depends on what was given to the program.
    """
    if isinstance(value, TracedText):
        return issubclass(str, classes)
    if not isinstance(value, Tracer) and not is_scalar(value):
        return isinstance(value, classes)
    several = _flat(classes)
    kind = number_class(value) if is_scalar(value) else Array
    if any(issubclass(kind, one) for one in several):
        return True
    unknown = [one for one in several if issubclass(one, _ARRAYS) or issubclass(one, Array)]
    if is_scalar(value) and not value.weak_type and any(issubclass(Array, one) for one in unknown):
        return True
    if is_scalar(value) and value.weak_type:
        unknown = [one for one in unknown if issubclass(one, Array)]
    if unknown:
        raise _unknown(value, f"whether it is a {unknown[0].__name__}")
    return False


def _flat(classes: Any) -> list[type]:
    if isinstance(classes, tuple):
        return [one for part in classes for one in _flat(part)]
    return [*classes.__args__] if isinstance(classes, UnionType) else [classes]


def _unknown(value: Array, what: str) -> SourceError:
    return SourceError(
        f"{what} is not known of a traced value of type {value.aval}, which may have been given as "
        "a number or as an array, of NumPy or of tinyjax. Ask for its shape or dtype (jnp.ndim(x), "
        "jnp.issubdtype(x.dtype, jnp.floating)), or make the argument static."
    )


def has_attribute(value: Any, name: str) -> bool:
    """``hasattr(value, name)``."""
    if not is_scalar(value):
        return hasattr(value, name)
    result = hasattr(number_class(value), name)
    if result != hasattr(value, name):
        raise _unknown(value, f"whether it has an attribute {name}")
    return result


def attribute_of(value: Any, name: str, *default: Any) -> Any:
    """``getattr(value, name)``."""
    if is_scalar(value):
        if default:
            return getattr(value, name) if has_attribute(value, name) else default[0]
        if name in _METHODS and hasattr(number_class(value), name) and not hasattr(value, name):
            method: Callable[..., Any] = _METHODS[name]
            return lambda: method(value)
    return getattr(value, name, *default)


def _is_whole(value: Array) -> Any:
    return True if is_integer(value) else jnp.floor(value) == value


#: Methods of Python numbers that arrays lack.
_METHODS: Final[dict[str, Callable[[Array], Any]]] = {
    "is_integer": _is_whole,
    "conjugate": jnp.conj,
}
