"""Programs to take elsewhere: ``tinyjax.export``.

An exported program is one signature of a jitted function, in StableHLO's portable form, with all
that is needed to call it: types, the structure of its arguments and result, the arrays that it
closes over, and, if asked for, its derivative. A process that has nothing of the function's source
can load it and call it, also from within its own compiled functions.
"""

from tinyjax.export.exported import (
    Exported,
    call_exported_p,
    default_export_platform,
    deserialize,
    export,
    exported_tangent_p,
    is_symbolic_dim,
)
from tinyjax.export.trees import (
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)

__all__ = [
    "Exported",
    "call_exported_p",
    "default_export_platform",
    "deserialize",
    "export",
    "exported_tangent_p",
    "is_symbolic_dim",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
]
