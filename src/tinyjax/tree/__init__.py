"""Pytrees: nested containers as the arguments and results of transformations.

A tree is a *node* (tuple, list, dict, None, OrderedDict, defaultdict, named tuple, ``Partial`` or a
registered class) or a *leaf* (anything else). ``flatten`` splits a tree into a list of leaves and a
``PyTreeDef``, and ``unflatten`` builds the tree again, so transformations work on lists. Names,
argument orders and meanings are those of ``jax.tree`` and ``jax.tree_util``.
"""

from __future__ import annotations

from tinyjax.tree.errors import (
    LeafCountError,
    MetadataError,
    RegistrationError,
    TreeDepthError,
    TreeMismatchError,
    UnsortableKeysError,
)
from tinyjax.tree.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    keystr,
    path_str,
)
from tinyjax.tree.node import Leaf, PyTree
from tinyjax.tree.ops import (
    flatten,
    flatten_arguments,
    flatten_with_path,
    leaves,
    leaves_with_path,
    map_with_path,
    reduce,
    reduce_associative,
    structure,
    transpose,
    unflatten,
    unflatten_arguments,
)
from tinyjax.tree.ops import tree_all as all
from tinyjax.tree.ops import tree_map as map
from tinyjax.tree.partial import Partial
from tinyjax.tree.prefix import broadcast, flatten_prefix
from tinyjax.tree.registry import (
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    static,
)
from tinyjax.tree.treedef import LEAF, PyTreeDef, treedef_tuple

__all__ = [
    "LEAF",
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Leaf",
    "LeafCountError",
    "MetadataError",
    "Partial",
    "PyTree",
    "PyTreeDef",
    "RegistrationError",
    "SequenceKey",
    "TreeDepthError",
    "TreeMismatchError",
    "UnsortableKeysError",
    "all",
    "broadcast",
    "flatten",
    "flatten_arguments",
    "flatten_prefix",
    "flatten_with_path",
    "keystr",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "path_str",
    "reduce",
    "reduce_associative",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
    "structure",
    "transpose",
    "treedef_tuple",
    "unflatten",
    "unflatten_arguments",
]
