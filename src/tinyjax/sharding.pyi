# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.parallel.constraint import auto_axes as auto_axes
from tinyjax._extensions.parallel.constraint import explicit_axes as explicit_axes
from tinyjax._extensions.parallel.constraint import get_abstract_mesh as get_abstract_mesh
from tinyjax._extensions.parallel.constraint import reshard as reshard
from tinyjax._extensions.parallel.constraint import use_abstract_mesh as use_abstract_mesh
from tinyjax._extensions.parallel.meshes import AbstractMesh as AbstractMesh
from tinyjax._extensions.parallel.meshes import AxisType as AxisType
from tinyjax._extensions.parallel.meshes import Mesh as Mesh
from tinyjax._extensions.parallel.meshes import get_mesh as get_mesh
from tinyjax._extensions.parallel.meshes import set_mesh as set_mesh
from tinyjax._extensions.parallel.named_sharding import NamedSharding as NamedSharding
from tinyjax._extensions.parallel.sharding import PartitionSpec as PartitionSpec
from tinyjax._extensions.parallel.sharding import Sharding as Sharding
from tinyjax._extensions.parallel.sharding import SingleDeviceSharding as SingleDeviceSharding
from tinyjax._extensions.parallel.sharding import make_single_device_sharding as make_single_device_sharding
from tinyjax._extensions.parallel.types import ManualAxisType as ManualAxisType

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
