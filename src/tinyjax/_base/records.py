"""The base class of attrs classes that are compared, hashed and printed by their fields.

attrs generates these methods as source for each class, and compiles it when the class is made,
which is most of the time to load a small module. Here a class uses its fields' getter for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, TypeVar

import attrs

T = TypeVar("T")


class Printed:
    """Base of attrs classes without a ``__repr__`` of their own, whose fields it prints."""

    __slots__ = ()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in field_names(type(self)))
        return f"{type(self).__name__}({fields})"


class Record(Printed):
    """Base of classes decorated with ``attrs.frozen(eq=False, repr=False)``, which it compares.

    Records are equal if they are of one class and the fields are equal that take part in ``==``.
    A class that has methods of its own keeps them.

    Example:
        >>> import attrs
        >>> from tinyjax._base.records import Record
        >>> @attrs.frozen(eq=False, repr=False)
        ... class Point(Record):
        ...     x: int
        ...     y: int
        >>> Point(1, 2), Point(1, 2) == Point(1, 2), Point(1, 2) == Point(2, 1)
        (Point(x=1, y=2), True, False)
        >>> len({Point(1, 2), Point(1, 2)})
        1
    """

    __slots__ = ()

    @classmethod
    def __attrs_init_subclass__(cls) -> None:
        """Give the class its ``==`` and ``hash``, once attrs has made it."""
        if "__eq__" in cls.__dict__:
            return
        kind: type = cls
        compared = [field.name for field in attrs.fields(kind) if field.eq]
        for name, method in zip(("__eq__", "__hash__"), _methods(compared), strict=True):
            setattr(cls, name, method)


#: The metadata of a field that digests and texts leave out where it has its default.
_OPTIONAL: Final = {"optional": True}


def optional() -> Any:
    """Declare a field that is None by default, and then left out of digests and texts.

    So a class that gets one more parameter keeps the digests of programs that do not use it.

    Example:
        >>> import attrs
        >>> from tinyjax._base import records
        >>> @attrs.frozen
        ... class Scale:
        ...     factor: int
        ...     unit: str | None = records.optional()
        >>> Scale(2), [field.name for field in attrs.fields(Scale) if records.is_optional(field)]
        (Scale(factor=2, unit=None), ['unit'])
    """
    return attrs.field(default=None, kw_only=True, metadata=_OPTIONAL)


def is_optional(field: attrs.Attribute[Any]) -> bool:
    """Return whether a field was declared by ``optional``."""
    return "optional" in field.metadata


def field_names(kind: type) -> tuple[str, ...]:
    """Return the names of the fields of an attrs class, cached since every equation needs them."""
    names = _field_names.get(kind)
    if names is None:
        names = _field_names[kind] = tuple([field.name for field in fields(kind)])
    return names


_field_names: Final[dict[type, tuple[str, ...]]] = {}


def leaf(kind: type[T]) -> type[T]:
    """Hide from other libraries that a class is attrs'.

    Some, such as dm-tree, take the instances of every attrs class apart as containers. Those of
    this class are leaves to them. Its fields are told by ``fields``.

    Example:
        >>> import attrs
        >>> from tinyjax._base import records
        >>> @records.leaf
        ... @attrs.frozen
        ... class Point:
        ...     x: int
        >>> attrs.has(Point), [field.name for field in records.fields(Point)]
        (False, ['x'])
    """
    declared: Any = kind
    _hidden[kind] = attrs.fields(declared)
    del declared.__attrs_attrs__
    return kind


_hidden: Final[dict[type, tuple[attrs.Attribute[Any], ...]]] = {}


def has_fields(kind: type) -> bool:
    """Return whether a class is attrs', or was before ``leaf``."""
    return attrs.has(kind) or not _hidden.keys().isdisjoint(kind.__mro__)


def fields(kind: Any) -> tuple[attrs.Attribute[Any], ...]:
    """Return the fields of an attrs class, ``leaf`` or not."""
    if attrs.has(kind):
        return tuple(attrs.fields(kind))
    assert has_fields(kind), f"{kind} is no attrs class"
    return next(_hidden[base] for base in kind.__mro__ if base in _hidden)


def _methods(compared: Sequence[str]) -> tuple[Callable[[Any, Any], Any], Callable[[Any], int]]:
    """Make ``==`` and ``hash`` of the fields that are compared."""
    get = attrgetter(*compared) if compared else lambda self: ()

    def equal(self: Any, other: Any) -> Any:
        return get(self) == get(other) if self.__class__ is other.__class__ else NotImplemented

    return equal, lambda self: hash(get(self))
