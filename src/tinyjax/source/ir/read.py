"""From Python to static single assignment form.

One walk over the syntax tree of a function writes the blocks of its program (``statements``,
``expressions``, ``functions``); what its variables are is found on the way (``blocks``).
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeGuard

import attrs

from tinyjax import errors
from tinyjax.source.ir import functions, program as ir, statements
from tinyjax.source.ir.find import find_function


def is_function(fun: object) -> TypeGuard[FunctionType]:
    """Whether it is a function written in Python."""
    return isinstance(fun, FunctionType)


def ir_of(fun: Callable[..., Any]) -> ir.IR:
    """Bring a Python function into static single assignment form.

    Args:
        fun: a function, a lambda or a method, whose source can be read.

    Returns:
        Its program; ``print`` shows the listing. The first parameter is the function itself.

    Raises:
        SourceError: the function does what is not taken; the message names the construct, the line
            and what to write instead.
        ArgumentError: ``fun`` is no Python function.

    Example:
        >>> import math
        >>> from tinyjax import source
        >>> def wave(x):
        ...     if x > 1:
        ...         return math.sin(x)
        ...     return 2 * x
        >>> source.ir_of(wave)
        1: (%1, %2)
          %3 = %2 > 1
          br 3 unless %3
        2:
          %4 = (math.sin)(%2)
          return %4
        3:
          %5 = 2 * %2
          return %5
    """
    if isinstance(fun, MethodType):
        fun = fun.__func__
    if not is_function(fun):
        raise errors.ArgumentError(
            f"ir_of takes a Python function, but got {type(fun).__name__}. Functions written in C "
            "have no source."
        )
    kept = _programs.get(fun.__code__)
    if kept is None or stale(fun):
        builder = statements.Builder(fun, find_function(fun.__code__))
        # without the function: it may close over arrays, which are not to be kept
        program = attrs.evolve(builder.build(), function=None)
        kept = (program, tuple(builder.resolved.items()))
        _programs[fun.__code__] = kept
    return attrs.evolve(kept[0], function=fun)


#: Programs by code object, with the functions and modules that their globals were when read.
_programs: dict[CodeType, tuple[ir.IR, tuple[tuple[str, Any], ...]]] = {}


def stale(fun: FunctionType) -> bool:
    """Whether a global function or module is another than when the program was read."""
    known = fun.__globals__
    for name, value in _programs[fun.__code__][1]:
        if known.get(name, value) is not value or (
            name not in known and functions.lookup(fun, name) is not value
        ):
            return True
    return False
