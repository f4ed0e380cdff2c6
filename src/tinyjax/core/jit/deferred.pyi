# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.core.jit.function import JitFunction as JitFunction
from tinyjax.core.jit.signatures import Parameters as Parameters

__all__ = [
    'JitFunction',
    'Parameters',
]
