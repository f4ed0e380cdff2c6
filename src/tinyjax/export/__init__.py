"""Programs to take elsewhere: ``tinyjax.export``.

An exported program is one signature of a jitted function, in StableHLO's portable form. It has all
that a call needs: types, the structure of its arguments and result, the closed-over arrays, and, on
request, its derivative. A process that has nothing of the function's source can load it and call
it, also from within its own compiled functions.
"""

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "calling": "call_exported_p exported_tangent_p",
        "dims": "SymbolicScope is_symbolic_dim",
        "exported": "Exported deserialize export",
        "format": (
            "DisabledSafetyCheck maximum_supported_calling_convention_version=VERSION "
            "minimum_supported_calling_convention_version=VERSION "
            "register_namedtuple_serialization register_pytree_node_serialization"
        ),
        "families": "default_export_platform",
        "tinyjax._extensions.c.exporting": "CProgram c",
        "symbolic": "max_dim min_dim symbolic_args_specs symbolic_shape",
    },
)
