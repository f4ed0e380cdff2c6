# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.parallel.communication import Collective as Collective
from tinyjax._extensions.parallel.communication import Communication as Communication
from tinyjax.core.jit.stages import ArgInfo as ArgInfo
from tinyjax.core.jit.stages import Compiled as Compiled
from tinyjax.core.jit.stages import Lowered as Lowered
from tinyjax.core.jit.stages import Traced as Traced
from tinyjax.core.jit.stages import Wrapped as Wrapped
from tinyjax.core.xla.compilation import CompilerOptions as CompilerOptions

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
