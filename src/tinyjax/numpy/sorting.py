"""Sorting, running sums and products, and quantiles.

NaN is sorted to the end, both zeros are equal, and complex numbers are ordered by their real part,
then their imaginary part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any, Final, Literal, get_args

from tinyjax import dtypes, errors
from tinyjax._base import frames
from tinyjax._extensions.host import replay
from tinyjax._primitives import cumulative, sort as primitives_sort
from tinyjax._primitives.result_placement import placed
from tinyjax._primitives.scatter import take_front
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.primitives.reduce import reduce_or
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.numpy import elementwise, promotion as pm

Method = Literal["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"]


def _no_order(name: str, kind: object, order: object) -> None:
    if kind is not None or order is not None:
        raise errors.ArgumentError(
            f"{name} has one algorithm, and arrays have no fields: leave out kind and order. Give "
            "stable=False where equal elements may change places."
        )


def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """Return a sorted copy.

    Along the last axis by default; of the flattened array with ``axis=None``. NaNs come last;
    complex numbers are ordered by the real part, then the imaginary. The derivative goes back to
    where each element came from.

    Args:
        a: any shape and dtype.
        axis: along which to sort; None sorts all elements into one axis.
        kind: must be None.
        order: must be None.
        stable: whether elements that are equal keep their order.
        descending: whether the greatest comes first; NaN then comes first too.

    Returns:
        An array of ``a``'s shape and dtype.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.sort(jnp.array([3, 1, 2]), descending=True)
        Array([3, 2, 1], dtype=int32)
        >>> jnp.sort(jnp.array([3.0, jnp.nan, -jnp.inf]))
        Array([-inf,   3.,  nan], dtype=float32)
    """
    _no_order("sort", kind, order)
    x, along = pm.along("sort", a, axis)
    (out,) = primitives_sort.sort((x,), along, 1, stable)
    return sh.rev(out, (along,)) if descending else out


def sort_complex(a: ArrayLike) -> Array:
    """Return the elements as complex numbers, sorted along the last axis.

    They are compared by real, then by imaginary part.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.sort_complex(jnp.array([3 + 0j, 1 + 2j, 1 - 2j]))
        Array([1.-2.j, 1.+2.j, 3.+0.j], dtype=complex64)
    """
    x = pm.array_of("sort_complex", a)
    return pm.convert(sort(x), dtypes.to_complex(dtypes.to_inexact(x.dtype)))


def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: dtypes.DTypeLike = None,
) -> Array:
    """Return the indices that sort an array along an axis.

    Args:
        a: any shape and dtype.
        axis: along which to sort; None sorts all elements, flattened.
        kind: must be None.
        order: must be None.
        stable: whether elements that are equal keep their order.
        descending: whether the greatest comes first.
        dtype: of the indices; the default int if left out.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.argsort(jnp.array([3, 1, 2]))
        Array([1, 2, 0], dtype=int32)
    """
    _no_order("argsort", kind, order)
    x, along = pm.along("argsort", a, axis)
    places = sh.iota(x.shape, _index_type(dtype), along)
    if descending:
        # reversed before and after, so that equal elements keep their order
        x, places = sh.rev(x, (along,)), sh.rev(places, (along,))
    indices = primitives_sort.sort((x, places), along, 1, stable)[1]
    return sh.rev(indices, (along,)) if descending else indices


def _index_type(dtype: dtypes.DTypeLike) -> dtypes.DType:
    return dtypes.default_int() if dtype is None else dtypes.check(dtype)


def lexsort(keys: Array | dtypes.HostArray | Sequence[ArrayLike], axis: int = -1) -> Array:
    """Return the indices that sort by several keys, of which the last is the most significant.

    Args:
        keys: arrays of the same shape, or one array whose first axis holds them.
        axis: along which to sort.

    Raises:
        ArgumentError: there are no keys.
        ShapeError: the shapes differ.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> first, second = jnp.array([1, 1, 0]), jnp.array([2, 0, 5])
        >>> jnp.lexsort((second, first))
        Array([2, 1, 0], dtype=int32)
    """
    arrays = [pm.array_of("lexsort", key) for key in ints.listed(keys, "keys")]
    if not arrays:
        raise errors.ArgumentError("lexsort needs at least one key.")
    if not arrays[0].shape:
        return sh.full((), 0, dtypes.default_int())
    along = ints.canonical_axis(axis, arrays[0].ndim, "lexsort: axis")
    places = sh.iota(arrays[0].shape, dtypes.default_int(), along)
    return primitives_sort.sort((*arrays[::-1], places), along, len(arrays))[-1]


def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Return a copy in which the element at ``kth`` stands where sorting would put it.

    Elements before it are not greater, and elements after it are not less; both are sorted too.

    Raises:
        ArgumentError: ``kth`` is out of range.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.partition(jnp.array([7, 1, 9, 3]), 1)[:2]
        Array([1, 3], dtype=int32)
    """
    _check_kth("partition", a, kth, axis)
    return sort(a, axis)


