"""Collectives: operations across the examples of an enclosing ``vmap``, which names its axis.

Inside ``shard_map`` they go across the devices along an axis of its mesh, and are XLA's.

Each names one axis. The trace that maps over it applies the ``collective`` rule, which turns the
operation into an ordinary one along the batch axis. Every other trace treats it as elementwise. A
value that all examples share after a collective (a sum, say) is computed once, and is no longer
batched.

A derivative inside the ``vmap`` is that of the sum of all the examples' outputs, so ``psum``
transposes to ``psum``. Inside ``shard_map`` types record which values vary between devices. A
derivative there is that of one device's output, or of the output that all devices share. The sum
that ``psum`` returns is one value that all devices share. So ``psum`` transposes to ``pvary``,
which passes one value to all devices, and ``pvary`` transposes to ``psum``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any, NoReturn, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes, tree
from tinyjax._base import records
from tinyjax._extensions.parallel import lowering, mesh_rule, types
from tinyjax._extensions.parallel.constraint import constrain, unspecified
from tinyjax._extensions.parallel.sharding import Entries
from tinyjax._primitives.dynamic_slice import dynamic_index_in_dim
from tinyjax.core.primitives import elementwise as ew, rules, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim, of_ordered, ordered, reduce_sum
from tinyjax.core.primitives.reduce import reduce_max, reduce_min
from tinyjax.core.primitives.slicing import concatenate, slice_in_dim
from tinyjax.core.stablehlo import Lowering, SSAValue, Values, types as hlo
from tinyjax.core.tracing import bind, bind1, primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av, integers as ints, operands as opd
from tinyjax.core.values.integers import int_pairs, integers, is_one_of, listed
from tinyjax.errors import ArgumentError, ShapeError, ShardingError, UnboundAxisError, shortened

T = TypeVar("T")

P = TypeVar("P")
AxisName = Hashable


#: The examples along an axis, by number, in groups of which each has a collective of its own.
Groups = tuple[tuple[int, ...], ...]


@attrs.frozen(eq=False, repr=False)
class CollectiveParams(prim.Params):
    """The name of the axis, and the groups of its examples, or None for all of them."""

    axis_name: Hashable
    groups: Groups | None = None


def _raise_unbound(name: str, axis_name: Hashable) -> NoReturn:
    shown = shortened(axis_name)
    raise UnboundAxisError(
        f"unbound axis name: {name} names the axis {shown}, but no enclosing vmap has an axis of "
        "that name, nor has the mesh of a shard_map. Give it to the vmap around this function: "
        f"vmap(..., axis_name={shown})."
    )


def _size(name: str, axis_name: Hashable) -> int:
    for axis in tr.enclosing_axes():
        if axis.name == axis_name:
            return axis.size
    _raise_unbound(name, axis_name)


def _is_of_devices(axis_name: Hashable) -> bool:
    """Return whether the innermost axis of this name belongs to the mesh of a ``shard_map``."""
    axes = [axis for axis in tr.enclosing_axes() if axis.name == axis_name]
    return bool(axes) and isinstance(axes[0], types.DeviceAxis)


def _names(axis_name: AxisName | Sequence[AxisName]) -> tuple[Hashable, ...]:
    """Return the given axes: a tuple or list names several, of which the first varies slowest."""
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


#: Writes a collective over the devices along an axis of a mesh; the builder knows its result.
Write = Callable[[Lowering, "_Line", SSAValue, P], SSAValue]


@attrs.frozen(eq=False, repr=False)
class _Line(records.Record):
    """The devices along one axis of a mesh.

    Attributes:
        size: how many there are.
        stride: the distance between neighbours, in the order of the mesh.
        groups: for each such line of devices, their positions in the mesh.
    """

    size: int
    stride: int
    groups: dtypes.HostArray

    @staticmethod
    def along(axes: lowering.Axes, name: Hashable) -> _Line:
        sizes = [n for _, n in axes]
        place = [axis for axis, _ in axes].index(str(name))
        devices = np.arange(prod(sizes)).reshape(sizes)
        lines = np.moveaxis(devices, place, -1).reshape(-1, sizes[place])
        return _Line(sizes[place], prod(sizes[place + 1 :]), lines)

    def divided(self, groups: Groups) -> _Line:
        """Return the groups of its devices, padded with -1 as in StableHLO."""
        size = max(map(len, groups))
        rows = [
            [*line[[*group]], *[-1] * (size - len(group))]
            for line in self.groups
            for group in groups
        ]
        return _Line(size, self.stride, np.array(rows))


def _def_unbound(
    primitive: prim.Primitive[P],
    write: Write[P],
    shared: bool = False,
    alone: Write[P] | None = None,
    division: mesh_rule.DivisionRule | None = None,
) -> None:
    """Register evaluation, lowering, and the variation between devices.

    If no ``vmap`` has the name of the axis, the mesh of a ``shard_map`` may have it.

    Args:
        primitive: the primitive.
        write: writes it over several devices.
        shared: whether the result is one value, which all devices along the axis have.
        alone: writes it for one device along the axis; by default this reshapes the operand to
            the shape of the result.
        division: how its result is divided along other axes of the mesh.
    """

    @primitive.def_impl
    def collective_impl(operands: prim.Hosts, params: P) -> prim.Hosts:
        _raise_unbound(primitive.name, getattr(params, "axis_name", None))

    @primitive.def_lowering
    def collective_lowering(b: Lowering, operands: Values, params: P) -> Values:
        name = getattr(params, "axis_name", None)
        part: lowering.Part | None = b.part
        if part is None or name not in [axis for axis, _ in part.axes]:
            _raise_unbound(primitive.name, name)
        line = _Line.along(part.axes, name)
        groups: Groups | None = getattr(params, "groups", None)
        if groups is not None:
            line = line.divided(groups)
        (x,) = operands or (b.scalar(0, dtypes.int32),)
        if line.size == 1:
            if alone is None:
                return [x if x.type is b.results[0] else b.reshape(x, b.results[0].shape)]
            return [alone(b, line, x, params)]
        return [write(b, line, x, params)]

    def varies(params: P, axes: types.Axes) -> tuple[types.Axes, types.Axes]:
        name = getattr(params, "axis_name", None)
        axis = frozenset((name,)) if _is_of_devices(name) else av.NOWHERE
        if axes in types.SHARING:
            axes = mesh_rule.union((axes, axis))
        of_all = shared and getattr(params, "groups", None) is None
        return axes | axis, axes - axis if of_all else axes | axis

    primitive.def_rule(mesh_rule.MESH)(mesh_rule.MeshRule(division, varies=varies))


def _collective(
    b: Lowering,
    name: str,
    line: _Line,
    x: SSAValue,
    result: hlo.TensorType,
    combine: str | None = None,
    **attributes: str,
) -> SSAValue:
    """Write a collective of StableHLO over the devices along an axis."""
    groups = line.groups
    shape = "x".join(map(str, groups.shape))
    entries = {
        "channel_handle": lowering.channel(b.module),
        "replica_groups": f"dense<{groups.tolist()}> : tensor<{shape}xi64>",
        **attributes,
    }
    if name != "stablehlo.all_to_all":
        entries["use_global_device_ids"] = "unit"
    regions: list[str] = []
    if combine is not None:
        of = hlo.tensor((), x.dtype)
        regions = [b.region([of, of], lambda values: [b.op(f"stablehlo.{combine}", *values)])]
    return b.emit(name, (x,), (result,), entries, regions)[0]


def _by_groups(rule: prim.BatchRule[P]) -> prim.BatchRule[P]:
    """Make of a collective's rule for all examples one that applies it to each group of them."""

    def collective(
        mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: P
    ) -> tuple[prim.Arrays, prim.BatchAxes]:
        groups: Groups | None = getattr(params, "groups", None)
        if groups is None:
            return rule(mapped, values, axes, params)
        x = sh.move_batch_axis(values[0], axes[0], 0, mapped.size)
        parts: list[Array] = []
        for group in groups:
            members = attrs.evolve(mapped, size=len(group))
            (out,), (axis,) = rule(members, (_rows(x, group),), (0,), params)
            parts.append(sh.move_batch_axis(out, axis, 0, len(group)))
        order = [i for group in groups for i in group]
        return (_rows(concatenate(parts, 0), np.argsort(order).tolist()),), (0,)

    return collective


