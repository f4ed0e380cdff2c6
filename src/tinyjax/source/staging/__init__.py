"""Control flow that depends on traced values, from the source of functions.

A function's program (``ir.program``) is run with tracers. ``graph`` finds the loops and the blocks
where paths meet. ``run`` runs blocks and stages the paths from a traced condition. ``loops`` turns
loops of Python into loops of the program, and ``exits`` chooses between staged pieces.
``opaque_calls`` defines calls of functions that are not read, on tracers; ``operators`` defines
operators and iteration.
"""

from tinyjax.source.staging.function import StagedFunction, stage

__all__ = ["StagedFunction", "stage"]
