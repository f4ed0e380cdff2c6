"""Products of vectors, matrices and arrays of any number of axes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias

from tinyjax import dtypes
from tinyjax.core.array import Array, ArrayLike, as_array, canonical_axis
from tinyjax.core.devices import SingleDeviceSharding, check_placement
from tinyjax.core.integers import listed
from tinyjax.core.trace import bind1
from tinyjax.dtypes import DTypeLike
from tinyjax.errors import ArgumentError, DtypeError, ShapeError
from tinyjax.lax.operands import one_dtype
from tinyjax.numpy.sorting import cumsum
from tinyjax.primitives.broadcast import broadcast_in_dim
from tinyjax.primitives.dot import DotParams, dot_general_p
from tinyjax.primitives.elementwise import select
from tinyjax.primitives.shape import full, iota

__all__ = [
    "DotDimensionNumbers",
    "Precision",
    "PrecisionLike",
    "batch_matmul",
    "dot",
    "dot_general",
    "ragged_dot",
]


class Precision(Enum):
    """How exact products are to be; all are computed in the full precision of their dtype."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


#: How exact products are to be: one precision for both operands, or one for each, or None.
PrecisionLike: TypeAlias = str | Precision | tuple[str, str] | tuple[Precision, Precision] | None

DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: object = None,
    preferred_element_type: DTypeLike = None,
    *,
    out_sharding: SingleDeviceSharding | None = None,
) -> Array:
    """Contract and batch two arrays over any axes.

    Args:
        lhs: any number.
        rhs: of the same dtype.
        dimension_numbers: the axes of either that are multiplied and summed, pairwise; then the
            axes of either that are aligned: ``((lhs_contract, rhs_contract), (lhs_batch,
            rhs_batch))``.
        precision: not used: products are computed in the full precision of their dtype.
        preferred_element_type: the dtype of the result; that of the operands by default.
        out_sharding: of no effect: there is one device.

    Returns:
        An array with the aligned axes, then ``lhs``'s others, then ``rhs``'s.

    Raises:
        ShapeError: paired axes differ in size.
        DtypeError: the dtypes differ.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x, y = jnp.ones((5, 2, 3)), jnp.ones((5, 4, 3))
        >>> lax.dot_general(x, y, (((2,), (2,)), ((0,), (0,)))).shape
        (5, 2, 4)
    """
    check_placement("dot_general", out_sharding=out_sharding)
    x, y = one_dtype("dot_general", (as_array(lhs), as_array(rhs)))
    try:
        (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    except (TypeError, ValueError):
        raise ArgumentError(
            "dimension_numbers of dot_general are ((lhs_contract, rhs_contract), (lhs_batch, "
            f"rhs_batch)), but got {dimension_numbers!r}."
        ) from None
    params = DotParams(
        _places(x, x_contract),
        _places(y, y_contract),
        _places(x, x_batch),
        _places(y, y_batch),
        x.dtype if preferred_element_type is None else dtypes.check(preferred_element_type),
    )
    return bind1(dot_general_p, (x, y), params)


def _places(x: Array, axes: Sequence[int]) -> tuple[int, ...]:
    given = listed(axes, "the axes of dot_general")
    return tuple([canonical_axis(a, x.ndim, "dot_general: axis") for a in given])


def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: object = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Return the product of vectors or matrices; or with ``dimension_numbers``, ``dot_general``.

    Raises:
        ShapeError: an operand is neither a vector nor a matrix, or the sizes do not fit.
        DtypeError: the dtypes differ.
    """
    x, y = as_array(lhs), as_array(rhs)
    if dimension_numbers is None:
        if x.ndim not in (1, 2) or y.ndim not in (1, 2) or x.shape[-1] != y.shape[0]:
            raise ShapeError(
                f"dot multiplies vectors and matrices that fit, but got {x.aval} and {y.aval}."
            )
        dimension_numbers = (((x.ndim - 1,), (0,)), ((), ()))
    return dot_general(x, y, dimension_numbers, preferred_element_type=preferred_element_type)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: object = None) -> Array:
    """Return the products of matrices in the last two axes, for equal axes before.

    Raises:
        ShapeError: the sizes do not fit.
        DtypeError: the dtypes differ.
    """
    x, y = as_array(lhs), as_array(rhs)
    if x.ndim != y.ndim or x.ndim < 2:
        raise ShapeError(
            f"batch_matmul needs as many axes of either, two at least, but got {x.aval} and "
            f"{y.aval}."
        )
    batch = tuple(range(x.ndim - 2))
    return dot_general(x, y, (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch)))


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: object = None,
    preferred_element_type: DTypeLike = None,
    group_offset: ArrayLike | None = None,
) -> Array:
    """Multiply the rows of a matrix, group by group, by a matrix for each group.

    Args:
        lhs: shape ``(m, k)``.
        rhs: shape ``(g, k, n)``, of the same dtype.
        group_sizes: how many rows each group has, one after another; integers, shape ``(g,)``.
        precision: not used: products are computed in the full precision of their dtype.
        preferred_element_type: the dtype of the result; that of the operands by default.
        group_offset: must be None.

    Returns:
        Shape ``(m, n)``; zeros in the rows that belong to no group. All rows are multiplied by all
        matrices, those of other groups as zeros.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or the sizes are no integers.
        ArgumentError: there is an offset.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x, y = jnp.ones((3, 1)), jnp.array([[[2.0]], [[5.0]]])
        >>> lax.ragged_dot(x, y, jnp.array([1, 2]))[:, 0]
        Array([2., 5., 5.], dtype=float32)
    """
    x, y = one_dtype("ragged_dot", (as_array(lhs), as_array(rhs)))
    sizes = as_array(group_sizes)
    if group_offset is not None:
        raise ArgumentError("ragged_dot takes no group_offset.")
    if x.ndim != 2 or y.ndim != 3 or x.shape[1] != y.shape[1] or sizes.shape != y.shape[:1]:
        raise ShapeError(
            "ragged_dot takes shapes (m, k), (g, k, n) and (g,), but got "
            f"{x.shape}, {y.shape} and {sizes.shape}."
        )
    if dtypes.kind(sizes.dtype) not in "iu":
        raise DtypeError(f"ragged_dot takes integers for group_sizes, but got {sizes.aval}.")
    count = y.shape[0]
    ends = cumsum(sizes)
    rows = iota((x.shape[0], count), sizes.dtype, 0)
    wide = rows.shape
    before = broadcast_in_dim(ends - sizes, wide, (1,))
    inside = (rows >= before) & (rows < broadcast_in_dim(ends, wide, (1,)))
    # each row stands in the columns of its group, and zeros in the others
    shape = (x.shape[0], count, x.shape[1])
    spread = broadcast_in_dim(x, shape, (0, 2))
    spread = select(broadcast_in_dim(inside, shape, (0, 1)), spread, full(shape, 0, x.dtype))
    return dot_general(
        spread, y, (((1, 2), (0, 1)), ((), ())), preferred_element_type=preferred_element_type
    )
