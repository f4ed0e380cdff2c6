"""``PyTreeDef``: the structure of a tree without its leaves.

Treedefs compare and hash by structure. Most equal ones are also one object, because
``make_treedef`` keeps those whose metadata is plain, so the usual comparison is an identity test;
equality does not rest on it. Every method walks with its own stack, so that depth is bounded by
memory and not by Python's limit on recursion.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from types import NoneType
from typing import Any, Final, NoReturn, TypeVar

import attrs

from tinyjax import errors
from tinyjax._base import lazy
from tinyjax.tree.errors import LeafCountError, MetadataError, RegistrationError
from tinyjax.tree.keys import FlattenedIndexKey, KeyEntry, KeyPath, path_str
from tinyjax.tree.mismatches import mismatch
from tinyjax.tree.node import KINDS, NONE_KIND, TUPLE, Leaf, NodeKind, PyTree, StrKeys, show_keys

_role = "passes on"  # see ``frames.Role``

T = TypeVar("T")

_CONTAINERS: Final = (tuple, list, dict, NoneType)


@attrs.frozen(eq=False, repr=False)
class PyTreeDef:
    """The structure of a tree: a leaf, or a node with its metadata and its children's structures.

    Made by ``flatten``, ``structure``, ``treedef_tuple``, ``compose``. A leaf is always ``LEAF``.

    Attributes:
        kind: how the node is taken apart and put together; None for a leaf.
        metadata: what the node holds besides its children, such as a dictionary's keys.
        num_leaves: the number of leaves in the whole tree.

    Example:
        >>> from tinyjax import tree
        >>> tree.structure({"a": 1, "b": [2, (3, None)]})
        PyTreeDef({'a': *, 'b': [*, (*, None)]})
    """

    kind: NodeKind | None
    metadata: Any
    _children: tuple[PyTreeDef, ...]
    num_leaves: int
    _flat: bool  # a node all of whose children are leaves
    _shared: bool  # kept in the table of make_treedef
    _hash: int | None = attrs.field(default=None, init=False)

    @property
    def node_type(self) -> type | None:
        """The type of the node; None for a leaf."""
        return None if self.kind is None else self.kind.node_type

    @property
    def num_nodes(self) -> int:
        """The number of nodes in the whole tree; leaves and None count.

        Example:
            >>> from tinyjax import tree
            >>> tree.structure((1, [2, None])).num_nodes
            5
        """
        return len(self._postorder())

    @property
    def has_custom_nodes(self) -> bool:
        """Return whether there are nodes other than tuples, lists, dictionaries and None."""
        return any(
            node.kind is not None and not issubclass(node.kind.node_type, _CONTAINERS)
            for node in self._postorder()
        )

    def children(self) -> list[PyTreeDef]:
        """Return the structure of each child; empty for a leaf.

        Example:
            >>> from tinyjax import tree
            >>> tree.structure((1, [2])).children()
            [PyTreeDef(*), PyTreeDef([*])]
        """
        return list(self._children)

    def node_data(self) -> tuple[type, Any] | None:
        """Return the node's type and metadata, or None for a leaf.

        Example:
            >>> from tinyjax import tree
            >>> tree.structure({"b": 1, "a": 2}).node_data()
            (<class 'dict'>, ('a', 'b'))
        """
        return None if self.kind is None else (self.kind.node_type, self.metadata)

    def unflatten(self, leaves: Iterable[Leaf]) -> PyTree:
        """Build the tree that has this structure and these leaves.

        Args:
            leaves: as many values as the structure has leaves. They may be any objects.

        Raises:
            LeafCountError: there are too few or too many leaves.

        Example:
            >>> from tinyjax import tree
            >>> tree.structure({"a": 0, "b": [0, None]}).unflatten([1, 2])
            {'a': 1, 'b': [2, None]}
        """
        try:
            values = tuple(leaves)
        except TypeError:
            if _is_iterable(leaves):  # raised by what makes the leaves
                raise
            raise errors.ArgumentError(
                f"unflatten takes an iterable of leaves, but got {errors.type_name(leaves)}."
            ) from None
        if len(values) != self.num_leaves:
            raise LeafCountError(repr(self), self.num_leaves, len(values))
        if self.kind is None:
            return values[0]
        if self._flat:
            return self.kind.unflatten(self.metadata, values)
        return _build(self, values)

    def flatten_up_to(self, tree: PyTree, name: str = "tree") -> list[Any]:
        """Flatten a tree that has at least this structure: return its part at each leaf.

        Args:
            tree: a tree of which this structure is a prefix. It may go deeper below the leaves.
            name: the variable that holds the tree, for the path in an error.

        Returns:
            The subtrees, one for each leaf of this structure.

        Raises:
            TreeMismatchError: this structure is not a prefix of the tree.

        Example:
            >>> from tinyjax import tree
            >>> tree.structure((0, {"a": 0})).flatten_up_to(([1, 2], {"a": 3}))
            [[1, 2], 3]
        """
        if self.kind is None:
            return [tree]
        subtrees: list[Any] = []
        treedefs: list[PyTreeDef] = [self]
        trees = [tree]
        while treedefs:
            treedef, x = treedefs.pop(), trees.pop()
            kind = treedef.kind
            if kind is None:
                subtrees.append(x)
                continue
            parts = _open(treedef, kind, x)
            if parts is None:
                raise_mismatch(self, tree, name)
            if treedef._flat:
                subtrees.extend(parts)
            else:
                treedefs.extend(reversed(treedef._children))
                trees.extend(reversed(parts))
        return subtrees

    def walk(
        self,
        f_node: Callable[[tuple[Any, ...], Any], Any],
        f_leaf: Callable[[Any], Any] | None,
        leaves: Iterable[Any],
    ) -> Any:
        """Fold leaves by the structure: children first, and from left to right.

        Args:
            f_node: called with what the children became, as a tuple, and with the metadata: the
                sorted keys of a dictionary as a list, as in JAX, and None of a tuple or a list.
            f_leaf: called with each leaf; None for the leaf itself.
            leaves: as many as the structure has.

        Returns:
            What the outermost call returned.

        Raises:
            LeafCountError: there are too few or too many leaves.

        Example:
            >>> from tinyjax import tree
            >>> tree.structure((1, [2, 3])).walk(lambda parts, _: sum(parts), None, [1, 2, 3])
            6
        """
        values = [*leaves]
        if len(values) != self.num_leaves:
            raise LeafCountError(repr(self), self.num_leaves, len(values))

        def join(kind: NodeKind, metadata: Any, parts: tuple[Any, ...]) -> Any:
            return f_node(parts, [*metadata] if kind.node_type is dict else metadata)

        return self._fold(values if f_leaf is None else map(f_leaf, values), join)

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """Put a structure in the place of every leaf.

        Example:
            >>> from tinyjax import tree
            >>> tree.structure([0, 0]).compose(tree.structure((0, 0)))
            PyTreeDef([(*, *), (*, *)])
        """
        return self._fold(repeat(inner), make_treedef)

    def same_node(self, other: PyTreeDef) -> bool:
        """Return whether the outermost nodes agree, whatever their children are.

        Example:
            >>> from tinyjax import tree
            >>> tree.structure([1, 2]).same_node(tree.structure([(3,), 4]))
            True
        """
        if self is other:
            return True
        return (
            self.kind is not None
            and other.kind is not None
            and self.kind.node_type is other.kind.node_type
            and len(self._children) == len(other._children)
            and _same_metadata(self.kind, self.metadata, other.metadata)
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        stack: list[tuple[PyTreeDef, PyTreeDef]] = [(self, other)]
        while stack:
            a, b = stack.pop()
            if a is b:
                continue
            if a.num_leaves != b.num_leaves or not a.same_node(b):
                return False
            stack.extend(zip(a._children, b._children, strict=True))
        return True

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", self._structural_hash())
            assert self._hash is not None, "the line above sets it"
        return self._hash

    def _structural_hash(self) -> int:
        entries: list[int] = []
        for node in self._postorder():
            try:
                metadata = hash(node.metadata)
            except TypeError:  # it has no hash: equality alone tells such nodes apart
                metadata = 0
            entries.append(hash((node.node_type, metadata, len(node._children))))
        return hash(tuple(entries))

    def __repr__(self) -> str:
        shown = self._fold(repeat("*"), lambda kind, data, parts: kind.show(data, parts))
        return f"PyTreeDef({shown})"

    def _repr_html_(self) -> str | None:
        """Show a large structure in a notebook over several lines, without the middle."""
        lines = self._fold(repeat(["*"]), _outlined)
        if len(lines) == 1 and len(lines[0]) <= _LINE:
            return None  # the text says it all
        left_out = len(lines) - _FIRST_LINES - _LAST_LINES
        if left_out > 0:
            lines[_FIRST_LINES:-_LAST_LINES] = [f" ... {left_out:,} more lines"]
        shown = [line if len(line) <= _LONGEST_LINE else f"{line[:_LINE]} ..." for line in lines]
        text = lazy.hook("display").escape("\n".join(shown))
        return f"<b>PyTreeDef</b> · {self.num_leaves:,} leaves<pre>{text}</pre>"

    def __reduce__(self) -> tuple[Any, ...]:
        # A kind holds functions, which cannot be pickled; its type finds it again.
        return _restore, (self.node_type, self.metadata, self._children)

    def _postorder(self) -> list[PyTreeDef]:
        """List all nodes, children before their parent and from left to right."""
        order: list[PyTreeDef] = []
        stack: list[PyTreeDef] = [self]
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(node._children)
        order.reverse()
        return order

    def _fold(self, leaves: Iterable[T], join: Callable[[NodeKind, Any, tuple[T, ...]], T]) -> T:
        """Compute a value for each node from the values of its children, or of the leaves."""
        rest = iter(leaves)
        stack: list[T] = []
        for node in self._postorder():
            if node.kind is None:
                stack.append(next(rest))
                continue
            first = len(stack) - len(node._children)
            joined = join(node.kind, node.metadata, tuple(stack[first:]))
            del stack[first:]
            stack.append(joined)
        return stack.pop()


LEAF: Final = PyTreeDef(None, None, (), 1, False, True)
"""The structure of a leaf."""


_LINE: Final = 88
_LONGEST_LINE: Final = 120
_FIRST_LINES: Final = 40
_LAST_LINES: Final = 10


def _outlined(kind: NodeKind, metadata: Any, parts: tuple[list[str], ...]) -> list[str]:
    """Print a node on one line, or each of its children on lines of their own."""
    if all(len(part) == 1 for part in parts) and sum(len(part[0]) + 2 for part in parts) <= _LINE:
        text = kind.show(metadata, [part[0] for part in parts])
        if len(text) <= _LINE:
            return [text]
    mark = "\0"
    pieces = kind.show(metadata, [mark] * len(parts)).split(mark)
    if len(pieces) != len(parts) + 1:  # it shows its children otherwise
        return [kind.show(metadata, ["..."] * len(parts))]
    lines: list[str] = []
    for i, (piece, part) in enumerate(zip(pieces, parts, strict=False)):
        if i:
            lines[-1] += ","
        lines.append((f" {piece.removeprefix(', ')}" if i else piece) + part[0])
        lines += [f"  {line}" for line in part[1:]]
    if not lines:
        return [pieces[-1]]
    lines[-1] += pieces[-1]
    return lines


def _same_metadata(kind: NodeKind, a: Any, b: Any) -> bool:
    if a is b:
        return True
    try:
        return bool(a == b)
    except (TypeError, ValueError) as error:  # arrays have no one truth value
        raise MetadataError(kind.node_type, error) from error


def _build(treedef: PyTreeDef, leaves: tuple[Any, ...]) -> PyTree:
    """Unflatten a node whose children are not all leaves."""
    used = 0
    stack: list[tuple[PyTreeDef, Iterator[PyTreeDef], list[Any]]] = []
    node, children, done = treedef, iter(treedef._children), []
    while True:
        for child in children:
            if child.kind is None:
                done.append(leaves[used])
                used += 1
            elif child is NONE:
                done.append(None)
            elif child._flat:
                end = used + child.num_leaves
                done.append(child.kind.unflatten(child.metadata, leaves[used:end]))
                used = end
            else:
                stack.append((node, children, done))
                node, children, done = child, iter(child._children), []
                break
        else:
            assert node.kind is not None, "only nodes are put on the stack"
            built = node.kind.unflatten(node.metadata, tuple(done))
            if not stack:
                return built
            node, children, done = stack.pop()
            done.append(built)


# Making treedefs. A treedef's key in the table holds the identities of its children: the entry
# keeps them alive, so an identity in the table cannot come to mean another object.

_PLAIN: Final = frozenset({NoneType, bool, int, str, StrKeys})
_TABLE_BOUND: Final = 1 << 14
_table: dict[tuple[Hashable, ...], PyTreeDef] = {}
_flat_table: dict[tuple[Hashable, ...], PyTreeDef] = {}


class _Sentinels(dict[type, object]):
    """For each class, its one instance that a module holds and that equals itself alone, or None.

    Libraries mark with it what is absent. The module keeps it alive.
    """

    def __missing__(self, cls: type) -> object:
        instances: list[object] = []
        if getattr(cls, "__eq__", None) is object.__eq__:
            module = vars(sys.modules.get(cls.__module__, object))
            instances = [x for x in list(module.values()) if type(x) is cls]
        if len(self) >= _SENTINELS_BOUND:  # the classes are kept alive
            self.clear()
        self[cls] = instances[0] if len(instances) == 1 else None
        return self[cls]


_SENTINELS_BOUND: Final = 1 << 8
_sentinels: Final = _Sentinels()


def _is_plain(metadata: Any) -> bool:
    """Return whether metadata is safe to keep: immutable, cheap to compare, without references."""
    cls = type(metadata)
    if cls is not tuple:
        return cls in _PLAIN
    return _PLAIN.issuperset(map(type, metadata)) or all(
        type(x) in _PLAIN or _sentinels[type(x)] is x for x in metadata
    )


def _interchangeable(a: Any, b: Any) -> bool:
    """Return whether equal plain metadata also agrees in type: ``1 == True``, but they differ."""
    return a is b or (
        type(a) is type(b) and (type(a) is not tuple or [*map(type, a)] == [*map(type, b)])
    )


def _is_iterable(x: Iterable[Any]) -> bool:
    try:
        iter(x)
    except TypeError:
        return False
    return True


def make_treedef(kind: NodeKind, metadata: Any, children: tuple[PyTreeDef, ...]) -> PyTreeDef:
    """Return the structure of a node, the same object as last time where its metadata is plain."""
    key = (kind, metadata, *map(id, children))
    try:  # to look it up takes less time than to see whether metadata is plain
        entry = _table.get(key)
    except TypeError:  # metadata without a hash
        entry = None
    if entry is not None and _interchangeable(entry.metadata, metadata):
        return entry
    is_plain = _is_plain(metadata)
    is_flat = all(child is LEAF for child in children)
    if is_plain and is_flat:
        treedef = flat_treedef(kind, metadata, len(children))
    else:
        num_leaves = sum([child.num_leaves for child in children])
        shared = is_plain and key not in _table and all(child._shared for child in children)
        treedef = PyTreeDef(kind, metadata, children, num_leaves, is_flat, shared)
    return _keep(_table, key, treedef)


def flat_treedef(kind: NodeKind, metadata: Any, size: int) -> PyTreeDef:
    """Return the structure of a node with so many leaves as its children."""
    key = (kind, metadata, size)
    try:
        entry = _flat_table.get(key)
    except TypeError:  # as in ``make_treedef``
        entry = None
    if entry is not None and (
        entry.metadata is metadata or _interchangeable(entry.metadata, metadata)
    ):
        return entry
    shared = _is_plain(metadata) and key not in _flat_table
    treedef = PyTreeDef(kind, metadata, (LEAF,) * size, size, True, shared)
    return _keep(_flat_table, key, treedef)


def _keep(
    table: dict[tuple[Hashable, ...], PyTreeDef], key: tuple[Hashable, ...], treedef: PyTreeDef
) -> PyTreeDef:
    if treedef._shared:
        if len(table) >= _TABLE_BOUND:
            table.clear()
        table[key] = treedef
    return treedef


#: The structure of None.
NONE: Final = flat_treedef(NONE_KIND, None, 0)


def _restore(node_type: type | None, metadata: Any, children: tuple[PyTreeDef, ...]) -> PyTreeDef:
    if node_type is None:
        return LEAF
    kind = KINDS[node_type]
    if kind is None:
        raise errors.ArgumentError(
            f"{node_type.__qualname__} is not a pytree node here: register it before unpickling."
        )
    return make_treedef(kind, metadata, children)


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple from the structures of its items.

    Args:
        treedefs: structures, as ``structure`` returns them.

    Raises:
        ArgumentError: one is no structure.

    Example:
        >>> from tinyjax import tree
        >>> tree.treedef_tuple([tree.structure(0), tree.structure([0])])
        PyTreeDef((*, [*]))
    """
    items: object = treedefs
    try:
        children = [*items] if isinstance(items, Iterable) else [items]
    except TypeError:  # an array without axes
        children = [items]
    structures = tuple([child for child in children if isinstance(child, PyTreeDef)])
    if len(structures) != len(children):
        raise errors.ArgumentError(
            "treedefs of treedef_tuple are PyTreeDefs, as tree.structure returns them, but got "
            f"{errors.described(treedefs)}."
        )
    return make_treedef(TUPLE, None, structures)


