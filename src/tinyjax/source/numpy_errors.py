"""Errors of NumPy for arguments of its functions, which the functions of tinyjax may take.

What depends on shapes, dtypes and static arguments NumPy itself says, of examples of the traced
arrays. What depends on their numbers is checked when the program runs.
"""

from __future__ import annotations

import functools
import math
import operator
import warnings
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from tinyjax import numpy as jnp, tree
from tinyjax.core.values import Array
from tinyjax.dtypes import HostArray
from tinyjax.source.adjoint import equivalents
from tinyjax.source.ir import find

#: A condition on numbers, and the exception that is raised where it holds.
Failure: TypeAlias = tuple[Any, Exception]


def check_call(
    function: Any, args: Any, kwargs: Any, example: Callable[[int], tuple[Any, Any]] | None
) -> Iterable[Failure]:
    """Raise what a call of a function of NumPy's, or of a method, raises whatever the numbers are.

    Args:
        function: the function.
        args: the arguments.
        kwargs: the options.
        example: returns both with a number in place of all that is traced; None if NumPy takes
            the call.

    Returns:
        What it raises for numbers: the conditions, and the exceptions.

    Raises:
        Exception: NumPy raises it for ones and for zeros.
    """
    theirs = _of_numpy(function, args)
    if theirs is None:
        return ()
    failures = _FAILURES.get(theirs.__name__)
    is_plain = len(args) == 1 and not kwargs and isinstance(args[0], Array) and args[0].ndim
    if failures is None and is_plain and args[0].size and args[0].dtype.kind != "c":
        return ()
    if any(map(_is_size, tree.leaves((args, kwargs)))):
        example = None  # other sizes than these may be right
    error = None if example is None else _error_of(theirs, *example(1))
    if example and error and type(error) is type(_error_of(theirs, *example(0))):
        raise error
    if failures is None:
        return ()
    owner = [function.__self__] if _is_bound(function) else []
    return failures(*owner, *args, **kwargs)


def check_axes(
    array: HostArray, key: Any, ndim: int, how: str = "set", *, is_list: bool = False
) -> None:
    """Raise what NumPy raises where a value has more axes than the place that it is written to.

    Args:
        array: an array of the shape of the one that is written to.
        key: the index, which may have traced parts.
        ndim: the number of axes of the value.
        how: ``"set"``, or what is done to the elements, as ``numpy.add.at`` does it.
        is_list: whether the value is a nested list.
    """
    places = tuple(map(_place, key)) if isinstance(key, tuple) else _place(key)
    model: HostArray = np.ndarray(array.shape, float, np.zeros(1), strides=(0,) * array.ndim)
    zeros = np.zeros((1,) * ndim)
    write: Any = operator.setitem if how == "set" else np.add.at
    write(model, places, zeros.tolist() if is_list else zeros)


def _place(part: Any) -> Any:
    """Return a place that a part of an index may say, where it is traced."""
    if isinstance(part, slice):
        is_traced = any(isinstance(x, Array) for x in (part.start, part.stop, part.step))
        return slice(0, 1) if is_traced else part
    return np.zeros(part.shape, part.dtype) if isinstance(part, Array) else part


def _is_size(x: Any) -> bool:
    """Return whether a value is a traced integer, which may be a size, a number or a place."""
    return isinstance(x, Array) and not x.ndim and x.dtype.kind in "iu"


def _of_numpy(function: Any, args: Any) -> Any:
    """Return the function of NumPy's that is called, if it may refuse what tinyjax's takes."""
    name = getattr(function, "__name__", None)
    if isinstance(name, str) and getattr(Array, name, None) is function:
        return getattr(np.ndarray, name, None) if np.ndim(args[0]) else None
    if equivalents.is_ufunc_method(function) or _is_bound(function):
        return function
    module = getattr(function, "__module__", None) or ""
    if not module.startswith("numpy") or isinstance(function, type) or name in _PRODUCTS:
        return None
    if isinstance(function, np.ufunc):
        is_complex = any(getattr(x, "dtype", np.dtype(float)).kind == "c" for x in args)
        return function if function is np.power or is_complex else None
    return None if module == "numpy.linalg" else function


#: Functions that tinyjax's refuse the arguments of, and whose calls take long.
_PRODUCTS: Final = frozenset(
    ["convolve", "correlate", "dot", "einsum", "inner", "kron", "outer", "tensordot", "vdot"]
)


def _is_bound(function: Any) -> bool:
    """Return whether a function is the method of an array."""
    return isinstance(getattr(function, "__self__", None), np.ndarray)


def _error_of(function: Any, args: Any, kwargs: Any) -> Exception | None:
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except Exception as error:
        return error
    return None


