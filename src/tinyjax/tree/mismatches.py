"""The differences between a tree and a structure, in words.

The first sentence has JAX's words, so that a search for them finds the users of both.
"""

from __future__ import annotations

from types import NoneType
from typing import Any

from tinyjax.errors import shortened, type_name
from tinyjax.tree.errors import TreeMismatchError
from tinyjax.tree.keys import DictKey, KeyPath, path_str
from tinyjax.tree.node import KINDS, NodeKind, show_keys


def mismatch(
    kind: NodeKind | None,
    expected: Any,
    size: int,
    x: Any,
    name: str,
    keys: KeyPath,
    is_prefix: bool,
) -> TreeMismatchError:
    """Describe the first node of a tree that differs from a structure.

    Args:
        kind: how a node is to be taken apart there; None for a leaf.
        expected: the metadata that it is to have.
        size: the number of children that it is to have.
        x: the subtree there.
        name: the variable that holds the tree.
        keys: the path to the subtree.
        is_prefix: whether the tree may be shallower than the structure.
    """
    path, got_kind = path_str(name, keys), KINDS[type(x)]
    parts, metadata = ((), None) if got_kind is None else got_kind.flatten(x)
    if got_kind is None:
        got = f"a leaf of type {type_name(x)}"
    else:
        got = got_kind.describe(metadata, len(parts))
    node = "a leaf" if kind is None else kind.describe(expected, size)
    if x is None or (kind is not None and kind.node_type is NoneType):
        hint = (
            "None is a node without leaves: have it in both trees, or make it a leaf with "
            "is_leaf=lambda x: x is None."
        )
    elif kind is None:
        hint = "The tree it belongs to has a leaf here: give one value."
    elif got_kind is None:
        hint = f"Give a whole {kind.node_type.__name__} here."
    elif got_kind.node_type is not kind.node_type:
        hint = f"Give a {kind.node_type.__name__} here: containers must be of the same type."
    else:
        hint = _difference(kind, expected, metadata, size == len(parts))
    if is_prefix:
        problem = (
            "must be a tree prefix of the corresponding value; pytree structure error: "
            f"{_kind_of_difference(kind, got_kind, size, len(parts))}"
        )
        return TreeMismatchError(path, node, got, hint, f"{name} {problem} at key path\n   ")
    assert kind is not None, "whatever stands at a leaf fits"
    problem = f"{_as_in_jaxlib(kind, size, x, len(parts))}. Trees differ"
    return TreeMismatchError(path, node, got, hint, f"{problem} at")


def with_article(node: str) -> str:
    """Return a node in words, such as ``a tuple of length 2``."""
    if node == "a leaf":
        return "a pytree leaf"
    return node if node == "None" else f"a{'n' * (node[0] in 'AEIOU')} {node}"


def _kind_of_difference(
    kind: NodeKind | None, got_kind: NodeKind | None, size: int, got_size: int
) -> str:
    """Return the error in a prefix, in JAX's words."""
    if kind is None or kind is not got_kind:
        return "different types"
    if size == got_size:
        return "different pytree metadata"
    if kind.node_type in (tuple, list):
        return f"different lengths of {kind.node_type.__name__}"
    return "different numbers of pytree children"


def _as_in_jaxlib(kind: NodeKind, size: int, x: Any, got_size: int) -> str:
    """Return the error in a tree, in the words of jaxlib's ``flatten_up_to``."""
    node_type, value = kind.node_type, shortened(x)
    is_long = value.endswith("...")
    if is_long:
        value = f"a value of type {type_name(x)}"
    name = node_type.__name__
    if node_type in (tuple, list, dict, NoneType) and type(x) is not node_type:
        return f"Expected {'None' if node_type is NoneType else name}, got {value}"
    if node_type in (tuple, list):
        shown = "" if is_long else f"; {name}: {value}"
        return f"{name.capitalize()} arity mismatch: {got_size} != {size}{shown}"
    if node_type is dict:
        return "Dict key mismatch"
    if issubclass(node_type, tuple):
        if not isinstance(x, tuple) or not hasattr(x, "_fields"):
            return f"Expected named tuple, got {value}"
        return f"Named tuple type mismatch: expected type: {node_type}, tuple: {value}"
    if type(x) is not node_type:
        return f"Custom node type mismatch: expected type: {node_type}, value: {value}"
    return "Mismatch custom node data"


def _difference(kind: NodeKind, expected: Any, got: Any, same_size: bool) -> str:
    """Return the advice for two nodes of one type that differ."""
    if issubclass(kind.node_type, dict):
        own, others = (list(kind.keys(None, metadata)) for metadata in (expected, got))
        missing = [key.key for key in own if key not in others if isinstance(key, DictKey)]
        unknown = [key.key for key in others if key not in own if isinstance(key, DictKey)]
        words = (("missing", missing), ("unknown", unknown))
        parts = [f"{word} {show_keys(keys)}" for word, keys in words if keys]
        if parts:
            return f"Give both the same keys: {' and '.join(parts)}."
        if own != others:
            return "Give both the same keys in the same order."
    elif not same_size:
        return "Give both the same number of children."
    return "What they hold besides their children (metadata) must be equal, too."
