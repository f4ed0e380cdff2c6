"""The node types, and the functions that flatten and rebuild them.

A type has a ``NodeKind`` or is a leaf. ``KINDS[type(x)]`` has a value for any type: registered
types by their entry, and a new type by a check whether it is a named tuple. There is no lookup
through base classes: a subclass of ``dict`` is a leaf until it is registered itself.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import count
from operator import itemgetter
from types import NoneType
from typing import Any, Final, TypeAlias

import attrs

from tinyjax.errors import ArgumentError, described
from tinyjax.tree.errors import RegistrationError, UnsortableKeysError
from tinyjax.tree.keys import DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, SequenceKey

PyTree: TypeAlias = Any
"""Nested nodes with leaves of any type. Python's types cannot say this more closely."""

Leaf: TypeAlias = Any
"""Whatever is not a node."""

_CACHE_BOUND: Final = 4096
_MOST_SHOWN: Final = 10


def _show_node(name: str, metadata: object, parts: Iterable[str]) -> str:
    """Print a node of a type other than Python's plain containers, as JAX does."""
    return f"CustomNode({name}[{metadata}], [{', '.join(parts)}])"


def show_keys(keys: Sequence[Any]) -> str:
    """Print dictionary keys, the first of them if there are many."""
    if len(keys) <= _MOST_SHOWN:
        return str(list(keys))
    first = ", ".join(map(repr, keys[:_MOST_SHOWN]))
    return f"[{first}, and {len(keys) - _MOST_SHOWN} more]"


def _keys_by_index(x: Any, metadata: Any) -> Iterable[KeyEntry]:
    return map(FlattenedIndexKey, count())


@attrs.frozen(eq=False, repr=False)
class NodeKind:
    """The behaviour of nodes of one type.

    Attributes:
        node_type: the exact type of the nodes.
        flatten: node -> (children, metadata).
        unflatten: (metadata, children) -> node.
        describe: (metadata, number of children) -> the node in words, for errors.
        keys: (node, metadata) -> the children's keys; it may go on beyond the last child.
        noted_keys: (metadata, number of children) -> the keys of a node that was flattened before,
            if one is alive; None where ``keys`` needs the metadata alone.
        shown: (metadata, printed children) -> the printed node, for ``repr`` of a treedef, where it
            is printed as Python prints it.
    """

    node_type: type
    flatten: Callable[[Any], tuple[Sequence[Any], Any]]
    unflatten: Callable[[Any, tuple[Any, ...]], Any]
    describe: Callable[[Any, int], str]
    keys: Callable[[Any, Any], Iterable[KeyEntry]] = _keys_by_index
    noted_keys: Callable[[Any, int], Sequence[KeyEntry] | None] | None = None
    shown: Callable[[Any, Sequence[str]], str] | None = None

    def show(self, metadata: Any, parts: Sequence[str]) -> str:
        """Print a node, from its metadata and its children, printed."""
        if self.shown is None:
            return _show_node(self.node_type.__name__, metadata, parts)
        return self.shown(metadata, parts)


class _Kinds(dict[type, NodeKind | None]):
    """The kind of each type met so far; None for a leaf type."""

    def __missing__(self, cls: type) -> NodeKind | None:
        if len(_automatic) >= _CACHE_BOUND:  # so that classes made in a loop do not pile up
            for known in tuple(_automatic):
                self.pop(known, None)
            LEAF_TYPES.clear()
            _automatic.clear()
        fields = getattr(cls, "_fields", None)
        kind = None
        if issubclass(cls, tuple) and isinstance(fields, tuple):
            kind = _namedtuple_kind(cls, fields)
        else:
            LEAF_TYPES.add(cls)
        _automatic.add(cls)
        self[cls] = kind
        return kind


KINDS: Final = _Kinds()

LEAF_TYPES: Final[set[type]] = set()
"""The keys of ``KINDS`` that map to None, so that one C call can ask of many values."""

_automatic: set[type] = set()  # the types in KINDS that nobody registered


def add_kind(kind: NodeKind) -> None:
    """Make a type a node.

    Raises:
        RegistrationError: it already is one, or a type of Python's numbers.
    """
    cls = kind.node_type
    if cls in (bool, int, float, complex):
        raise RegistrationError(
            cls, f"{cls.__qualname__} cannot be a pytree node: numbers are leaves everywhere."
        )
    if cls not in _automatic and KINDS.get(cls) is not None:
        raise RegistrationError(
            cls,
            f"{cls.__qualname__} is already a pytree node: register a class once, where it is "
            "defined.",
        )
    KINDS[cls] = kind
    LEAF_TYPES.discard(cls)
    _automatic.discard(cls)


def check_class(function: str, cls: object) -> None:
    """Raise ``ArgumentError`` where a class was expected and something else came."""
    if not isinstance(cls, type):
        raise ArgumentError(f"{function} takes a class, but got {described(cls)}.")


# Tuples, lists, None.


def _describe_sequence(name: str) -> Callable[[Any, int], str]:
    return lambda metadata, size: f"{name} of length {size}"


def _keys_of_sequence(x: Any, metadata: Any) -> Iterable[KeyEntry]:
    return map(SequenceKey, count())


