"""The tangent of a loop whose backward pass is not the transpose of its forward pass.

Reverse mode that runs iterations again is not the transposition of a recorded program. So the
tangent map is one equation, which holds both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from math import inf
from typing import Final, TypeVar

import attrs

from tinyjax import dtypes, tree
from tinyjax._base import lazy
from tinyjax._extensions.checkpointing import schedule
from tinyjax._extensions.checkpointing.schedule import (
    OnlineStore,
    Stacked,
    Store,
    advance,
    element,
    integer,
    plus,
    write,
)
from tinyjax._primitives.linear_maps import LinearMapParams, MaskedPullBack, def_linear_map
from tinyjax.config import settings
from tinyjax.core import updates
from tinyjax.core.control_flow import primitives, restoring
from tinyjax.core.control_flow.bodies import (
    LoopBody,
    LoopOperands,
    LoopResults,
    cotangents_of,
    first_tangents,
    grown,
)
from tinyjax.core.control_flow.common import Observer, def_loop, in_phase
from tinyjax.core.control_flow.compaction import compacted
from tinyjax.core.control_flow.cond import bind_branches
from tinyjax.core.control_flow.residuals import Residuals, recipe_of, repeated_residuals
from tinyjax.core.control_flow.scan import linearize_stacking
from tinyjax.core.control_flow.while_loop import MEMORY, states_kept, while_p
from tinyjax.core.jit import program
from tinyjax.core.lowering import lower_jaxpr
from tinyjax.core.primitives import shape as sh
from tinyjax.core.primitives.elementwise import (
    add,
    and_,
    convert_element_type,
    gt,
    le,
    lt,
    select,
    sub,
)
from tinyjax.core.primitives.rules import instantiate_all
from tinyjax.core.stablehlo import Lowering, Values
from tinyjax.core.tracing import primitive as prim, program_rules, trace as tr
from tinyjax.core.tracing.jaxpr import (
    Jaxpr,
    JaxprEqn,
    effects as effects_of_program,
    eval_jaxpr,
)
from tinyjax.core.tracing.primitive import Arrays
from tinyjax.core.tracing.staging import Staged, close_over, stage
from tinyjax.core.transforms.jvp import jvp_jaxpr
from tinyjax.core.transforms.linearize import (
    LinearizedJaxpr,
    keeping,
    linearize_flat,
    linearize_jaxpr,
)
from tinyjax.core.transforms.transpose import backward_pass
from tinyjax.core.values import Array, ShapedArray
from tinyjax.core.values.avals import stacked

R = TypeVar("R")
S = TypeVar("S")

loop_tangent_p: prim.Primitive[LinearMapParams] = prim.Primitive("loop_tangent", LinearMapParams)
def_linear_map(
    loop_tangent_p, "the tangent of a loop,", "the state at which the loop is differentiated"
)


def_loop(loop_tangent_p, lambda args, params, run: run(params.forward, args), lambda params: None)


loop_tangent_p.def_rule(program_rules.LIVE_ROOT)(
    lambda params: program_rules.contains_live_root(params.forward)
)


@loop_tangent_p.def_rule(program_rules.PRUNE)
def _prune_tangent(eqn: JaxprEqn, used: tuple[bool, ...]) -> JaxprEqn:
    """Drop results of the map, and what its transpose computes from their cotangents."""
    params: LinearMapParams = eqn.params
    n = params.num_residuals
    operands = program_rules.prune_results(params.forward, used)[1][n:]
    restricted = None
    if not program_rules.contains_live_root(params.forward):
        restricted = params.restricted(operands, used)
    if restricted is None:
        return eqn
    return attrs.evolve(
        eqn,
        inputs=(*eqn.inputs[:n], *prim.marked(eqn.inputs[n:], operands)),
        params=restricted,
        out_binders=prim.marked(eqn.out_binders, used),
    )


@loop_tangent_p.def_rule(updates.LOWERED)
def _tangent_program(eqn: JaxprEqn) -> Jaxpr:
    params: LinearMapParams = eqn.params
    return params.forward


@loop_tangent_p.def_lowering
def _tangent_lowering(b: Lowering, operands: Values, params: LinearMapParams) -> Values:
    return lower_jaxpr(b, params.forward, list(operands))


def _derivative(
    primals: Arrays, nonzero: tuple[bool, ...], params: LinearMapParams
) -> tuple[Sequence[bool], Callable[[Arrays], Arrays]]:
    """Return the map along some of its linear operands, and which results it has.

    It is its own derivative.
    """
    residuals, forward = primals[: params.num_residuals], params.forward
    results = (True,) * len(forward.outs)
    restricted: LinearMapParams | None = params
    if not all(nonzero):
        _, results = jvp_jaxpr(forward, (*[False] * len(residuals), *nonzero))
        restricted = params.restricted(nonzero, results)
    if restricted is not None:
        return results, lambda tangents: tr.bind(
            loop_tangent_p, (*residuals, *tangents), restricted
        )
    avals = [x.aval for x in primals[len(residuals) :]]

    def instantiated(tangents: Arrays) -> Arrays:
        linear = instantiate_all(prim.with_zeros(nonzero, tangents), avals)
        return tr.bind(loop_tangent_p, (*residuals, *linear), params)

    return (True,) * len(forward.outs), instantiated


@loop_tangent_p.def_jvp
def _tangent_jvp(
    primals: Arrays, tangents: prim.Tangents, params: LinearMapParams
) -> prim.JvpResult:
    n, nonzero = params.num_residuals, prim.nonzeros(tangents)
    if any(nonzero[:n]):
        return program.jvp_of_call(params.forward, primals, tangents)
    results, along = _derivative(primals, nonzero[n:], params)
    outs = tr.bind(loop_tangent_p, primals, params)
    return outs, prim.with_zeros(results, along(prim.present(tangents)))


@loop_tangent_p.def_linearize
def _tangent_linearize(
    primals: Arrays, nonzero: Sequence[bool], params: LinearMapParams
) -> prim.LinearizeResult:
    n = params.num_residuals
    if not any(nonzero[:n]):
        return tr.bind(loop_tangent_p, primals, params), *_derivative(
            primals, tuple(nonzero[n:]), params
        )
    linearized = linearize_flat(lambda *xs: eval_jaxpr(params.forward, xs), primals, nonzero)

    def tangent_map(tangents: Arrays) -> Arrays:
        return eval_jaxpr(linearized.jaxpr, [*linearized.residuals, *tangents])

    return linearized.primals_out, linearized.nonzero_out, tangent_map


# Reverse mode through loops, in memory that does not grow with the number of iterations.
#
# A loop is run once, and a fixed number of its states are kept. The backward pass starts every
# iteration from the nearest state kept before it, runs the body from there, and keeps further
# states in the places that have become free. ``schedule`` says which.


#: From this capacity on, in states, all states are stacked; below it, few are kept, and well
#: chosen.
MANY: Final = 64
#: Makes one iteration: takes its number and the state; returns the next state.
Step = Callable[[Array, Arrays], Arrays]
#: Pulls cotangents back through an iteration: takes its number, the state before it, what has been
#: summed or collected so far, and the cotangents of the state after it; returns the latter two.
Pull = Callable[[Array, Arrays, S, Arrays], tuple[S, Arrays]]
#: How often a loop has run, the residuals that are the same in every iteration, and the stacks of
#: the others, by their numbers, and what those are computed of that are not kept.
_Residuals = tuple[Array, dict[int, Array], dict[int, Array], list[Array]]
#: What a body of a loop computes: takes its operands; returns its results.
_Body = Callable[[LoopOperands[Array]], list[Array]]


@attrs.frozen(eq=False, repr=False)
class _Programs:
    """The programs that replace a loop.

    Attributes:
        recording: takes the loop's operands; returns its results and the inputs of the backward
            pass.
        params: the tangent map. Its residuals are ``consts``, operands of the loop, and what
            ``recording`` returns for it.
        consts: arrays that the body's derivatives close over.
        is_inverted: whether the recording has an inverse, by which loops around it restore arrays.
    """

    recording: Staged
    params: LinearMapParams
    consts: list[Array]
    is_inverted: bool = False

    @classmethod
    def build(
        cls,
        operands: Sequence[ShapedArray],
        tangents: LoopOperands[ShapedArray],
        record: Callable[[Arrays], tuple[Arrays, R]],
        push: Callable[[R, LoopOperands[Array]], Arrays],
        pull: Callable[[R, LoopResults[Array], _Replay], LoopOperands[Array]],
        replay: _Replay,
    ) -> _Programs:
        """Make the programs.

        Args:
            operands: the types of the loop's operands.
            tangents: the types of their tangents.
            record: runs the loop; returns its results, and a tree for the backward pass.
            push: runs it again with tangents, given that tree and the tangents.
            pull: pulls cotangents of the results back, given that tree.
            replay: the part of the body that derivatives run again.
        """
        trees: list[tree.PyTreeDef] = []

        def recorded(*args: Array) -> list[Array]:
            outs, residuals = record(args)
            leaves, structure = tree.flatten(residuals)
            trees.append(structure)
            return [*outs, *leaves]

        recording = stage(recorded, operands)
        (structure,) = trees
        n = structure.num_leaves
        avals = recording.jaxpr.out_avals
        results, residuals = avals[: len(avals) - n], avals[len(avals) - n :]

        def pushed(*args: Array) -> Arrays:
            return push(tree.unflatten(structure, args[:n]), tangents.like(args[n:]))

        def pulled(replay: _Replay, *args: Array) -> Arrays:
            m = n + len(replay.linear.carry)
            cotangents = LoopResults(args[n:m], args[m:])
            return pull(tree.unflatten(structure, args[:n]), cotangents, replay).flat

        cotangents = [
            aval.tangent().cotangent() for aval in prim.marked(results, replay.halves.nonzero_out)
        ]
        forward = stage(pushed, [*residuals, *tangents.flat])
        backward = stage(partial(pulled, replay), [*residuals, *cotangents])
        (there, back), consts = close_over([forward, backward])
        skip = len(consts)
        masked = replay.masked(lambda replay, *args: pulled(replay, *args[skip:]))
        return cls(recording, LinearMapParams(there, back, skip + n, masked), consts)

    def run(
        self, primals: Arrays, num_results: int
    ) -> tuple[Arrays, Callable[[LoopOperands[Array]], Arrays]]:
        """Run the loop; return its results and its tangent map."""
        recording = self.recording
        operands = [*recording.consts, *primals]
        if self.is_inverted:
            call = program.JitParams(recording.jaxpr, "recorded_loop")
            outs = tr.bind(program.jit_p, operands, call)
        else:
            outs = eval_jaxpr(recording.jaxpr, operands)
        residuals = (*self.consts, *outs[num_results:])

        def tangent_map(tangents: LoopOperands[Array]) -> Arrays:
            return tr.bind(loop_tangent_p, (*residuals, *tangents.flat), self.params)

        return outs[:num_results], tangent_map


def _go_back(
    iterations: Array,
    checkpoints: Store,
    init: Arrays,
    step: Step,
    pull: Pull[S],
    sums: S,
    cotangents: Arrays,
    observer: Observer | None,
) -> tuple[S, Arrays]:
    """Pull cotangents back through the iterations of a loop, the last one first.

    Args:
        iterations: how many there were.
        checkpoints: the states kept when the loop had ended.
        init: the first state.
        step: makes an iteration.
        pull: goes back through one.
        sums: what ``pull`` sums up or collects, at the start.
        cotangents: of the last state.
        observer: who looks on while the loop runs.

    Returns:
        The sums and the cotangents of the first state.
    """
    size = checkpoints.size

    def iteration(now: tuple[Array, Store, S, Arrays]) -> tuple[Array, Store, S, Arrays]:
        end, kept, sums, cts = now
        position, loaded = kept.load(init, iterations, end)
        state: Arrays = loaded
        target = plus(end, -1)

        def segment(now: tuple[Array, Arrays, Store]) -> tuple[Array, Arrays, Store]:
            start, state, kept = now
            stop = add(start, advance(sub(end, start), kept.free))

            def one(now: tuple[Array, Arrays]) -> tuple[Array, Arrays]:
                i, state = now
                return plus(i, 1), step(i, state)

            _, state = primitives.run_while(lambda now: lt(now[0], stop), one, (start, state), size)
            return stop, state, kept.push(stop, state, lt(stop, target))

        _, before, kept = primitives.run_while(
            lambda now: lt(now[0], target), segment, (position, state, kept), size
        )
        sums, cts = pull(target, before, sums, cts)
        return target, kept.pop(target), sums, cts

    start = (iterations, checkpoints, sums, cotangents)
    backward = in_phase(observer, "backward")
    _, _, sums, cts = primitives.run_while(
        lambda now: gt(now[0], integer(0)), iteration, start, size, backward
    )
    return sums, cts


def _primal_half(body: LoopBody, nonzero: LoopOperands[bool]) -> _Body:
    """Return a function that computes the results of a body as its linearization does.

    Where a function in the body has a rule, these are what the rule returns, as in a loop that
    keeps all residuals. So a derivative of the backward pass does not meet the rule again.
    """
    primal = linearize_jaxpr(body.jaxpr, nonzero.flat).primal
    n = len(body.jaxpr.outs)
    jaxpr = program_rules.dce(primal.jaxpr, [i < n for i in range(len(primal.jaxpr.outs))])
    return lambda operands: eval_jaxpr(jaxpr, [*primal.consts, *operands.flat])


@attrs.frozen(eq=False, repr=False)
class _Replay:
    """The part of a loop's body that derivatives run again.

    A state is left out if neither a residual nor another needed state depends on it: a counter, or
    a stack that is only written to. So a derivative of the backward pass keeps no stacks of stacks.

    Attributes:
        halves: the body, split in its primal half and its tangent map.
        nonzero: which operands of the body have tangents.
        needed: the operands that residuals depend on, in this iteration or in a later one.
        avals: the types of these.
        tangent: the tangent map, which may take masks.
        linear: the types of its linear operands.
    """

    halves: LinearizedJaxpr
    nonzero: LoopOperands[bool]
    needed: LoopOperands[bool]
    avals: LoopOperands[ShapedArray]
    tangent: Jaxpr
    linear: LoopOperands[ShapedArray]

    @classmethod
    def build(
        cls, body: LoopBody, nonzero: LoopOperands[bool], nonzero_out: tuple[bool, ...]
    ) -> _Replay:
        halves = compacted(linearize_jaxpr(body.jaxpr, nonzero.flat, nonzero_out))
        primal, m = halves.primal, body.num_carry
        results = [False] * (len(nonzero_out) - m)
        computed = [True] * (len(primal.jaxpr.outs) - len(nonzero_out))

        def needed(state: Sequence[bool]) -> LoopOperands[bool]:
            _, marks = program_rules.prune_results(primal.jaxpr, (*state, *results, *computed))
            marks_in = enumerate(marks[len(primal.consts) :])
            return body.operands([mark or i in halves.forwarded for i, mark in marks_in])

        none: LoopOperands[bool] = LoopOperands((), [False] * m)
        operands = needed(grown(none, lambda marks: needed(marks.carry).carry).carry)
        avals = body.in_avals.marked(operands)
        return cls(halves, nonzero, operands, avals, halves.tangent, _tangents(body, nonzero))

    def masked(self, pull: Callable[..., Arrays]) -> MaskedPullBack:
        """Return the masked backward pass, which ``pull`` makes from a masked step and operands."""
        sizes_in = len(self.linear.consts), len(self.linear.carry), len(self.linear.xs)
        skip = len(self.tangent.in_binders) - sum(sizes_in)
        state, count = sizes_in[1], len(self.tangent.outs)
        sizes_out = state, count - state

        def pull_back(*operands: Array) -> Arrays:
            programs = lazy.hook("selections").programs
            tangent = programs.bordered(
                self.tangent,
                (*[False] * skip, *[True] * sum(sizes_in)),
                (True,) * count,
                (skip + sizes_in[0], *sizes_in[1:]),
                sizes_out,
            )
            linear = self.linear.each(programs.with_masks)
            return pull(attrs.evolve(self, tangent=tangent, linear=linear), *operands)

        linear = (True,) * sum(sizes_in)
        return MaskedPullBack(self.tangent, linear, sizes_in, sizes_out, pull_back)

    def part(self, state: Arrays) -> list[Array]:
        """Return the parts of a state that are needed."""
        return [*prim.marked(state, self.needed.carry)]

    def step(self, operands: LoopOperands[Array]) -> list[Array]:
        """Make an iteration of the needed part alone."""
        return self._run(operands, self.needed.carry, residuals=False)

    def residuals(self, operands: LoopOperands[Array]) -> list[Array]:
        """Return the residuals of an iteration's tangent map, from the needed operands."""
        computed = self._run(operands, [False] * len(self.needed.carry), residuals=True)
        needed = self.needed.flat
        places = prim.marked(range(len(needed)), needed)
        return self.halves.residuals(dict(zip(places, operands.flat, strict=True)), computed)

    def pull_back(
        self, residuals: Arrays, cotangents: Arrays, sums: Arrays
    ) -> LoopOperands[prim.Tangent]:
        """Pull cotangents back through an iteration, whose residuals are these.

        Cotangents of constants are added to the sums, each in its place.
        """
        consts = self.tangent.in_binders[len(residuals) :][: len(sums)]
        tangent = attrs.evolve(self.tangent, outs=(*self.tangent.outs, *consts))
        return self.linear.like(backward_pass(tangent, residuals, [*cotangents, *sums]))

    def _run(
        self, operands: LoopOperands[Array], state: Sequence[bool], residuals: bool
    ) -> list[Array]:
        primal = self.halves.primal
        num_results = len(self.halves.nonzero_out)
        results = [False] * (num_results - len(state))
        used = (*state, *results, *[residuals] * (len(primal.jaxpr.outs) - num_results))
        needed = (*[True] * len(primal.consts), *self.needed.flat)
        return eval_jaxpr(
            program_rules.shorten(primal.jaxpr, used, needed), [*primal.consts, *operands.flat]
        )


