"""Callbacks: Python functions called with the data of a program, eagerly and from compiled code.

A callback sees NumPy arrays that it must not write to, and runs outside every transformation. Three
primitives differ in the guarantees for a call. ``pure_callback`` may be dropped or repeated;
``io_callback`` and ``debug_callback`` may not. A debug callback has no results, so derivatives
ignore it.

Under ``vmap`` the parameters name the leading axes of the operands over which a call runs
(``LeadingAxis``), and the call itself handles them on the host. So no loop is compiled, and every
transformation of a batched callback is the one of the plain callback.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "checks": "error_if error_if_p",
        "effects": "debug_callback debug_callback_p io_callback io_callback_p",
        "pure": "pure_callback pure_callback_p",
    },
)
