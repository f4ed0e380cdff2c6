"""The checkpointed program as a primitive: its derivative computes values again."""

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from tinyjax import dtypes
from tinyjax.checkpointing import policies, split_loops as split_loops  # noqa: PLC0414 (rules)
from tinyjax.checkpointing.rematerialize import split_jaxpr
from tinyjax.core import lowering as low
from tinyjax.core.jit.program import def_call
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules as pr, trace as tr
from tinyjax.core.tracing.program_rules import INLINED
from tinyjax.core.tracing.staging import Staged
from tinyjax.core.transforms.linearize import linearize_jaxpr
from tinyjax.core.values.array import Array


@attrs.frozen(eq=False, repr=False)
class CheckpointParams(prim.Params):
    """A program whose derivative computes values again.

    Attributes:
        jaxpr: the program.
        policy: what is kept.
        prevent_cse: whether the compiler must not merge the recomputation with the first one.
        differentiated: whether this is a derivative, in which things are computed again.
        name: the function's name; programs that differ in name only are the same.
    """

    jaxpr: jx.Jaxpr
    policy: policies.Policy
    prevent_cse: bool
    differentiated: bool = False
    name: str = attrs.field(default="f", eq=False)


checkpoint_p: prim.Primitive[CheckpointParams] = prim.Primitive("checkpoint", CheckpointParams)


@checkpoint_p.def_lowering
def _checkpoint_lowering(b: Lowering, operands: hlo.Values, params: CheckpointParams) -> hlo.Values:
    always = _always(b, operands) if _kept_apart(params) else None
    if always is None:
        return low.call_jaxpr(b, params.jaxpr, params.name, operands)
    results, avals = b.results, params.jaxpr.out_avals

    def run(_: hlo.Values) -> hlo.Values:
        return low.from_branch(b, low.call_jaxpr(b, params.jaxpr, params.name, operands), avals)

    regions = b.region((), lambda _: [b.full(0, of) for of in results]), b.region((), run)
    # not ``if``, through which XLA does not tell how values are divided over devices
    index = b.convert(always, dtypes.int32)
    return low.from_branches(b, b.emit("stablehlo.case", (index,), results, {}, regions), avals)


@checkpoint_p.def_rule(INLINED)
def _checkpoint_inlined(params: CheckpointParams) -> jx.Jaxpr | None:
    return None if _kept_apart(params) else params.jaxpr


def _kept_apart(params: CheckpointParams) -> bool:
    return (
        params.prevent_cse
        and params.differentiated
        and not jx.effects(params.jaxpr).ordered
        and _materializes(params.jaxpr)
    )


