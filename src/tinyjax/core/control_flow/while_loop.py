"""``while_loop``: a loop that runs until a condition on its state no longer holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

import attrs

from tinyjax import dtypes, errors, tree
from tinyjax._base.frames import describe_function
from tinyjax._primitives.dynamic_slice import dynamic_index_in_dim
from tinyjax.core.control_flow import bodies, common
from tinyjax.core.control_flow.looping import stage_loop
from tinyjax.core.control_flow.primitives import (
    WhileParams,
    bind_while as bind_while,  # noqa: PLC0414 (with its rules)
    prune_while,
    while_p as while_p,  # noqa: PLC0414 (with its rules)
)
from tinyjax.core.lowering import all_as_parts, lower_jaxpr
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.identities import stop_gradient
from tinyjax.core.primitives.reduce import reduce_min, reduce_or
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import (
    calling,
    jaxpr as jx,
    primitive as prim,
    program_rules,
    staging,
    trace as tr,
)
from tinyjax.core.tracing.checking import checked
from tinyjax.core.tracing.program_rules import ProgramEvaluator, forwarded_parameters
from tinyjax.core.tracing.staging import is_called
from tinyjax.core.transforms import batching
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.core.values.integers import fit_int32

S = TypeVar("S")

#: The default number of states that reverse mode keeps: twice as many as fit into these bytes, but
#: within these bounds.
MEMORY: Final = 1 << 20
_FEWEST: Final = 32
_MOST: Final = 256


def _while_program(
    args: Sequence[Any], params: WhileParams, run: ProgramEvaluator
) -> Sequence[Any]:
    fixed, operands = params.operands(args)

    def goes_on(state: Sequence[Any]) -> Any:
        return run(params.condition, [*fixed, *state])[0]

    def step(state: Sequence[Any]) -> Sequence[Any]:
        return run(params.body, [*operands.consts, *state])

    return _iterate(goes_on, step, operands.carry, params.observer)


def _iterate(
    goes_on: Callable[[Sequence[Any]], Any],
    step: Callable[[Sequence[Any]], Sequence[Any]],
    state: Sequence[Any],
    observer: common.Observer | None,
) -> Sequence[Any]:
    """Make the iterations of a loop in Python, and return the last state."""
    iterations = iter(lambda: bool(goes_on(state)), False)
    for _ in iterations if observer is None else observer.follow(iterations):
        state = step(state)
    return state


common.def_loop(while_p, _while_program, lambda params: None)


@while_p.def_abstract_eval
def _while_type(avals: prim.Avals, params: WhileParams) -> prim.Avals:
    fixed, operands = params.operands(avals)
    condition, body = params.condition, params.body
    if not (
        av.same_types([*fixed, *operands.carry], condition.in_avals)
        and av.same_types(operands.flat, body.in_avals)
        and av.alike(params.loop_body.in_avals.carry, body.out_avals)
        and av.same_types(condition.out_avals, [av.ShapedArray((), dtypes.bool_)])
    ):
        raise errors.ArgumentError(
            f"a loop with condition {condition.type} and body {body.type} was applied to "
            f"({', '.join(map(str, avals))})."
        )
    return body.out_avals


while_p.def_rule(program_rules.PRUNE)(prune_while)


@while_p.def_rule(program_rules.FORWARDING)
def _while_forwarding(params: WhileParams) -> tuple[int | None, ...]:
    """Return the operands that an iteration leaves unchanged."""
    n, m = params.num_condition, params.num_body
    places = enumerate(forwarded_parameters(params.body))
    return tuple([n + m + i if place == m + i else None for i, place in places])


@while_p.def_lowering
def _while_lowering(b: Lowering, operands: hlo.Values, params: WhileParams) -> hlo.Values:
    n, m = params.num_condition, params.num_body
    types = [*params.condition.in_avals[:n], *params.body.in_avals]

    def condition(values: hlo.Values) -> hlo.Values:
        fixed, operands = params.operands(values)
        return lower_jaxpr(b, params.condition, [*fixed, *operands.carry])

    def body(values: hlo.Values) -> hlo.Values:
        values = all_as_parts(b, values, types)
        after = lower_jaxpr(b, params.body, values[n:], repeated=True)
        return all_as_parts(b, [*values[: n + m], *after], types)

    if not operands:  # no state: the loop ends at once or never
        return []
    ordered = jx.effects(params.body).ordered
    in_condition = jx.effects(params.condition).ordered
    observer = params.observer
    if observer is not None:
        place = None if observer.place is None else n + m + observer.place
        either = ordered or in_condition
        return observer.write_loop(b, operands, condition, body, either, place)[n + m :]
    if not in_condition:
        return b.loop(operands, condition, body, ordered)[n + m :]

    # A condition cannot return the token that its callbacks leave: it becomes part of the state.
    def iteration(values: list[hlo.SSAValue]) -> hlo.Values:
        after = body(values[1:])
        return [*condition(after), *after]

    first = [*condition(operands), *operands]
    return b.loop(first, lambda values: values[:1], iteration, True)[1 + n + m :]


@while_p.def_jvp
def _while_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: WhileParams
) -> prim.JvpResult:
    """Bind a loop over the state with its tangents, which the condition ignores."""
    body = params.loop_body
    fixed, args = params.operands(primals)
    given = params.operands(tangents)[1]
    nonzero = body.tangents(given.each(prim.nonzeros))
    with_tangents, nonzero_out = body.with_tangents(nonzero)
    condition, n = params.condition, len(args.carry)
    unused = [jx.Var(aval) for aval in with_tangents.in_avals.carry[n:]]
    condition = attrs.evolve(condition, in_binders=(*condition.in_binders, *unused))
    outs = bind_while(
        staging.Staged(condition, ()),
        fixed,
        with_tangents,
        args + bodies.first_tangents(args, given, nonzero),
        params,
    )
    return outs[:n], prim.with_zeros(nonzero_out, outs[n:])


@while_p.def_linearize
def _while_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: WhileParams
) -> prim.LinearizeResult:
    return while_p.rule(program_rules.REVERSAL)(primals, nonzero, params)


@while_p.def_batch
def _while_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: WhileParams
) -> prim.BatchResult:
    fixed, args = params.operands(values)
    fixed_axes, given = params.operands(axes)
    fixed = sh.batch_axes_in_front(fixed, fixed_axes)
    consts = sh.batch_axes_in_front(args.consts, given.consts)
    in_fixed = common.at_front([axis is not None for axis in fixed_axes])
    marks = given.each(lambda part: [axis is not None for axis in part])
    in_axes = bodies.LoopOperands(common.at_front(marks.consts), ())
    k = params.num_body
    changes = [place != k + i for i, place in enumerate(forwarded_parameters(params.body))]

    def of_condition(batched: Sequence[bool], mapped: prim.MappedAxis = mapped) -> batching.Batched:
        return batching.batch_jaxpr(
            params.condition, mapped, (*in_fixed, *common.at_front(batched))
        )

    def of_body(
        batched: Sequence[bool], mapped: prim.MappedAxis = mapped
    ) -> tuple[bodies.LoopBody, bodies.LoopResults[batching.BatchAxis]]:
        return params.loop_body.batched(mapped, in_axes, batched)

    def iteration(batched: bodies.LoopOperands[bool]) -> Sequence[bool]:
        if of_condition(batched.carry)[1] != (None,):
            return changes  # an example that ends early keeps state that others go on changing
        return [axis is not None for axis in of_body(batched.carry)[1].carry]

    batched = bodies.grown(marks, iteration)
    condition, out_axes = of_condition(batched.carry)
    state = common.batched_state(mapped, args.carry, given.carry, batched.carry)
    operands = bodies.LoopOperands(consts, state)
    if out_axes != (None,):
        programs = partial(of_condition, batched.carry), partial(of_body, batched.carry)
        outs = _bind_masked(mapped, params, programs, fixed, operands, batched)
    else:
        body, _ = of_body(batched.carry)
        outs = bind_while(condition, fixed, body, operands, params)
    return outs, common.at_front(batched.carry)


def _bind_masked(
    mapped: prim.MappedAxis,
    params: WhileParams,
    programs: tuple[
        Callable[[prim.MappedAxis], batching.Batched],
        Callable[[prim.MappedAxis], tuple[bodies.LoopBody, bodies.LoopResults[batching.BatchAxis]]],
    ],
    fixed: Sequence[Array],
    operands: bodies.LoopOperands[Array],
    batched: bodies.LoopOperands[bool],
) -> Sequence[Array]:
    """Bind a loop whose examples end at different times.

    The mask of the examples that go on is part of the state. So the condition is computed once in
    an iteration, however deeply loops and vmaps are nested.

    Args:
        mapped: the axis of the examples.
        params: the parameters of the loop for one example.
        programs: what maps the condition and the body over an axis.
        fixed: the constants of the condition.
        operands: the operands of the body.
        batched: which of these are batched.
    """
    map_condition, map_body = programs
    condition, body = map_condition(mapped)[0], map_body(mapped)[0]
    of_condition = [*condition.consts, *fixed]
    consts = [*of_condition, *body.closed, *operands.consts]
    n, skip = len(of_condition), len(body.closed)
    # Finished examples get the operands of an active one. With their own, a loop in the body might
    # not end, and a derivative of the body might be infinite, which times zero is not zero. Where
    # one random draw serves all examples, it must be by the key of an active one. Collectives are
    # over all examples with their own operands.
    differentiable = any(dtypes.is_inexact(aval.dtype) for aval in params.body.out_avals)
    matters = differentiable or common.contains(params.body, "while", "rng_bit_generator")
    copies = matters and mapped.size and not common.meets_others(mapped, params.body)

    def iteration(args: bodies.LoopOperands[Array]) -> bodies.LoopResults[Array]:
        fixed, other = args.consts[len(condition.consts) : n], args.consts[n + skip :]
        going, *before = args.carry
        own: Sequence[Array] = [*other, *before]
        if copies:
            own = first_example(going, own, batched.flat)
        step, _ = map_body(common.with_mask(mapped, going, params.body))
        outs = jx.eval_jaxpr(step.jaxpr, [*step.closed, *own])
        after = [
            ew.select(broadcast_in_dim(going, x.shape, (0,)), x, y) if b else y
            for x, y, b in zip(outs, before, batched.carry, strict=True)
        ]
        test, _ = map_condition(common.with_mask(mapped, going, params.condition))
        (still,) = jx.eval_jaxpr(test.jaxpr, [*test.consts, *fixed, *after])
        still = ew.and_(going, still) if jx.effects(params.condition).any else still
        return bodies.LoopResults([still, *after])

    (going,) = jx.eval_jaxpr(condition.jaxpr, [*of_condition, *operands.carry])
    masked = bodies.LoopOperands(consts, [going, *operands.carry])
    avals = bodies.LoopOperands([x.aval for x in consts], [going.aval, *body.in_avals.carry])
    outs = bind_while(
        staging.stage(lambda going, *_: [reduce_or(going, (0,))], avals.carry),
        (),
        bodies.LoopBody.stage(iteration, avals),
        masked,
        params,
    )
    return outs[1:]


def first_example(active: Array, operands: Sequence[Array], batched: Sequence[bool]) -> list[Array]:
    """Give examples that are not active the operands of the first that is.

    A loop in the computation then ends for all examples, since it ends for active ones.
    """
    # The index of the first active example, as a minimum, which XLA computes faster than an argmax;
    # 0 where no example is active.
    size = active.shape[0]
    places = sh.iota(active.shape, dtypes.int32 if fit_int32((size,)) else dtypes.int64, 0)
    first = reduce_min(ew.select(active, places, sh.full_like(places, size)), (0,))
    first = ew.rem(first, sh.full_like(first, size))
    first = first.aval.without_sharding(first)
    result = []
    for x, mark in zip(operands, batched, strict=True):
        if not mark:
            result.append(x)
            continue
        one = dynamic_index_in_dim(x.aval.without_sharding(x), first, 0, keepdims=False)
        copies = broadcast_in_dim(one, x.shape, tuple(range(1, x.ndim)))
        others = x.aval.with_layout_of(stop_gradient(copies))
        result.append(ew.select(broadcast_in_dim(active, x.shape, (0,)), x, others))
    return result


# The function


@checked
def while_loop(
    cond_fun: Callable[[S], ArrayLike],
    body_fun: Callable[[S], S],
    init_val: S,
    *,
    checkpoints: int | None = None,
    memory: int | None = None,
) -> S:
    """Apply a function to a state for as long as a condition on it holds.

    The loop is compiled. Under ``vmap`` it runs until all examples are done, and finished examples
    keep their state.

    You can differentiate it in both modes. Reverse mode, which JAX's loop lacks, keeps states on
    the way, without the parts that no derivative needs, such as a counter. By default 64 states or
    more fit into ``memory`` if a state has up to 8 KiB. Then a loop of as many iterations costs the
    same as a ``scan``: the states of all iterations are stacked. In a longer loop every second is
    kept, then every fourth, and so on. Each iteration then runs once more in loops of up to the
    square of the number of states, and a little more often in longer ones.

    The program may bound the number of iterations, as where the loop counts up to the counter of an
    outer loop. Then no iteration is run again: the residuals of all iterations are kept, if they
    fit into ``memory``.

    With fewer states the body is run again from those kept, ``checkpoints`` at a time, the first
    included. While the loop runs, its length is unknown; the states to keep are those that would be
    cheapest if the loop ended one iteration later. After the end the length is known, and the
    placement is optimal. From 100 iterations on (tried up to 100,000, with 2 to 32 states) this
    runs at most a tenth more iterations than a ``scan`` with as many checkpoints. That also holds
    for loops of 10 to 100 iterations with 5 to 32 states. With 4, 3 and 2 states these run at most
    1.125, 1.2 and 1.25 times as many, and no strategy during the loop has a worst case that is a
    twentieth better. A callback in the body is called every time.

    Args:
        cond_fun: takes the state; returns a bool scalar.
        body_fun: takes the state; returns the new one: the same tree, of the same shapes and
            dtypes.
        init_val: the first state, a tree of arrays.
        checkpoints: the number of states that reverse mode keeps, at least one; None for as many as
            fit into ``memory``, but at least 32.
        memory: the bytes that reverse mode may use for states, or for residuals of iterations; by
            default 1 MiB, and no more than 256 states take.

    Returns:
        The first state for which the condition does not hold.

    Raises:
        ArgumentError: the condition is not a bool scalar, or ``checkpoints`` is not positive, or
            ``memory`` is negative.
        CarryTypeError: the state changes its structure or type; the message says which leaf.

    Example:
        >>> from tinyjax import lax
        >>> int(lax.while_loop(lambda n: n < 100, lambda n: 2 * n, 3))
        192
    """
    if checkpoints is not None:
        common.check_checkpoints("while_loop", checkpoints)
    if memory is not None and memory < 0:
        raise errors.ArgumentError(
            f"memory of while_loop must not be negative, but it is {memory}."
        )
    leaves, state_tree = tree.flatten(init_val)
    in_tree = tree.structure(((init_val,), {}))
    state = calling.as_arrays(leaves, body_fun, in_tree)

    if is_called():
        flat_condition = calling.FlatFunction(cond_fun, in_tree)
        flat_body = calling.FlatFunction(body_fun, in_tree)
        observer = common.observer_of(while_p, "while_loop", body_fun)
        with suppress(errors.TracerBoolConversionError):  # whether to go on is not known
            last = _iterate(
                lambda state: flat_condition(*state)[0],
                lambda state: flat_body(*state),
                state,
                observer,
            )
            called: S = tree.unflatten(state_tree, last)
            return called

    def stage_body(avals: Sequence[av.ShapedArray]) -> tuple[staging.Staged, tree.PyTreeDef]:
        return common.stage_function(body_fun, in_tree, avals, "while_loop")

    loop = stage_loop(while_p, "while_loop", body_fun, state, state_tree, stage_body)
    condition, out_tree = loop.stage_condition(cond_fun, in_tree, "while_loop")
    out_avals = condition.out_avals
    if out_tree != tree.LEAF or out_avals[0].shape or out_avals[0].dtype != dtypes.bool_:
        is_array = out_tree == tree.LEAF
        returned = f"output type(s) {out_avals[0]}" if is_array else f"pytree {out_tree}"
        raise errors.ArgumentError(
            f"cond_fun must return a boolean scalar, but got {returned}. Change what "
            f"{describe_function(cond_fun)}, given to while_loop, returns: reduce it with "
            "jnp.any(...) or jnp.all(...), or compare: x != 0."
        )
    if condition.cells_out:
        raise errors.RefError(
            f"the condition of while_loop, {describe_function(cond_fun)}, writes to a Ref. Let the "
            "body do so."
        )
    test = loop.condition(condition)
    params = WhileParams(
        test.jaxpr,
        loop.body.jaxpr,
        len(test.consts),
        len(loop.body.consts),
        states_kept(loop.carry, memory) if checkpoints is None else checkpoints,
        loop.observer,
        0 if checkpoints is not None else MEMORY if memory is None else memory,
    )
    last, _ = loop.run(lambda operands: tr.bind(while_p, (*test.consts, *operands), params))
    result: S = tree.unflatten(state_tree, last)
    return result


def states_kept(state: Sequence[Array], memory: int | None = None) -> int:
    """Return how many states like this one reverse mode keeps.

    Args:
        state: the first.
        memory: how many bytes the states may take, twice; None for the default.
    """
    size = sum([x.aval.nbytes for x in state])
    if type(size) is not int:  # symbolic
        return _FEWEST
    most = (MEMORY if memory is None else memory) // max(2 * size, 1)
    return max(_FEWEST, most if memory is not None else min(most, _MOST))
