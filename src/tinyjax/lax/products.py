"""Products of vectors, matrices and arrays, and products along an axis divided into groups."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import attrs

from tinyjax import dtypes, errors
from tinyjax._primitives import dot as _dot, result_placement
from tinyjax._primitives.precision import PrecisionLike, chosen_precision
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.lax import operands
from tinyjax.numpy import promotion as pm, sorting

# Products of vectors, matrices and arrays of any number of axes.


DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


@result_placement.placed
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Contract and batch two arrays over any axes.

    Args:
        lhs: any number.
        rhs: likewise; of two dtypes, the operands are multiplied in one that holds both.
        dimension_numbers: the axes of either that are multiplied and summed, pairwise; then the
            axes of either that are aligned: ``((lhs_contract, rhs_contract), (lhs_batch,
            rhs_batch))``.
        precision: how exactly GPUs and TPUs compute: a ``Precision`` or its name, one for each
            operand, or an algorithm. By default it is what the setting
            ``default_matmul_precision`` says, or else full. It has no effect on the CPU.
        preferred_element_type: the dtype of the result; by default that which the operands promote
            to.
        out_sharding: where the result is to lie.

    Returns:
        An array with the aligned axes, then ``lhs``'s others, then ``rhs``'s.

    Raises:
        ShapeError: paired axes differ in size.
        DtypeError: the dtypes have no common type, such as two float8 types, and no preferred one
            is given.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x, y = jnp.ones((5, 2, 3)), jnp.ones((5, 4, 3))
        >>> lax.dot_general(x, y, (((2,), (2,)), ((0,), (0,)))).shape
        (5, 2, 4)
    """
    x, y = _of_one_dtype(opd.as_array(lhs), opd.as_array(rhs), preferred_element_type)
    (x_contract, y_contract), (x_batch, y_batch) = _pairs("dot_general", dimension_numbers)
    params = _dot.DotParams(
        _places(x, x_contract),
        _places(y, y_contract),
        _places(x, x_batch),
        _places(y, y_batch),
        x.dtype if preferred_element_type is None else dtypes.check(preferred_element_type),
        precision=chosen_precision(precision),
    )
    return tr.bind1(_dot.dot_general_p, (x, y), _dot.keeping(x, y, params))


