"""Slices whose place is only known when the program runs: dynamic_slice and its update.

The start of each axis is an operand of its own, a scalar integer, so that a start known beforehand
is a literal. As in XLA a slice that would reach past the end is moved back until it fits; the
public functions count negative starts from the end first, by ``wrap_index``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

from tinyjax import _primitives as primitives, dtypes
from tinyjax._primitives.modes import GatherScatterMode
from tinyjax._primitives.wrap_index import (
    canonical_indices,
    check_bounds,
    same_dtype,
    wrap_index,
)
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.primitives.rules import def_linear, def_transposes
from tinyjax.core.stablehlo import Lowering, Values, types as hlo
from tinyjax.core.tracing import Primitive, checking, primitive as prim, program_rules, trace as tr
from tinyjax.core.tracing.jaxpr import Atom, JaxprEqn, Var, is_zero, splat_literal
from tinyjax.core.values import Array, ArrayLike, ShapedArray, integers as ints, operands as opd
from tinyjax.errors import DtypeError, ShapeError

_role = "indexes"  # see ``frames.Role``

# dynamic_slice


@attrs.frozen(eq=False, repr=False)
class DynamicSliceParams(prim.Params):
    """The size of the slice along each axis."""

    sizes: tuple[int, ...]


dynamic_slice_p: Final = Primitive("dynamic_slice", DynamicSliceParams, repeatable=True)


def _host_slices(
    shape: tuple[int, ...], starts: Sequence[dtypes.HostArray], sizes: Sequence[int]
) -> tuple[slice, ...]:
    slices = []
    for n, start, size in zip(shape, starts, sizes, strict=True):
        first = min(max(int(start), 0), n - size)
        slices.append(slice(first, first + size))
    return tuple(slices)


def _check_starts(name: str, x: ShapedArray, starts: Sequence[ShapedArray]) -> None:
    if len(starts) != x.ndim:
        raise ShapeError(f"{name} needs one start for each axis of {x}, but got {len(starts)}.")
    for start in starts:
        if start.shape or not dtypes.is_integer(start.dtype) or start.dtype != starts[0].dtype:
            raise DtypeError(
                f"{name} needs integer scalars of one dtype as starts, but got "
                f"{', '.join(map(str, starts))}."
            )


@dynamic_slice_p.def_impl
def _dynamic_slice_impl(operands: prim.Hosts, params: DynamicSliceParams) -> prim.Hosts:
    x, *starts = operands
    return (np.asarray(x[_host_slices(x.shape, starts, params.sizes)]),)


@dynamic_slice_p.def_host
def _dynamic_slice_host(avals: prim.Avals, params: DynamicSliceParams) -> prim.Kernel | None:
    if len(params.sizes) != 1:
        return None
    (size,) = params.sizes
    last = avals[0].shape[0] - size

    def read(x: dtypes.HostArray, start: dtypes.HostArray) -> dtypes.HostArray:
        first = int(start)
        if not 0 <= first <= last:
            first = 0 if first < 0 else last
        return x[first : first + size]

    return read


@dynamic_slice_p.def_abstract_eval
def _dynamic_slice_type(avals: prim.Avals, params: DynamicSliceParams) -> prim.Avals:
    x, *starts = avals
    _check_starts("dynamic_slice", x, starts)
    if len(params.sizes) != x.ndim or any(
        not 0 <= m <= n for m, n in zip(params.sizes, x.shape, strict=False)
    ):
        raise ShapeError(
            f"slice_sizes of dynamic_slice, one for each axis of {x}, must be "
            "greater than or equal to zero and less than or equal to operand shape, but got "
            f"{params.sizes}."
        )
    return (ShapedArray(params.sizes, x.dtype, x.weak_type),)


def _lower_start(b: Lowering, start: hlo.SSAValue, last: int) -> hlo.SSAValue:
    """Write a start in bounds: XLA adds the starts of a slice of a slice before it moves them."""
    if b.is_apart:
        return start
    if not last:
        return b.full_like(start, 0)
    known = b.data_of(start)
    if known is not None and 0 <= int(known) <= last:
        return start
    greatest = min(last, int(np.iinfo(start.dtype).max))
    return b.op(
        "stablehlo.clamp",
        b.full_like(start, 0),
        start,
        b.full_like(start, greatest),
        result=start.type,
    )


@dynamic_slice_p.def_lowering
def _dynamic_slice_lowering(b: Lowering, operands: Values, params: DynamicSliceParams) -> Values:
    if not params.sizes:
        return operands
    x, *starts = operands
    bounds = zip(starts, x.shape, params.sizes, strict=True)
    return (
        b.dynamic_slice(x, [_lower_start(b, s, n - size) for s, n, size in bounds], params.sizes),
    )


def_linear(dynamic_slice_p, 0, repeats=False)


def_transposes(
    dynamic_slice_p,
    lambda ct, x, *starts_and_params: tr.bind1(
        dynamic_update_slice_p, (opd.splat(0, x.aval), ct, *starts_and_params[:-1]), prim.NO_PARAMS
    ),
)


def _first(starts: Sequence[Array]) -> Array:
    """Zero, as a start of the dtype of others."""
    return opd.splat(0, starts[0].aval if starts else ShapedArray((), dtypes.int32))


def _index_vectors(
    shape: tuple[int, ...],
    sizes: Sequence[int],
    starts: Sequence[Array],
    axes: Sequence[int | None],
    size: int,
) -> tuple[tuple[int, ...], Array]:
    """Stack batched starts into index vectors, leaving out the axes that are taken whole.

    Returns:
        The axes that are left, and an array of shape ``(size, their number)``.
    """
    chosen = tuple([i for i, (n, m) in enumerate(zip(shape, sizes, strict=True)) if m < n])
    columns = [
        sh.reshape(sh.move_batch_axis(starts[i], axes[i], 0, size), (size, 1)) for i in chosen
    ]
    if columns:
        return chosen, slicing.concatenate(columns, 1)
    return chosen, opd.splat(0, ShapedArray((size, 0), starts[0].dtype))


@dynamic_slice_p.def_batch
def _dynamic_slice_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: DynamicSliceParams
) -> prim.BatchResult:
    (x, *starts), (axis, *start_axes) = values, axes
    sizes = params.sizes
    if all(a is None for a in start_axes):
        assert axis is not None, "a batch rule runs only where an operand is batched"
        moved = DynamicSliceParams((*sizes[:axis], mapped.size, *sizes[axis:]))
        starts.insert(axis, _first(starts))
        return (tr.bind1(dynamic_slice_p, (x, *starts), moved),), (axis,)
    shape = x.shape if axis is None else (*x.shape[:axis], *x.shape[axis + 1 :])
    chosen, indices = _index_vectors(shape, sizes, starts, start_axes, mapped.size)
    if not chosen:
        return (x,), (axis,)
    if axis is not None and not mapped.size:
        x = sh.moveaxis(x, axis, 0)
        return (slicing.slice_(x, (0,) * x.ndim, (0, *sizes)),), (0,)
    batched = axis is not None
    numbers = primitives.GatherDimensionNumbers(
        offset_dims=tuple(range(1, len(shape) + 1)),
        collapsed_slice_dims=(),
        start_index_map=tuple([i + batched for i in chosen]),
        operand_batching_dims=(0,) if batched else (),
        start_indices_batching_dims=(0,) if batched else (),
    )
    if axis is not None:
        x = sh.moveaxis(x, axis, 0)
        sizes = (1, *sizes)
    clipped = primitives.GatherParams(numbers, sizes, GatherScatterMode.CLIP)
    return (tr.bind1(primitives.gather_p, (x, indices), clipped),), (0,)


# dynamic_update_slice

dynamic_update_slice_p: Primitive[prim.NoParams] = Primitive(
    "dynamic_update_slice", prim.NoParams, repeatable=True
)


@dynamic_update_slice_p.def_impl
def _dynamic_update_slice_impl(operands: prim.Hosts, params: prim.NoParams) -> prim.Hosts:
    x, update, *starts = operands
    out = opd.copied(x, x.dtype)
    out[_host_slices(x.shape, starts, update.shape)] = update
    return (out,)


@dynamic_update_slice_p.def_abstract_eval
def _dynamic_update_slice_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    x, update, *starts = avals
    _check_starts("dynamic_update_slice", x, starts)
    if update.ndim != x.ndim or any(m > n for m, n in zip(update.shape, x.shape, strict=False)):
        raise ShapeError(
            f"the update of dynamic_update_slice must have the same rank as operand, and must be "
            f"smaller than operand shape or equal to it, {x}, but got {update}."
        )
    if update.dtype != x.dtype:
        raise DtypeError(
            f"dynamic_update_slice requires arguments to have the same dtypes, but got {x} and "
            f"an update {update}. Convert it with .astype(...)."
        )
    return (x.strip_weak(),)


@dynamic_update_slice_p.def_lowering
def _dynamic_update_slice_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    if not operands[0].ndim:
        return (operands[1],)
    return b.emit("stablehlo.dynamic_update_slice", operands, b.results)


def_linear(dynamic_update_slice_p, 0, 1, repeats=False)
prim.mark(prim.MATERIALIZES, True, dynamic_update_slice_p)
prim.mark(prim.READS, False, dynamic_slice_p)
prim.mark(prim.WRITES, False, dynamic_update_slice_p)


def _into_operand(
    ct: Array, x: object, update: Array | prim.UndefinedPrimal, *starts: Array
) -> Array:
    covered = opd.splat(0, ShapedArray(update.aval.shape, ct.dtype))
    return tr.bind1(dynamic_update_slice_p, (ct, covered, *starts), prim.NO_PARAMS)


def _into_update(ct: Array, x: object, update: prim.UndefinedPrimal, *starts: Array) -> Array:
    return tr.bind1(dynamic_slice_p, (ct, *starts), DynamicSliceParams(update.aval.shape))


def_transposes(dynamic_update_slice_p, _into_operand, _into_update)


@dynamic_update_slice_p.def_rule(program_rules.ADDED)
def _dynamic_update_added(eqn: JaxprEqn, array: Atom, out: Var) -> Sequence[JaxprEqn]:
    before, update, *starts = eqn.inputs
    if not is_zero(before):
        return ()
    return _added_at(eqn, array, update, starts, out)


@dynamic_update_slice_p.def_rule(program_rules.OVERWRITTEN)
def _dynamic_update_overwritten(eqn: JaxprEqn, before: Var) -> tuple[JaxprEqn, JaxprEqn]:
    x, update, *starts = eqn.inputs
    overwritten = Var(ShapedArray(update.aval.shape, x.aval.dtype, x.aval.weak_type))
    params = DynamicSliceParams(update.aval.shape)
    return (
        JaxprEqn(dynamic_slice_p, (x, *starts), params, (overwritten,), eqn.source),
        attrs.evolve(eqn, inputs=(*eqn.out_binders, overwritten, *starts), out_binders=(before,)),
    )


@slicing.pad_p.def_rule(program_rules.ADDED)
def _padded_added(eqn: JaxprEqn, array: Atom, out: Var) -> Sequence[JaxprEqn]:
    update, value = eqn.inputs
    config = eqn.params.config
    if not is_zero(value) or any(min(low, high) < 0 or inside for low, high, inside in config):
        return ()
    aval = ShapedArray((), dtypes.int32)
    starts = [splat_literal(low, aval) for low, _, _ in config]
    return _added_at(eqn, array, update, starts, out)


def _added_at(
    eqn: JaxprEqn, array: Atom, update: Atom, starts: Sequence[Atom], out: Var
) -> Sequence[JaxprEqn]:
    """Return equations that add to a part of an array."""
    before, after = Var(update.aval), Var(update.aval)
    params = DynamicSliceParams(update.aval.shape)
    return [
        JaxprEqn(dynamic_slice_p, (array, *starts), params, (before,), eqn.source),
        JaxprEqn(ew.add, (before, update), prim.NO_PARAMS, (after,), eqn.source),
        JaxprEqn(
            dynamic_update_slice_p, (array, after, *starts), prim.NO_PARAMS, (out,), eqn.source
        ),
    ]


@dynamic_update_slice_p.def_batch
def _dynamic_update_slice_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: prim.NoParams
) -> prim.BatchResult:
    (x, update, *starts), (x_axis, update_axis, *start_axes) = values, axes
    windows, window_axes = (x, update), (x_axis, update_axis)
    if sh.are_last(mapped, windows, window_axes) and all(a is None for a in start_axes):
        operands = (*sh.batch_axes_at_end(mapped, windows, window_axes), *starts, _first(starts))
        return (tr.bind1(dynamic_update_slice_p, operands, params),), (len(starts),)
    x = sh.move_batch_axis(x, x_axis, 0, mapped.size)
    update = sh.move_batch_axis(update, update_axis, 0, mapped.size)
    if all(a is None for a in start_axes):
        operands = (x, update, _first(starts), *starts)
        return (tr.bind1(dynamic_update_slice_p, operands, params),), (0,)
    chosen, indices = _index_vectors(x.shape[1:], update.shape[1:], starts, start_axes, mapped.size)
    if not chosen or not mapped.size:
        return (update if not chosen else x,), (0,)
    numbers = primitives.ScatterDimensionNumbers(
        update_window_dims=tuple(range(1, x.ndim)),
        inserted_window_dims=(),
        scatter_dims_to_operand_dims=tuple([i + 1 for i in chosen]),
        operand_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
    )
    clipped = primitives.ScatterParams(numbers, GatherScatterMode.CLIP, False, True)
    return (tr.bind1(primitives.scatter_p, (x, indices, update), clipped),), (0,)


# The public functions


#: A start may be of 64 bits beside others of 32: those give way.
_OF_32_BITS: Final = {dtypes.int64: dtypes.int32, dtypes.uint64: dtypes.uint32}


def _starts(
    name: str,
    x: Array,
    start_indices: Array | dtypes.HostArray | Sequence[ArrayLike],
    sizes: tuple[int, ...],
    allow_negative_indices: bool | Sequence[bool],
) -> list[Array]:
    """Bring the starts of a slice of some size to scalars of one dtype, counted from the front."""
    scalars: list[Array]
    if isinstance(start_indices, (Array, np.ndarray)):
        vector = opd.as_array(start_indices)
        if vector.ndim != 1:
            raise ShapeError(
                f"{name} needs a vector of starts, one for each axis of {x.aval}, but got "
                f"{vector.aval}."
            )
        scalars = [
            sh.reshape(slicing.slice_(vector, (i,), (i + 1,)), ()) for i in range(vector.shape[0])
        ]
    else:
        scalars = [opd.as_array(start) for start in ints.listed(start_indices, "start_indices")]
        kinds = {start.dtype for start in scalars if not start.weak_type}
        if len({_OF_32_BITS.get(dtype, dtype) for dtype in kinds}) > 1:
            names = ", ".join([start.dtype.name for start in scalars])
            raise DtypeError(
                f"{name} needs starts that are integers of the same type, but got {names}. Convert "
                "them with .astype(...)."
            )
    if len(scalars) != x.ndim:
        raise ShapeError(
            "Length of slice indices must match number of operand dimensions: "
            f"{name} needs one start for each axis of {x.aval}, but got {len(scalars)} of them."
        )
    negative = (
        [allow_negative_indices] * len(scalars)
        if isinstance(allow_negative_indices, bool)
        else ints.listed(allow_negative_indices, "allow_negative_indices")
    )
    if len(negative) != len(scalars):
        raise ShapeError(
            f"{name}: allow_negative_indices is one for all axes, or one for each of {x.aval}, but "
            f"there are {len(negative)}."
        )
    starts = []
    for axis, (start, n, wrap) in enumerate(zip(scalars, x.shape, negative, strict=True)):
        if start.shape:
            raise ShapeError(f"starts of {name} must be scalars, but got {start.aval}.")
        integer = canonical_indices(start, f"a start of {name}")
        check_bounds(integer, x.shape, (axis,), sizes[axis : axis + 1], wraps=bool(wrap))
        starts.append(wrap_index(integer, n) if wrap else integer)
    return same_dtype(starts)


def dynamic_slice(
    operand: Array | dtypes.HostArray,
    start_indices: Array | dtypes.HostArray | Sequence[ArrayLike],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """Return a slice of fixed size that starts where an operand says.

    Args:
        operand: any dtype.
        start_indices: an integer for each axis, or a vector of them. A slice that would reach past
            the end is moved back until it fits.
        slice_sizes: the size of the slice along each axis.
        allow_negative_indices: whether a start below zero counts from the end; for all axes, or for
            each.

    Returns:
        An array of shape ``slice_sizes`` and of ``operand``'s dtype.

    Raises:
        ShapeError: the numbers of starts and sizes are not that of the axes, or a size is larger
            than its axis.
        DtypeError: a start is not an integer.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax._primitives.dynamic_slice import dynamic_slice
        >>> dynamic_slice(jnp.arange(5), (2,), (2,))
        Array([2, 3], dtype=int32)
        >>> dynamic_slice(jnp.arange(5), (4,), (2,))
        Array([3, 4], dtype=int32)
    """
    x = opd.as_array(operand)
    sizes = ints.integers(slice_sizes, "slice_sizes")
    starts = _starts("dynamic_slice", x, start_indices, sizes, allow_negative_indices)
    return tr.bind1(dynamic_slice_p, (x, *starts), DynamicSliceParams(sizes))


def dynamic_update_slice(
    operand: Array | dtypes.HostArray,
    update: ArrayLike,
    start_indices: Array | dtypes.HostArray | Sequence[ArrayLike],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """Return a copy of an array in which a slice is replaced, where an operand says.

    Args:
        operand: any dtype.
        update: of ``operand``'s dtype, with as many axes, none of them longer.
        start_indices: an integer for each axis, or a vector of them. A slice that would reach past
            the end is moved back until it fits.
        allow_negative_indices: whether a start below zero counts from the end; for all axes, or for
            each.

    Returns:
        An array of ``operand``'s shape and dtype.

    Raises:
        ShapeError: the update does not fit, or the number of starts is not that of the axes.
        DtypeError: a start is not an integer, or the update's dtype differs.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax._primitives.dynamic_slice import dynamic_update_slice
        >>> dynamic_update_slice(jnp.arange(5), jnp.array([7, 7]), (1,))
        Array([0, 7, 7, 3, 4], dtype=int32)
    """
    x = opd.as_array(operand)
    value = opd.as_array(update)
    if opd.is_weak(value) and not x.weak_type:
        opd.check_number(value, x.dtype)
        value = ew.convert_element_type(value, x.dtype)
    starts = _starts("dynamic_update_slice", x, start_indices, value.shape, allow_negative_indices)
    return tr.bind1(dynamic_update_slice_p, (x, value, *starts), prim.NO_PARAMS)


def _one_start(x: Array, start: ArrayLike, axis: int) -> list[ArrayLike]:
    starts: list[ArrayLike] = [0] * x.ndim
    starts[axis] = start
    return starts


def dynamic_slice_in_dim(
    operand: Array | dtypes.HostArray,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Apply ``dynamic_slice`` to one axis and keep the others whole.

    The start may be traced, the size must be known. Negative starts count from the end; a slice
    that would run over the edge is moved back until it fits, where indexing in Python would shorten
    it.

    Raises:
        AxisError: there is no such axis.
        ShapeError: the size is larger than the axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax._primitives.dynamic_slice import dynamic_slice_in_dim
        >>> dynamic_slice_in_dim(jnp.arange(5), 1, 3)
        Array([1, 2, 3], dtype=int32)
        >>> dynamic_slice_in_dim(jnp.arange(5), 4, 3)
        Array([2, 3, 4], dtype=int32)
    """
    x = opd.as_array(operand)
    axis = ints.canonical_axis(axis, x.ndim)
    sizes = list(x.shape)
    sizes[axis] = ints.integer(slice_size, "slice_size")
    return dynamic_slice(
        x, _one_start(x, start_index, axis), sizes, allow_negative_indices=allow_negative_indices
    )