def _rows(x: Array, order: Sequence[int | None]) -> Array:
    """Return rows of an array, by number; zeros for None."""
    parts: list[Array] = []
    i = 0
    while i < len(order):
        start = order[i]
        count = 1
        if start is None:
            parts.append(sh.full((1, *x.shape[1:]), 0, x.dtype))
        else:
            # neighbours that stay neighbours are moved together
            while i + count < len(order) and order[i + count] == start + count:
                count += 1
            parts.append(slice_in_dim(x, start, start + count))
        i += count
    return concatenate(parts, 0)


def _one_more(x: hlo.TensorType, axis: int) -> hlo.TensorType:
    return hlo.tensor((*x.shape[:axis], 1, *x.shape[axis:]), x.dtype)


# Values whose types say how they lie along other axes of the mesh

_OF_EXAMPLES = "of the examples"


def _with_entry(entries: Entries, axis: int) -> Entries:
    """Return the entries of an array with one more axis, which is not divided."""
    return (*entries[:axis], (), *entries[axis:])


def _reshaped(x: Array, shape: tuple[int, ...], entries: Entries) -> Array:
    """Return an array in another shape with an explicit division, which need not follow."""
    own = x.aval
    if not any(entries) or own.sharding_or_none is None:
        return sh.reshape(x, shape)
    sharding = own.sharding
    lies = sharding.update(spec=sharding.spec.with_partitions(entries))
    lies.check(shape)
    return constrain(sh.reshape(unspecified(x), shape), lies)


# psum, pmax, pmin

Combine = Callable[[Array, tuple[int, ...]], Array]


def _reduction(
    name: str, combine: str, reduce: Combine, kinds: str, of_equals: Callable[[Array, int], Array]
) -> prim.Primitive[CollectiveParams]:
    """Declare a reduction over the examples.

    Args:
        name: the primitive's name.
        combine: the operation of StableHLO by which devices combine their values.
        reduce: reduces the batch axis.
        kinds: the kinds of dtype it takes.
        of_equals: the result where all examples share one value, from that and their number.
    """
    primitive: prim.Primitive[CollectiveParams] = prim.Primitive(name, CollectiveParams)

    def write(b: Lowering, line: _Line, x: SSAValue, params: CollectiveParams) -> SSAValue:
        if x.dtype == dtypes.bool_:
            return b.convert(write(b, line, b.convert(x, dtypes.int32), params), dtypes.bool_)
        if combine != "add" and dtypes.is_float(x.dtype):
            order = Lowering.max if combine == "maximum" else Lowering.min
            return of_ordered(b, write(b, line, ordered(b, x, order), params), x.dtype)
        return _collective(b, "stablehlo.all_reduce", line, x, x.type, combine)

    _def_unbound(primitive, write, shared=True, division=mesh_rule.same)

    @primitive.def_abstract_eval
    def collective_type(avals: prim.Avals, params: CollectiveParams) -> prim.Avals:
        (x,) = avals
        rules.check_kind(name, x, kinds)
        return (x,)

    sh.def_simple_batch(primitive)

    @primitive.def_collective
    @_by_groups
    def collective(
        mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: CollectiveParams
    ) -> prim.BatchResult:
        (x,), (axis,) = values, axes
        if axis is None:
            return (of_equals(x, mapped.size),), (None,)
        return (reduce(x, (axis,)),), (None,)

    return primitive


psum_p: prim.Primitive[CollectiveParams] = _reduction(
    "psum", "add", reduce_sum, "iufc", lambda x, n: ew.mul(x, sh.full_like(x, n))
)
pmax_p: prim.Primitive[CollectiveParams] = _reduction(
    "pmax", "maximum", reduce_max, "biuf", lambda x, n: x
)
pmin_p: prim.Primitive[CollectiveParams] = _reduction(
    "pmin", "minimum", reduce_min, "biuf", lambda x, n: x
)

rules.def_linear(psum_p, repeats=True)


def _psum_transpose(ct: Array, x: prim.UndefinedPrimal, params: CollectiveParams) -> Array:
    name = params.axis_name
    of_devices = name in types.across(x.aval) and _is_of_devices(name)
    one_value = of_devices and params.groups is None
    return bind1(pvary_p if one_value else psum_p, (ct,), params)


rules.def_transposes(psum_p, _psum_transpose)


