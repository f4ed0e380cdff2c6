"""Either mode of differentiation from the other, and products with second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, TypeVarTuple, overload

from tinyjax import numpy as jnp, random, tree
from tinyjax._base import frames
from tinyjax.autodiff.transposition import linear_transpose
from tinyjax.core import api
from tinyjax.core.api import arguments, mapping
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, operands as opd

A = TypeVar("A")
B = TypeVar("B")
Ts = TypeVarTuple("Ts")


@overload
def hvp(
    fun: Callable[[Array], Any], primals: tuple[ArrayLike], tangents: tuple[ArrayLike]
) -> Array: ...
@overload
def hvp(fun: Callable[[float], Any], primals: tuple[float], tangents: tuple[float]) -> Array: ...
@overload
def hvp(fun: Callable[[A], Any], primals: tuple[A], tangents: tuple[A]) -> A: ...
@overload
def hvp(fun: Callable[[A, B], Any], primals: tuple[A, B], tangents: tuple[A, B]) -> tuple[A, B]: ...
@overload
def hvp(
    fun: Callable[[A, B, *Ts], Any], primals: tuple[A, B, *Ts], tangents: tuple[A, B, *Ts]
) -> tuple[A, B, *Ts]: ...
@overload
def hvp(fun: Callable[..., Any], primals: list[Any], tangents: list[Any]) -> Any: ...
def hvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Multiply the matrix of second derivatives of a scalar function by a vector.

    The product is the derivative of the gradient along the vector, forward over reverse. It takes a
    small multiple of the work of ``fun`` and the memory of one gradient (B. A. Pearlmutter, *Fast
    exact multiplication by the Hessian*, Neural Computation 6, 1994).

    Args:
        fun: returns a scalar float.
        primals: the point: a tuple or list of the positional arguments of ``fun``.
        tangents: the vector: as many trees, each like its primal.

    Returns:
        A tree like the argument if there is one argument, else a tuple of such trees.

    Raises:
        ArgumentError: primals or tangents are not tuples or lists.
        TreeMismatchError: the trees of primals and tangents differ.
        DifferentiationError: the value is not a scalar float, or a tangent not of its primal's
            type.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x, v = jnp.array([1.0, 2.0]), jnp.array([1.0, 0.0])
        >>> tinyjax.autodiff.hvp(lambda x: x[0] ** 2 * x[1], (x,), (v,))
        Array([4., 2.], dtype=float32)
    """
    product = api.jvp(_gradient(fun, "hvp", primals), list(primals), list(tangents))[1]
    return product if len(primals) > 1 else product[0]


def gauss_newton_vp(
    fun: Callable[..., Any],
    loss: Callable[[Any], Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
) -> Any:
    """Multiply the Gauss-Newton matrix of ``loss(fun(...))`` by a vector.

    The matrix is ``J^T H J``, with the Jacobian J of ``fun`` and the Hessian H of ``loss`` at the
    result of ``fun``. It is the Hessian of ``loss(fun(...))`` without the second derivatives of
    ``fun``, and positive semi-definite where ``loss`` is convex (N. N. Schraudolph, *Fast curvature
    matrix-vector products for second-order gradient descent*, Neural Computation 14, 2002).

    ``fun`` is linearized once, for both J and its transpose. To multiply many vectors, use ``vmap``
    over ``tangents``: all vectors share the linearization.

    Args:
        fun: takes and returns arrays in any containers: a model.
        loss: takes what ``fun`` returns, and returns a scalar float.
        primals: the point: a tuple or list of the positional arguments of ``fun``.
        tangents: the vector: as many trees, each like its primal.

    Returns:
        A tree like the argument if there is one argument, else a tuple of such trees.

    Raises:
        ArgumentError: primals or tangents are not tuples or lists.
        TreeMismatchError: the trees of primals and tangents differ.
        DifferentiationError: ``loss`` does not return a scalar float, or a tangent is not of its
            primal's type.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> model, loss = lambda w: w**2, lambda y: jnp.sum((y - 1.0) ** 2) / 2
        >>> w, v = jnp.array([1.0, 3.0]), jnp.ones(2)
        >>> tinyjax.autodiff.gauss_newton_vp(model, loss, (w,), (v,))
        Array([ 4., 36.], dtype=float32)
    """
    arguments.check_per_argument("gauss_newton_vp", primals=primals, tangents=tangents)
    value, push = api.linearize(frames.Applied("gauss_newton_vp", fun), *primals)
    curved = hvp(frames.Applied("gauss_newton_vp", loss), (value,), (push(*tangents),))
    product = linear_transpose(push, *primals)(curved)
    return product if len(primals) > 1 else product[0]


@checking.explained
def hutchinson_trace(
    fun: Callable[..., Any], primals: Sequence[Any], key: Any, samples: int = 64
) -> Array:
    """Estimate the trace of the matrix of second derivatives of a scalar function.

    The estimate is the mean of ``v^T H v`` over vectors v of random signs (M. F. Hutchinson, *A
    stochastic estimator of the trace of the influence matrix*, 1989). Its variance is twice the sum
    of the squared off-diagonal elements, divided by ``samples``; for a diagonal matrix it is exact.
    The gradient is linearized once.

    Args:
        fun: returns a scalar float.
        primals: the point: a tuple or list of the positional arguments of ``fun``, of real floats.
        key: a key of ``tinyjax.random``.
        samples: how many vectors to draw; each takes one product.

    Returns:
        A scalar.

    Raises:
        ArgumentError: ``samples`` is not positive, or primals are no tuple or list.
        DifferentiationError: the value is not a scalar float, or an argument not of real floats.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x, key = jnp.array([1.0, 2.0, 3.0]), tinyjax.random.key(0)
        >>> float(tinyjax.autodiff.hutchinson_trace(lambda x: jnp.sum(x**3), (x,), key))
        36.0
    """
    mapping.check_positive("hutchinson_trace", samples=samples)
    gradient, push = api.linearize(_gradient(fun, "hutchinson_trace", primals), *primals)
    leaves, treedef = tree.flatten(gradient)
    directions = [
        random.rademacher(each, (samples, *opd.as_array(leaf).shape), opd.as_array(leaf).dtype)
        for each, leaf in zip(random.split(key, len(leaves)), leaves, strict=True)
    ]

    def quadratic(*direction: Array) -> Array:
        product = tree.leaves(push(*tree.unflatten(treedef, direction)))
        parts = [jnp.sum(v * w) for v, w in zip(direction, product, strict=True)]
        return sum(parts[1:], parts[0])

    return jnp.mean(api.vmap(quadratic)(*directions))


def _gradient(
    fun: Callable[..., Any], name: str, primals: Sequence[Any]
) -> Callable[..., tuple[Any, ...]]:
    """Return the gradient in all arguments, as a tuple."""
    arguments.check_per_argument(name, primals=primals)
    gradient: Callable[..., tuple[Any, ...]] = api.grad(
        frames.Applied(name, fun), tuple(range(len(primals)))
    )
    return gradient


# Either mode from the other


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
    arguments.check_per_argument("jvp_from_vjp", primals=primals, tangents=tangents)
    value, pull_back = api.vjp(frames.Applied("jvp_from_vjp", fun), *primals)
    origin = tree.map(lambda x: sh.zero_tangent(opd.as_array(x).aval), value)
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
        tangent: R = api.jvp(frames.Applied("vjp_from_jvp", fun), primals, tangents)[1]
        return tangent

    return fun(*primals), linear_transpose(push, *primals)