def _tangents(body: LoopBody, nonzero: LoopOperands[bool]) -> LoopOperands[ShapedArray]:
    """Return the types of the tangents of a body's operands."""
    return body.in_avals.marked(nonzero).each(lambda part: [aval.tangent() for aval in part])


# while_loop: where states are kept is decided on the way


@while_p.def_rule(program_rules.CHECKPOINTED)
def linearize_while(
    primals: Arrays, nonzero: Sequence[bool], params: primitives.WhileParams
) -> prim.LinearizeResult:
    """Run a loop that keeps states on the way: the linearize rule of while."""
    body = params.loop_body
    nonzero_in = body.tangents(params.operands(nonzero)[1])
    if not any(nonzero_in.carry):
        return tr.bind(while_p, primals, params), nonzero_in.carry, lambda _: ()
    programs = params.body.derive(
        (
            "reverse",
            *(params.condition, params.num_condition, params.checkpoints, params.observer),
            *(params.memory, params.most, settings().debugging, tuple(nonzero), keeping.get()),
        ),
        lambda: _while_programs(params, nonzero_in),
    )
    args = params.operands(primals)[1]
    outs, push = programs.run(primals, len(args.carry))

    def tangent_map(tangents: Arrays) -> Arrays:
        given = params.operands(prim.with_zeros(nonzero, tangents))[1]
        return push(first_tangents(args, given, nonzero_in))

    return outs, nonzero_in.carry, tangent_map


