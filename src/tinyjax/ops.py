"""Reductions by segment, by the names of ``jax.ops``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from tinyjax import dtypes, numpy as jnp
from tinyjax._base import frames, lazy
from tinyjax._primitives import result_placement
from tinyjax.core.devices import Placement
from tinyjax.core.primitives.reduce import highest, lowest
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.errors import ArgumentError, ShapeError

lazy.answer_for(__name__, "segment_max segment_min segment_prod segment_sum")


@result_placement.placed
def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Placement = None,
) -> Array:
    """Sum the rows of an array that belong to the same segment.

    Args:
        data: the rows.
        segment_ids: the segment of each row; rows of segments that there are not, negative ones
            among them, are left out.
        num_segments: how many segments there are; by default one more than the largest id, which
            is not known where ids are traced.
        indices_are_sorted: a promise that the ids are.
        unique_indices: a promise that no id comes twice.
        bucket_size: reduce so many rows at a time first, which rounds less.
        mode: what becomes of ids out of range, as for ``x.at[ids]``.
        out_sharding: where the result is to lie.

    Returns:
        An array with one row per segment; that of a segment without rows is zero.

    Raises:
        ArgumentError: ``num_segments`` is negative.
        ConcretizationError: ``num_segments`` is not given, and the ids are traced.
        ShapeError: there are not as many ids as entries of the data.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import ops
        >>> ops.segment_sum(jnp.arange(5.0), jnp.array([0, 0, 1, 1, 3]))
        Array([1., 5., 0., 4.], dtype=float32)
    """
    options = (num_segments, indices_are_sorted, unique_indices, bucket_size, mode)
    return _reduced("add", lambda dtype: 0, jnp.sum, data, segment_ids, *options)


@result_placement.placed
@frames.like(segment_sum)
def segment_prod(*args: Any, **kwargs: Any) -> Array:
    """Multiply the rows that belong to the same segment: as ``segment_sum``, and 1 for no rows.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import ops
        >>> ops.segment_prod(jnp.array([2, 3, 5]), jnp.array([0, 0, 2]), num_segments=3)
        Array([6, 1, 5], dtype=int32)
    """
    return _reduced("multiply", lambda dtype: 1, jnp.prod, *args, **kwargs)


@result_placement.placed
@frames.like(segment_sum)
def segment_max(*args: Any, **kwargs: Any) -> Array:
    """Take the largest of each segment: as ``segment_sum``, and the least value for no rows.

    Segments are the numbers of the second argument, in any order, and ``num_segments`` must be
    known under ``jit``. The derivative is shared equally among those that tie.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import ops
        >>> ops.segment_max(jnp.array([2, 3, 5]), jnp.array([0, 0, 1]), num_segments=2)
        Array([3, 5], dtype=int32)
        >>> ops.segment_max(jnp.array([2.0]), jnp.array([0]), num_segments=2)
        Array([  2., -inf], dtype=float32)
    """
    return _reduced("max", lowest, jnp.max, *args, **kwargs)


@result_placement.placed
@frames.like(segment_sum)
def segment_min(*args: Any, **kwargs: Any) -> Array:
    """Take the least of each segment: as ``segment_sum``, and the largest value for no rows.

    Segments are the numbers of the second argument, in any order, and ``num_segments`` must be
    known under ``jit``. The derivative is shared equally among those that tie.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import ops
        >>> ops.segment_min(jnp.array([2, 3, 5]), jnp.array([0, 0, 1]), num_segments=2)
        Array([2, 5], dtype=int32)
        >>> ops.segment_min(jnp.array([2.0]), jnp.array([0]), num_segments=2)
        Array([ 2., inf], dtype=float32)
    """
    return _reduced("min", highest, jnp.min, *args, **kwargs)


def _reduced(  # noqa: PLR0913, PLR0917 (the signature of segment_sum)
    kind: Literal["add", "multiply", "max", "min"],
    start: Callable[[dtypes.DType], bool | int | float | complex],
    reduce: Callable[..., Array],
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: None = None,
) -> Array:
    """Reduce by an update of ``x.at``, from a start, and buckets by a function."""
    rows, ids = opd.as_array(data), opd.as_array(segment_ids)
    leading = rows.shape[: ids.ndim]
    if any(n not in (1, m) for n, m in zip(leading, ids.shape, strict=False)):
        raise ShapeError(
            f"segment_ids of shape {ids.shape} do not fit data of shape {rows.shape}: give one "
            f"id for each entry of data, which is ids of shape {leading}."
        )
    if num_segments is None:
        largest = jnp.max(ids).concrete("the number of segments (or give num_segments)")
        num_segments = ints.integer(largest, "the largest of segment_ids") + 1
    count = ints.integer(num_segments, "num_segments")
    if count < 0:
        raise ArgumentError(f"num_segments must not be negative, but got {count}.")
    shape: tuple[int, ...] = (count, *rows.shape[ids.ndim :])
    index: tuple[Array, ...] = (ids,)
    if bucket_size is not None:
        if not ids.ndim:
            raise ShapeError("bucket_size is for segment_ids with axes, but they are a scalar.")
        length, bucket = ids.shape[0], ints.integer(bucket_size, "bucket_size")
        shape = (-(-length // bucket), *shape)
        index = (jnp.arange(length) // bucket, ids)
    empty = jnp.full(shape, start(rows.dtype), rows.dtype)
    promises = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
    update = getattr(empty.at[index], kind)
    result: Array = update(rows, mode=mode, wrap_negative_indices=False, **promises)
    return result if bucket_size is None else reduce(result, axis=0).astype(rows.dtype)
