"""Products along an axis that is divided into groups, whose sizes are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from tinyjax import dtypes, errors
from tinyjax.core import devices as dev
from tinyjax.core.primitives import broadcast as bc, elementwise as ew, shape as sh
from tinyjax.core.values import integers as ints, operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.dtypes import DTypeLike
from tinyjax.lax import operands, products
from tinyjax.numpy.sorting import cumsum
from tinyjax.primitives.result_placement import placed

Axes = tuple[int, ...]


def _axes(axes: Sequence[int]) -> Axes:
    return ints.integers(axes, "axes of RaggedDotDimensionNumbers")


def _pairs(numbers: Any) -> tuple[tuple[Axes, Axes], tuple[Axes, Axes]]:
    try:
        (left, right), (left_batch, right_batch) = numbers
    except (TypeError, ValueError):
        raise errors.ArgumentError(
            "dot_dimension_numbers are ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)), but "
            f"got {errors.shortened(numbers)}."
        ) from None
    return (_axes(left), _axes(right)), (_axes(left_batch), _axes(right_batch))


@attrs.frozen
class RaggedDotDimensionNumbers:
    """How the axes of a product along groups belong together.

    Attributes:
        dot_dimension_numbers: those of ``dot_general``.
        lhs_ragged_dimensions: the axis of ``lhs`` that is divided into groups.
        rhs_group_dimensions: the axis of ``rhs`` that has an element for each group, where the
            divided axis is neither contracted nor aligned; else none.
    """

    dot_dimension_numbers: tuple[tuple[Axes, Axes], tuple[Axes, Axes]] = attrs.field(
        converter=_pairs
    )
    lhs_ragged_dimensions: Axes = attrs.field(converter=_axes)
    rhs_group_dimensions: Axes = attrs.field(converter=_axes)


@placed
def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: object = None,
    preferred_element_type: DTypeLike = None,
    group_offset: ArrayLike | None = None,
    out_sharding: dev.Placement = None,
) -> Array:
    """Multiply the rows of a matrix, group by group, by a matrix for each group.

    Args:
        lhs: shape ``(m, k)``.
        rhs: shape ``(g, k, n)``, of the same dtype.
        group_sizes: how many rows each group has, one after another; integers, shape ``(g,)``.
        precision: not used: products are computed in the full precision of their dtype.
        preferred_element_type: the dtype of the result; that of the operands by default.
        group_offset: must be None.
        out_sharding: where the result is to lie.

    Returns:
        Shape ``(m, n)``; zeros in the rows that belong to no group. All rows are multiplied by all
        matrices, those of other groups as zeros.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or the sizes are not integers.
        ArgumentError: there is an offset.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x, y = jnp.ones((3, 1)), jnp.array([[[2.0]], [[5.0]]])
        >>> lax.ragged_dot(x, y, jnp.array([1, 2]))[:, 0]
        Array([2., 5., 5.], dtype=float32)
    """
    x, y = operands.one_dtype("ragged_dot", (opd.as_array(lhs), opd.as_array(rhs)))
    sizes = opd.as_array(group_sizes)
    if x.ndim != 2 or y.ndim != 3 or x.shape[1] != y.shape[1] or sizes.shape != y.shape[:1]:
        raise errors.ShapeError(
            "ragged_dot takes shapes (m, k), (g, k, n) and (g,), but got "
            f"{x.shape}, {y.shape} and {sizes.shape}."
        )
    _check_groups("ragged_dot", sizes, group_offset)
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return _product(x, y, sizes, numbers, preferred_element_type)


@placed
def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: object = None,
    preferred_element_type: DTypeLike = None,
    group_offset: ArrayLike | None = None,
    out_sharding: dev.Placement = None,
) -> Array:
    """Contract and batch two arrays over any axes, one of which is divided into groups.

    Args:
        lhs: any number.
        rhs: of the same dtype.
        group_sizes: how long each group is along the divided axis, one after another; integers,
            shape ``(g,)``, or with axes in front: ``lhs``'s aligned ones, and those of the divided
            axis' kind before it.
        ragged_dot_dimension_numbers: which axes belong together.
        precision: not used: products are computed in the full precision of their dtype.
        preferred_element_type: the dtype of the result; that of the operands by default.
        group_offset: must be None.
        out_sharding: where the result is to lie.

    Returns:
        What ``dot_general`` gives, where each group of ``lhs`` is multiplied with its own element
        of ``rhs``'s group axis. Where the divided axis is contracted there is one product for each
        group, along a new first axis. Where it is an aligned one the groups make no difference.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or the sizes are not integers.
        ArgumentError: the axes do not fit, or there is an offset.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x, y = jnp.arange(4.0), jnp.ones(4)
        >>> numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
        >>> lax.ragged_dot_general(x, y, jnp.array([1, 3]), numbers)
        Array([0., 6.], dtype=float32)
    """
    x, y = operands.one_dtype("ragged_dot_general", (opd.as_array(lhs), opd.as_array(rhs)))
    sizes, numbers = opd.as_array(group_sizes), ragged_dot_dimension_numbers
    if not isinstance(numbers, RaggedDotDimensionNumbers):
        raise errors.ArgumentError(
            "ragged_dot_dimension_numbers must be RaggedDotDimensionNumbers, "
            f"but got {errors.shortened(numbers)}."
        )
    _check_groups("ragged_dot_general", sizes, group_offset)
    return _product(x, y, sizes, numbers, preferred_element_type)


def _check_groups(name: str, sizes: Array, offset: ArrayLike | None) -> None:
    if offset is not None:
        raise errors.ArgumentError(f"{name} takes no group_offset.")
    if dtypes.kind(sizes.dtype) not in "iu":
        raise errors.DtypeError(f"{name} takes integers for group_sizes, but got {sizes.aval}.")
    if not sizes.ndim:
        raise errors.ShapeError(f"{name} takes a size for each group, but group_sizes is a scalar.")


def _one(axes: Axes, ndim: int, what: str) -> int:
    if len(axes) != 1 or not 0 <= axes[0] < ndim:
        raise errors.ArgumentError(f"ragged_dot_general needs one axis for {what}, but got {axes}.")
    return axes[0]


def _product(
    x: Array, y: Array, sizes: Array, numbers: RaggedDotDimensionNumbers, dtype: DTypeLike
) -> Array:
    (x_contract, y_contract), (x_batch, y_batch) = numbers.dot_dimension_numbers
    ragged = _one(numbers.lhs_ragged_dimensions, x.ndim, "lhs_ragged_dimensions")
    free = tuple(i for i in range(x.ndim) if i not in (*x_contract, *x_batch))
    options: dict[str, Any] = {"preferred_element_type": dtype}
    if ragged in free:
        group = _one(numbers.rhs_group_dimensions, y.ndim, "rhs_group_dimensions")
        if group in (*y_contract, *y_batch) or y.shape[group] != sizes.shape[-1]:
            raise errors.ShapeError(
                f"ragged_dot_general: axis {group} of {y.aval} must be neither contracted nor "
                f"aligned, and have an element for each of {sizes.shape[-1]} groups."
            )
        # each row stands beside its group's element, and zeros beside the others
        spread = _by_group(x, ragged, sizes, (*x_batch, *free[: free.index(ragged)]))
        pairs = ((*_up(x_contract), 0), (*y_contract, group)), (_up(x_batch), y_batch)
        return products.dot_general(spread, y, pairs, **options)
    if numbers.rhs_group_dimensions:
        raise errors.ArgumentError(
            "ragged_dot_general has rhs_group_dimensions only where lhs's divided axis is neither "
            f"contracted nor aligned, but got {numbers.rhs_group_dimensions}."
        )
    if ragged in x_batch:
        return products.dot_general(x, y, numbers.dot_dimension_numbers, **options)
    before = x_contract.index(ragged)
    if len(y_contract) != len(x_contract):
        raise errors.ArgumentError(
            f"as many axes of lhs as of rhs are contracted, but got {x_contract} and {y_contract}."
        )
    left = _by_group(x, ragged, sizes, (*x_batch, *x_contract[:before]))
    right = _by_group(y, y_contract[before], sizes, (*y_batch, *y_contract[:before]))
    pairs = (_up(x_contract), _up(y_contract)), ((0, *_up(x_batch)), (0, *_up(y_batch)))
    return products.dot_general(left, right, pairs, **options)


def _up(axes: Axes) -> Axes:
    return tuple([i + 1 for i in axes])


def _by_group(x: Array, axis: int, sizes: Array, outer: Axes) -> Array:
    """Return an array once for each group, along a new first axis: zero outside the group.

    Args:
        x: any number.
        axis: which of its axes is divided.
        sizes: of the groups: one axis, or one for each of ``outer`` before it.
        outer: axes of ``x``.
    """
    if sizes.ndim == 1:
        outer = ()
    elif sizes.shape[:-1] != tuple(x.shape[i] for i in outer):
        raise errors.ShapeError(
            f"ragged_dot_general: group_sizes has one axis, or those of shape "
            f"{tuple(x.shape[i] for i in outer)} before it, but got {sizes.aval}."
        )
    count = sizes.shape[-1]
    shape = (count, *x.shape)
    order = sorted(range(len(outer)), key=lambda i: outer[i])
    along = (0, *[outer[i] + 1 for i in order])
    ends = cumsum(sizes, axis=-1)

    def spread(bound: Array) -> Array:
        return bc.broadcast_in_dim(sh.transpose(bound, (len(outer), *order)), shape, along)

    places = sh.iota(shape, sizes.dtype, axis + 1)
    inside = (places >= spread(ends - sizes)) & (places < spread(ends))
    repeated = bc.broadcast_in_dim(x, shape, tuple(range(1, x.ndim + 1)))
    return ew.select(inside, repeated, sh.full(shape, 0, x.dtype))