def _while_programs(params: primitives.WhileParams, nonzero: LoopOperands[bool]) -> _Programs:
    body = params.loop_body
    replay = _Replay.build(body, nonzero, tuple(nonzero.carry))
    fixed = params.condition.in_avals[: params.num_condition]
    operands, linear = [*fixed, *params.body.in_avals], replay.linear
    may_stack = _may_stack(params)
    if may_stack and params.most is not None:
        most = max(params.most, 1)  # stacks of no rows could not be written to
        plan = None if keeping.get() else restoring.restoration_of(replay.halves, body, most)
        if plan is not None and _bytes_kept(plan.halves, most) <= params.memory:
            return _restoring_programs(_WhileRecords(params, most, plan.halves), plan, replay)
        if plan is None and restoring.reads_restored(replay.halves):
            with restoring.keeping():
                replay = _Replay.build(body, nonzero, tuple(nonzero.carry))
        if _bytes_kept(replay.halves, most) <= params.memory:
            residuals = _WhileResiduals(params, most, replay.halves)
            return _Programs.build(
                operands, linear, residuals.record, residuals.push, residuals.pull, replay
            )
    if may_stack and params.memory and (capacity := _capacity(params, replay)):
        in_stacks = _WhileResiduals(attrs.evolve(params, most=None), capacity, replay.halves)
        return _Programs.build(
            operands,
            linear,
            lambda args: _record_some(args, params, replay, in_stacks),
            lambda recorded, tangents: _push_while(
                _from_start(recorded[0], recorded[1][0], params), tangents, params, replay
            ),
            lambda recorded, cotangents, replay: _pull_some(
                *recorded, cotangents, params, replay, in_stacks
            ),
            replay,
        )
    record = _record_stacked if may_stack and params.checkpoints >= MANY else _record_while
    return _Programs.build(
        operands,
        linear,
        lambda args: record(args, params, replay),
        lambda recorded, tangents: _push_while(recorded, tangents, params, replay),
        lambda recorded, cotangents, replay: _pull_while(recorded, cotangents, params, replay),
        replay,
    )


