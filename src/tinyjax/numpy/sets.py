"""Sets as sorted arrays: distinct elements, membership, unions, intersections and differences.

The number of elements of a result depends on data, but the shape of a traced result must not. Under
``jit`` these functions therefore take the ``size`` of the result, and fill in missing elements.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypedDict, Unpack, overload

from tinyjax import dtypes
from tinyjax._primitives.sort import sort
from tinyjax.core.primitives import elementwise as ew, slicing
from tinyjax.core.primitives.shape import full, iota, reshape
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, concrete, integers as ints
from tinyjax.errors import NumberRangeError
from tinyjax.numpy import creation, manipulation, promotion as pm, reductions
from tinyjax.numpy.elementwise import isnan, logical_and, logical_not, not_equal, pick
from tinyjax.numpy.selection import nonzero
from tinyjax.numpy.sorting import cumsum
from tinyjax.numpy.taking import take

#: Up to so many elements are compared one by one, which is quicker than a search.
_FEW = 32


class UniqueAllResult(NamedTuple):
    """The result of ``unique_all``."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """The result of ``unique_counts``."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """The result of ``unique_inverse``."""

    values: Array
    inverse_indices: Array


class _Sorted(NamedTuple):
    """Rows in order.

    Attributes:
        rows: along the first axis, sorted.
        first: which of them differ from the row before.
        order: where they were; None where nobody asks.
    """

    rows: Array
    first: Array
    order: Array | None


def _ordered(x: Array, equal_nan: bool, with_order: bool) -> _Sorted:
    """Sort the rows of an array and mark those that differ from the one before.

    Complex numbers with a part that is NaN become one, which stands at the end.
    """
    if dtypes.is_complex(x.dtype):
        x = pick(isnan(x), float("nan"), x)
    n = x.shape[0] if x.shape else 0
    columns = 1 if x.ndim == 1 else x.size // n if n else 0
    order: Array | None = None
    rows = x
    if x.size and (columns > 1 or with_order):
        flat = reshape(x, (n, columns))
        keys = [reshape(slicing.slice_in_dim(flat, i, i + 1, 1, 1), (n,)) for i in range(columns)]
        *columns_in_order, order = sort([*keys, iota((n,), dtypes.default_int(), 0)], 0, columns)
        rows = reshape(columns_in_order[0], x.shape) if columns == 1 else take(x, order, axis=0)
    elif x.size:
        (flat,) = sort([manipulation.ravel(x)], 0)
        rows = reshape(flat, x.shape)
    elif n or with_order:
        order = iota((n,), dtypes.default_int(), 0)
    if n == 0:
        return _Sorted(rows, reductions.any(not_equal(rows, rows), tuple(range(1, x.ndim))), order)
    here, before = slicing.slice_in_dim(rows, 1, n), slicing.slice_in_dim(rows, 0, n - 1)
    differ = not_equal(here, before)
    if equal_nan and dtypes.is_inexact(x.dtype):
        differ = logical_and(differ, logical_not(logical_and(isnan(here), isnan(before))))
    differ = reductions.any(differ, tuple(range(1, differ.ndim)))
    return _Sorted(rows, manipulation.concatenate([full((1,), True, dtypes.bool_), differ]), order)


def _selected_rows(
    name: str, rows: Array, mask: Array, size: int | None, fill_value: ArrayLike | None
) -> tuple[Array, Array, Array | None]:
    """Return the rows where a mask holds, their indices, and the mask of those not filled up.

    Raises:
        ConcretizationError: the mask is traced, and there is no size; it names the function.
    """
    if size is not None:
        (size,) = creation.canonical_shape((size,), "size")
    elif type(mask) is not concrete.ConcreteArray:
        mask.concrete(f"the number of elements that jnp.{name} returns (or give size=...)")
    (places,) = nonzero(mask, size=size)
    if not rows.shape[0]:
        value = _as(0 if fill_value is None else fill_value, rows)
        edges = [(0, places.size, 0), *[(0, 0, 0)] * (rows.ndim - 1)]
        return slicing.pad(rows, value, edges), places, None
    result = take(rows, places, axis=0, mode="clip")
    if not size:
        return result, places, None
    real = ew.lt(iota((size,), dtypes.default_int(), 0), _count(mask, size))
    instead = _as(0 if fill_value is None else fill_value, rows)
    if fill_value is None:
        instead = pick(real[0], result[0], instead)
    return pick(reshape(real, (size,) + (1,) * (rows.ndim - 1)), result, instead), places, real


def _count(mask: Array, size: int) -> Array:
    return pm.broadcast_to_shape(reductions.sum(pm.convert(mask, dtypes.default_int())), (size,))


def _as(value: ArrayLike, x: Array) -> Array:
    return pm.convert(pm.array_of("fill_value", value), x.dtype, x.weak_type)


class UniqueOptions(TypedDict, total=False):
    """Options of ``unique``."""

    equal_nan: bool
    size: int | None
    fill_value: ArrayLike | None
    sorted: bool


@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    **options: Unpack[UniqueOptions],
) -> Array: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[True],
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    **options: Unpack[UniqueOptions],
) -> tuple[Array, ...]: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    *,
    return_inverse: Literal[True],
    return_counts: bool = False,
    axis: int | None = None,
    **options: Unpack[UniqueOptions],
) -> tuple[Array, ...]: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    *,
    return_counts: Literal[True],
    axis: int | None = None,
    **options: Unpack[UniqueOptions],
) -> tuple[Array, ...]: ...
@overload
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    **options: Unpack[UniqueOptions],
) -> Array | tuple[Array, ...]: ...
@checking.explained
def unique(  # noqa: PLR0913 (JAX's signature)
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array | tuple[Array, ...]:
    """Return the distinct elements of an array, or its distinct slices, in order.

    Args:
        ar: any dtype.
        return_index: whether to return the first index of each element too.
        return_inverse: whether to return, for each element of ``ar``, its index in the result too.
        return_counts: whether to return how often each element occurs too.
        axis: compare the slices along this axis; by default the elements.
        equal_nan: whether all NaNs count as one.
        size: how many elements to return: more are dropped, and missing ones are filled in. Needed
            where ``ar`` is traced.
        fill_value: the element to fill in; by default the least element. Its count is 0.
        sorted: has no effect: the result is always sorted.

    Returns:
        The elements; a tuple that begins with them where more is requested.

    Raises:
        ConcretizationError: ``ar`` is traced, and there is no ``size``.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.unique(jnp.array([3, 1, 3, 2]), return_counts=True)
        (Array([1, 2, 3], dtype=int32), Array([1, 1, 2], dtype=int32))
        >>> jnp.unique(jnp.array([3, 1, 3, 2]), size=4, fill_value=0)
        Array([1, 2, 3, 0], dtype=int32)
    """
    x = pm.array_of("unique", ar)
    along = None if axis is None else ints.canonical_axis(axis, x.ndim)
    if size is not None:
        (size,) = creation.canonical_shape((size,), "size")
    rows = reshape(x, (x.size,)) if along is None else manipulation.moveaxis(x, along, 0)
    n = rows.shape[0]
    in_order = _ordered(rows, equal_nan, return_index or return_inverse)
    values, places, _ = _selected_rows("unique", in_order.rows, in_order.first, size, fill_value)
    results = [values if along is None else manipulation.moveaxis(values, 0, along)]
    if return_index:
        assert in_order.order is not None, "asked for"
        results.append(take(in_order.order, places, mode="clip") if n else places)
    if return_inverse:
        assert in_order.order is not None, "asked for"
        group = cumsum(pm.convert(in_order.first, dtypes.default_int())) - 1
        inverse = full((n,), 0, dtypes.default_int()).at[in_order.order].set(group)
        results.append(reshape(inverse, x.shape) if along is None else inverse)
    if return_counts:
        if size is None:
            ends = manipulation.append(places, creation.array(n, places.dtype))
        else:
            (ends,) = nonzero(in_order.first, size=size + 1, fill_value=n)
        results.append(manipulation.diff(ends))
    return results[0] if len(results) == 1 else tuple(results)


def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueAllResult:
    """Return distinct elements, their first indices, inverse indices and counts: see ``unique``.

    NaNs are distinct.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.unique_all(jnp.array([5, 3, 5])).inverse_indices
        Array([1, 0, 1], dtype=int32)
    """
    results = unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueAllResult(*results)


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueCountsResult:
    """Return distinct elements and how often each occurs: see ``unique``. NaNs are distinct.

    The values are sorted and come as a vector, whatever the shape. They cannot be found under
    ``jit``, where shapes must be known; ``unique`` takes ``size``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> values, counts = jnp.unique_counts(jnp.array([3, 1, 3]))
        >>> values, counts
        (Array([1, 3], dtype=int32), Array([1, 2], dtype=int32))
        >>> jnp.unique_counts(jnp.array([jnp.nan, jnp.nan])).counts
        Array([1, 1], dtype=int32)
    """
    results = unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueCountsResult(*results)


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueInverseResult:
    """Return distinct elements, and inverse indices: see ``unique``. NaNs are distinct.

    The values are sorted and come as a vector; the indices have the shape of ``x``. They cannot be
    found under ``jit``, where shapes must be known; ``unique`` takes ``size``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.array([5, 3, 5])
        >>> values, places = jnp.unique_inverse(x)
        >>> values[places]
        Array([5, 3, 5], dtype=int32)
        >>> jnp.unique_inverse(jnp.array([[3, 1], [1, 1]])).inverse_indices
        Array([[1, 0],
               [0, 0]], dtype=int32)
    """
    results = unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueInverseResult(*results)


def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return distinct elements, sorted: see ``unique``. NaNs are distinct from each other.

    They come as a vector, whatever the shape. They cannot be found under ``jit``, where shapes must
    be known; ``unique`` takes ``size``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.unique_values(jnp.array([3.0, 1.0, jnp.nan, 3.0, jnp.nan]))
        Array([ 1.,  3., nan, nan], dtype=float32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


@checking.explained
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: Literal["auto", "compare_all", "binary_search", "sort"] = "auto",
) -> Array:
    """Return whether each element is in a set. NaN is in no set.

    Args:
        element: any dtype.
        test_elements: the set, in any shape and order.
        assume_unique: has no effect.
        invert: whether to say which are not in the set.
        method: has no effect: a small set is compared element by element, a larger one is sorted.

    Returns:
        Bools of ``element``'s shape.

    Raises:
        ArgumentError: there is no such method.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.isin(jnp.array([1, 2, 3]), jnp.array([3, 1, 7]))
        Array([ True, False,  True], dtype=bool)
    """
    pm.check_option("isin", "method", method, ("auto", "compare_all", "binary_search", "sort"))
    given = element, test_elements
    try:
        x, among = pm.promote_dtypes(*pm.arrays("isin", *given))
    except NumberRangeError:
        x, among = pm.promote_dtypes(*pm.arrays("isin", *pm.ordered("isin", *given)))
    flat = reshape(x, (x.size,))
    result = reshape(_member(flat, reshape(among, (among.size,))), x.shape)
    return logical_not(result) if invert else result


def _member(x: Array, among: Array) -> Array:
    """Return the mask of a vector's elements that are in another of the same dtype."""
    n, k = x.size, among.size
    if not n or not k:
        return full((n,), False, dtypes.bool_)
    if k <= _FEW:
        table = ew.eq(
            pm.broadcast_to_shape(reshape(x, (n, 1)), (n, k)),
            pm.broadcast_to_shape(reshape(among, (1, k)), (n, k)),
        )
        return reductions.any(table, 1)
    # One stable sort puts equal elements together, those of the set first: an element is in the set
    # if the run that it belongs to begins with one of the set.
    both = manipulation.concatenate([among, x])
    size = n + k
    in_order = _ordered(both, False, True)
    assert in_order.order is not None, "asked for"
    run = cumsum(pm.convert(in_order.first, dtypes.default_int())) - 1
    begins = full((size,), False, dtypes.bool_).at[run].max(ew.lt(in_order.order, _row(k, size)))
    member = full((size,), False, dtypes.bool_).at[in_order.order].set(begins[run])
    return slicing.slice_in_dim(member, k, size)


