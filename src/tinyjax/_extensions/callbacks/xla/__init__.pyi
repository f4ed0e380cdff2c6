# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.callbacks.xla import foreign_functions as foreign_functions
from tinyjax._extensions.callbacks.xla import programs as programs

__all__ = [
    'foreign_functions',
    'programs',
]