def _def_extremum_jvp(primitive: prim.Primitive[CollectiveParams]) -> None:
    def derivative(t: Array, out: Array, x: Array, params: CollectiveParams) -> Array:
        # equal examples share the tangent
        chosen = ew.convert_element_type(ew.eq(x, out), x.dtype)
        count = bind1(psum_p, (chosen,), params)
        return bind1(psum_p, (ew.div(ew.mul(t, chosen), count),), params)

    rules.def_derivatives(primitive, derivative)


_def_extremum_jvp(pmax_p)
_def_extremum_jvp(pmin_p)


# pvary


def _cast(name: str, params: type[P], varies: mesh_rule.VariesRule) -> prim.Primitive[P]:
    """Declare a primitive that returns its operand with another type."""
    primitive = prim.Primitive(name, params)
    rules.def_identity(primitive)
    rules.def_linear(primitive, repeats=True)
    sh.def_simple_batch(primitive)
    primitive.def_rule(mesh_rule.MESH)(mesh_rule.MeshRule(mesh_rule.same, varies=varies))
    return primitive


#: The operand, as a value of which devices may have different ones from here on.
pvary_p: prim.Primitive[CollectiveParams] = _cast(
    "pvary", CollectiveParams, lambda params, axes: (axes, axes | {params.axis_name})
)
rules.def_transposes(pvary_p, lambda ct, x, params: bind1(psum_p, (ct,), params))


def pvary(x: Array, axes: types.Axes) -> Array:
    """Return an array as one that varies between devices along these axes, too."""
    for name in sorted(axes - types.across(x.aval), key=str):
        x = bind1(pvary_p, (x,), CollectiveParams(name))
    return x


# recast


@attrs.frozen(repr=False)
class RecastParams(prim.Params):
    """An axis, and the sharing of the operand and of the result along it.

    Attributes:
        axis_name: the axis.
        of: the sharing of the operand: ``I``, one value that all devices have; ``V``, one for each
            device; ``U``, partial sums; ``R``, one value whose cotangent is partial sums.
        to: the sharing of the result.
    """

    axis_name: Hashable
    of: str
    to: str


_SHARED = {
    "I": "a value that all devices have",
    "V": "each device's own value",
    "U": "a sum of which each device has a part",
    "R": "reduced, a value that all devices have",
}


def shared_along(axes: types.Axes, name: Hashable) -> str:
    """Return the letter of the way in which devices along an axis share a value."""
    if name in axes:
        return "V"
    return next((letter for letter in "UR" if types.Share(letter, name) in axes), "I")


def _with_letter(axes: types.Axes, name: Hashable, letter: str) -> types.Axes:
    rest = axes - {name, types.Share("U", name), types.Share("R", name)}
    if letter == "I":
        return rest
    return rest | {name if letter == "V" else types.Share(letter, name)}


def _recast_varies(params: RecastParams, axes: types.Axes) -> tuple[types.Axes, types.Axes]:
    name, of = params.axis_name, params.of
    own = shared_along(axes, name)
    if own != of and (own, of) not in (("I", "V"), ("I", "R"), ("R", "V")):
        raise ShardingError(
            f"along {name!r}, {_SHARED[own]} is to be cast to {_SHARED[params.to]}, as was "
            f"{_SHARED[of]} before."
        )
    return _with_letter(axes, name, of), _with_letter(axes, name, params.to)


#: The operand, of which types say from here on that devices share something else.
recast_p: prim.Primitive[RecastParams] = _cast("recast", RecastParams, _recast_varies)


def _recast_transpose(ct: Array, x: prim.UndefinedPrimal, params: RecastParams) -> Array:
    of, to = ["RU"["UR".index(x)] if x in "UR" else x for x in (params.of, params.to)]
    if of == "I":  # all devices have a part of the sum
        own = bind1(recast_p, (ct,), RecastParams(params.axis_name, to, "V"))
        return bind1(psum_p, (own,), CollectiveParams(params.axis_name))
    return bind1(recast_p, (ct,), RecastParams(params.axis_name, to, of))


rules.def_transposes(recast_p, _recast_transpose)


def recast(x: Array, name: Hashable, target: str) -> Array:
    """Return a value whose type has another sharing along an axis.

    Args:
        x: the value.
        name: the axis.
        target: the letter of the sharing.
    """
    own = shared_along(types.across(x.aval), name)
    if own == target:
        return x
    if (own, target) == ("I", "V"):
        return pvary(x, frozenset((name,)))
    return bind1(recast_p, (x,), RecastParams(name, own, target))


def sharing(x: Array, axes: types.Axes) -> Array:
    """Return an array as one that varies, and that devices share, along these axes, too.

    Raises:
        ShardingError: partial sums are required, and it is none.
    """
    if not types.SHARING or (
        axes not in types.SHARING and types.across(x.aval) not in types.SHARING
    ):  # nearly always
        return pvary(x, axes)
    for name in sorted(axes - types.across(x.aval), key=str):
        to, axis = (name.letter, name.name) if isinstance(name, types.Share) else ("V", name)
        own = shared_along(types.across(x.aval), axis)
        if (own, to) not in (("I", "V"), ("I", "R"), ("R", "V")):
            raise ShardingError(
                f"{x.aval} is to be {_SHARED[to]} along {axis!r}, as what it meets is, but is "
                f"{_SHARED[own]}. Say what you mean by lax.pcast or lax.psum."
            )
        x = recast(x, axis, to)
    return x


def parts_along(x: Array, name: Hashable) -> Array:
    """Return a value as each device's own, if it is a sum of the devices' parts."""
    return recast(x, name, "V") if types.Share("U", name) in types.across(x.aval) else x


#: The operand, of which all devices along an axis are taken to have the same.
unvary_p: prim.Primitive[CollectiveParams] = _cast(
    "unvary",
    CollectiveParams,
    lambda params, axes: (axes | {params.axis_name}, axes - {params.axis_name}),
)


def _shared(ct: Array, x: prim.UndefinedPrimal, params: CollectiveParams) -> Array:
    """Return each device's share of the cotangent."""
    own = bind1(pvary_p, (ct,), params)
    return ew.div(own, sh.full_like(own, _size("unvary", params.axis_name)))


rules.def_transposes(unvary_p, _shared)


def unvary(x: Array, axes: types.Axes) -> Array:
    """Return an array as equal on all devices along these axes, without a check."""
    for name in sorted(axes & types.across(x.aval), key=str):
        x = bind1(unvary_p, (x,), CollectiveParams(name))
    return x


