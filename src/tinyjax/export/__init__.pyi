# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.c.exporting import CProgram as CProgram
from tinyjax._extensions.c.exporting import c as c
from tinyjax.export.calling import call_exported_p as call_exported_p
from tinyjax.export.calling import exported_tangent_p as exported_tangent_p
from tinyjax.export.dims import SymbolicScope as SymbolicScope
from tinyjax.export.dims import is_symbolic_dim as is_symbolic_dim
from tinyjax.export.exported import Exported as Exported
from tinyjax.export.exported import deserialize as deserialize
from tinyjax.export.exported import export as export
from tinyjax.export.families import default_export_platform as default_export_platform
from tinyjax.export.format import DisabledSafetyCheck as DisabledSafetyCheck
from tinyjax.export.format import VERSION as maximum_supported_calling_convention_version
from tinyjax.export.format import VERSION as minimum_supported_calling_convention_version
from tinyjax.export.format import register_namedtuple_serialization as register_namedtuple_serialization
from tinyjax.export.format import register_pytree_node_serialization as register_pytree_node_serialization
from tinyjax.export.symbolic import max_dim as max_dim
from tinyjax.export.symbolic import min_dim as min_dim
from tinyjax.export.symbolic import symbolic_args_specs as symbolic_args_specs
from tinyjax.export.symbolic import symbolic_shape as symbolic_shape

__all__ = [
    'CProgram',
    'DisabledSafetyCheck',
    'Exported',
    'SymbolicScope',
    'c',
    'call_exported_p',
    'default_export_platform',
    'deserialize',
    'export',
    'exported_tangent_p',
    'is_symbolic_dim',
    'max_dim',
    'maximum_supported_calling_convention_version',
    'min_dim',
    'minimum_supported_calling_convention_version',
    'register_namedtuple_serialization',
    'register_pytree_node_serialization',
    'symbolic_args_specs',
    'symbolic_shape',
]
