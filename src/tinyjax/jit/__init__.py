"""``jit``: a function is staged once per signature, and compiled once per program.

``jit`` is a higher-order primitive whose parameter is a jaxpr (``program.py``), so every
transformation has a rule for it: the rule transforms the jaxpr and binds the primitive again.
Evaluating it compiles through XLA. ``signatures.py`` has the key by which a call finds its program,
``traces.py`` keeps what was traced by function, ``explaining.py`` says how two calls differ, and
``stages.py`` shows programs before and after compilation.
"""

from tinyjax.jit.function import JitFunction, install_staging, jit
from tinyjax.jit.program import JitParams, jit_p
from tinyjax.jit.traces import clear_traces

__all__ = [
    "JitFunction",
    "JitParams",
    "clear_traces",
    "install_staging",
    "jit",
    "jit_p",
]
