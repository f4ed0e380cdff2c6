"""Programs to take elsewhere: ``tinyjax.export``.

An exported program is one signature of a jitted function, in StableHLO's portable form, with all
that is needed to call it: types, the structure of its arguments and result, the arrays that it
closes over, and, if asked for, its derivative. A process that has nothing of the function's source
can load it and call it, also from within its own compiled functions.
"""

from __future__ import annotations

from typing import Final

from tinyjax.export.calling import call_exported_p, exported_tangent_p
from tinyjax.export.dims import SymbolicScope, is_symbolic_dim
from tinyjax.export.exported import DisabledSafetyCheck, Exported, deserialize
from tinyjax.export.exporting import export
from tinyjax.export.format import VERSION
from tinyjax.export.platforms import default_export_platform
from tinyjax.export.symbolic import max_dim, min_dim, symbolic_args_specs, symbolic_shape
from tinyjax.export.trees import (
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)
from tinyjax.lazy import answer_for

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "SymbolicScope",
    "call_exported_p",
    "default_export_platform",
    "deserialize",
    "export",
    "exported_tangent_p",
    "is_symbolic_dim",
    "max_dim",
    "maximum_supported_calling_convention_version",
    "min_dim",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "symbolic_args_specs",
    "symbolic_shape",
]
answer_for(__name__)

#: The versions of the format that can be read and written: tinyjax's own.
maximum_supported_calling_convention_version: Final = VERSION
minimum_supported_calling_convention_version: Final = VERSION