def _may_stack(params: primitives.WhileParams) -> bool:
    """Return whether an iteration may be run once: nobody counts them, and none has effects."""
    effects = effects_of_program(params.condition).any or effects_of_program(params.body).any
    return params.observer is None and not effects and not settings().debugging


def _bytes_kept(halves: LinearizedJaxpr, iterations: int) -> float:
    """Return how many bytes the residuals of so many iterations take, on one device."""
    residuals = halves.tangent.in_avals[: len(halves.forwarded)]
    sizes = [aval.nbytes for aval in residuals]
    is_plain = all(aval.where is None for aval in residuals)
    return iterations * sum(sizes) if is_plain and all(type(n) is int for n in sizes) else inf


@attrs.frozen(eq=False, repr=False)
class _WhileResiduals:
    """The derivatives of a loop with a bound on its iterations, which stacks residuals.

    Attributes:
        params: the parameters of the loop.
        most: the bound on its iterations.
        halves: its body, linearized.
    """

    params: primitives.WhileParams
    most: int
    halves: LinearizedJaxpr

    def record(self, args: Arrays) -> tuple[Arrays, _Residuals]:
        """Run the loop; return its last state, and the record for its derivatives."""
        fixed, operands = self.params.operands(args)
        m = len(operands.carry)
        kept = Residuals.collect(self.halves, operands, m)
        body = kept.body
        stacks: Arrays = [
            sh.full((self.most, *aval.shape), 0, aval.dtype) for aval in body.out_avals.ys
        ]

        def goes_on(now: tuple[Arrays, Array, Arrays]) -> Array:
            return eval_jaxpr(self.params.condition, [*fixed, *now[0]])[0]

        def iteration(now: tuple[Arrays, Array, Arrays]) -> tuple[Arrays, Array, Arrays]:
            state, n, stacks = now
            outs = eval_jaxpr(body.jaxpr, [*body.closed, *operands.consts, *state])
            return outs[:m], plus(n, 1), write(stacks, outs[m:], n)

        state, n, stacks = self._loop(goes_on, iteration, (operands.carry, integer(0), stacks))
        values = dict(zip(kept.constant, kept.values, strict=True))
        rows = dict(zip(kept.stacked, stacks, strict=True))
        return state, (n, values, rows, [*chain.from_iterable(kept.recipe_values)])

    def push(self, recorded: _Residuals, tangents: LoopOperands[Array]) -> Arrays:
        """Apply the tangent maps of the iterations, one after the other."""
        n = recorded[0]

        def iteration(now: tuple[Array, Arrays]) -> tuple[Array, Arrays]:
            i, state = now
            residuals = self._residuals_at(i, recorded)
            after = eval_jaxpr(self.halves.tangent, [*residuals, *tangents.consts, *state])
            return plus(i, 1), after

        start = (integer(0), tangents.carry)
        return self._loop(lambda now: lt(now[0], n), iteration, start)[1]

    def pull(
        self, recorded: _Residuals, cotangents: LoopResults[Array], replay: _Replay
    ) -> LoopOperands[Array]:
        """Pull cotangents of the last state back to the constants and the first state."""
        linear = replay.linear

        def iteration(now: tuple[Array, Arrays, Arrays]) -> tuple[Array, Arrays, Arrays]:
            i, sums, state = now
            i = plus(i, -1)
            into = replay.pull_back(self._residuals_at(i, recorded), state, sums)
            sums = cotangents_of(into.consts, linear.consts)
            return i, sums, cotangents_of(into.carry, linear.carry)

        zeros: Arrays = [sh.zero_cotangent(aval) for aval in linear.consts]
        start = (recorded[0], zeros, cotangents.carry)
        _, sums, first = self._loop(lambda now: gt(now[0], integer(0)), iteration, start)
        return LoopOperands(sums, first)

    @property
    def _primal(self) -> LoopBody:
        body = self.params.loop_body
        return LoopBody.closing_over(self.halves.primal, body.operands(body.jaxpr.in_binders))

    def _loop(self, goes_on: Callable[[S], Array], iteration: Callable[[S], S], start: S) -> S:
        checkpoints, memory = self.params.checkpoints, self.params.memory
        return primitives.run_while(
            goes_on, iteration, start, checkpoints, memory=memory, most=self.most
        )

    def _residuals_at(self, i: Array, recorded: _Residuals) -> list[Array]:
        """Return the residuals of an iteration."""
        _, values, stacks, operands = recorded
        avals = [self.halves.tangent.in_avals[number] for number in stacks]
        rows = schedule.read([*stacks.values()], i, avals)
        residuals = {**values, **dict(zip(stacks, rows, strict=True))}
        m = len(self.halves.nonzero_out)
        recipe = recipe_of(self.halves, self._primal, m)
        if recipe is not None:
            n = len(recipe.consts)
            counters = recipe.counted(operands[n:], i)
            again = eval_jaxpr(recipe.program, [*operands[:n], *counters])
            residuals |= dict(zip(recipe.numbers, again, strict=True))
        repeated = repeated_residuals(self.halves, m)
        numbers = range(len(self.halves.forwarded))
        return [residuals[repeated.get(number, number)] for number in numbers]