def axes_of_devices(axis_name: AxisName | Sequence[AxisName]) -> types.Axes:
    """Return those of some axes that are axes of a mesh."""
    return frozenset(filter(_is_of_devices, _names(axis_name)))


def shared_axes(axis_name: AxisName | Sequence[AxisName]) -> list[Hashable]:
    """Return the axes along which types track partial sums."""
    shares = [
        (axis.name, isinstance(axis, types.DeviceAxis) and axis.shares)
        for axis in tr.enclosing_axes()
    ]
    return [name for name in _names(axis_name) if dict(reversed(shares)).get(name)]


def _groups(
    name: str,
    names: Sequence[AxisName],
    axis_index_groups: Sequence[Sequence[int]] | None,
    alike: bool = True,
) -> tuple[Groups | None, int]:
    """Return the groups of the examples that a collective is among, and how many each has.

    Args:
        name: the collective.
        names: its axes.
        axis_index_groups: the groups; None for all examples.
        alike: whether all groups have as many.

    Raises:
        ArgumentError: there are several axes, an example is in no group or in two, or groups differ
            in size where they must not.
    """
    sizes = [_size(name, axis) for axis in names]
    if axis_index_groups is None:
        return None, prod(sizes)
    groups = tuple(
        [
            integers(group, f"a group of {name}")
            for group in listed(axis_index_groups, "axis_index_groups")
        ]
    )
    if len(names) != 1:
        raise ArgumentError(
            f"{name} takes axis_index_groups along one axis, but got the axes {shortened(names)}."
        )
    if sorted(i for group in groups for i in group) != [*range(sizes[0])] or () in groups:
        raise ArgumentError(
            f"{name} over {shortened(names[0])}, which has size {sizes[0]}, needs each number from "
            f"0 to {sizes[0] - 1} in one of axis_index_groups, but got {shortened(groups)}."
        )
    if alike and len({*map(len, groups)}) > 1:
        raise ArgumentError(
            f"{name} needs axis_index_groups of one length, but got {shortened(groups)}."
        )
    return groups, len(groups[0])


def _over_leaves(
    name: str,
    primitive: prim.Primitive[CollectiveParams],
    x: T,
    axis_name: AxisName | Sequence[AxisName],
    axis_index_groups: Sequence[Sequence[int]] | None,
    prepare: Callable[[Array], Array] = lambda x: x,
) -> T:
    names = _names(axis_name)
    groups, _ = _groups(name, names, axis_index_groups, alike=False)

    def one(leaf: Any) -> Array:
        out = prepare(opd.as_array(leaf))
        primitive.rules.abstract_eval((out.aval,), CollectiveParams(None))
        for axis in names:
            if types.SHARING and primitive is psum_p:
                out = parts_along(out, axis)
            out = bind1(primitive, (out,), CollectiveParams(axis, groups))
        return out

    result: T = tree.map(one, x)
    return result


