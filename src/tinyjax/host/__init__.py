"""One compiler for NumPy: jaxprs as plans of steps, and as Python functions.

XLA is given the StableHLO of a jaxpr, NumPy a plan or a Python function of it. Both are made of
rules of the primitives: for NumPy of the one ``host`` rule, which says what computes operands of
given types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

#: What a program is written as: takes the data of arrays, and returns arrays in any containers.
Program: TypeAlias = Callable[..., Any]
#: Larger arrays, in bytes, are not replayed: operations free each result as soon as they can.
LARGEST: Final = 1 << 16
