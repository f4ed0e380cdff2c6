"""Functions that make sparse arrays, and derivatives in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax.core import api
from tinyjax.core.tracing import checking
from tinyjax.core.values import integers as ints, operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.dtypes import DTypeLike
from tinyjax.experimental.sparse import bcoo, bcsr

Format = Literal["bcoo", "bcsr"]


def _formatted(matrix: bcoo.BCOO, sparse_format: Format) -> bcoo.BCOO | bcsr.BCSR:
    match sparse_format:
        case "bcoo":
            return matrix
        case "bcsr":
            return bcsr.BCSR.from_bcoo(matrix)
        case _:
            raise errors.ArgumentError(
                f"the formats are 'bcoo' and 'bcsr', but sparse_format is {sparse_format!r}."
            )


def empty(
    shape: Sequence[int],
    dtype: DTypeLike = None,
    index_dtype: DTypeLike = dtypes.int32,
    sparse_format: Format = "bcoo",
) -> bcoo.BCOO | bcsr.BCSR:
    """Return a sparse array without elements.

    Raises:
        ArgumentError: there is no such format.

    Example:
        >>> from tinyjax.experimental import sparse
        >>> sparse.empty((2, 3))
        BCOO(float32[2, 3], nse=0)
    """
    sizes = ints.integers(shape, "shape")
    indices = jnp.zeros((0, len(sizes)), index_dtype)
    matrix = bcoo.BCOO(
        (jnp.zeros(0, dtype), indices), shape=sizes, indices_sorted=True, unique_indices=True
    )
    return _formatted(matrix, sparse_format)


@checking.explained
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike = None,
    index_dtype: DTypeLike = dtypes.int32,
    sparse_format: Format = "bcoo",
) -> bcoo.BCOO | bcsr.BCSR:
    """Return a sparse matrix with ones on a diagonal, as ``jnp.eye`` makes dense ones.

    Raises:
        ArgumentError: there is no such format.

    Example:
        >>> from tinyjax.experimental import sparse
        >>> sparse.eye(3, k=1).todense()
        Array([[0., 1., 0.],
               [0., 0., 1.],
               [0., 0., 0.]], dtype=float32)
    """
    columns = N if M is None else M
    first, shift = max(-k, 0), max(k, 0)
    count = max(min(N - first, columns - shift), 0)
    places = jnp.arange(count, dtype=index_dtype)
    indices = jnp.stack([places + first, places + shift], 1)
    matrix = bcoo.BCOO(
        (jnp.ones(count, dtype), indices),
        shape=(N, columns),
        indices_sorted=True,
        unique_indices=True,
    )
    return _formatted(matrix, sparse_format)


def todense(arr: bcoo.BCOO | bcsr.BCSR | ArrayLike) -> Array:
    """Return a sparse array as a dense one, and a dense one as it is.

    Example:
        >>> from tinyjax.experimental import sparse
        >>> sparse.todense(sparse.eye(2))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return arr.todense() if isinstance(arr, (bcoo.BCOO, bcsr.BCSR)) else opd.as_array(arr)


def _split(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return what of an argument is differentiated, and what puts it back."""
    if isinstance(x, bcoo.BCOO):
        return x.data, lambda data: bcoo.BCOO.tree_unflatten(x.tree_flatten()[1], (data, x.indices))
    if isinstance(x, bcsr.BCSR):
        rest = (x.indices, x.indptr)
        return x.data, lambda data: bcsr.BCSR.tree_unflatten(x.tree_flatten()[1], (data, *rest))
    return x, lambda value: value


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes a scalar function and its gradient, at the elements it has.

    Args:
        fun: a function whose arguments may be sparse arrays.
        argnums: the positions of the arguments differentiated.
        has_aux: whether ``fun`` returns a pair, of which the second is handed on.

    Returns:
        A function that returns the value and, for each argument, its gradient: sparse, with the
        argument's places, where that is sparse.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> loss = lambda m: ((m @ jnp.ones(2)) ** 2).sum()
        >>> value, slope = sparse.value_and_grad(loss)(sparse.eye(2) * 3.0)
        >>> float(value), slope.data.tolist()
        (18.0, [6.0, 6.0])
    """
    several = ints.integers(ints.one_or_more(argnums, "argnums"), "argnums")

    def call(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if any(not -len(args) <= i < len(args) for i in several):
            raise errors.ArgumentError(
                f"argnums={argnums} was given, but there are {len(args)} arguments."
            )
        splits = [_split(args[i]) for i in several]

        def of_data(data: tuple[Any, ...]) -> Any:
            operands = list(args)
            for i, value, (_, joined) in zip(several, data, splits, strict=True):
                operands[i] = joined(value)
            return fun(*operands, **kwargs)

        start = tuple([data for data, _ in splits])
        value, slopes = api.value_and_grad(of_data, has_aux=has_aux)(start)
        joined = tuple([join(x) for x, (_, join) in zip(slopes, splits, strict=True)])
        return value, joined[0] if isinstance(argnums, int) else joined

    return call


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return the gradient of a scalar function, at the elements its arguments have.

    Args:
        fun: a function whose arguments may be sparse arrays.
        argnums: the positions of the arguments differentiated.
        has_aux: whether ``fun`` returns a pair, of which the second is handed on.

    Returns:
        A function that returns the gradient, as ``value_and_grad`` does; with ``has_aux`` a pair of
        it and the second result.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> sparse.grad(lambda m: (m @ jnp.array([1.0, 2.0])).sum())(sparse.eye(2)).todense()
        Array([[1., 0.],
               [0., 2.]], dtype=float32)
    """
    both = value_and_grad(fun, argnums, has_aux)

    def call(*args: Any, **kwargs: Any) -> Any:
        value, slopes = both(*args, **kwargs)
        return (slopes, value[1]) if has_aux else slopes

    return call
