"""One compiler for NumPy: jaxprs as plans of steps, and as Python functions.

XLA gets the StableHLO of a jaxpr; NumPy gets a plan or a Python function of it. Both use rules of
the primitives. For NumPy this is the one ``host`` rule, which returns the function that computes
operands of given types.
"""

from __future__ import annotations

from typing import Final

from tinyjax.core.tracing.trace import EVAL, current_trace
from tinyjax.core.values import Array, ConcreteArray
from tinyjax.dtypes import HostArray

#: Larger arrays, in bytes, are not replayed: operations free each result as soon as they can, and
#: take longer than Python does. The system maps the memory of larger ones anew each time, too.
LARGEST: Final = 1 << 17


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
