"""The primitives of control flow and their parameters, and how they are bound.

Their rules are in ``cond``, ``scan`` and ``while_loop``. What the rules are made of binds the
primitives in its turn, and so they are declared below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import attrs

from tinyjax.control_flow.common import fixed_point, stabilise
from tinyjax.core.array import Array
from tinyjax.core.avals import Axes
from tinyjax.core.jaxpr import Jaxpr
from tinyjax.core.lists import split_list
from tinyjax.core.primitive import FITS, Params, Primitive
from tinyjax.core.staging import Staged, stage
from tinyjax.core.trace import bind
from tinyjax.core.varying import axes_of, check_reached, joined
from tinyjax.transforms.jvp import jvp_jaxpr

if TYPE_CHECKING:
    from tinyjax.display.progress import Progress

# cond


@attrs.frozen(eq=False, repr=False)
class CondParams(Params):
    """The programs to choose from; all of one type."""

    branches: tuple[Jaxpr, ...]


cond_p: Primitive[CondParams] = Primitive("cond", CondParams, rules_in="tinyjax.control_flow.cond")


@cond_p.def_rule(FITS)
def _fit_cond(params: CondParams, given: Sequence[Axes]) -> tuple[Sequence[Axes], CondParams]:
    from tinyjax.transforms.varying import refit  # noqa: PLC0415 (for several devices)

    index, *wanted = given
    # What varies as the index does before the choice need not be added up, in reverse mode, behind
    # it: not all devices come there.
    operands = tuple([axes | index for axes in wanted])
    for branch in params.branches:
        operands = joined(operands, axes_of(branch.in_avals))
    branches = [refit(branch, operands) for branch in params.branches]
    outs = tuple([index] * len(branches[0].outs))
    for branch in branches:
        check_reached(branch, index, "a branch of cond")
        outs = joined(outs, axes_of(branch.out_avals))
    changed = CondParams(tuple([refit(branch, operands, outs) for branch in branches]))
    return (index, *operands), changed


# scan


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
        progress: what the loop's bar says; None where it has none.
    """

    jaxpr: Jaxpr
    num_consts: int
    num_carry: int
    length: int
    reverse: bool = False
    unroll: int = 1
    checkpoints: int | None = None
    progress: Progress | None = None


scan_p: Primitive[ScanParams] = Primitive("scan", ScanParams, rules_in="tinyjax.control_flow.scan")


@scan_p.def_rule(FITS)
def _fit_scan(params: ScanParams, given: Sequence[Axes]) -> tuple[Sequence[Axes], ScanParams]:
    from tinyjax.transforms.varying import fitted, refit  # noqa: PLC0415 (for several devices)

    n, m = params.num_consts, params.num_consts + params.num_carry
    wanted, body = fitted(params.jaxpr, given)
    while True:
        carry = wanted[n:m]
        after = joined(carry, axes_of(body.out_avals)[: m - n])
        if after == carry:
            break
        wanted = (*wanted[:n], *after, *wanted[m:])
        body = refit(body, wanted)
    return wanted, attrs.evolve(params, jaxpr=refit(body, wanted, carry))


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
        wanted = (*carry, *(False,) * num_ys)
        return jvp_jaxpr(jaxpr, (*nz_consts, *carry, *nz_xs), wanted)

    nz_carry = fixed_point(nz_init, lambda carry: of_body(carry)[1][:m])
    staged, nz_out = of_body(nz_carry)
    return nz_carry, nz_out, staged


# while


@attrs.frozen(eq=False, repr=False)
class WhileParams(Params):
    """A loop.

    Attributes:
        condition: takes its constants and the state; returns a bool scalar.
        body: takes its constants and the state; returns the new state.
        num_condition: how many constants the condition has; they come first.
        num_body: how many the body has; they come next, and then the state.
        checkpoints: how many states reverse mode keeps.
        progress: what the loop's bar says; None where it has none.
    """

    condition: Jaxpr
    body: Jaxpr
    num_condition: int
    num_body: int
    checkpoints: int
    progress: Progress | None = None


while_p: Primitive[WhileParams] = Primitive(
    "while", WhileParams, rules_in="tinyjax.control_flow.while_loop"
)


@while_p.def_rule(FITS)
def _fit_while(params: WhileParams, given: Sequence[Axes]) -> tuple[Sequence[Axes], WhileParams]:
    from tinyjax.transforms.varying import fitted, refit  # noqa: PLC0415 (for several devices)

    n, m = params.num_condition, params.num_body
    fixed, other, state = split_list(given, n, m)
    condition, body = params.condition, params.body
    wanted = joined(axes_of(body.in_avals), [*other, *state])
    while True:
        of_condition, condition = fitted(condition, [*fixed, *wanted[m:]])
        (goes_on,) = axes_of(condition.out_avals)
        body = refit(body, wanted)
        # as for the operands of cond
        after = tuple([axes | goes_on for axes in wanted])
        after = (*after[:m], *joined(joined(after[m:], of_condition[n:]), axes_of(body.out_avals)))
        if after == wanted:
            break
        wanted = after
    for program in (condition, body):
        check_reached(program, goes_on, "a while_loop")
    body = refit(body, wanted, wanted[m:])
    changed = attrs.evolve(params, condition=condition, body=body)
    return (*of_condition[:n], *wanted), changed


def bind_while(
    condition: Jaxpr,
    fixed: Sequence[Array],
    body: Jaxpr,
    other: Sequence[Array],
    state: Sequence[Array],
    checkpoints: int,
    progress: Progress | None = None,
) -> Sequence[Array]:
    """Bind a loop whose body may change the weakness of its state."""
    body = stabilise(body, len(other), len(state))
    params = WhileParams(condition, body, len(fixed), len(other), checkpoints, progress)
    return bind(while_p, (*fixed, *other, *state), params)


def while_body_jvp(
    params: WhileParams, nonzero: Sequence[bool]
) -> tuple[list[bool], tuple[bool, ...], Staged]:
    """The body's jvp: which of its constants have tangents, which of the state, and the program."""
    _, nz_other, nz_init = split_list(nonzero, params.num_condition, params.num_body)

    def of_body(state: tuple[bool, ...]) -> tuple[Staged, tuple[bool, ...]]:
        return jvp_jaxpr(params.body, (*nz_other, *state), state)

    nz_state = fixed_point(nz_init, lambda state: of_body(state)[1])
    return nz_other, nz_state, of_body(nz_state)[0]


def run_while(
    goes_on: Callable[..., Array],
    iteration: Callable[..., Sequence[Array]],
    state: Sequence[Array],
    checkpoints: int,
    progress: Progress | None = None,
) -> Sequence[Array]:
    """Bind a loop of functions, which may close over tracers."""
    avals = [x.aval for x in state]
    condition = stage(lambda *args: [goes_on(*args)], avals)
    body = stage(iteration, avals)
    return bind_while(
        condition.jaxpr, condition.consts, body.jaxpr, body.consts, state, checkpoints, progress
    )
