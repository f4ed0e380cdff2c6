"""The common part of all kinds of sparse arrays."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax._base import frames
from tinyjax.core import api
from tinyjax.core.values import Array, integers as ints

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="JAXSparse")


def of_each(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Return a method that a batch of sparse arrays applies to each of them."""

    @frames.wraps(method)
    def mapped(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if not self.n_batch:
            return method(self, *args, **kwargs)
        results: R = api.vmap(lambda each: mapped(each, *args, **kwargs))(self)
        return results

    return mapped


def arrays_of(name: str, args: object, count: int) -> list[Array]:
    """Return the arrays that a sparse array is made of.

    Raises:
        ArgumentError: they are not as many, or not arrays.
    """
    arrays = [jnp.asarray(x) for x in ints.listed(args, f"args of {name}")]
    if len(arrays) != count:
        raise errors.ArgumentError(f"{name} is made of {count} arrays, but args has {len(arrays)}.")
    return arrays


class JAXSparse(ABC):
    """A sparse array, ``BCOO`` or ``BCSR``: elements and where they are.

    Where a function under ``vmap`` returns a sparse array, the result is a batch of them, with an
    axis in front of the others. A batch is made dense, multiplied by an array and sorted; all else
    is written with ``vmap`` again.

    Attributes:
        data: the elements, behind the axes of a batch and before dense ones.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> isinstance(sparse.BCOO.fromdense(jnp.eye(2)), sparse.JAXSparse)
        True
    """

    __slots__ = ()
    # so that an array to the left leaves the operators to this class
    __array_ufunc__ = None

    data: Array
    _sparse_shape: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array, or of a batch of arrays."""
        n = self.n_batch
        return (*self.data.shape[:n], *self._sparse_shape, *self.data.shape[n + 1 :])

    def __len__(self) -> int:
        if not self.shape:
            raise errors.ArgumentError("a sparse array without axes has no length.")
        return self.shape[0]

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        axes = {"n_batch": self.n_batch, "n_dense": self.n_dense}
        others = "".join([f", {name}={n}" for name, n in axes.items() if n])
        return f"{type(self).__name__}({self.dtype.name}[{sizes}], nse={self.nse}{others})"

    @property
    def dtype(self) -> dtypes.DType:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements of the dense array."""
        return math.prod(self.shape)

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes: all but those of a batch, and dense ones."""
        return len(self._sparse_shape)

    @property
    def n_batch(self) -> int:
        """The number of axes of a batch."""
        return self.data.ndim - 1 - self.n_dense

    @property
    def n_dense(self) -> int:
        """The number of dense axes, along which an element is an array."""
        return 0

    @property
    def nse(self) -> int:
        """The number of stored elements."""
        return self.data.shape[self.n_batch]

    def block_until_ready(self) -> Self:
        """Wait until the elements have been computed, and return the array.

        Example:
            >>> from tinyjax.experimental import sparse
            >>> sparse.eye(2).block_until_ready()
            BCOO(float32[2, 2], nse=2)
        """
        self.data.block_until_ready()
        return self

    @abstractmethod
    def todense(self) -> Array:
        """Return the dense array.

        Example:
            >>> from tinyjax.experimental import sparse
            >>> sparse.eye(2).todense()
            Array([[1., 0.],
                   [0., 1.]], dtype=float32)
        """

    @abstractmethod
    def transpose(self) -> Self:
        """Return the array with its axes reversed.

        Example:
            >>> from tinyjax.experimental import sparse
            >>> sparse.empty((2, 3)).transpose().shape
            (3, 2)
        """

    @property
    def T(self) -> Self:
        """The array with its axes reversed."""
        return self.transpose()

    @classmethod
    def tree_unflatten(cls, metadata: tuple[Any, ...], children: tuple[Any, ...]) -> Self:
        """Return a sparse array from the result of ``tree_flatten``.

        Example:
            >>> from tinyjax.experimental import sparse
            >>> arrays, metadata = sparse.eye(2).tree_flatten()
            >>> sparse.BCOO.tree_unflatten(metadata, arrays)
            BCOO(float32[2, 2], nse=2)
        """
        self = cls.__new__(cls)
        initialise: Any = self
        initialise.__attrs_init__(*children, *metadata)
        return self
