"""scatter: updates to many slices of one array at once, at places that are data.

The reverse of gather, with the same index vectors: each window of the updates is put into the
operand, or combined with what is there, where its index vector says. The dimension numbers are
XLA's (StableHLO specification, "scatter"), but for the index vectors, which are always last.

Where windows overlap, ``scatter_add`` and its kin apply every update; of ``scatter`` one wins, and
on CPU that is the last.
"""

from __future__ import annotations

from math import prod

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array, ArrayLike, ConcreteArray, as_array, is_splat, splat
from tinyjax.core.avals import ShapedArray
from tinyjax.core.integers import described
from tinyjax.core.primitive import (
    ZERO,
    Arrays,
    Avals,
    BatchAxes,
    BatchResult,
    Hosts,
    JvpResult,
    MappedAxis,
    Params,
    Primitive,
    Tangent,
    Tangents,
    UndefinedPrimal,
)
from tinyjax.core.trace import bind, bind1
from tinyjax.errors import ArgumentError, DifferentiationError, DtypeError, ShapeError
from tinyjax.primitives.broadcast import Combine
from tinyjax.primitives.elementwise import convert_element_type, div, eq, mul, select
from tinyjax.primitives.gather import (
    GatherDimensionNumbers,
    GatherParams,
    GatherScatterMode,
    Mode,
    gather_p,
)
from tinyjax.primitives.rules import (
    check_kind,
    def_derivatives,
    def_linear,
    def_transposes,
    instantiate,
)
from tinyjax.primitives.shape import iota, move_batch_axis, moveaxis, reshape, zeros_like
from tinyjax.primitives.windows import (
    Axes,
    Windows,
    as_axes,
    lower_last_starts,
    lower_wide_indices,
    scattered,
    wide_indices,
)
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values, boolean, tensor

Operand = Array | UndefinedPrimal


@attrs.frozen
class ScatterDimensionNumbers:
    """How the axes of operand, indices and updates of a scatter belong together.

    Attributes:
        update_window_dims: the updates' axes that run within a window; the others are the index
            vectors'.
        inserted_window_dims: the operand's axes that are left out of the windows, which have size
            one there.
        scatter_dims_to_operand_dims: the operand's axis that each entry of an index vector is
            about.
        operand_batching_dims: the operand's axes that go along with an axis of the indices.
        scatter_indices_batching_dims: those axes of the indices.
    """

    update_window_dims: Axes = attrs.field(converter=as_axes)
    inserted_window_dims: Axes = attrs.field(converter=as_axes)
    scatter_dims_to_operand_dims: Axes = attrs.field(converter=as_axes)
    operand_batching_dims: Axes = attrs.field(default=(), converter=as_axes)
    scatter_indices_batching_dims: Axes = attrs.field(default=(), converter=as_axes)


@attrs.frozen(repr=False)
class ScatterParams(Params):
    """The dimension numbers, and what is known about the indices."""

    dimension_numbers: ScatterDimensionNumbers
    mode: GatherScatterMode
    indices_are_sorted: bool = False
    unique_indices: bool = False


def scatter_windows(
    shape: tuple[int, ...], updates: tuple[int, ...], params: ScatterParams
) -> Windows:
    """The windows of a scatter into an array of the given shape."""
    numbers = params.dimension_numbers
    left_out = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    rest = iter([updates[i] for i in numbers.update_window_dims if i < len(updates)])
    sizes = tuple([1 if i in left_out else next(rest, -1) for i in range(len(shape))])
    return Windows(
        shape,
        sizes,
        numbers.inserted_window_dims,
        numbers.scatter_dims_to_operand_dims,
        numbers.operand_batching_dims,
        numbers.scatter_indices_batching_dims,
    )


