# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.tree import DictKey as DictKey
from tinyjax.tree import FlattenedIndexKey as FlattenedIndexKey
from tinyjax.tree import GetAttrKey as GetAttrKey
from tinyjax.tree import KeyEntry as KeyEntry
from tinyjax.tree import KeyPath as KeyPath
from tinyjax.tree import Partial as Partial
from tinyjax.tree import PyTreeDef as PyTreeDef
from tinyjax.tree import SequenceKey as SequenceKey
from tinyjax.tree import keystr as keystr
from tinyjax.tree import register_dataclass as register_dataclass
from tinyjax.tree import register_pytree_node as register_pytree_node
from tinyjax.tree import register_pytree_node_class as register_pytree_node_class
from tinyjax.tree import register_pytree_with_keys as register_pytree_with_keys
from tinyjax.tree import register_pytree_with_keys_class as register_pytree_with_keys_class
from tinyjax.tree import register_static as register_static
from tinyjax.tree import all as tree_all
from tinyjax.tree import broadcast as tree_broadcast
from tinyjax.tree import flatten as tree_flatten
from tinyjax.tree import flatten_with_path as tree_flatten_with_path
from tinyjax.tree import leaves as tree_leaves
from tinyjax.tree import leaves_with_path as tree_leaves_with_path
from tinyjax.tree import map as tree_map
from tinyjax.tree import map_with_path as tree_map_with_path
from tinyjax.tree import reduce as tree_reduce
from tinyjax.tree import reduce_associative as tree_reduce_associative
from tinyjax.tree import structure as tree_structure
from tinyjax.tree import transpose as tree_transpose
from tinyjax.tree import unflatten as tree_unflatten
from tinyjax.tree import treedef_tuple as treedef_tuple
from tinyjax.tree_util.nodes import all_leaves as all_leaves
from tinyjax.tree_util.nodes import default_registry as default_registry
from tinyjax.tree_util.nodes import flatten_one_level as flatten_one_level
from tinyjax.tree_util.nodes import flatten_one_level_with_keys as flatten_one_level_with_keys
from tinyjax.tree_util.nodes import is_tree_node as is_tree_node
from tinyjax.tree_util.nodes import treedef_children as treedef_children
from tinyjax.tree_util.nodes import treedef_is_leaf as treedef_is_leaf

__all__ = [
    'DictKey',
    'FlattenedIndexKey',
    'GetAttrKey',
    'KeyEntry',
    'KeyPath',
    'Partial',
    'PyTreeDef',
    'SequenceKey',
    'all_leaves',
    'default_registry',
    'flatten_one_level',
    'flatten_one_level_with_keys',
    'is_tree_node',
    'keystr',
    'register_dataclass',
    'register_pytree_node',
    'register_pytree_node_class',
    'register_pytree_with_keys',
    'register_pytree_with_keys_class',
    'register_static',
    'tree_all',
    'tree_broadcast',
    'tree_flatten',
    'tree_flatten_with_path',
    'tree_leaves',
    'tree_leaves_with_path',
    'tree_map',
    'tree_map_with_path',
    'tree_reduce',
    'tree_reduce_associative',
    'tree_structure',
    'tree_transpose',
    'tree_unflatten',
    'treedef_children',
    'treedef_is_leaf',
    'treedef_tuple',
]
