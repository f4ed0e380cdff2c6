"""Reverse mode through ``while_loop``, in memory that does not grow with the number of turns.

The loop is run once, and a fixed number of its states are kept. Which ones is decided on the way,
since nobody knows how many turns there will be. The way back starts every turn from the nearest
state kept before it, runs the body from there, and keeps further states in the places that have
become free.

Each state kept has a level. The first has an infinite one and stays. A new one goes to a free
place, or replaces the latest that is dispensable, that is, followed by one of a higher level; its
level is zero then. Where none is dispensable it replaces the latest, at the next higher level.
(Wang, Moin and Iaccarino, "Minimal repetition dynamic checkpointing algorithm for unsteady adjoint
calculation", SIAM Journal on Scientific Computing 31(4), 2009; Stumm and Walther, "New algorithms
for optimal online checkpointing", 32(2), 2010, compare such algorithms with the optimum.)
"""

from collections.abc import Callable, Sequence
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.control_flow.common import (
    close_over,
    convert_all,
    evaluate_compiled,
    same,
    split,
)
from tinyjax.control_flow.while_loop import WhileParams, bind_while, body_jvp, while_p
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Jaxpr, Var, eval_jaxpr
from tinyjax.core.primitive import ZERO, MappedAxis, Primitive, Tangent
from tinyjax.core.stablehlo import Lowering
from tinyjax.core.staging import Staged, stage
from tinyjax.core.trace import bind
from tinyjax.errors import ArgumentError
from tinyjax.primitives.dynamic_slice import dynamic_index_in_dim, dynamic_update_index_in_dim
from tinyjax.primitives.elementwise import (
    add,
    and_,
    convert_element_type,
    eq,
    gt,
    lt,
    select,
    sub,
)
from tinyjax.primitives.families import add_arrays
from tinyjax.primitives.reduce import argmax, reduce_max, reduce_or
from tinyjax.primitives.shape import broadcast_in_dim, full, full_like, move_batch_axis, zeros_like
from tinyjax.transforms.batching import batch_jaxpr
from tinyjax.transforms.jvp import jvp_jaxpr
from tinyjax.transforms.linearize import linearize_flat
from tinyjax.transforms.transpose import not_linear

_INT: Final = dtypes.int32
#: The level of the first state, above all others.
_INFINITE: Final = np.iinfo(np.int32).max


# The states that are kept: positions (-1 where a place is free), levels, and an array per leaf


def _empty(state: Sequence[Array], size: int) -> list[Array]:
    # Filled with the first state, for want of a value that every type has.
    slots = [
        broadcast_in_dim(_strong(x), (size, *x.shape), tuple(range(1, x.ndim + 1))) for x in state
    ]
    return [full((size,), -1, _INT), full((size,), 0, _INT), *slots]


def _store(kept: Sequence[Array], position: Array, state: Sequence[Array]) -> list[Array]:
    """Keep the state at a position; where it is kept already, nothing changes."""
    positions, levels, *slots = kept
    size = positions.shape[0]
    everywhere = broadcast_in_dim(position, (size,), ())
    rows, columns = ((size, size), (0,)), ((size, size), (1,))
    later = gt(broadcast_in_dim(positions, *columns), broadcast_in_dim(positions, *rows))
    higher = gt(broadcast_in_dim(levels, *columns), broadcast_in_dim(levels, *rows))
    dispensable = reduce_or(and_(later, higher), (1,))

    # The latest of the places with the best claim: 3 for the place where the state is already, 2
    # for a free one, 1 for a dispensable one.
    claim = select(dispensable, full_like(levels, 1), full_like(levels, 0))
    claim = select(lt(positions, full_like(positions, 0)), full_like(levels, 2), claim)
    claim = select(eq(positions, everywhere), full_like(levels, 3), claim)
    best = reduce_max(claim, (0,))
    candidates = eq(claim, broadcast_in_dim(best, (size,), ()))
    slot = argmax(select(candidates, positions, full_like(positions, -2)), 0, _INT)

    old = _load(levels, slot)
    level = select(eq(best, full_like(best, 0)), add(old, full_like(old, 1)), full_like(old, 0))
    level = select(eq(best, full_like(best, 3)), old, level)
    level = select(eq(position, full_like(position, 0)), full_like(old, _INFINITE), level)
    return [
        dynamic_update_index_in_dim(x, _strong(value), slot, 0, allow_negative_indices=False)
        for x, value in zip((positions, levels, *slots), (position, level, *state), strict=True)
    ]


