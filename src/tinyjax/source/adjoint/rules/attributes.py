"""Rules of attributes: fields, properties, methods."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.core.array import Array
from tinyjax.source.adjoint.cotangents import field_names, is_complex, is_record
from tinyjax.source.adjoint.pullbacks import pull
from tinyjax.source.adjoint.rules.containers import is_method
from tinyjax.source.adjoint.rules.registry import adjoint_of, inert
from tinyjax.source.ir import runtime
from tinyjax.source.ir.origins import refusal


@adjoint_of(runtime.attribute)
def _attribute_adjoint(ct: Any, y: Any, value: Any, name: str) -> Any:
    if is_method(y):
        return ct["__self__"], None
    getter = getter_of(value, name)
    if getter is not None:
        return pull(getter, value)[1](ct)[1], None
    if name == "T" and isinstance(value, (np.ndarray, Array)):
        return ct.T, None
    if name == "mT" and isinstance(value, (np.ndarray, Array)):
        return ct.mT, None
    if name == "real":
        return ct, None
    if name == "imag":
        return ct * -1j if is_complex(value) else None, None
    if is_plain_attribute(value, name):
        return None, None
    if isinstance(value, tuple):
        return tuple([ct if f == name else None for f in tuple_fields(value)]), None
    return {name: ct}, None


@adjoint_of(getattr)
def _getattr_adjoint(ct: Any, y: Any, value: Any, name: str, default: Any = None) -> Any:
    if hasattr(value, name):
        return (*_attribute_adjoint(ct, y, value, name), None)
    return None, None, ct


def getter_of(value: Any, name: str) -> Callable[[Any], Any] | None:
    """The function that computes an attribute, if it is a property."""
    found = inspect.getattr_static(type(value), name, None)
    if isinstance(found, property):
        return found.fget
    return found.func if isinstance(found, functools.cached_property) else None


def is_plain_attribute(value: Any, name: str) -> bool:
    """Whether an attribute of a number or an array has no derivative, as its shape.

    Raises:
        SourceError: it has one, but it is not known.
    """
    known = isinstance(value, (int, float, complex, np.ndarray, np.generic, Array))
    if known and name in ("flat", "at"):
        raise refusal(f"the derivative of .{name} is not taken. Use a function in its place.")
    if is_record(value) and name not in field_names(type(value)) and name in dir(type(value)):
        return not hasattr(type(value), "__getattr__")
    return known


def tuple_fields(value: Any) -> tuple[str, ...]:
    """The names of a named tuple's fields."""
    names: tuple[str, ...] = type(value)._fields
    return names


inert.update((getter_of, is_plain_attribute, tuple_fields))