def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Return the indices that ``partition`` an array: the smallest elements' come first.

    The element of the index at place ``kth`` is that which a sorted array has there; those before
    it are not greater, those after it not less, each in no promised order. Here the indices are
    sorted wholly; equal elements keep their order, and NaNs come last.

    Raises:
        ArgumentError: ``kth`` is out of range.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.argpartition(jnp.array([7, 1, 9, 3]), 1)[:2]
        Array([1, 3], dtype=int32)
        >>> jnp.argpartition(jnp.array([3.0, jnp.nan, 1.0]), 0)
        Array([2, 0, 1], dtype=int32)
    """
    _check_kth("argpartition", a, kth, axis)
    return argsort(a, axis)


def _check_kth(name: str, a: ArrayLike, kth: int, axis: int) -> None:
    x, along = pm.along(name, a, axis)
    n, kth = x.shape[along], ints.integer(kth, "kth")
    if not -n <= kth < n:
        raise errors.ArgumentError(
            f"{name}: kth must be an index of axis {along}, which has size {n}, but got {kth}."
        )


# Running sums and products

_Cumulative = Callable[[Array, int], Array]


def _cumulate(
    name: str,
    function: _Cumulative,
    a: ArrayLike,
    axis: int | None = None,
    dtype: dtypes.DTypeLike = None,
    out: None = None,
) -> Array:
    elementwise.no_out(name, out)
    x, along = pm.along(name, _not_a_number(name, a, dtype), axis)
    result_dtype = x.dtype if dtype is None else dtypes.check(dtype)
    x = pm.convert(x, result_dtype)
    if result_dtype == dtypes.bool_:
        x = pm.convert(x, dtypes.default_int())
    if not x.shape:
        raise errors.ArgumentError(f"{name} needs an axis to run along, but got a scalar.")
    sums = function(pm.strong(x), along)
    return pm.convert(sums, result_dtype) if dtype is not None else sums


def _not_a_number(name: str, a: ArrayLike, dtype: dtypes.DTypeLike = None) -> ArrayLike:
    """Make an array of one element of a Python number, which as in NumPy has an axis then."""
    if type(a) not in opd.PYTHON_NUMBERS:
        return a
    x = pm.array_of(name, a)
    return (x if dtype is None else pm.convert(x, dtypes.check(dtype))).reshape(1)


def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: dtypes.DTypeLike = None, out: None = None
) -> Array:
    """Return the running sum.

    Without ``axis`` the array is flattened. Bools become int32; narrow integers keep their dtype
    and wrap around, where NumPy widens them. From a NaN on all are NaN.

    Args:
        a: any shape.
        axis: along which to sum; None runs over all elements, flattened.
        dtype: in which to sum; ``a``'s if left out, the default int for bools.
        out: must be None.

    Returns:
        An array of ``a``'s shape (one axis if ``axis`` is None).

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.cumsum(jnp.array([1, 2, 3]))
        Array([1, 3, 6], dtype=int32)
        >>> jnp.cumsum(jnp.array([100, 100], jnp.int8))
        Array([100, -56], dtype=int8)
    """
    return _cumulate("cumsum", cumulative.cumsum, a, axis, dtype, out)


@frames.like(cumsum)
def cumprod(*args: Any, **kwargs: Any) -> Array:
    """Return the running product, in the dtype of ``a``; the arguments are those of ``cumsum``.

    Small integers wrap around, unlike in ``prod``, which computes them in the default integer.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.cumprod(jnp.array([1, 2, 3]))
        Array([1, 2, 6], dtype=int32)
        >>> x = jnp.array([100, 2], jnp.int8)
        >>> jnp.cumprod(x), jnp.prod(x)
        (Array([100, -56], dtype=int8), Array(200, dtype=int32))
    """
    return _cumulate("cumprod", cumulative.cumprod, *args, **kwargs)


@frames.like(cumsum)
def nancumsum(a: ArrayLike, *args: Any, **kwargs: Any) -> Array:
    """Return the running sum with NaN counted as zero; the arguments are those of ``cumsum``.

    Without ``axis`` the array is flattened. Integers, which are never NaN, are taken as by
    ``cumsum``. The derivative with respect to a NaN is 0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nancumsum(jnp.array([1.0, jnp.nan, 2.0]))
        Array([1., 1., 3.], dtype=float32)
        >>> jnp.nancumsum(jnp.array([[1.0, jnp.nan], [2.0, 3.0]]), axis=0)
        Array([[1., 0.],
               [3., 3.]], dtype=float32)
    """
    x = _replace_nan("nancumsum", a, 0)
    return _cumulate("nancumsum", cumulative.cumsum, x, *args, **kwargs)


@frames.like(cumsum)
def nancumprod(a: ArrayLike, *args: Any, **kwargs: Any) -> Array:
    """Return the running product with NaN counted as one; the arguments are those of ``cumsum``.

    Without ``axis`` the array is flattened. Integers, which are never NaN, are taken as by
    ``cumprod``. The derivative with respect to a NaN is 0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0]))
        Array([2., 2., 6.], dtype=float32)
        >>> jnp.nancumprod(jnp.array([[2.0, 3.0], [jnp.nan, 4.0]]), axis=0)
        Array([[ 2.,  3.],
               [ 2., 12.]], dtype=float32)
    """
    x = _replace_nan("nancumprod", a, 1)
    return _cumulate("nancumprod", cumulative.cumprod, x, *args, **kwargs)


def _replace_nan(name: str, a: ArrayLike, value: float) -> ArrayLike:
    if type(a) is int:
        return a
    x = pm.array_of(name, _not_a_number(name, a))
    if not dtypes.is_inexact(x.dtype):
        return x
    return ew.select(ew.ne(x, x), sh.full_like(x, value), x)


def _array_api_cumulate(
    name: str,
    function: _Cumulative,
    initial: int,
    x: ArrayLike,
    axis: int | None = None,
    dtype: dtypes.DTypeLike = None,
    include_initial: bool = False,
) -> Array:
    array = pm.array_of(name, x)
    if axis is None:
        if array.ndim != 1:
            raise errors.ArgumentError(
                f"{name} needs axis for an array with {array.ndim} axes: only for one is it plain."
            )
        axis = 0
    along = ints.canonical_axis(axis, array.ndim, f"{name}: axis")
    if dtype is None and not dtypes.is_inexact(array.dtype):
        default = dtypes.default_int()
        if array.dtype == dtypes.bool_ or array.dtype.itemsize < default.itemsize:
            unsigned = dtypes.uint32 if default == dtypes.int32 else dtypes.uint64
            dtype = unsigned if array.dtype.kind == "u" else default
    out = _cumulate(name, function, array, along, dtype)
    if not include_initial:
        return out
    shape = (*out.shape[:along], 1, *out.shape[along + 1 :])
    return slicing.concatenate([sh.full(shape, initial, out.dtype), out], along)


def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: dtypes.DTypeLike = None,
    include_initial: bool = False,
) -> Array:
    """Return the running sum, as the array API standard defines it.

    Args:
        x: any shape.
        axis: along which to sum; may be left out for one axis.
        dtype: in which to sum; if left out ``x``'s, and at least as wide as the default int.
        include_initial: whether to begin with zero, which makes the axis longer by one.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
        Array([0, 1, 3, 6], dtype=int32)
    """
    return _array_api_cumulate(
        "cumulative_sum", cumulative.cumsum, 0, x, axis, dtype, include_initial
    )


@frames.like(cumulative_sum)
def cumulative_prod(*args: Any, **kwargs: Any) -> Array:
    """Return the running product, with the arguments of ``cumulative_sum``.

    The results are as many as the elements, or one more, of which the first is 1, with
    ``include_initial``. Narrow integers are multiplied as int32; an array of several axes needs
    ``axis``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.cumulative_prod(jnp.array([2, 3, 4]), include_initial=True)
        Array([ 1,  2,  6, 24], dtype=int32)
        >>> jnp.cumulative_prod(jnp.array([[1, 2], [3, 4]]), axis=0)
        Array([[1, 2],
               [3, 8]], dtype=int32)
    """
    return _array_api_cumulate("cumulative_prod", cumulative.cumprod, 1, *args, **kwargs)


# Quantiles


def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: ints.Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: Method = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Return the values below which given fractions of the elements lie.

    Args:
        a: real, any shape.
        q: fractions from 0 to 1: a scalar or one axis.
        axis: the axis or axes to reduce; None for all.
        out: must be None.
        overwrite_input: must be False: arrays are immutable.
        method: how to choose between two elements: ``"linear"`` interpolates. ``"inverted_cdf"``
            is the least element that at least the fraction does not exceed.
        keepdims: whether the axes stay, with size one.
        weights: how often each element counts, with ``method="inverted_cdf"``: of the shape of
            ``a``, or of its axes in ``axis``.

    Returns:
        An array with ``q``'s axis, then ``a``'s others; NaN where an element is NaN, or a weight is
        NaN or negative.

    Raises:
        ArgumentError: the method is not known, or takes no weights.
        DtypeError: ``a``, ``q`` or ``weights`` are complex.
        ShapeError: ``q`` has two axes or more, or the weights do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.quantile(jnp.array([1.0, 2.0, 4.0]), jnp.array([0.5, 0.75]))
        Array([2., 3.], dtype=float32)
    """
    options = (axis, out, overwrite_input, method, keepdims)
    return _quantile("quantile", a, q, *options, weights=weights)


