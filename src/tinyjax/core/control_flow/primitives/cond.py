"""The primitive ``cond`` and its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from tinyjax.core import varying
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.tracing.primitive import FITS, Params, Primitive
from tinyjax.core.values import avals as av

if TYPE_CHECKING:
    pass


@attrs.frozen(eq=False, repr=False)
class CondParams(Params):
    """The programs to choose from; all of one type."""

    branches: tuple[jx.Jaxpr, ...]


cond_p: Primitive[CondParams] = Primitive(
    "cond", CondParams, rules_in="tinyjax.core.control_flow.cond"
)


@cond_p.def_rule(FITS)
def _fit_cond(
    params: CondParams, across: Sequence[av.Axes]
) -> tuple[Sequence[av.Axes], CondParams]:
    from tinyjax.core.transforms.varying import refit  # noqa: PLC0415 (for several devices)

    index, *rest = across
    # What varies as the index does before the choice need not be added up, in reverse mode, behind
    # it: not all devices come there.
    operands = tuple([axes | index for axes in rest])
    for branch in params.branches:
        operands = varying.joined(operands, varying.axes_of(branch.in_avals))
    branches = [refit(branch, operands) for branch in params.branches]
    outs = tuple([index] * len(branches[0].outs))
    for branch in branches:
        varying.check_reached(branch, index, "a branch of cond")
        outs = varying.joined(outs, varying.axes_of(branch.out_avals))
    changed = CondParams(tuple([refit(branch, operands, outs) for branch in branches]))
    return (index, *operands), changed
