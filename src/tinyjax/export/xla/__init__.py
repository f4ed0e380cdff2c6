"""Portable forms of modules, and programs from elsewhere, which are verified."""

from tinyjax.core.xla import checked_namespace

__all__, __getattr__, __dir__ = checked_namespace(
    __name__,
    {"portable": "from_portable to_artifact to_portable"},
)
