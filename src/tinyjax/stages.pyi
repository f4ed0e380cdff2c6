# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.jit.collectives import Collective as Collective
from tinyjax.jit.collectives import Communication as Communication
from tinyjax.jit.options import CompilerOptions as CompilerOptions
from tinyjax.jit.stages import ArgInfo as ArgInfo
from tinyjax.jit.stages import Compiled as Compiled
from tinyjax.jit.stages import Lowered as Lowered
from tinyjax.jit.stages import Traced as Traced
from tinyjax.jit.stages import Wrapped as Wrapped

__all__ = [
    'ArgInfo',
    'Collective',
    'Communication',
    'Compiled',
    'CompilerOptions',
    'Lowered',
    'Traced',
    'Wrapped',
]