@frames.like(quantile)
def nanquantile(*args: Any, **kwargs: Any) -> Array:
    """Return quantiles of the elements that are not NaN; arguments as for ``quantile``.

    ``q`` is from 0 to 1 and may be an array, whose axes come first in the result. Between two
    elements it is interpolated linearly, unless ``method`` says otherwise. Where all are NaN, so is
    the result.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nanquantile(jnp.array([1.0, jnp.nan, 2.0, 3.0]), jnp.array([0.0, 0.5]))
        Array([1., 2.], dtype=float32)
    """
    return _quantile("nanquantile", *args, **kwargs)


@placed
def percentile(  # noqa: PLR0913 (JAX's signature)
    a: ArrayLike,
    q: ArrayLike,
    axis: ints.Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: Method = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: Placement = None,
) -> Array:
    """Return quantiles for fractions given in percent; other arguments as for ``quantile``.

    The result lies as ``out_sharding`` says.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.percentile(jnp.array([1.0, 2.0, 3.0]), jnp.array([25, 50]))
        Array([1.5, 2. ], dtype=float32)
        >>> jnp.percentile(jnp.array([1.0, 2.0, 3.0]), 30, method="lower")
        Array(1., dtype=float32)
    """
    options = (axis, out, overwrite_input, method, keepdims)
    return _quantile("percentile", a, q, *options, weights=weights)


