"""One compiler for NumPy: jaxprs as plans of steps, and as Python functions.

XLA gets the StableHLO of a jaxpr; NumPy gets a plan or a Python function of it. Both use rules of
the primitives. For NumPy this is the one ``host`` rule, which returns the function that computes
operands of given types.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from tinyjax.core.tracing.trace import EVAL, current_trace
from tinyjax.core.values import Array, ConcreteArray
from tinyjax.dtypes import HostArray

#: The Python function of a program: takes the data of arrays, and returns arrays in any containers.
Program: TypeAlias = Callable[..., Any]
#: Larger arrays, in bytes, are not replayed: operations free each result as soon as they can, and
#: take longer than Python does. The system maps the memory of larger ones anew each time, too.
LARGEST: Final = 1 << 17
#: Whether the error of a program is raised that fails where what it was made of does not: the
#: tests' setting, since a call that falls back on that is right, and slow.
_IS_STRICT: Final = bool(os.environ.get("TINYJAX_STRICT"))


class NotHereError(Exception):
    """The operands are not those that a program, or a function given to ``by_host``, supports."""


def fall_back(error: Exception) -> None:
    """Ignore the error of a program, whose original call has returned a result.

    Args:
        error: the error of the program, or of making it.
    """
    if _IS_STRICT and not isinstance(error, NotHereError):
        raise error


def data_at_hand(x: Array) -> HostArray | None:
    """Return the data of an array if NumPy evaluates; it must be neither written to nor passed on.

    Returns:
        The data; None under a transformation or a debugger, and if the array is not in the host's
        memory.
    """
    if type(x) is not ConcreteArray or current_trace() is not EVAL:
        return None
    host = x._host
    return x.host if host is None else host