@tree.register_dataclass
@attrs.frozen(eq=False, repr=False)
class _Recorded:
    """The record of a loop that was run, for its derivatives.

    Attributes:
        operands: the operands for running the body again.
        iterations: the number of iterations.
        checkpoints: the kept states, in one of the two forms of ``schedule``.
    """

    operands: LoopOperands[Array]
    iterations: Array
    checkpoints: Store | Stacked


#: Residuals are stacked, rather than states, of so many iterations or more, where they take a
#: fourth of the bytes.
_SOME: Final = 256
_SMALLER: Final = 4


def _capacity(params: primitives.WhileParams, replay: _Replay) -> int:
    """Return of how many iterations residuals are stacked, if these are smaller than states."""
    states = sum([aval.nbytes for aval in replay.avals.carry])
    residuals = _bytes_kept(replay.halves, 1)
    if residuals == inf or type(states) is not int or _SMALLER * residuals > states:
        return 0
    capacity = int(params.memory // max(residuals, 1))
    return min(capacity, 4 * _SOME) if capacity >= _SOME else 0


def _record_some(
    args: Arrays, params: primitives.WhileParams, replay: _Replay, in_stacks: _WhileResiduals
) -> tuple[Arrays, tuple[LoopOperands[Array], _Residuals]]:
    """Run a loop, and stack the residuals of its first iterations; keep its first state, too."""
    _, operands = params.operands(args)
    state, residuals = in_stacks.record(args)
    return state, (operands.marked(replay.needed), residuals)


def _from_start(
    operands: LoopOperands[Array], iterations: Array, params: primitives.WhileParams
) -> _Recorded:
    """Return the record of a loop of which only the first state was kept."""
    return _Recorded(operands, iterations, Store.start(operands.carry, params.checkpoints))


def _pull_some(
    operands: LoopOperands[Array],
    residuals: _Residuals,
    cotangents: LoopResults[Array],
    params: primitives.WhileParams,
    replay: _Replay,
    in_stacks: _WhileResiduals,
) -> LoopOperands[Array]:
    """Pull cotangents back by the stacks, or from the first state if there were more iterations."""
    n = residuals[0]
    fits = le(n, integer(in_stacks.most))
    # where examples are mapped, and choose differently, both are computed
    others = select(fits, integer(0), n)

    def from_start(*cts: Array) -> Sequence[Array]:
        recorded = _from_start(operands, others, params)
        return _pull_while(recorded, LoopResults(cts), params, replay).flat

    def by_stacks(*cts: Array) -> Sequence[Array]:
        return in_stacks.pull(residuals, LoopResults(cts), replay).flat

    avals = [x.aval for x in cotangents.carry]
    branches = [stage(from_start, avals), stage(by_stacks, avals)]
    index = convert_element_type(fits, dtypes.int32)
    return replay.linear.like(bind_branches(index, branches, cotangents.carry))


def _record_while(
    args: Arrays, params: primitives.WhileParams, replay: _Replay
) -> tuple[Arrays, _Recorded]:
    """Run a loop; return the last state, and the record for its derivatives."""
    fixed, operands = params.operands(args)
    body, size = _primal_half(params.loop_body, replay.nonzero), params.checkpoints

    def goes_on(now: tuple[Arrays, Array, OnlineStore]) -> Array:
        return eval_jaxpr(params.condition, [*fixed, *now[0]])[0]

    def iteration(now: tuple[Arrays, Array, OnlineStore]) -> tuple[Arrays, Array, OnlineStore]:
        state, n, online = now
        online = online.offer(n, replay.part(state))
        return body(LoopOperands(operands.consts, state)), plus(n, 1), online

    init = operands.carry
    start = (init, integer(0), OnlineStore.start(replay.part(init), size))
    state, n, online = primitives.run_while(goes_on, iteration, start, size, params.observer)
    return state, _Recorded(operands.marked(replay.needed), n, online.checkpoints)


def _record_stacked(
    args: Arrays, params: primitives.WhileParams, replay: _Replay
) -> tuple[Arrays, _Recorded]:
    """Run a loop, and stack its states; return the same as ``_record_while``."""
    fixed, operands = params.operands(args)
    body = _primal_half(params.loop_body, replay.nonzero)
    state, n, stacked = schedule.record(
        lambda state: eval_jaxpr(params.condition, [*fixed, *state])[0],
        lambda state: body(LoopOperands(operands.consts, state)),
        operands.carry,
        replay.part,
        params.checkpoints,
    )
    return state, _Recorded(operands.marked(replay.needed), n, stacked)


def _push_while(
    recorded: _Recorded,
    tangents: LoopOperands[Array],
    params: primitives.WhileParams,
    replay: _Replay,
) -> Arrays:
    """Run a loop again, as often as it ran, with tangents."""
    operands = recorded.operands

    def iteration(now: tuple[Array, Arrays, Arrays]) -> tuple[Array, Arrays, Arrays]:
        i, state, t_state = now
        args = LoopOperands(operands.consts, state)
        tangents_in = [*replay.residuals(args), *tangents.consts, *t_state]
        after = eval_jaxpr(replay.halves.tangent, tangents_in)
        return plus(i, 1), replay.step(args), after

    start = (integer(0), operands.carry, tangents.carry)
    tangent = in_phase(params.observer, "tangent")
    return primitives.run_while(
        lambda now: lt(now[0], recorded.iterations), iteration, start, params.checkpoints, tangent
    )[2]


def _pull_while(
    recorded: _Recorded,
    cotangents: LoopResults[Array],
    params: primitives.WhileParams,
    replay: _Replay,
) -> LoopOperands[Array]:
    """Pull cotangents of the last state back to the constants and the first state."""
    operands, linear = recorded.operands, replay.linear

    def step(state: Arrays) -> list[Array]:
        return replay.step(LoopOperands(operands.consts, state))

    def pull(state: Arrays, sums: Arrays, cts: Arrays) -> tuple[Arrays, Arrays]:
        residuals = replay.residuals(LoopOperands(operands.consts, state))
        into = replay.pull_back(residuals, cts, sums)
        return cotangents_of(into.consts, linear.consts), cotangents_of(into.carry, linear.carry)

    zeros: Arrays = [sh.zero_cotangent(aval) for aval in linear.consts]
    n, kept, last = recorded.iterations, recorded.checkpoints, cotangents.carry
    if isinstance(kept, Stacked):
        avals, size = replay.avals.carry, params.checkpoints
        sums, first = schedule.go_back(n, kept, avals, step, pull, zeros, last, size)
    else:
        sums, first = _go_back(
            n,
            kept,
            operands.carry,
            lambda _, state: step(state),
            lambda _, *args: pull(*args),
            zeros,
            last,
            params.observer,
        )
    return LoopOperands(sums, first)


# scan: the number of iterations is known, so states are kept where the schedule is the best there
# is


@primitives.scan_p.def_rule(program_rules.CHECKPOINTED)
def linearize_scan(
    primals: Arrays, nonzero: Sequence[bool], params: primitives.ScanParams
) -> prim.LinearizeResult:
    """Run a loop that keeps some states, for a backward pass that runs iterations again."""
    if settings().debugging:  # run in pieces it has no iterations that messages could name
        return linearize_stacking(primals, nonzero, params)
    body = params.loop_body
    if params.checkpoints is None:
        nonzero_in, lin = body.linearized(body.operands(nonzero))
        nonzero_out = lin.nonzero_out
    else:
        nonzero_in, lin = body.tangents(body.operands(nonzero)), None
        _, nonzero_out = body.with_tangents(nonzero_in)
    programs = params.jaxpr.derive(
        (
            "reverse",
            *(params.num_consts, params.num_carry, params.length, params.reverse),
            *(params.checkpoints, params.observer, tuple(nonzero)),
        ),
        lambda: _scan_programs(params, nonzero_in, nonzero_out, lin),
    )
    outs, push = programs.run(primals, len(params.jaxpr.outs))
    args = body.operands(primals)

    def tangent_map(tangents: Arrays) -> Arrays:
        given = body.operands(prim.with_zeros(nonzero, tangents))
        return push(first_tangents(args, given, nonzero_in))

    return outs, nonzero_out, tangent_map


def _scan_programs(
    params: primitives.ScanParams,
    nonzero: LoopOperands[bool],
    nonzero_out: tuple[bool, ...],
    lin: LinearizedJaxpr | None,
) -> _Programs:
    body, length = params.loop_body, params.length
    replay = _Replay.build(body, nonzero, nonzero_out)
    if lin is not None:
        replay = attrs.evolve(replay, halves=lin, tangent=lin.tangent)
        plan = restoring.restoration_of(lin, body, length)
        assert plan is not None, "a loop without checkpoints is here to restore arrays"
        return _restoring_programs(_ScanRecords(params, plan.halves), plan, replay)
    avals, linear = body.in_avals, replay.linear
    return _Programs.build(
        [*avals.consts, *avals.carry, *stacked(avals.xs, length)],
        LoopOperands(linear.consts, linear.carry, stacked(linear.xs, length)),
        lambda args: _record_scan(body.operands(args), params, replay),
        lambda recorded, tangents: _push_scan(recorded[0], tangents, params, replay),
        lambda recorded, cotangents, replay: _pull_scan(*recorded, cotangents, params, replay),
        replay,
    )


def _place(i: Array, params: primitives.ScanParams) -> Array:
    """Return the place of the slice that belongs to an iteration."""
    return sub(integer(params.length - 1), i) if params.reverse else i


def _slices(xs: Arrays, place: Array) -> list[Array]:
    return [element(x, place) for x in xs]


def _record_scan(
    operands: LoopOperands[Array], params: primitives.ScanParams, replay: _Replay
) -> tuple[Arrays, tuple[LoopOperands[Array], Store]]:
    """Run a loop; return its results, and the record for its derivatives.

    The record consists of operands of the loop and of the kept states.
    """
    assert params.checkpoints is not None, (
        "without checkpoints every iteration's residuals are kept"
    )
    loop, length = params.loop_body, params.length
    body = _primal_half(loop, replay.nonzero)
    size = min(params.checkpoints, length)
    last = integer(length - 1)

    def iteration(now: tuple[Array, Arrays, Arrays]) -> tuple[Array, Arrays, Arrays]:
        i, carry, ys = now
        place = _place(i, params)
        args = LoopOperands(operands.consts, carry, _slices(operands.xs, place))
        after = loop.results(body(args))
        return plus(i, 1), after.carry, write(ys, after.ys, place)

    def segment(now: tuple[Array, Arrays, Arrays, Store]) -> tuple[Array, Arrays, Arrays, Store]:
        start, carry, ys, kept = now
        inside = and_(gt(start, integer(0)), lt(start, last))
        kept = kept.push(start, replay.part(carry), inside)
        stop = add(start, advance(sub(integer(length), start), kept.free))
        i, carry, ys = primitives.run_while(
            lambda now: lt(now[0], stop), iteration, (start, carry, ys), size
        )
        return i, carry, ys, kept

    ys: Arrays = [sh.full((length, *aval.shape), 0, aval.dtype) for aval in loop.out_avals.ys]
    init = operands.carry
    start = (integer(0), init, ys, Store.start(replay.part(init), size))
    observer = None if params.observer is None else params.observer.reading(0)
    _, carry, outputs, kept = primitives.run_while(
        lambda now: lt(now[0], integer(length)), segment, start, size, observer
    )
    return [*carry, *outputs], (operands.marked(replay.needed), kept)


def _push_scan(
    operands: LoopOperands[Array],
    tangents: LoopOperands[Array],
    params: primitives.ScanParams,
    replay: _Replay,
) -> Arrays:
    """Run a loop again with tangents, and return those of its results."""
    m = len(replay.linear.carry)

    def iteration(args: LoopOperands[Array]) -> LoopResults[Array]:
        primals, own = args.divided(replay.avals)
        tangents_in = [*replay.residuals(primals), *own.flat]
        after: LoopResults[Array] = LoopResults(replay.step(primals))
        outs = eval_jaxpr(replay.halves.tangent, tangents_in)
        return after + LoopResults(outs[:m], outs[m:])

    body = LoopBody.stage(iteration, replay.avals + replay.linear)
    tangent = attrs.evolve(params, observer=in_phase(params.observer, "tangent"))
    outs = primitives.bind_scan(body, operands + tangents, tangent)
    return outs.divided(LoopResults(operands.carry))[1].flat


def _pull_scan(
    operands: LoopOperands[Array],
    checkpoints: Store,
    cotangents: LoopResults[Array],
    params: primitives.ScanParams,
    replay: _Replay,
) -> LoopOperands[Array]:
    """Pull cotangents of the results back to the constants, the first carry and the inputs."""
    linear = replay.linear

    def operands_at(place: Array, carry: Arrays) -> LoopOperands[Array]:
        return LoopOperands(operands.consts, carry, _slices(operands.xs, place))

    def pull(
        i: Array, carry: Arrays, sums: tuple[Arrays, Arrays], cts: Arrays
    ) -> tuple[tuple[Arrays, Arrays], Arrays]:
        totals, collected = sums
        place = _place(i, params)
        residuals = replay.residuals(operands_at(place, carry))
        into = replay.pull_back(residuals, [*cts, *_slices(cotangents.ys, place)], totals)
        parts = cotangents_of(into.xs, linear.xs)
        totals = cotangents_of(into.consts, linear.consts)
        collected = write(collected, parts, place)
        return (totals, collected), cotangents_of(into.carry, linear.carry)

    zeros: Arrays = [sh.zero_cotangent(aval) for aval in linear.consts]
    stacks: Arrays = [sh.zero_cotangent(aval) for aval in stacked(linear.xs, params.length)]
    (consts, xs), init = _go_back(
        integer(params.length),
        checkpoints,
        operands.carry,
        lambda i, carry: replay.step(operands_at(_place(i, params), carry)),
        pull,
        (zeros, stacks),
        cotangents.carry,
        params.observer,
    )
    return LoopOperands(consts, init, xs)


# Loops that restore the arrays that they update, and read again what the tangent maps read of these


#: What a loop has recorded: how often it has run, the residuals that are the same in every
#: iteration, stacks of the others, inputs that are residuals, what residuals are computed of, and
#: the inputs among that.
_Saved = tuple[
    Array, dict[int, Array], dict[int, Array], dict[int, Array], list[Array], list[Array]
]


@attrs.frozen(eq=False, repr=False)
class _WhileRecords:
    """Runs of a ``while_loop`` that keep values of every iteration.

    Attributes:
        params: the parameters of the loop.
        most: the bound on its iterations.
        halves: its body, whose primal half returns these values.
    """

    params: primitives.WhileParams
    most: int
    halves: LinearizedJaxpr

    @property
    def body(self) -> LoopBody:
        """The body of the loop."""
        return self.params.loop_body

    @property
    def operands(self) -> Sequence[ShapedArray]:
        """The types of the operands."""
        condition = self.params.condition.in_avals[: self.params.num_condition]
        return [*condition, *self.params.body.in_avals]

    @property
    def first_carry(self) -> int:
        """The place of the state among the operands."""
        return self.params.num_condition + self.params.num_body

    def record(self, args: Arrays) -> tuple[LoopResults[Array], _Saved]:
        """Run the loop; return its results, and the record."""
        state, recorded = _WhileResiduals(self.params, self.most, self.halves).record(args)
        n, values, rows, operands = recorded
        return LoopResults(state), (n, values, rows, {}, operands, [])

    def place(self, i: Array) -> Array:
        """Return the place of an iteration in inputs and outputs."""
        return i

    def spread(self, linear: LoopOperands[ShapedArray]) -> LoopOperands[ShapedArray]:
        """Return the types of the tangents of the operands of the loop."""
        return linear


@attrs.frozen(eq=False, repr=False)
class _ScanRecords:
    """Runs of a ``scan`` that keep values of every iteration: as ``_WhileRecords``."""

    params: primitives.ScanParams
    halves: LinearizedJaxpr

    @property
    def most(self) -> int:
        """The number of iterations."""
        return self.params.length

    @property
    def body(self) -> LoopBody:
        """The body of the loop."""
        return self.params.loop_body

    @property
    def operands(self) -> Sequence[ShapedArray]:
        """The types of the operands."""
        avals = self.body.in_avals
        return [*avals.consts, *avals.carry, *stacked(avals.xs, self.params.length)]

    @property
    def first_carry(self) -> int:
        """The place of the carry among the operands."""
        return self.params.num_consts

    def record(self, args: Arrays) -> tuple[LoopResults[Array], _Saved]:
        """Run the loop; return its results, and the record."""
        operands, n = self.body.operands(args), len(self.params.jaxpr.outs)
        saved = Residuals.collect(self.halves, operands, n)
        outs = primitives.bind_scan(saved.body, operands, self.params).flat
        recipe = saved.recipe
        return self.body.results(outs[:n]), (
            integer(self.params.length),
            dict(zip(saved.constant, saved.values, strict=True)),
            dict(zip(saved.stacked, outs[n:], strict=True)),
            {number: operands.xs[i] for number, i in saved.inputs.items()},
            [*chain.from_iterable(saved.recipe_values)],
            [] if recipe is None else [operands.xs[i] for i in recipe.inputs],
        )

    def place(self, i: Array) -> Array:
        """Return the place of an iteration in inputs and outputs."""
        return _place(i, self.params)

    def spread(self, linear: LoopOperands[ShapedArray]) -> LoopOperands[ShapedArray]:
        """Return the types of the tangents of the operands of the loop."""
        xs = stacked(linear.xs, self.params.length)
        return LoopOperands(linear.consts, linear.carry, xs)


@attrs.frozen(eq=False, repr=False)
class _RestoringLoop:
    """The derivatives of a loop that restores arrays.

    Attributes:
        records: runs of the loop.
        plan: what is saved, and what is computed of it.
    """

    records: _WhileRecords | _ScanRecords
    plan: restoring.Restoration

    def record(self, args: Arrays) -> tuple[Arrays, tuple[_Saved, Arrays]]:
        """Run the loop; return its results, and the record with the arrays to be restored."""
        results, saved = self.records.record(args)
        return results.flat, (saved, [results.carry[i] for i in self.plan.places])

    def restore(self, recorded: tuple[_Saved, Arrays]) -> Arrays:
        """Return the arrays as they were before the loop."""
        saved, last = recorded

        def iteration(now: tuple[Array, Arrays]) -> tuple[Array, Arrays]:
            i, arrays = plus(now[0], -1), now[1]
            values = self._saved_at(i, saved)
            return i, eval_jaxpr(self.plan.before, [*values, *arrays])

        return self._backwards(iteration, (saved[0], last))[1]

    def pull(
        self, recorded: tuple[_Saved, Arrays], cotangents: LoopResults[Array], replay: _Replay
    ) -> LoopOperands[Array]:
        """Pull cotangents of the results back to the operands."""
        saved, last = recorded
        linear, place_of = replay.linear, self.records.place
        State = tuple[Array, Arrays, Arrays, Arrays, Arrays]

        def iteration(now: State) -> State:
            i, arrays, sums, collected, cts = plus(now[0], -1), *now[1:]
            place = place_of(i)
            arrays, residuals = self._before(i, saved, arrays)
            into = replay.pull_back(residuals, [*cts, *_slices(cotangents.ys, place)], sums)
            return (
                i,
                arrays,
                cotangents_of(into.consts, linear.consts),
                write(collected, cotangents_of(into.xs, linear.xs), place),
                cotangents_of(into.carry, linear.carry),
            )

        spread = self.records.spread(linear)
        zeros: Arrays = [sh.zero_cotangent(aval) for aval in linear.consts]
        stacks: Arrays = [sh.zero_cotangent(aval) for aval in spread.xs]
        start = (saved[0], last, zeros, stacks, cotangents.carry)
        _, _, sums, collected, first = self._backwards(iteration, start)
        return LoopOperands(sums, first, collected)

    def push(
        self, recorded: tuple[_Saved, Arrays], tangents: LoopOperands[Array], replay: _Replay
    ) -> Arrays:
        """Apply the tangent maps of the iterations, whose residuals are stacked before."""
        saved, last = recorded
        place_of, tangent = self.records.place, replay.halves.tangent
        avals = tangent.in_avals[: len(replay.halves.forwarded)]

        def back(now: tuple[Array, Arrays, Arrays]) -> tuple[Array, Arrays, Arrays]:
            i, arrays, rows = plus(now[0], -1), *now[1:]
            arrays, residuals = self._before(i, saved, arrays)
            return i, arrays, write(rows, residuals, i)

        rows: Arrays = [sh.full((self.records.most, *aval.shape), 0, aval.dtype) for aval in avals]
        _, _, rows = self._backwards(back, (saved[0], last, rows))
        m = len(replay.linear.carry)

        def iteration(now: tuple[Array, Arrays, Arrays]) -> tuple[Array, Arrays, Arrays]:
            i, state, ys = now
            place = place_of(i)
            own = [*tangents.consts, *state, *_slices(tangents.xs, place)]
            after = eval_jaxpr(tangent, [*schedule.read(rows, i, avals), *own])
            return plus(i, 1), after[:m], write(ys, after[m:], place)

        ys: Arrays = [
            sh.full((self.records.most, *aval.shape), 0, aval.dtype)
            for aval in tangent.out_avals[m:]
        ]
        start = (integer(0), tangents.carry, ys)
        _, state, ys = self._loop(lambda now: lt(now[0], saved[0]), iteration, start)
        return [*state, *ys]

    def _before(self, i: Array, saved: _Saved, arrays: Arrays) -> tuple[Arrays, Arrays]:
        """Return arrays as they were before an iteration, and its residuals."""
        values, n = self._saved_at(i, saved), len(arrays)
        outs = eval_jaxpr(self.plan.halves.tangent, [*values, *arrays])
        return outs[:n], outs[n:]

    def _saved_at(self, i: Array, saved: _Saved) -> list[Array]:
        """Return what is kept of an iteration."""
        _, values, stacks, inputs, operands, xs = saved
        halves, m = self.plan.halves, len(self.plan.halves.nonzero_out)
        place = self.records.place(i)
        at = {**values}
        for rows, where in ((stacks, place), (inputs, place)):
            avals = [halves.tangent.in_avals[number] for number in rows]
            at |= zip(rows, schedule.read([*rows.values()], where, avals), strict=True)
        body = self.records.body
        primal = LoopBody.closing_over(halves.primal, body.operands(body.jaxpr.in_binders))
        recipe = recipe_of(halves, primal, m)
        if recipe is not None:
            n = len(recipe.consts)
            counters = [*recipe.counted(operands[n:], i), *_slices(xs, place)]
            again = eval_jaxpr(recipe.program, [*operands[:n], *counters])
            at |= zip(recipe.numbers, again, strict=True)
        repeated = repeated_residuals(halves, m)
        return [at[repeated.get(number, number)] for number in range(len(halves.forwarded))]

    def _backwards(self, iteration: Callable[[S], S], start: S) -> S:
        return self._loop(lambda now: gt(tree.leaves(now)[0], integer(0)), iteration, start)

    def _loop(self, goes_on: Callable[[S], Array], iteration: Callable[[S], S], start: S) -> S:
        params, most = self.records.params, self.records.most
        checkpoints = params.checkpoints or states_kept(())
        memory = params.memory if isinstance(params, primitives.WhileParams) else MEMORY
        return primitives.run_while(
            goes_on, iteration, start, checkpoints, memory=memory, most=most
        )


def _restoring_programs(
    records: _WhileRecords | _ScanRecords, plan: restoring.Restoration, replay: _Replay
) -> _Programs:
    """Make the programs of a loop that restores arrays, and the inverse of its recording."""
    loop = _RestoringLoop(records, plan)
    structures: list[tree.PyTreeDef] = []

    def record(args: Arrays) -> tuple[Arrays, tuple[_Saved, Arrays]]:
        results, recorded = loop.record(args)
        structures.append(tree.structure(recorded))
        return results, recorded

    made = _Programs.build(
        records.operands,
        records.spread(replay.linear),
        record,
        lambda recorded, tangents: loop.push(recorded, tangents, replay),
        loop.pull,
        replay,
    )
    if not plan.places:
        return made
    (structure,) = structures
    recording, num_results = made.recording, len(replay.halves.nonzero_out)
    avals = recording.jaxpr.out_avals[num_results:]
    inverse = stage(lambda *leaves: loop.restore(tree.unflatten(structure, leaves)), avals)
    if inverse.consts:
        return made
    first = len(recording.consts) + records.first_carry
    last = len(recording.jaxpr.outs) - len(plan.places)
    places = [(first + i, i, last + at) for at, i in enumerate(plan.places)]
    recording.jaxpr.derive(
        restoring.RESTORED, lambda: restoring.Inverse(inverse.jaxpr, num_results, places)
    )
    return attrs.evolve(made, is_inverted=True)