def _as_gather(params: ScatterParams, windows: Windows) -> GatherParams:
    """The gather that reads the windows that a scatter writes; zero where it drops them."""
    numbers = params.dimension_numbers
    return GatherParams(
        GatherDimensionNumbers(
            numbers.update_window_dims,
            numbers.inserted_window_dims,
            numbers.scatter_dims_to_operand_dims,
            numbers.operand_batching_dims,
            numbers.scatter_indices_batching_dims,
        ),
        windows.sizes,
        params.mode,
        0,
        params.indices_are_sorted,
        params.unique_indices,
    )


def _declare(
    name: str, ufunc: np.ufunc | None, combine: Combine, kinds: str
) -> Primitive[ScatterParams]:
    """Declare a scatter that combines by an operation; its derivative comes separately.

    Args:
        name: the primitive's name.
        ufunc: the NumPy function that combines; None where the update replaces.
        combine: the operation on two scalars.
        kinds: the kinds of dtype it takes.
    """
    primitive: Primitive[ScatterParams] = Primitive(name, ScatterParams)

    @primitive.def_impl
    def scatter_impl(operands: Hosts, params: ScatterParams) -> Hosts:
        x, indices, updates = operands
        out = scattered(
            scatter_windows(x.shape, updates.shape, params),
            x,
            wide_indices(indices),
            updates,
            params.dimension_numbers.update_window_dims,
            ufunc,
            params.mode is GatherScatterMode.CLIP,
            params.unique_indices,
        )
        return (out,)

    @primitive.def_abstract_eval
    def scatter_type(avals: Avals, params: ScatterParams) -> Avals:
        x, indices, updates = avals
        check_kind(name, x, kinds)
        if updates.dtype != x.dtype:
            raise DtypeError(
                f"{name} needs updates of the dtype of {x}, but got {updates}. Convert them with "
                ".astype(...)."
            )
        numbers = params.dimension_numbers
        windows = scatter_windows(x.shape, updates.shape, params)
        inside = numbers.update_window_dims
        if (
            len(inside) != len(windows.window_axes)
            or tuple(sorted(set(inside))) != inside
            or any(not 0 <= i < updates.ndim for i in inside)
        ):
            raise ShapeError(
                f"{name} needs an increasing axis of the updates for each of the axes "
                f"{windows.window_axes} of a window, but got {inside}."
            )
        windows.check(name, x, indices)
        batch = tuple([n for i, n in enumerate(updates.shape) if i not in inside])
        if batch != indices.shape[:-1]:
            raise ShapeError(
                f"{name} needs an update for each index vector: the axes of {updates} other than "
                f"{inside} must be {indices.shape[:-1]}, as in the indices {indices}."
            )
        return (x.strip_weak(),)

    @primitive.def_lowering
    def scatter_lowering(b: Lowering, operands: Values, params: ScatterParams) -> Values:
        x, indices, updates = operands
        if not updates.size:  # XLA takes no window of size zero
            return (x,)
        indices = lower_wide_indices(b, indices)
        if params.mode is GatherScatterMode.CLIP:
            last = lower_last_starts(b, scatter_windows(x.shape, updates.shape, params), indices)
            indices = b.op("stablehlo.clamp", b.full_like(indices, 0), indices, last)
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
            "indices_are_sorted": boolean(params.indices_are_sorted),
            "unique_indices": boolean(params.unique_indices),
        }
        scalar = tensor((), x.dtype)
        region = b.region((scalar, scalar), lambda args: (combine(b, *args),))
        given = (x, indices, updates)
        return b.emit("stablehlo.scatter", given, (x.type,), attributes, (region,))

    @primitive.def_batch
    def scatter_batch(
        mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: ScatterParams
    ) -> BatchResult:
        x, indices, updates = values
        x_axis, indices_axis, updates_axis = axes
        x = move_batch_axis(x, x_axis, 0, mapped.size)
        updates = move_batch_axis(updates, updates_axis, 0, mapped.size)
        if not mapped.size:
            return (x,), (0,)
        numbers = params.dimension_numbers
        windows = _shifted(numbers.update_window_dims)
        along = numbers.scatter_indices_batching_dims
        batching = _shifted(numbers.operand_batching_dims)
        if indices_axis is None:
            windows = (0, *windows)  # the batch axis is one more axis of the windows
        else:
            indices = moveaxis(indices, indices_axis, 0)
            batching, along = (0, *batching), (0, *_shifted(along))
        batched = ScatterDimensionNumbers(
            windows,
            _shifted(numbers.inserted_window_dims),
            _shifted(numbers.scatter_dims_to_operand_dims),
            batching,
            along,
        )
        # Sorted within each example means nothing for all of them; unique stays unique.
        is_sorted = params.indices_are_sorted and indices_axis is None
        moved = ScatterParams(batched, params.mode, is_sorted, params.unique_indices)
        return (bind1(primitive, (x, indices, updates), moved),), (0,)

    return primitive


