# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.api.pullbacks import DidntWant as DidntWant
from tinyjax.api.pullbacks import DontWant as DontWant
from tinyjax.api.pullbacks import GradRef as GradRef
from tinyjax.api.pullbacks import GradValue as GradValue

__all__ = [
    'DidntWant',
    'DontWant',
    'GradRef',
    'GradValue',
]
