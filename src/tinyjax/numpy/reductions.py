"""Reductions: sums, extrema, means and logical ones, over any axes.

All take ``axis`` (an int, several, or None for all), ``keepdims``, and where JAX has them
``dtype``, ``initial`` (where the reduction starts) and ``where`` (which elements take part).
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from numbers import Real
from typing import Any, Literal, overload

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax._base import frames, records
from tinyjax._extensions.host import LARGEST, data_at_hand, replay
from tinyjax._primitives import arg_extrema
from tinyjax.core.primitives import elementwise as ew, reduce, shape as sh
from tinyjax.core.primitives.broadcast import reduce_sum
from tinyjax.core.values import Array, ArrayLike, concrete, integers as ints
from tinyjax.errors import ArgumentError, DtypeError, ShapeError, type_name
from tinyjax.numpy import elementwise, promotion as pm


def _keep(out: Array, x: Array, axes: tuple[int, ...]) -> Array:
    """Put the reduced axes back, with size one."""
    return sh.reshape(out, tuple([1 if i in axes else n for i, n in enumerate(x.shape)]))


def _accumulator(dtype: dtypes.DType) -> dtypes.DType:
    """Return the type of sums and products of bools or integers: no small integers."""
    default = dtypes.default_int()
    if dtype.kind not in "biu" or dtype.itemsize >= default.itemsize:
        return dtype
    if dtype.kind == "u":
        return dtypes.uint32 if default == dtypes.int32 else dtypes.uint64
    return default


def _masked(name: str, x: Array, where: ArrayLike | None, instead: ArrayLike) -> Array:
    """Replace the elements that do not take part by one that changes nothing."""
    if where is None:
        return x
    mask = elementwise.truth(pm.array_of(name, where))
    masked = elementwise.pick(mask, x, instead)
    if masked.shape != x.shape:
        raise ShapeError(
            f"{name}: where must broadcast to the array's shape {x.shape}, but has {mask.shape}."
        )
    return masked


@attrs.frozen(eq=False, repr=False)
class _Reduction(records.Record):
    """A reduction of some name: over axes, of two values, and of none at all."""

    name: str
    reduce: Callable[[Array, tuple[int, ...]], Array]
    combine: Callable[[Array, Array], Array]
    identity: Callable[[dtypes.DType], bool | int | float | complex]
    skips_nan: bool = False

    def operand(self, a: ArrayLike) -> tuple[Array, Array | None]:
        """Return the array to reduce, and where it has NaN that is left out, if it may."""
        if self.skips_nan:
            return _without_nan(self.name, a, self.identity)
        return pm.array_of(self.name, a), None

    def leaving_out_nan(self) -> _Reduction:
        return attrs.evolve(self, name=f"nan{self.name}", skips_nan=True)


_SUM = _Reduction("sum", reduce_sum, ew.add, lambda _: 0)
_PROD = _Reduction("prod", reduce.reduce_prod, ew.mul, lambda _: 1)
_ALL = _Reduction("prod", reduce.reduce_and, ew.and_, lambda _: True)
_ANY = _Reduction("sum", reduce.reduce_or, ew.or_, lambda _: False)
_MAX = _Reduction("max", reduce.reduce_max, ew.max_, reduce.lowest)
_MIN = _Reduction("min", reduce.reduce_min, ew.min_, reduce.highest)


def _accumulate(  # noqa: PLR0913, PLR0917 (the signature of sum)
    kind: _Reduction,
    a: ArrayLike,
    axis: ints.Axis = None,
    dtype: dtypes.DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    name = kind.name
    elementwise.no_out(name, out)
    x, _ = kind.operand(a)
    aval = x._aval or x.aval
    axes = ints.canonical_axes(axis, len(aval.shape))
    result_dtype = dtypes.check(dtype) if dtype is not None else aval.dtype
    if dtype is None and result_dtype.kind in ("biu" if promote_integers else "b"):
        result_dtype = _accumulator(result_dtype)
    if result_dtype == dtypes.bool_:
        kind = _ALL if kind is _PROD else _ANY
    x = pm.convert(x, result_dtype)
    if where is not None:
        x = _masked(name, x, where, kind.identity(result_dtype))
    total = kind.reduce(x, axes)
    if initial is not None:
        start = _start(name, initial, result_dtype)
        total = kind.combine(total, _scalar(name, start, total.shape))
    return _keep(total, x, axes) if keepdims else total


def _start(name: str, initial: ArrayLike, dtype: dtypes.DType) -> Array:
    """Convert the value that a reduction starts from."""
    start = pm.array_of(name, initial)
    if dtypes.is_complex(start.dtype) and not dtypes.is_complex(dtype):
        raise DtypeError(
            f"initial of {name} is complex, and the result is {dtype.name}, which would lose its "
            "imaginary part. Convert the array with .astype(...)."
        )
    return pm.convert(start, dtype)


def _scalar(name: str, initial: Array, shape: tuple[int, ...]) -> Array:
    if initial.shape:
        raise ShapeError(f"{name}: initial must be a scalar, but its shape is {initial.shape}.")
    return pm.broadcast_to_shape(initial, shape)


def sum(
    a: ArrayLike,
    axis: ints.Axis = None,
    dtype: dtypes.DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Sum over axes.

    Args:
        a: any dtype.
        axis: the axis or axes to sum over, or None for all.
        dtype: of the sum and its terms; by default, small integers and bools are summed in the
            default integer type. Floats of 16 bits or fewer are summed in float32, then rounded.
        out: only None; arrays are immutable.
        keepdims: keep the axes, with size one.
        initial: a scalar to start from.
        where: bools that say which elements take part; broadcast to ``a``'s shape.
        promote_integers: whether small integers are summed in the default integer type.

    Raises:
        AxisError: there is no such axis, or it is given twice.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.array([[1, 2], [3, 4]])
        >>> jnp.sum(x, axis=0)
        Array([4, 6], dtype=int32)
        >>> jnp.sum(x, where=x > 1)
        Array(9, dtype=int32)
    """
    return _accumulate(_SUM, a, axis, dtype, out, keepdims, initial, where, promote_integers)