TUPLE: Final = NodeKind(
    tuple,
    flatten=lambda x: (x, None),
    unflatten=lambda metadata, children: children,
    shown=lambda metadata, parts: f"({', '.join(parts)}{',' if len(parts) == 1 else ''})",
    describe=_describe_sequence("tuple"),
    keys=_keys_of_sequence,
)
_LIST: Final = NodeKind(
    list,
    flatten=lambda x: (x, None),
    unflatten=lambda metadata, children: list(children),
    shown=lambda metadata, parts: f"[{', '.join(parts)}]",
    describe=_describe_sequence("list"),
    keys=_keys_of_sequence,
)
NONE_KIND: Final = NodeKind(
    NoneType,
    flatten=lambda x: ((), None),
    unflatten=lambda metadata, children: None,
    shown=lambda metadata, parts: "None",
    describe=lambda metadata, size: "None",
)


# Dictionaries. Their metadata is the tuple of their keys.


class StrKeys(tuple[str, ...]):
    """Sorted dictionary keys, each exactly a ``str``.

    Other equal keys may still differ (``1`` and ``True``, a string and an enum member), so treedefs
    that hold them must not stand in for each other. Those that hold these may.
    """

    __slots__ = ()


_STR: Final = frozenset({str})
_Plan: TypeAlias = tuple[Callable[[dict[Any, Any]], tuple[Any, ...]], StrKeys]
_plans: dict[tuple[Hashable, ...], _Plan] = {}  # by the keys in the order of insertion


def _sorted_keys(x: Mapping[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(x))
    except TypeError:
        raise UnsortableKeysError("tree", tuple(x)) from None


def _values(x: dict[Any, Any]) -> tuple[Any, ...]:
    return tuple(x.values())


def _flatten_dict(x: dict[Any, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    # How keys that are strings are sorted is kept as a plan.
    order = tuple(x)
    exact = _STR.issuperset(map(type, order))
    plan = _plans.get(order) if exact else None
    if plan is None:
        keys = _sorted_keys(x)
        if not exact:
            return tuple(map(x.__getitem__, keys)), keys
        if len(_plans) >= _CACHE_BOUND:
            _plans.clear()
        # An itemgetter of one key would return the bare value.
        plan = _values if keys == order else itemgetter(*keys), StrKeys(keys)
        _plans[order] = plan
    pick, str_keys = plan
    return pick(x), str_keys


def _unflatten_dict(keys: tuple[Any, ...], children: tuple[Any, ...]) -> dict[Any, Any]:
    # The numbers agree, since the treedef counted the leaves: zip need not compare them.
    return dict(zip(keys, children))  # noqa: B905


def _show_items(keys: tuple[Any, ...], parts: Sequence[str]) -> str:
    return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(keys, parts, strict=True)) + "}"


def _keys_of_dict(x: Any, keys: tuple[Any, ...]) -> Iterable[KeyEntry]:
    return map(DictKey, keys)


def _describe_dict(name: str) -> Callable[[Any, int], str]:
    return lambda keys, size: f"{name} with keys {show_keys(keys)}"


def _flatten_defaultdict(x: defaultdict[Any, Any]) -> tuple[tuple[Any, ...], tuple[Any, Any]]:
    keys = _sorted_keys(x)
    return tuple(map(x.__getitem__, keys)), (x.default_factory, keys)


def _name(factory: object) -> str:
    return getattr(factory, "__name__", None) or repr(factory)


_DICTS: Final = (
    NodeKind(
        dict,
        flatten=_flatten_dict,
        unflatten=_unflatten_dict,
        shown=_show_items,
        describe=_describe_dict("dict"),
        keys=_keys_of_dict,
    ),
    NodeKind(
        OrderedDict,
        flatten=lambda x: (tuple(x.values()), tuple(x)),
        unflatten=lambda keys, children: OrderedDict(zip(keys, children, strict=True)),
        describe=_describe_dict("OrderedDict"),
        keys=_keys_of_dict,
    ),
    NodeKind(
        defaultdict,
        flatten=_flatten_defaultdict,
        unflatten=lambda metadata, children: defaultdict(
            metadata[0], zip(metadata[1], children, strict=True)
        ),
        describe=lambda metadata, size: (
            f"defaultdict of {_name(metadata[0])} with keys {show_keys(metadata[1])}"
        ),
        keys=lambda x, metadata: map(DictKey, metadata[1]),
    ),
)


def _namedtuple_kind(cls: type, fields: tuple[str, ...]) -> NodeKind:
    # _make goes past a subclass's own __new__, which may take other arguments.
    make: Callable[[Iterable[Any]], Any] = getattr(cls, "_make", cls)
    keys = tuple(map(GetAttrKey, fields))
    return NodeKind(
        cls,
        flatten=lambda x: (tuple(x), None),
        unflatten=lambda metadata, children: make(children),
        shown=lambda metadata, parts: _show_node("namedtuple", cls.__name__, parts),
        describe=lambda metadata, size: cls.__name__,
        keys=lambda x, metadata: keys,
    )


for _kind in (TUPLE, _LIST, NONE_KIND, *_DICTS):
    add_kind(_kind)
