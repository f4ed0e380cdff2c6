"""Pytrees: nested containers as the arguments and results of transformations.

A tree is a *node* (tuple, list, dict, None, OrderedDict, defaultdict, named tuple, ``Partial`` or a
registered class) or a *leaf* (anything else). ``flatten`` splits a tree into a list of leaves and a
``PyTreeDef``, and ``unflatten`` builds the tree again, so transformations work on lists. Names,
argument orders and meanings are those of ``jax.tree`` and ``jax.tree_util``.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "errors": (
            "LeafCountError MetadataError RegistrationError TreeDepthError TreeMismatchError "
            "UnsortableKeysError"
        ),
        "keys": "DictKey FlattenedIndexKey GetAttrKey KeyEntry KeyPath SequenceKey keystr path_str",
        "node": "Leaf PyTree",
        "ops": (
            "all=tree_all broadcast flatten flatten_arguments flatten_prefix flatten_with_path "
            "leaves leaves_with_path map=tree_map map_with_path reduce reduce_associative "
            "structure transpose unflatten unflatten_arguments"
        ),
        "partial": "Partial",
        "registry": (
            "register_dataclass register_pytree_node register_pytree_node_class "
            "register_pytree_with_keys register_pytree_with_keys_class register_static static"
        ),
        "treedef": "LEAF PyTreeDef treedef_tuple",
    },
)
