"""``jit``: a function is staged once per signature, and compiled once per program.

``jit`` is a higher-order primitive whose parameter is a jaxpr (``program.py``), so every
transformation has a rule for it: the rule transforms the jaxpr and binds the primitive again.
Evaluating it compiles through XLA. ``signatures.py`` says what a call is remembered by,
``explaining.py`` how two calls differ, and ``stages.py`` shows programs before and after they are
compiled.
"""

from tinyjax.jit.function import JitFunction, install_staging, jit
from tinyjax.jit.program import JitParams, jit_p
from tinyjax.jit.stages import precompile

__all__ = ["JitFunction", "JitParams", "install_staging", "jit", "jit_p", "precompile"]