def _shifted(axes: Axes) -> Axes:
    return tuple([i + 1 for i in axes])


def _windows_of(x: Operand, updates: Operand, params: ScatterParams) -> Windows:
    return scatter_windows(x.aval.shape, updates.aval.shape, params)


def _no_tangent(*_: object) -> Tangent:
    raise AssertionError("indices are integers, which have no tangents")


def _windows_distinct(indices: Array, windows: Windows, params: ScatterParams) -> bool:
    """Whether it is known that no two windows overlap."""
    if params.unique_indices or prod(indices.shape[:-1]) <= 1:
        return True
    if type(indices) is not ConcreteArray or is_splat(indices):
        return False
    # Windows that differ in where they stand on an axis along which their size is one.
    host = wide_indices(indices.host)
    axes, coordinates, _ = windows.positions(host)
    narrow = [(a, c) for a, c in zip(axes, coordinates, strict=True) if windows.sizes[a] == 1]
    lines = windows.lines([a for a, _ in narrow], [c for _, c in narrow])
    lines = np.broadcast_to(lines.reshape(lines.shape[: host.ndim - 1]), host.shape[:-1])
    if params.mode is not GatherScatterMode.CLIP:
        lines = lines[windows.in_bounds(host)]  # the others are dropped
    return len(np.unique(lines)) == lines.size


# scatter_add

scatter_add_p = _declare("scatter_add", np.add, Lowering.add, "iufc")


@scatter_add_p.def_jvp
def _scatter_add_jvp(primals: Arrays, tangents: Tangents, params: ScatterParams) -> JvpResult:
    (x, indices, _), (tx, _, tu) = primals, tangents
    outs = bind(scatter_add_p, primals, params)
    if tu is ZERO:
        return outs, (tx,)
    return outs, bind(scatter_add_p, (instantiate(tx, x), indices, tu), params)


def _into_updates(
    ct: Array, x: Operand, indices: Array, updates: UndefinedPrimal, params: ScatterParams
) -> Array:
    return bind1(gather_p, (ct, indices), _as_gather(params, _windows_of(x, updates, params)))


def_transposes(
    scatter_add_p, lambda ct, x, indices, updates, params: ct, "the indices", _into_updates
)


def _gather_transpose(ct: Array, x: UndefinedPrimal, indices: Array, params: GatherParams) -> Array:
    numbers = params.dimension_numbers
    writing = ScatterParams(
        ScatterDimensionNumbers(
            numbers.offset_dims,
            numbers.collapsed_slice_dims,
            numbers.start_index_map,
            numbers.operand_batching_dims,
            numbers.start_indices_batching_dims,
        ),
        params.mode,
        params.indices_are_sorted,
        params.unique_indices,
    )
    return bind1(scatter_add_p, (splat(0, x.aval), indices, ct), writing)


def_transposes(gather_p, _gather_transpose)


# scatter: the update replaces what is there

scatter_p = _declare("scatter", None, lambda b, x, update: update, "biufc")