def _load(slots: Array, slot: Array) -> Array:
    return dynamic_index_in_dim(slots, slot, 0, keepdims=False, allow_negative_indices=False)


def _strong(x: Array) -> Array:
    return convert_element_type(x, x.dtype)


# The tangent of a loop


@attrs.frozen
class WhileTangentParams:
    """A linear map that is given together with its transpose.

    Attributes:
        forward: takes the residuals and the tangents; returns the tangents of the results.
        backward: takes the residuals and the cotangents of the results; returns those of the
            tangents.
        num_residuals: how many residuals there are.
    """

    forward: Jaxpr
    backward: Jaxpr
    num_residuals: int


while_tangent_p: Primitive[WhileTangentParams] = Primitive("while_tangent", WhileTangentParams)


@while_tangent_p.def_evaluate
def _tangent_evaluate(args: Sequence[Array], params: WhileTangentParams) -> Sequence[Array]:
    return evaluate_compiled(while_tangent_p, args, params)


@while_tangent_p.def_abstract_eval
def _tangent_type(
    avals: Sequence[ShapedArray], params: WhileTangentParams
) -> Sequence[ShapedArray]:
    if not same(avals, params.forward.in_avals):
        raise ArgumentError(
            f"the tangent of a loop, of type {params.forward.type}, was applied to "
            f"({', '.join(map(str, avals))})."
        )
    return params.forward.out_avals


@while_tangent_p.def_lowering
def _tangent_lowering(
    lowering: Lowering, operands: Sequence[str], params: WhileTangentParams
) -> Sequence[str]:
    return lowering.lower(params.forward, list(operands))


def _along(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: WhileTangentParams
) -> Sequence[Array]:
    """Apply the map to tangents of its linear operands alone: it is its own derivative."""
    n = params.num_residuals
    given = [
        zeros_like(x) if t is ZERO else t for x, t in zip(primals[n:], tangents[n:], strict=True)
    ]
    return bind(while_tangent_p, (*primals[:n], *given), params)


@while_tangent_p.def_jvp
def _tangent_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: WhileTangentParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    nonzero = tuple([t is not ZERO for t in tangents])
    if not any(nonzero[: params.num_residuals]):
        return bind(while_tangent_p, primals, params), _along(primals, tangents, params)
    staged, nonzero_out = jvp_jaxpr(params.forward, nonzero)
    present = [t for t in tangents if t is not ZERO]
    outs = eval_jaxpr(staged.jaxpr, [*staged.consts, *primals, *present])
    rest = iter(outs[len(nonzero_out) :])
    return outs[: len(nonzero_out)], [next(rest) if has else ZERO for has in nonzero_out]


@while_tangent_p.def_linearize
def _tangent_linearize(
    primals: Sequence[Array], nonzero: Sequence[bool], params: WhileTangentParams
) -> tuple[Sequence[Array], Sequence[bool], Callable[[Sequence[Array]], Sequence[Array]]]:
    if not any(nonzero[: params.num_residuals]):
        outs = bind(while_tangent_p, primals, params)

        def same_map(tangents: Sequence[Array]) -> Sequence[Array]:
            rest = iter(tangents)
            return _along(primals, [next(rest) if has else ZERO for has in nonzero], params)

        return outs, [True] * len(outs), same_map
    linearized = linearize_flat(lambda *xs: eval_jaxpr(params.forward, xs), primals, nonzero)

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        return eval_jaxpr(linearized.jaxpr, [*linearized.residuals, *tangents])

    return linearized.primals_out, linearized.nonzero_out, tangent_map


@while_tangent_p.def_transpose
def _tangent_transpose(
    cotangents: Sequence[Tangent],
    operands: Sequence[Array | Var],
    params: WhileTangentParams,
) -> Sequence[Tangent | None]:
    n = params.num_residuals
    residuals: list[Array] = []
    for x in operands[:n]:
        if isinstance(x, Var):
            raise not_linear(while_tangent_p.name, "the state at which the loop is differentiated")
        residuals.append(x)
    given = [
        full(aval.shape, 0, aval.dtype) if ct is ZERO else ct
        for ct, aval in zip(cotangents, params.forward.out_avals, strict=True)
    ]
    turned = WhileTangentParams(params.backward, params.forward, n)
    found = bind(while_tangent_p, (*residuals, *given), turned)
    # What is known among the tangents (zeros) gets none.
    return [
        *[None] * n,
        *(ct if isinstance(x, Var) else None for ct, x in zip(found, operands[n:], strict=True)),
    ]


