"""Programs that call Python and other languages; its parts are loaded with the first of them."""

from tinyjax.core.xla import checked_namespace

__all__, __getattr__, __dir__ = checked_namespace(
    __name__,
    {"": "foreign_functions programs"},
)