@frames.like(sum)
def prod(*args: Any, **kwargs: Any) -> Array:
    """Multiply over axes; the arguments are those of ``sum``.

    The derivative is also right where elements are zero.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.prod(jnp.array([1.0, 2.0, 3.0]))
        Array(6., dtype=float32)
    """
    return _accumulate(_PROD, *args, **kwargs)


def _extremum(
    kind: _Reduction,
    a: ArrayLike,
    axis: ints.Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    name = kind.name
    elementwise.no_out(name, out)
    x, nan = kind.operand(a)
    x = pm.strong(x)
    axes = ints.canonical_axes(axis, x.ndim)
    if initial is None:
        if where is not None:
            raise ArgumentError(
                f"{name}: there may be no element where the mask holds, so a mask needs an initial "
                f"value: {name}(..., initial=..., where=...)."
            )
        if builtins.any(x.shape[i] == 0 for i in axes):
            raise ShapeError(
                f"{name} over axes {axes} of {x.aval}: there is no element. Give an initial value."
            )
        result = kind.reduce(x, axes)
        if nan is not None:
            result = elementwise.pick(reduce.reduce_and(nan, axes), math.nan, result)
    else:
        result = kind.reduce(_masked(name, x, where, kind.identity(x.dtype)), axes)
        start = _start(name, initial, x.dtype)
        result = kind.combine(result, _scalar(name, start, result.shape))
    return _keep(result, x, axes) if keepdims else result


def max(
    a: ArrayLike,
    axis: ints.Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the largest element over axes; NaN where there is one.

    Elements that tie share the derivative equally.

    Args:
        a: any real dtype.
        axis: the axis or axes to reduce, or None for all.
        out: only None; arrays are immutable.
        keepdims: keep the axes, with size one.
        initial: a scalar to compare with as well; needed for an empty array and with ``where``.
        where: bools that say which elements take part.

    Raises:
        AxisError: there is no such axis, or it is given twice.
        ShapeError: there is no element, and no ``initial``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.max(jnp.array([[1, 5], [3, 4]]), axis=1)
        Array([5, 4], dtype=int32)
    """
    return _extremum(_MAX, a, axis, out, keepdims, initial, where)


@frames.like(max)
def min(*args: Any, **kwargs: Any) -> Array:
    """Return the smallest element over axes; the arguments are those of ``max``.

    It is NaN where an element is. Elements that tie share the derivative. See also ``minimum``, of
    two arrays.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.min(jnp.array([[1, 5], [3, 4]]), axis=0)
        Array([1, 4], dtype=int32)
        >>> tinyjax.grad(jnp.min)(jnp.array([1.0, 1.0, 2.0]))
        Array([0.5, 0.5, 0. ], dtype=float32)
    """
    return _extremum(_MIN, *args, **kwargs)


def any(
    a: ArrayLike,
    axis: ints.Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Return whether any element over the axes is true (not zero).

    Over all axes by default. NaN counts as true; no elements give false. The result is bool.

    Args:
        a: any dtype; NaN is true.
        axis: one axis or several; all by default.
        out: must be None; arrays are immutable.
        keepdims: whether the axes stay, with size 1.
        where: which elements take part.

    Returns:
        Bools; False where no element takes part.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.any(jnp.array([[0, 1], [0, 0]]), axis=1)
        Array([ True, False], dtype=bool)
        >>> jnp.any(jnp.zeros(0))
        Array(False, dtype=bool)
        >>> jnp.any(jnp.zeros((0,))), jnp.any(jnp.nan)
        (Array(False, dtype=bool), Array(True, dtype=bool))
    """
    elementwise.no_out("any", out)
    x = elementwise.truth(pm.array_of("any", a))
    axes = ints.canonical_axes(axis, x.ndim)
    x = _masked("any", x, where, False)
    result = reduce.reduce_or(x, axes)
    return _keep(result, x, axes) if keepdims else result


def all(
    a: ArrayLike,
    axis: ints.Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Return whether all elements over the axes are true (not zero).

    Over all axes by default. NaN counts as true, and so do no elements. The result is bool.

    Args:
        a: any dtype; NaN is true.
        axis: one axis or several; all by default.
        out: must be None; arrays are immutable.
        keepdims: whether the axes stay, with size 1.
        where: which elements take part.

    Returns:
        Bools; True where no element takes part.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.all(jnp.array([[1, 0], [2, 3]]), axis=1)
        Array([False,  True], dtype=bool)
        >>> jnp.all(jnp.zeros(0))
        Array(True, dtype=bool)
        >>> jnp.all(jnp.zeros((0,)))
        Array(True, dtype=bool)
    """
    elementwise.no_out("all", out)
    x = elementwise.truth(pm.array_of("all", a))
    axes = ints.canonical_axes(axis, x.ndim)
    x = _masked("all", x, where, True)
    result = reduce.reduce_and(x, axes)
    return _keep(result, x, axes) if keepdims else result


def _argument(
    name: str,
    choose: Callable[[Array, int, dtypes.DType], Array],
    a: ArrayLike,
    axis: int | None = None,
    out: None = None,
    keepdims: bool = False,
) -> Array:
    elementwise.no_out(name, out)
    x = pm.array_of(name, a)
    along = tuple(range(x.ndim)) if axis is None else (ints.canonical_axis(axis, x.ndim),)
    if builtins.any(x.shape[i] == 0 for i in along):
        raise ShapeError(f"{name} along axis {axis} of {x.aval}: there is no element to choose.")
    flat = sh.reshape(x, (x.size,)) if axis is None else x
    chosen = choose(flat, 0 if axis is None else along[0], dtypes.default_int())
    return _keep(chosen, x, along) if keepdims else chosen


def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool = False
) -> Array:
    """Return the index of the largest element along an axis: of the first, if several tie.

    Without ``axis`` it is the index into the flattened array. A NaN is the largest. No elements
    raise an error.

    Args:
        a: any real dtype; the first NaN, if any, counts as the largest.
        axis: the axis to search along; None searches the flattened array.
        out: only None; arrays are immutable.
        keepdims: keep the axis, with size one.

    Raises:
        ShapeError: there is no element.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.argmax(jnp.array([1, 5, 5]))
        Array(1, dtype=int32)
        >>> jnp.argmax(jnp.array([1.0, jnp.nan, 3.0]))
        Array(1, dtype=int32)
    """
    return _argument("argmax", arg_extrema.argmax, a, axis, out, keepdims)


@frames.like(argmax)
def argmin(*args: Any, **kwargs: Any) -> Array:
    """Return the index of the smallest element along an axis; as ``argmax`` otherwise.

    It is the first one of several, and that of the first NaN if there is any.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.argmin(jnp.array([[3, 1, 1], [2, 0, 5]]), axis=1)
        Array([1, 1], dtype=int32)
        >>> jnp.argmin(jnp.array([1.0, jnp.nan, 0.0]))
        Array(1, dtype=int32)
    """
    return _argument("argmin", arg_extrema.argmin, *args, **kwargs)


def _nan_argument(
    name: str,
    worst: float,
    a: ArrayLike,
    axis: int | None = None,
    out: None = None,
    keepdims: bool | None = None,
) -> Array:
    elementwise.no_out(name, out)
    x = pm.array_of(name, a)
    find = argmax if worst < 0 else argmin
    if not dtypes.is_inexact(x.dtype):
        return find(x, axis, keepdims=keepdims is True)
    missing = ew.ne(x, x)
    places = find(elementwise.pick(missing, worst, x), axis, keepdims=keepdims is True)
    return elementwise.pick(all(missing, axis, keepdims=keepdims is True), -1, places)


def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the largest element that is not NaN; -1 where all are: see ``argmax``.

    The first of equal ones. NumPy raises an error where all are NaN; under ``jit`` there could be
    none. Without ``axis`` the index is that into the flattened array.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nanargmax(jnp.array([1.0, jnp.nan, 5.0]))
        Array(2, dtype=int32)
        >>> jnp.nanargmax(jnp.array([jnp.nan, jnp.nan])), jnp.nanargmax(jnp.array([1, 5, 5]))
        (Array(-1, dtype=int32), Array(1, dtype=int32))
    """
    return _nan_argument("nanargmax", -math.inf, a, axis, out, keepdims)


@frames.like(nanargmax)
def nanargmin(*args: Any, **kwargs: Any) -> Array:
    """Return the index of the smallest element that is not NaN; -1 where all are.

    The first of equal ones. NumPy raises an error where all are NaN; under ``jit`` there could be
    none. Without ``axis`` the index is that into the flattened array.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nanargmin(jnp.array([[3.0, jnp.nan, 1.0], [jnp.nan] * 3]), axis=1)
        Array([ 2, -1], dtype=int32)
    """
    return _nan_argument("nanargmin", math.inf, *args, **kwargs)


# Means


def _computation_type(dtype: dtypes.DType) -> dtypes.DType:
    return dtypes.float32 if dtypes.is_narrow_float(dtype) else dtype


def _result_type(dtype: dtypes.DTypeLike, x: Array) -> dtypes.DType:
    """Return the type of a mean: the one given, or the array's where that is inexact."""
    return dtypes.to_inexact(x.dtype, x.weak_type) if dtype is None else dtypes.check(dtype)


def _shared(
    name: str,
    total: Array,
    x: Array,
    axes: tuple[int, ...],
    where: ArrayLike | None,
    less: Any = 0,
    nothing: float = math.nan,
) -> Array:
    """Divide a sum by the number of elements in it, less so many.

    Where none are left the result is ``nothing``, and has no derivative.
    """
    if where is None:
        left = math.prod([x.shape[i] for i in axes]) - less
        if not isinstance(left, ints.SymbolicSize) and left <= 0:
            return sh.full_like(total, nothing)
        return ew.div(total, pm.broadcast_to_shape(sh.full((), left, total.dtype), total.shape))
    ones = sh.full(x.shape, 1, dtypes.real_part(total.dtype))
    counts = reduce_sum(_masked(name, ones, where, 0), axes)
    if less:
        counts = ew.sub(counts, sh.full_like(counts, less))
    some = ew.gt(counts, sh.full_like(counts, 0))
    return elementwise.pick(
        some, ew.div(total, pm.convert(elementwise.pick(some, counts, 1), total.dtype)), nothing
    )


def mean(
    a: ArrayLike,
    axis: ints.Axis = None,
    dtype: dtypes.DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Return the arithmetic mean over axes; NaN where there is no element.

    Args:
        a: any dtype; integers give the default float, those of 64 bits float64.
        axis: the axis or axes to reduce, or None for all.
        dtype: of the result.
        out: only None; arrays are immutable.
        keepdims: keep the axes, with size one.
        where: bools that say which elements take part.

    Raises:
        AxisError: there is no such axis, or it is given twice.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.mean(jnp.array([[1, 2], [3, 5]]), axis=1)
        Array([1.5, 4. ], dtype=float32)
    """
    elementwise.no_out("mean", out)
    x = pm.array_of("mean", a)
    axes = ints.canonical_axes(axis, x.ndim)
    result = _result_type(dtype, x)
    inner = _computation_type(dtypes.to_inexact(result))
    x = pm.convert(x, inner)
    total = reduce_sum(_masked("mean", x, where, 0), axes)
    average = _shared("mean", total, x, axes, where)
    return pm.convert(_keep(average, x, axes) if keepdims else average, result)


def var(  # noqa: PLR0913 (JAX's signature)
    a: ArrayLike,
    axis: ints.Axis = None,
    dtype: dtypes.DTypeLike = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: int | float | None = None,
) -> Array:
    """Return the variance over axes: the mean of the squared distances from the mean.

    NaN where ``ddof`` is not less than the number of elements.

    Args:
        a: any dtype; the variance of complex numbers is real.
        axis: the axis or axes to reduce, or None for all.
        dtype: of the result.
        out: only None; arrays are immutable.
        ddof: how much to subtract from the number of elements, for the divisor.
        keepdims: keep the axes, with size one.
        where: bools that say which elements take part.
        mean: the mean, if it is known already, with the reduced axes kept.
        correction: another name of ``ddof``, in the array API standard.

    Raises:
        AxisError: there is no such axis, or it is given twice.
        ArgumentError: both ``ddof`` and ``correction`` are given.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.var(jnp.array([1.0, 2.0, 3.0, 4.0]))
        Array(1.25, dtype=float32)
    """
    options: Any = {"where": where, "mean": mean, "correction": correction}
    return _variance("var", a, axis, dtype, out, ddof, keepdims, **options)


def _variance(  # noqa: PLR0913 (the arguments of var)
    name: str,
    a: ArrayLike,
    axis: ints.Axis = None,
    dtype: dtypes.DTypeLike = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: int | float | None = None,
    is_root: bool = False,
) -> Array:
    """Return the variance, or its root, computed in float32 at least and rounded once."""
    elementwise.no_out(name, out)
    if correction is not None and ddof:
        raise ArgumentError(f"{name}: ddof and correction mean the same. Give only one of them.")
    less: Any = ddof if correction is None else correction
    if not isinstance(less, Real | Array):
        raise ArgumentError(f"{name}: ddof must be a number, such as 1, but got {type_name(less)}.")
    x = pm.array_of(name, a)
    axes = ints.canonical_axes(axis, x.ndim)
    result = dtypes.real_part(_result_type(dtype, x))
    inner = _computation_type(dtypes.to_inexact(result))
    x = pm.convert(x, dtypes.to_complex(inner) if dtypes.is_complex(x.dtype) else inner)
    if mean is None:
        # not NaN where there is no element: its distances would have NaN for derivatives
        sums = reduce_sum(_masked(name, x, where, 0), axes)
        center = _keep(_shared(name, sums, x, axes, where, nothing=0.0), x, axes)
    else:
        center = pm.array_of(name, mean)
    if pm.broadcast_shapes(center.shape, x.shape) != x.shape:
        raise ShapeError(
            f"{name}: mean must broadcast to the array's shape {x.shape}, but has {center.shape}."
        )
    squares = _squared_distance(x, pm.convert(center, x.dtype))
    total = reduce_sum(_masked(name, squares, where, 0), axes)
    variance = _shared(name, total, x, axes, where, less)
    if is_root:
        variance = ew.root(variance)
    return pm.convert(_keep(variance, x, axes) if keepdims else variance, result)


def _squared_distance(x: Array, center: Array) -> Array:
    host, mean = data_at_hand(x), data_at_hand(center)
    is_plain = not (x.weak_type or dtypes.is_complex(x.dtype))
    if host is not None and mean is not None and is_plain and host.nbytes > LARGEST:
        # In place: for two new arrays the system takes up to five times as long to find memory.
        with np.errstate(all="ignore"):
            squares = np.subtract(host, mean)
            np.multiply(squares, squares, out=squares)
        return concrete.ConcreteArray(squares)
    distance = ew.sub(x, pm.broadcast_to_shape(center, x.shape))
    if not dtypes.is_complex(x.dtype):
        return ew.mul(distance, distance)
    re, im = ew.real(distance), ew.imag(distance)
    return ew.add(ew.mul(re, re), ew.mul(im, im))


@frames.like(var)
def std(*args: Any, **kwargs: Any) -> Array:
    """Return the standard deviation over axes, the root of ``var``; it takes the same arguments.

    It divides by the number of elements less ``ddof``. Where all elements are equal, its
    derivative is 0, the mean of its slopes on both sides.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.std(jnp.array([1.0, 3.0]))
        Array(1., dtype=float32)
        >>> jnp.std(jnp.array([1, 3, 5]), ddof=1)
        Array(2., dtype=float32)
    """
    return _variance("std", *args, **kwargs, is_root=True)


@overload
def average(
    a: ArrayLike,
    axis: ints.Axis = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    keepdims: bool = False,
) -> Array: ...
@overload
def average(
    a: ArrayLike,
    axis: ints.Axis = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Array, Array]: ...
def average(
    a: ArrayLike,
    axis: ints.Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Array | tuple[Array, Array]:
    """Return the weighted mean over axes.

    Without weights it is the mean; weights whose sum is 0 give NaN, where NumPy raises an error.
    Integers become floats.

    Args:
        a: any dtype.
        axis: the axis or axes to reduce, or None for all.
        weights: of ``a``'s shape, or of the axes' sizes; None for equal ones.
        returned: return the sum of the weights as well.
        keepdims: keep the axes, with size one.

    Raises:
        ShapeError: the weights do not fit ``a``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.average(jnp.array([1.0, 4.0]), weights=jnp.array([2.0, 1.0]))
        Array(2., dtype=float32)
    """
    x = pm.array_of("average", a)
    axes = ints.canonical_axes(axis, x.ndim)
    if weights is None:
        result = mean(x, axes, keepdims=keepdims)
        total = sh.full_like(result, math.prod([x.shape[i] for i in axes]))
    else:
        w = pm.array_of("average", weights)
        if w.shape != x.shape:
            along = [] if axis is None else ints.one_or_more(axis, "axis")
            # in the order of the weights' axes
            order_of_axes = [ints.canonical_axis(i, x.ndim) for i in along]
            if not order_of_axes or w.shape != tuple([x.shape[i] for i in order_of_axes]):
                raise ShapeError(
                    f"average needs weights of the array's shape {x.shape}, or one for each "
                    f"element along the axes, but got shape {w.shape} for axis {axis}."
                )
            order = builtins.sorted(range(len(order_of_axes)), key=order_of_axes.__getitem__)
            sizes = tuple([n if i in axes else 1 for i, n in enumerate(x.shape)])
            w = sh.reshape(sh.transpose(w, order), sizes)
        x, w = pm.promote_inexact(x, w)
        result_dtype = x.dtype
        x = pm.precise(pm.strong(x))
        w = pm.broadcast_to_shape(pm.precise(pm.strong(w)), x.shape)
        total = sum(w, axes, keepdims=keepdims)
        result = ew.div(sum(ew.mul(x, w), axes, keepdims=keepdims), total)
        result, total = pm.convert(result, result_dtype), pm.convert(total, result_dtype)
    return (result, total) if returned else result


def ptp(a: ArrayLike, axis: ints.Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """Return the largest element less the smallest, over axes, in the dtype of ``a``.

    The difference of integers wraps around where it leaves the dtype.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.ptp(jnp.array([[1, 5], [3, 4]]), axis=1)
        Array([4, 1], dtype=int32)
    """
    elementwise.no_out("ptp", out)
    return ew.sub(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def count_nonzero(a: ArrayLike, axis: ints.Axis = None, keepdims: bool = False) -> Array:
    """Count the elements over axes that are not zero, NaN included, as integers.

    Over all axes by default; over none of an empty array it counts 0. The result is int32, or int64
    where ``enable_x64`` makes integers wide.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.count_nonzero(jnp.array([[0, 3], [jnp.nan, 1]]), axis=1)
        Array([1, 2], dtype=int32)
        >>> jnp.count_nonzero(jnp.zeros((0, 3)), axis=0)
        Array([0, 0, 0], dtype=int32)
    """
    return sum(elementwise.truth(pm.array_of("count_nonzero", a)), axis, keepdims=keepdims)


# Reductions that leave NaN out


def _without_nan(
    name: str, a: ArrayLike, instead: Callable[[dtypes.DType], ArrayLike]
) -> tuple[Array, Array | None]:
    """Replace NaN by a value of its type, and say where there was one; None for types without."""
    x = pm.array_of(name, a)
    if dtypes.is_key(x.dtype):
        raise DtypeError(f"{name} takes numbers, but got {x.aval}.")
    if not dtypes.is_inexact(x.dtype):
        return x, None
    x = pm.strong(x)
    nan = elementwise.isnan(x)
    return elementwise.pick(nan, instead(x.dtype), x), nan


_NANSUM, _NANPROD = _SUM.leaving_out_nan(), _PROD.leaving_out_nan()
_NANMAX, _NANMIN = _MAX.leaving_out_nan(), _MIN.leaving_out_nan()


def nansum(
    a: ArrayLike,
    axis: ints.Axis = None,
    dtype: dtypes.DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Sum over axes, taking NaN as zero; the arguments are those of ``sum``.

    Where all elements are NaN, the sum is 0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nansum(jnp.array([[1.0, jnp.nan], [jnp.nan, jnp.nan]]), axis=1)
        Array([1., 0.], dtype=float32)
    """
    return _accumulate(_NANSUM, a, axis, dtype, out, keepdims, initial, where)


@frames.like(nansum)
def nanprod(*args: Any, **kwargs: Any) -> Array:
    """Multiply over axes, taking NaN as one; the arguments are those of ``prod``.

    Where all elements are NaN, the product is 1.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nanprod(jnp.array([[2.0, jnp.nan], [jnp.nan, jnp.nan]]), axis=1)
        Array([2., 1.], dtype=float32)
    """
    return _accumulate(_NANPROD, *args, **kwargs)


def nanmax(
    a: ArrayLike,
    axis: ints.Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the largest element over axes that is not NaN; NaN where there is none.

    The arguments are those of ``max``, whose result is NaN where an element is.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nanmax(jnp.array([[1.0, jnp.nan], [jnp.nan, jnp.nan]]), axis=1)
        Array([ 1., nan], dtype=float32)
    """
    return _extremum(_NANMAX, a, axis, out, keepdims, initial, where)


@frames.like(nanmax)
def nanmin(*args: Any, **kwargs: Any) -> Array:
    """Return the smallest element over axes that is not NaN; NaN where there is none.

    The arguments are those of ``min``, whose result is NaN where an element is.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nanmin(jnp.array([[1.0, jnp.nan], [jnp.nan, jnp.nan]]), axis=1)
        Array([ 1., nan], dtype=float32)
    """
    return _extremum(_NANMIN, *args, **kwargs)


def _numbers(name: str, a: ArrayLike, where: ArrayLike | None) -> tuple[Array, ArrayLike | None]:
    """Return the array without NaN, and a mask of the elements that count."""
    x, nan = _without_nan(name, a, lambda _: 0)
    if nan is None:
        return x, where
    mask = elementwise.logical_not(nan)
    return x, mask if where is None else elementwise.logical_and(mask, where)


def nanmean(
    a: ArrayLike,
    axis: ints.Axis = None,
    dtype: dtypes.DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """Return the mean over axes of the elements that are not NaN; NaN where there is none.

    It divides by the number of those elements. The arguments are those of ``mean``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nanmean(jnp.array([[1.0, jnp.nan], [2.0, 4.0]]), axis=1)
        Array([1., 3.], dtype=float32)
    """
    elementwise.no_out("nanmean", out)
    x, mask = _numbers("nanmean", a, where)
    return mean(x, axis, dtype, None, keepdims, where=mask)


def nanvar(
    a: ArrayLike,
    axis: ints.Axis = None,
    dtype: dtypes.DTypeLike = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Return the variance over axes of the elements that are not NaN; arguments as for ``var``.

    The mean of squares is over those that are not NaN, less ``ddof``; NaN where there are no more
    than ``ddof``. Complex numbers give real variances.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nanvar(jnp.array([1.0, jnp.nan, 3.0]))
        Array(1., dtype=float32)
        >>> jnp.nanvar(jnp.array([1.0, jnp.nan]), ddof=1)
        Array(nan, dtype=float32)
    """
    x, mask = _numbers("nanvar", a, where)
    return _variance("nanvar", x, axis, dtype, out, ddof, keepdims, where=mask, mean=mean)


def nanstd(
    a: ArrayLike,
    axis: ints.Axis = None,
    dtype: dtypes.DTypeLike = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Return the standard deviation over axes of the elements that are not NaN.

    It is the root of ``nanvar``. The arguments are those of ``nanvar``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nanstd(jnp.array([1.0, jnp.nan, 5.0]))
        Array(2., dtype=float32)
    """
    x, mask = _numbers("nanstd", a, where)
    options: Any = {"where": mask, "mean": mean, "is_root": True}
    return _variance("nanstd", x, axis, dtype, out, ddof, keepdims, **options)


# Agreement of whole arrays


@frames.like(elementwise.isclose)
def allclose(*args: Any, **kwargs: Any) -> Array:
    """Return whether all elements are close, as a bool array without axes.

    The arguments are those of ``isclose``: equal infinities are close, NaNs only with
    ``equal_nan``. ``b`` is the reference, of which ``rtol`` is a fraction.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.0 + 1e-7]))
        Array(True, dtype=bool)
        >>> jnp.allclose(jnp.nan, jnp.nan), jnp.allclose(jnp.nan, jnp.nan, equal_nan=True)
        (Array(False, dtype=bool), Array(True, dtype=bool))
    """
    return all(elementwise.isclose(*args, **kwargs))


replay.replay_functions(globals(), plain="allclose")
