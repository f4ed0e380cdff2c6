"""The primitive ``while``, its parameters, and how it is bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from tinyjax.core.control_flow.common import fixed_point, stabilise
from tinyjax.core.control_flow.observing import Observer
from tinyjax.core.tracing.jaxpr import Jaxpr
from tinyjax.core.tracing.list_partition import split_list
from tinyjax.core.tracing.primitive import Params, Primitive
from tinyjax.core.tracing.staging import Staged, stage
from tinyjax.core.tracing.trace import bind
from tinyjax.core.transforms.jvp import jvp_jaxpr
from tinyjax.core.values.array import Array


@attrs.frozen(eq=False, repr=False)
class WhileParams(Params):
    """A loop.

    Attributes:
        condition: takes its constants and the state; returns a bool scalar.
        body: takes its constants and the state; returns the new state.
        num_condition: how many constants the condition has; they come first.
        num_body: how many the body has; they come next, and then the state.
        checkpoints: how many states reverse mode keeps.
        observer: who looks on while it runs.
    """

    condition: Jaxpr
    body: Jaxpr
    num_condition: int
    num_body: int
    checkpoints: int
    observer: Observer | None = None


while_p: Primitive[WhileParams] = Primitive(
    "while", WhileParams, rules_in="tinyjax.core.control_flow.while_loop"
)


def bind_while(
    condition: Jaxpr,
    fixed: Sequence[Array],
    body: Jaxpr,
    other: Sequence[Array],
    state: Sequence[Array],
    checkpoints: int,
    observer: Observer | None = None,
) -> Sequence[Array]:
    """Bind a loop whose body may change the weakness of its state."""
    body = stabilise(body, len(other), len(state))
    params = WhileParams(condition, body, len(fixed), len(other), checkpoints, observer)
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
    observer: Observer | None = None,
) -> Sequence[Array]:
    """Bind a loop of functions, which may close over tracers."""
    avals = [x.aval for x in state]
    condition = stage(lambda *args: [goes_on(*args)], avals)
    body = stage(iteration, avals)
    return bind_while(
        condition.jaxpr, condition.consts, body.jaxpr, body.consts, state, checkpoints, observer
    )
