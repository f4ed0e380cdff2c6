"""Trees a node at a time, and the registry of node types."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from tinyjax import errors
from tinyjax.core.tracing import checking
from tinyjax.core.values import integers as ints
from tinyjax.tree import KeyEntry, Leaf, PyTree, PyTreeDef, node, ops


def _kind_of(tree: PyTree) -> node.NodeKind:
    kind = node.KINDS[type(tree)]
    if kind is None:
        raise errors.ArgumentError(
            f"a value of type {errors.type_name(tree)} is a leaf, not a node."
        )
    return kind


def flatten_one_level(tree: PyTree) -> tuple[list[Any], Any]:
    """Flatten one node.

    Returns:
        Its children, and its metadata.

    Raises:
        ArgumentError: this is a leaf.

    Example:
        >>> from tinyjax import tree_util
        >>> tree_util.flatten_one_level({"a": [1, 2], "b": {"c": 3}})
        ([[1, 2], {'c': 3}], ('a', 'b'))
    """
    children, metadata = _kind_of(tree).flatten(tree)
    return list(children), metadata


def flatten_one_level_with_keys(tree: PyTree) -> tuple[list[tuple[KeyEntry, Any]], Any]:
    """Flatten one node, as ``flatten_one_level`` does, with the key of each child.

    The second value is what is left without the children: for a dictionary its keys. Children are
    not taken apart.

    Example:
        >>> from tinyjax import tree_util
        >>> tree_util.flatten_one_level_with_keys({"a": [1, 2], "b": 3})
        ([(DictKey(key='a'), [1, 2]), (DictKey(key='b'), 3)], ('a', 'b'))
    """
    kind = _kind_of(tree)
    children, metadata = kind.flatten(tree)
    return list(zip(kind.keys(tree, metadata), children, strict=False)), metadata


@checking.explained
def is_tree_node(typ: type) -> bool:
    """Return whether values of a type are nodes: containers, named tuples and registered classes.

    It asks for the type, not a value: None is a node without children, arrays and numbers are
    leaves.

    Example:
        >>> from tinyjax import tree_util
        >>> [tree_util.is_tree_node(kind) for kind in (dict, tuple, int)]
        [True, True, False]
        >>> import tinyjax.numpy as jnp
        >>> tree_util.is_tree_node(type(None)), tree_util.is_tree_node(type(jnp.ones(2)))
        (True, False)
    """
    return node.KINDS[typ] is not None


@checking.explained
def all_leaves(iterable: Iterable[Any], is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return whether everything in an iterable is a leaf.

    Args:
        iterable: values, such as the children of a node.
        is_leaf: called with a container; where it returns true, it counts as a leaf.

    Raises:
        ArgumentError: it is not iterable.

    Example:
        >>> from tinyjax import tree_util
        >>> tree_util.all_leaves([1, 2.0]), tree_util.all_leaves([(1, 2)])
        (True, False)
    """
    if getattr(iterable, "ndim", None) == 0:
        raise errors.ArgumentError("all_leaves takes an iterable, but got an array without axes.")
    items = ints.items_of(iterable, "the iterable of all_leaves")
    return all(node.KINDS[type(x)] is None or (is_leaf is not None and is_leaf(x)) for x in items)


@checking.explained
def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structure of each child; empty for a leaf.

    Args:
        treedef: a structure; its children are in the order in which ``flatten`` meets them.

    Example:
        >>> from tinyjax import tree_util
        >>> tree_util.treedef_children(tree_util.tree_structure([1, (2, 3)]))
        [PyTreeDef(*), PyTreeDef((*, *))]
    """
    return treedef.children()


@checking.explained
def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return whether a structure has no children: that of a leaf, or of an empty container.

    Example:
        >>> from tinyjax import tree_util
        >>> [tree_util.treedef_is_leaf(tree_util.tree_structure(x)) for x in (1, (), [1])]
        [True, True, False]
    """
    return treedef.num_nodes == 1


class PyTreeRegistry:
    """The types that are nodes. There is one registry, ``default_registry``."""

    def flatten(
        self, tree: PyTree, leaf_predicate: Callable[[Any], bool] | None = None
    ) -> tuple[list[Leaf], PyTreeDef]:
        """Flatten a tree."""
        return ops.flatten(tree, leaf_predicate)

    def flatten_one_level(self, tree: PyTree) -> tuple[list[Any], Any] | None:
        """Flatten one node; None for a leaf."""
        return flatten_one_level(tree) if is_tree_node(type(tree)) else None

    def is_node(self, typ: type) -> bool:
        """Return whether values of a type are nodes."""
        return is_tree_node(typ)


default_registry: Final = PyTreeRegistry()
