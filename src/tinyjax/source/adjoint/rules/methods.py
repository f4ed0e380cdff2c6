"""Methods that Python calls itself, and that the derivative does not follow.

Operators, functions such as ``round`` and attributes may be methods of objects of the user's. Where
a program cannot be sure, its forward program asks.
"""

from __future__ import annotations

import functools
import math
import operator
from inspect import getattr_static
from types import FunctionType
from typing import Any, Final

import numpy as np

from tinyjax.source.adjoint import cotangents
from tinyjax.source.adjoint.kinds import kind_of
from tinyjax.source.adjoint.rules import formulas, registry
from tinyjax.source.ir import find, syntax

#: Operators and functions whose methods, of objects, are taken to give no derivative.
UNFOLLOWED: Final = frozenset(
    (*syntax.COMPARISONS.values(), operator.floordiv, operator.invert, operator.lshift,
     operator.rshift, operator.and_, operator.or_, operator.xor, divmod, round, math.floor,
     math.ceil, math.trunc)
)  # fmt: skip


def check_native(y: Any, *operands: Any) -> None:
    """Raise if an operator was a method that is written in Python, and gave a derivative.

    Nor is an array followed that is an item of an array of objects.
    """
    if isinstance(y, np.ndarray) and any(map(_holds_objects, operands)):
        raise find.refusal("an array in an array of objects has no derivative. Use a list.")
    if type(y) is bool or not formulas.is_overloaded(*operands) or not kind_of(y).active:
        return
    names = " and ".join(
        dict.fromkeys(type(x).__name__ for x in operands if formulas.is_foreign(x))
    )
    raise find.refusal(
        f"an operator, or a function such as round, is a method of the class {names} here, whose "
        "derivative is not taken. Call a method by its name."
    )


def _holds_objects(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "O"


def check_stored(value: Any, name: str) -> None:
    """Raise if an attribute of an object is computed when it is read, by a method or a property."""
    kind: Any = type(value)
    if not _may_compute(kind, name):
        return
    stored = getattr_static(kind, name, None)
    if stored is None and (not hasattr(kind, "__getattr__") or name in vars(value)):
        return
    raise find.refusal(
        f"the attribute {name} of the class {kind.__name__} is computed when it is read, in a "
        "function that changes arrays. Call a method by its name."
    )


def check_bounds(*bounds: Any) -> None:
    """Raise if a bound of a slice has a derivative, as it has for objects only."""
    if any(map(cotangents.is_differentiable, bounds)):
        raise find.refusal(
            "a bound of a slice is a float, whose derivative is not taken. "
            "Call a method by its name."
        )


@functools.lru_cache(maxsize=4096)
def _may_compute(kind: Any, name: str) -> bool:
    """Return whether an attribute may be computed when it is read: it is no field, no method."""
    if isinstance(getattr(kind, "__getattribute__", None), FunctionType):
        return True
    attribute = getattr_static(kind, name, None)
    if attribute is None:
        return isinstance(getattr(kind, "__getattr__", None), FunctionType)
    if isinstance(attribute, (property, functools.cached_property)):
        return True
    getter = getattr(type(attribute), "__get__", None)
    return isinstance(getter, FunctionType) and not isinstance(attribute, FunctionType)


registry.inert.update((check_bounds, check_native, check_stored))
