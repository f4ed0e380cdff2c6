# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.core.jit.function import JitFunction as JitFunction
from tinyjax.core.jit.signatures import Parameters as Parameters
from tinyjax.core.jit.signatures import Shardings as Shardings

__all__ = [
    'JitFunction',
    'Parameters',
    'Shardings',
]
