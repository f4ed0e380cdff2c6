"""Choosing elements by condition: between arrays, or by where a condition holds.

The number of elements that satisfy a condition depends on data, but the shape of a traced result
must not. Under ``jit``, functions that return indices therefore take the ``size`` of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, overload

import numpy as np

from tinyjax import _primitives as primitives, dtypes, errors
from tinyjax._extensions.host import replay
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.values import Array, ArrayLike, concrete, integers as ints
from tinyjax.numpy import creation, elementwise, manipulation, promotion as pm

_role = "passes on"  # see ``frames.Role``

#: What stands for elements that there are not, along all axes or each.
Fill: TypeAlias = ArrayLike | tuple[ArrayLike, ...] | None


@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, /) -> Array: ...
@overload
def where(
    condition: ArrayLike, /, *, size: int | None = None, fill_value: Fill = None
) -> tuple[Array, ...]: ...
@replay.replayed
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: Fill = None,
) -> Array | tuple[Array, ...]:
    """Return elements of ``x`` where a condition holds, and of ``y`` elsewhere.

    Only chosen elements have a derivative: that of ``where(x > 0, log(x), 0)`` at 0 is 0, though
    that of the logarithm is infinite. This holds for what elements are computed of one by one, or
    moved and repeated. Behind a product of matrices or another function of whole arrays nothing
    is known of single elements: replace its operand too, as in ``f(where(x > 0, x, 1))``.

    Args:
        condition: bools; elements of other dtypes are true if they are not zero.
        x: an array or number. Without ``x`` and ``y``, the result is ``nonzero(condition)``.
        y: an array or number; all three broadcast with each other.
        size: with a condition only: see ``nonzero``.
        fill_value: with a condition only: see ``nonzero``.

    Raises:
        ShapeError: the shapes do not broadcast.
        ArgumentError: only one of ``x`` and ``y`` is given.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.array([-1, 2, -3])
        >>> jnp.where(x > 0, x, 0)
        Array([0, 2, 0], dtype=int32)
    """
    if x is not None and y is not None:
        if size is not None or fill_value is not None:
            raise errors.ArgumentError("where: size and fill_value go with a condition alone.")
        return elementwise.pick(condition, x, y)
    if x is not None or y is not None:
        raise errors.ArgumentError("where needs both x and y, or neither.")
    return nonzero(condition, size=size, fill_value=fill_value)


@replay.replayed
def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> Array:
    """Return elements of the first choice whose condition holds, and of the default elsewhere.

    Conditions and choices broadcast. All choices are computed; the derivative passes to those that
    are chosen.

    Args:
        condlist: bool arrays.
        choicelist: as many arrays; all broadcast with each other and with the conditions.
        default: where no condition holds.

    Raises:
        ArgumentError: the two lists differ in length, or are empty.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.arange(4)
        >>> jnp.select([x < 1, x > 2], [x - 1, x * 2])
        Array([-1,  0,  0,  6], dtype=int32)
    """
    conditions, chosen = ints.listed(condlist, "condlist"), ints.listed(choicelist, "choicelist")
    if len(conditions) != len(chosen) or not conditions:
        raise errors.ArgumentError(
            f"select needs as many choices as conditions, at least one, but got {len(conditions)} "
            f"conditions and {len(chosen)} choices."
        )
    *choices, result = pm.promote_dtypes(*pm.arrays("select", *chosen, default))
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        result = elementwise.pick(condition, choice, result)
    return result


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Fill = None) -> tuple[Array, ...]:
    """Return the indices of the elements that are not zero, an array for each axis.

    Args:
        a: any dtype.
        size: how many indices to return: more are dropped, and missing ones are filled in. Needed
            where ``a`` is traced.
        fill_value: the index to fill in, for all axes or for each; 0 by default. It may be traced.

    Raises:
        ConcretizationError: ``a`` is traced, and there is no ``size``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nonzero(jnp.array([0, 5, 0, 7]))
        (Array([1, 3], dtype=int32),)
        >>> jnp.nonzero(jnp.array([0, 5, 0, 7]), size=3, fill_value=-1)
        (Array([ 1,  3, -1], dtype=int32),)
    """
    x = pm.array_of("nonzero", a)
    if not x.shape:
        raise errors.ShapeError(
            "nonzero needs an array with axes, but got a scalar. Give it one with jnp.atleast_1d."
        )
    mask = elementwise.truth(x)
    index_type = dtypes.default_int()
    if size is None:
        coordinates = np.nonzero(mask.concrete("the number of nonzero elements (or give size=...)"))
        return tuple([concrete.ConcreteArray(places.astype(index_type)) for places in coordinates])
    (size,) = creation.canonical_shape((size,), "size")
    flat = manipulation.ravel(mask)
    n = flat.shape[0]
    fills = manipulation.numbers(0 if fill_value is None else fill_value, "fill_value")
    if not isinstance(fill_value, tuple):
        fills *= x.ndim
    if len(fills) != x.ndim:
        raise errors.ArgumentError(
            f"nonzero needs a fill value for each of {x.ndim} axes, but got {fill_value}."
        )
    if not n:
        return tuple([manipulation.filled(fill, (size,), index_type) for fill in fills])
    # where the mask holds for the k-th time, the place goes to position k
    counted = primitives.cumsum(ew.convert_element_type(flat, index_type), 0)
    at_position = sh.full((size,), 0, index_type).at[elementwise.pick(flat, counted - 1, -1)]
    numbers = sh.iota((n,), index_type, 0)
    places = at_position.set(numbers, mode="drop", wrap_negative_indices=False)
    count = sh.reshape(slicing.slice_in_dim(counted, n - 1, n), ())
    is_real = sh.iota((size,), index_type, 0) < count
    along = manipulation.unravel_index(places, x.shape)
    instead = [manipulation.filled(fill, (size,), index_type) for fill in fills]
    return tuple([ew.select(is_real, i, j) for i, j in zip(along, instead, strict=True)])


def flatnonzero(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return the indices of the elements of the flattened array that are not zero, NaN included.

    Under ``jit`` their number must be given by ``size``, since shapes cannot depend on data;
    ``fill_value`` stands for those that are missing.

    Args:
        a: any shape.
        size: how many indices to return, which compiled programs have to say: those left over are
            ``fill_value``.
        fill_value: what fills up; 0 by default.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.flatnonzero(jnp.array([[0, 3], [5, 0]]))
        Array([1, 2], dtype=int32)
        >>> jnp.flatnonzero(jnp.array([[0, 3], [5, 0]]), size=3, fill_value=-1)
        Array([ 1,  2, -1], dtype=int32)
    """
    return nonzero(manipulation.ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: Fill = None) -> Array:
    """Return the indices of the elements that are not zero, one in each row: see ``nonzero``.

    The result has shape ``(n, a.ndim)``, in the order of the elements; NaN is not zero. Under
    ``jit`` the number must be given by ``size``, since shapes cannot depend on data; missing rows
    are then filled with ``fill_value``, by default with zeros.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.argwhere(jnp.array([[0, 1], [1, 0]]))
        Array([[0, 1],
               [1, 0]], dtype=int32)
        >>> jnp.argwhere(jnp.array([0, 5, 7]), size=3)
        Array([[1],
               [2],
               [0]], dtype=int32)
    """
    x = pm.array_of("argwhere", a)
    if x.shape:
        return manipulation.stack(nonzero(x, size=size, fill_value=fill_value), axis=1)
    # a scalar has no axis to be placed along: there is one row, or none, without columns
    rows = nonzero(sh.reshape(x, (1,)), size=size, fill_value=0)[0].size
    return sh.full((rows, 0), 0, dtypes.default_int())