# Holding a tree against a treedef.


def _open(treedef: PyTreeDef, kind: NodeKind, x: Any) -> Sequence[Any] | None:
    """Return the node's children, or None if it is not a node of this structure."""
    if type(x) is not kind.node_type:
        return None
    parts, metadata = kind.flatten(x)
    if len(parts) == len(treedef._children) and _same_metadata(kind, metadata, treedef.metadata):
        return parts
    return None


def raise_mismatch(
    treedef: PyTreeDef, tree: PyTree, name: str, *, stop_at: PyTreeDef | None = None
) -> NoReturn:
    """Raise the error for a tree that is known to differ from a structure.

    Whoever found out did so without paths, which cost more than the rest; so go down again.
    """
    for _ in walk_up_to(treedef, tree, name, stop_at=stop_at):
        pass
    raise RegistrationError(
        type(tree),
        f"{name} did not have the structure {treedef}, and a moment later it had. A registered "
        "flatten function must give the same result when it is called again.",
    )


def walk_up_to(
    treedef: PyTreeDef, tree: PyTree, name: str, *, stop_at: PyTreeDef | None = None
) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the path and the subtree at each leaf of a structure.

    Args:
        treedef: the structure that the tree must have.
        tree: the tree.
        name: the variable that holds the tree, for the error.
        stop_at: the tree's own structure where the tree may also be shallower than ``treedef``, as
            a prefix is: then its leaves are where the walk ends.

    Raises:
        TreeMismatchError: at the first node that differs.
    """
    end = treedef if stop_at is None else stop_at
    stack: list[tuple[PyTreeDef, PyTreeDef, Any, KeyPath]] = [(treedef, end, tree, ())]
    while stack:
        expected, own, x, path = stack.pop()
        if own.kind is None:
            yield path, x
            continue
        kind = expected.kind
        parts = None if kind is None else _open(expected, kind, x)
        if kind is None or parts is None:
            size = len(expected._children)
            is_prefix = stop_at is not None
            raise mismatch(kind, expected.metadata, size, x, name, path, is_prefix)
        keys = tuple(islice(kind.keys(x, expected.metadata), len(parts)))
        if len(keys) != len(parts):
            raise RegistrationError(
                kind.node_type,
                f"a {kind.node_type.__qualname__} has {len(parts)} children but {len(keys)} keys: "
                "its flatten functions with and without keys must agree.",
            )
        below = [
            (child, end, part, (*path, key))
            for child, end, part, key in zip(
                expected._children, own._children, parts, keys, strict=True
            )
        ]
        stack.extend(reversed(below))


def in_words(treedef: PyTreeDef) -> str:
    """Return a structure in words: ``a tuple of 2 arrays``; a nested one whole."""
    if treedef.kind is None:
        return "an array"
    children = treedef.children()
    name = treedef.kind.node_type.__name__
    if name == "NoneType":
        return "None"
    if treedef.kind.node_type in (tuple, list) and {x.kind for x in children} == {None}:
        return f"a {name} of {len(children)} array{'s' * (len(children) > 1)}"
    return str(treedef)


def first_difference(a: PyTreeDef, b: PyTreeDef, name: str) -> tuple[str, str, str]:
    """Find where two structures, known to differ, do so first.

    Args:
        a: one structure.
        b: the other.
        name: the variable that holds a tree of either, for the path.

    Returns:
        The path of the first node that differs, and what each structure has there, in words.
    """
    stack: list[tuple[PyTreeDef, PyTreeDef, KeyPath]] = [(a, b, ())]
    while stack:
        one, other, path = stack.pop()
        if one is other:
            continue
        if one.kind is None or not one.same_node(other):
            return path_str(name, path), *_in_words(one, other)
        below = zip(one._children, other._children, _keys_below(one, one.kind), strict=True)
        stack.extend(reversed([(c, d, (*path, key)) for c, d, key in below]))
    raise AssertionError(f"{a} and {b} are equal")


def leaf_paths(treedef: PyTreeDef) -> list[KeyPath]:
    """Return the path of each leaf, for messages: no tree is made."""
    paths: list[KeyPath] = []
    stack: list[tuple[PyTreeDef, KeyPath]] = [(treedef, ())]
    while stack:
        node, path = stack.pop()
        if node.kind is None:
            paths.append(path)
            continue
        below = zip(node._children, _keys_below(node, node.kind), strict=True)
        stack.extend(reversed([(child, (*path, key)) for child, key in below]))
    return paths


def _keys_below(treedef: PyTreeDef, kind: NodeKind) -> Sequence[KeyEntry]:
    """Return the keys of a node's children.

    For a class that names them by ``register_pytree_with_keys`` they are those of a node like this
    one that was flattened and is alive, or else numbers: no node is made for this.
    """
    size = len(treedef._children)
    if kind.noted_keys is None:
        return [*islice(kind.keys(None, treedef.metadata), size)]
    noted = kind.noted_keys(treedef.metadata, size)
    return [FlattenedIndexKey(i) for i in range(size)] if noted is None else noted


def _in_words(one: PyTreeDef, other: PyTreeDef) -> tuple[str, str]:
    """Describe two nodes that differ: dictionaries by the keys that only one of them has."""
    if one.kind is other.kind and one.kind is not None and one.kind.node_type is dict:
        first = [key for key in one.metadata if key not in other.metadata]
        second = [key for key in other.metadata if key not in one.metadata]
        return (
            f"dict with keys {show_keys(first)}" if first else f"dict without {show_keys(second)}",
            f"dict with keys {show_keys(second)}" if second else f"dict without {show_keys(first)}",
        )
    first_words, second_words = (
        "a leaf" if t.kind is None else t.kind.describe(t.metadata, len(t._children))
        for t in (one, other)
    )
    return first_words, second_words
