"""``shard_map`` on one device: each axis of the mesh is the named axis of a ``vmap``.

So a call on arrays of the host is evaluated by NumPy, without a compiler and whatever devices there
are; and what XLA computes on several devices has something independent to be held against.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.core.primitives import broadcast as bc, shape as sh, slicing as sl
from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.core.transforms import batching as bt
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.parallel import constraint as con, inside, meshes, primitive, sharding as sd


def emulate(args: prim.Arrays, params: primitive.ShardMapParams) -> prim.Arrays:
    """Evaluate a program for each device of a mesh, all on one."""
    mesh = params.mesh
    names = [_rows(mesh, spec) for spec in params.in_specs]
    pairs = zip(map(_untyped, args), params.in_specs, strict=True)
    parts = [_divided(x, mesh, spec) for x, spec in pairs]
    outs = _along(0, parts, names, params)
    return [
        _joined(out, mesh, spec, aval)
        for out, spec, aval in zip(outs, params.out_specs, params.jaxpr.out_avals, strict=True)
    ]


def _untyped(x: Array) -> Array:
    """Return an array whose type does not tell how it lies."""
    if isinstance(x, ConcreteArray):
        return x if x.aval is x.aval.plain else ConcreteArray(x.host, x.aval.plain)
    return con.unsaid(x)


def _along(
    number: int, args: prim.Arrays, names: Sequence[Sequence[str]], params: primitive.ShardMapParams
) -> list[Array]:
    """Map over the axes of the mesh from one on.

    Args:
        number: the axis, among those along which devices run the program.
        args: the operands, with an axis in front for each axis of the mesh that divides them.
        names: what these are called.
        params: the parameters.
    """
    if number == len(params.axes):
        return jx.eval_jaxpr(inside.erased(params.jaxpr, on_host=True), args)
    name, size = params.sizes[number]
    rest = [[other for other in own if other != name] for own in names]
    axes = [0 if name in own else None for own in names]
    mapped = prim.MappedAxis(size, name, one_by_one=True)
    outs, out_axes = bt.batch_flat(
        lambda *xs: _along(number + 1, xs, rest, params), mapped, args, axes
    )
    result: list[Array] = []
    for out, axis, spec in zip(outs, out_axes, params.out_specs, strict=True):
        if name in spec.names or name in spec.unreduced:
            result.append(sh.move_batch_axis(out, axis, 0, size))
        else:  # all are the same
            result.append(
                out if axis is None else sh.squeeze(sl.slice_in_dim(out, 0, 1, axis=axis), (axis,))
            )
    return result


def _rows(mesh: meshes.AnyMesh, spec: sd.PartitionSpec) -> list[str]:
    """The axes of the mesh along which devices have different parts, in the order of the mesh."""
    return [name for name in mesh.axis_names if name in spec.names or name in spec.unreduced]


def _divided(x: Array, mesh: meshes.AnyMesh, spec: sd.PartitionSpec) -> Array:
    """Divide an array: an axis in front for each axis of the mesh that it is divided over.

    Of a sum the first device has all.
    """
    sizes, shape, places = mesh.shape, list[int](), list[str | None]()
    for axis, n in enumerate(x.shape):
        own = spec.axes(axis)
        shape += [*[sizes[name] for name in own], n // mesh.size_of(own)]
        places += [*own, None]
    x = sh.reshape(x, tuple(shape))
    for name in spec.unreduced:
        others = sh.full((sizes[name] - 1, *x.shape), 0, x.dtype)
        x = sl.concatenate([sh.reshape(x, (1, *x.shape)), others], 0)
        places.insert(0, name)
    front = [places.index(name) for name in _rows(mesh, spec)]
    rest = [i for i, name in enumerate(places) if name is None]
    return sh.transpose(x, (*front, *rest))


def _joined(x: Array, mesh: meshes.AnyMesh, spec: sd.PartitionSpec, part: av.ShapedArray) -> Array:
    """Join the parts of an array again; ``part`` is the type of each."""
    rows = _rows(mesh, spec)
    x = bc.reduce_sum(x, tuple([i for i, name in enumerate(rows) if name in spec.unreduced]))
    front = [name for name in rows if name not in spec.unreduced]
    order: list[int] = []
    shape: list[int] = []
    for axis, n in enumerate(part.shape):
        own = spec.axes(axis)
        order += [*[front.index(name) for name in own], len(front) + axis]
        shape.append(n * mesh.size_of(own))
    return sh.reshape(sh.transpose(x, order), tuple(shape))
