"""Stand-ins for traces where types say where values lie, and rules as these apply them.

What a rule computes is not written by the user, who could be asked how it lies; but it is known how
the results of the rule lie. A cotangent lies as what it is the cotangent of, a tangent as its
primal. So where the types within a rule do not say it, XLA chooses: the operands' types do not tell
of the mesh there, and those of the results do again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

from tinyjax.core.names import Array, av, bc, bt, jv, jx, prim, tp, tr
from tinyjax.errors import ShardingTypeError
from tinyjax.parallel import lowering, sharding as sd, types as ty
from tinyjax.parallel.constraint import lie_as, unsaid
from tinyjax.parallel.mesh_rule import NO_NAMES, summed_over

P = TypeVar("P")


def says_where(eqns: Sequence[jx.JaxprEqn]) -> bool:
    """Whether types in a program say where values lie, which none does for one device."""
    return any(x.aval.told is not None for eqn in eqns for x in (*eqn.inputs, *eqn.out_binders))


def _of_operand(ct: Array, aval: av.ShapedArray, types: Sequence[av.ShapedArray]) -> Array:
    """Return a cotangent that lies as an operand does: undivided, if its type says nothing.

    Args:
        ct: the cotangent.
        aval: the type of the operand.
        types: all types of the equation.
    """
    if aval.told is not None:
        return lie_as(ct, aval.cotangent())
    said = [a for a in types if a.told is not None and not ty.is_hidden(a)]
    if not said or ct.aval.told is None:
        return ct
    undivided = sd.PartitionSpec(*[None] * ct.ndim)
    return lie_as(ct, said[0].sharding.update(spec=undivided).typed(ct.aval.plain))


class Transposing:
    """Applies transpose rules in a backward pass: cotangents lie as operands do.

    What is repeated along an axis, such as a bias along the batch, is not divided there, although
    what it meets may be. The cotangent is summed along that axis, so it stays as it is until then:
    devices add sums, and do not gather what is added.
    """

    def __init__(self, eqns: Sequence[jx.JaxprEqn], outs: Sequence[jx.Atom]) -> None:
        uses = Counter(x for xs in (*[eqn.inputs for eqn in eqns], outs) for x in xs)
        #: By which axes those values are not repeated that are used once.
        self._repeated: dict[jx.Atom, tuple[int, ...]] = {
            eqn.out_binders[0]: eqn.params.dims
            for eqn in eqns
            if eqn.primitive is bc.broadcast_in_dim_p and uses[eqn.out_binders[0]] == 1
        }

    def __call__(
        self, eqn: jx.JaxprEqn, cotangents: prim.Tangents, operands: prim.Operands
    ) -> prim.Cotangents:
        cotangents_in = _transposed(eqn, cotangents, operands)
        types = [*eqn.in_avals, *eqn.out_avals]
        return [
            self._laid(ct, x, aval, types)
            if isinstance(ct, Array) and isinstance(operand, prim.UndefinedPrimal)
            else ct
            for x, aval, operand, ct in zip(
                eqn.inputs, eqn.in_avals, operands, cotangents_in, strict=True
            )
        ]

    def _laid(
        self, ct: Array, x: jx.Atom, aval: av.ShapedArray, types: Sequence[av.ShapedArray]
    ) -> Array:
        own, dims = ct.aval, self._repeated.get(x)
        if dims is None or own.told is None or ty.is_hidden(own):
            return _of_operand(ct, aval, types)
        entries = [
            ty.entries(aval)[i] if i in dims else names for i, names in enumerate(ty.entries(own))
        ]
        named = [name for names in entries for name in names]
        if len({*named}) != len(named) or ty.is_summed(own):
            return _of_operand(ct, aval, types)
        return lie_as(ct, ty.divided(own, tuple(entries)))


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
        [ct if ct is prim.ZERO else unsaid(ct) for ct in cotangents],
        [
            prim.UndefinedPrimal(x.aval.plain) if isinstance(x, prim.UndefinedPrimal) else unsaid(x)
            for x in operands
        ],
        eqn.params,
    )


def _jvp(
    primitive: prim.Primitive[P], primals: prim.Arrays, tangents: prim.Tangents, params: P
) -> prim.JvpResult:
    """Apply a primitive's ``jvp`` rule, in which types do not say how all values lie."""
    types = [out.aval for out in tr.bind(primitive, primals, params)]
    plain = [t if t is prim.ZERO else unsaid(t) for t in tangents]
    outs, out_tangents = primitive.rules.jvp([*map(unsaid, primals)], plain, params)
    lying = [lie_as(out, aval) for out, aval in zip(outs, types, strict=True)]
    moved = zip(out_tangents, types, strict=True)
    return lying, [t if t is prim.ZERO else lie_as(t, aval.tangent()) for t, aval in moved]


# The stand-ins


class MeshJVPTrace(jv.JVPTrace):
    """A ``JVPTrace`` that lets XLA choose where types within a rule do not say how values lie."""

    __slots__ = ()

    def process(
        self, primitive: prim.Primitive[P], args: Sequence[Array], params: P
    ) -> Sequence[Array]:
        try:
            return super().process(primitive, args, params)
        except ShardingTypeError:
            primals, tangents = jv.JVPTrace.split(self, args)
            if primitive.rules.evaluate is not None or all(t is prim.ZERO for t in tangents):
                raise
        with tr.use_trace(self.parent):
            outs, out_tangents = _jvp(primitive, primals, tangents, params)
        return self.joined(outs, out_tangents)


class MeshBatchTrace(bt.BatchTrace):
    """A ``BatchTrace`` that does so."""

    __slots__ = ()

    def process(
        self, primitive: prim.Primitive[P], args: Sequence[Array], params: P
    ) -> Sequence[Array]:
        try:
            return super().process(primitive, args, params)
        except ShardingTypeError:
            pairs = [self.split(x) for x in args]
            axes = [axis for _, axis in pairs]
            types = None
            if primitive.rules.evaluate is None and any(axis is not None for axis in axes):
                types = primitive.check_types([x.aval for x in args], params)
            if types is None or self.collects(primitive, params):
                raise
        size, divided = self.mapped.size, self.mapped.divided
        with tr.use_trace(self.parent):
            values = [unsaid(value) for value, _ in pairs]
            outs, out_axes = primitive.rules.batch(self.mapped, values, axes, params)
            return [
                lie_as(out, aval)
                if axis is None
                else bt.BatchTracer(self, lie_as(out, aval.inserted(axis, size, divided)), axis)
                for out, axis, aval in zip(outs, out_axes, types, strict=True)
            ]


class MeshTransposer(tp.Transposer):
    """A ``Transposer`` whose cotangents lie as operands do."""

    def pull_back(self, cotangents: Sequence[prim.Tangent]) -> list[prim.Tangent]:
        if self.rule is None and says_where(self.eqns):
            self.rule = Transposing(self.eqns, self.outs)
        return super().pull_back(cotangents)


def attach() -> None:
    """Use the stand-ins from here on, also for the traces that are running here."""
    tr.of_places.extensions.update(
        {
            jv.JVPTrace: MeshJVPTrace,
            bt.BatchTrace: MeshBatchTrace,
            tp.Transposer: MeshTransposer,
        }
    )
    for trace in tr.enclosing_traces():
        trace.__class__ = tr.of_places[type(trace)]
