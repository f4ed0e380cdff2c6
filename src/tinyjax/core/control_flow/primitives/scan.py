"""The primitive ``scan``, its parameters, and how it is bound."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tinyjax.core.control_flow.common import fixed_point, stabilise
from tinyjax.core.control_flow.observing import Observer
from tinyjax.core.tracing.jaxpr import Jaxpr
from tinyjax.core.tracing.list_partition import split_list
from tinyjax.core.tracing.primitive import Params, Primitive
from tinyjax.core.tracing.staging import Staged
from tinyjax.core.tracing.trace import bind
from tinyjax.core.transforms.jvp import jvp_jaxpr
from tinyjax.core.values.array import Array


@attrs.frozen(eq=False, repr=False)
class ScanParams(Params):
    """A loop.

    Attributes:
        jaxpr: takes the constants, the carry and one slice of each input; returns the new carry and
            one slice of each output.
        num_consts: how many operands are the same in every iteration.
        num_carry: how many are carried from iteration to iteration.
        length: the number of iterations.
        reverse: whether the iterations go from the last slice to the first.
        unroll: how many iterations the compiled loop does at a time.
        checkpoints: how many carries reverse mode keeps; None for the residuals of every iteration.
        observer: who looks on while it runs.
    """

    jaxpr: Jaxpr
    num_consts: int
    num_carry: int
    length: int
    reverse: bool = False
    unroll: int = 1
    checkpoints: int | None = None
    observer: Observer | None = None


scan_p: Primitive[ScanParams] = Primitive(
    "scan", ScanParams, rules_in="tinyjax.core.control_flow.scan"
)


def bind_scan(
    jaxpr: Jaxpr,
    consts: Sequence[Array],
    carry: Sequence[Array],
    xs: Sequence[Array],
    params: ScanParams,
) -> Sequence[Array]:
    """Bind a loop like another with this body, which may change the weakness of the carry."""
    jaxpr = stabilise(jaxpr, len(consts), len(carry))
    changed = attrs.evolve(params, jaxpr=jaxpr, num_consts=len(consts), num_carry=len(carry))
    return bind(scan_p, (*consts, *carry, *xs), changed)


def scan_body_jvp(
    params: ScanParams, nonzero: Sequence[bool]
) -> tuple[tuple[bool, ...], tuple[bool, ...], Staged]:
    """The body's jvp: which of the carry and which results have tangents, and the program."""
    jaxpr, k, m = params.jaxpr, params.num_consts, params.num_carry
    nz_consts, nz_init, nz_xs = split_list(nonzero, k, m)
    num_ys = len(jaxpr.outs) - m

    def of_body(carry: tuple[bool, ...]) -> tuple[Staged, tuple[bool, ...]]:
        required = (*carry, *(False,) * num_ys)
        return jvp_jaxpr(jaxpr, (*nz_consts, *carry, *nz_xs), required)

    nz_carry = fixed_point(nz_init, lambda carry: of_body(carry)[1][:m])
    staged, nz_out = of_body(nz_carry)
    return nz_carry, nz_out, staged
