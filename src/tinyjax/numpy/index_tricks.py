"""Objects that make arrays, grids and indices when indexed; and indices of parts of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tinyjax.core.primitives import shape as sh
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.numpy import manipulation, promotion as pm
from tinyjax.numpy.creation import arange, array, asarray, diag_indices, linspace, meshgrid, ones
from tinyjax.numpy.selection import nonzero


def _points(part: slice) -> Array:
    """Return the numbers that a slice stands for; an imaginary step is how many, with both ends."""
    start, stop = [0 if end is None else end for end in (part.start, part.stop)]
    if isinstance(part.step, complex):
        return linspace(start, stop, int(abs(part.step)))
    return arange(start, stop, 1 if part.step is None else part.step)


class _Indexed:
    """An object that is indexed like an array, under its name in the namespace."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"tinyjax.numpy.{self._name}"


class _NdGrid(_Indexed):
    """The class of ``mgrid`` and ``ogrid``."""

    __slots__ = ()

    def _lines(self, index: tuple[slice, ...]) -> list[Array]:
        for part in index:
            if not isinstance(part, slice):
                raise ArgumentError(f"{self._name} takes slices, such as [0:3, 0:4].")
        return pm.promote_dtypes(*[_points(part) for part in index])


class _DenseGrid(_NdGrid):
    __slots__ = ()

    def __getitem__(self, index: slice | tuple[slice, ...]) -> Array:
        if isinstance(index, slice):
            return self._lines((index,))[0]
        return (
            manipulation.stack(meshgrid(*self._lines(index), indexing="ij"))
            if index
            else array([], int)
        )


class _OpenGrid(_NdGrid):
    __slots__ = ()

    def __getitem__(self, index: slice | tuple[slice, ...]) -> Array | list[Array]:
        if isinstance(index, slice):
            return self._lines((index,))[0]
        return list(meshgrid(*self._lines(index), indexing="ij", sparse=True)) if index else []


#: Grids by slices: ``mgrid[0:2, 0:3]`` has the shape ``(2, 2, 3)`` and holds the two indices of
#: every place. A step that is imaginary is the number of points, with both ends.
mgrid: Final = _DenseGrid("mgrid")

#: The same, as arrays that broadcast to the grid: ``ogrid[0:2, 0:3]`` has the shapes ``(2, 1)`` and
#: ``(1, 3)``.
ogrid: Final = _OpenGrid("ogrid")


class _Joined(_Indexed):
    """The class of ``r_`` and ``c_``."""

    __slots__ = ("_axis", "_ndmin", "_place")

    def __init__(self, name: str, axis: int, ndmin: int, place: int) -> None:
        super().__init__(name)
        self._axis, self._ndmin, self._place = axis, ndmin, place

    def __getitem__(self, index: Any) -> Array:
        """Join arrays, numbers, lists and slices; a text in front says how.

        Args:
            index: what is joined. Texts are ``"axis"``, ``"axis,ndim"`` or ``"axis,ndim,place"``:
                the axis, the least number of axes of each part, and the place of the axes that it
                has already. ``"r"`` and ``"c"`` give a matrix of one row or column.

        Raises:
            ArgumentError: the text is none of these.
        """
        parts = index if isinstance(index, tuple) else (index,)
        axis, ndmin, place, matrix = self._axis, self._ndmin, self._place, ""
        if parts and isinstance(parts[0], str):
            axis, ndmin, place, matrix = self._directive(parts[0])
            parts = parts[1:]
        if not parts:
            raise ArgumentError(f"{self._name} needs at least one array, number or slice.")
        arrays = []
        for part in parts:
            x = _points(part) if isinstance(part, slice) else asarray(part)
            arrays.append(_raised(x, ndmin, place))
        result = manipulation.concatenate(pm.promote_dtypes(*arrays), axis)
        if matrix and result.ndim == 1:
            return result[:, None] if matrix == "c" else result[None]
        return result

    def _directive(self, text: str) -> tuple[int, int, int, str]:
        if text in ("r", "c"):
            return self._axis, self._ndmin, self._place, text
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) not in (1, 2, 3):
            raise ArgumentError(
                f"{self._name}: {text!r} is none of 'r', 'c' and up to three integers."
            )
        directive = (*numbers, *(self._axis, self._ndmin, self._place)[len(numbers) :])
        return directive[0], directive[1], directive[2], ""


def _raised(x: Array, ndmin: int, place: int) -> Array:
    """Add axes until there are as many, those that there are beginning at a place."""
    missing = max(ndmin, 1) - x.ndim
    if missing <= 0:
        return x
    old = x.ndim
    x = sh.reshape(x, (1,) * missing + x.shape)
    if place < 0:
        place = ndmin + place - old + 1 if old else 0
    if not old:
        return x
    return manipulation.moveaxis(x, tuple(range(missing, x.ndim)), tuple(range(place, place + old)))


#: Joins along the first axis: ``r_[1:4, 0, array([5, 6])]``.
r_: Final = _Joined("r_", 0, 1, -1)

#: Joins vectors as columns: ``c_[x, y]``.
c_: Final = _Joined("c_", -1, 2, 0)


#: The index itself: ``s_[1:, ::2]`` is ``(slice(1, None), slice(None, None, 2))``.
s_: Final = np.s_

#: The index as a tuple.
index_exp: Final = np.index_exp


def mask_indices(
    n: int, mask_func: Callable[[Array, int], ArrayLike], k: int = 0, *, size: int | None = None
) -> tuple[Array, ...]:
    """Return the indices of the elements of a square matrix that a function keeps.

    Args:
        n: the size of the matrix.
        mask_func: such as ``jnp.triu``; takes a matrix and ``k``.
        k: the second argument of the function.
        size: how many indices to return; needed where they are traced.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.mask_indices(2, jnp.triu)
        (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    size_ = ints.integer(n, "n")
    return nonzero(pm.array_of("mask_indices", mask_func(ones((size_, size_)), k)), size=size)


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Return the indices of the diagonal of an array whose axes have the same size.

    Args:
        arr: at least two axes.

    Raises:
        ShapeError: the axes are fewer, or differ in size.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.diag_indices_from(jnp.ones((2, 2)))
        (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    x = pm.array_of("diag_indices_from", arr)
    if x.ndim < 2 or len(set(x.shape)) != 1:
        raise ShapeError.got("diag_indices_from needs two axes or more, of one size", x)
    return diag_indices(x.shape[0], x.ndim)
