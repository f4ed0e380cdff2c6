"""Programs that each device of a mesh runs on its own, and derivatives taken in them.

Within the function given to ``shard_map`` the types of values record the axes of the mesh along
which they vary. An operation may take values of which some vary along an axis and others do not.
Then ``pvary`` makes the others vary: each device has its own copy. So a derivative in the shared
value is the sum over all devices, since ``pvary`` transposes to ``psum``. Conversely, the result of
``psum`` is one value, whose cotangent ``pvary`` copies to the devices.

Only recorders do this, as they record equations, by an adapter of the traces above
(``trace.Adapter``). To run a program, these types are removed again (``erased``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import eq
from typing import Any, Final, TypeVar

import attrs

from tinyjax import errors
from tinyjax._base.frames import Source
from tinyjax._extensions.parallel import collective, mesh_rule, table, types as parallel_types
from tinyjax._extensions.parallel.constraint import ConstraintParams, hide_p, sharding_constraint_p
from tinyjax._extensions.parallel.fitting import lifted, varied
from tinyjax._extensions.parallel.meshes import AnyMesh, get_mesh
from tinyjax._extensions.parallel.types import (
    SHARING,
    Axes,
    DeviceAxis,
    Share,
    transposed,
    with_varying,
)
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.tracing import Primitive, jaxpr as jx, primitive as prim, staging, trace as tr
from tinyjax.core.tracing.primitive import Arrays
from tinyjax.core.transforms.linearize import LinearTrace
from tinyjax.core.values import Array, ShapedArray, avals as av, concrete, operands as opd

P = TypeVar("P")


def part_type(aval: ShapedArray, names: Sequence[str], typed: Sequence[str] | None) -> ShapedArray:
    """Return the type of a device's part of a value, in a program along axes of a mesh.

    It records the sharding along the other axes, if the type does.

    Args:
        aval: the type.
        names: the axes along which devices run the program.
        typed: the axes that types track in it; None for those that they track outside.
    """
    if aval.sharding_or_none is None:
        return aval
    sharding = aval.sharding.part_sharding(names)
    if sharding is aval.sharding:
        return aval
    if sharding is None or (typed is not None and not {*sharding.explicit_axes} <= {*typed}):
        return aval.plain
    return sharding.typed(aval.plain)


def erased(jaxpr: jx.Jaxpr, on_host: bool = False) -> jx.Jaxpr:
    """Return the same program with types that do not track variation, and without casts.

    Partial sums along other axes of the mesh become whole sums: XLA does not accept partial sums in
    programs that devices run along some axes only.

    Args:
        jaxpr: the program.
        on_host: whether to remove shardings from types and equations, too.
    """
    casts: list[Primitive[Any]] = [collective.pvary_p, collective.recast_p, collective.unvary_p]
    if on_host:
        casts += [sharding_constraint_p, hide_p]

    def typed(aval: ShapedArray) -> ShapedArray:
        if aval.sharding_or_none is not None:
            aval = aval.plain if on_host else parallel_types.without_sums(aval)
        return with_varying(aval, av.NOWHERE)

    def make() -> jx.Jaxpr:
        env: dict[jx.Var, jx.Atom] = {}

        def define(var: jx.Var) -> jx.Var:
            aval = typed(var.aval)
            env[var] = plain = var if aval is var.aval else jx.Var(aval)
            return plain

        def read(x: jx.Atom) -> jx.Atom:
            if isinstance(x, jx.Var):
                return env.get(x, x)
            aval = typed(x.aval)
            if aval is x.aval and typed(x.value.aval) is x.value.aval:
                return x
            return jx.Lit(concrete.ConcreteArray(x.value.host, aval), aval)

        binders = tuple(map(define, jaxpr.in_binders))
        eqns: list[jx.JaxprEqn] = []
        for eqn in jaxpr.eqns:
            inputs = tuple(map(read, eqn.inputs))
            if eqn.primitive in casts:
                env[eqn.out_binders[0]] = inputs[0]
                continue
            params = eqn.params
            if jx.subjaxprs(params):
                params = jx.with_subjaxprs(params, lambda j: erased(j, on_host))
            if isinstance(params, ConstraintParams):
                params = attrs.evolve(params, sharding=params.sharding.without_sums)
            outs = tuple(map(define, eqn.out_binders))
            eqns.append(jx.JaxprEqn(eqn.primitive, inputs, params, outs, eqn.source))
        return jx.Jaxpr(binders, tuple(eqns), tuple(map(read, jaxpr.outs)))

    return jaxpr.derive(("erased", on_host), make)


# Transformations within the function given to shard_map


class VaryingAdapter(tr.Adapter):
    """Lets the operands of an equation vary along the same axes."""

    __slots__ = ()

    def constant_type(self, recorder: tr.Trace, aval: ShapedArray) -> ShapedArray:
        """Return the type of the copy of a value that each device has.

        Along the remaining axes of the mesh it has the sharding that it has outside.
        """
        if aval.sharding_or_none is None:
            return aval
        mesh = get_mesh()
        axes = None if mesh.empty else mesh.explicit_axes
        return part_type(aval, parallel_types.manual_axes(), axes)

    def record(
        self, recorder: Any, primitive: Primitive[P], args: Arrays, params: P, source: Source | None
    ) -> Arrays | None:
        across = [parallel_types.across(x.aval) for x in args]
        if primitive is collective.pvary_p and getattr(params, "axis_name", None) in across[0]:
            return args  # from a program for values that did not vary
        targets: Sequence[Axes]
        rule = table.rule_of(primitive)
        alike = table.is_alike(rule, primitive)
        if alike:
            if SHARING and not SHARING.isdisjoint(across):
                args, targets = _beside(args, across)
            else:
                union = across[0] if len({*across}) == 1 else mesh_rule.union(across)
                targets = [union] * len(across)
        else:
            targets, params = table.fit(primitive, across, params)
        inputs = tuple(
            [
                x.binder  # nearly always
                if type(x) is staging.StagingTracer and x._trace is recorder
                else varied(recorder.atom(x), y)
                for x, y in zip(_lifted(recorder, args, across, targets), targets, strict=True)
            ]
        )
        types = [x.aval for x in inputs]
        if alike:
            avals = table.known_result_types(rule, primitive, types, params)
        else:
            avals = rule(primitive, types, params)
        binders = tuple(map(jx.Var, avals))
        recorder.eqns.append(jx.JaxprEqn(primitive, inputs, params, binders, source))
        return [staging.StagingTracer(recorder, var, var.aval) for var in binders]

    def jvp(
        self,
        primitive: Primitive[P],
        rule: prim.JvpRule[P],
        primals: Arrays,
        tangents: prim.Tangents,
        params: P,
    ) -> prim.JvpResult:
        """Apply a rule to a program that fits its operands."""
        if primitive.rules.evaluate is not None and jx.subjaxprs(params):
            across = [parallel_types.across(x.aval) for x in primals]
            targets, params = table.fit(primitive, across, params)
            primals = [lifted(x, axes) for x, axes in zip(primals, targets, strict=True)]
            tangents = [
                lifted(t, axes) if own != axes and t is not prim.ZERO else t
                for t, own, axes in zip(tangents, across, targets, strict=True)
            ]
        return rule(primals, tangents, params)

    def tangents(
        self, trace: tr.Trace, primals: Sequence[Array], tangents: list[prim.Tangent]
    ) -> list[prim.Tangent]:
        """Let tangents vary as the values do.

        Where a value is handed on, so is its tangent, even if what is added to the value varies.
        """
        for i, (primal, tangent) in enumerate(zip(primals, tangents, strict=True)):
            if tangent is not prim.ZERO:
                own, axes = [parallel_types.across(x.aval) for x in (tangent, primal)]
                if not axes <= own:
                    with tr.use_trace(trace.parent):
                        tangents[i] = lifted(tangent, mesh_rule.union((axes, own)))
        return tangents


def _lifted(
    recorder: tr.Trace, args: Sequence[Array], across: Sequence[Axes], targets: Sequence[Axes]
) -> Sequence[Array]:
    """Let operands vary as required; nearly always they do, or are numbers."""
    if all(map(eq, across, targets)):
        return args
    others = [x for x, own, axes in zip(args, across, targets, strict=True) if own != axes]
    if all(map(opd.is_splat, others)):
        return args
    with tr.use_trace(recorder):
        return [lifted(x, axes) for x, axes in zip(args, targets, strict=True)]


def _beside(args: Sequence[Array], across: Sequence[Axes]) -> tuple[Sequence[Array], list[Axes]]:
    """Return operands that devices may share, and their required variation and sharing.

    If one varies along an axis, all have to. A constant has no cotangent, so it fits all others.
    """
    together = av.NOWHERE.union(*across)
    varied = frozenset([name for name in together if not isinstance(name, Share)])
    shared = {x.name for x in together if isinstance(x, Share)} - varied
    constant = varied.union([Share("R", name) for name in shared])
    operands: list[Array] = []
    targets: list[Axes] = []
    for x, own in zip(args, across, strict=True):
        is_sum = own in SHARING and (type(x) is not concrete.ConcreteArray or not x.host.any())
        if is_sum or type(x) is not concrete.ConcreteArray:
            operands.append(x)
            targets.append(mesh_rule.union((own, varied)))
        else:
            plain = with_varying(x.aval, av.NOWHERE)
            operands.append(concrete.ConcreteArray(x.host, plain) if own in SHARING else x)
            targets.append(constant)
    return operands, targets


class CheckedAdapter(VaryingAdapter):
    """Checks that cotangents do not vary where values do not."""

    __slots__ = ()

    def cotangents(self, outs: Sequence[jx.Atom], cotangents: prim.Tangents) -> prim.Tangents:
        seeds: list[prim.Tangent] = []
        for x, ct in zip(outs, cotangents, strict=True):
            seed = ct if ct is prim.ZERO else _of_cotangent(ct, x.aval)
            if seed is not prim.ZERO and _excess(seed, x.aval):
                raise errors.DifferentiationError(
                    f"a cotangent of type {seed.aval} was given for a result of type {x.aval}, of "
                    "which all devices have the same. Combine theirs, by lax.psum or lax.pmean."
                )
            seeds.append(seed)
        return seeds

    def transposing(
        self, eqns: Sequence[jx.JaxprEqn], rule: prim.ApplyTranspose
    ) -> prim.ApplyTranspose:
        def apply(eqn: jx.JaxprEqn, cts: prim.Tangents, operands: prim.Operands) -> prim.Cotangents:
            results = [*rule(eqn, cts, operands)]
            for i, (x, result) in enumerate(zip(operands, results, strict=True)):
                if not isinstance(x, prim.UndefinedPrimal) or not isinstance(result, Array):
                    continue
                results[i] = ct = _of_cotangent(result, x.aval)
                more = _excess(ct, x.aval)
                if more and mesh_rule.is_checked():
                    name = getattr(eqn.params, "name", eqn.primitive.name)
                    raise errors.DifferentiationError(
                        f"the transpose, or bwd rule, of {name} gives a cotangent of type "
                        f"{ct.aval} for an operand of type {x.aval}, of which all devices have the "
                        f"same. Let it add theirs: lax.psum(ct, {mesh_rule.named(more)})."
                    )
                if more:
                    total = collective.psum(ct, [*more])
                    results = [total if y is ct else y for y in results]
            return results

        return apply


def _excess(ct: Array, aval: ShapedArray) -> Axes:
    """Return the axes along which a cotangent varies, or is shared, unlike its value."""
    return parallel_types.across(ct.aval) - transposed(parallel_types.across(aval))


def _of_cotangent(ct: Array, aval: ShapedArray) -> Array:
    """Return a cotangent that devices share as those of a type.

    Where partial sums are required, a cotangent that all devices have remains on the first device,
    and the others get zeros.
    """
    axes = parallel_types.across(aval)
    for share in transposed(axes) if axes in SHARING else ():
        if not isinstance(share, Share) or share in parallel_types.across(ct.aval):
            continue
        own, name = collective.shared_along(parallel_types.across(ct.aval), share.name), share.name
        is_zero = opd.is_splat(ct) and not ct.host.any()
        if share.letter == "U" and own in "IR" and not is_zero:
            place = collective.axis_index(name)
            here = broadcast_in_dim(ew.eq(place, sh.zeros_like(place)), ct.shape, ())
            ct = ew.select(here, ct, sh.zeros_like(ct))
        if share.letter == "U" or own == "I":
            ct = collective.recast(ct, name, share.letter)
    return ct


class OwnAdapter(VaryingAdapter):
    """Lets all values vary, those that devices have computed together, too; nothing is checked.

    So ``psum`` transposes to ``psum``, as under ``vmap``.
    """

    __slots__ = ()

    def parameter_type(self, recorder: tr.Trace, aval: ShapedArray) -> ShapedArray:
        return with_varying(aval, _everywhere()) if isinstance(recorder, LinearTrace) else aval

    def record(
        self, recorder: Any, primitive: Primitive[P], args: Arrays, params: P, source: Source | None
    ) -> Arrays | None:
        outs = super().record(recorder, primitive, args, params, source)
        if outs is None or primitive is collective.pvary_p:
            return outs
        axes = _everywhere()
        with tr.use_trace(recorder):
            return [
                out if axes <= parallel_types.across(out.aval) else collective.pvary(out, axes)
                for out in outs
            ]


def _everywhere() -> Axes:
    return frozenset(parallel_types.manual_axes())


_CHECKED: Final = CheckedAdapter()
_OWN: Final = OwnAdapter()


class _AxisTrace(tr.Trace):
    """Names an axis of the mesh, or none, and hands everything on."""

    __slots__ = ("_mapped",)

    transformation = "shard_map"

    def __init__(self, parent: tr.Trace, mapped: prim.MappedAxis | None) -> None:
        super().__init__(parent)
        self._mapped = mapped

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        return self.parent.process(primitive, args, params)

    def mapped_axis(self) -> prim.MappedAxis | None:
        return self._mapped


@contextmanager
def on_axes(mesh: AnyMesh, axes: Sequence[str], checks: bool, own: bool = False) -> Iterator[None]:
    """Stage, within a block, the program of each device; collectives may name the mesh's axes.

    Args:
        mesh: the mesh.
        axes: the axes along which each device runs it; along others it is one program.
        checks: whether differences between devices are checked.
        own: whether all values are each device's own, even those that they computed together.
    """
    partly = len(axes) < len(mesh.axis_names)
    shares = checks and {*axes} <= {*mesh.explicit_axes}
    trace = _AxisTrace(tr.current_trace(), None)
    others = [x for x in trace.adapters if not isinstance(x, VaryingAdapter)]
    trace.adapters = (*others, _OWN if own else _CHECKED)
    for name, size in mesh.shape_tuple:
        if name in axes:
            axis = DeviceAxis(size=size, name=name, partly=partly, checks=checks, shares=shares)
            trace = _AxisTrace(trace, axis)
    with tr.Running(trace):
        yield
