# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.export.xla.portable import from_portable as from_portable
from tinyjax.export.xla.portable import to_artifact as to_artifact
from tinyjax.export.xla.portable import to_portable as to_portable

__all__ = [
    'from_portable',
    'to_artifact',
    'to_portable',
]
