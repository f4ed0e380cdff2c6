# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.tree.errors import LeafCountError as LeafCountError
from tinyjax.tree.errors import MetadataError as MetadataError
from tinyjax.tree.errors import RegistrationError as RegistrationError
from tinyjax.tree.errors import TreeDepthError as TreeDepthError
from tinyjax.tree.errors import TreeMismatchError as TreeMismatchError
from tinyjax.tree.errors import UnsortableKeysError as UnsortableKeysError
from tinyjax.tree.keys import DictKey as DictKey
from tinyjax.tree.keys import FlattenedIndexKey as FlattenedIndexKey
from tinyjax.tree.keys import GetAttrKey as GetAttrKey
from tinyjax.tree.keys import KeyEntry as KeyEntry
from tinyjax.tree.keys import KeyPath as KeyPath
from tinyjax.tree.keys import SequenceKey as SequenceKey
from tinyjax.tree.keys import keystr as keystr
from tinyjax.tree.keys import path_str as path_str
from tinyjax.tree.node import Leaf as Leaf
from tinyjax.tree.node import PyTree as PyTree
from tinyjax.tree.ops import tree_all as all
from tinyjax.tree.ops import broadcast as broadcast
from tinyjax.tree.ops import flatten as flatten
from tinyjax.tree.ops import flatten_arguments as flatten_arguments
from tinyjax.tree.ops import flatten_prefix as flatten_prefix
from tinyjax.tree.ops import flatten_with_path as flatten_with_path
from tinyjax.tree.ops import leaves as leaves
from tinyjax.tree.ops import leaves_with_path as leaves_with_path
from tinyjax.tree.ops import tree_map as map
from tinyjax.tree.ops import map_with_path as map_with_path
from tinyjax.tree.ops import reduce as reduce
from tinyjax.tree.ops import reduce_associative as reduce_associative
from tinyjax.tree.ops import structure as structure
from tinyjax.tree.ops import transpose as transpose
from tinyjax.tree.ops import unflatten as unflatten
from tinyjax.tree.ops import unflatten_arguments as unflatten_arguments
from tinyjax.tree.partial import Partial as Partial
from tinyjax.tree.registry import register_dataclass as register_dataclass
from tinyjax.tree.registry import register_pytree_node as register_pytree_node
from tinyjax.tree.registry import register_pytree_node_class as register_pytree_node_class
from tinyjax.tree.registry import register_pytree_with_keys as register_pytree_with_keys
from tinyjax.tree.registry import register_pytree_with_keys_class as register_pytree_with_keys_class
from tinyjax.tree.registry import register_static as register_static
from tinyjax.tree.registry import static as static
from tinyjax.tree.treedef import LEAF as LEAF
from tinyjax.tree.treedef import PyTreeDef as PyTreeDef
from tinyjax.tree.treedef import treedef_tuple as treedef_tuple

__all__ = [
    'DictKey',
    'FlattenedIndexKey',
    'GetAttrKey',
    'KeyEntry',
    'KeyPath',
    'LEAF',
    'Leaf',
    'LeafCountError',
    'MetadataError',
    'Partial',
    'PyTree',
    'PyTreeDef',
    'RegistrationError',
    'SequenceKey',
    'TreeDepthError',
    'TreeMismatchError',
    'UnsortableKeysError',
    'all',
    'broadcast',
    'flatten',
    'flatten_arguments',
    'flatten_prefix',
    'flatten_with_path',
    'keystr',
    'leaves',
    'leaves_with_path',
    'map',
    'map_with_path',
    'path_str',
    'reduce',
    'reduce_associative',
    'register_dataclass',
    'register_pytree_node',
    'register_pytree_node_class',
    'register_pytree_with_keys',
    'register_pytree_with_keys_class',
    'register_static',
    'static',
    'structure',
    'transpose',
    'treedef_tuple',
    'unflatten',
    'unflatten_arguments',
]
