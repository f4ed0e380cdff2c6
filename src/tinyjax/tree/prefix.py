"""Prefix trees, such as the ``in_axes`` of ``vmap``: each leaf stands for a whole subtree."""

from __future__ import annotations

from typing import Any

from tinyjax.errors import ArgumentError, described
from tinyjax.tree.node import PyTree
from tinyjax.tree.ops import IsLeaf, flatten
from tinyjax.tree.treedef import LEAF, PyTreeDef, raise_mismatch


def flatten_prefix(
    prefix: PyTree, treedef: PyTreeDef, is_leaf: IsLeaf | None = None, name: str = "prefix"
) -> list[Any]:
    """Return the value that a prefix tree has for each leaf of a structure.

    Args:
        prefix: a tree that ends at or above the leaves of ``treedef``.
        treedef: the whole structure.
        is_leaf: called with each node of ``prefix``; where it returns true, it is a value. Pass
            ``lambda x: x is None`` where None is a value, as in ``in_axes``; without it, None
            stands only for None.
        name: the variable that holds the prefix, for the path in an error.

    Returns:
        As many values as ``treedef`` has leaves.

    Raises:
        TreeMismatchError: ``prefix`` is not a prefix of the structure.

    Example:
        >>> from tinyjax import tree
        >>> arguments = tree.structure(({"w": 0, "b": 0}, 0))
        >>> tree.flatten_prefix((None, 0), arguments, is_leaf=lambda x: x is None)
        [None, None, 0]
    """
    if not isinstance(treedef, PyTreeDef):
        raise ArgumentError(f"treedef must be a PyTreeDef, but got {described(treedef)}.")
    values, prefix_treedef = flatten(prefix, is_leaf)
    if prefix_treedef is LEAF:
        return values * treedef.num_leaves
    if prefix_treedef is treedef:
        return values
    spread: list[Any] = []
    counts = _leaves_below(prefix_treedef, treedef)
    if counts is None:
        raise_mismatch(treedef, prefix, name, stop_at=prefix_treedef)
    for value, count in zip(values, counts, strict=True):
        spread.extend([value] * count)
    return spread


def _leaves_below(prefix: PyTreeDef, full: PyTreeDef) -> list[int] | None:
    """Count the leaves of ``full`` below each leaf of ``prefix``; None if that is not a prefix."""
    counts: list[int] = []
    stack = [(prefix, full)]
    while stack:
        above, below = stack.pop()
        if above.kind is None:
            counts.append(below.num_leaves)
        elif above.same_node(below):
            pairs = zip(above.children(), below.children(), strict=True)
            stack.extend(reversed(list(pairs)))
        else:
            return None
    return counts


def broadcast(prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Build a tree with the structure of one tree and the values of a prefix of it.

    Args:
        prefix_tree: a tree that ends at or above the leaves of ``full_tree``.
        full_tree: the tree whose structure the result has.
        is_leaf: called with each node of ``prefix_tree``; where it returns true, it is a value.

    Raises:
        TreeMismatchError: the one is not a prefix of the other.

    Example:
        >>> from tinyjax import tree
        >>> tree.broadcast((1, 2), ([0, 0], {"a": 0}))
        ([1, 1], {'a': 2})
    """
    treedef = flatten(full_tree)[1]
    return treedef.unflatten(flatten_prefix(prefix_tree, treedef, is_leaf, "prefix_tree"))
