"""The tangent of a loop whose backward pass is not the transpose of its forward pass.

Reverse mode that runs iterations again is not the transposition of a recorded program. So the
tangent map is one equation, which holds both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import attrs

from tinyjax import tree
from tinyjax._extensions.checkpointing.choice import choose
from tinyjax._extensions.checkpointing.replay import Replay
from tinyjax._extensions.checkpointing.restoring import keeping_residuals, reads_restored
from tinyjax._extensions.checkpointing.strategies import LoopRecord, Restore, Strategy
from tinyjax._extensions.checkpointing.trip_counts import of_while
from tinyjax._extensions.checkpointing.views import LoopView, ScanView, WhileView
from tinyjax._primitives.linear_maps import LinearMapParams, def_linear_map
from tinyjax.config import settings
from tinyjax.core.control_flow.bodies import LoopOperands, LoopResults, first_tangents
from tinyjax.core.control_flow.common import def_loop
from tinyjax.core.control_flow.primitives import ScanParams, WhileParams, scan_p, while_p
from tinyjax.core.control_flow.scan import linearize_stacking
from tinyjax.core.jit import program
from tinyjax.core.lowering import lower_jaxpr
from tinyjax.core.primitives.rules import instantiate_all
from tinyjax.core.primitives.shape import zeros_like
from tinyjax.core.stablehlo import Lowering, Values
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules, trace as tr
from tinyjax.core.tracing.primitive import Arrays
from tinyjax.core.tracing.staging import Staged, close_over, stage
from tinyjax.core.transforms.jvp import jvp_jaxpr
from tinyjax.core.transforms.linearize import keeping, linearize_flat
from tinyjax.core.values import Array
from tinyjax.custom_derivatives.custom_calls import has_custom_rules

loop_tangent_p: prim.Primitive[LinearMapParams] = prim.Primitive("loop_tangent", LinearMapParams)
def_linear_map(
    loop_tangent_p, "the tangent of a loop,", "the state at which the loop is differentiated"
)


def_loop(loop_tangent_p, lambda args, params, run: run(params.forward, args), lambda params: None)


loop_tangent_p.def_rule(program_rules.LIVE_ROOT)(
    lambda params: program_rules.contains_live_root(params.forward)
)


@loop_tangent_p.def_rule(program_rules.PRUNE)
def _prune_tangent(eqn: jx.JaxprEqn, used: tuple[bool, ...]) -> jx.JaxprEqn:
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


@loop_tangent_p.def_rule(program_rules.LOWERED)
def _tangent_program(eqn: jx.JaxprEqn) -> jx.Jaxpr:
    params: LinearMapParams = eqn.params
    return params.forward


@loop_tangent_p.def_lowering
def _tangent_lowering(b: Lowering, operands: Values, params: LinearMapParams) -> Values:
    return lower_jaxpr(b, params.forward, list(operands))


def _derivative(
    primals: Arrays, nonzero: tuple[bool, ...], params: LinearMapParams
) -> tuple[Sequence[bool], Callable[[Arrays], Arrays]]:
    """Return which results depend on some linear operands, and the map from these operands.

    A linear map is its own derivative.
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
    linearized = linearize_flat(lambda *xs: jx.eval_jaxpr(params.forward, xs), primals, nonzero)

    def tangent_map(tangents: Arrays) -> Arrays:
        return jx.eval_jaxpr(linearized.jaxpr, [*linearized.residuals, *tangents])

    return linearized.primals_out, linearized.nonzero_out, tangent_map


# Programs of loops: a recording, and the tangent map at it


