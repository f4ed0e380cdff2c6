"""Counts of values: in bins, of one variable or several, and of small integers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tinyjax import dtypes
from tinyjax.core import devices as dev
from tinyjax.core.primitives.shape import full, reshape
from tinyjax.core.tracing import checking
from tinyjax.core.values import integers as ints
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.errors import ArgumentError, DtypeError, ShapeError
from tinyjax.numpy.creation import asarray, canonical_shape, linspace, ones_like, zeros
from tinyjax.numpy.elementwise import clip, equal, pick
from tinyjax.numpy.manipulation import diff, ravel_multi_index, stack
from tinyjax.numpy.promotion import array_of, convert, promote_inexact, strong
from tinyjax.numpy.reductions import max as greatest, min as least, sum as total
from tinyjax.numpy.taking import ix_, searchsorted
from tinyjax.primitives import result_placement as placing

#: The number of bins, or their edges.
Bins: TypeAlias = ArrayLike | Sequence[ArrayLike]
Range: TypeAlias = Array | dtypes.HostArray | Sequence[ArrayLike]


@placing.placed
def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: dev.Placement = None,
) -> Array:
    """Count how often each integer from 0 on occurs.

    Args:
        x: a vector of integers; negative ones count as 0.
        weights: the weight of each element of ``x``, by default 1.
        minlength: the least size of the result.
        length: the size of the result; integers that do not fit are not counted. Needed where ``x``
            is traced.
        out_sharding: where the result is to lie.

    Returns:
        A vector, of integers or of the weights' dtype.

    Raises:
        DtypeError: ``x`` does not hold integers.
        ShapeError: ``x`` is not a vector, or the weights have another shape.
        ConcretizationError: ``x`` is traced, and there is no ``length``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.bincount(jnp.array([1, 3, 1]))
        Array([0, 2, 0, 1], dtype=int32)
    """
    values = array_of("bincount", x)
    if not dtypes.is_integer(values.dtype) and values.dtype != dtypes.bool_:
        raise DtypeError(f"bincount needs integers, but got {values.aval}.")
    if values.ndim != 1:
        raise ShapeError(f"bincount needs a vector, but got {values.aval}.")
    if length is None:
        host = values.concrete("the greatest integer (or give length=...)")
        reach = int(np.maximum(host.max(), 0)) + 1 if host.size else 0
        length = max(ints.integer(minlength, "minlength"), reach)
    (length,) = canonical_shape((length,), "length")
    each = full((), 1, dtypes.default_int()) if weights is None else array_of("bincount", weights)
    if weights is not None and each.shape != values.shape:
        raise ShapeError(
            f"bincount needs a weight for each of {values.aval}, but got weights {each.aval}."
        )
    if values.dtype == dtypes.bool_:
        values = convert(values, dtypes.int32)
    return zeros(length, each.dtype).at[clip(values, 0)].add(each, mode="drop")


def _edges(name: str, x: Array, bins: Bins, limits: Range | None, dtype: dtypes.DType) -> Array:
    if isinstance(bins, str):
        raise ArgumentError(f"{name}: bins is a number or edges, not the name of a rule: {bins!r}.")
    array = asarray(bins)
    if array.ndim == 1:
        return convert(array, dtype)
    if array.ndim or not dtypes.is_integer(array.dtype):
        raise ArgumentError(
            f"{name}: bins must be an int, or a vector of edges, but got {array.aval}."
        )
    count = int(array.concrete("the number of bins"))
    if count < 1:
        raise ArgumentError(f"{name} needs at least one bin, but got {count}.")
    if limits is None:
        if not x.size:
            raise ShapeError(f"{name} of no elements needs a range or edges.")
        ends = stack([least(x), greatest(x)])
    else:
        ends = asarray(limits)
        if ends.shape != (2,):
            raise ShapeError(f"{name}: range must hold two numbers, but got {ends.aval}.")
    ends = strong(convert(ends, dtype))
    margin = pick(equal(ends[0], ends[1]), 0.5, 0.0)
    return linspace(ends[0] - margin, ends[1] + margin, count + 1, dtype=dtype)


@checking.explained
def histogram_bin_edges(
    a: ArrayLike,
    bins: Bins = 10,
    range: Range | None = None,
    weights: ArrayLike | None = None,
) -> Array:
    """Return the edges of the bins of ``histogram``.

    Args:
        a: the values.
        bins: how many, or the edges themselves.
        range: the first and the last edge; by default the least and the greatest value.
        weights: has no effect.

    Returns:
        A vector, longer by one than there are bins.

    Raises:
        ArgumentError: ``bins`` is neither.
        ShapeError: ``range`` does not hold two numbers, or there are no values and no range.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.histogram_bin_edges(jnp.array([0.0, 4.0]), bins=4)
        Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    x = array_of("histogram_bin_edges", a)
    return _edges("histogram_bin_edges", x, bins, range, dtypes.to_inexact(x.dtype, x.weak_type))