def _pairs(name: str, dimension_numbers: DotDimensionNumbers) -> DotDimensionNumbers:
    """Return the contracted axes of both operands, and the batch axes of both."""
    try:
        (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    except (TypeError, ValueError):
        raise errors.ArgumentError(
            f"dimension_numbers of {name} are ((lhs_contract, rhs_contract), (lhs_batch, "
            f"rhs_batch)), but got {errors.shortened(dimension_numbers)}."
        ) from None
    return (x_contract, y_contract), (x_batch, y_batch)


def _of_one_dtype(x: Array, y: Array, preferred: dtypes.DTypeLike) -> list[Array]:
    """Bring two operands to a dtype that holds both."""
    if x.dtype == y.dtype or opd.is_weak(x) or opd.is_weak(y):
        return operands.one_dtype("dot_general", (x, y))
    float8 = all(t.itemsize == 1 and dtypes.is_narrow_float(t) for t in (x.dtype, y.dtype))
    if not float8:
        wide = dtypes.promote([(x.dtype, False), (y.dtype, False)])[0]
    elif preferred is not None:
        wide = dtypes.float32
    else:
        raise errors.DtypeError(
            f"dot_general of {x.aval} and {y.aval} has no dtype of its own: say which result you "
            "want by preferred_element_type, such as jnp.float32."
        )
    return [pm.convert(x, wide), pm.convert(y, wide)]


def _places(x: Array, axes: Sequence[int]) -> tuple[int, ...]:
    entries = ints.listed(axes, "the axes of dot_general")
    return tuple([ints.canonical_axis(a, x.ndim, "dot_general: axis") for a in entries])


def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
    out_sharding: Placement = None,
) -> Array:
    """Return the product of vectors or matrices; or with ``dimension_numbers``, ``dot_general``.

    Nothing is promoted or broadcast: see ``jnp.matmul``.

    Raises:
        ShapeError: an operand is neither a vector nor a matrix, or the sizes do not fit.
        DtypeError: the dtypes differ.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
        Array([12, 34], dtype=int32)
        >>> x = jnp.array([100], jnp.int8)
        >>> lax.dot(x, x, preferred_element_type=jnp.int32)
        Array(10000, dtype=int32)
    """
    x, y = opd.as_array(lhs), opd.as_array(rhs)
    if dimension_numbers is None:
        if x.ndim not in (1, 2) or y.ndim not in (1, 2) or x.shape[-1] != y.shape[0]:
            raise errors.ShapeError.got("dot multiplies vectors and matrices that fit", x, y)
        dimension_numbers = (((x.ndim - 1,), (0,)), ((), ()))
    dtype = preferred_element_type
    return dot_general(x, y, dimension_numbers, precision, dtype, out_sharding=out_sharding)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Return the products of matrices in the last two axes, for equal axes before.

    Raises:
        ShapeError: the sizes do not fit.
        DtypeError: the dtypes differ.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.batch_matmul(jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))).shape
        (5, 2, 4)
    """
    x, y = opd.as_array(lhs), opd.as_array(rhs)
    if x.ndim != y.ndim or x.ndim < 2:
        raise errors.ShapeError.got("batch_matmul needs as many axes of either, two at least", x, y)
    batch = tuple(range(x.ndim - 2))
    return dot_general(x, y, (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch)), precision)


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: dtypes.DTypeLike = None,
) -> Array:
    """Multiply arrays whose elements share scales, block by block along the contracted axes.

    Operands and scales are multiplied in bfloat16, and then contracted.

    Args:
        lhs: any number of axes; mostly of a dtype of 8 bits.
        rhs: the same.
        lhs_scale: as many axes as ``lhs`` and as long, but that one element along a contracted axis
            is for a block of several of ``lhs``; ones by default.
        rhs_scale: the same for ``rhs``.
        dimension_numbers: as in ``dot_general``; by default matrices are multiplied, for equal
            axes before.
        preferred_element_type: the dtype of the result; bfloat16 by default.

    Returns:
        An array with the aligned axes, then ``lhs``'s others, then ``rhs``'s.

    Raises:
        ShapeError: the shapes do not fit, or a block has fewer than two elements.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x, y = jnp.ones((1, 4)), jnp.ones((4, 1))
        >>> lax.scaled_dot(x, y, lhs_scale=jnp.array([[2.0, 8.0]]))
        Array([[20]], dtype=bfloat16)
    """
    x, y = opd.as_array(lhs), opd.as_array(rhs)
    if dimension_numbers is None:
        if x.ndim != y.ndim or x.ndim < 2:
            raise errors.ShapeError.got(
                "scaled_dot needs as many axes of either operand, two at least", x, y
            )
        batch = tuple(range(x.ndim - 2))
        dimension_numbers = (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch))
    (left, right), _ = _pairs("scaled_dot", dimension_numbers)
    x = _scaled("lhs", x, lhs_scale, _places(x, left))
    y = _scaled("rhs", y, rhs_scale, _places(y, right))
    dtype = dtypes.bfloat16 if preferred_element_type is None else preferred_element_type
    return dot_general(x, y, dimension_numbers, None, dtype)


def _scaled(name: str, x: Array, scale: ArrayLike | None, axes: Sequence[int]) -> Array:
    """Return an operand times its scales, each repeated over its block."""
    narrow = pm.convert(x, dtypes.bfloat16)
    if scale is None:
        return narrow
    factors = opd.as_array(scale)
    fits = factors.ndim == x.ndim and all(
        (size and n % size == 0 and n // size >= 2) if i in axes else size == n
        for i, (n, size) in enumerate(zip(x.shape, factors.shape, strict=True))
    )
    if not fits:
        raise errors.ShapeError(
            f"{name}_scale of scaled_dot has one element for each two or more of {name} along the "
            f"contracted axes {tuple(axes)}, and as many along the others, but got "
            f"{factors.aval} for {x.aval}."
        )
    # each axis beside one for the places in a block
    pairs = [
        (size, n // size if size else 1) for n, size in zip(x.shape, factors.shape, strict=True)
    ]
    spread = broadcast_in_dim(
        pm.convert(factors, dtypes.bfloat16),
        tuple([n for pair in pairs for n in pair]),
        tuple(range(0, 2 * x.ndim, 2)),
    )
    return ew.mul(narrow, sh.reshape(spread, x.shape))


# Options for the accuracy of functions. They have no effect.


class AccuracyMode(Enum):
    """Name the accuracy of a function; this has no effect.

    It is there for programs that were written for JAX; functions are as accurate as the page on
    accuracy says in either case.

    Example:
        >>> from tinyjax import lax
        >>> lax.exp(0.0, accuracy=lax.AccuracyMode.HIGHEST)
        Array(1., dtype=float32, weak_type=True)
        >>> list(lax.AccuracyMode.__members__)
        ['HIGHEST', 'DEFAULT']
    """

    HIGHEST = 1
    DEFAULT = 2


@attrs.frozen
class Tolerance:
    """Bound the error of a function; this has no effect.

    Attributes:
        atol: the absolute error.
        rtol: the relative error.
        ulps: the error in units of the last place.

    Example:
        >>> from tinyjax import lax
        >>> lax.exp(0.0, accuracy=lax.Tolerance(rtol=1e-3))
        Array(1., dtype=float32, weak_type=True)
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


