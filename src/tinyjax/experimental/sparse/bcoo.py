"""Sparse arrays by the coordinates of their elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.axes import canonical_axis
from tinyjax.core.integers import integers
from tinyjax.core.operands import as_array
from tinyjax.dtypes import DTypeLike
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.experimental.sparse.base import JAXSparse, arrays_of
from tinyjax.tree import register_pytree_node_class


@register_pytree_node_class
@attrs.frozen(init=False, eq=False, repr=False)
class BCOO(JAXSparse):
    """A sparse array: elements, and where they are.

    Elements at one place are added up. Those out of bounds, by which arrays of one size hold fewer
    elements, count as none.

    Attributes:
        data: the elements, of shape (nse,).
        indices: their places, integers of shape (nse, ndim).
        shape: the shape of the array.
        indices_sorted: whether the places are in the order of a dense array's elements.
        unique_indices: whether no place occurs twice.

    Raises:
        ShapeError: the shapes of data, indices and the array do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental.sparse import BCOO
        >>> m = BCOO.fromdense(jnp.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]))
        >>> m
        BCOO(float32[2, 3], nse=3)
        >>> m @ jnp.ones(3)
        Array([1., 5.], dtype=float32)
    """

    data: Array
    indices: Array
    shape: tuple[int, ...]
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[ArrayLike, ArrayLike],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        data, indices = arrays_of("BCOO", args, 2)
        sizes = integers(shape, "shape")
        if data.ndim != 1 or indices.shape != (data.size, len(sizes)):
            raise ShapeError(
                "BCOO takes data of shape (nse,) and indices of shape (nse, ndim), for an array of "
                f"shape {sizes}, but got {data.aval} and {indices.aval}."
            )
        self.__attrs_init__(data, indices, sizes, indices_sorted, unique_indices)

    def tree_flatten(self) -> tuple[tuple[Any, Any], tuple[Any, ...]]:
        """Return the arrays, and what they mean."""
        return (self.data, self.indices), (self.shape, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls, metadata: tuple[Any, ...], children: tuple[Any, ...]) -> BCOO:
        """Return a sparse array of what ``tree_flatten`` gave."""
        self = cls.__new__(cls)
        self.__attrs_init__(*children, *metadata)
        return self

    # Made of dense arrays, and made dense

    @classmethod
    def fromdense(
        cls, mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = dtypes.int32
    ) -> BCOO:
        """Return the sparse array of the elements that are not zero.

        Args:
            mat: a dense array.
            nse: for how many elements there is room, needed where ``mat`` is traced: what is too
                many is left out.
            index_dtype: of the indices.

        Raises:
            ConcretizationError: ``mat`` is traced, and there is no ``nse``.
        """
        x = as_array(mat)
        places = jnp.nonzero(x, size=nse, fill_value=x.shape)
        indices = jnp.stack(places, 1) if places else jnp.zeros((1, 0), dtypes.int32)
        data = x.at[tuple(places)].get(mode="fill", fill_value=0) if places else x[None]
        integers = indices.astype(dtypes.check(index_dtype))
        return cls((data, integers), shape=x.shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: DTypeLike = dtypes.int32) -> BCOO:
        """Return SciPy's sparse matrix as a sparse array."""
        given = mat.tocoo()
        indices = np.stack([given.row, given.col], 1).astype(dtypes.check(index_dtype))
        return cls((given.data, indices), shape=given.shape)

    def todense(self) -> Array:
        """Return the dense array."""
        zeros = jnp.zeros(self.shape, self.dtype)
        if not self.shape:
            return self.data.sum()
        return zeros.at[self._places()].add(self.data, mode="drop")

    def _places(self) -> tuple[Array, ...]:
        return tuple([self.indices[:, i] for i in range(self.ndim)])

    # Of the array

    def _like(self, data: Array) -> BCOO:
        """Return an array with other elements at the same places."""
        return BCOO(
            (data, self.indices),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def astype(self, dtype: DTypeLike) -> BCOO:
        """Return the array with elements of another dtype."""
        return self._like(self.data.astype(dtype))

    # Rearranged

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """Return the array with its axes in another order, reversed by default."""
        given = range(self.ndim)[::-1] if axes is None else axes
        order = [canonical_axis(axis, self.ndim) for axis in given]
        if sorted(order) != list(range(self.ndim)):
            raise ArgumentError(f"axes must be an order of {self.ndim} axes, but got {axes}.")
        return BCOO(
            (self.data, self.indices[:, np.array(order, int)]),
            shape=[self.shape[i] for i in order],
            unique_indices=self.unique_indices,
        )

    @property
    def T(self) -> BCOO:
        """The array with its axes reversed."""
        return self.transpose()

    def _flat(self) -> Array:
        """Return each place in the flattened array; its size for those out of bounds."""
        wide = dtypes.int64 if self.size > np.iinfo(np.int32).max else self.indices.dtype
        flat, inside = jnp.zeros(self.nse, wide), jnp.ones(self.nse, dtypes.bool_)
        for place, n in zip(self._places(), self.shape, strict=True):
            flat = flat * n + place
            inside &= (place >= 0) & (place < n)
        return jnp.where(inside, flat, self.size)

    def _at_flat(
        self,
        data: Array,
        flat: Array,
        shape: tuple[int, ...],
        unique: bool,
        is_sorted: bool = False,
    ) -> BCOO:
        """Return an array whose elements are at places in the flattened one."""
        inside, rest, places = flat < self.size, flat, []
        for n in reversed(shape):
            places.append(jnp.where(inside, rest % max(n, 1), n))
            rest = rest // max(n, 1)
        none = jnp.zeros((flat.shape[0], 0), self.indices.dtype)
        indices = jnp.stack(places[::-1], 1).astype(self.indices.dtype) if places else none
        return BCOO((data, indices), shape=shape, indices_sorted=is_sorted, unique_indices=unique)

    def reshape(self, *shape: int | Sequence[int]) -> BCOO:
        """Return the array in another shape, given as one or as sizes, of which one may be -1."""
        sizes: list[int] = []
        for given in shape:
            sizes += given if isinstance(given, Sequence) else [given]
        if sizes.count(-1) == 1:
            sizes[sizes.index(-1)] = self.size // max(-math.prod(sizes), 1)
        if math.prod(sizes) != self.size or min(sizes, default=0) < 0:
            raise ShapeError(f"{self} has {self.size} elements, and cannot take the shape {shape}.")
        return self._at_flat(self.data, self._flat(), tuple(sizes), self.unique_indices)

    def sort_indices(self) -> BCOO:
        """Return the array with its elements in the order of a dense array's."""
        order = jnp.argsort(self._flat())
        return BCOO(
            (self.data[order], self.indices[order]),
            shape=self.shape,
            indices_sorted=True,
            unique_indices=self.unique_indices,
        )

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """Return the array with one element for each place, in order.

        Args:
            nse: for how many elements there is room; needed where the array is traced.
            remove_zeros: whether elements that are zero are left out, where ``nse`` is None.

        Raises:
            ConcretizationError: the array is traced, and there is no ``nse``.
        """
        flat = self._flat()
        if nse is None:
            kept = flat < self.size
            if remove_zeros:
                kept &= self.data != 0
            nse = int(np.unique(np.asarray(flat)[np.asarray(kept)]).size)
            flat = jnp.where(kept, flat, self.size)
        places, inverse = jnp.unique(flat, return_inverse=True, size=nse, fill_value=self.size)
        data = jnp.zeros(nse, self.dtype).at[inverse].add(self.data, mode="drop")
        data = jnp.where(places < self.size, data, 0)
        return self._at_flat(data, places, self.shape, unique=True, is_sorted=True)

    def sum(self, axis: int | Sequence[int] | None = None) -> BCOO:
        """Return the sums over axes, a sparse array in which places may occur several times."""
        given = range(self.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
        gone = {canonical_axis(each, self.ndim) for each in given}
        kept = [i for i in range(self.ndim) if i not in gone]
        inside = self._flat() < self.size
        return BCOO(
            (jnp.where(inside, self.data, 0), self.indices[:, np.array(kept, int)]),
            shape=[self.shape[i] for i in kept],
        )

    # Arithmetic

    def __neg__(self) -> BCOO:
        return self._like(-self.data)

    def __mul__(self, other: ArrayLike) -> BCOO:
        factor = as_array(other)
        if not factor.shape:
            return self._like(self.data * factor)
        dense = jnp.broadcast_to(factor, self.shape)
        at_places = dense.at[self._places()].get(mode="fill", fill_value=0)
        return self._like(self.data * at_places)

    __rmul__ = __mul__

    def __truediv__(self, other: ArrayLike) -> BCOO:
        return self * (1 / as_array(other))

    def __add__(self, other: BCOO) -> BCOO:
        if self.shape != other.shape:
            raise ShapeError(f"{self} and {other} have different shapes, and do not broadcast.")
        dtype = jnp.promote_types(self.dtype, other.dtype)
        data = jnp.concatenate([self.data.astype(dtype), other.data.astype(dtype)])
        return BCOO((data, jnp.concatenate([self.indices, other.indices])), shape=self.shape)

    def __sub__(self, other: BCOO) -> BCOO:
        return self + -other

    def __matmul__(self, other: BCOO | ArrayLike) -> Any:
        if isinstance(other, BCOO):
            return _sparse_product(self, other)
        dense = as_array(other)
        _check_product(self, dense)
        axis = max(dense.ndim - 2, 0)
        product = self._contracted(jnp.moveaxis(dense, axis, 0))
        return product if self.ndim == 1 else jnp.moveaxis(product, 0, axis)

    def __rmatmul__(self, other: ArrayLike) -> Array:
        dense = as_array(other)
        _check_product(dense, self)
        product = self.T._contracted(jnp.moveaxis(dense, -1, 0))
        return product if self.ndim == 1 else jnp.moveaxis(product, 0, -1)

    def _contracted(self, dense: Array) -> Array:
        """The sum over the last axis of this, and the first of the other."""
        rows, columns = self.indices[:, :-1], self.indices[:, -1]
        column = self.data.reshape(self.nse, *(1,) * (dense.ndim - 1))
        terms = column * dense.at[columns].get(mode="fill", fill_value=0)
        if self.ndim == 1:
            return terms.sum(0)
        zeros = jnp.zeros((self.shape[0], *dense.shape[1:]), terms.dtype)
        return zeros.at[rows[:, 0]].add(terms, mode="drop")


def _check_product(left: BCOO | Array, right: BCOO | Array) -> None:
    of_sparse = max([x.ndim for x in (left, right) if isinstance(x, BCOO)])
    fit = left.ndim and right.ndim and left.shape[-1] == right.shape[-2:][0]
    if not fit or of_sparse > 2:
        named = [x if isinstance(x, BCOO) else x.aval for x in (left, right)]
        raise ShapeError(
            "a product takes matrices or vectors, of which the first has as many columns as the "
            f"second has rows, but got {named[0]} and {named[1]}. What is dense may be a stack."
        )


def _sparse_product(left: BCOO, right: BCOO) -> BCOO:
    """Return the products of all pairs of elements that share the inner index."""
    _check_product(left, right)
    inner = left.indices[:, -1][:, None]
    same = (inner == right.indices[:, 0]) & (inner < left.shape[-1])
    data = jnp.where(same, left.data[:, None] * right.data, 0)
    pair = (left.nse, right.nse)
    outer = [
        jnp.broadcast_to(left.indices[:, :-1][:, None], (*pair, left.ndim - 1)),
        jnp.broadcast_to(right.indices[:, 1:][None], (*pair, right.ndim - 1)),
    ]
    indices = jnp.concatenate(outer, 2).reshape(data.size, -1)
    return BCOO((data.reshape(-1), indices), shape=left.shape[:-1] + right.shape[1:])
