"""The debugger of the setting ``debug_nans``: the origin of a NaN by line, iteration and example.

It is loaded when the setting is first switched on (``lazy.HOOKS``), and attached to the core's
hooks.

Attributes:
    base: the trace that evaluates.
    check_read: looks at an array that the user reads.
    watch: calls a transformed function, and looks at what it returns.
    run_program: runs a compiled program without effects.
"""

from typing import Final

from tinyjax._extensions.nans import trace
from tinyjax._extensions.nans.reports import check_read
from tinyjax._extensions.nans.trace import run_program, watch

__all__ = ["base", "check_read", "run_program", "watch"]

base: Final = trace.NANS
