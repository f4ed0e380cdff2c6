# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.parallel.constraint import auto_axes as auto_axes
from tinyjax.parallel.constraint import explicit_axes as explicit_axes
from tinyjax.parallel.constraint import get_abstract_mesh as get_abstract_mesh
from tinyjax.parallel.constraint import reshard as reshard
from tinyjax.parallel.constraint import use_abstract_mesh as use_abstract_mesh
from tinyjax.parallel.meshes import AbstractMesh as AbstractMesh
from tinyjax.parallel.meshes import AxisType as AxisType
from tinyjax.parallel.meshes import Mesh as Mesh
from tinyjax.parallel.meshes import get_mesh as get_mesh
from tinyjax.parallel.meshes import set_mesh as set_mesh
from tinyjax.parallel.named_sharding import NamedSharding as NamedSharding
from tinyjax.parallel.sharding import PartitionSpec as PartitionSpec
from tinyjax.parallel.sharding import Sharding as Sharding
from tinyjax.parallel.sharding import SingleDeviceSharding as SingleDeviceSharding
from tinyjax.parallel.sharding import make_single_device_sharding as make_single_device_sharding
from tinyjax.parallel.types import ManualAxisType as ManualAxisType

__all__ = [
    'AbstractMesh',
    'AxisType',
    'ManualAxisType',
    'Mesh',
    'NamedSharding',
    'PartitionSpec',
    'Sharding',
    'SingleDeviceSharding',
    'auto_axes',
    'explicit_axes',
    'get_abstract_mesh',
    'get_mesh',
    'make_single_device_sharding',
    'reshard',
    'set_mesh',
    'use_abstract_mesh',
]