def psum(
    x: T,
    axis_name: AxisName | Sequence[AxisName],
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> T:
    """Return the sum over the examples of an enclosing ``vmap``.

    Args:
        x: arrays in any containers; bools are counted. A Python number is multiplied by the number
            of examples: ``psum(1, "i")`` is that number, as a Python int.
        axis_name: the name of the axis, or several.
        axis_index_groups: groups of the examples' numbers, each number in one group; the sum is
            then over the examples of a group, along one axis. By default it is over all.

    Raises:
        UnboundAxisError: no enclosing ``vmap`` has an axis of that name.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax._extensions.parallel.collective import psum
        >>> share = tinyjax.vmap(lambda x: x / psum(x, "i"), axis_name="i")
        >>> share(jnp.array([1.0, 3.0]))
        Array([0.25, 0.75], dtype=float32)
    """
    groups, count = _groups("psum", _names(axis_name), axis_index_groups, alike=False)
    if isinstance(x, int | float | complex) and len({*map(len, groups or ())}) < 2:
        product: Any = x * count
        multiple: T = product
        return multiple

    def countable(leaf: Array) -> Array:
        if leaf.dtype == dtypes.bool_:
            return ew.convert_element_type(leaf, dtypes.default_int())
        return leaf

    return _over_leaves("psum", psum_p, x, axis_name, axis_index_groups, countable)


def pmean(
    x: T,
    axis_name: AxisName | Sequence[AxisName],
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> T:
    """Return the mean over the examples of an enclosing ``vmap``; arguments as for ``psum``.

    Integers are averaged in the default float, those of 64 bits in float64.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> tinyjax.vmap(lambda x: lax.pmean(x, "batch"), axis_name="batch")(jnp.array([1, 2, 6]))
        Array([3., 3., 3.], dtype=float32)
    """
    count: int | Array = psum(1, axis_name, axis_index_groups=axis_index_groups)

    def mean(leaf: Array) -> Array:
        if not dtypes.is_inexact(leaf.dtype):
            leaf = ew.convert_element_type(leaf, dtypes.to_inexact(leaf.dtype, leaf.weak_type))
        if isinstance(count, Array):  # groups have their own
            return ew.div(
                leaf,
                broadcast_in_dim(ew.convert_element_type(count, leaf.dtype), leaf.shape, ()),
            )
        return ew.div(leaf, sh.full_like(leaf, count))

    total = psum(tree.map(opd.as_array, x), axis_name, axis_index_groups=axis_index_groups)
    result: T = tree.map(mean, total)
    return result


def pmax(
    x: T,
    axis_name: AxisName | Sequence[AxisName],
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> T:
    """Return the greatest over the examples of an enclosing ``vmap``; arguments as for ``psum``.

    Inside ``shard_map`` it is the greatest over the devices along an axis of the mesh. NaN where
    one is. The derivative is shared equally among those that tie, as in ``max``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> tinyjax.vmap(lambda x: lax.pmax(x, "batch"), axis_name="batch")(jnp.array([1, 5, 3]))
        Array([5, 5, 5], dtype=int32)
        >>> slope = tinyjax.vmap(tinyjax.grad(lambda x: lax.pmax(x, "batch")), axis_name="batch")
        >>> slope(jnp.array([1.0, 3.0, 3.0]))
        Array([0. , 1.5, 1.5], dtype=float32)
    """
    return _over_leaves("pmax", pmax_p, x, axis_name, axis_index_groups)


def pmin(
    x: T,
    axis_name: AxisName | Sequence[AxisName],
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> T:
    """Return the least over the examples of an enclosing ``vmap``; arguments as for ``psum``.

    Inside ``shard_map`` it is the least over the devices along an axis of the mesh. NaN where one
    is. The derivative is shared equally among those that tie, as in ``min``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> tinyjax.vmap(lambda x: lax.pmin(x, "batch"), axis_name="batch")(jnp.array([4, 5, 3]))
        Array([3, 3, 3], dtype=int32)
        >>> least = tinyjax.vmap(lambda x: lax.pmin(x, "batch"), axis_name="batch")
        >>> least(jnp.array([1.0, jnp.nan]))
        Array([nan, nan], dtype=float32)
    """
    return _over_leaves("pmin", pmin_p, x, axis_name, axis_index_groups)


# axis_index

axis_index_p: prim.Primitive[CollectiveParams] = prim.Primitive("axis_index", CollectiveParams)


def _write_axis_index(b: Lowering, line: _Line, x: SSAValue, params: CollectiveParams) -> SSAValue:
    def numbered() -> SSAValue:
        word = hlo.tensor((), dtypes.uint32)
        (place,) = b.emit("stablehlo.partition_id", (), (word,))
        for name, n in (("divide", line.stride), ("remainder", line.size)):
            value = {"value": f"dense<{n}> : {word.text}"}  # nothing from outside of the block
            (number,) = b.emit("stablehlo.constant", (), (word,), value)
            place = b.op(f"stablehlo.{name}", place, number)
        return b.convert(place, dtypes.int32)

    part: lowering.Part = b.part
    if not part.free:
        return numbered()
    # XLA numbers devices for those programs alone that are of one device along every axis
    axes = ", ".join([f'"{name}"' for name in part.free])
    copies = f"#sdy.sharding_per_value<[<@{lowering.mesh_name(b.module, part.mesh)}, []>]>"
    attributes = {
        "in_shardings": "#sdy.sharding_per_value<[]>",
        "manual_axes": f"#sdy<manual_axes{{{axes}}}>",
        "out_shardings": copies,
    }
    region = b.region([], lambda _: [numbered()], "sdy.return")
    return b.emit("sdy.manual_computation", (), b.results, attributes, (region,))[0]


_def_unbound(axis_index_p, _write_axis_index)


axis_index_p.def_abstract_eval(lambda avals, params: (av.ShapedArray((), dtypes.int32),))
rules.def_constant(axis_index_p)
axis_index_p.def_batch(
    lambda mapped, values, axes, params: (bind(axis_index_p, (), params), (None,))
)


axis_index_p.def_collective(
    lambda mapped, values, axes, params: ((sh.iota((mapped.size,), dtypes.int32, 0),), (0,))
)


def axis_index(axis_name: AxisName | Sequence[AxisName]) -> Array:
    """Return the number of the example within an enclosing ``vmap``.

    Args:
        axis_name: the name of the axis, or several, of which the first varies slowest.

    Returns:
        An int32 scalar.

    Raises:
        UnboundAxisError: no enclosing ``vmap`` has an axis of that name.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax._extensions.parallel.collective import axis_index
        >>> tinyjax.vmap(lambda x: x * axis_index("i"), axis_name="i")(jnp.array([5, 6, 7]))
        Array([ 0,  6, 14], dtype=int32)
    """
    total: Array | None = None
    for axis in _names(axis_name):
        size = _size("axis_index", axis)
        index = bind1(axis_index_p, (), CollectiveParams(axis))
        total = index if total is None else ew.add(ew.mul(total, sh.full_like(total, size)), index)
    return sh.full((), 0, dtypes.int32) if total is None else total


def axis_size(axis_name: AxisName | Sequence[AxisName]) -> int:
    """Return the number of examples of an enclosing ``vmap``.

    It is a Python int, also in compiled programs, so that a shape may depend on it.

    Args:
        axis_name: the name of the axis; of several the product is returned.

    Raises:
        UnboundAxisError: no enclosing ``vmap`` has an axis of that name.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> share = tinyjax.vmap(lambda x: x / lax.axis_size("batch"), axis_name="batch")
        >>> share(jnp.array([2.0, 4.0]))
        Array([1., 2.], dtype=float32)
    """
    return prod(_size("axis_size", axis) for axis in _names(axis_name))


# all_gather and psum_scatter, each the other's transpose


@attrs.frozen(eq=False, repr=False)
class GatherAxisParams(prim.Params):
    """The name and size of the mapped axis, and its position in the gathered array.

    The size is that of each group of the examples, if these are in groups.
    """

    axis_name: Hashable
    size: int
    axis: int
    groups: Groups | None = None


def _one_further(params: GatherAxisParams, size: int) -> GatherAxisParams:
    return attrs.evolve(params, axis=params.axis + 1)


def _write_all_gather(b: Lowering, line: _Line, x: SSAValue, params: GatherAxisParams) -> SSAValue:
    wide = b.reshape(x, _one_more(x.type, params.axis).shape)
    dimension = hlo.integer(params.axis)
    return _collective(
        b, "stablehlo.all_gather", line, wide, b.results[0], all_gather_dim=dimension
    )


def _gathered_division(
    params: GatherAxisParams, avals: prim.Avals, outs: prim.Avals
) -> list[Entries]:
    return [_with_entry(types.entries(avals[0]), params.axis)]


def _gathering(name: str, shared: bool) -> prim.Primitive[GatherAxisParams]:
    """Declare a collective by which every example gets the values of all."""
    primitive: prim.Primitive[GatherAxisParams] = prim.Primitive(name, GatherAxisParams)
    _def_unbound(primitive, _write_all_gather, shared, division=_gathered_division)
    rules.def_linear(primitive, repeats=True)
    sh.def_simple_batch(primitive, _one_further)

    @primitive.def_abstract_eval
    def gathered_type(avals: prim.Avals, params: GatherAxisParams) -> prim.Avals:
        (x,) = avals
        return (x.with_shape((*x.shape[: params.axis], params.size, *x.shape[params.axis :])),)

    @primitive.def_collective
    @_by_groups
    def gather(
        mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: GatherAxisParams
    ) -> prim.BatchResult:
        return (sh.move_batch_axis(values[0], axes[0], params.axis, mapped.size),), (None,)

    return primitive


all_gather_p: prim.Primitive[GatherAxisParams] = _gathering("all_gather", False)
rules.def_transposes(all_gather_p, lambda ct, x, params: bind1(psum_scatter_p, (ct,), params))


#: What it gives is one value, which all devices have: a derivative is that of this one value.
all_gather_invariant_p: prim.Primitive[GatherAxisParams] = _gathering("all_gather_invariant", True)


def _own_place(ct: Array, x: prim.UndefinedPrimal, params: GatherAxisParams) -> Array:
    place = bind1(axis_index_p, (), CollectiveParams(params.axis_name))
    return dynamic_index_in_dim(ct, place, params.axis, keepdims=False)


rules.def_transposes(all_gather_invariant_p, _own_place)


psum_scatter_p: prim.Primitive[GatherAxisParams] = prim.Primitive("psum_scatter", GatherAxisParams)


def _write_psum_scatter(
    b: Lowering, line: _Line, x: SSAValue, params: GatherAxisParams
) -> SSAValue:
    (result,) = b.results
    dimension = hlo.integer(params.axis)
    wide = _one_more(result, params.axis)
    parts = _collective(
        b, "stablehlo.reduce_scatter", line, x, wide, "add", scatter_dimension=dimension
    )
    return b.reshape(parts, result.shape)


def _psum_scatter_division(
    params: GatherAxisParams, avals: prim.Avals, outs: prim.Avals
) -> list[Entries]:
    (x,) = avals
    mesh_rule.whole(types.entries(x), (params.axis,), _OF_EXAMPLES)
    return [mesh_rule.entries_except(x, (params.axis,))]


_def_unbound(psum_scatter_p, _write_psum_scatter, division=_psum_scatter_division)
rules.def_linear(psum_scatter_p, repeats=True)
sh.def_simple_batch(psum_scatter_p, _one_further)


@psum_scatter_p.def_abstract_eval
def _psum_scatter_type(avals: prim.Avals, params: GatherAxisParams) -> prim.Avals:
    (x,) = avals
    rules.check_kind("psum_scatter", x, "iufc")
    _check_split("psum_scatter", params, x, params.axis)
    return (x.with_shape(x.shape[: params.axis] + x.shape[params.axis + 1 :]),)


rules.def_transposes(psum_scatter_p, lambda ct, x, params: bind1(all_gather_p, (ct,), params))


@psum_scatter_p.def_collective
@_by_groups
def _psum_scatter_collective(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: GatherAxisParams
) -> prim.BatchResult:
    (x,), (axis,) = values, axes
    # each example keeps its own place of the sum: the axis of places is now the batch
    if axis is None:
        return (ew.mul(x, sh.full_like(x, mapped.size)),), (params.axis,)
    return (reduce_sum(x, (axis,)),), (params.axis,)


def all_gather(
    x: T,
    axis_name: AxisName | Sequence[AxisName],
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> T:
    """Return all the examples' values in every example.

    Args:
        x: arrays in any containers.
        axis_name: the name of the axis, or several, of which the first varies slowest.
        axis_index_groups: as for ``psum``; the groups are of one size.
        axis: the position of the examples' axis in the results.
        tiled: whether to join the values along an existing axis, rather than to stack them.
        to: inside ``shard_map``, "invarying" makes the result one value that all devices have, and
            "varying" makes it one value for each device, though they are equal. The derivative is
            that of the one value, or the sum of the derivatives of all devices. "reduced" has the
            same derivative as "varying" here.

    Raises:
        UnboundAxisError: no enclosing ``vmap`` has an axis of that name.
        AxisError: there is no such axis.
        ArgumentError: ``to`` is another word.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax._extensions.parallel.collective import all_gather
        >>> tinyjax.vmap(lambda x: all_gather(x, "i"), axis_name="i")(jnp.array([1, 2]))
        Array([[1, 2],
               [1, 2]], dtype=int32)
    """
    if not is_one_of(to, ("varying", "invarying", "reduced")):
        raise ArgumentError(
            f"all_gather takes to='varying' or 'reduced', or 'invarying', not {shortened(to)}."
        )
    names = _names(axis_name)
    groups, count = _groups("all_gather", names, axis_index_groups)
    if groups is not None and to != "varying":
        raise ArgumentError(
            f"all_gather in axis_index_groups takes to='varying', not {to!r}: other groups gather "
            "other values."
        )

    def one(leaf: Any) -> Array:
        array = opd.as_array(leaf)
        shape, entries = array.shape, types.entries(array.aval)
        place = ints.canonical_axis(axis, array.ndim + (not tiled), "all_gather: axis")
        for name in reversed(names):
            size = count if groups else _size("all_gather", name)
            params = GatherAxisParams(name, size, place, groups)
            one_value = to == "invarying" and _is_of_devices(name)
            array = bind1(all_gather_invariant_p if one_value else all_gather_p, (array,), params)
        if to == "reduced":
            for name in shared_axes(names):
                array = recast(array, name, "R")
        middle = (count * shape[place],) if tiled else (count,)
        target_shape = (*shape[:place], *middle, *shape[place + tiled :])
        return _reshaped(array, target_shape, entries if tiled else _with_entry(entries, place))

    result: T = tree.map(one, x)
    return result


def psum_scatter(
    x: T,
    axis_name: AxisName | Sequence[AxisName],
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> T:
    """Return, in each example, its own part of the sum over the examples.

    Args:
        x: arrays in any containers.
        axis_name: the name of the axis, or several, of which the first varies slowest.
        scatter_dimension: the axis that is divided among the examples.
        axis_index_groups: as for ``psum``; the groups are of one size.
        tiled: whether the axis stays, with fewer entries; otherwise it must have one entry for each
            example, and is removed.

    Raises:
        UnboundAxisError: no enclosing ``vmap`` has an axis of that name.
        ShapeError: the axis cannot be divided among the examples.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> share = tinyjax.vmap(lambda x: lax.psum_scatter(x, "batch"), axis_name="batch")
        >>> share(jnp.array([[1, 2], [10, 20]]))
        Array([11, 22], dtype=int32)
    """
    names = _names(axis_name)
    groups, count = _groups("psum_scatter", names, axis_index_groups)
    sizes = [count] if groups else [_size("psum_scatter", name) for name in names]

    def one(leaf: Any) -> Array:
        array = opd.as_array(leaf)
        place = ints.canonical_axis(
            scatter_dimension, array.ndim, "psum_scatter: scatter_dimension"
        )
        if tiled:
            array = _tiles("psum_scatter", array, place, count)
        if len(names) > 1 and array.shape[place] == count:
            array = sh.reshape(array, (*array.shape[:place], *sizes, *array.shape[place + 1 :]))
        for name, size in zip(names, sizes, strict=True):
            array = parts_along(array, name) if types.SHARING else array
            params = GatherAxisParams(name, size, place, groups)
            # checked here, since a mapped collective is gone before its type is looked at
            psum_scatter_p.rules.abstract_eval((array.aval,), params)
            array = bind1(psum_scatter_p, (array,), params)
        return array

    result: T = tree.map(one, x)
    return result


def _tiles(name: str, x: Array, axis: int, size: int) -> Array:
    """Divide an axis among the examples: one axis for them, then one within each part."""
    if x.shape[axis] % size:
        raise ShapeError(
            f"{name}, tiled, needs axis {axis} of {x.aval} to be divisible by the size {size} of "
            "the mapped axis."
        )
    shape = (*x.shape[:axis], size, x.shape[axis] // size, *x.shape[axis + 1 :])
    return _reshaped(x, shape, _with_entry(types.entries(x.aval), axis))


def _check_split(
    name: str, params: GatherAxisParams | AllToAllParams, x: av.ShapedArray, axis: int
) -> None:
    """Check that examples can share the places along an axis among them."""
    if not axis < x.ndim or x.shape[axis] != params.size:
        raise ShapeError(
            f"{name} over {shortened(params.axis_name)} needs axis {axis} to have the size of the "
            f"mapped one, {params.size}, but got {x}."
        )


# all_to_all


@attrs.frozen(eq=False, repr=False)
class AllToAllParams(prim.Params):
    """The axis that is divided among the examples, and where theirs then stands in each."""

    axis_name: Hashable
    size: int
    split_axis: int
    concat_axis: int
    groups: Groups | None = None


all_to_all_p: prim.Primitive[AllToAllParams] = prim.Primitive("all_to_all", AllToAllParams)


def _write_all_to_all(b: Lowering, line: _Line, x: SSAValue, params: AllToAllParams) -> SSAValue:
    # StableHLO's axes stay: one that is divided becomes shorter, here of one part, and one that
    # parts are joined along longer, here from 1. So the new axis is put in before.
    split, concat, (result,) = params.split_axis, params.concat_axis, b.results
    place = concat if concat <= split else concat + 1
    wide = b.reshape(x, _one_more(x.type, place).shape)
    source = split if place > split else split + 1
    shape = [*wide.shape]
    shape[source], shape[place] = 1, params.size
    parts = _collective(
        b,
        "stablehlo.all_to_all",
        line,
        wide,
        hlo.tensor(tuple(shape), x.dtype),
        split_dimension=hlo.integer(source),
        concat_dimension=hlo.integer(place),
        split_count=hlo.integer(params.size),
    )
    return b.reshape(parts, result.shape)


def _all_to_all_division(
    params: AllToAllParams, avals: prim.Avals, outs: prim.Avals
) -> list[Entries]:
    (x,) = avals
    mesh_rule.whole(types.entries(x), (params.split_axis,), _OF_EXAMPLES)
    return [_with_entry(mesh_rule.entries_except(x, (params.split_axis,)), params.concat_axis)]


_def_unbound(all_to_all_p, _write_all_to_all, division=_all_to_all_division)
rules.def_linear(all_to_all_p, repeats=True)
sh.def_simple_batch(
    all_to_all_p,
    lambda p, size: attrs.evolve(p, split_axis=p.split_axis + 1, concat_axis=p.concat_axis + 1),
)


@all_to_all_p.def_abstract_eval
def _all_to_all_type(avals: prim.Avals, params: AllToAllParams) -> prim.Avals:
    (x,) = avals
    _check_split("all_to_all", params, x, params.split_axis)
    shape = list(x.shape)
    del shape[params.split_axis]
    shape.insert(params.concat_axis, params.size)
    return (x.with_shape(tuple(shape)),)


def _all_to_all_transpose(ct: Array, x: prim.UndefinedPrimal, params: AllToAllParams) -> Array:
    back = attrs.evolve(params, split_axis=params.concat_axis, concat_axis=params.split_axis)
    return bind1(all_to_all_p, (ct,), back)


rules.def_transposes(all_to_all_p, _all_to_all_transpose)


@all_to_all_p.def_collective
@_by_groups
def _all_to_all_collective(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: AllToAllParams
) -> prim.BatchResult:
    # the axis of parts becomes the examples', and the examples' an axis of each
    x = sh.move_batch_axis(values[0], axes[0], 0, mapped.size)
    x = sh.moveaxis(x, params.split_axis + 1, 0)
    return (sh.moveaxis(x, 1, params.concat_axis + 1),), (0,)


def all_to_all(
    x: T,
    axis_name: AxisName | Sequence[AxisName],
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> T:
    """Exchange parts: example ``i`` gets part ``i`` of every example's value.

    Args:
        x: arrays in any containers.
        axis_name: the name of the axis; or several, of which the first varies slowest.
        split_axis: the axis that is divided among the examples.
        concat_axis: where the parts from the examples are put.
        axis_index_groups: as for ``psum``; the groups are of one size.
        tiled: whether ``split_axis`` stays, with fewer entries, and ``concat_axis`` is an existing
            axis that gets more.

    Raises:
        UnboundAxisError: no enclosing ``vmap`` has an axis of that name.
        ShapeError: the axis cannot be divided among the examples.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> exchange = tinyjax.vmap(lambda x: lax.all_to_all(x, "batch", 0, 0), axis_name="batch")
        >>> exchange(jnp.array([[1, 2], [3, 4]]))
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    names = _names(axis_name)
    groups, size = _groups("all_to_all", names, axis_index_groups)
    sizes = [_size("all_to_all", name) for name in names]

    def exchanged(array: Array, split: int, concat: int) -> Array:
        if len(names) == 1:
            params = AllToAllParams(names[0], size, split, concat, groups)
            all_to_all_p.rules.abstract_eval((array.aval,), params)
            return bind1(all_to_all_p, (array,), params)
        if array.shape[split] != size:
            raise ShapeError(
                f"all_to_all needs axis {split} of {array.aval} to have the size {size} of the "
                "mapped axes together."
            )
        # one exchange per axis, whose examples come first, in order
        array = sh.reshape(array, (*array.shape[:split], *sizes, *array.shape[split + 1 :]))
        for i, (name, part) in enumerate(zip(names, sizes, strict=True)):
            params = AllToAllParams(name, part, i + split, i)
            array = bind1(all_to_all_p, (array,), params)
        return sh.moveaxis(sh.reshape(array, (size, *array.shape[len(sizes) :])), 0, concat)

    def one(leaf: Any) -> Array:
        array = opd.as_array(leaf)
        split = ints.canonical_axis(split_axis, array.ndim, "all_to_all: split_axis")
        concat = ints.canonical_axis(concat_axis, array.ndim, "all_to_all: concat_axis")
        if tiled:
            array = _tiles("all_to_all", array, split, size)
        out = exchanged(array, split, concat)
        if not tiled:
            return out
        shape = list(out.shape)
        shape[concat : concat + 2] = [shape[concat] * shape[concat + 1]]
        return _reshaped(out, tuple(shape), mesh_rule.entries_except(out.aval, (concat,)))

    result: T = tree.map(one, x)
    return result


# ppermute


@attrs.frozen(eq=False, repr=False)
class PermuteParams(prim.Params):
    """The pairs (from, to) of examples; those that receive no value have zeros."""

    axis_name: Hashable
    perm: tuple[tuple[int, int], ...]


ppermute_p: prim.Primitive[PermuteParams] = prim.Primitive("ppermute", PermuteParams)


def _write_ppermute(b: Lowering, line: _Line, x: SSAValue, params: PermuteParams) -> SSAValue:
    pairs = [[int(group[a]), int(group[c])] for group in line.groups for a, c in params.perm]
    if not pairs:
        return b.full_like(x, 0)
    text = f"dense<{pairs}> : tensor<{len(pairs)}x2xi64>"
    attributes = {"channel_handle": lowering.channel(b.module), "source_target_pairs": text}
    return b.emit("stablehlo.collective_permute", (x,), (x.type,), attributes)[0]


_def_unbound(
    ppermute_p,
    _write_ppermute,
    alone=lambda b, line, x, params: x if params.perm else b.full_like(x, 0),
    division=mesh_rule.same,
)
rules.def_linear(ppermute_p, repeats=True)
sh.def_simple_batch(ppermute_p)


ppermute_p.def_abstract_eval(lambda avals, params: avals)


def _ppermute_transpose(ct: Array, x: prim.UndefinedPrimal, params: PermuteParams) -> Array:
    back = PermuteParams(params.axis_name, tuple((b, a) for a, b in params.perm))
    return bind1(ppermute_p, (ct,), back)


rules.def_transposes(ppermute_p, _ppermute_transpose)


@ppermute_p.def_collective
def _ppermute_collective(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: PermuteParams
) -> prim.BatchResult:
    x = sh.move_batch_axis(values[0], axes[0], 0, mapped.size)
    source = {to: of for of, to in params.perm}
    return (_rows(x, [source.get(i) for i in range(mapped.size)]),), (0,)


def ppermute(x: T, axis_name: AxisName | Sequence[AxisName], perm: Sequence[tuple[int, int]]) -> T:
    """Send each example's value to another one.

    Args:
        x: arrays in any containers.
        axis_name: the name of the axis; or several, whose examples are numbered together, the last
            axis' fastest.
        perm: pairs (from, to); an example that no pair sends to gets zeros.

    Raises:
        UnboundAxisError: no enclosing ``vmap`` has an axis of that name.
        ArgumentError: an example is out of range, sends twice or is sent to twice.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax._extensions.parallel.collective import ppermute
        >>> shift = [(0, 1), (1, 2)]
        >>> tinyjax.vmap(lambda x: ppermute(x, "i", shift), axis_name="i")(jnp.array([5, 6, 7]))
        Array([0, 5, 6], dtype=int32)
    """
    names = _names(axis_name)
    size = prod(_size("ppermute", name) for name in names)
    pairs = int_pairs(perm, "perm of ppermute")
    for side in zip(*pairs, strict=True) if pairs else ():
        if len(set(side)) != len(side) or not all(0 <= i < size for i in side):
            raise ArgumentError(
                f"ppermute over {shortened(axis_name)}, which has size {size}, needs distinct "
                f"sources and distinct destinations from 0 to {size - 1}, but got {pairs}."
            )
    if len(names) == 1:
        params = PermuteParams(names[0], pairs)
        sent: T = tree.map(lambda leaf: bind1(ppermute_p, (opd.as_array(leaf),), params), x)
        return sent
    of_each = np.full(size, size, np.int32)  # whose value an example gets; nobody's by default
    for source, to in pairs:
        of_each[to] = source
    place = dynamic_index_in_dim(opd.as_array(of_each), axis_index(names), 0, keepdims=False)

    def send(leaf: Any) -> Array:
        array = opd.as_array(leaf)
        everyone = sh.reshape(all_gather(array, names), (size, *array.shape))
        nothing = sh.full((1, *array.shape), 0, array.dtype)
        return dynamic_index_in_dim(concatenate([everyone, nothing], 0), place, 0, keepdims=False)

    result: T = tree.map(send, x)
    return result


def pshuffle(x: T, axis_name: AxisName | Sequence[AxisName], perm: Sequence[int]) -> T:
    """Send to each example ``i`` the value of example ``perm[i]``; see ``ppermute``.

    ``perm`` names each example once, as many as the axis is long. Inside ``shard_map`` devices
    along an axis of the mesh send what they hold. The derivative sends back.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> shuffle = tinyjax.vmap(lambda x: lax.pshuffle(x, "batch", [2, 0, 1]), axis_name="batch")
        >>> shuffle(jnp.array([10, 20, 30]))
        Array([30, 10, 20], dtype=int32)
    """
    return ppermute(x, axis_name, [(source, i) for i, source in enumerate(listed(perm, "perm"))])


def pswapaxes(
    x: T,
    axis_name: AxisName,
    axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> T:
    """Exchange the mapped axis with an axis of the same size; see ``all_to_all``.

    After it example ``i`` holds the ``i``-th element of each. Inside ``shard_map`` devices along an
    axis of the mesh exchange what they hold. The derivative exchanges back.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> swap = tinyjax.vmap(lambda x: lax.pswapaxes(x, "batch", 0), axis_name="batch")
        >>> swap(jnp.array([[1, 2], [3, 4]]))
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)