# Products along an axis that is divided into groups, whose sizes are data.


Axes = tuple[int, ...]


def _axes(axes: Sequence[int]) -> Axes:
    return ints.integers(axes, "axes of RaggedDotDimensionNumbers")


def _ragged_pairs(numbers: Any) -> tuple[tuple[Axes, Axes], tuple[Axes, Axes]]:
    (left, right), (left_batch, right_batch) = _pairs("RaggedDotDimensionNumbers", numbers)
    return (_axes(left), _axes(right)), (_axes(left_batch), _axes(right_batch))


@attrs.frozen
class RaggedDotDimensionNumbers:
    """The roles of the axes of a product along groups.

    Attributes:
        dot_dimension_numbers: those of ``dot_general``.
        lhs_ragged_dimensions: the axis of ``lhs`` that is divided into groups.
        rhs_group_dimensions: the axis of ``rhs`` that has an element for each group, where the
            divided axis is neither contracted nor aligned; else none.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> numbers = lax.RaggedDotDimensionNumbers(
        ...     dot_dimension_numbers=(((1,), (1,)), ((), ())),
        ...     lhs_ragged_dimensions=(0,),
        ...     rhs_group_dimensions=(0,),
        ... )
        >>> lhs, rhs = jnp.ones((3, 2)), jnp.array([[[1.0], [1.0]], [[5.0], [5.0]]])
        >>> lax.ragged_dot_general(lhs, rhs, jnp.array([1, 2]), numbers)
        Array([[ 2.],
               [10.],
               [10.]], dtype=float32)
    """

    dot_dimension_numbers: tuple[tuple[Axes, Axes], tuple[Axes, Axes]] = attrs.field(
        converter=_ragged_pairs
    )
    lhs_ragged_dimensions: Axes = attrs.field(converter=_axes)
    rhs_group_dimensions: Axes = attrs.field(converter=_axes)