@while_tangent_p.def_batch
def _tangent_batch(
    mapped: MappedAxis,
    values: Sequence[Array],
    axes: Sequence[int | None],
    params: WhileTangentParams,
) -> tuple[Sequence[Array], Sequence[int | None]]:
    # All tangents and cotangents are batched, so that the two stay each other's transpose.
    n = params.num_residuals
    tangents = [
        move_batch_axis(x, axis, 0, mapped.size)
        for x, axis in zip(values[n:], axes[n:], strict=True)
    ]

    def batched(jaxpr: Jaxpr) -> Staged:
        given = (*axes[:n], *[0] * (len(jaxpr.in_binders) - n))
        wanted = (True,) * len(jaxpr.outs)
        return batch_jaxpr(jaxpr, mapped, given, wanted, move_batch_axis)[0]

    (forward, backward), consts = close_over([batched(params.forward), batched(params.backward)])
    outs = bind(
        while_tangent_p,
        (*consts, *values[:n], *tangents),
        WhileTangentParams(forward, backward, len(consts) + n),
    )
    return outs, [0] * len(outs)


# Reverse mode of while_loop


@attrs.frozen(eq=False)
class _Programs:
    """What becomes of a loop.

    Attributes:
        recording: takes the loop's operands; returns the last state, the number of turns, and the
            states kept.
        nonzero_out: which parts of the state have tangents.
        params: the tangent map. Its residuals are ``consts``, the body's constants, the first
            state, and the last two results of ``recording``.
        consts: arrays that the body's derivatives close over.
    """

    recording: Staged
    nonzero_out: tuple[bool, ...]
    params: WhileTangentParams
    consts: list[Array]


@while_p.def_linearize
def _while_linearize(
    primals: Sequence[Array], nonzero: Sequence[bool], params: WhileParams
) -> tuple[Sequence[Array], Sequence[bool], Callable[[Sequence[Array]], Sequence[Array]]]:
    nz_other, nz_state, _ = body_jvp(params, nonzero)
    if not any(nz_state):
        return bind(while_p, primals, params), nz_state, lambda _: ()
    nz_fixed, _, nz_init = split(nonzero, params.num_condition, params.num_body)
    programs = params.body.derive(
        ("reverse", params.condition, params.num_condition, params.checkpoints, tuple(nonzero)),
        lambda: _programs(params, nz_other, nz_state),
    )
    recording = programs.recording
    outs = eval_jaxpr(recording.jaxpr, [*recording.consts, *primals])
    m = len(nz_state)
    init = primals[len(primals) - m :]
    residuals = [*programs.consts, *primals[params.num_condition :], *outs[m:]]

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        _, t_other, t_init = split(tangents, sum(nz_fixed), sum(nz_other))
        rest = iter(t_init)
        start = [
            next(rest) if given else zeros_like(x)
            for x, given, has in zip(init, nz_init, nz_state, strict=True)
            if has
        ]
        return bind(while_tangent_p, (*residuals, *t_other, *start), programs.params)

    return outs[:m], nz_state, tangent_map


def _programs(
    params: WhileParams, nz_other: Sequence[bool], nz_state: tuple[bool, ...]
) -> _Programs:
    avals = params.body.in_avals
    other, state = avals[: params.num_body], avals[params.num_body :]
    fixed = params.condition.in_avals[: params.num_condition]
    recording = stage(lambda *args: _record(args, params), [*fixed, *other, *state])
    kept = recording.jaxpr.out_avals[len(state) :]
    t_other = [a.tangent() for a, has in zip(other, nz_other, strict=True) if has]
    t_state = [a.tangent() for a, has in zip(state, nz_state, strict=True) if has]
    residuals = [*avals, *kept]
    forward = stage(
        lambda *args: _push_forward(args, params, nz_other, nz_state),
        [*residuals, *t_other, *t_state],
    )
    backward = stage(
        lambda *args: _pull_back(args, params, nz_other, nz_state), [*residuals, *t_state]
    )
    jaxprs, consts = close_over([forward, backward])
    tangent = WhileTangentParams(jaxprs[0], jaxprs[1], len(consts) + len(residuals))
    return _Programs(recording, nz_state, tangent, consts)


