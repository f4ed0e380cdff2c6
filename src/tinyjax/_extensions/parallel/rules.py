"""Rules of primitives, applied where types record shardings.

The user does not write the operations of a rule, and cannot give their shardings. But the shardings
of the rule's results are known. A cotangent has the sharding of its primal value, and so has a
tangent. So where the types within a rule do not determine it, XLA chooses: the operands' types do
not mention the mesh there, and those of the results do again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

from tinyjax._extensions.parallel import lowering, sharding, types as parallel_types
from tinyjax._extensions.parallel.constraint import lie_as, unspecified
from tinyjax._extensions.parallel.mesh_rule import NO_NAMES, summed_over
from tinyjax.core.primitives.broadcast import broadcast_in_dim_p
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, trace as tr
from tinyjax.core.transforms.batching import batched_aval
from tinyjax.core.values import Array, avals as av
from tinyjax.errors import ShardingTypeError

P = TypeVar("P")


def transposing(eqns: Sequence[jx.JaxprEqn], outs: Sequence[jx.Atom]) -> Transposing | None:
    """Return an object that applies transpose rules (``DeviceOps``)."""
    values = [x for eqn in eqns for x in (*eqn.inputs, *eqn.out_binders)]
    is_typed = any(x.aval.sharding_or_none is not None for x in values)
    return Transposing(eqns, outs) if is_typed else None


def _of_operand(ct: Array, aval: av.ShapedArray, types: Sequence[av.ShapedArray]) -> Array:
    """Return a cotangent with the sharding of an operand: undivided, if its type has none.

    Args:
        ct: the cotangent.
        aval: the type of the operand.
        types: all types of the equation.
    """
    if aval.sharding_or_none is not None:
        return lie_as(ct, aval.cotangent())
    said = [a for a in types if a.sharding_or_none is not None and not parallel_types.is_hidden(a)]
    if not said or ct.aval.sharding_or_none is None:
        return ct
    undivided = sharding.PartitionSpec(*[None] * ct.ndim)
    return lie_as(ct, said[0].sharding.update(spec=undivided).typed(ct.aval.plain))


class Transposing:
    """Application of transpose rules in a backward pass: cotangents have the operands' shardings.

    A value that is repeated along an axis, such as a bias along the batch, is not divided there,
    although the other operand may be. Its cotangent is summed along that axis, and keeps its
    division until then: devices add their sums, and do not gather the summands.
    """

    def __init__(self, eqns: Sequence[jx.JaxprEqn], outs: Sequence[jx.Atom]) -> None:
        uses = Counter(x for xs in (*[eqn.inputs for eqn in eqns], outs) for x in xs)
        #: By which axes those values are not repeated that are used once.
        self._repeated: dict[jx.Atom, tuple[int, ...]] = {
            eqn.out_binders[0]: eqn.params.dims
            for eqn in eqns
            if eqn.primitive is broadcast_in_dim_p and uses[eqn.out_binders[0]] == 1
        }

    def __call__(
        self, eqn: jx.JaxprEqn, cotangents: prim.Tangents, operands: prim.Operands
    ) -> prim.Cotangents:
        cotangents_in = _transposed(eqn, cotangents, operands)
        types = [*eqn.in_avals, *eqn.out_avals]
        return [
            self._placed_cotangent(ct, x, aval, types)
            if isinstance(ct, Array) and isinstance(operand, prim.UndefinedPrimal)
            else ct
            for x, aval, operand, ct in zip(
                eqn.inputs, eqn.in_avals, operands, cotangents_in, strict=True
            )
        ]

    def _placed_cotangent(
        self, ct: Array, x: jx.Atom, aval: av.ShapedArray, types: Sequence[av.ShapedArray]
    ) -> Array:
        own, dims = ct.aval, self._repeated.get(x)
        if dims is None or own.sharding_or_none is None or parallel_types.is_hidden(own):
            return _of_operand(ct, aval, types)
        entries = [
            parallel_types.entries(aval)[i] if i in dims else names
            for i, names in enumerate(parallel_types.entries(own))
        ]
        named = [name for names in entries for name in names]
        if len({*named}) != len(named) or parallel_types.is_summed(own):
            return _of_operand(ct, aval, types)
        return lie_as(ct, parallel_types.divided(own, tuple(entries)))


def _transposed(
    eqn: jx.JaxprEqn, cotangents: prim.Tangents, operands: prim.Operands
) -> prim.Cotangents:
    """Apply an equation's transpose rule."""
    rule = eqn.primitive.rules.transpose
    is_plain = not jx.subjaxprs(eqn.params)
    kept = NO_NAMES.union(
        *[summed_over(x.aval.cotangent()) for x in operands if isinstance(x, prim.UndefinedPrimal)]
    )
    if kept and is_plain:  # sums that stay where they are
        with suppress(ShardingTypeError), lowering.keeping_sums(kept):
            return rule(cotangents, operands, eqn.params)
    try:
        return rule(cotangents, operands, eqn.params)
    except ShardingTypeError:
        if not is_plain:
            raise
    return rule(
        [ct if ct is prim.ZERO else unspecified(ct) for ct in cotangents],
        [
            prim.UndefinedPrimal(x.aval.plain)
            if isinstance(x, prim.UndefinedPrimal)
            else unspecified(x)
            for x in operands
        ],
        eqn.params,
    )


def jvp_unspecified(
    primitive: prim.Primitive[P], primals: prim.Arrays, tangents: prim.Tangents, params: P
) -> prim.JvpResult:
    """Apply a ``jvp`` rule, as ``DeviceOps`` says."""
    types = [out.aval for out in tr.bind(primitive, primals, params)]
    plain = [t if t is prim.ZERO else unspecified(t) for t in tangents]
    outs, out_tangents = primitive.rules.jvp([*map(unspecified, primals)], plain, params)
    lying = [lie_as(out, aval) for out, aval in zip(outs, types, strict=True)]
    moved = zip(out_tangents, types, strict=True)
    return lying, [t if t is prim.ZERO else lie_as(t, aval.tangent()) for t, aval in moved]


def batch_unspecified(
    primitive: prim.Primitive[P],
    mapped: prim.MappedAxis,
    values: prim.Arrays,
    axes: Sequence[int | None],
    params: P,
    types: prim.Avals,
) -> tuple[Sequence[Array], Sequence[int | None]]:
    """Apply a ``batch`` rule, as ``DeviceOps`` says."""
    outs, out_axes = primitive.rules.batch(mapped, [*map(unspecified, values)], axes, params)
    batched = [
        batched_aval(aval, axis, mapped.size, mapped.where)
        for aval, axis in zip(types, out_axes, strict=True)
    ]
    return [*map(lie_as, outs, batched)], out_axes