@result_placement.placed
def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
    group_offset: ArrayLike | None = None,
    out_sharding: Placement = None,
) -> Array:
    """Multiply the rows of a matrix, group by group, by a matrix for each group.

    Args:
        lhs: shape ``(m, k)``.
        rhs: shape ``(g, k, n)``, of the same dtype.
        group_sizes: how many rows each group has, one after another; integers, shape ``(g,)``.
        precision: as in ``dot_general``.
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
        raise errors.ShapeError.got(
            "ragged_dot takes shapes (m, k), (g, k, n) and (g,)", x, y, sizes
        )
    _check_groups("ragged_dot", sizes, group_offset)
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return _product(x, y, sizes, numbers, precision, preferred_element_type)


@result_placement.placed
def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
    group_offset: ArrayLike | None = None,
    out_sharding: Placement = None,
) -> Array:
    """Contract and batch two arrays over any axes, one of which is divided into groups.

    Args:
        lhs: any number.
        rhs: of the same dtype.
        group_sizes: how long each group is along the divided axis, one after another; integers,
            shape ``(g,)``, or with axes in front: ``lhs``'s aligned ones, and those of the divided
            axis' kind before it.
        ragged_dot_dimension_numbers: which axes belong together.
        precision: as in ``dot_general``.
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
    return _product(x, y, sizes, numbers, precision, preferred_element_type)


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
    x: Array,
    y: Array,
    sizes: Array,
    numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike,
    dtype: dtypes.DTypeLike,
) -> Array:
    (x_contract, y_contract), (x_batch, y_batch) = numbers.dot_dimension_numbers
    ragged = _one(numbers.lhs_ragged_dimensions, x.ndim, "lhs_ragged_dimensions")
    free = tuple(i for i in range(x.ndim) if i not in (*x_contract, *x_batch))
    options: dict[str, Any] = {"precision": precision, "preferred_element_type": dtype}
    if ragged in free:
        group = _one(numbers.rhs_group_dimensions, y.ndim, "rhs_group_dimensions")
        if group in (*y_contract, *y_batch) or y.shape[group] != sizes.shape[-1]:
            raise errors.ShapeError(
                f"ragged_dot_general: axis {group} of {y.aval} must be neither contracted nor "
                f"aligned, and have an element for each of {sizes.shape[-1]} groups."
            )
        # each row stands beside its group's element, and zeros beside the others
        spread = _by_group(x, ragged, sizes, (*x_batch, *free[: free.index(ragged)]))
        pairs = (
            ((*_behind_batch(x_contract), 0), (*y_contract, group)),
            (_behind_batch(x_batch), y_batch),
        )
        return dot_general(spread, y, pairs, **options)
    if numbers.rhs_group_dimensions:
        raise errors.ArgumentError(
            "ragged_dot_general has rhs_group_dimensions only where lhs's divided axis is neither "
            f"contracted nor aligned, but got {numbers.rhs_group_dimensions}."
        )
    if ragged in x_batch:
        return dot_general(x, y, numbers.dot_dimension_numbers, **options)
    before = x_contract.index(ragged)
    if len(y_contract) != len(x_contract):
        raise errors.ArgumentError(
            f"as many axes of lhs as of rhs are contracted, but got {x_contract} and {y_contract}."
        )
    left = _by_group(x, ragged, sizes, (*x_batch, *x_contract[:before]))
    right = _by_group(y, y_contract[before], sizes, (*y_batch, *y_contract[:before]))
    pairs = (
        (_behind_batch(x_contract), _behind_batch(y_contract)),
        ((0, *_behind_batch(x_batch)), (0, *_behind_batch(y_batch))),
    )
    return dot_general(left, right, pairs, **options)


def _behind_batch(axes: Axes) -> Axes:
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
        needs = f"one axis, or those of shape {tuple(x.shape[i] for i in outer)} before it"
        raise errors.ShapeError.got(f"ragged_dot_general: group_sizes has {needs}", sizes)
    count = sizes.shape[-1]
    shape = (count, *x.shape)
    order = sorted(range(len(outer)), key=lambda i: outer[i])
    along = (0, *[outer[i] + 1 for i in order])
    ends = sorting.cumsum(sizes, axis=-1)

    def spread(bound: Array) -> Array:
        return broadcast_in_dim(sh.transpose(bound, (len(outer), *order)), shape, along)

    places = sh.iota(shape, sizes.dtype, axis + 1)
    inside = (places >= spread(ends - sizes)) & (places < spread(ends))
    repeated = broadcast_in_dim(x, shape, tuple(range(1, x.ndim + 1)))
    return ew.select(inside, repeated, sh.full(shape, 0, x.dtype))
