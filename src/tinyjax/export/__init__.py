"""Programs to take elsewhere: ``tinyjax.export``.

An exported program is one signature of a jitted function, in StableHLO's portable form, with all
that is needed to call it: types, the structure of its arguments and result, the arrays that it
closes over, and, if asked for, its derivative. A process that has nothing of the function's source
can load it and call it, also from within its own compiled functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tinyjax.export.exported import (
    DisabledSafetyCheck,
    Exported,
    call_exported_p,
    default_export_platform,
    deserialize,
    export,
    exported_tangent_p,
    is_symbolic_dim,
)
from tinyjax.export.format import VERSION
from tinyjax.export.trees import (
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)
from tinyjax.lazy import unknown

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "call_exported_p",
    "default_export_platform",
    "deserialize",
    "export",
    "exported_tangent_p",
    "is_symbolic_dim",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
]

#: The versions of the format that can be read and written: tinyjax's own.
maximum_supported_calling_convention_version: Final = VERSION
minimum_supported_calling_convention_version: Final = VERSION

#: What JAX has here and tinyjax has not: why.
_WHY: Final = dict.fromkeys(
    ("SymbolicScope", "symbolic_args_specs", "symbolic_shape"),
    " Programs are for one shape, which XLA compiles: export the function for each shape, in "
    "one file each, or pad the arguments.",
)

if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake

    def __getattr__(name: str) -> Any:
        """Say why a name of JAX's is not there."""
        raise unknown(__name__, name, _WHY.get(name, ""))
