"""Ints and axes as arguments of functions: Python's ints, sizes, and sequences of these.

An axis is counted from the front or, negative, from the end.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, TypeAlias

from tinyjax.errors import (
    ArgumentError,
    AxisError,
    ConcretizationError,
    InconclusiveDimensionOperation,
    TinyjaxError,
    described,
    shortened,
)

if TYPE_CHECKING:  # shapes are tuples of ints, and sizes are computed with like ints
    _Int = int
else:
    _Int = object

#: Python prints no int of more than 4300 digits, so that messages could not say what came.
_GREATEST: Final = 1 << 4096
_LEAST: Final = -_GREATEST
#: A sequence of this many items, or an endless one, cannot be sizes, axes or indices.
_MOST_ITEMS: Final = 1_000_001


class SymbolicSize(_Int):
    """A size that is known by name only, in a program that is exported for many sizes.

    To type checkers it is an int. At run time it is not, so functions of Python and NumPy that need
    the number raise an error, and no wrong number enters the program.
    """

    __slots__ = ()

    @property
    def identity(self) -> str:
        """A text that no other symbolic size has in this process."""
        raise NotImplementedError

    def maximum(self, other: int) -> int:
        """Return the larger of this size and another."""
        raise NotImplementedError

    def minimum(self, other: int) -> int:
        """Return the smaller of this size and another."""
        raise NotImplementedError

    def as_array(self, dtype: Any) -> Any:
        """Return the size as an array of a dtype."""
        raise NotImplementedError

    def splat(self, host: Any, aval: Any) -> Any:
        """Return the data of an array of one value, of a type with such sizes."""
        raise NotImplementedError


def unknown_sizes(aval: object) -> InconclusiveDimensionOperation:
    """Return the error of an array with symbolic sizes outside of a program."""
    return InconclusiveDimensionOperation(
        f"an array of type {aval} has symbolic sizes, so it has no data. Symbolic sizes are for "
        "functions that are exported: make such arrays within one."
    )


def larger(x: int, y: int) -> int:
    """Return the larger of two sizes, which may be symbolic.

    Example:
        >>> import tinyjax
        >>> from tinyjax import export
        >>> (n,) = export.symbolic_shape("n")
        >>> tinyjax.core.max_dim(n, 3), tinyjax.core.max_dim(2, 3)
        (max(n, 3), 3)
    """
    if isinstance(x, SymbolicSize):
        return x.maximum(y)
    return y.maximum(x) if isinstance(y, SymbolicSize) else max(x, y)


def smaller(x: int, y: int) -> int:
    """Return the smaller of two sizes, which may be symbolic.

    Example:
        >>> import tinyjax
        >>> from tinyjax import export
        >>> (n,) = export.symbolic_shape("n")
        >>> tinyjax.core.min_dim(n, 3), tinyjax.core.min_dim(2, 3)
        (min(n, 3), 2)
    """
    if isinstance(x, SymbolicSize):
        return x.minimum(y)
    return y.minimum(x) if isinstance(y, SymbolicSize) else min(x, y)


def fit_int32(sizes: Sequence[int]) -> bool:
    """Return whether sizes fit an int32; programs for symbolic sizes are only called with such."""
    return all(isinstance(n, SymbolicSize) or n < 2**31 for n in sizes)


def integer(value: object, what: str, kind: str = "an int") -> int:
    """Return an int from a value that Python accepts as one.

    Args:
        value: what the user gave.
        what: names the parameter, for the message.
        kind: what it must be, for the message.

    Raises:
        ArgumentError: it is no int, or one of thousands of digits.
        ConcretizationError: it is traced.
    """
    if (type(value) is int and _LEAST < value < _GREATEST) or isinstance(value, SymbolicSize):
        return value
    if isinstance(value, SupportsIndex):
        try:
            integer = operator.index(value)
        except ConcretizationError:
            raise
        except (TypeError, TinyjaxError):  # an array of several elements, or of floats
            pass
        else:
            if _LEAST < integer < _GREATEST:
                return integer
            raise ArgumentError(
                f"{what} is an int of {integer.bit_length()} bits: that is too large."
            )
    raise ArgumentError(f"{what} must be {kind}, but got {described(value)}.")


def positive(value: object, what: str) -> int:
    """Return an int above zero.

    Raises:
        ArgumentError: it is no int, or below one.
    """
    n = integer(value, what)
    if n < 1:
        raise ArgumentError(f"{what} must be positive, but it is {n}.")
    return n


def listed(values: object, what: str) -> Sequence[Any]:
    """Return a tuple or list as it is, or the items of another iterable.

    Such an iterable is an array, a set, the values of a dict, or a generator.

    Args:
        values: what the user gave.
        what: names the parameter, for the message.

    Raises:
        ArgumentError: it holds no items, or is a text or a mapping.
    """
    if isinstance(values, (tuple, list)):
        return values
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return values
    several: Any = values
    if getattr(several, "ndim", None) or holds_items(several):
        with suppress(TypeError):  # of what tells a shape, and holds nothing
            return items_of(several, what)
    raise ArgumentError(f"{what} must be a sequence, but got {described(values)}.")


def items_of(values: Iterable[Any], what: str) -> list[Any]:
    """Return the items of an iterable, which may have no end.

    Raises:
        ArgumentError: they are more than a million.
        TypeError: it cannot be iterated over.
    """
    items = [*islice(values, _MOST_ITEMS)]
    if len(items) == _MOST_ITEMS:
        raise ArgumentError(
            f"{what} must be a sequence, but {described(values)} goes on after a million items."
        )
    return items


def holds_items(values: object) -> bool:
    """Return whether a value can be iterated over, and is no array, text or mapping."""
    if isinstance(values, (str, bytes, Mapping)) or hasattr(type(values), "ndim"):
        return False
    # looked up on the value: a class of enumerated ints can be iterated over, but none of these.
    # Shapes of other libraries count and index their sizes, and have no iterator of their own.
    return hasattr(values, "__iter__") or (
        hasattr(values, "__len__") and hasattr(values, "__getitem__")
    )


def integers(values: object, what: str) -> tuple[int, ...]:
    """Return ints from a sequence of values that Python accepts as ints.

    Raises:
        ArgumentError: one is none, or it is not a sequence.
        ConcretizationError: one is traced.
    """
    return tuple(
        [
            n if type(n) is int and _LEAST < n < _GREATEST else integer(n, f"each of {what}")
            for n in listed(values, what)
        ]
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
    """Return whether a value equals one of some; arrays and the like equal none."""
    try:
        return value in options
    except Exception:
        return False


def one_or_more(values: object, what: str) -> Sequence[Any]:
    """Return a sequence as it is, or a sequence of one value, such as an int."""
    if isinstance(values, (tuple, list, range)) or getattr(values, "ndim", None):
        return listed(values, what)
    if type(values) is not int and holds_items(values):
        return listed(values, what)
    return (values,)


# Axes

Axis: TypeAlias = int | Sequence[int] | None


def canonical_axis(axis: int, ndim: int, what: str = "axis") -> int:
    """Return ``axis`` counted from the front.

    Raises:
        ArgumentError: it is not an int; a bool is none.
        AxisError: it is out of range.
    """
    if type(axis) is not int:
        if isinstance(axis, bool):
            raise ArgumentError(f"{what} must be an int, but got {axis} (bool).")
        axis = integer(axis, what)
    if not -ndim <= axis < ndim:
        raise AxisError(
            f"{what} {shortened(axis)} is out of bounds for array of dimension "
            f"{ndim}: it must be in [{-ndim}, {ndim}).",
            axis,
            ndim,
        )
    return axis + ndim if axis < 0 else axis


def canonical_axes(axis: Axis, ndim: int, what: str = "axis") -> tuple[int, ...]:
    """Return sorted axes counted from the front; None means all of them.

    Raises:
        ArgumentError: one is not an int; a bool is none.
        AxisError: one is out of range or repeated.
    """
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int:
        return (canonical_axis(axis, ndim, what),)
    axes = tuple(sorted([canonical_axis(a, ndim, what) for a in one_or_more(axis, what)]))
    for a, b in pairwise(axes):
        if a == b:
            raise AxisError(f"{what} {a} is repeated in {shortened(axis)}.", a, ndim)
    return axes
