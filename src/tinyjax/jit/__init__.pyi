# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.jit.decorator import jit as jit
from tinyjax.jit.function import JitFunction as JitFunction
from tinyjax.jit.program import JitParams as JitParams
from tinyjax.jit.program import jit_p as jit_p
from tinyjax.jit.traces import clear_traces as clear_traces

__all__ = [
    'JitFunction',
    'JitParams',
    'clear_traces',
    'jit',
    'jit_p',
]