def _loop(
    goes_on: Callable[..., Array],
    turn: Callable[..., Sequence[Array]],
    state: Sequence[Array],
    checkpoints: int,
) -> Sequence[Array]:
    avals = [x.aval for x in state]
    condition = stage(lambda *args: [goes_on(*args)], avals)
    body = stage(turn, avals)
    return bind_while(
        condition.jaxpr, condition.consts, body.jaxpr, body.consts, state, checkpoints
    )


def _record(args: Sequence[Array], params: WhileParams) -> Sequence[Array]:
    """Run a loop and keep some of its states."""
    fixed, other, init = split(args, params.num_condition, params.num_body)
    m = len(init)

    def goes_on(*args: Array) -> Array:
        return eval_jaxpr(params.condition, [*fixed, *args[:m]])[0]

    def turn(*args: Array) -> list[Array]:
        state, (n,), kept = split(args, m, 1)
        after = eval_jaxpr(params.body, [*other, *state])
        return [*after, add(n, full((), 1, _INT)), *_store(kept, n, state)]

    start = [*init, full((), 0, _INT), *_empty(init, params.checkpoints)]
    return _loop(goes_on, turn, start, params.checkpoints)


def _push_forward(
    args: Sequence[Array],
    params: WhileParams,
    nz_other: Sequence[bool],
    nz_state: Sequence[bool],
) -> Sequence[Array]:
    """Run a loop again, as often as it ran, with tangents."""
    m = len(nz_state)
    other, init, (n,), _, t_other, t_init = split(args, params.num_body, m, 1, 2 + m, sum(nz_other))
    nonzero = [False] * params.num_condition + [*nz_other, *nz_state]
    _, _, staged = body_jvp(params, nonzero)

    def turn(i: Array, *args: Array) -> list[Array]:
        state, tangents = split(args, m)
        operands = [*staged.consts, *other, *state, *t_other, *tangents]
        return [add(i, full((), 1, _INT)), *eval_jaxpr(staged.jaxpr, operands)]

    start = [full((), 0, _INT), *init, *t_init]
    return _loop(lambda i, *_: lt(i, n), turn, start, params.checkpoints)[1 + m :]


def _pull_back(
    args: Sequence[Array],
    params: WhileParams,
    nz_other: Sequence[bool],
    nz_state: Sequence[bool],
) -> Sequence[Array]:
    """Pull cotangents back through the turns of a loop, the last one first."""
    m, checkpoints = len(nz_state), params.checkpoints
    other, init, (n,), kept, ct_last = split(args, params.num_body, m, 1, 2 + m)
    nonzero = [*nz_other, *nz_state]
    sums = [
        full(x.shape, 0, x.aval.tangent().dtype)
        for x, has in zip(other, nz_other, strict=True)
        if has
    ]
    one = full((), 1, _INT)

    def turn(i: Array, *args: Array) -> list[Array]:
        (positions, *rest), sums_, cts = split(args, 2 + m, len(sums))
        target = sub(i, one)
        done = gt(positions, broadcast_in_dim(target, positions.shape, ()))
        positions = select(done, full_like(positions, -1), positions)
        slot = argmax(positions, 0, _INT)
        state = convert_all([_load(x, slot) for x in rest[1:]], [x.aval for x in init])

        def step(p: Array, *args: Array) -> list[Array]:
            before, kept = split(args, m)
            after = eval_jaxpr(params.body, [*other, *before])
            return [add(p, one), *after, *_store(kept, p, before)]

        start = [_load(positions, slot), *state, positions, *rest]
        outs = _loop(lambda p, *_: lt(p, target), step, start, checkpoints)
        state, kept = split(outs[1:], m)
        linearized = linearize_flat(
            lambda *xs: eval_jaxpr(params.body, xs), [*other, *state], nonzero
        )
        into = iter(cts)
        found = linearized.pull_back([next(into) if has else ZERO for has in nz_state], add_arrays)
        into_other, into_state = split(found, len(other))
        increments = [ct for ct, has in zip(into_other, nz_other, strict=True) if has]
        return [
            target,
            *kept,
            *(s if ct is ZERO else add(s, ct) for s, ct in zip(sums_, increments, strict=True)),
            *(
                full(x.shape, 0, x.aval.tangent().dtype) if ct is ZERO else ct
                for ct, x, has in zip(into_state, state, nz_state, strict=True)
                if has
            ),
        ]

    outs = _loop(
        lambda i, *_: gt(i, full((), 0, _INT)), turn, [n, *kept, *sums, *ct_last], checkpoints
    )
    return outs[3 + m :]
