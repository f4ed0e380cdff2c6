"""``jit``: a function is staged once per signature, and compiled once per program.

``jit`` is a higher-order primitive whose parameter is a jaxpr (``program.py``), so every
transformation has a rule for it: the rule transforms the jaxpr and binds the primitive again.
Evaluating it compiles through XLA.

``decorator.py`` has ``jit`` itself. The rest is loaded with the first function that is jitted:
``function.py`` makes a jitted function of it, ``signatures.py`` has the key by which a call finds
its program, ``traces.py`` keeps what was traced by function, ``explaining.py`` says how two calls
differ, and ``stages.py`` shows programs before and after compilation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tinyjax.jit.decorator import companions, install_staging, jit
from tinyjax.lazy import loader

if TYPE_CHECKING:
    from tinyjax.jit.function import JitFunction
    from tinyjax.jit.program import JitParams, jit_p
    from tinyjax.jit.traces import clear_traces

__all__ = [
    "JitFunction",
    "JitParams",
    "clear_traces",
    "companions",
    "install_staging",
    "jit",
    "jit_p",
]

_LATER: Final = {
    "function": "JitFunction",
    "program": "JitParams jit_p",
    "traces": "clear_traces",
}

if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, _LATER)