@checking.explained
def dynamic_index_in_dim(
    operand: Array | dtypes.HostArray,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Take one index of an axis, which is kept with size one unless ``keepdims`` is false.

    The index may be traced. Negative ones count from the end; one out of range takes the nearest
    element there is, and raises nothing.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax._primitives.dynamic_slice import dynamic_index_in_dim
        >>> dynamic_index_in_dim(jnp.arange(5), 2)
        Array([2], dtype=int32)
        >>> dynamic_index_in_dim(jnp.arange(5), 9, keepdims=False)
        Array(4, dtype=int32)
    """
    x = opd.as_array(operand)
    part = dynamic_slice_in_dim(x, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return part if keepdims else sh.squeeze(part, (ints.canonical_axis(axis, x.ndim),))


def dynamic_update_slice_in_dim(
    operand: Array | dtypes.HostArray,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Apply ``dynamic_update_slice`` along one axis; the update starts at 0 along the others.

    The start may be traced; an update that would run over the edge is moved back until it fits. The
    array itself stays as it is.

    Raises:
        AxisError: there is no such axis.
        ShapeError: the update does not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax._primitives.dynamic_slice import dynamic_update_slice_in_dim
        >>> dynamic_update_slice_in_dim(jnp.zeros(4), jnp.ones(2), 1, axis=0)
        Array([0., 1., 1., 0.], dtype=float32)
        >>> dynamic_update_slice_in_dim(jnp.zeros(4), jnp.ones(2), 3, axis=0)
        Array([0., 0., 1., 1.], dtype=float32)
    """
    x = opd.as_array(operand)
    starts = _one_start(x, start_index, ints.canonical_axis(axis, x.ndim))
    return dynamic_update_slice(x, update, starts, allow_negative_indices=allow_negative_indices)


def dynamic_update_index_in_dim(
    operand: Array | dtypes.HostArray,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Replace the elements at one index of an axis; the update may lack that axis.

    The index may be traced; one out of range stands for the nearest place there is. The array
    itself stays as it is. In both modes the derivative is that of a selection: nothing flows to
    what was replaced.

    Raises:
        AxisError: there is no such axis.
        ShapeError: the update does not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax._primitives.dynamic_slice import dynamic_update_index_in_dim
        >>> dynamic_update_index_in_dim(jnp.zeros((2, 3)), jnp.ones(3), 1, axis=0)
        Array([[0., 0., 0.],
               [1., 1., 1.]], dtype=float32)
    """
    x, value = opd.as_array(operand), opd.as_array(update)
    axis = ints.canonical_axis(axis, x.ndim)
    if value.ndim == x.ndim - 1:
        value = sh.reshape(value, (*value.shape[:axis], 1, *value.shape[axis:]))
    return dynamic_update_slice_in_dim(
        x, value, index, axis, allow_negative_indices=allow_negative_indices
    )