def_linear(scatter_p, 0, 2)  # with the same indices the same update wins


def _into_kept(
    ct: Array, x: Operand, indices: Array, updates: Operand, params: ScatterParams
) -> Array:
    covered = splat(0, updates.aval.with_dtype(ct.dtype))
    return bind1(scatter_p, (ct, indices, covered), params)


def _into_winners(
    ct: Array, x: Operand, indices: Array, updates: UndefinedPrimal, params: ScatterParams
) -> Array:
    read = _into_updates(ct, x, indices, updates, params)
    windows = _windows_of(x, updates, params)
    if _windows_distinct(indices, windows, params):
        return read
    winners = _winners(indices, x.aval, updates.aval, windows, params)
    return select(winners, read, zeros_like(read))


def_transposes(scatter_p, _into_kept, "the indices", _into_winners)


def _winners(
    indices: Array, x: ShapedArray, updates: ShapedArray, windows: Windows, params: ScatterParams
) -> Array:
    """Say which elements of overlapping updates are the ones that stay.

    Every element of the updates gets a number; what is read back after they are scattered is the
    winner's.
    """
    dtype = dtypes.int32 if updates.size < 2**31 else dtypes.int64
    numbers = reshape(iota((updates.size,), dtype, 0), updates.shape)
    nobody = splat(-1, ShapedArray(x.shape, dtype))
    written = bind1(scatter_p, (nobody, indices, numbers), params)
    return eq(bind1(gather_p, (written, indices), _as_gather(params, windows)), numbers)


# scatter_mul

scatter_mul_p = _declare("scatter_mul", np.multiply, Lowering.mul, "iufc")


def _of_factors(
    t: Array, out: Array, x: Array, indices: Array, updates: Array, params: ScatterParams
) -> Array:
    windows = _windows_of(x, updates, params)
    if not _windows_distinct(indices, windows, params):
        raise DifferentiationError(
            "scatter_mul has a derivative in its updates only where no index comes twice, and "
            "these may. If they do not, say so with unique_indices=True; "
            "otherwise multiply the updates that meet beforehand."
        )
    before = bind1(gather_p, (x, indices), _as_gather(params, windows))
    return bind1(scatter_add_p, (splat(0, x.aval), indices, mul(t, before)), params)


def_derivatives(
    scatter_mul_p,
    lambda t, out, x, indices, updates, params: bind1(scatter_mul_p, (t, indices, updates), params),
    _no_tangent,
    _of_factors,
)
def_transposes(
    scatter_mul_p,
    lambda ct, x, indices, updates, params: bind1(scatter_mul_p, (ct, indices, updates), params),
    "the indices",
    "its updates",
)


# scatter_min and scatter_max


def _declare_extremum(name: str, ufunc: np.ufunc, combine: Combine) -> Primitive[ScatterParams]:
    primitive = _declare(name, ufunc, combine, "biufc")

    @primitive.def_jvp
    def extremum_jvp(primals: Arrays, tangents: Tangents, params: ScatterParams) -> JvpResult:
        (x, indices, updates), (tx, _, tu) = primals, tangents
        out = bind1(primitive, primals, params)
        # Whatever equals the result, operand or updates, shares the tangent.
        reading = _as_gather(params, _windows_of(x, updates, params))
        best = bind1(gather_p, (out, indices), reading)
        x_wins = convert_element_type(eq(x, out), x.dtype)
        updates_win = convert_element_type(eq(updates, best), x.dtype)
        count = bind1(scatter_add_p, (x_wins, indices, updates_win), params)
        into = splat(0, x.aval) if tx is ZERO else mul(tx, x_wins)
        if tu is not ZERO:
            into = bind1(scatter_add_p, (into, indices, mul(tu, updates_win)), params)
        return (out,), (div(into, count),)

    return primitive


