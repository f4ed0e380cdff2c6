"""``jit``: a function is staged once per signature, and compiled once per program.

``jit`` is a higher-order primitive whose parameter is a jaxpr (``program.py``), so every
transformation has a rule for it: the rule transforms the jaxpr and binds the primitive again.
Evaluating it compiles through XLA.

``decorator.py`` has ``jit`` itself. The rest is loaded with the first jitted function.
``function.py`` makes the jitted function. ``signatures.py`` has the key by which a call finds its
program, and the cache of programs by function. ``stages.py`` explains what a call would do, and
shows programs before and after compilation.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "decorator": "jit",
        "function": "JitFunction",
        "program": "JitParams jit_p",
        "signatures": "Parameters clear_traces",
        "stages": "Explanation Lowered Traced differences",
    },
)
