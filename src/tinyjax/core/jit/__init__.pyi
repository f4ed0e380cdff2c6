# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.core.jit.decorator import jit as jit
from tinyjax.core.jit.function import JitFunction as JitFunction
from tinyjax.core.jit.program import JitParams as JitParams
from tinyjax.core.jit.program import jit_p as jit_p
from tinyjax.core.jit.signatures import Parameters as Parameters
from tinyjax.core.jit.signatures import clear_traces as clear_traces
from tinyjax.core.jit.stages import Explanation as Explanation
from tinyjax.core.jit.stages import Lowered as Lowered
from tinyjax.core.jit.stages import Traced as Traced
from tinyjax.core.jit.stages import differences as differences

__all__ = [
    'Explanation',
    'JitFunction',
    'JitParams',
    'Lowered',
    'Parameters',
    'Traced',
    'clear_traces',
    'differences',
    'jit',
    'jit_p',
]
