"""Groups of processes by XLA's means."""

from tinyjax.core.xla import checked_namespace

__all__, __getattr__, __dir__ = checked_namespace(
    __name__,
    {"": "connecting"},
)