scatter_min_p = _declare_extremum("scatter_min", np.minimum, Lowering.min)
scatter_max_p = _declare_extremum("scatter_max", np.maximum, Lowering.max)


# The public functions


def _scatter(
    primitive: Primitive[ScatterParams],
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Mode,
) -> Array:
    x, indices, values = as_array(operand), as_array(scatter_indices), as_array(updates)
    if values.weak_type and values.dtype != x.dtype:
        values = convert_element_type(values, x.dtype)
    if not isinstance(dimension_numbers, ScatterDimensionNumbers):
        raise ArgumentError(
            f"dimension_numbers of {primitive.name} must be ScatterDimensionNumbers, but got "
            f"{described(dimension_numbers)}."
        )
    params = ScatterParams(
        dimension_numbers, GatherScatterMode.from_any(mode), indices_are_sorted, unique_indices
    )
    return bind1(primitive, (x, indices, values), params)


def scatter(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Return a copy of an array in which windows are replaced, at starts that are data.

    Args:
        operand: any dtype.
        scatter_indices: integers; the last axis holds index vectors.
        updates: of ``operand``'s dtype; a window for each index vector.
        dimension_numbers: which axes belong together.
        indices_are_sorted: a promise that the index vectors are in order.
        unique_indices: a promise that no two windows overlap.
        mode: of windows out of bounds; they are dropped by default.

    Returns:
        An array of ``operand``'s shape and dtype.

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are no integers, or the updates are of another dtype.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.primitives.scatter import ScatterDimensionNumbers, scatter
        >>> rows = ScatterDimensionNumbers((1,), (0,), (0,))
        >>> scatter(jnp.zeros((2, 2)), jnp.array([[1]]), jnp.array([[7.0, 8.0]]), rows)
        Array([[0., 0.],
               [7., 8.]], dtype=float32)
    """
    return _scatter(
        scatter_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_add(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Return a copy of an array with updates added to windows; see ``scatter``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.primitives.scatter import ScatterDimensionNumbers, scatter_add
        >>> elements = ScatterDimensionNumbers((), (0,), (0,))
        >>> scatter_add(jnp.zeros(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), elements)
        Array([0., 5., 0.], dtype=float32)

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are no integers, or the updates are of another dtype.
    """
    return _scatter(
        scatter_add_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_mul(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Return a copy of an array with windows multiplied by updates; see ``scatter``.

    There is a derivative in the updates only where no two windows overlap: where
    ``unique_indices`` says so, or the indices are known when the derivative is taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.primitives.scatter import ScatterDimensionNumbers, scatter_mul
        >>> elements = ScatterDimensionNumbers((), (0,), (0,))
        >>> scatter_mul(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), elements)
        Array([1., 6., 1.], dtype=float32)

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are no integers, or the updates are of another dtype.
        DifferentiationError: when differentiated where windows may overlap.
    """
    return _scatter(
        scatter_mul_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_min(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Return a copy of an array with the minimum of windows and updates; see ``scatter``.

    Whatever equals the minimum, in operand and updates, shares its derivative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.primitives.scatter import ScatterDimensionNumbers, scatter_min
        >>> elements = ScatterDimensionNumbers((), (0,), (0,))
        >>> scatter_min(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([0.0, -3.0]), elements)
        Array([ 1., -3.,  1.], dtype=float32)

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are no integers, or the updates are of another dtype.
    """
    return _scatter(
        scatter_min_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_max(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Return a copy of an array with the maximum of windows and updates; see ``scatter``.

    Whatever equals the maximum, in operand and updates, shares its derivative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.primitives.scatter import ScatterDimensionNumbers, scatter_max
        >>> elements = ScatterDimensionNumbers((), (0,), (0,))
        >>> scatter_max(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([0.0, 3.0]), elements)
        Array([1., 3., 1.], dtype=float32)

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are no integers, or the updates are of another dtype.
    """
    return _scatter(
        scatter_max_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )
