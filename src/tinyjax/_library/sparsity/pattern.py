"""Patterns: which elements of a matrix may differ from zero, kept by rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import errors
from tinyjax.dtypes import HostArray

#: Patterns are not computed by way of more elements than this: they take hundreds of megabytes.
_MOST_ELEMENTS: Final = 2**26


@attrs.frozen(eq=False, repr=False)
class SparsityPattern:
    """The positions where a matrix may differ from zero.

    Attributes:
        shape: the numbers of rows and of columns.
        starts: where each row starts in ``columns``, and at the end their number: of shape
            (rows + 1,).
        columns: the columns of the elements that may differ from zero, in order, row by row: of
            shape (nnz,).

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> pattern = tinyjax.autodiff.jacobian_sparsity(jnp.diff, jnp.ones(4))
        >>> pattern
        SparsityPattern(3×4, nnz=6)
        >>> pattern.todense().astype(int)
        array([[1, 1, 0, 0],
               [0, 1, 1, 0],
               [0, 0, 1, 1]])
    """

    shape: tuple[int, int]
    starts: HostArray
    columns: HostArray

    @property
    def nnz(self) -> int:
        """The number of elements that may differ from zero."""
        return len(self.columns)

    @property
    def counts(self) -> HostArray:
        """The number of such elements in each row, of shape (rows,)."""
        return np.diff(self.starts)

    @property
    def rows(self) -> HostArray:
        """The rows of the elements, of shape (nnz,)."""
        return np.repeat(np.arange(self.shape[0]), self.counts)

    @property
    def T(self) -> SparsityPattern:
        """The pattern of the transposed matrix."""
        m, n = self.shape
        order = np.argsort(self.columns, kind="stable")
        return SparsityPattern((n, m), starts_of(self.columns, n), self.rows[order])

    def todense(self) -> HostArray:
        """Return an array of bools, of the pattern's shape.

        Example:
            >>> from tinyjax._library.sparsity import pattern
            >>> pattern.identity(2).todense().astype(int)
            array([[1, 0],
                   [0, 1]])
        """
        dense = np.zeros(self.shape, np.bool_)
        dense[self.rows, self.columns] = True
        return dense

    def to_scipy(self) -> Any:
        """Return a ``scipy.sparse.csr_array`` of bools, as SciPy takes patterns.

        Raises:
            ArgumentError: SciPy is not installed.

        Example:
            >>> from tinyjax._library.sparsity import pattern
            >>> pattern.identity(3).to_scipy().nnz
            3
        """
        return of_scipy("csr_array")(
            (np.ones(self.nnz, np.bool_), self.columns, self.starts), shape=self.shape
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        return np.asarray(self.todense(), dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]}×{self.shape[1]}, nnz={self.nnz})"

    # What patterns are put together with

    def equals(self, other: SparsityPattern) -> bool:
        """Return whether two patterns of one shape are the same.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> pattern = tinyjax.autodiff.jacobian_sparsity(jnp.sin, jnp.ones(3))
            >>> pattern.equals(pattern.T)
            True
        """
        return self is other or (
            self.nnz == other.nnz
            and np.array_equal(self.starts, other.starts)
            and np.array_equal(self.columns, other.columns)
        )

    def times(self, other: SparsityPattern) -> SparsityPattern:
        """Return the pattern of a product of matrices.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> step = tinyjax.autodiff.jacobian_sparsity(lambda x: x + jnp.roll(x, 1), jnp.ones(4))
            >>> step.times(step)
            SparsityPattern(4×4, nnz=12)
        """
        shape = self.shape[0], other.shape[1]
        if self is identity(self.shape[0]):
            return other
        if other is identity(other.shape[0]):
            return self
        counts = other.counts[self.columns]
        ends = np.cumsum(counts)
        starts = np.concatenate([[0], ends])[self.starts]
        check_size(int(starts[-1]))
        first = other.starts[self.columns] - ends + counts
        columns = other.columns[np.repeat(first, counts) + np.arange(int(starts[-1]))]
        product = SparsityPattern(shape, starts, columns)
        return product if self.counts.max(initial=0) <= 1 else product._in_order()

    def _in_order(self) -> SparsityPattern:
        """Return the pattern with sorted, distinct columns in each row."""
        m, n = self.shape
        keys = self.rows * n + self.columns
        if m * n <= 16 * keys.size:
            marks = np.zeros(m * n, np.bool_)
            marks[keys] = True
            keys = np.flatnonzero(marks)
        else:
            keys.sort()
            keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys
        rows, columns = np.divmod(keys, max(n, 1))
        return SparsityPattern(self.shape, starts_of(rows, m), columns)

    def select_rows(self, rows: HostArray) -> SparsityPattern:
        """Return the pattern of some rows, given by number; -1 stands for a row of zeros.

        Example:
            >>> import numpy as np
            >>> from tinyjax._library.sparsity import pattern
            >>> pattern.identity(3).select_rows(np.array([2, -1])).todense().astype(int)
            array([[0, 0, 1],
                   [0, 0, 0]])
        """
        return picked(rows, self.shape[0]).times(self)

    def between(self, first: int, last: int) -> SparsityPattern:
        """Return the pattern of the columns from one to before another.

        Example:
            >>> from tinyjax._library.sparsity import pattern
            >>> pattern.identity(3).between(1, 3).todense().astype(int)
            array([[0, 0],
                   [1, 0],
                   [0, 1]])
        """
        inside = (self.columns >= first) & (self.columns < last)
        starts = np.concatenate([[0], np.cumsum(inside)])[self.starts]
        return SparsityPattern((self.shape[0], last - first), starts, self.columns[inside] - first)

    def embedded(self, first: int, columns: int) -> SparsityPattern:
        """Return the pattern of a wider matrix that has these columns from ``first`` on.

        Example:
            >>> from tinyjax._library.sparsity import pattern
            >>> pattern.identity(2).embedded(1, 4).todense().astype(int)
            array([[0, 1, 0, 0],
                   [0, 0, 1, 0]])
        """
        return SparsityPattern((self.shape[0], columns), self.starts, self.columns + first)

    def kron(self, other: SparsityPattern) -> SparsityPattern:
        """Return the pattern of a Kronecker product.

        Example:
            >>> from tinyjax._library.sparsity import pattern
            >>> pattern.identity(2).kron(pattern.identity(3))
            SparsityPattern(6×6, nnz=6)
        """
        (m, n), (p, q) = self.shape, other.shape
        for whole, number in ((self, other), (other, self)):
            if number.shape == (1, 1) and number.nnz:
                return whole
        check_size(self.nnz * other.nnz)
        rows = (self.rows[:, None] * p + other.rows).ravel()
        columns = (self.columns[:, None] * q + other.columns).ravel()
        return of_pairs(rows, columns, (m * p, n * q))

    def also(self, *others: SparsityPattern) -> SparsityPattern:
        """Return where one of several matrices may differ from zero.

        Example:
            >>> from tinyjax._library.sparsity import pattern
            >>> upper = pattern.identity(1).embedded(1, 2).select_rows([0, -1])
            >>> pattern.identity(2).also(upper).todense().astype(int)
            array([[1, 1],
                   [0, 1]])
        """
        rest = [x for x in others if x is not self and x.nnz]
        if not rest:
            return self
        if not self.nnz:
            return rest[0].also(*rest[1:])
        if all(map(self.equals, rest)):
            return self
        parts = [self, *rest]
        check_size(sum(x.nnz for x in parts))
        rows = np.concatenate([x.rows for x in parts])
        return of_pairs(rows, np.concatenate([x.columns for x in parts]), self.shape)

    def meets(self, other: SparsityPattern) -> SparsityPattern:
        """Return where two matrices may both differ from zero.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> step = tinyjax.autodiff.jacobian_sparsity(lambda x: x + jnp.roll(x, 1), jnp.ones(4))
            >>> step.meets(step.T)
            SparsityPattern(4×4, nnz=4)
        """
        n = max(self.shape[1], 1)
        keys = np.intersect1d(
            self.rows * n + self.columns, other.rows * n + other.columns, assume_unique=True
        )
        rows, columns = np.divmod(keys, n)
        return SparsityPattern(self.shape, starts_of(rows, self.shape[0]), columns)


def check_size(elements: int) -> None:
    """Check that the pattern is not too large to be computed.

    Raises:
        ArgumentError: it is.
    """
    if elements > _MOST_ELEMENTS:
        raise errors.ArgumentError(
            f"the pattern of this derivative, or of one on the way to it, has {elements} elements "
            f"or more, and at most {_MOST_ELEMENTS} are kept track of: it is not sparse. Take a "
            "product with it (tinyjax.jvp, tinyjax.vjp, tinyjax.autodiff.hvp) in its place."
        )


def of_scipy(name: str) -> Callable[..., Any]:
    """Return a class of ``scipy.sparse``, which is slow to load.

    Raises:
        ArgumentError: SciPy is not installed.
    """
    try:
        kind: Callable[..., Any] = getattr(import_module("scipy.sparse"), name)
    except ModuleNotFoundError:
        raise errors.ArgumentError(
            "matrices of scipy.sparse need SciPy: install it, or ask for sparse=True."
        ) from None
    return kind


def starts_of(rows: HostArray, m: int) -> HostArray:
    """Return the start of each row among elements in order, from their rows in any order."""
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=m))])


@lru_cache(maxsize=64)
def identity(n: int) -> SparsityPattern:
    """Return the pattern of an identity matrix."""
    return SparsityPattern((n, n), np.arange(n + 1), np.arange(n))


def triangle(n: int) -> SparsityPattern:
    """Return the pattern of a lower triangular matrix."""
    starts = np.cumsum(np.arange(n + 1))
    columns = np.arange(starts[-1]) - np.repeat(starts[:-1], np.arange(1, n + 1))
    return SparsityPattern((n, n), starts, columns)


def none(m: int, n: int) -> SparsityPattern:
    """Return the pattern of zeros."""
    return SparsityPattern((m, n), np.zeros(m + 1, np.int64), np.zeros(0, np.int64))


def of_pairs(rows: HostArray, columns: HostArray, shape: tuple[int, int]) -> SparsityPattern:
    """Return the pattern of elements in any order, which may be repeated."""
    if rows.size > 1 and (np.diff(rows) < 0).any():
        order = np.argsort(rows, kind="stable")
        columns = columns[order]
    pattern = SparsityPattern(shape, starts_of(rows, shape[0]), columns)
    return pattern._in_order()


def picked(sources: HostArray, n: int) -> SparsityPattern:
    """Return the pattern with one element at most in each row: its column, or -1 for none."""
    flat = np.ravel(sources)
    if flat.size == n and np.array_equal(flat, np.arange(n)):
        return identity(n)
    has = flat >= 0
    return SparsityPattern((flat.size, n), np.concatenate([[0], np.cumsum(has)]), flat[has])


def grouping(groups: HostArray, m: int) -> SparsityPattern:
    """Return the pattern that adds up elements by groups, given the group of each."""
    flat = np.ravel(groups)
    order = np.argsort(flat, kind="stable")
    return SparsityPattern((m, flat.size), starts_of(flat, m), order)


def full(m: int, n: int) -> tuple[SparsityPattern, SparsityPattern]:
    """Return the pattern of a matrix without zeros, as a product of two with few elements."""
    return picked(np.zeros(m, np.intp), 1), grouping(np.zeros(n, np.intp), 1)


def stacked(parts: Sequence[SparsityPattern], columns: int) -> SparsityPattern:
    """Return the pattern of matrices with as many columns, one below the other."""
    if len(parts) == 1:
        return parts[0]
    starts, nnz = [np.zeros(1, np.intp)], 0
    for part in parts:
        starts.append(part.starts[1:] + nnz)
        nnz += part.nnz
    elements = [part.columns for part in parts] or [np.zeros(0, np.intp)]
    rows = sum(part.shape[0] for part in parts)
    return SparsityPattern((rows, columns), np.concatenate(starts), np.concatenate(elements))
