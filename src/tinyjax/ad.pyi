# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.core.api.pullbacks import DidntWant as DidntWant
from tinyjax.core.api.pullbacks import DontWant as DontWant
from tinyjax.core.api.pullbacks import GradRef as GradRef
from tinyjax.core.api.pullbacks import GradValue as GradValue

__all__ = [
    'DidntWant',
    'DontWant',
    'GradRef',
    'GradValue',
]
