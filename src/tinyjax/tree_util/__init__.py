"""Pytrees by the names of ``jax.tree_util``: those of ``tinyjax.tree``, and a node at a time."""

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "nodes": (
            "all_leaves default_registry flatten_one_level flatten_one_level_with_keys "
            "is_tree_node treedef_children treedef_is_leaf"
        ),
        "tinyjax.tree": (
            "DictKey FlattenedIndexKey GetAttrKey KeyEntry KeyPath Partial PyTreeDef SequenceKey "
            "keystr register_dataclass register_pytree_node register_pytree_node_class "
            "register_pytree_with_keys register_pytree_with_keys_class register_static "
            "tree_all=all tree_broadcast=broadcast tree_flatten=flatten "
            "tree_flatten_with_path=flatten_with_path tree_leaves=leaves "
            "tree_leaves_with_path=leaves_with_path tree_map=map "
            "tree_map_with_path=map_with_path tree_reduce=reduce "
            "tree_reduce_associative=reduce_associative tree_structure=structure "
            "tree_transpose=transpose tree_unflatten=unflatten treedef_tuple"
        ),
    },
)
