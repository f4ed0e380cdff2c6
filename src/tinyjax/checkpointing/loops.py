"""The tangent of a loop whose way back is not the transpose of its way forward.

Reverse mode that runs iterations again is no transposition of a recorded program. So the tangent
map is one equation, which holds both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from tinyjax import lazy
from tinyjax.checkpointing import schedule
from tinyjax.checkpointing.schedule import Kept, Online, advance, element, integer, plus, write
from tinyjax.config import settings
from tinyjax.core.names import cf, cfp, low, lz, pr, prim, program, ru, sc, sh, tp, tr, wl
from tinyjax.core.primitives.elementwise import add, and_, gt, lt, sub
from tinyjax.core.stablehlo import Lowering, Values
from tinyjax.core.tracing.jaxpr import Jaxpr, effects as effects_of_program, eval_jaxpr
from tinyjax.core.tracing.staging import Staged, close_over, stage
from tinyjax.core.values import Array, ShapedArray
from tinyjax.core.values.avals import stacked
from tinyjax.primitives.linear_maps import LinearMapParams, MaskedPullBack, def_linear_map

loop_tangent_p: prim.Primitive[LinearMapParams] = prim.Primitive("loop_tangent", LinearMapParams)
def_linear_map(
    loop_tangent_p, "the tangent of a loop,", "the state at which the loop is differentiated"
)


cf.def_loop(
    loop_tangent_p, lambda args, params, run: run(params.forward, args), lambda params: None
)


loop_tangent_p.def_rule(pr.ASKED)(lambda params: pr.asks_within(params.forward))


@loop_tangent_p.def_lowering
def _tangent_lowering(b: Lowering, operands: Values, params: LinearMapParams) -> Values:
    return low.lower_jaxpr(b, params.forward, list(operands))


def _along(
    primals: Sequence[Array], tangents: Sequence[prim.Tangent], params: LinearMapParams
) -> Sequence[Array]:
    """Apply the map to tangents of its linear operands alone: it is its own derivative."""
    n = params.num_residuals
    linear = ru.instantiate_all(tangents[n:], [x.aval for x in primals[n:]])
    return tr.bind(loop_tangent_p, (*primals[:n], *linear), params)


@loop_tangent_p.def_jvp
def _tangent_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: LinearMapParams
) -> prim.JvpResult:
    if any(prim.nonzeros(tangents[: params.num_residuals])):
        return program.jvp_of_call(params.forward, primals, tangents)
    return tr.bind(loop_tangent_p, primals, params), _along(primals, tangents, params)


@loop_tangent_p.def_linearize
def _tangent_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: LinearMapParams
) -> prim.LinearizeResult:
    if not any(nonzero[: params.num_residuals]):
        outs = tr.bind(loop_tangent_p, primals, params)

        def same_map(tangents: Sequence[Array]) -> Sequence[Array]:
            return _along(primals, prim.with_zeros(nonzero, tangents), params)

        return outs, [True] * len(outs), same_map
    linearized = lz.linearize_flat(lambda *xs: eval_jaxpr(params.forward, xs), primals, nonzero)

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        return eval_jaxpr(linearized.jaxpr, [*linearized.residuals, *tangents])

    return linearized.primals_out, linearized.nonzero_out, tangent_map


# Reverse mode through loops, in memory that does not grow with the number of iterations.
#
# A loop is run once, and a fixed number of its states are kept. The way back starts every
# iteration from the nearest state kept before it, runs the body from there, and keeps further
# states in the places that have become free. ``schedule`` says which.


#: With room for so many states they are all stacked; with room for fewer, few are kept, and well
#: chosen.
MANY: Final = 64
#: Makes one iteration: takes its number and the state; returns the next state.
Step = Callable[[Array, Sequence[Array]], Sequence[Array]]
#: Pulls cotangents back through an iteration: takes its number, the state before it, what has been
#: summed or collected so far, and the cotangents of the state after it; returns the latter two.
Pull = Callable[
    [Array, Sequence[Array], Sequence[Array], Sequence[Array]],
    tuple[Sequence[Array], Sequence[Array]],
]
#: What a body of a loop computes: takes its operands; returns its results.
_Body = Callable[..., list[Array]]


@attrs.frozen(eq=False, repr=False)
class _Programs:
    """What becomes of a loop.

    Attributes:
        recording: takes the loop's operands; returns its results and what the way back needs.
        params: the tangent map. Its residuals are ``consts``, operands of the loop, and what
            ``recording`` returns for it.
        consts: arrays that the body's derivatives close over.
    """

    recording: Staged
    params: LinearMapParams
    consts: list[Array]

    @classmethod
    def of(
        cls,
        recording: Staged,
        forward: Staged,
        pull: Callable[[Sequence[Array], _Replay], Sequence[Array]],
        operands: Sequence[ShapedArray],
        replay: _Replay,
    ) -> _Programs:
        """Make the tangent map.

        Args:
            recording: runs the loop.
            forward: runs it again with tangents.
            pull: pulls back, of residuals and cotangents.
            operands: the types of these.
            replay: what derivatives run again.
        """
        backward = stage(lambda *args: pull(args, replay), operands)
        (there, back), consts = close_over([forward, backward])
        n = len(there.in_binders) - sum(map(len, replay.linear))
        params = LinearMapParams(there, back, n, replay.masked(pull, len(consts)))
        return cls(recording, params, consts)


def _go_back(
    iterations: Array,
    kept: Kept,
    init: Sequence[Array],
    step: Step,
    pull: Pull,
    sums: Sequence[Array],
    cotangents: Sequence[Array],
    observer: cf.Observer | None,
) -> Sequence[Array]:
    """Pull cotangents back through the iterations of a loop, the last one first.

    Args:
        iterations: how many there were.
        kept: the states kept when the loop had ended.
        init: the first state.
        step: makes an iteration.
        pull: goes back through one.
        sums: what ``pull`` sums up or collects, at the start.
        cotangents: of the last state.
        observer: who looks on while the loop runs.

    Returns:
        The sums and the cotangents of the first state.
    """
    m, size = len(init), kept.size
    width = len(kept.arrays)

    def iteration(end: Array, *args: Array) -> list[Array]:
        arrays, sums_, cts = prim.split_list(args, width, len(sums))
        position, state = Kept.of(arrays).load(init, iterations, end)
        target = plus(end, -1)

        def segment(start: Array, *args: Array) -> list[Array]:
            state, arrays = prim.split_list(args, m)
            kept = Kept.of(arrays)
            stop = add(start, advance(sub(end, start), kept.free))

            def one(i: Array, *state: Array) -> list[Array]:
                return [plus(i, 1), *step(i, state)]

            state = list(cfp.run_while(lambda i, *_: lt(i, stop), one, [start, *state], size)[1:])
            return [stop, *state, *kept.push(stop, state, lt(stop, target)).arrays]

        outs = cfp.run_while(
            lambda p, *_: lt(p, target), segment, [position, *state, *arrays], size
        )
        state, arrays = prim.split_list(outs[1:], m)
        sums_, cts = map(list, pull(target, state, sums_, cts))
        return [target, *Kept.of(arrays).pop(target).arrays, *sums_, *cts]

    start = [iterations, *kept.arrays, *sums, *cotangents]
    backward = cf.in_phase(observer, "backward")
    outs = cfp.run_while(lambda end, *_: gt(end, integer(0)), iteration, start, size, backward)
    return outs[1 + width :]


def _primal_half(body: Jaxpr, nonzero: Sequence[bool]) -> _Body:
    """The results of a body, as its linearization computes them.

    Where a function in the body has a rule, these are what the rule returns, as in a loop that
    keeps all residuals. So a derivative of the way back does not come to the rule again.
    """
    primal = lz.linearize_jaxpr(body, tuple(nonzero)).primal
    n = len(body.outs)
    jaxpr = pr.dce(primal.jaxpr, [i < n for i in range(len(primal.jaxpr.outs))])
    return lambda *operands: eval_jaxpr(jaxpr, [*primal.consts, *operands])


@attrs.frozen(eq=False, repr=False)
class _Replay:
    """What derivatives run again of the body of a loop.

    They need no state that neither a residual nor another state they need depends on: a counter, or
    a stack that is only written to. So a derivative of the way back keeps no stacks of stacks.

    Attributes:
        halves: the body, split in its primal half and its tangent map.
        nonzero: which operands of the body have tangents.
        needed: which operands residuals depend on, in this iteration or in a later one.
        num_other: how many operands come before the state.
        num_state: how many are the state.
        tangent: the tangent map, which may take masks.
        linear: the types of its linear operands: beside the state, of the state, and of slices.
    """

    halves: lz.LinearizedJaxpr
    nonzero: tuple[bool, ...]
    needed: tuple[bool, ...]
    num_other: int
    num_state: int
    tangent: Jaxpr
    linear: tuple[tuple[ShapedArray, ...], ...]

    @classmethod
    def of(
        cls,
        body: Jaxpr,
        num_other: int,
        num_state: int,
        nonzero: tuple[bool, ...],
        nonzero_out: tuple[bool, ...],
    ) -> _Replay:
        halves = lz.linearize_jaxpr(body, nonzero, nonzero_out)
        primal, m = halves.primal, num_state
        results = [False] * (len(body.outs) - m)
        computed = [True] * (len(primal.jaxpr.outs) - len(body.outs))

        def needed(state: Sequence[bool]) -> tuple[bool, ...]:
            _, marks = pr.prune_results(primal.jaxpr, (*state, *results, *computed))
            marks_in = enumerate(marks[len(primal.consts) :])
            return tuple([mark or i in halves.forwarded for i, mark in marks_in])

        state = cf.fixed_point([False] * m, lambda state: needed(state)[num_other : num_other + m])
        groups = zip(
            prim.split_list(body.in_avals, num_other, m),
            prim.split_list(nonzero, num_other, m),
            strict=True,
        )
        linear = tuple([tuple(_tangents(avals, nz)) for avals, nz in groups])
        return cls(halves, nonzero, needed(state), num_other, m, halves.tangent, linear)

    def masked(
        self, pull: Callable[[Sequence[Array], _Replay], Sequence[Array]], num_consts: int
    ) -> MaskedPullBack:
        """Return the way back with masks.

        Args:
            pull: makes the way back, of residuals and cotangents.
            num_consts: how many operands come first that it does not take.
        """
        sizes_in = tuple(map(len, self.linear))
        skip = len(self.tangent.in_binders) - sum(sizes_in)
        state, count = sizes_in[1], len(self.tangent.outs)
        sizes_out = state, count - state

        def pull_back(*operands: Array) -> Sequence[Array]:
            programs = lazy.room("choices").programs
            tangent = programs.bordered(
                self.tangent,
                (*[False] * skip, *[True] * sum(sizes_in)),
                (True,) * count,
                (skip + sizes_in[0], *sizes_in[1:]),
                sizes_out,
            )
            linear = tuple(map(programs.with_masks, self.linear))
            return pull(operands[num_consts:], attrs.evolve(self, tangent=tangent, linear=linear))

        return MaskedPullBack(self.tangent, sizes_in, sizes_out, pull_back)

    @property
    def state(self) -> tuple[bool, ...]:
        """Which parts of the state are needed."""
        return self.needed[self.num_other : self.num_other + self.num_state]

    def part(self, state: Sequence[Array]) -> list[Array]:
        """Return the parts of a state that are needed."""
        return list(prim.marked(state, self.state))

    def avals(self) -> list[ShapedArray]:
        """Return the types of these parts."""
        avals = self.halves.primal.jaxpr.in_avals[len(self.halves.primal.consts) :]
        return list(prim.marked(avals[self.num_other :][: self.num_state], self.state))

    def step(self, *operands: Array) -> list[Array]:
        """Make an iteration, of what is needed alone."""
        return self._run(operands, self.state, residuals=False)

    def residuals(self, *operands: Array) -> list[Array]:
        """Return what the tangent map of an iteration needs, of the operands that are needed."""
        computed = self._run(operands, [False] * self.num_state, residuals=True)
        places = prim.marked(range(len(self.needed)), self.needed)
        return self.halves.residuals(dict(zip(places, operands, strict=True)), computed)

    def _run(
        self, operands: Sequence[Array], state: Sequence[bool], residuals: bool
    ) -> list[Array]:
        primal = self.halves.primal
        num_results = len(self.halves.nonzero_out)
        results = [False] * (num_results - len(state))
        used = (*state, *results, *[residuals] * (len(primal.jaxpr.outs) - num_results))
        needed = (*[True] * len(primal.consts), *self.needed)
        return eval_jaxpr(pr.shorten(primal.jaxpr, used, needed), [*primal.consts, *operands])


def _as_arrays(cotangents: Sequence[prim.Tangent], avals: Sequence[ShapedArray]) -> list[Array]:
    """Cotangents of tangents of some types, with zeros where one is ``ZERO``."""
    return [
        sh.zero_cotangent(aval) if ct is prim.ZERO else ct
        for ct, aval in zip(cotangents, avals, strict=True)
    ]


def _add_all(sums: Sequence[Array], cotangents: Sequence[prim.Tangent]) -> list[Array]:
    return [s if ct is prim.ZERO else add(s, ct) for s, ct in zip(sums, cotangents, strict=True)]


# while_loop: where states are kept is decided on the way


@wl.while_p.def_rule(pr.CHECKPOINTED)
def linearize_while(
    primals: prim.Arrays, nonzero: Sequence[bool], params: cfp.WhileParams
) -> prim.LinearizeResult:
    """Run a loop that keeps states on the way: the linearize rule of while."""
    nz_other, nz_state, _ = cfp.while_body_jvp(params, nonzero)
    if not any(nz_state):
        return tr.bind(wl.while_p, primals, params), nz_state, lambda _: ()
    nz_fixed, _, nz_init = prim.split_list(nonzero, params.num_condition, params.num_body)
    stacks = _stacks_states(params)
    programs = params.body.derive(
        (
            "reverse",
            params.condition,
            params.num_condition,
            params.checkpoints,
            params.observer,
            stacks,
            tuple(nonzero),
        ),
        lambda: _while_programs(params, nz_other, nz_state, stacks),
    )
    recording = programs.recording
    outs = eval_jaxpr(recording.jaxpr, [*recording.consts, *primals])
    m = len(nz_state)
    init = primals[len(primals) - m :]
    residuals = [*programs.consts, *outs[m:]]

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        _, t_other, t_init = prim.split_list(tangents, sum(nz_fixed), sum(nz_other))
        start = cf.first_tangents(init, prim.with_zeros(nz_init, t_init), nz_state)
        return tr.bind(loop_tangent_p, (*residuals, *t_other, *start), programs.params)

    return outs[:m], nz_state, tangent_map


def _while_programs(
    params: cfp.WhileParams,
    nz_other: Sequence[bool],
    nz_state: tuple[bool, ...],
    stacks: bool,
) -> _Programs:
    avals = params.body.in_avals
    other, state = avals[: params.num_body], avals[params.num_body :]
    fixed = params.condition.in_avals[: params.num_condition]
    nonzero = (*nz_other, *nz_state)
    replay = _Replay.of(params.body, params.num_body, len(state), nonzero, nz_state)
    record = _record_stacked if stacks else _record_while
    recording = stage(lambda *args: record(args, params, replay), [*fixed, *other, *state])
    residuals = recording.jaxpr.out_avals[len(state) :]
    t_other, t_state = _tangents(other, nz_other), _tangents(state, nz_state)
    forward = stage(
        lambda *args: _push_while(args, params, replay), [*residuals, *t_other, *t_state]
    )
    return _Programs.of(
        recording,
        forward,
        lambda args, replay: _pull_while(args, params, replay, stacks),
        [*residuals, *[aval.cotangent() for aval in t_state]],
        replay,
    )


def _tangents(avals: Sequence[ShapedArray], nonzero: Sequence[bool]) -> list[ShapedArray]:
    return [aval.tangent() for aval, has in zip(avals, nonzero, strict=True) if has]


def _record_while(args: prim.Arrays, params: cfp.WhileParams, replay: _Replay) -> prim.Arrays:
    """Run a loop; return the last state, and what its derivatives need.

    These are operands of the body, the first state, the number of iterations, and the states kept.
    """
    fixed, other, init = prim.split_list(args, params.num_condition, params.num_body)
    m, size = len(init), params.checkpoints
    body = _primal_half(params.body, replay.nonzero)

    def goes_on(*args: Array) -> Array:
        return eval_jaxpr(params.condition, [*fixed, *args[:m]])[0]

    def iteration(*args: Array) -> list[Array]:
        state, (n,), online = prim.split_list(args, m, 1)
        kept = Online.of(online).offer(n, replay.part(state))
        return [*body(*other, *state), plus(n, 1), *kept.arrays]

    start = [*init, integer(0), *Online.start(replay.part(init), size).arrays]
    outs = cfp.run_while(goes_on, iteration, start, size, params.observer)
    state, (n,), online = prim.split_list(outs, m, 1)
    first = prim.marked([*other, *init], replay.needed)
    return [*state, *first, n, *Online.of(online).kept.arrays]


def _stacks_states(params: cfp.WhileParams) -> bool:
    """Whether to stack states: there is room for many, and no iteration is to be counted."""
    effects = effects_of_program(params.condition).any or effects_of_program(params.body).any
    return (
        params.checkpoints >= MANY
        and params.observer is None
        and not effects
        and not settings().debugging
    )


def _record_stacked(args: prim.Arrays, params: cfp.WhileParams, replay: _Replay) -> prim.Arrays:
    """Run a loop, and stack its states; return what ``_record_while`` does."""
    fixed, other, init = prim.split_list(args, params.num_condition, params.num_body)
    body = _primal_half(params.body, replay.nonzero)
    outs = schedule.record(
        lambda *state: eval_jaxpr(params.condition, [*fixed, *state])[0],
        lambda *state: body(*other, *state),
        init,
        replay.part,
        params.checkpoints,
    )
    state, kept = prim.split_list(outs, len(init))
    return [*state, *prim.marked([*other, *init], replay.needed), *kept]


def _push_while(args: Sequence[Array], params: cfp.WhileParams, replay: _Replay) -> Sequence[Array]:
    """Run a loop again, as often as it ran, with tangents."""
    nz_other, nz_state = prim.split_list(replay.nonzero, replay.num_other)
    num_tangents = sum(nz_other) + sum(nz_state)
    residuals, t_other, t_init = prim.split_list(args, len(args) - num_tangents, sum(nz_other))
    m = sum(replay.state)
    other, init, (n,), _ = prim.split_list(residuals, sum(replay.needed) - m, m, 1)

    def iteration(i: Array, *args: Array) -> list[Array]:
        state, tangents = prim.split_list(args, m)
        operands = [*other, *state]
        tangents_in = [*replay.residuals(*operands), *t_other, *tangents]
        after = eval_jaxpr(replay.halves.tangent, tangents_in)
        return [plus(i, 1), *replay.step(*operands), *after]

    start = [integer(0), *init, *t_init]
    tangent = cf.in_phase(params.observer, "tangent")
    outs = cfp.run_while(lambda i, *_: lt(i, n), iteration, start, params.checkpoints, tangent)
    return outs[1 + m :]


def _pull_while(
    args: Sequence[Array], params: cfp.WhileParams, replay: _Replay, stacks: bool
) -> Sequence[Array]:
    """Pull cotangents of the last state back to the constants and the first state."""
    t_other, t_state, _ = replay.linear
    residuals, ct_last = prim.split_list(args, len(args) - len(t_state))
    m = sum(replay.state)
    other, init, (n,), kept = prim.split_list(residuals, sum(replay.needed) - m, m, 1)

    def pull(
        state: Sequence[Array], sums: Sequence[Array], cts: Sequence[Array]
    ) -> tuple[list[Array], list[Array]]:
        pulled = tp.backward_pass(replay.tangent, replay.residuals(*other, *state), cts)
        into_other, into_state = prim.split_list(pulled, len(sums))
        return _add_all(sums, into_other), _as_arrays(into_state, t_state)

    def step(*state: Array) -> list[Array]:
        return replay.step(*other, *state)

    sums = [sh.zero_cotangent(aval) for aval in t_other]
    if stacks:
        stacked = [n, *kept]
        avals, size = replay.avals(), params.checkpoints
        return schedule.go_back(stacked, avals, step, pull, sums, ct_last, size)
    return _go_back(
        n,
        Kept.of(kept),
        init,
        lambda _, state: step(*state),
        lambda _, *args: pull(*args),
        sums,
        ct_last,
        params.observer,
    )


# scan: the number of iterations is known, so states are kept where the schedule is the best there
# is


@cfp.scan_p.def_rule(pr.CHECKPOINTED)
def linearize_scan(
    primals: prim.Arrays, nonzero: Sequence[bool], params: cfp.ScanParams
) -> prim.LinearizeResult:
    """Run a loop that keeps some states, for a way back that runs iterations again."""
    if settings().debugging:  # run in pieces it has no iterations that messages could name
        return sc.linearize_stacking(primals, nonzero, params)
    jaxpr, k, m = params.jaxpr, params.num_consts, params.num_carry
    nz_consts, nz_init, _ = prim.split_list(nonzero, k, m)
    nz_carry, nz_out, _ = cfp.scan_body_jvp(params, nonzero)
    programs = jaxpr.derive(
        (
            "reverse",
            *(k, m, params.length, params.reverse, params.checkpoints, params.observer),
            tuple(nonzero),
        ),
        lambda: _scan_programs(params, nonzero),
    )
    recording = programs.recording
    outs = eval_jaxpr(recording.jaxpr, [*recording.consts, *primals])
    results, kept = prim.split_list(outs, len(jaxpr.outs))
    residuals = [*programs.consts, *kept]

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        t_consts, t_init, t_xs = prim.split_list(tangents, sum(nz_consts), sum(nz_init))
        start = cf.first_tangents(primals[k : k + m], prim.with_zeros(nz_init, t_init), nz_carry)
        return tr.bind(loop_tangent_p, (*residuals, *t_consts, *start, *t_xs), programs.params)

    return results, nz_out, tangent_map


def _scan_programs(params: cfp.ScanParams, nonzero: Sequence[bool]) -> _Programs:
    k, m = params.num_consts, params.num_carry
    consts, carry, slices = prim.split_list(params.jaxpr.in_avals, k, m)
    operands = [*consts, *carry, *stacked(slices, params.length)]
    nz_consts, _, nz_xs = prim.split_list(nonzero, k, m)
    nz_carry, nz_out, _ = cfp.scan_body_jvp(params, nonzero)
    chosen = (*nz_consts, *nz_carry, *nz_xs)
    replay = _Replay.of(params.jaxpr, k, m, chosen, tuple(nz_out))
    recording = stage(lambda *args: _record_scan(args, params, replay), operands)
    results, residuals = prim.split_list(recording.jaxpr.out_avals, len(nz_out))
    forward = stage(
        lambda *args: _push_scan(args, params, replay),
        [*residuals, *_tangents(operands, chosen)],
    )
    return _Programs.of(
        recording,
        forward,
        lambda args, replay: _pull_scan(args, params, replay),
        [*residuals, *[aval.cotangent() for aval in _tangents(results, nz_out)]],
        replay,
    )


def _place(i: Array, params: cfp.ScanParams) -> Array:
    """The slice that belongs to an iteration."""
    return sub(integer(params.length - 1), i) if params.reverse else i


def _slices(xs: Sequence[Array], place: Array) -> list[Array]:
    return [element(x, place) for x in xs]


def _record_scan(args: prim.Arrays, params: cfp.ScanParams, replay: _Replay) -> prim.Arrays:
    """Run a loop; return the last carry, the outputs, and what its derivatives need.

    These are operands of the loop, and the states kept.
    """
    assert params.checkpoints is not None, (
        "without checkpoints every iteration's residuals are kept"
    )
    jaxpr, m, length = params.jaxpr, params.num_carry, params.length
    body = _primal_half(jaxpr, replay.nonzero)
    consts, init, xs = prim.split_list(args, params.num_consts, m)
    num_ys = len(jaxpr.outs) - m
    size = min(params.checkpoints, length)
    last = integer(length - 1)

    def iteration(i: Array, *args: Array) -> list[Array]:
        carry, ys = prim.split_list(args, m)
        place = _place(i, params)
        carry, parts = prim.split_list(body(*consts, *carry, *_slices(xs, place)), m)
        return [plus(i, 1), *carry, *write(ys, parts, place)]

    def segment(start: Array, *args: Array) -> list[Array]:
        carry, ys, arrays = prim.split_list(args, m, num_ys)
        inside = and_(gt(start, integer(0)), lt(start, last))
        kept = Kept.of(arrays).push(start, replay.part(carry), inside)
        stop = add(start, advance(sub(integer(length), start), kept.free))
        outs = cfp.run_while(lambda i, *_: lt(i, stop), iteration, [start, *carry, *ys], size)
        return [*outs, *kept.arrays]

    ys = [sh.full((length, *aval.shape), 0, aval.dtype) for aval in jaxpr.out_avals[m:]]
    start = [integer(0), *init, *ys, *Kept.start(replay.part(init), size).arrays]
    observer = None if params.observer is None else params.observer.reading(0)
    outs = cfp.run_while(lambda i, *_: lt(i, integer(length)), segment, start, size, observer)[1:]
    results, kept = prim.split_list(outs, m + num_ys)
    return [*results, *prim.marked(args, replay.needed), *kept]


def _split_scan(
    args: Sequence[Array], params: cfp.ScanParams, replay: _Replay
) -> tuple[list[Array], list[Array], list[Array], list[Array]]:
    """Take apart what ``_record_scan`` keeps: constants, the first state, inputs, and the rest."""
    sizes = sum(replay.needed[: params.num_consts]), sum(replay.state)
    consts, init, xs, rest = prim.split_list(args, *sizes, sum(replay.needed) - sum(sizes))
    return consts, init, xs, rest


def _push_scan(args: Sequence[Array], params: cfp.ScanParams, replay: _Replay) -> Sequence[Array]:
    """Run a loop again with tangents, and return those of its results."""
    k, m, avals = params.num_consts, sum(replay.state), params.jaxpr.in_avals
    num_consts, num_carry = sum(replay.nonzero[:k]), sum(replay.nonzero[k : k + params.num_carry])
    consts, init, xs, rest = _split_scan(args, params, replay)
    _, t_consts, t_init, t_xs = prim.split_list(rest, 3 + m, num_consts, num_carry)
    c, s, x = prim.split_list(prim.marked(avals, replay.needed), len(consts), m)
    tc, ts, tx = prim.split_list(_tangents(avals, replay.nonzero), num_consts, num_carry)

    def iteration(*args: Array) -> list[Array]:
        sizes = len(c), len(tc), m, len(ts), len(x)
        consts, t_consts, state, t_state, xs, t_xs = prim.split_list(args, *sizes)
        operands = [*consts, *state, *xs]
        tangents_in = [*replay.residuals(*operands), *t_consts, *t_state, *t_xs]
        return [*replay.step(*operands), *eval_jaxpr(replay.halves.tangent, tangents_in)]

    body = stage(iteration, [*c, *tc, *s, *ts, *x, *tx])
    fixed, carry = [*body.consts, *consts, *t_consts], [*init, *t_init]
    tangent = attrs.evolve(params, observer=cf.in_phase(params.observer, "tangent"))
    return cfp.bind_scan(body.jaxpr, fixed, carry, [*xs, *t_xs], tangent)[m:]


def _pull_scan(args: Sequence[Array], params: cfp.ScanParams, replay: _Replay) -> Sequence[Array]:
    """Pull cotangents of the results back to the constants, the first carry and the inputs."""
    t_consts, t_carry, t_slices = replay.linear
    sizes = len(t_consts), len(t_carry)
    consts, init, xs, rest = _split_scan(args, params, replay)
    kept, ct_carry, ct_ys = prim.split_list(rest, 3 + len(init), len(t_carry))

    def step(i: Array, carry: Sequence[Array]) -> Sequence[Array]:
        return replay.step(*consts, *carry, *_slices(xs, _place(i, params)))

    def pull(
        i: Array, carry: Sequence[Array], sums: Sequence[Array], cts: Sequence[Array]
    ) -> tuple[list[Array], list[Array]]:
        place = _place(i, params)
        residuals = replay.residuals(*consts, *carry, *_slices(xs, place))
        cotangents = [*cts, *_slices(ct_ys, place)]
        pulled = tp.backward_pass(replay.tangent, residuals, cotangents)
        into_consts, into_carry, into_xs = prim.split_list(pulled, *sizes)
        totals, collected = prim.split_list(sums, len(into_consts))
        parts = _as_arrays(into_xs, t_slices)
        return (
            [*_add_all(totals, into_consts), *write(collected, parts, place)],
            _as_arrays(into_carry, t_carry),
        )

    sums = [sh.zero_cotangent(aval) for aval in (*t_consts, *stacked(t_slices, params.length))]
    iterations = integer(params.length)
    states, observer = Kept.of(kept), params.observer
    outs = _go_back(iterations, states, init, step, pull, sums, ct_carry, observer)
    into_consts, into_xs, into_init = prim.split_list(outs, len(t_consts), len(t_slices))
    return [*into_consts, *into_init, *into_xs]