def is_any(condition: Any) -> Any:
    """Return whether a condition holds for any element."""
    return jnp.any(condition) if isinstance(condition, Array) else np.any(condition)


# Errors for numbers. The functions have the parameters of NumPy's.


def _are_traced(*values: Any) -> bool:
    """Return whether any of several values is traced: NumPy has seen the others."""
    return any(isinstance(leaf, Array) for leaf in tree.leaves(values))


def _outside(
    places: Any, least: int, end: int, kind: type[Exception] = IndexError
) -> Iterable[Failure]:
    """Yield what is raised where traced places are not from one number up to another."""
    if _are_traced(places):
        places = jnp.asarray(places)
        error = kind(f"index is out of bounds: it is not from {least} to {end - 1}")
        yield (places < least) | (places >= end), error


def _size(array: Any, axis: Any) -> int:
    shape = _shape(array)
    return math.prod(shape) if axis is None else shape[axis]


def _shape(array: Any) -> tuple[int, ...]:
    """Return the lengths of the axes of an array, or of a list that NumPy takes for one."""
    return jnp.asarray(array).shape if isinstance(array, (list, tuple)) else np.shape(array)


def _take(
    a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise"
) -> Iterable[Failure]:
    size = _size(a, axis)
    return _outside(indices, -size, size) if mode == "raise" else ()


def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Iterable[Failure]:
    return _take(arr, indices, axis)


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> Iterable[Failure]:
    return _take(arr, indices, axis)


def _delete(arr: Any, obj: Any, axis: Any = None) -> Iterable[Failure]:
    return _take(arr, obj, axis)


def _insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Iterable[Failure]:
    size = _size(arr, axis)
    return _outside(obj, -size, size + 1)


def _choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Iterable[Failure]:
    return _outside(a, 0, len(choices), ValueError) if mode == "raise" else ()


def _unravel_index(indices: Any, shape: Any, order: str = "C") -> Iterable[Failure]:
    return _outside(indices, 0, math.prod(np.atleast_1d(shape).tolist()), ValueError)


def _ravel_multi_index(
    multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C"
) -> Iterable[Failure]:
    modes = (mode,) * len(dims) if isinstance(mode, str) else mode
    for places, size, one in zip(multi_index, dims, modes, strict=True):
        yield from _outside(places, 0, size, ValueError) if one == "raise" else ()


def _reduceat(
    array: Any, indices: Any, axis: int = 0, *_: Any, **options: Any
) -> Iterable[Failure]:
    return _outside(indices, 0, _shape(array)[axis])


def _bincount(x: Any, *_: Any, **options: Any) -> Iterable[Failure]:
    if _are_traced(x):
        yield jnp.asarray(x) < 0, ValueError("'list' argument must have no negative elements")


def power(x: Any, y: Any, *_: Any, **options: Any) -> Iterable[Failure]:
    """As ``np.power``: of integers none is negative."""
    if _are_traced(y) and jnp.result_type(x, y).kind in "iu":
        yield jnp.asarray(y) < 0, ValueError("Integers to negative integer powers are not allowed.")


def integer(x: Array, dtype: Any) -> Iterable[Failure]:
    """As the conversion of a number to a dtype, which may be of integers."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "iu" or x.dtype.kind not in "iuf" or np.can_cast(x.dtype, dtype):
        return
    bounds = np.iinfo(dtype)
    if x.dtype.kind == "f":
        yield jnp.isnan(x), ValueError("cannot convert float NaN to integer")
        is_outside = (x <= float(bounds.min) - 1) | (x >= float(bounds.max) + 1)
    else:
        is_outside = (x < bounds.min) | (x > min(bounds.max, 2**63 - 1))
    yield is_outside, OverflowError(f"Python integer out of bounds for {dtype}")


def _interp(*_: Any, period: Any = None, **options: Any) -> Iterable[Failure]:
    if _are_traced(period):
        yield period == 0, ValueError("period must be a non-zero value")


def _linspace(start: Any, stop: Any, *_: Any, **options: Any) -> Iterable[Failure]:
    if _are_traced(start, stop):  # NumPy gives NaN, tinyjax gives what is infinite
        error = find.refusal("a sequence from an infinite number is not taken.")
        yield jnp.isinf(jnp.asarray(start)), error


def _geomspace(start: Any, stop: Any, *_: Any, **options: Any) -> Iterable[Failure]:
    error = ValueError("Geometric sequence cannot include zero")
    yield from ((jnp.asarray(x) == 0, error) for x in (start, stop) if _are_traced(x))
    yield from _linspace(start, stop)


def _nanargmax(a: Any, axis: Any = None, *_: Any, **options: Any) -> Iterable[Failure]:
    yield jnp.all(jnp.isnan(jnp.asarray(a)), axis), ValueError("All-NaN slice encountered")


def _cov(
    m: Any, *_: Any, fweights: Any = None, aweights: Any = None, **options: Any
) -> Iterable[Failure]:
    weights = [jnp.asarray(x) for x in (fweights, aweights) if x is not None]
    yield from ((x < 0, ValueError("weights cannot be negative")) for x in weights)
    if weights and _are_traced(fweights, aweights):
        error = ZeroDivisionError("Weights sum to zero, can't be normalized")
        yield jnp.sum(functools.reduce(operator.mul, weights)) == 0, error


def _average(
    a: Any, axis: Any = None, weights: Any = None, *_: Any, **options: Any
) -> Iterable[Failure]:
    if _are_traced(weights):
        total = jnp.sum(jnp.asarray(weights), axis if _shape(weights) == _shape(a) else None)
        yield total == 0, ZeroDivisionError("Weights sum to zero, can't be normalized")


def _quantile(
    a: Any, q: Any, *args: Any, method: str = "linear", most: int = 1, **options: Any
) -> Iterable[Failure]:
    """As ``np.quantile``, whose interpolation between infinite numbers is tinyjax's not."""
    places = jnp.asarray(q)
    if _are_traced(q):
        name = "Quantile" if most == 1 else "Percentile"
        error = ValueError(f"{name}s must be in the range [0, {most}]")
        yield ~((places >= 0) & (places <= most)), error
    if _are_traced(a) and method in ("linear", "midpoint"):
        yield (
            jnp.isinf(jnp.asarray(a)),
            find.refusal("quantiles of infinite numbers are not taken."),
        )