def _row(value: int, n: int) -> Array:
    return full((n,), value, dtypes.default_int())


def _two(name: str, ar1: ArrayLike, ar2: ArrayLike) -> tuple[Array, Array]:
    a, b = pm.promote_dtypes(pm.array_of(name, ar1), pm.array_of(name, ar2))
    return reshape(a, (a.size,)), reshape(b, (b.size,))


@checking.explained
def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return the distinct elements of two arrays, in order.

    Args:
        ar1: any shape.
        ar2: any shape.
        size: how many elements to return; needed where an array is traced.
        fill_value: the element to fill in; by default the least element.

    Raises:
        ConcretizationError: an array is traced, and there is no ``size``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.union1d(jnp.array([3, 1]), jnp.array([2, 3]))
        Array([1, 2, 3], dtype=int32)
    """
    return unique(
        manipulation.concatenate(_two("union1d", ar1, ar2)), size=size, fill_value=fill_value
    )


@checking.explained
def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Return the distinct elements of one array that are not in another, in order.

    Args:
        ar1: any shape.
        ar2: any shape.
        assume_unique: whether the elements of ``ar1`` are known to be distinct; the result then has
            their order.
        size: how many elements to return; needed where an array is traced.
        fill_value: the element to fill in; by default 0.

    Raises:
        ConcretizationError: an array is traced, and there is no ``size``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.setdiff1d(jnp.array([3, 1, 2, 1]), jnp.array([2, 5]))
        Array([1, 3], dtype=int32)
    """
    a, b = pm.array_of("setdiff1d", ar1), pm.array_of("setdiff1d", ar2)
    x = reshape(a, (a.size,))
    as_it_is = _Sorted(x, full((x.size,), True, dtypes.bool_), None)
    rows, first, _ = as_it_is if assume_unique else _ordered(x, True, False)
    mask = logical_and(first, isin(rows, b, invert=True))
    fill = 0 if fill_value is None else fill_value
    return _selected_rows("setdiff1d", rows, mask, size, fill)[0]