@frames.like(quantile)
def nanpercentile(*args: Any, **kwargs: Any) -> Array:
    """Return percentiles of the elements that are not NaN; arguments as for ``percentile``.

    ``q`` is in percent, from 0 to 100, and may be an array, whose axes come first in the result.
    Where all are NaN, so is the result. Integers become floats.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nanpercentile(jnp.array([1.0, jnp.nan, 3.0]), 50)
        Array(2., dtype=float32)
        >>> jnp.nanpercentile(jnp.array([[1.0, jnp.nan], [3.0, 4.0]]), jnp.array([0, 100]), axis=1)
        Array([[1., 3.],
               [1., 4.]], dtype=float32)
    """
    return _quantile("nanpercentile", *args, **kwargs)


def median(
    a: ArrayLike,
    axis: ints.Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Return the middle element, or the mean of the two in the middle.

    Over all axes by default; NaN where an element is. Integers become floats, and complex numbers
    are refused. The derivative goes to the elements in the middle.

    Args:
        a: real, any shape.
        axis: the axis or axes to reduce; None for all.
        out: must be None.
        overwrite_input: must be False: arrays are immutable.
        keepdims: whether the axes stay, with size one.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.median(jnp.array([1, 10, 2]))
        Array(2., dtype=float32)
    """
    return _quantile("median", a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


def nanmedian(
    a: ArrayLike,
    axis: ints.Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Return the median of the elements that are not NaN; the arguments are those of ``median``.

    Of an even number it is the mean of the two in the middle; where all are NaN, or there are none,
    NaN. Integers become floats.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nanmedian(jnp.array([[1.0, jnp.nan, 2.0], [jnp.nan] * 3]), axis=1)
        Array([1.5, nan], dtype=float32)
    """
    return _quantile("nanmedian", a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


def _levels(levels: Array, fractions: Array, whole: int) -> Array:
    """Return fractions of one, in a row and as exactly as they count places among many."""
    with _computed_now(levels):
        is_narrow = dtypes.is_narrow_float(fractions.dtype)
        flat = pm.strong(pm.convert(levels, dtypes.float32 if is_narrow else fractions.dtype))
        if whole != 1:
            flat = ew.div(flat, sh.full_like(flat, whole))
        return sh.reshape(flat, (fractions.size,))


def _quantile(  # noqa: PLR0913 (the signature of quantile)
    name: str,
    a: ArrayLike,
    q: ArrayLike,
    axis: ints.Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: Method = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Return quantiles: of percents, and without NaN, if the name says so."""
    elementwise.no_out(name, out)
    if overwrite_input:
        raise errors.ArgumentError(
            f"{name} overwrites nothing, since arrays are immutable: leave overwrite_input out."
        )
    skip_nan, whole = name.startswith("nan"), 100 if name.endswith("percentile") else 1
    pm.check_option(name, "method", method, get_args(Method))
    x, fractions = pm.promote_inexact(*pm.inexact_first(name, a, q))
    if dtypes.is_complex(x.dtype):
        raise errors.DtypeError(
            f"{name} needs real arrays, but got {x.aval}: complex numbers have no order."
        )
    if fractions.ndim > 1:
        raise errors.ShapeError.got(f"{name} takes fractions as a scalar or one axis", fractions)
    axes = ints.canonical_axes(axis, x.ndim)
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    # the fractions' type says how exact they are, not what the result is
    x = pm.convert(x, pm.inexact(a, name).dtype)

    def in_line(values: Array) -> Array:
        """The axes looked over become one, in front."""
        rest = tuple(values.shape[i] for i in kept)
        line = sh.transpose(values, (*axes, *kept))
        return sh.reshape(line, (prod(values.shape[i] for i in axes), *rest))

    line = in_line(pm.strong(x))
    flat = _levels(pm.array_of(name, q), fractions, whole)
    if not line.shape[0]:
        if name in ("quantile", "percentile"):  # as in NumPy
            raise errors.ShapeError(f"{name} of {x.aval}: there is no element to choose.")
        result = sh.full((fractions.size, *line.shape[1:]), float("nan"), line.dtype)
    elif method == "inverted_cdf":
        counts = sh.full_like(x, 1) if weights is None else _weights(name, weights, x, axes)
        line, counts = primitives_sort.sort((line, in_line(pm.strong(counts))), 0, num_keys=1)
        result = _least_with_fraction(line, counts, flat, skip_nan)
    elif weights is not None:
        raise errors.ArgumentError(
            f"{name}: only method='inverted_cdf' takes weights, but method is {method!r}."
        )
    else:
        (line,) = primitives_sort.sort((line,), 0)
        result = _interpolate(line, flat, method, skip_nan)
    if keepdims:
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        result = sh.reshape(result, (fractions.size, *shape))
    return sh.reshape(result, fractions.shape + result.shape[1:])


def _weights(name: str, weights: ArrayLike, x: Array, axes: tuple[int, ...]) -> Array:
    """Return the weight of every element."""
    result = pm.array_of(name, weights)
    if dtypes.is_complex(result.dtype):
        raise errors.DtypeError(f"{name} needs real weights, but got {result.aval}.")
    result = pm.convert(result, dtypes.promote_types(x.dtype, result.dtype))
    if result.shape == x.shape:
        return result
    over = tuple(x.shape[i] for i in axes)
    if result.shape != over:
        raise errors.ShapeError(
            f"{name}: weights must have the array's shape {x.shape}, or that of the axes looked "
            f"over, {over}, but have {result.shape}."
        )
    return broadcast_in_dim(result, x.shape, axes)


def _least_with_fraction(line: Array, weights: Array, q: Array, skip_nan: bool) -> Array:
    """Of sorted elements those up to which fractions of the weights lie; they come in front."""
    n, rest = line.shape[0], line.shape[1:]
    others = tuple(range(1, len(rest) + 1))
    dtype = dtypes.float32 if dtypes.is_narrow_float(weights.dtype) else weights.dtype
    counts = pm.convert(weights, dtype)
    missing = ew.ne(line, line)
    zero = sh.full_like(counts, 0)
    wrong = ew.not_(ew.ge(counts, zero))
    sums = cumulative.cumsum(ew.select(ew.or_(wrong, missing), zero, counts), 0)
    thresholds = ew.mul(
        broadcast_in_dim(pm.convert(q, dtype), (q.size, *rest), (0,)),
        broadcast_in_dim(
            sh.reshape(slicing.slice_in_dim(sums, n - 1, n, 1, 0), rest), (q.size, *rest), others
        ),
    )
    shape = (q.size, n, *rest)
    across = tuple(range(2, len(shape)))
    below = ew.lt(
        broadcast_in_dim(sums, shape, (1, *across)),
        broadcast_in_dim(thresholds, shape, (0, *across)),
    )
    place = reduce_sum(pm.convert(below, dtypes.int32), (1,))
    there = reduce_sum(pm.convert(ew.not_(missing), dtypes.int32), (0,)) if skip_nan else None
    last = sh.full_like(place, n) if there is None else broadcast_in_dim(there, place.shape, others)
    out = _take_front(line, elementwise.maximum(elementwise.minimum(place, last - 1), 0))
    invalid = reduce_or(wrong if skip_nan else ew.or_(wrong, missing), (0,))
    return elementwise.pick(broadcast_in_dim(invalid, out.shape, others), float("nan"), out)


def _computed_now(*arrays: Array) -> AbstractContextManager[object]:
    """Compute at once, even while staging, if all the arrays are known."""
    return tr.use_trace(tr.EVAL) if all(map(opd.is_constant, arrays)) else nullcontext()


def _interpolate(line: Array, q: Array, method: Method, skip_nan: bool) -> Array:
    """Quantiles along the first axis of sorted elements; the fractions' axis comes in front."""
    n, rest = line.shape[0], line.shape[1:]
    shape = (q.shape[0], *rest)
    others = tuple(range(1, len(shape)))
    dtype = line.dtype
    # places are counted in float32 at least: a float16 cannot count to 10^4
    wide = dtypes.float32 if dtypes.is_narrow_float(dtype) else dtype
    # the elements at known places need not be gathered
    known = opd.is_constant(q) and not skip_nan and type(n) is int and q.size <= _MOST_SLICES
    with _computed_now(q) if known else nullcontext():
        fractions = pm.convert(q, wide)
        if skip_nan:
            # NaN stands at the end
            present = reduce_sum(pm.convert(ew.eq(line, line), wide), (0,))
            last = broadcast_in_dim(ew.sub(present, sh.full_like(present, 1)), shape, others)
        else:
            last = broadcast_in_dim(
                pm.convert(opd.as_array(n - 1), wide), q.shape if known else shape, ()
            )
        if not known:
            fractions = broadcast_in_dim(fractions, shape, (0,))
        position = ew.mul(fractions, last)
        low, high = ew.floor(position), ew.ceil(position)
        weight = pm.convert(ew.sub(position, low), dtype)
    if known:
        weight = broadcast_in_dim(weight, shape, (0,))

    def element(place: Array) -> Array:
        with _computed_now(place):
            zero = sh.full_like(place, 0)
            inside = pm.convert(ew.min_(ew.max_(place, zero), ew.max_(last, zero)), dtypes.int32)
        if not known:
            return _take_front(line, inside)
        return slicing.concatenate(
            [slicing.slice_in_dim(line, i, i + 1) for i in inside.tolist()], 0
        )

    match method:
        case "lower":
            out = element(low)
        case "higher":
            out = element(high)
        case "nearest":
            with _computed_now(position):
                place = ew.round_(position)  # halves to the even place, as NumPy has it
            out = element(place)
        case _:
            below, above = element(low), element(high)
            if method == "midpoint":
                weight = sh.full_like(weight, 0.5)
            # equal infinities need no arithmetic, which would make NaN of them
            mixed = below * (1 - weight) + above * weight
            infinite = ew.and_(ew.eq(below, above), ew.ne(mixed, mixed))
            out = ew.select(infinite, below, mixed)
    if skip_nan:
        return out
    end = sh.reshape(slicing.slice_in_dim(line, n - 1, n), rest)
    invalid = broadcast_in_dim(ew.ne(end, end), shape, others)
    return elementwise.pick(invalid, float("nan"), out)


#: Elements at so many places, if they are known, are slices.
_MOST_SLICES: Final = 8


def _take_front(line: Array, places: Array) -> Array:
    """For every place the element of its own column."""
    rest = line.shape[1:]
    if not places.size:
        return sh.full(places.shape, 0, line.dtype)
    coordinates = [sh.iota(places.shape, dtypes.int32, i) for i in range(1, places.ndim)]
    flat = [sh.reshape(i, (i.size,)) for i in (places, *coordinates)]
    elements = take_front(line, flat, tuple(range(line.ndim)))
    return sh.reshape(elements, (places.shape[0], *rest))


replay.replay_functions(globals())