@attrs.frozen(eq=False, repr=False)
class _Programs:
    """The programs that replace a loop.

    Attributes:
        recording: takes the loop's operands; returns its results and the inputs of the backward
            pass.
        params: the tangent map. Its residuals are ``consts``, operands of the loop, and what
            ``recording`` returns for it.
        consts: arrays that the body's derivatives close over.
    """

    recording: Staged
    params: LinearMapParams
    consts: list[Array]

    @classmethod
    def build(cls, strategy: Strategy) -> _Programs:
        """Make the programs of a strategy."""
        view, replay = strategy.view, strategy.replay
        tangents = view.spread(replay.linear)
        trees: list[tree.PyTreeDef] = []

        def recorded(*args: Array) -> list[Array]:
            outs, record = strategy.record(args)
            leaves, structure = tree.flatten(record)
            trees.append(structure)
            return [*outs, *leaves]

        recording = stage(recorded, view.avals)
        (structure,) = trees
        n = structure.num_leaves
        avals = recording.jaxpr.out_avals
        results, residuals = avals[: len(avals) - n], avals[len(avals) - n :]

        def read(leaves: Arrays) -> LoopRecord:
            record: LoopRecord = tree.unflatten(structure, leaves)
            return record

        def pushed(*args: Array) -> Arrays:
            return strategy.push(read(args[:n]), tangents.like(args[n:]))

        def pulled(replay: Replay, *args: Array) -> Arrays:
            m = n + len(replay.linear.carry)
            return strategy.pull(read(args[:n]), LoopResults(args[n:m], args[m:]), replay).flat

        cotangents = [
            aval.tangent().cotangent() for aval in prim.marked(results, replay.halves.nonzero_out)
        ]
        forward = stage(pushed, [*residuals, *tangents.flat])
        backward = stage(partial(pulled, replay), [*residuals, *cotangents])
        (there, back), consts = close_over([forward, backward])
        skip = len(consts)
        masked = replay.masked(lambda replay, *args: pulled(replay, *args[skip:]))
        params = LinearMapParams(there, back, skip + n, masked)
        if isinstance(strategy, Restore) and strategy.plan.places:
            inverse = stage(lambda *leaves: strategy.restore(read(leaves)), residuals)
            if not inverse.consts:
                first = len(recording.consts) + view.first_carry
                last = len(avals) - len(strategy.plan.places)
                places = [(first + i, i, last + at) for at, i in enumerate(strategy.plan.places)]
                facts = jx.ProgramFacts(inverse=jx.Inverse(inverse.jaxpr, len(results), places))
                recording = attrs.evolve(recording, jaxpr=jx.with_facts(recording.jaxpr, facts))
        return cls(recording, params, consts)

    def run(
        self,
        view: LoopView,
        primals: Arrays,
        nonzero: Sequence[bool],
        nonzero_in: LoopOperands[bool],
        nonzero_out: Sequence[bool],
    ) -> prim.LinearizeResult:
        """Run the loop; return its results, which have tangents, and its tangent map.

        Args:
            view: the loop.
            primals: its operands.
            nonzero: which of them have tangents.
            nonzero_in: which operands of its body have one in some iteration.
            nonzero_out: which results have one.
        """
        recording, args = self.recording, view.operands(primals)
        operands = [*recording.consts, *primals]
        if recording.jaxpr.facts.inverse is not None:  # loops around this one restore arrays by it
            call = program.JitParams(recording.jaxpr, "recorded_loop")
            outs = tr.bind(program.jit_p, operands, call)
        else:
            outs = jx.eval_jaxpr(recording.jaxpr, operands)
        m = len(nonzero_out)
        residuals = (*self.consts, *outs[m:])

        def tangent_map(tangents: Arrays) -> Arrays:
            given = view.operands(prim.with_zeros(nonzero, tangents))
            linear = first_tangents(args, given, nonzero_in)
            return tr.bind(loop_tangent_p, (*residuals, *linear.flat), self.params)

        return outs[:m], nonzero_out, tangent_map


def _build(
    view: LoopView, nonzero: LoopOperands[bool], nonzero_out: tuple[bool, ...]
) -> _Programs | None:
    """Make the programs of the strategy that is chosen; None where the loop stacks residuals."""
    strategy = choose(view, nonzero, nonzero_out).strategy
    return None if strategy is None else _Programs.build(strategy)


@while_p.def_rule(program_rules.REVERSAL)
def linearize_while(
    primals: Arrays, nonzero: Sequence[bool], params: WhileParams
) -> prim.LinearizeResult:
    """Run a loop and keep its residuals: the linearize rule of while."""
    params = of_while(params, primals)
    view = WhileView.build(params)
    nonzero_in = view.body.tangents(view.operands(nonzero))
    if not any(nonzero_in.carry):
        outs = _run_with_rules(primals, nonzero, params)
        return outs, nonzero_in.carry, lambda _: ()
    programs = params.body.derive(
        (
            "reverse",
            *(params.condition, params.num_condition, params.checkpoints, params.observer),
            *(params.memory, params.most, settings().debugging, tuple(nonzero), keeping.get()),
        ),
        lambda: _build(view, nonzero_in, tuple(nonzero_in.carry)),
    )
    assert programs is not None, "a while_loop stacks nothing itself"
    return programs.run(view, primals, nonzero, nonzero_in, nonzero_in.carry)


def _run_with_rules(primals: Arrays, nonzero: Sequence[bool], params: WhileParams) -> Arrays:
    """Run a loop whose state has no tangents, with the effects of custom rules in it."""
    if not has_custom_rules(params.body):
        return tr.bind(while_p, primals, params)
    zeros = [zeros_like(x) if n else prim.ZERO for x, n in zip(primals, nonzero, strict=True)]
    return while_p.rules.jvp(primals, zeros, params)[0]


@scan_p.def_rule(program_rules.REVERSAL)
def linearize_scan(
    primals: Arrays, nonzero: Sequence[bool], params: ScanParams
) -> prim.LinearizeResult:
    """Run a loop and keep its residuals: the linearize rule of scan."""
    if settings().debugging:  # messages name iterations, which a loop in pieces does not have
        return linearize_stacking(primals, nonzero, params)
    view, body, halves = ScanView.build(params), params.loop_body, None
    if params.checkpoints is None:
        halves = nonzero_in, lin = body.linearized(body.operands(nonzero))
        nonzero_out = lin.nonzero_out
    else:
        nonzero_in = body.tangents(body.operands(nonzero))
        _, nonzero_out = body.with_tangents(nonzero_in)
    programs = params.jaxpr.derive(
        (
            "reverse",
            *(params.num_consts, params.num_carry, params.length, params.reverse, params.unroll),
            *(params.checkpoints, params.observer, tuple(nonzero), keeping.get()),
        ),
        lambda: _build(view, nonzero_in, nonzero_out),
    )
    if programs is not None:
        return programs.run(view, primals, nonzero, nonzero_in, nonzero_out)
    if halves is not None and reads_restored(halves[1]):
        with keeping_residuals():
            halves = body.linearized(body.operands(nonzero))
    return linearize_stacking(primals, nonzero, params, halves)