@checking.explained
def histogram(
    a: ArrayLike,
    bins: Bins = 10,
    range: Range | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """Count the values in each of several bins.

    A bin includes its left edge; the last bin includes both.

    Args:
        a: the values, in any shape.
        bins: how many, or their edges.
        range: the first and the last edge; by default the least and the greatest value.
        weights: the weight of each value; by default 1.
        density: whether to divide by the total and the bins' widths.

    Returns:
        The counts, as floats, and the edges.

    Raises:
        ShapeError: the weights have another shape than the values.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.histogram(jnp.array([1.0, 2.0, 2.5, 4.0]), bins=3)
        (Array([1., 2., 1.], dtype=float32), Array([1., 2., 3., 4.], dtype=float32))
    """
    x = array_of("histogram", a)
    if weights is None:
        (x,) = promote_inexact(x)
        each = ones_like(x)
    else:
        each = array_of("histogram", weights)
        if each.shape != x.shape:
            raise ShapeError(
                f"histogram needs a weight for each of {x.aval}, but got weights {each.aval}."
            )
        x, each = promote_inexact(x, each)
    edges = _edges("histogram", x, bins, range, x.dtype)
    place = searchsorted(edges, x, side="right")
    place = pick(equal(x, edges[-1]), edges.size - 1, place)
    counts = zeros(edges.size, each.dtype).at[place].add(each, mode="drop")[1:]
    if density:
        counts = counts / diff(edges) / total(counts)
    return counts, edges


def _rank(bins: Any) -> int:
    """The number of axes of what says the bins, where a sequence has at least one."""
    return 1 if isinstance(bins, Sequence) else asarray(bins).ndim


@checking.explained
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Bins | Sequence[Bins] = 10,
    range: Sequence[Range | None] | Array | dtypes.HostArray | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """Count pairs of values in a grid of bins: see ``histogramdd``.

    Args:
        x: a vector: the first value of each pair.
        y: as many second values.
        bins: how many along both axes, or edges for both, or a sequence of one of these for each.
        range: the ends for each axis.
        weights: the weight of each pair; by default 1.
        density: whether to divide by the total and the bins' areas.

    Returns:
        The counts, the edges along the first axis and those along the second.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x, y = jnp.array([0.0, 1.0, 2.0]), jnp.array([0.0, 2.0, 2.0])
        >>> jnp.histogram2d(x, y, bins=2)[0]
        Array([[1, 0],
               [0, 2]], dtype=int32)
    """
    both: Any = bins
    if not _rank(bins) or len(both) not in (1, 2):
        both = [bins, bins]
    sample = stack([array_of("histogram2d", x), array_of("histogram2d", y)], axis=-1)
    counts, edges = histogramdd(sample, both, range, weights, density)
    return counts, edges[0], edges[1]


@checking.explained
def histogramdd(
    sample: ArrayLike,
    bins: Bins | Sequence[Bins] = 10,
    range: Sequence[Range | None] | Array | dtypes.HostArray | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """Count points in a grid of bins.

    Args:
        sample: the points, one in each row.
        bins: how many along every axis; or for each axis how many, or the edges.
        range: the ends for each axis; None where they are the least and the greatest value.
        weights: the weight of each point; by default 1.
        density: whether to divide by the total and the bins' volumes.

    Returns:
        The counts, with an axis for each column of ``sample``, and the edges along each.

    Raises:
        ShapeError: the sample is not a matrix, or there are more or fewer weights than points.
        ArgumentError: ``bins`` or ``range`` are not as many as the columns.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> counts, edges = jnp.histogramdd(jnp.ones((5, 3)), bins=2)
        >>> counts.shape, len(edges)
        ((2, 2, 2), 3)
    """
    points = array_of("histogramdd", sample)
    if points.ndim != 2:
        raise ShapeError(f"histogramdd needs a point in each row, but got {points.aval}.")
    if weights is None:
        (points,) = promote_inexact(points)
        each: Array | None = None
    else:
        each = array_of("histogramdd", weights)
        if each.shape != points.shape[:1]:
            raise ShapeError(
                f"histogramdd needs a weight for each of {points.shape[0]} points, but got "
                f"{each.aval}."
            )
        points, each = promote_inexact(points, each)
    d = points.shape[1]
    along: list[Any] = list(ints.listed(bins, "bins")) if _rank(bins) else [bins] * d
    limits: list[Any] = [None] * d if range is None else list(ints.listed(range, "range"))
    if len(along) != d or len(limits) != d:
        raise ArgumentError(
            f"histogramdd needs bins, and a range if any, for each of {d} columns, but got "
            f"{len(along)} and {len(limits)}."
        )
    edges, places = [], []
    for i, (count, ends) in enumerate(zip(along, limits, strict=True)):
        column = points[:, i]
        own = _edges("histogramdd", column, count, ends, points.dtype)
        place = searchsorted(own, column, side="right")
        places.append(pick(equal(column, own[-1]), place - 1, place))
        edges.append(own)
    shape = tuple([own.size + 1 for own in edges])
    flat = ravel_multi_index(tuple(places), shape, mode="clip")
    counts = reshape(bincount(flat, each, length=prod(shape)), shape)[(slice(1, -1),) * d]
    if density:
        counts = convert(counts, points.dtype)
        counts = counts / total(counts)
        for width in ix_(*[diff(own) for own in edges]):
            counts = counts / width
    return counts, edges
