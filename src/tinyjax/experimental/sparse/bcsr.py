"""Sparse matrices by their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors, tree
from tinyjax._base import records
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.experimental.sparse import base, bcoo


@tree.register_pytree_node_class
@records.leaf
@attrs.frozen(init=False, eq=False, repr=False)
class BCSR(base.JAXSparse):
    """A sparse matrix: elements row by row, their columns, and where each row begins.

    Attributes:
        data: the elements, of shape (nse,).
        indices: their columns, integers of shape (nse,).
        indptr: integers of shape (m + 1,): row i has the elements from ``indptr[i]`` up to
            ``indptr[i + 1]``. Those from ``indptr[m]`` on count as none.
        indices_sorted: whether the columns of each row are in order.
        unique_indices: whether no place occurs twice.

    Raises:
        ShapeError: the shapes of data, indices, indptr and the matrix do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental.sparse import BCSR
        >>> m = BCSR.fromdense(jnp.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]))
        >>> m.indptr
        Array([0, 1, 3], dtype=int32)
        >>> m @ jnp.ones(3)
        Array([1., 5.], dtype=float32)
    """

    data: Array
    indices: Array
    indptr: Array
    _sparse_shape: tuple[int, ...]
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[ArrayLike, ArrayLike, ArrayLike],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        data, indices, indptr = base.arrays_of("BCSR", args, 3)
        sizes = ints.integers(shape, "shape")
        fits = data.ndim == 1 and indices.shape == data.shape and len(sizes) == 2
        if not fits or indptr.shape != (sizes[0] + 1,):
            raise errors.ShapeError(
                "BCSR takes data and indices of shape (nse,) and an indptr of shape (m + 1,), for "
                f"a matrix of shape (m, n), but got {data.aval}, {indices.aval} and {indptr.aval} "
                f"for {sizes}."
            )
        self.__attrs_init__(data, indices, indptr, sizes, indices_sorted, unique_indices)

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], tuple[Any, ...]]:
        """Return the arrays, and their metadata.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCSR
            >>> arrays, _ = BCSR.fromdense(jnp.array([[0, 2], [1, 3]])).tree_flatten()
            >>> len(arrays)
            3
        """
        metadata = (self._sparse_shape, self.indices_sorted, self.unique_indices)
        return (self.data, self.indices, self.indptr), metadata

    @classmethod
    def fromdense(
        cls, mat: ArrayLike, *, nse: int | None = None, index_dtype: dtypes.DTypeLike = dtypes.int32
    ) -> BCSR:
        """Return the sparse matrix of the elements that are not zero; see ``BCOO.fromdense``.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCSR
            >>> BCSR.fromdense(jnp.array([[0, 2], [1, 3]])).data
            Array([2, 1, 3], dtype=int32)
        """
        return cls.from_bcoo(bcoo.BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype))

    @classmethod
    def from_bcoo(cls, arr: bcoo.BCOO) -> BCSR:
        """Return a sparse array of two axes by its rows.

        Example:
            >>> from tinyjax.experimental import sparse
            >>> sparse.BCSR.from_bcoo(sparse.eye(2)).indptr
            Array([0, 1, 2], dtype=int32)
        """
        if arr.ndim != 2:
            raise errors.ShapeError(f"BCSR holds matrices, but got {arr}.")
        arr = arr.with_dense()
        sorted_ = arr if arr.indices_sorted else arr.sort_indices()
        rows, columns = sorted_.indices[:, 0], sorted_.indices[:, 1]
        starts = jnp.searchsorted(rows, jnp.arange(arr.shape[0] + 1))
        return cls(
            (sorted_.data, columns, starts.astype(columns.dtype)),
            shape=arr.shape,
            indices_sorted=True,
            unique_indices=arr.unique_indices,
        )

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: dtypes.DTypeLike = dtypes.int32) -> BCSR:
        """Return SciPy's sparse matrix by its rows.

        Example:
            >>> import scipy.sparse
            >>> from tinyjax.experimental.sparse import BCSR
            >>> BCSR.from_scipy_sparse(scipy.sparse.eye(3, dtype="float32"))
            BCSR(float32[3, 3], nse=3)
        """
        csr, dtype = mat.tocsr(), dtypes.check(index_dtype)
        parts = (csr.data, csr.indices.astype(dtype), csr.indptr.astype(dtype))
        return cls(parts, shape=csr.shape)

    @base.of_each
    def to_bcoo(self) -> bcoo.BCOO:
        """Return the matrix by the coordinates of its elements.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCSR
            >>> BCSR.fromdense(jnp.array([[0, 2], [1, 3]])).to_bcoo().indices
            Array([[0, 1],
                   [1, 0],
                   [1, 1]], dtype=int32)
        """
        places = jnp.arange(self.nse, dtype=self.indices.dtype)
        rows = jnp.searchsorted(self.indptr, places, side="right") - 1
        columns = jnp.where(rows < self.shape[0], self.indices, self.shape[1])
        return bcoo.BCOO(
            (self.data, jnp.stack([rows.astype(self.indices.dtype), columns], 1)),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def todense(self) -> Array:
        """Return the dense matrix.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCSR
            >>> BCSR.fromdense(jnp.array([[0, 2], [1, 3]])).todense()
            Array([[0, 2],
                   [1, 3]], dtype=int32)
        """
        return self.to_bcoo().todense()

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """Return the matrix with one element for each place; see ``BCOO.sum_duplicates``.

        Example:
            >>> from tinyjax.experimental.sparse import BCSR
            >>> twice = BCSR(([1.0, 2.0], [1, 1], [0, 2]), shape=(1, 3))
            >>> twice.sum_duplicates().data
            Array([3.], dtype=float32)
        """
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))

    def transpose(self) -> BCSR:
        """Return the transposed matrix, by its rows.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental.sparse import BCSR
            >>> BCSR.fromdense(jnp.array([[0, 2], [1, 3]])).transpose().todense()
            Array([[0, 1],
                   [2, 3]], dtype=int32)
        """
        return BCSR.from_bcoo(self.to_bcoo().T)

    def __matmul__(self, other: ArrayLike) -> Any:
        return self.to_bcoo() @ other

    def __rmatmul__(self, other: ArrayLike) -> Any:
        return other @ self.to_bcoo()