def _percentile(a: Any, q: Any, *args: Any, **options: Any) -> Iterable[Failure]:
    return _quantile(a, q, *args, most=100, **options)


def _order(bins: Any) -> Iterable[Failure]:
    if _are_traced(bins):
        yield jnp.isnan(jnp.asarray(bins)), find.refusal("bins that are NaN are not taken.")


def _digitize(x: Any, bins: Any, right: bool = False) -> Iterable[Failure]:
    yield from _order(bins)
    steps = jnp.diff(jnp.asarray(bins))
    error = ValueError("bins must be monotonically increasing or decreasing")
    if _are_traced(bins):
        yield jnp.any(steps < 0) & jnp.any(steps > 0), error


def _histogram(
    a: Any, bins: Any = 10, range: Any = None, *_: Any, **options: Any
) -> Iterable[Failure]:
    if not isinstance(bins, str) and _shape(bins):
        error = ValueError("`bins` must increase monotonically, when an array")
        yield from _order(bins)
        if _are_traced(bins):
            yield jnp.diff(jnp.asarray(bins)) < 0, error
        return
    if not _are_traced(a if range is None else range):
        return
    bounds = jnp.asarray(a if range is None else range)
    yield ~jnp.isfinite(bounds), ValueError("the range of the histogram is not finite")
    if range is not None:
        yield bounds[0] > bounds[1], ValueError("max must be larger than min in range parameter.")


def _histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, *_: Any, **opts: Any
) -> Iterable[Failure]:
    columns = sample if isinstance(sample, (list, tuple)) else [*jnp.asarray(sample).T]
    several = bins if isinstance(bins, (list, tuple)) else [bins] * len(columns)
    ranges = [None] * len(columns) if range is None else range
    for column, one, bounds in zip(columns, several, ranges, strict=True):
        yield from _histogram(column, one, bounds)


def _histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, *_: Any, **opts: Any
) -> Iterable[Failure]:
    is_pair = isinstance(bins, (list, tuple)) and len(bins) == 2
    return _histogramdd([x, y], [*bins] if is_pair else [bins, bins], range)


#: By the names of functions and methods, what they raise for numbers.
_FAILURES: Final[MappingProxyType[str, Callable[..., Iterable[Failure]]]] = MappingProxyType(
    {
        "average": _average,
        "bincount": _bincount,
        "choose": _choose,
        "cov": _cov,
        "delete": _delete,
        "digitize": _digitize,
        "geomspace": _geomspace,
        "histogram": _histogram,
        "histogram2d": _histogram2d,
        "histogram_bin_edges": _histogram,
        "histogramdd": _histogramdd,
        "insert": _insert,
        "interp": _interp,
        "linspace": _linspace,
        "logspace": _linspace,
        "nanargmax": _nanargmax,
        "nanargmin": _nanargmax,
        "nanpercentile": _percentile,
        "nanquantile": _quantile,
        "percentile": _percentile,
        "power": power,
        "put_along_axis": _put_along_axis,
        "quantile": _quantile,
        "ravel_multi_index": _ravel_multi_index,
        "reduceat": _reduceat,
        "take": _take,
        "take_along_axis": _take_along_axis,
        "unravel_index": _unravel_index,
    }
)
