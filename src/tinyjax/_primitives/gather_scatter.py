"""gather and scatter: windows of one array, read and written at indices that are data.

The last axis of the indices holds index vectors. Each gives the start of a slice (a window) of
fixed size, by a coordinate for some of the operand's axes. The windows are the offset axes of the
result or of the updates, and the index vectors' own axes are the batch axes. The dimension numbers
are XLA's (StableHLO specification, "gather" and "scatter"), but for the index vectors, which are
always last. Each is the other's transpose.

Where windows overlap, ``scatter_add`` and its like apply every update; of ``scatter`` one wins, and
on CPU that is the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from operator import attrgetter
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import records
from tinyjax._primitives import modes, windows as primitives_windows
from tinyjax.core.primitives import (
    broadcast,
    elementwise as ew,
    families,
    identities,
    rules,
    shape as sh,
)
from tinyjax.core.primitives.broadcast import Combine
from tinyjax.core.primitives.reduce import highest, lowest
from tinyjax.core.stablehlo import Lowering, types as hlo
from tinyjax.core.tracing import Primitive, bind, bind1, primitive as prim, program_rules
from tinyjax.core.tracing.jaxpr import Atom, JaxprEqn, Var, is_zero
from tinyjax.core.values import Array, ShapedArray, concrete, integers as ints, operands as opd

Scalar = bool | int | float | complex


@attrs.frozen(eq=False, repr=False)
class GatherDimensionNumbers(records.Record):
    """The roles of the axes of operand, indices and result of a gather.

    Attributes:
        offset_dims: the result's axes that run within a window; the others are the index vectors'.
        collapsed_slice_dims: the operand's axes that are left out of the windows, which have size
            one there.
        start_index_map: the operand's axis that each entry of an index vector is about.
        operand_batching_dims: the operand's axes that go along with an axis of the indices.
        start_indices_batching_dims: those axes of the indices.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> rows = lax.GatherDimensionNumbers(
        ...     offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)
        ... )
        >>> lax.gather(jnp.array([[1, 2], [3, 4]]), jnp.array([[1], [0]]), rows, slice_sizes=(1, 2))
        Array([[3, 4],
               [1, 2]], dtype=int32)
    """

    offset_dims: primitives_windows.Axes = attrs.field(converter=primitives_windows.as_axes)
    collapsed_slice_dims: primitives_windows.Axes = attrs.field(
        converter=primitives_windows.as_axes
    )
    start_index_map: primitives_windows.Axes = attrs.field(converter=primitives_windows.as_axes)
    operand_batching_dims: primitives_windows.Axes = attrs.field(
        default=(), converter=primitives_windows.as_axes
    )
    start_indices_batching_dims: primitives_windows.Axes = attrs.field(
        default=(), converter=primitives_windows.as_axes
    )


_of_gather = attrgetter(*[field.name for field in attrs.fields(GatherDimensionNumbers)])


@attrs.frozen(eq=False, repr=False)
class GatherParams(prim.Params):
    """The dimension numbers, and the known properties of the indices.

    ``fill_value`` is None for the dtype's own: NaN, or the least signed and greatest unsigned
    integer, or True.
    """

    dimension_numbers: GatherDimensionNumbers
    slice_sizes: tuple[int, ...]
    mode: modes.GatherScatterMode
    fill_value: Scalar | None = None
    indices_are_sorted: bool = False
    unique_indices: bool = False


# gather

gather_p: Final = Primitive("gather", GatherParams, repeatable=True)
prim.mark(prim.MOVES, True, gather_p)
prim.mark(prim.MATERIALIZES, False, gather_p)
prim.mark(prim.READS, True, gather_p)


def gather_windows(shape: tuple[int, ...], params: GatherParams) -> primitives_windows.Windows:
    """Return the windows of a gather from an array of the given shape."""
    return primitives_windows.Windows(
        shape, params.slice_sizes, *_of_gather(params.dimension_numbers)[1:]
    )


def fill_value(params: GatherParams, dtype: dtypes.DType) -> dtypes.HostArray:
    """Return what a gather reads out of bounds."""
    value = params.fill_value
    if dtypes.is_key(dtype):  # as JAX fills them
        return np.frombuffer(b"\xff" * dtype.itemsize, dtype).reshape(())
    if value is None:
        value = float("nan") if dtypes.is_inexact(dtype) else lowest(dtype) or highest(dtype)
    return np.array(value).astype(dtype)


@gather_p.def_impl
def _gather_impl(operands: prim.Hosts, params: GatherParams) -> prim.Hosts:
    x, indices = operands
    return (_gather(gather_windows(x.shape, params), params, x, indices),)


@gather_p.def_host
def _gather_host(avals: prim.Avals, params: GatherParams) -> prim.Kernel | None:
    x, indices = avals
    if params.fill_value == 0:  # 0.0 and -0.0 are equal, so a kernel would serve both
        return None
    windows, offset_dims = gather_windows(x.shape, params), params.dimension_numbers.offset_dims
    if indices.dtype not in (dtypes.int32, dtypes.int64):
        return partial(_gather, windows, params)
    unsigned = np.dtype(f"u{indices.dtype.itemsize}")
    last = np.array(windows.last_starts, unsigned)
    order = [windows.index_map.index(i) for i in range(x.ndim) if i in windows.index_map]
    of_elements = len(order) == len(windows.collapsed) == x.ndim > 1
    axis, batch = windows.only_axis, indices.ndim - 1
    is_take = (
        axis is not None
        and offset_dims == (*range(axis), *range(axis + batch, batch + len(offset_dims)))
        and 0 not in (*windows.window_shape, indices.size)
    )

    def read(x: dtypes.HostArray, indices: dtypes.HostArray) -> dtypes.HostArray:
        # as unsigned numbers, indices below zero are too large as well
        if not families.all_hold(np.less_equal(indices.view(unsigned), last)):
            return _gather(windows, params, x, indices)
        if of_elements:
            return np.asarray(x[tuple([indices[..., i] for i in order])])
        return primitives_windows.gathered(windows, x, indices, offset_dims)

    def read_elements(x: dtypes.HostArray, indices: dtypes.HostArray) -> dtypes.HostArray:
        # NumPy compares them with the sizes of the axes; it takes no unsigned ones of 64 bits
        places = indices.view(unsigned)
        try:
            if is_take:
                return np.asarray(x.take(places[..., 0], axis))
            return np.asarray(x[tuple([places[..., i] for i in order])])
        except IndexError:
            return _gather(windows, params, x, indices)

    is_large = is_take and opd.is_large((*indices.shape[:-1], *windows.window_shape), x.dtype)
    if (is_take or of_elements) and unsigned.itemsize == 4 and not is_large:
        return read_elements
    return read


def _gather(
    windows: primitives_windows.Windows,
    params: GatherParams,
    x: dtypes.HostArray,
    indices: dtypes.HostArray,
) -> dtypes.HostArray:
    offset_dims = params.dimension_numbers.offset_dims
    indices = primitives_windows.wide_indices(indices)
    out = primitives_windows.gathered(windows, x, indices, offset_dims)
    if params.mode is modes.GatherScatterMode.FILL_OR_DROP and out.size:
        inside = windows.in_bounds(indices)
        if not families.all_hold(inside):
            line = iter(inside.shape)
            shape = [1 if i in offset_dims else next(line) for i in range(out.ndim)]
            out = np.where(inside.reshape(shape), out, fill_value(params, x.dtype))
    return out


@gather_p.def_abstract_eval
def _gather_type(avals: prim.Avals, params: GatherParams) -> prim.Avals:
    x, indices = avals
    numbers = params.dimension_numbers
    windows = gather_windows(x.shape, params)
    windows.check("gather", x, indices)
    offsets = numbers.offset_dims
    ndim = indices.ndim - 1 + len(offsets)
    windows.check_places("gather", "offset axis of the result", offsets, ndim)
    inside = dict(zip(offsets, windows.window_shape, strict=True))
    rest = iter(indices.shape[:-1])
    shape = tuple([inside[i] if i in inside else next(rest) for i in range(ndim)])
    return (ShapedArray(shape, x.dtype, x.weak_type),)


@gather_p.def_lowering
def _gather_lowering(b: Lowering, operands: hlo.Values, params: GatherParams) -> hlo.Values:
    (x, indices), (out,) = operands, b.results
    numbers = params.dimension_numbers
    windows = gather_windows(x.shape, params)
    indices = primitives_windows.lower_wide_indices(b, indices)
    is_slice = prod(indices.shape[:-1]) == 1 and not b.is_apart
    if params.mode is modes.GatherScatterMode.CLIP and is_slice:
        # XLA makes it a dynamic slice, whose start it adds to that of a slice that it reads
        indices = primitives_windows.lower_clipped(b, indices, windows)
    text = (
        "#stablehlo.gather<"
        f"offset_dims = {list(numbers.offset_dims)}, "
        f"collapsed_slice_dims = {sorted(numbers.collapsed_slice_dims)}, "
        f"operand_batching_dims = {list(numbers.operand_batching_dims)}, "
        f"start_indices_batching_dims = {list(numbers.start_indices_batching_dims)}, "
        f"start_index_map = {list(numbers.start_index_map)}, "
        f"index_vector_dim = {indices.ndim - 1}>"
    )
    gathered = b.op(
        "stablehlo.gather",
        x,
        indices,
        result=out,
        dimension_numbers=text,
        slice_sizes=hlo.int_array(params.slice_sizes),
        indices_are_sorted=hlo.boolean(params.indices_are_sorted),
    )
    if params.mode is not modes.GatherScatterMode.FILL_OR_DROP or not params.slice_sizes:
        return (gathered,)
    inside = primitives_windows.lower_in_bounds(b, indices, windows)
    batch = [i for i in range(gathered.ndim) if i not in numbers.offset_dims]
    chosen = b.broadcast_in_dim(inside, out.shape, batch)
    filled = b.broadcast_in_dim(b.constant(fill_value(params, out.dtype)), out.shape, ())
    return (b.select(chosen, gathered, filled),)


# what is filled in does not depend on the operand
rules.def_derivatives(
    gather_p,
    lambda t, out, x, indices, params: bind1(
        gather_p, (t, indices), attrs.evolve(params, fill_value=0)
    ),
)


def _gather_transpose(
    ct: Array, x: prim.UndefinedPrimal, indices: Array, params: GatherParams
) -> Array:
    writing = ScatterParams(
        ScatterDimensionNumbers(*_of_gather(params.dimension_numbers)),
        params.mode,
        params.indices_are_sorted,
        params.unique_indices,
    )
    return bind1(scatter_add_p, (opd.splat(0, x.aval), indices, ct), writing)


rules.def_transposes(gather_p, _gather_transpose)


@gather_p.def_batch
def _gather_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: GatherParams
) -> prim.BatchResult:
    (x, indices), (x_axis, indices_axis) = values, axes
    numbers, sizes = params.dimension_numbers, params.slice_sizes
    if sh.are_last(mapped, (x,), (x_axis,)) and indices_axis is None:
        last = indices.ndim - 1 + len(numbers.offset_dims)
        numbers = attrs.evolve(numbers, offset_dims=(*numbers.offset_dims, last))
        batched = attrs.evolve(params, dimension_numbers=numbers, slice_sizes=(*sizes, mapped.size))
        return (bind1(gather_p, (x, indices), batched),), (last,)
    if x_axis is not None:
        x = sh.moveaxis(x, x_axis, 0)
        numbers = attrs.evolve(
            numbers,
            collapsed_slice_dims=_shifted(numbers.collapsed_slice_dims),
            start_index_map=_shifted(numbers.start_index_map),
            operand_batching_dims=_shifted(numbers.operand_batching_dims),
        )
    offsets = _shifted(numbers.offset_dims)
    if indices_axis is None:
        # the batch axis is one more axis of the windows
        numbers = attrs.evolve(numbers, offset_dims=(0, *offsets))
        sizes = (mapped.size, *sizes)
    else:
        indices = sh.moveaxis(indices, indices_axis, 0)
        along = _shifted(numbers.start_indices_batching_dims)
        if x_axis is None:
            numbers = attrs.evolve(numbers, offset_dims=offsets, start_indices_batching_dims=along)
        else:
            if not mapped.size:
                (out,) = _gather_type(
                    (x.aval.with_shape(x.shape[1:]), indices.aval.with_shape(indices.shape[1:])),
                    params,
                )
                return (opd.splat(0, out.with_shape((0, *out.shape))),), (0,)
            numbers = attrs.evolve(
                numbers,
                offset_dims=offsets,
                operand_batching_dims=(0, *numbers.operand_batching_dims),
                start_indices_batching_dims=(0, *along),
            )
            sizes = (1, *sizes)
    batched = attrs.evolve(
        params,
        dimension_numbers=numbers,
        slice_sizes=sizes,
        # sorted and unique within each example, not among all of them
        indices_are_sorted=params.indices_are_sorted and indices_axis is None,
        unique_indices=params.unique_indices and (indices_axis is None or x_axis is not None),
    )
    return (bind1(gather_p, (x, indices), batched),), (0,)


Operand = Array | prim.UndefinedPrimal


@attrs.frozen(eq=False, repr=False)
class ScatterDimensionNumbers(records.Record):
    """The roles of the axes of operand, indices and updates of a scatter.

    Attributes:
        update_window_dims: the updates' axes that run within a window; the others are the index
            vectors'.
        inserted_window_dims: the operand's axes that are left out of the windows, which have size
            one there.
        scatter_dims_to_operand_dims: the operand's axis that each entry of an index vector is
            about.
        operand_batching_dims: the operand's axes that go along with an axis of the indices.
        scatter_indices_batching_dims: those axes of the indices.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> elements = lax.ScatterDimensionNumbers(
        ...     update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
        ... )
        >>> lax.scatter_add(jnp.zeros(3), jnp.array([[2], [2]]), jnp.array([1.0, 5.0]), elements)
        Array([0., 0., 6.], dtype=float32)
    """

    update_window_dims: primitives_windows.Axes = attrs.field(converter=primitives_windows.as_axes)
    inserted_window_dims: primitives_windows.Axes = attrs.field(
        converter=primitives_windows.as_axes
    )
    scatter_dims_to_operand_dims: primitives_windows.Axes = attrs.field(
        converter=primitives_windows.as_axes
    )
    operand_batching_dims: primitives_windows.Axes = attrs.field(
        default=(), converter=primitives_windows.as_axes
    )
    scatter_indices_batching_dims: primitives_windows.Axes = attrs.field(
        default=(), converter=primitives_windows.as_axes
    )


_of_scatter = attrgetter(*[field.name for field in attrs.fields(ScatterDimensionNumbers)])


@attrs.frozen(eq=False, repr=False)
class ScatterParams(prim.Params):
    """The dimension numbers, and the known properties of the indices.

    ``in_bounds`` says that all windows have been found to lie within the array.
    """

    dimension_numbers: ScatterDimensionNumbers
    mode: modes.GatherScatterMode
    indices_are_sorted: bool = False
    unique_indices: bool = False
    in_bounds: bool | None = records.optional()


def scatter_windows(
    shape: tuple[int, ...], updates: tuple[int, ...], params: ScatterParams
) -> primitives_windows.Windows:
    """Return the windows of a scatter into an array of the given shape."""
    numbers = params.dimension_numbers
    left_out = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    rest = iter([updates[i] for i in numbers.update_window_dims if i < len(updates)])
    sizes = tuple([1 if i in left_out else next(rest, -1) for i in range(len(shape))])
    return primitives_windows.Windows(shape, sizes, *_of_scatter(numbers)[1:])


def as_gather(params: ScatterParams, windows: primitives_windows.Windows) -> GatherParams:
    """Return the gather that reads the windows that a scatter writes; zero where it drops them."""
    return GatherParams(
        GatherDimensionNumbers(*_of_scatter(params.dimension_numbers)),
        windows.sizes,
        params.mode,
        0,
        params.indices_are_sorted,
        params.unique_indices,
    )


def declare(
    name: str, ufunc: np.ufunc | None, combine: Combine, kinds: str
) -> Primitive[ScatterParams]:
    """Declare a scatter that combines by an operation; its derivative comes separately.

    Args:
        name: the primitive's name.
        ufunc: the NumPy function that combines; None where the update replaces.
        combine: the operation on two scalars.
        kinds: the kinds of dtype it takes.
    """
    primitive = Primitive(name, ScatterParams, repeatable=True)
    primitive.def_impl(partial(_scatter_hosts, ufunc, combine))
    primitive.def_abstract_eval(partial(_scatter_type, name, kinds))
    primitive.def_lowering(partial(_lower_scatter, combine))
    primitive.def_batch(partial(_scatter_batch, primitive))
    prim.mark(prim.MATERIALIZES, True, primitive)
    return primitive


#: Where so many updates come for each element, conversions of all elements take less time.
_MANY_UPDATES: Final = 8


def _combined_in(
    combine: Combine, x: dtypes.HostArray | hlo.SSAValue, updates: dtypes.HostArray | hlo.SSAValue
) -> dtypes.DType:
    """Return the dtype to combine in: sums of 1s in bfloat16 end at 256, in float16 at 2048."""
    if combine not in (Lowering.add, Lowering.sub, Lowering.mul):
        return x.dtype
    is_faster = dtypes.is_extended(x.dtype) or updates.size >= _MANY_UPDATES * x.size
    return broadcast.accumulator(x.dtype) if is_faster else x.dtype


def _scatter_hosts(
    ufunc: np.ufunc | None, combine: Combine, operands: prim.Hosts, params: ScatterParams
) -> prim.Hosts:
    x, indices, updates = operands
    dtype, wide = x.dtype, _combined_in(combine, x, updates)
    out = primitives_windows.scattered(
        scatter_windows(x.shape, updates.shape, params),
        x.astype(wide, copy=False),
        primitives_windows.wide_indices(indices),
        updates.astype(wide, copy=False),
        params.dimension_numbers.update_window_dims,
        ufunc,
        params.mode is modes.GatherScatterMode.CLIP,
        params.unique_indices,
    )
    return (out.astype(dtype, copy=False),)


def _scatter_type(name: str, kinds: str, avals: prim.Avals, params: ScatterParams) -> prim.Avals:
    x, indices, updates = avals
    rules.check_kind(name, x, kinds)
    if updates.dtype != x.dtype:
        raise errors.DtypeError(
            f"{name} needs updates of the dtype of {x}, but got {updates}. Convert them with "
            ".astype(...)."
        )
    windows = scatter_windows(x.shape, updates.shape, params)
    inside = params.dimension_numbers.update_window_dims
    windows.check_places(name, "axis of the updates", inside, updates.ndim)
    windows.check(name, x, indices)
    batch = tuple([n for i, n in enumerate(updates.shape) if i not in inside])
    if batch != indices.shape[:-1]:
        raise errors.ShapeError(
            f"{name} needs an update for each index vector: the axes of {updates} other than "
            f"{inside} must be {indices.shape[:-1]}, as in the indices {indices}."
        )
    return (x.strip_weak(),)


def _replace(b: Lowering, x: hlo.SSAValue, update: hlo.SSAValue) -> hlo.SSAValue:
    """Combine an element with its update: the update replaces it."""
    return update


def _write_window(b: Lowering, operands: hlo.Values, params: ScatterParams) -> hlo.Values:
    """Write one window in bounds by an update of a slice: XLA tests bounds in every scatter."""
    x, indices, updates = operands
    numbers = params.dimension_numbers
    starts = [b.full(0, hlo.tensor((), indices.dtype))] * x.ndim
    for i, axis in enumerate(numbers.scatter_dims_to_operand_dims):
        starts[axis] = b.reshape(b.slice(indices, (i,), (i + 1,), (1,)), ())
    lengths = iter(updates.shape)
    sizes = [1 if axis in numbers.inserted_window_dims else next(lengths) for axis in range(x.ndim)]
    window = b.reshape(b.convert(updates, x.dtype), tuple(sizes))
    return b.emit("stablehlo.dynamic_update_slice", (x, window, *starts), (x.type,))


def _lower_scatter(
    combine: Combine, b: Lowering, operands: hlo.Values, params: ScatterParams
) -> hlo.Values:
    x, indices, updates = operands
    if b.is_divided and combine in (Lowering.max, Lowering.min) and dtypes.is_float(x.dtype):
        keys = [broadcast.ordered(b, z, combine) for z in (x, updates)]
        (out,) = _write_scatter(combine, b, (keys[0], indices, keys[1]), params)
        return (broadcast.of_ordered(b, out, x.dtype),)
    return _write_scatter(combine, b, operands, params)


def _write_scatter(
    combine: Combine, b: Lowering, operands: hlo.Values, params: ScatterParams
) -> hlo.Values:
    x, indices, updates = operands
    if not updates.size:  # XLA takes no window of size zero
        return (x,)
    if not indices.shape[-1]:
        # All windows lie at the start. XLA forgets that they overlap where updates and operand
        # are of one shape, unless they say where along a further axis.
        wide = b.reshape(x, (1, *x.shape))
        starts = b.full(0, hlo.tensor((*indices.shape[:-1], 1), dtypes.int32))
        moved = _of_one_more_axis(params)
        (out,) = _write_scatter(combine, b, (wide, starts, updates), moved)
        return (b.reshape(out, x.shape),)
    if combine is _replace and params.in_bounds and indices.ndim == 1:
        return _write_window(b, operands, params)
    indices = primitives_windows.lower_wide_indices(b, indices)
    if params.mode is modes.GatherScatterMode.CLIP:
        windows = scatter_windows(x.shape, updates.shape, params)
        indices = primitives_windows.lower_clipped(b, indices, windows)
    numbers = params.dimension_numbers
    text = (
        "#stablehlo.scatter<"
        f"update_window_dims = {list(numbers.update_window_dims)}, "
        f"inserted_window_dims = {sorted(numbers.inserted_window_dims)}, "
        f"input_batching_dims = {list(numbers.operand_batching_dims)}, "
        f"scatter_indices_batching_dims = {list(numbers.scatter_indices_batching_dims)}, "
        f"scatter_dims_to_operand_dims = {list(numbers.scatter_dims_to_operand_dims)}, "
        f"index_vector_dim = {indices.ndim - 1}>"
    )
    attributes = {
        "scatter_dimension_numbers": text,
        "indices_are_sorted": hlo.boolean(params.indices_are_sorted),
        "unique_indices": hlo.boolean(params.unique_indices),
    }
    dtype = _combined_in(combine, x, updates)
    scalar = hlo.tensor((), dtype)
    region = b.region((scalar, scalar), lambda args: (combine(b, *args),))
    inputs = (b.convert(x, dtype), indices, b.convert(updates, dtype))
    (out,) = b.emit("stablehlo.scatter", inputs, (inputs[0].type,), attributes, (region,))
    return (b.convert(out, x.dtype),)


def _scatter_batch(
    primitive: Primitive[ScatterParams],
    mapped: prim.MappedAxis,
    values: prim.Arrays,
    axes: prim.BatchAxes,
    params: ScatterParams,
) -> prim.BatchResult:
    (x, indices, updates), (x_axis, indices_axis, updates_axis) = values, axes
    windowed, window_axes = (x, updates), (x_axis, updates_axis)
    if sh.are_last(mapped, windowed, window_axes) and indices_axis is None:
        x, updates = sh.batch_axes_at_end(mapped, windowed, window_axes)
        numbers = params.dimension_numbers
        windows = (*numbers.update_window_dims, updates.ndim - 1)
        numbers = attrs.evolve(numbers, update_window_dims=windows)
        moved = attrs.evolve(params, dimension_numbers=numbers)
        return (bind1(primitive, (x, indices, updates), moved),), (x.ndim - 1,)
    x = sh.move_batch_axis(x, x_axis, 0, mapped.size)
    updates = sh.move_batch_axis(updates, updates_axis, 0, mapped.size)
    if not mapped.size:
        return (x,), (0,)
    windows, inserted, indexed, batching, along = _of_scatter(params.dimension_numbers)
    windows, batching = _shifted(windows), _shifted(batching)
    if indices_axis is None:
        windows = (0, *windows)  # the batch axis is one more axis of the windows
    else:
        indices = sh.moveaxis(indices, indices_axis, 0)
        batching, along = (0, *batching), (0, *_shifted(along))
    numbers = ScatterDimensionNumbers(
        windows, _shifted(inserted), _shifted(indexed), batching, along
    )
    # Sorted within each example means nothing for all of them; unique stays unique.
    is_sorted = params.indices_are_sorted and indices_axis is None
    moved = ScatterParams(numbers, params.mode, is_sorted, params.unique_indices)
    return (bind1(primitive, (x, indices, updates), moved),), (0,)


def _of_one_more_axis(params: ScatterParams) -> ScatterParams:
    """Return a scatter at the start, as one that says so along a leading axis of size one."""
    numbers = params.dimension_numbers
    return attrs.evolve(
        params,
        dimension_numbers=attrs.evolve(
            numbers,
            inserted_window_dims=(0, *_shifted(numbers.inserted_window_dims)),
            scatter_dims_to_operand_dims=(0,),
            operand_batching_dims=_shifted(numbers.operand_batching_dims),
        ),
    )


def _shifted(axes: primitives_windows.Axes) -> primitives_windows.Axes:
    return tuple([i + 1 for i in axes])


def windows_of(x: Operand, updates: Operand, params: ScatterParams) -> primitives_windows.Windows:
    """Return the windows that a scatter writes."""
    return scatter_windows(x.aval.shape, updates.aval.shape, params)


def no_tangent(*_: object) -> prim.Tangent:
    """Refuse a tangent of indices."""
    raise AssertionError("indices are integers, which have no tangents")


def windows_distinct(
    indices: Array, windows: primitives_windows.Windows, params: ScatterParams
) -> bool:
    """Return whether it is known that no two windows overlap."""
    if params.unique_indices or prod(indices.shape[:-1]) <= 1:
        return True
    if type(indices) is not concrete.ConcreteArray or opd.is_splat(indices):
        return False
    # Windows that differ in where they stand on an axis along which their size is one.
    host = primitives_windows.wide_indices(indices.host)
    axes, coordinates, _ = windows.positions(host)
    narrow = [(a, c) for a, c in zip(axes, coordinates, strict=True) if windows.sizes[a] == 1]
    lines = windows.lines([a for a, _ in narrow], [c for _, c in narrow])
    lines = np.broadcast_to(lines.reshape(lines.shape[: host.ndim - 1]), host.shape[:-1])
    if params.mode is not modes.GatherScatterMode.CLIP:
        lines = lines[windows.in_bounds(host)]  # the others are dropped
    return len(np.unique(lines)) == lines.size


# scatter_add

scatter_add_p: Primitive[ScatterParams] = declare("scatter_add", np.add, Lowering.add, "iufc")


@scatter_add_p.def_rule(program_rules.ADDED)
def _scatter_added(eqn: JaxprEqn, array: Atom, out: Var) -> Sequence[JaxprEqn]:
    if not is_zero(eqn.inputs[0]):
        return ()
    return [attrs.evolve(eqn, inputs=(array, *eqn.inputs[1:]), out_binders=(out,))]


def _def_accumulating_jvp(primitive: Primitive[ScatterParams]) -> None:
    """Register the jvp of a scatter that is linear in the array and the updates together."""

    @primitive.def_jvp
    def jvp(primals: prim.Arrays, tangents: prim.Tangents, params: ScatterParams) -> prim.JvpResult:
        (x, indices, _), (tx, _, tu) = primals, tangents
        outs = bind(primitive, primals, params)
        if tu is prim.ZERO:
            return outs, (tx,)
        return outs, bind(primitive, (rules.instantiate(tx, x), indices, tu), params)


_def_accumulating_jvp(scatter_add_p)
prim.mark(prim.MOVES, False, scatter_add_p)


def _into_updates(
    ct: Array, x: Operand, indices: Array, updates: prim.UndefinedPrimal, params: ScatterParams
) -> Array:
    return bind1(gather_p, (ct, indices), as_gather(params, windows_of(x, updates, params)))


rules.def_transposes(
    scatter_add_p, lambda ct, x, indices, updates, params: ct, "the indices", _into_updates
)


# scatter_sub

scatter_sub_p: Primitive[ScatterParams] = declare("scatter_sub", np.subtract, Lowering.sub, "iufc")
_def_accumulating_jvp(scatter_sub_p)
rules.def_transposes(
    scatter_sub_p,
    lambda ct, x, indices, updates, params: ct,
    "the indices",
    lambda ct, x, indices, updates, params: ew.neg(_into_updates(ct, x, indices, updates, params)),
)


# scatter: the update replaces what is there

scatter_p: Primitive[ScatterParams] = declare("scatter", None, _replace, "biufcks")


prim.mark(prim.WRITES, True, scatter_p)
rules.def_linear(scatter_p, 0, 2, repeats=False)  # with the same indices the same update wins


def _into_kept(
    ct: Array, x: Operand, indices: Array, updates: Operand, params: ScatterParams
) -> Array:
    covered = opd.splat(0, updates.aval.with_dtype(ct.dtype))
    return bind1(scatter_p, (ct, indices, covered), params)


def _into_winners(
    ct: Array, x: Operand, indices: Array, updates: prim.UndefinedPrimal, params: ScatterParams
) -> Array:
    read = _into_updates(ct, x, indices, updates, params)
    windows = windows_of(x, updates, params)
    if windows_distinct(indices, windows, params):
        return read
    winners = _winners(indices, x.aval, updates.aval, windows, params)
    return ew.select(winners, read, sh.zeros_like(read))


rules.def_transposes(scatter_p, _into_kept, "the indices", _into_winners)


def _winners(
    indices: Array,
    x: ShapedArray,
    updates: ShapedArray,
    windows: primitives_windows.Windows,
    params: ScatterParams,
) -> Array:
    """Return the mask of the elements of overlapping updates that stay.

    Every element of the updates gets a number; what is read back after they are scattered is the
    winner's.
    """
    dtype = dtypes.int32 if ints.fit_int32((updates.size,)) else dtypes.int64
    numbers = sh.reshape(sh.iota((updates.size,), dtype, 0), updates.shape)
    nobody = opd.splat(-1, ShapedArray(x.shape, dtype))
    written = bind1(scatter_p, (nobody, indices, numbers), params)
    return ew.eq(bind1(gather_p, (written, indices), as_gather(params, windows)), numbers)


def _overwritten(eqn: JaxprEqn, before: Var) -> tuple[JaxprEqn, JaxprEqn]:
    x, indices, new = eqn.inputs
    params: ScatterParams = eqn.params
    windows = scatter_windows(x.aval.shape, new.aval.shape, params)
    overwritten = Var(ShapedArray(new.aval.shape, x.aval.dtype, x.aval.weak_type))
    return (
        JaxprEqn(gather_p, (x, indices), as_gather(params, windows), (overwritten,), eqn.source),
        JaxprEqn(
            scatter_p, (*eqn.out_binders, indices, overwritten), params, (before,), eqn.source
        ),
    )


for _primitive in (scatter_p, scatter_add_p):
    _primitive.def_rule(program_rules.OVERWRITTEN)(_overwritten)


# scatter_min and scatter_max


def _declare_extremum(name: str, ufunc: np.ufunc, combine: Combine) -> Primitive[ScatterParams]:
    primitive = declare(name, ufunc, combine, "biufc")

    @primitive.def_jvp
    def extremum_jvp(
        primals: prim.Arrays, tangents: prim.Tangents, params: ScatterParams
    ) -> prim.JvpResult:
        (x, indices, updates), (tx, _, tu) = primals, tangents
        x, updates = identities.once(x), identities.once(updates)
        out = bind1(primitive, (x, indices, updates), params)
        # Whatever equals the result, operand or updates, shares the tangent.
        reading = as_gather(params, windows_of(x, updates, params))
        best = bind1(gather_p, (out, indices), reading)
        x_wins = ew.convert_element_type(ew.eq(x, out), x.dtype)
        updates_win = ew.convert_element_type(ew.eq(updates, best), x.dtype)
        count = bind1(scatter_add_p, (x_wins, indices, updates_win), params)
        into = opd.splat(0, x.aval) if tx is prim.ZERO else ew.mul(tx, x_wins)
        if tu is not prim.ZERO:
            into = bind1(scatter_add_p, (into, indices, ew.mul(tu, updates_win)), params)
        return (out,), (ew.div(into, count),)

    return primitive


scatter_min_p: Primitive[ScatterParams] = _declare_extremum("scatter_min", np.minimum, Lowering.min)
scatter_max_p: Primitive[ScatterParams] = _declare_extremum("scatter_max", np.maximum, Lowering.max)


def _last_wins(x: Array, indices: Array, updates: Array, params: ScatterParams) -> Array:
    """Scatter so that of overlapping windows the last one stays, in whatever order XLA writes them.

    The greatest of the windows' numbers does not depend on that order. By it each element of the
    result reads its update.
    """
    inside = params.dimension_numbers.update_window_dims
    order = (*[i for i in range(updates.ndim) if i not in inside], *inside)
    dtype = dtypes.int32 if ints.fit_int32((updates.size,)) else dtypes.int64
    numbers = sh.reshape(
        sh.iota((updates.size,), dtype, 0), tuple([updates.shape[i] for i in order])
    )
    numbers = sh.transpose(numbers, [order.index(i) for i in range(updates.ndim)])
    nobody = opd.splat(-1, ShapedArray(x.shape, dtype))
    winners = bind1(scatter_max_p, (nobody, indices, numbers), params)
    flat = sh.reshape(sh.transpose(updates, order), (updates.size,))
    elements = GatherParams(
        GatherDimensionNumbers((), (0,), (0,)), (1,), modes.GatherScatterMode.CLIP
    )
    read = bind1(gather_p, (flat, sh.reshape(winners, (*winners.shape, 1))), elements)
    return ew.select(ew.ge(winners, opd.splat(0, winners.aval)), read, x)


@scatter_p.def_lowering(platform="cuda")
def _scatter_on_cuda(b: Lowering, operands: hlo.Values, params: ScatterParams) -> hlo.Values:
    """Scatter; where windows may overlap, so that the last one stays, as on the processor.

    GPUs write in no order, so that another window might stay in a value than in its derivative.
    """
    _, indices, updates = operands
    if params.unique_indices or prod(indices.shape[:-1]) <= 1 or not updates.size:
        return scatter_p.rules.lowering(b, operands, params)
    return families.lower_formula(
        b, lambda x, i, updates: [_last_wins(x, i, updates, params)], operands
    )
