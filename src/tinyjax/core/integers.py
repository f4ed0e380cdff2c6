"""Ints and sequences as users give them: sizes, axes, counts, places.

What Python takes for an int is one here: NumPy's integers, and arrays that hold one. Whatever else
comes is named in an error, before it can fail somewhere inside.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, SupportsIndex

from tinyjax.errors import ArgumentError, ConcretizationError, TinyjaxError, described


def integer(value: object, what: str) -> int:
    """Return an int from what Python takes for one.

    Args:
        value: what the user gave.
        what: names the parameter, for the message.

    Raises:
        ArgumentError: it is none.
        ConcretizationError: it is traced.
    """
    if type(value) is int:
        return value
    if isinstance(value, SupportsIndex):
        try:
            return operator.index(value)
        except ConcretizationError:
            raise
        except (TypeError, TinyjaxError):  # an array of several elements, or of floats
            pass
    raise ArgumentError(f"{what} must be an int, but got {described(value)}.")


def listed(values: object, what: str) -> Sequence[Any]:
    """Return a sequence: a tuple or list as it is, an array as the list of its slices.

    Args:
        values: what the user gave.
        what: names the parameter, for the message.

    Raises:
        ArgumentError: it is not a sequence, or a text.
    """
    if isinstance(values, (tuple, list)):
        return values
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return values
    several: Any = values
    if getattr(several, "ndim", None) or _is_like_a_sequence(several):
        with suppress(TypeError):  # of what tells a shape, and holds nothing
            return list(several)
    raise ArgumentError(f"{what} must be a sequence, but got {described(values)}.")


def _is_like_a_sequence(values: object) -> bool:
    """Say whether a class counts and indexes its values, as shapes of other libraries do."""
    kind = type(values)
    if isinstance(values, (str, bytes, Mapping)) or hasattr(kind, "ndim"):
        return False
    return hasattr(kind, "__len__") and hasattr(kind, "__getitem__")


def integers(values: object, what: str) -> tuple[int, ...]:
    """Return ints from a sequence of what Python takes for ints.

    Raises:
        ArgumentError: one is none, or it is not a sequence.
        ConcretizationError: one is traced.
    """
    return tuple(
        [n if type(n) is int else integer(n, f"each of {what}") for n in listed(values, what)]
    )


def int_pairs(values: object, what: str) -> tuple[tuple[int, int], ...]:
    """Return pairs of ints from a sequence of them.

    Raises:
        ArgumentError: one is none, or it is not a sequence.
        ConcretizationError: an int is traced.
    """
    pairs = [integers(pair, f"each of {what}") for pair in listed(values, what)]
    if any(len(pair) != 2 for pair in pairs):
        raise ArgumentError(f"{what} must hold pairs of ints, but got {described(values)}.")
    return tuple([(first, second) for first, second in pairs])


def is_one_of(value: object, options: Collection[object]) -> bool:
    """Say whether a value is one of some; arrays and others that compare as they like are none."""
    try:
        return value in options
    except Exception:
        return False


def one_or_more(values: object, what: str) -> Sequence[Any]:
    """Return a sequence, and of what is none, such as an int, the sequence of that alone."""
    if isinstance(values, (tuple, list, range)) or getattr(values, "ndim", None):
        return listed(values, what)
    if type(values) is not int and _is_like_a_sequence(values):
        return listed(values, what)
    return (values,)
