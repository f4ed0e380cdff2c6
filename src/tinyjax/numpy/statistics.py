"""Counts of values in bins; convolution, correlation and covariance."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from tinyjax import dtypes
from tinyjax._extensions.host import replay
from tinyjax._primitives import result_placement
from tinyjax._primitives.convolution import conv_general_dilated
from tinyjax._primitives.precision import PrecisionLike
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.shape import full, reshape
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.errors import ArgumentError, DtypeError, ShapeError
from tinyjax.numpy import creation, elementwise, manipulation, promotion as pm, reductions
from tinyjax.numpy.contraction import dot
from tinyjax.numpy.taking import ix_, searchsorted

Mode = Literal["full", "same", "valid"]


def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: Mode = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
) -> Array:
    """Return the convolution of two vectors: ``out[k] = sum(a[k - j] * v[j] for j)``.

    Args:
        a: a vector, not empty.
        v: the same.
        mode: ``"full"`` for every overlap, ``"same"`` for the middle, as long as the longer vector,
            ``"valid"`` for where the shorter one lies within the longer one.
        precision: as in ``lax.conv_general_dilated``.
        preferred_element_type: the dtype of the result; by default the common float dtype.

    Raises:
        ShapeError: one is not a vector, or is empty.
        ArgumentError: there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]))
        Array([1., 3., 5., 3.], dtype=float32)
    """
    x, y = _vectors("convolve", a, v, preferred_element_type)
    if x.size < y.size:
        x, y = y, x
    return _slide(x, manipulation.flip(y), mode, precision, preferred_element_type)


def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: Mode = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
) -> Array:
    """Return the correlation of two vectors: ``out[k] = sum(a[k + j] * conj(v[j]) for j)``.

    Args:
        a: a vector, not empty.
        v: the same.
        mode: as for ``convolve``.
        precision: as in ``lax.conv_general_dilated``.
        preferred_element_type: the dtype of the result; by default the common float dtype.

    Raises:
        ShapeError: one is not a vector, or is empty.
        ArgumentError: there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0]))
        Array([2., 3.], dtype=float32)
    """
    x, y = _vectors("correlate", a, v, preferred_element_type)
    y = elementwise.conjugate(y)
    if x.size >= y.size:
        return _slide(x, y, mode, precision, preferred_element_type)
    return manipulation.flip(_slide(y, x, mode, precision, preferred_element_type))


def _vectors(name: str, a: ArrayLike, v: ArrayLike, dtype: dtypes.DTypeLike) -> tuple[Array, Array]:
    x, y = pm.array_of(name, a), pm.array_of(name, v)
    for vector in (x, y):
        if vector.ndim != 1 or not vector.size:
            raise ShapeError.got(f"{name} needs vectors that are not empty", vector)
    x, y = pm.promote_inexact(x, y) if dtype is None else pm.promote_dtypes(x, y)
    return x, y


def _slide(
    x: Array, y: Array, mode: str, precision: PrecisionLike, dtype: dtypes.DTypeLike
) -> Array:
    """Products of a vector with another, no longer one, at every place that the mode says."""
    k = y.size
    pads = {"full": (k - 1, k - 1), "same": (k // 2, k - k // 2 - 1), "valid": (0, 0)}
    if mode not in pads:
        raise ArgumentError(f"the modes are 'full', 'same' and 'valid', not {mode!r}.")
    out = conv_general_dilated(
        sh.reshape(x, (1, 1, x.size)),
        sh.reshape(y, (1, 1, k)),
        (1,),
        [pads[mode]],
        precision=precision,
        preferred_element_type=dtype,
    )
    return sh.reshape(out, (out.size,))


def _observations(name: str, x: Array, rowvar: bool, is_first: bool) -> Array:
    """Samples with a variable in each row."""
    if x.ndim > 2:
        raise ShapeError.got(f"{name} needs at most two axes", x)
    rows = sh.reshape(x, (1, x.size)) if x.ndim < 2 else x
    turn = x.ndim != 1 if is_first else rows.shape[0] != 1
    return manipulation.matrix_transpose(rows) if not rowvar and turn else rows


def _counts(fweights: ArrayLike, n: int) -> Array:
    """Return how often each sample counts."""
    counts = _weights("fweights", fweights, n)
    if not dtypes.is_integer(counts.dtype):
        raise DtypeError(f"cov: fweights must be integers, but got {counts.aval}.")
    return counts


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: dtypes.DTypeLike = None,
) -> Array:
    """Estimate the covariance matrix of variables.

    Args:
        m: a variable in each row, a sample in each column; or a vector, for one variable.
        y: further variables of the same samples.
        rowvar: whether rows are variables; else columns are.
        bias: whether to divide by the number of samples; by default by one less.
        ddof: how much to subtract from the number of samples, for the divisor; overrides ``bias``.
            Where nothing is left, results are infinite or NaN.
        fweights: how often each sample counts: integers.
        aweights: how much each sample counts.
        dtype: in which to compute, a float or complex one.

    Returns:
        The matrix; a scalar for one variable.

    Raises:
        ShapeError: there are more than two axes, or the weights do not fit.
        DtypeError: ``dtype`` is neither float nor complex, or ``fweights`` are not integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.cov(jnp.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    given = pm.floats("cov", *([m] if y is None else [m, y]))
    variables = [_observations("cov", x, rowvar, x is given[0]) for x in given]
    x = variables[0]
    result_dtype = variables[0].dtype if dtype is None else dtypes.check(dtype)
    if not dtypes.is_inexact(result_dtype):
        raise DtypeError(f"cov: dtype must be a float or complex one, but got {result_dtype.name}.")
    if not x.shape[0]:
        return creation.zeros((0, 0))
    x = manipulation.concatenate(variables, 0) if len(variables) > 1 else variables[0]
    n = x.shape[1]
    if not n:
        return creation.full(() if x.shape[0] == 1 else (x.shape[0],) * 2, float("nan"), x.dtype)
    if dtype is not None:
        x = pm.convert(x, result_dtype)
    x = pm.precise(x)
    free = (0 if bias else 1) if ddof is None else ddof
    counts = None if fweights is None else _counts(fweights, n)
    shares = None if aweights is None else _weights("aweights", aweights, n)
    weights = counts if shares is None else shares if counts is None else counts * shares
    if weights is not None and dtype is not None:
        weights = pm.convert(weights, x.dtype)
    if shares is not None and dtypes.is_inexact(shares.dtype):
        result_dtype = dtypes.promote_types(result_dtype, shares.dtype)
    means, sums = reductions.average(x, axis=1, weights=weights, returned=True)
    scale: ArrayLike = n - free if weights is None else sums[0] - free
    if weights is not None and shares is not None and free:
        scale = sums[0] - free * reductions.sum(weights * shares) / sums[0]
    scale = elementwise.maximum(scale, 0)  # a variance is not negative: infinite, or NaN
    x = x - means[:, None]
    weighted = x if weights is None else x * weights
    covariances = dot(x, elementwise.conjugate(manipulation.matrix_transpose(weighted))) / scale
    if dtypes.is_narrow_float(result_dtype):
        covariances = pm.convert(covariances, result_dtype)
    return manipulation.squeeze(covariances)


def _weights(name: str, weights: ArrayLike, n: int) -> Array:
    numbers = pm.array_of("cov", weights)
    if numbers.shape != (n,):
        raise ShapeError.got(f"cov: {name} must hold {n} numbers", numbers)
    return elementwise.abs(numbers)


def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: dtypes.DTypeLike = None
) -> Array:
    """Estimate the correlations of variables.

    Args:
        x: a variable in each row, a sample in each column; or a vector, for one variable.
        y: further variables of the same samples.
        rowvar: whether rows are variables; else columns are.
        dtype: in which to compute, a float or complex one.

    Returns:
        The matrix, with ones on the diagonal; a scalar for one variable.

    Raises:
        ShapeError: there are more than two axes.
        DtypeError: ``dtype`` is neither float nor complex.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.corrcoef(jnp.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.shape:
        return c / c
    deviations = pm.convert(elementwise.sqrt(elementwise.real(creation.diag(c))), c.dtype)
    c = c / deviations[:, None] / deviations[None, :]
    if not dtypes.is_complex(c.dtype):
        return elementwise.clip(c, -1, 1)
    return ew.complex_(elementwise.clip(ew.real(c), -1, 1), elementwise.clip(ew.imag(c), -1, 1))


# Counts of values


#: The number of bins, or their edges.
Bins: TypeAlias = ArrayLike | Sequence[ArrayLike]
Range: TypeAlias = Array | dtypes.HostArray | Sequence[ArrayLike]


@result_placement.placed
def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Placement = None,
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
    values = pm.array_of("bincount", x)
    if not dtypes.is_integer(values.dtype) and values.dtype != dtypes.bool_:
        raise DtypeError(f"bincount needs integers, but got {values.aval}.")
    if values.ndim != 1:
        raise ShapeError.got("bincount needs a vector", values)
    if length is None:
        host = values.concrete("the greatest integer (or give length=...)")
        reach = int(np.maximum(host.max(), 0)) + 1 if host.size else 0
        length = max(ints.integer(minlength, "minlength"), reach)
    (length,) = creation.canonical_shape((length,), "length")
    each = (
        full((), 1, dtypes.default_int()) if weights is None else pm.array_of("bincount", weights)
    )
    if not dtypes.is_inexact(each.dtype):
        each = pm.counting(each)
    sums = pm.precise(each)
    if weights is not None and each.shape != values.shape:
        raise ShapeError.got(f"bincount needs a weight for each of {values.aval}", each)
    if values.dtype == dtypes.bool_:
        values = pm.convert(values, dtypes.int32)
    counts = (
        creation.zeros(length, sums.dtype).at[elementwise.clip(values, 0)].add(sums, mode="drop")
    )
    return pm.convert(counts, each.dtype)


def _edges(name: str, x: Array, bins: Bins, limits: Range | None, dtype: dtypes.DType) -> Array:
    if isinstance(bins, str):
        raise ArgumentError(f"{name}: bins is a number or edges, not the name of a rule: {bins!r}.")
    array = creation.asarray(bins)
    if array.ndim == 1:
        return pm.convert(array, dtype)
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
        ends = manipulation.stack([reductions.min(x), reductions.max(x)])
    else:
        ends = creation.asarray(limits, dtype)
        if ends.shape != (2,):
            raise ShapeError.got(f"{name}: range must hold two numbers", ends)
    ends = pm.strong(pm.convert(ends, dtype))
    margin = elementwise.pick(elementwise.equal(ends[0], ends[1]), 0.5, 0.0)
    return creation.linspace(ends[0] - margin, ends[1] + margin, count + 1, dtype=dtype)


#: Of more bins the rounded number of a bin may be further than one from the right one.
_MOST_EQUAL_BINS: Final = 1 << 16


def _places(edges: Array, x: Array, bins: Bins) -> Array:
    """Return which bin each value is in, counted from one: zero, or more than there are, for none.

    Of equal bins the number is computed, and then corrected by both edges, as NumPy does.
    """
    count = edges.size - 1
    is_wide = x.dtype in (dtypes.float32, dtypes.float64)
    if not is_wide or count > _MOST_EQUAL_BINS or creation.asarray(bins).ndim:
        place = searchsorted(edges, x, side="right")
        return elementwise.pick(elementwise.equal(x, edges[-1]), count, place)
    first, last = edges[0], edges[-1]
    near = elementwise.clip((x - first) / (last - first) * count, 0, count - 1)
    index = pm.convert(near, dtypes.int32)
    is_before, is_behind = x < edges[index], x >= edges[index + 1]
    index = index - pm.convert(is_before, dtypes.int32) + pm.convert(is_behind, dtypes.int32)
    is_inside = elementwise.logical_and(x >= first, x <= last)
    return elementwise.pick(is_inside, elementwise.minimum(index, count - 1) + 1, 0)


@checking.explained
def histogram_bin_edges(
    a: ArrayLike, bins: Bins = 10, range: Range | None = None, weights: ArrayLike | None = None
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
    x = pm.inexact(a, "histogram_bin_edges")
    return _edges("histogram_bin_edges", x, bins, range, x.dtype)


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
    x = pm.array_of("histogram", a)
    x, given = _with_weights("histogram", x, weights, x.shape)
    dtype = pm.precise(x if given is None else given).dtype
    each = full(x.shape, 1, dtypes.default_int()) if given is None else pm.precise(given)
    edges = _edges("histogram", x, bins, range, x.dtype)
    place = _places(edges, x, bins)
    counts = creation.zeros(edges.size, each.dtype).at[place].add(each, mode="drop")[1:]
    counts = pm.convert(counts, dtype)
    if density:
        counts = counts / manipulation.diff(edges) / reductions.sum(counts)
    return counts, edges


def _with_weights(
    name: str, x: Array, weights: ArrayLike | None, shape: tuple[int, ...]
) -> tuple[Array, Array | None]:
    """Bring values and the weights of those along the first axes, if any, to one inexact dtype."""
    if weights is None:
        return pm.promote_inexact(x)[0], None
    each = pm.array_of(name, weights)
    if each.shape != shape:
        raise ShapeError.got(f"{name} needs a weight for each of {x.aval}", each)
    x, each = pm.promote_inexact(x, each)
    return x, each


def _rank(bins: Any) -> int:
    """Return the number of axes of an argument for bins, where a sequence has at least one."""
    return 1 if isinstance(bins, Sequence) else creation.asarray(bins).ndim


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
    sample = manipulation.stack(
        [pm.array_of("histogram2d", x), pm.array_of("histogram2d", y)], axis=-1
    )
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
    points = pm.array_of("histogramdd", sample)
    if points.ndim != 2:
        raise ShapeError.got("histogramdd needs a point in each row", points)
    points, each = _with_weights("histogramdd", points, weights, points.shape[:1])
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
        places.append(_places(own, column, count))
        edges.append(own)
    shape = tuple([own.size + 1 for own in edges])
    flat = manipulation.ravel_multi_index(tuple(places), shape, mode="clip")
    counts = reshape(bincount(flat, each, length=prod(shape)), shape)[(slice(1, -1),) * d]
    if density:
        counts = pm.convert(counts, points.dtype)
        counts = counts / reductions.sum(counts)
        for width in ix_(*[manipulation.diff(own) for own in edges]):
            counts = counts / width
    return counts, edges


replay.replay_functions(
    globals(), plain="bincount histogram histogram2d histogram_bin_edges histogramdd"
)
