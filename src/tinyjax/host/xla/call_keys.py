"""What calls like an earlier one are found by: the structure and the types of their arguments.

The usual way finds this in Python. Here jaxlib's own tree functions, in C++, take the arguments
apart; what they do not know is left to the usual way.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

import numpy as np
from jaxlib._jax import pytree

from tinyjax.core.values import operands as opd
from tinyjax.core.values.concrete import ConcreteArray, PlacedArray
from tinyjax.tree import PyTree, PyTreeDef, node

_registry: Final = pytree.PyTreeRegistry()
_registered: Final[set[type]] = set()


def call_key(
    args: PyTree, kwargs: PyTree, in_tree: PyTreeDef | None
) -> tuple[list[Any], tuple[Hashable, ...]] | None:
    """Return the leaves of a call's arguments, and what the call is found by.

    None where a leaf is not an array of ours, a NumPy array or a number, or where the structure is
    not one that jaxlib knows.

    Args:
        args: the positional arguments.
        kwargs: the others.
        in_tree: the structure of both, of whose nodes jaxlib is told; None where that was done.
    """
    if in_tree is not None and not _register_nodes(in_tree):
        return None
    try:
        leaves, structure = _registry.flatten((args, kwargs))
    except (TypeError, ValueError):  # such as a dictionary whose keys cannot be sorted
        return None
    avals = [leaf._aval or leaf.aval for leaf in leaves if type(leaf) is ConcreteArray]
    if len(avals) == len(leaves):
        return leaves, (structure, *avals)
    key: list[Any] = [structure]
    for leaf in leaves:
        kind = type(leaf)
        if kind is ConcreteArray:
            key.append(leaf._aval or leaf.aval)
        elif kind in PlacedArray.kinds:
            key += (leaf.aval, leaf._sharding)
        elif kind is np.ndarray:
            key += (leaf.dtype, leaf.shape)
        elif kind in opd.PYTHON_NUMBERS:
            key.append(kind)
        else:
            return None
    return leaves, tuple(key)


def _register_nodes(structure: PyTreeDef) -> bool:
    """Tell jaxlib's tree functions of the node types in a structure that users have registered.

    Returns:
        Whether these functions take such trees. In one that is too deep for Python's stack they
        fail, and leave Python without the rest of its stack.
    """
    pending = [(structure, 0)]
    while pending:
        treedef, depth = pending.pop()
        if depth > _DEEPEST:
            return False
        pending += [(child, depth + 1) for child in treedef.children()]
        node_type = treedef.node_type
        if node_type is None or node_type in _BUILT_IN or node_type in _registered:
            continue
        kind = node.KINDS[node_type]
        assert kind is not None, "a node has a kind"
        _registered.add(node_type)
        if not hasattr(node_type, "_fields"):  # jaxlib knows named tuples
            _registry.register_node(node_type, kind.flatten, kind.unflatten)
    return True


#: So many levels there may be in trees that jaxlib is given.
_DEEPEST: Final = 100

_BUILT_IN: Final = frozenset((tuple, list, dict, type(None)))
