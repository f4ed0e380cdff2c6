# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.jit.function import JitFunction as JitFunction
from tinyjax.jit.function import Shardings as Shardings
from tinyjax.jit.signatures import Parameters as Parameters

__all__ = [
    'JitFunction',
    'Parameters',
    'Shardings',
]
