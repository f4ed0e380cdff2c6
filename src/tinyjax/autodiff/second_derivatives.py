"""``hessian``: matrices of second derivatives, dense and sparse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Never

from tinyjax.autodiff.accumulation import Sparse, sparse_derivative
from tinyjax.core.names import ck, jacobians, mapping, typed


def _of_second_order(function: Callable[..., Any]) -> typed.Jacobians[Never, Never, Sparse, Never]:
    transform: Callable[..., Any] = ck.checked(function)
    return transform


@_of_second_order
def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
    sparse: Sparse = False,
) -> Callable[..., Any]:
    """Return a function that computes the matrix of second derivatives, forward over reverse.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        chunk_size: how many columns to compute at once, and how many rows of each where ``fun`` is
            no scalar, to save memory.
        sparse: whether to return sparse arrays, as ``jacobian`` does, from products with few
            vectors. ``fun`` must return one float. Its second derivatives are taken to be symmetric
            unless functions with rules for derivatives are in it.

    Returns:
        A function of the same signature. For a scalar ``fun`` of one array ``x``, its result has
        shape ``x.shape + x.shape``.

    Raises:
        ArgumentError: ``chunk_size`` is not positive; or the Hessian is not sparse.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.hessian(lambda x: jnp.sum(x**3))(jnp.array([1.0, 2.0]))
        Array([[ 6.,  0.],
               [ 0., 12.]], dtype=float32)
        >>> tinyjax.hessian(lambda x: jnp.sum(x**3), sparse=True)(jnp.ones(1000))
        BCOO(float32[1000, 1000], nse=1000)
    """
    mapping.check_positive("hessian", chunk_size=chunk_size)
    if sparse:
        return sparse_derivative("hessian", fun, argnums, has_aux, holomorphic, chunk_size, sparse)
    rows = jacobians.jacrev(fun, argnums, has_aux, holomorphic, chunk_size=chunk_size)
    return jacobians.jacfwd(rows, argnums, has_aux, holomorphic, chunk_size=chunk_size)
