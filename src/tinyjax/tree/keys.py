"""Paths into a pytree: a path is a tuple of keys, and prints as the expression that follows it.

``keystr(path)`` is what one would write after a variable to reach the subtree, so that an error can
point at ``params['w'][0].bias``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final, TypeAlias

import attrs

from tinyjax._base.records import Printed
from tinyjax.errors import ArgumentError, described, shortened


@attrs.frozen(repr=False)
class SequenceKey(Printed):
    """The place of a child in a tuple or list: ``[idx]``.

    ``.idx`` counts from 0.

    Example:
        >>> from tinyjax import tree
        >>> ((path, leaf),) = tree.leaves_with_path([7])
        >>> path, tree.keystr(path)
        ((SequenceKey(idx=0),), '[0]')
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@attrs.frozen(repr=False)
class DictKey(Printed):
    """The key of a child in a dictionary: ``[key]``.

    Any value that a dictionary may have for a key; ``.key`` is it. It compares by value, as all
    keys of paths do.

    Example:
        >>> from tinyjax import tree
        >>> ((path, leaf),) = tree.leaves_with_path({"w": 7})
        >>> path, tree.keystr(path)
        ((DictKey(key='w'),), "['w']")
    """

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@attrs.frozen(repr=False)
class GetAttrKey(Printed):
    """The field that holds a child: ``.name``.

    Named tuples, dataclasses and classes registered with keys have such. ``.name`` is the name.

    Example:
        >>> from tinyjax import tree
        >>> from collections import namedtuple
        >>> ((path, leaf),) = tree.leaves_with_path(namedtuple("Point", "x")(7))
        >>> path, tree.keystr(path)
        ((GetAttrKey(name='x'),), '.x')
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@attrs.frozen(repr=False)
class FlattenedIndexKey(Printed):
    """The place of a child among the children of a node that was registered without keys.

    Example:
        >>> from tinyjax import tree
        >>> str(tree.FlattenedIndexKey(2))
        '[<flat index 2>]'
    """

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyEntry: TypeAlias = SequenceKey | DictKey | GetAttrKey | FlattenedIndexKey
KeyPath: TypeAlias = tuple[KeyEntry, ...]

_MOST_KEYS: Final = 40


def keystr(keys: Sequence[KeyEntry], *, simple: bool = False, separator: str = "") -> str:
    """Write a path as the expression that follows it.

    Args:
        keys: the path, outermost key first.
        simple: write the bare index, key or name of each step instead (``w/0/bias``).
        separator: what to put between steps.

    Returns:
        The text; empty for the root.

    Raises:
        ArgumentError: the separator is no text, or the path no sequence of keys.

    Example:
        >>> from tinyjax import tree
        >>> path = (tree.DictKey("w"), tree.SequenceKey(0), tree.GetAttrKey("bias"))
        >>> tree.keystr(path)
        "['w'][0].bias"
        >>> tree.keystr(path, simple=True, separator="/")
        'w/0/bias'
    """
    if not isinstance(separator, str):
        raise ArgumentError(f"separator of keystr must be a text, but got {described(separator)}.")
    if not isinstance(keys, Iterable):
        raise ArgumentError(f"a path is a sequence of keys, but keys is {described(keys)}.")
    try:
        return separator.join([_bare(key) if simple else str(key) for key in keys])
    except (RecursionError, TypeError, ValueError):  # an array has no truth, or no items
        raise ArgumentError(
            f"keystr takes a sequence of keys and a bool, but got {shortened(keys)} and "
            f"simple={shortened(simple)}."
        ) from None


def _bare(key: object) -> str:
    match key:
        case SequenceKey(idx):
            return str(idx)
        case DictKey(name) | GetAttrKey(name) | FlattenedIndexKey(name):
            return str(name)
        case _:  # registration lets a class bring its own kind of key
            return str(key)


def path_str(name: str, path: Sequence[KeyEntry]) -> str:
    """Write a path as an expression that starts from a variable, as error messages do.

    Of a path of more than 40 keys only the first and the last are written.

    Args:
        name: the variable that holds the tree.
        path: the path, outermost key first.

    Example:
        >>> from tinyjax import tree
        >>> tree.path_str("params", (tree.DictKey("w"), tree.SequenceKey(0)))
        "params['w'][0]"
    """
    if not isinstance(name, str):
        raise ArgumentError(f"path_str takes a text for name, but got {described(name)}.")
    written = keystr(path)
    if len(path) > _MOST_KEYS:
        written = f"{keystr(path[:8])}...{keystr(path[-4:])}"
    return f"{name}{written}"
