# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.callbacks.xla import foreign_functions as foreign_functions
from tinyjax.callbacks.xla import programs as programs

__all__ = [
    'foreign_functions',
    'programs',
]