# What XLA on CPU does not fuse into the loops of its neighbours: the operations whose results are
# kept in memory. Of a program without any it keeps nothing anyhow, and would turn a conditional
# into computing both sides (2.5 MB where it needs none: 64 sines and tangents of 10,000 numbers).
_MATERIALIZED: Final = frozenset(
    (
        *("cond", "conv_general_dilated", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"),
        *("dot_general", "dynamic_update_slice", "gather", "linear_recurrence", "pure_callback"),
        *("reduce_window_max", "reduce_window_min", "reduce_window_sum", "scan", "scatter"),
        *("scatter_add", "scatter_max", "scatter_min", "scatter_mul", "sort", "top_k", "while"),
    )
)


def _materializes(jaxpr: jx.Jaxpr) -> bool:
    """Whether a program has operations whose results XLA keeps in memory."""

    def find() -> bool:
        return any(
            eqn.primitive.name in _MATERIALIZED or any(map(_materializes, jx.subjaxprs(eqn.params)))
            for eqn in jaxpr.eqns
        )

    return jaxpr.derive("materializes", find)


def _always(b: Lowering, operands: hlo.Values) -> hlo.Value | None:
    """Write a condition that always holds, which XLA does not know; None where there is none.

    XLA drops ``optimization_barrier`` on CPU and then merges what it kept apart. It does not merge
    across the border of a conditional, nor does it start a conditional before its condition is
    there. The condition is x = x or x != x: of the last operand, which is there when the derivative
    is wanted, and of the first, since the last may be a constant. Where operands are divided over
    devices, all but one would have to be told of these elements: in a loop, which has the same
    counter on all, the condition is that it is not negative.
    """
    if b.module.is_divided and b.counter is not None:
        return b.compare(b.counter, b.full(0, b.counter.type), "GE")
    chosen = [x for x in operands if x.size and dtypes.kind(x.dtype) in "fc"]
    if not chosen:
        return None
    last = _equal_or_not(b, chosen[-1])
    return last if len(chosen) == 1 else b.and_(_equal_or_not(b, chosen[0]), last)


def _equal_or_not(b: Lowering, x: hlo.Value) -> hlo.Value:
    """Write whether an array's first element is equal or unequal to itself."""
    if x.ndim:
        x = b.reshape(b.slice(x, (0,) * x.ndim, (1,) * x.ndim), ())
    return b.or_(b.compare(x, x, "EQ"), b.compare(x, x, "NE"))


bind_checkpoint: Callable[[Staged, Sequence[Array], CheckpointParams], Sequence[Array]] = def_call(
    checkpoint_p, "a checkpointed program", lambda params, jaxpr: attrs.evolve(params, jaxpr=jaxpr)
)


@attrs.frozen(eq=False, repr=False)
class _Linearized:
    """A checkpointed program in two halves.

    Attributes:
        consts: the values of the first parameters of ``primal``.
        primal: takes those and the operands; returns the results and then what the policy keeps.
        tangent: takes some parameters of ``primal``, what is kept, and the tangents there are;
            computes the rest again, and returns the tangents of the results.
        operands: the parameters of ``primal`` that ``tangent`` takes.
        nonzero_out: which results have a tangent.
    """

    consts: tuple[Array, ...]
    primal: jx.Jaxpr
    tangent: jx.Jaxpr
    operands: tuple[int, ...]
    nonzero_out: tuple[bool, ...]


def _linearize(jaxpr: jx.Jaxpr, nonzero: tuple[bool, ...], policy: policies.Policy) -> _Linearized:
    """Linearize a program, and compute again of its residuals what the policy does not keep."""

    def make() -> _Linearized:
        linearized = linearize_jaxpr(jaxpr, nonzero)
        primal, consts = linearized.primal.jaxpr, linearized.primal.consts
        num_results = len(linearized.nonzero_out)
        tangent = pr.dce(linearized.tangent)
        mentioned = {x for eqn in tangent.eqns for x in eqn.inputs} | set(tangent.outs)

        # where a residual of the tangent map is found in the primal half
        computed = iter(primal.outs[num_results:])
        residuals: dict[jx.Var, jx.Atom] = {}
        for var, place in zip(tangent.in_binders, linearized.forwarded, strict=False):
            value = next(computed) if place is None else primal.in_binders[len(consts) + place]
            if var in mentioned:
                residuals[var] = value

        split = split_jaxpr(primal, list(residuals.values()), policies.PolicySaveable(policy))
        forward = pr.dce(
            jx.Jaxpr(primal.in_binders, split.forward, (*primal.outs[:num_results], *split.saved))
        )

        def rename(x: jx.Atom) -> jx.Atom:
            return residuals.get(x, x) if isinstance(x, jx.Var) else x

        again = jx.Jaxpr(
            (
                *(primal.in_binders[i] for i in split.kept),
                *split.saved,
                *tangent.in_binders[len(linearized.forwarded) :],
            ),
            (
                *split.recomputed,
                *(attrs.evolve(e, inputs=tuple(map(rename, e.inputs))) for e in tangent.eqns),
            ),
            tuple(map(rename, tangent.outs)),
        )
        return _Linearized(consts, forward, again, split.kept, linearized.nonzero_out)

    return jaxpr.derive(("checkpoint", nonzero, policy), make)


@checkpoint_p.def_linearize
def _checkpoint_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: CheckpointParams
) -> prim.LinearizeResult:
    linearized = _linearize(params.jaxpr, tuple(nonzero), params.policy)
    n = len(linearized.nonzero_out)
    operands = (*linearized.consts, *primals)
    # A call, into which the policy of a checkpoint around this one looks: written inline, nested
    # checkpoints would make programs quadratic in their depth.
    outs = tr.bind(checkpoint_p, operands, attrs.evolve(params, jaxpr=linearized.primal))
    kept = [*(operands[i] for i in linearized.operands), *outs[n:]]

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        again = attrs.evolve(params, jaxpr=linearized.tangent, differentiated=True)
        return tr.bind(checkpoint_p, (*kept, *tangents), again)

    return outs[:n], linearized.nonzero_out, tangent_map
