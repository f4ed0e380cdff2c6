"""The primitive ``cond`` and its parameters."""

from __future__ import annotations

import attrs

from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.tracing.primitive import Params, Primitive


@attrs.frozen(eq=False, repr=False)
class CondParams(Params):
    """The programs to choose from; all of one type."""

    branches: tuple[jx.Jaxpr, ...]


cond_p: Primitive[CondParams] = Primitive(
    "cond", CondParams, rules_in="tinyjax.core.control_flow.cond"
)