@checking.explained
def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Return the elements that are in one of two arrays only, in order.

    Args:
        ar1: any shape.
        ar2: any shape.
        assume_unique: whether the elements of each array are known to be distinct.
        size: how many elements to return; needed where an array is traced.
        fill_value: the element to fill in; by default the least element.

    Raises:
        ConcretizationError: an array is traced, and there is no ``size``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.setxor1d(jnp.array([3, 1]), jnp.array([2, 3]))
        Array([1, 2], dtype=int32)
    """
    a, b = _two("setxor1d", ar1, ar2)
    rows, first, _ = _ordered(manipulation.concatenate([a, b]), True, False)
    in_both = logical_and(_member(rows, a), _member(rows, b))
    return _selected_rows(
        "setxor1d", rows, logical_and(first, logical_not(in_both)), size, fill_value
    )[0]


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: Literal[False] = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array: ...
@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool,
    return_indices: Literal[True],
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, Array, Array]: ...
@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    return_indices: Literal[True],
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, Array, Array]: ...
@checking.explained
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, Array, Array]:
    """Return the elements that are in both of two arrays, in order.

    Args:
        ar1: any shape.
        ar2: any shape.
        assume_unique: whether the elements of each array are known to be distinct.
        return_indices: whether to return the first indices of the elements in both flattened arrays
            too; those of filled-in elements are the arrays' sizes.
        size: how many elements to return; needed where an array is traced.
        fill_value: the element to fill in; by default the least element.

    Raises:
        ConcretizationError: an array is traced, and there is no ``size``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.intersect1d(jnp.array([3, 1, 2]), jnp.array([2, 3, 5]))
        Array([2, 3], dtype=int32)
    """
    a, b = _two("intersect1d", ar1, ar2)
    rows, first, order = _ordered(a, True, return_indices)
    mask = logical_and(first, _member(rows, b))
    values, places, real = _selected_rows("intersect1d", rows, mask, size, fill_value)
    if not return_indices:
        return values
    sizes = a.size, b.size
    if not a.size or not b.size:
        return values, _row(sizes[0], places.size), _row(sizes[1], places.size)
    assert order is not None, "asked for"
    indices = [take(order, places, mode="clip"), _first_places(values, b)]
    if real is not None:
        indices = [pick(real, i, n) for i, n in zip(indices, sizes, strict=True)]
    return values, indices[0], indices[1]


def _first_places(values: Array, among: Array) -> Array:
    """Return the first index of each value in a vector that has them all."""
    n, k = values.size, among.size
    in_order = _ordered(manipulation.concatenate([among, values]), False, True)
    assert in_order.order is not None, "asked for"
    run = cumsum(pm.convert(in_order.first, dtypes.default_int())) - 1
    firsts = _row(k, n + k).at[run].min(in_order.order)
    return slicing.slice_in_dim(_row(0, n + k).at[in_order.order].set(firsts[run]), k, n + k)
