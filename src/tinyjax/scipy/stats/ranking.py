"""Ranks, the most frequent value, and the error of a mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np

from tinyjax import dtypes, errors
from tinyjax._extensions.host import replay
from tinyjax.core import api
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.numpy import creation, elementwise, manipulation, promotion as pm
from tinyjax.numpy.reductions import any as any_of, argmax, nanstd, std, sum as sum_of
from tinyjax.numpy.sorting import argsort, cumsum, sort
from tinyjax.numpy.taking import searchsorted, take

Method = Literal["average", "min", "max", "dense", "ordinal"]


#: Two arrays. Type checkers let no typed field be called count, as a method of tuples is.
ModeResult = NamedTuple("ModeResult", [("mode", Array), ("count", Array)])  # noqa: UP014


def _check_policy(name: str, policy: str) -> None:
    if not ints.is_one_of(policy, ("propagate",)):
        raise errors.ArgumentError(
            f"nan_policy of {name} must be 'propagate', but it is {errors.shortened(policy)}: what "
            "is there depends on the data. Leave NaN out of the array."
        )


def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """Return the most frequent value along an axis, and how often it comes.

    Args:
        a: real.
        axis: the axis, or None for the whole array.
        nan_policy: must be ``"propagate"``: NaN is a value like others.
        keepdims: keep the axis, with size one.

    Returns:
        The least of the most frequent values, and their count. Of no elements NaN and 0.

    Raises:
        ArgumentError: ``nan_policy`` has another value.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> result = stats.mode(jnp.array([2, 4, 1, 1, 3, 4, 4]))
        >>> int(result.mode), int(result.count)
        (4, 3)
    """
    _check_policy("mode", nan_policy)
    x = pm.array_of("mode", a)
    x = x if x.ndim else x.reshape((1,))
    if axis is None:
        shape = (1,) * x.ndim if keepdims else ()
        rows = x.reshape((1, x.size))
    else:
        place = ints.canonical_axis(axis, x.ndim)
        rest = x.shape[:place] + x.shape[place + 1 :]
        shape = (*x.shape[:place], 1, *x.shape[place + 1 :]) if keepdims else rest
        rows = manipulation.moveaxis(x, place, -1).reshape((int(np.prod(rest)), x.shape[place]))
    if not rows.shape[-1]:
        dtype = dtypes.default_float()
        return ModeResult(creation.full(shape, np.nan, dtype), creation.zeros(shape, dtype))
    values, counts = api.vmap(_most_frequent)(rows)
    return ModeResult(values.reshape(shape), counts.reshape(shape))


def _most_frequent(x: Array) -> tuple[Array, Array]:
    ordered = sort(x)
    counts = searchsorted(ordered, ordered, "right") - searchsorted(ordered, ordered, "left")
    best = argmax(counts)
    return ordered[best], counts[best].astype(dtypes.default_int())


def _ranks(method: Method) -> Callable[[Array], Array]:
    def rank(x: Array) -> Array:
        dtype = _dtype_of_ranks(x)
        if method == "ordinal":
            order = argsort(x)
            ranks = argsort(order) + 1
        else:
            ordered = sort(x)
            below = searchsorted(ordered, x, "left")
            upto = searchsorted(ordered, x, "right")
            if method == "dense":
                new = manipulation.concatenate(
                    [creation.full((1,), True), ordered[1:] != ordered[:-1]]
                )
                ranks = take(cumsum(new), below)
            elif method == "average":
                return elementwise.pick(
                    any_of(elementwise.isnan(x)), np.nan, (below + upto + 1).astype(dtype) / 2
                )
            else:
                ranks = below + 1 if method == "min" else upto
        return elementwise.pick(any_of(elementwise.isnan(x)), np.nan, ranks.astype(dtype))

    return rank


def _dtype_of_ranks(x: Array) -> dtypes.DType:
    """Return a dtype that holds ranks, which those of the elements may not."""
    return dtypes.promote_types(dtypes.to_inexact(x.dtype), dtypes.default_float())


def rankdata(
    a: ArrayLike,
    method: Method = "average",
    *,
    axis: int | None = None,
    nan_policy: str = "propagate",
) -> Array:
    """Return the ranks of elements, which begin at 1.

    Args:
        a: real.
        method: which rank equal elements get: the ``"average"`` of theirs, the ``"min"`` or
            ``"max"`` of them, ``"dense"`` ranks without gaps, or ``"ordinal"`` ones in the order of
            the array.
        axis: the axis along which elements are ranked; by default all together, as one row.
        nan_policy: must be ``"propagate"``: beside NaN all ranks are NaN.

    Returns:
        Floats: float64 of 64-bit numbers, and of others the default dtype.

    Raises:
        ArgumentError: there is no such method, or ``nan_policy`` has another value.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.rankdata(jnp.array([1, 3, 2, 3]))
        Array([1. , 3.5, 2. , 3.5], dtype=float32)
    """
    _check_policy("rankdata", nan_policy)
    pm.check_option("rankdata", "method", method, get_args(Method))
    x = pm.array_of("rankdata", a)
    if axis is None:
        x = manipulation.ravel(x)
        return _ranks(method)(x) if x.size else x.astype(_dtype_of_ranks(x))
    place = ints.canonical_axis(axis, x.ndim)
    if not x.size:
        return x.astype(_dtype_of_ranks(x))
    moved = manipulation.moveaxis(x, place, -1)
    rows = moved.reshape((moved.size // moved.shape[-1], moved.shape[-1]))
    return manipulation.moveaxis(api.vmap(_ranks(method))(rows).reshape(moved.shape), -1, place)


def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: Literal["propagate", "omit"] = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """Return the standard error of the mean: the deviation over the root of the number.

    Args:
        a: real or complex.
        axis: the axis, or None for the whole array.
        ddof: what is subtracted from the number of elements in the deviation.
        nan_policy: ``"propagate"``, or ``"omit"`` to leave NaN out.
        keepdims: keep the axis, with size one.

    Raises:
        ArgumentError: there is no such ``nan_policy``.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> round(float(stats.sem(jnp.array([2, 4, 1, 1, 3, 4, 4, 2, 3]))), 4)
        0.4082
    """
    x = pm.inexact(a, "sem")
    pm.check_option("sem", "nan_policy", nan_policy, ("propagate", "omit"))
    if nan_policy == "propagate":
        size = x.size if axis is None else x.shape[ints.canonical_axis(axis, x.ndim)]
        return std(x, axis, ddof=ddof, keepdims=keepdims) / float(np.sqrt(size))
    count = sum_of(elementwise.logical_not(elementwise.isnan(x)), axis, keepdims=keepdims)
    spread = nanstd(x, axis, ddof=ddof, keepdims=keepdims)
    return spread / elementwise.sqrt(count.astype(spread.dtype))


replay.replay_functions(globals())
