"""Portable forms of modules, and programs from elsewhere, which are verified."""

from tinyjax.core.xla import versions as versions  # it checks that it knows this jaxlib
from tinyjax.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {"portable": "from_portable to_artifact to_portable"},
)
