"""Sparse arrays by the coordinates of their elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, tree
from tinyjax._base import records
from tinyjax.core import api
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.errors import ArgumentError, ShapeError, SparseRuleError, shortened
from tinyjax.experimental.sparse.base import JAXSparse, arrays_of, of_each


@tree.register_pytree_node_class
@records.leaf
@attrs.frozen(init=False, eq=False, repr=False)
class BCOO(JAXSparse):
    """A sparse array: elements, and their indices.

    Elements at one index are added up. Elements out of bounds count as none; they fill up arrays of
    one size that hold fewer elements.

    The last axes may be dense, as rows of a matrix with their numbers are: data of shape (nse,
    width) and indices of shape (nse, 1). Functions that do not support dense axes return an array
    without them.

    Attributes:
        data: the elements, of shape (nse,), behind the axes of a batch and before dense ones.
        indices: their places, integers of shape (nse, n_sparse), likewise.
        indices_sorted: whether the places are in the order of a dense array's elements.
        unique_indices: whether no place occurs twice.
        n_dense: the number of dense axes.

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
    _sparse_shape: tuple[int, ...]
    indices_sorted: bool
    unique_indices: bool
    n_dense: int

    def __init__(
        self,
        args: tuple[ArrayLike, ArrayLike],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        data, indices = arrays_of("BCOO", args, 2)
        sizes = ints.integers(shape, "shape")
        batches = max(indices.ndim - 2, 0)
        dense = data.shape[batches + 1 :]
        last = len(sizes) - len(dense)
        sparse_shape = sizes[batches:last]
        fits = data.ndim > batches and (*sizes[:batches], *sizes[last:]) == (
            *data.shape[:batches],
            *dense,
        )
        if not fits or indices.shape != (*data.shape[: batches + 1], len(sparse_shape)):
            raise ShapeError(
                "BCOO takes data of shape (nse,) and indices of shape (nse, ndim), both behind the "
                "axes of a batch, and data before its dense axes, which indices do not count, for "
                f"an array of shape {sizes}, but got {data.aval} and {indices.aval}."
            )
        n = len(dense)
        self.__attrs_init__(data, indices, sparse_shape, indices_sorted, unique_indices, n)

    def tree_flatten(self) -> tuple[tuple[Any, Any], tuple[Any, ...]]:
        """Return the arrays, and their metadata.

        Example:
            >>> from tinyjax.experimental import sparse
            >>> (data, indices), _ = sparse.eye(2).tree_flatten()
            >>> data
            Array([1., 1.], dtype=float32)
        """
        known = (self.indices_sorted, self.unique_indices, self.n_dense)
        return (self.data, self.indices), (self._sparse_shape, *known)

    # Made of dense arrays, and made dense

    @classmethod
    def fromdense(
        cls,
        mat: ArrayLike,
        *,
        nse: int | None = None,
        index_dtype: dtypes.DTypeLike = dtypes.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCOO:
        """Return the sparse array of the elements that are not zero.

        Args:
            mat: a dense array.
            nse: the number of stored elements, needed where ``mat`` is traced: what is too many is
                left out.
            index_dtype: of the indices.
            n_dense: how many of the last axes are dense: all elements along them are taken where
                one of them is not zero, and ``nse`` counts places of the other axes.
            n_batch: how many axes in front are those of a batch.

        Raises:
            ArgumentError: there are fewer axes than dense ones.
            ConcretizationError: ``mat`` is traced, and there is no ``nse``.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCOO
            >>> BCOO.fromdense(jnp.array([[0, 2], [1, 3]])).indices
            Array([[0, 1],
                   [1, 0],
                   [1, 1]], dtype=int32)
        """
        x = opd.as_array(mat)
        if not 0 <= n_dense <= x.ndim - n_batch:
            raise ArgumentError(
                f"n_dense of fromdense is {n_dense}, but {x.aval} has {x.ndim - n_batch} axes that "
                "are not those of a batch."
            )
        rows = (x != 0).any(tuple(range(x.ndim - n_dense, x.ndim))) if n_dense else x
        if n_batch:
            if nse is None:
                axes = tuple(range(n_batch, rows.ndim))
                nse = int(jnp.count_nonzero(rows, axes).max(initial=0))
            return api.vmap(
                lambda m: cls.fromdense(
                    m, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch - 1
                )
            )(x)
        places = jnp.nonzero(rows, size=nse, fill_value=rows.shape) if rows.ndim else ()
        indices = jnp.stack(places, 1) if places else jnp.zeros((1, 0), dtypes.int32)
        data = x.at[tuple(places)].get(mode="fill", fill_value=0) if places else x[None]
        integers = indices.astype(dtypes.check(index_dtype))
        return cls((data, integers), shape=x.shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: dtypes.DTypeLike = dtypes.int32) -> BCOO:
        """Return SciPy's sparse matrix as a sparse array.

        Example:
            >>> import scipy.sparse
            >>> from tinyjax.experimental.sparse import BCOO
            >>> BCOO.from_scipy_sparse(scipy.sparse.eye(3, dtype="float32"))
            BCOO(float32[3, 3], nse=3)
        """
        coo = mat.tocoo()
        indices = np.stack([coo.row, coo.col], 1).astype(dtypes.check(index_dtype))
        return cls((coo.data, indices), shape=coo.shape)

    @of_each
    def todense(self) -> Array:
        """Return the dense array.

        Example:
            >>> from tinyjax.experimental.sparse import BCOO
            >>> BCOO(([1.0, 2.0, 5.0], [[0, 0], [0, 0], [1, 0]]), shape=(2, 2)).todense()
            Array([[3., 0.],
                   [5., 0.]], dtype=float32)
        """
        zeros = jnp.zeros(self.shape, self.dtype)
        if not self.n_sparse:
            return self.data.sum(0, dtype=self.dtype)
        return added_at(zeros, self._places(), self.data)

    def with_dense(self, n_dense: int = 0) -> BCOO:
        """Return the array with so many dense axes, as many as it has at most.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCOO
            >>> rows = BCOO((jnp.ones((2, 3)), [[0], [4]]), shape=(5, 3))
            >>> rows, rows.with_dense(0)
            (BCOO(float32[5, 3], nse=2, n_dense=1), BCOO(float32[5, 3], nse=6))
        """
        if n_dense == self.n_dense:
            return self
        data, indices = self.data, self.indices
        first, last = self.n_batch + 1, data.ndim - n_dense
        batch, nse = data.shape[: first - 1], self.nse
        added, rest = data.shape[first:last], data.shape[last:]
        inner = np.indices(added).reshape(len(added), -1).T
        shape = (*batch, nse, len(inner))
        parts = [
            jnp.broadcast_to(indices[..., None, :], (*shape, indices.shape[-1])),
            jnp.broadcast_to(jnp.asarray(inner, indices.dtype), (*shape, len(added))),
        ]
        size = (*batch, nse * len(inner))
        places = jnp.concatenate(parts, -1)
        return BCOO(
            (data.reshape(*size, *rest), places.reshape(*size, places.shape[-1])),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def _places(self) -> tuple[Array, ...]:
        if self.n_batch:
            raise ArgumentError(
                f"{self} is a batch of sparse arrays, of which this function takes one: "
                "tinyjax.vmap(f)(x)."
            )
        return tuple([self.indices[:, i] for i in range(self.n_sparse)])

    # Of the array

    def with_data(self, data: Array) -> BCOO:
        """Return an array with other elements at the same places.

        Example:
            >>> from tinyjax.experimental import sparse
            >>> x = sparse.eye(2)
            >>> x.with_data(5 * x.data).todense()
            Array([[5., 0.],
                   [0., 5.]], dtype=float32)
        """
        return self._with_data(data, self.indices, is_sorted=self.indices_sorted)

    def _with_data(
        self,
        data: Array,
        indices: Array,
        shape: Sequence[int] | None = None,
        is_sorted: bool = False,
        is_unique: bool = True,
    ) -> BCOO:
        """Return an array of other elements, whose places are unique if these are."""
        return BCOO(
            (data, indices),
            shape=self.shape if shape is None else shape,
            indices_sorted=is_sorted,
            unique_indices=is_unique and self.unique_indices,
        )

    def astype(self, dtype: dtypes.DTypeLike) -> BCOO:
        """Return the array with elements of another dtype.

        Example:
            >>> from tinyjax.experimental import sparse
            >>> sparse.eye(2).astype("int32")
            BCOO(int32[2, 2], nse=2)
        """
        return self.with_data(self.data.astype(dtype))

    def is_inside(self) -> Array:
        """Return the mask of the elements whose index is within bounds.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCOO
            >>> BCOO.fromdense(jnp.array([0.0, 3.0]), nse=2).is_inside()
            Array([ True, False], dtype=bool)
        """
        return self._flat() < math.prod(self._sparse_shape)

    def inside(self, data: Array) -> Array:
        """Return data with zeros in place of elements whose places are out of bounds.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCOO
            >>> x = BCOO.fromdense(jnp.array([0.0, 3.0]), nse=2)
            >>> x.inside(jnp.ones(2))
            Array([1., 0.], dtype=float32)
        """
        # False is zero in every dtype, also of bools
        return jnp.where(jnp.expand_dims(self.is_inside(), (*range(1, data.ndim),)), data, False)

    def taken_from(self, dense: Array) -> Array:
        """Return the elements of a dense array of this shape at these places, zeros elsewhere.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental import sparse
            >>> sparse.eye(2).taken_from(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
            Array([1., 4.], dtype=float32)
        """
        places = self._places()
        elements = dense.at[places].get(mode="fill", fill_value=0) if places else dense[None]
        return self.inside(jnp.broadcast_to(elements, self.data.shape))

    # Rearranged

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """Return the array with its axes in another order, reversed by default.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCOO
            >>> BCOO.fromdense(jnp.array([[0, 2], [0, 3]])).transpose().todense()
            Array([[0, 0],
                   [2, 3]], dtype=int32)
        """
        axes_in = range(self.ndim)[::-1] if axes is None else axes
        order = [ints.canonical_axis(axis, self.ndim) for axis in axes_in]
        if sorted(order) != list(range(self.ndim)):
            raise ArgumentError(f"axes must be an order of {self.ndim} axes, but got {axes}.")
        places, n = self._places(), self.n_sparse
        if any(i >= n for i in order[:n]):
            return self.with_dense().transpose(order)
        indices = jnp.stack([places[i] for i in order[:n]], 1) if n else self.indices
        data = self.data.transpose(0, *[i - n + 1 for i in order[n:]])
        return self._with_data(data, indices, [self.shape[i] for i in order])

    def _flat(self) -> Array:
        """Return each place in the flattened sparse axes; their size for those out of bounds."""
        size = math.prod(self._sparse_shape)
        wide = dtypes.int64 if size > np.iinfo(np.int32).max else self.indices.dtype
        flat, inside = jnp.zeros(self.nse, wide), jnp.ones(self.nse, dtypes.bool_)
        for place, n in zip(self._places(), self._sparse_shape, strict=True):
            flat = flat * n + place
            inside &= (place >= 0) & (place < n)
        return jnp.where(inside, flat, size)

    def _at_flat(
        self,
        data: Array,
        flat: Array,
        shape: tuple[int, ...],
        unique: bool,
        is_sorted: bool = False,
    ) -> BCOO:
        """Return an array whose elements are at places in the flattened sparse axes."""
        inside, rest, places = flat < math.prod(self._sparse_shape), flat, []
        for n in reversed(shape[: len(shape) - self.n_dense]):
            places.append(jnp.where(inside, rest % max(n, 1), n))
            rest = rest // max(n, 1)
        none = jnp.zeros((flat.shape[0], 0), self.indices.dtype)
        indices = jnp.stack(places[::-1], 1).astype(self.indices.dtype) if places else none
        return BCOO((data, indices), shape=shape, indices_sorted=is_sorted, unique_indices=unique)

    def reshape(self, *shape: int | Sequence[int]) -> BCOO:
        """Return the array in another shape, given as one or as sizes, of which one may be -1.

        Raises:
            ShapeError: the shape has another size, or does not begin with that of the batch.

        Example:
            >>> from tinyjax.experimental import sparse
            >>> sparse.eye(2).reshape(-1).todense()
            Array([1., 0., 0., 1.], dtype=float32)
        """
        sizes: list[int] = []
        for part in shape:
            sizes += part if isinstance(part, Sequence) else [part]
        if sizes.count(-1) == 1:
            sizes[sizes.index(-1)] = self.size // max(-math.prod(sizes), 1)
        if math.prod(sizes) != self.size or min(sizes, default=0) < 0:
            raise ShapeError(f"{self} has {self.size} elements, and cannot take the shape {shape}.")
        n = self.n_batch
        if n and tuple(sizes[:n]) != self.shape[:n]:
            raise ShapeError(
                f"{self} is a batch of sparse arrays, which keeps the sizes {self.shape[:n]} of "
                f"the batch in front, and cannot take the shape {tuple(sizes)}."
            )
        if n:
            reshaped: BCOO = api.vmap(lambda each: each.reshape(sizes[1:]))(self)
            return reshaped
        last = len(sizes) - self.n_dense
        if last < 0 or tuple(sizes[last:]) != self.data.shape[1:]:
            return self.with_dense().reshape(sizes)
        return self._at_flat(self.data, self._flat(), tuple(sizes), self.unique_indices)

    @of_each
    def sort_indices(self) -> BCOO:
        """Return the array with its elements in the order of a dense array's.

        Example:
            >>> from tinyjax.experimental.sparse import BCOO
            >>> BCOO(([1.0, 2.0], [[1], [0]]), shape=(2,)).sort_indices().data
            Array([2., 1.], dtype=float32)
        """
        order = jnp.argsort(self._flat())
        return self._with_data(self.data[order], self.indices[order], is_sorted=True)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """Return the array with one element for each place, in order.

        Args:
            nse: the number of stored elements; needed where the array is traced. By default as
                many as are needed, in a batch by the array that needs most.
            remove_zeros: whether elements that are zero are left out, where ``nse`` is None.

        Raises:
            ConcretizationError: the array is traced, and there is no ``nse``.

        Example:
            >>> from tinyjax.experimental.sparse import BCOO
            >>> BCOO(([1.0, 2.0, 5.0], [[1], [1], [0]]), shape=(2,)).sum_duplicates().data
            Array([5., 3.], dtype=float32)
        """
        without_zeros = remove_zeros and nse is None
        if nse is None:
            numbers, size = self._numbers(without_zeros), math.prod(self._sparse_shape)
            rows = np.asarray(numbers).reshape(-1, self.nse)
            nse = max([np.unique(row[row < size]).size for row in rows], default=0)
        return self._summed(nse, without_zeros)

    @of_each
    def _numbers(self, without_zeros: bool) -> Array:
        """Return the number of each element's place; that after the last for what is left out."""
        flat, size = self._flat(), math.prod(self._sparse_shape)
        if without_zeros:
            is_zero = (self.data == 0).all(tuple(range(1, self.data.ndim)))
            flat = jnp.where(is_zero, size, flat)
        return flat

    @of_each
    def _summed(self, nse: int, without_zeros: bool) -> BCOO:
        flat, size = self._numbers(without_zeros), math.prod(self._sparse_shape)
        places, inverse = jnp.unique(flat, return_inverse=True, size=nse, fill_value=size)
        data = added_at(jnp.zeros((nse, *self.data.shape[1:]), self.dtype), inverse, self.data)
        result = self._at_flat(data, places, self.shape, unique=True, is_sorted=True)
        return result.with_data(result.inside(data))

    def sum(self, axis: int | Sequence[int] | None = None) -> Any:
        """Return the sums over axes: a sparse array, or the dense sum over all of them.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCOO
            >>> x = BCOO.fromdense(jnp.array([[0, 2], [1, 3]]))
            >>> x.sum(0).todense(), x.sum()
            (Array([1, 5], dtype=int32), Array(6, dtype=int32))
        """
        result = self.summed(ints.canonical_axes(axis, self.ndim))
        return result if result.ndim else result.data.sum()

    def summed(self, axes: Sequence[int]) -> BCOO:
        """Return the sums over axes, a sparse array in which places may occur several times.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCOO
            >>> BCOO.fromdense(jnp.array([[0, 2], [1, 3]])).summed([1])
            BCOO(int32[2], nse=3)
        """
        dropped, n = {ints.canonical_axis(each, self.ndim) for each in axes}, self.n_sparse
        rest = [i for i in range(self.ndim) if i not in dropped]
        data = self.inside(self.data)
        if self.n_dense:
            data = data.sum([i - n + 1 for i in dropped if i >= n], dtype=data.dtype)
        columns = np.array([i for i in rest if i < n], int)
        shape, is_unique = [self.shape[i] for i in rest], len(columns) == n
        return self._with_data(data, self.indices[:, columns], shape, is_unique=is_unique)

    def between(self, starts: Sequence[Any], sizes: Sequence[int], steps: Sequence[int]) -> BCOO:
        """Return so many elements of each axis, from a place on, every so many.

        Example:
            >>> from tinyjax.experimental import sparse
            >>> sparse.eye(4).between((0, 1), (2, 2), (1, 1)).todense()
            Array([[0., 0.],
                   [1., 0.]], dtype=float32)
        """
        columns, inside, n, data = [], self.is_inside(), self.n_sparse, self.data
        for axis in range(1, data.ndim):
            at = axis + n - 1
            data = jnp.take(data, starts[at] + steps[at] * np.arange(sizes[at]), axis)
        for column, start, size, step in zip(self._places(), starts, sizes, steps, strict=False):
            place = column - start
            inside &= (place >= 0) & (place % step == 0) & (place < size * step)
            columns.append(place // step)
        indices = self.indices
        if columns:
            indices = jnp.where(inside[:, None], jnp.stack(columns, 1), np.array(sizes[:n]))
        result = self._with_data(data, indices.astype(self.indices.dtype), sizes)
        return result.with_data(result.inside(data))

    def __getitem__(self, index: Any) -> BCOO:
        """Return a part, by ints, slices, ``None`` and ``...``.

        Raises:
            ArgumentError: there is an array in the index.
            IndexError: an int is out of bounds, or there are too many.
        """
        indexer = index if isinstance(index, tuple) else (index,)
        for part in indexer:
            if not (part is None or part is ... or isinstance(part, (int, np.integer, slice))):
                raise ArgumentError(
                    "a sparse array is indexed by ints, slices, None and ..., "
                    f"but got {shortened(part)}. "
                    "Index x.todense(), or multiply by a sparse array that chooses rows."
                )
        shape = np.shape(np.broadcast_to(0, self.shape)[indexer])
        parts = [part for part in indexer if part is not None]
        if ... in parts:
            place = parts.index(...)
            missing = self.ndim - len(parts) + 1
            parts[place : place + 1] = [slice(None)] * missing
        parts += [slice(None)] * (self.ndim - len(parts))
        starts, sizes, steps, back = [], [], [], []
        for axis, (part, n) in enumerate(zip(parts, self.shape, strict=True)):
            chosen = (
                range(n)[part] if isinstance(part, slice) else range(n)[part : part + 1 or None]
            )
            if chosen.step < 0:
                chosen = chosen[::-1]
                back.append(axis)
            starts.append(chosen.start)
            sizes.append(len(chosen))
            steps.append(chosen.step)
        result = self.between(starts, sizes, steps)
        result = result.reversed(back)
        if self.n_dense:
            of_dense = enumerate(parts[self.n_sparse :], self.n_sparse)
            result = result.summed([i for i, part in of_dense if not isinstance(part, slice)])
        return result.reshape(shape)

    def reversed(self, axes: Collection[int]) -> BCOO:
        """Return the array with the elements along axes in reverse.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCOO
            >>> BCOO.fromdense(jnp.array([0, 2, 3])).reversed([0]).todense()
            Array([3, 2, 0], dtype=int32)
        """
        n = self.n_sparse
        columns = [
            jnp.where((x >= 0) & (x < size), size - 1 - x, size) if i in axes else x
            for i, (x, size) in enumerate(zip(self._places(), self._sparse_shape, strict=True))
        ]
        indices = jnp.stack(columns, 1) if columns else self.indices
        data = jnp.flip(self.data, [i - n + 1 for i in axes if i >= n])
        return self._with_data(data, indices)

    def __iter__(self) -> Iterator[BCOO]:
        for i in range(len(self)):
            yield self[i]

    # Arithmetic

    def __neg__(self) -> BCOO:
        return self.with_data(-self.data)

    def __pos__(self) -> BCOO:
        return self

    def once(self) -> BCOO:
        """Return the array with one element for each place.

        Where places occur twice, their elements are added.

        Example:
            >>> from tinyjax.experimental.sparse import BCOO
            >>> BCOO(([1.0, 2.0], [[1], [1]]), shape=(2,)).once().unique_indices
            True
        """
        return self if self.unique_indices else self.sum_duplicates(self.nse)

    def __abs__(self) -> BCOO:
        once = self.once()
        return once.with_data(abs(once.data))

    def __pow__(self, exponent: object) -> BCOO:
        if not isinstance(exponent, (int, np.integer)) or exponent < 1:
            raise SparseRuleError(
                f"a sparse array to the power {exponent!r} would be dense: powers are positive "
                "ints. Give it x.todense()."
            )
        once = self.once()
        return once.with_data(once.data**exponent)

    def __mul__(self, other: BCOO | ArrayLike) -> BCOO:
        if isinstance(other, BCOO):
            return self._times(other)
        factor = opd.as_array(other)
        if not factor.shape:
            return self.with_data(self.data * factor)
        dense = jnp.broadcast_to(factor, self.shape)
        return self.with_data(self.data * self.taken_from(dense))

    __rmul__ = __mul__

    def _times(self, other: BCOO) -> BCOO:
        """Return the product with a sparse array, at the places of this one."""
        if other.shape != self.shape:
            raise ShapeError(f"{self} and {other} have different shapes, and do not broadcast.")
        if self.n_dense != other.n_dense:
            n = min(self.n_dense, other.n_dense)
            return self.with_dense(n)._times(other.with_dense(n))
        mine, theirs = self._flat(), other.sum_duplicates(other.nse)
        places = theirs._flat()
        at = jnp.clip(jnp.searchsorted(places, mine), 0, max(other.nse - 1, 0))
        if not other.nse:
            return self.with_data(jnp.zeros_like(self.data * other.dtype.type(0)))
        same = jnp.expand_dims(places[at] == mine, (*range(1, self.data.ndim),))
        return self.with_data(self.data * self.inside(jnp.where(same, theirs.data[at], False)))

    def __truediv__(self, other: ArrayLike) -> BCOO:
        return self * (1 / opd.as_array(other))

    def added_to(self, dense: Array) -> Array:
        """Return the sum with a dense array of this shape.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental import sparse
            >>> sparse.eye(2).added_to(jnp.ones((2, 2)))
            Array([[2., 1.],
                   [1., 2.]], dtype=float32)
        """
        if dense.shape != self.shape:
            raise SparseRuleError(
                f"the sum of {self} and an array of shape {dense.shape}, which is repeated, would "
                "be dense. Give it x.todense()."
            )
        dtype = jnp.promote_types(self.dtype, dense.dtype)
        return dense.astype(dtype) + self.astype(dtype).todense()

    def __add__(self, other: BCOO | ArrayLike) -> Any:
        if not isinstance(other, BCOO):
            return self.added_to(opd.as_array(other))
        if self.shape != other.shape:
            raise ShapeError(f"{self} and {other} have different shapes, and do not broadcast.")
        dtype, n = jnp.promote_types(self.dtype, other.dtype), min(self.n_dense, other.n_dense)
        both = self.with_dense(n).astype(dtype), other.with_dense(n).astype(dtype)
        data, indices = [jnp.concatenate(parts) for parts in zip(*map(_arrays, both), strict=True)]
        return BCOO((data, indices), shape=self.shape)

    __radd__ = __add__

    def __sub__(self, other: BCOO | ArrayLike) -> Any:
        return self + -(other if isinstance(other, BCOO) else opd.as_array(other))

    def __rsub__(self, other: ArrayLike) -> Array:
        return (-self).added_to(opd.as_array(other))

    def __matmul__(self, other: BCOO | ArrayLike) -> Any:
        if self.n_dense:
            return self.with_dense() @ other
        if isinstance(other, BCOO):
            return _sparse_product(self, other.with_dense())
        dense = opd.as_array(other)
        if self.n_batch:
            place = dense.ndim - 2 - self.n_batch
            axes = (0, None if place < 0 else place)
            return api.vmap(operator.matmul, axes, max(place, 0))(self, dense)
        _check_product(self, dense)
        axis = max(dense.ndim - 2, 0)
        product = self._contracted(jnp.moveaxis(dense, axis, 0))
        return product if self.ndim == 1 else jnp.moveaxis(product, 0, axis)

    def __rmatmul__(self, other: ArrayLike) -> Array:
        dense = opd.as_array(other)
        _check_product(dense, self)
        product = self.with_dense().T._contracted(jnp.moveaxis(dense, -1, 0))
        return product if self.ndim == 1 else jnp.moveaxis(product, 0, -1)

    def _contracted(self, dense: Array) -> Array:
        """Return the sum over the last axis of this, and the first of the other."""
        rows, columns = self.indices[:, :-1], self.indices[:, -1]
        column = self.data.reshape(self.nse, *(1,) * (dense.ndim - 1))
        terms = column * dense.at[columns].get(mode="fill", fill_value=0)
        if self.ndim == 1:
            return terms.sum(0, dtype=terms.dtype)
        zeros = jnp.zeros((self.shape[0], *dense.shape[1:]), terms.dtype)
        return added_at(zeros, rows[:, 0], terms)


def _arrays(x: BCOO) -> tuple[Array, Array]:
    return x.data, x.indices


def added_at(x: Array, places: Array | tuple[Array, ...], terms: Array) -> Array:
    """Add terms at places, and none beyond the bounds; the sum of bools is their disjunction."""
    at = x.at[places]
    return (at.max if x.dtype == dtypes.bool_ else at.add)(terms, mode="drop")


def parted(
    name: str, shape: Sequence[int], n_batch: int, n_dense: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the sizes of the axes of a batch, of the sparse ones and of the dense ones.

    Raises:
        ArgumentError: there are not so many axes.
    """
    sizes = ints.integers(shape, "shape")
    last = len(sizes) - n_dense
    if not 0 <= n_batch <= last <= len(sizes):
        raise ArgumentError(
            f"{name} was given n_batch={n_batch} and n_dense={n_dense} for an array of shape "
            f"{sizes}, which has {len(sizes)} axes."
        )
    return sizes[:n_batch], sizes[n_batch:last], sizes[last:]


def _check_product(lhs: BCOO | Array, rhs: BCOO | Array) -> None:
    of_sparse = max([x.ndim for x in (lhs, rhs) if isinstance(x, BCOO)])
    fit = lhs.ndim and rhs.ndim and lhs.shape[-1] == rhs.shape[-2:][0]
    if not fit or of_sparse > 2:
        named = [x if isinstance(x, BCOO) else x.aval for x in (lhs, rhs)]
        raise ShapeError(
            "a product takes matrices or vectors, of which the first has as many columns as the "
            f"second has rows, but got {named[0]} and {named[1]}. What is dense may be a stack."
        )


def _sparse_product(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Return the products of all pairs of elements that share the inner index."""
    _check_product(lhs, rhs)
    inner = lhs.indices[:, -1][:, None]
    same = (inner == rhs.indices[:, 0]) & (inner < lhs.shape[-1])
    data = jnp.where(same, lhs.data[:, None] * rhs.data, False)
    pair = (lhs.nse, rhs.nse)
    outer = [
        jnp.broadcast_to(lhs.indices[:, :-1][:, None], (*pair, lhs.ndim - 1)),
        jnp.broadcast_to(rhs.indices[:, 1:][None], (*pair, rhs.ndim - 1)),
    ]
    indices = jnp.concatenate(outer, 2).reshape(data.size, -1)
    return BCOO((data.reshape(-1), indices), shape=lhs.shape[:-1] + rhs.shape[1:])
