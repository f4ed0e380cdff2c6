"""Control flow that depends on traced values, from the source of functions.

A function's program (``ir.program``) is run with tracers. ``graph`` finds where paths meet
and what the loops are, ``run`` runs blocks and stages the ways from a traced condition, ``loops``
makes loops of the program from loops of Python, ``exits`` chooses between what was staged,
``opaque_calls`` says what functions that are not read mean for tracers, and ``operators`` what
operators do, and what a loop goes over.
"""

from tinyjax.source.staging.function import StagedFunction, stage

__all__ = ["StagedFunction", "stage"]
