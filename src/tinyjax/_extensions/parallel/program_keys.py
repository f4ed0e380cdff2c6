"""Rules of primitives whose programs are for several devices, for those who run such programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.core.values import Array

#: The rule of a primitive whose programs are recorded for a mesh: of the parameters by name, the
#: block in which they are.
RECORDED_IN: Final[prim.RuleKey[Callable[[Mapping[str, Any]], AbstractContextManager[None]]]] = (
    prim.RuleKey("recorded_in")
)

#: The rule of a primitive that each device runs a program of: of the parameters, the operands, a
#: program that returns a code and some values after so many results, and that number. It gives
#: these results, and the code and the values of the first device whose code is not 0.
FIRST_CODE: Final[
    prim.RuleKey[Callable[[Any, Sequence[Array], jx.Jaxpr, int], Sequence[Array]]]
] = prim.RuleKey("first_code")
