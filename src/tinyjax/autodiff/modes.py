"""Either mode of differentiation from the other, by transposition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tinyjax import tree
from tinyjax.core import api
from tinyjax.core.api.tangents import check_per_argument
from tinyjax.core.primitives.shape import zero_tangent
from tinyjax.core.values.operands import as_array

R = TypeVar("R")


def jvp_from_vjp(
    fun: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[R, R]:
    """Compute ``jvp`` by reverse mode alone, for functions that only have a rule for ``vjp``.

    The pull-back is linear in the cotangent. Its own pull-back, at any cotangent, is therefore the
    push-forward (J. Townsend, *A new trick for calculating Jacobian vector products*, 2017).

    Args:
        fun: takes and returns arrays in any containers.
        primals: the point: a tuple or list of the positional arguments of ``fun``.
        tangents: the direction: as many trees, each like its primal.

    Returns:
        ``(value, tangent)``, as ``jvp`` does. It takes a small multiple of the work of ``jvp``.

    Raises:
        ArgumentError: primals are not a tuple or list.
        TreeMismatchError: the trees of primals and tangents differ.
        DifferentiationError: a tangent is not of its primal's type.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.custom_vjp
        ... def cube(x):
        ...     return x**3
        >>> cube.defvjp(lambda x: (x**3, x), lambda x, ct: (3 * x**2 * ct,))
        >>> value, tangent = tinyjax.autodiff.jvp_from_vjp(cube, (2.0,), (1.0,))
        >>> float(value), float(tangent)
        (8.0, 12.0)
    """
    check_per_argument("jvp_from_vjp", primals=primals, tangents=tangents)
    value, pull_back = api.vjp(fun, *primals)
    origin = tree.map(lambda x: zero_tangent(as_array(x).aval), value)
    tangent: Any
    (tangent,) = api.vjp(pull_back, origin)[1](tuple(tangents))
    return value, tangent


def vjp_from_jvp(
    fun: Callable[..., R], *primals: Any
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]:
    """Compute ``vjp`` by forward mode and one transposition.

    The push-forward of ``jvp`` is linear in the tangents, so it can be transposed. This is how
    ``vjp`` itself works, written with public functions.

    Args:
        fun: takes and returns arrays of floats or complex numbers in any containers.
        primals: its positional arguments.

    Returns:
        ``(value, pull_back)``, as ``vjp`` does.

    Raises:
        DifferentiationError: an argument or a result is neither float nor complex, or the function
            has a rule for reverse mode only.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> value, pull_back = tinyjax.autodiff.vjp_from_jvp(lambda x, y: x * y, 2.0, 3.0)
        >>> [float(ct) for ct in pull_back(1.0)]
        [3.0, 2.0]
    """

    def push(*tangents: Any) -> R:
        return api.jvp(fun, primals, tangents)[1]

    return fun(*primals), api.linear_transpose(push, *primals)
