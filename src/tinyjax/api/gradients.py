"""``grad`` and ``value_and_grad``: the derivative of a scalar, by one pull-back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar

from tinyjax import tree
from tinyjax.api.arguments import Choice, choose
from tinyjax.api.tangents import without_tracers
from tinyjax.core.array import Array
from tinyjax.core.calling import FlatFunction, watched
from tinyjax.core.checking import checked
from tinyjax.core.primitive import ZERO, Tangent
from tinyjax.errors import DifferentiationError
from tinyjax.frames import describe_function
from tinyjax.primitives.shape import full_like, zero_tangent
from tinyjax.transforms.linearize import linearize_flat
from tinyjax.tree import PyTreeDef

P = ParamSpec("P")
R = TypeVar("R")


@checked
def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, tuple[R, Any]]:
    """Return a function that computes both the value and the gradient of a scalar function.

    Args:
        fun: returns a scalar float (or a pair of one and auxiliary data).
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns a pair, of which the second part is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        allow_int: whether integer arguments may be differentiated; their gradient is of dtype
            float0.

    Returns:
        A function of the same signature that returns ``(value, gradient)``, where ``value`` is what
        ``fun`` returns. The gradient is a tree like the argument, or a tuple of such for several.
        For complex arguments it is the conjugate of the direction of steepest ascent, as in JAX.

    Raises:
        DifferentiationError: when called, if the value is not a scalar float, or an argument is not
            float (or complex, with ``holomorphic``).

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> value, gradient = tinyjax.value_and_grad(lambda w: jnp.sum(w**2))(jnp.array([1.0, 2.0]))
        >>> float(value), gradient
        (5.0, Array([2., 4.], dtype=float32))
    """
    choice = choose("value_and_grad", fun, argnums, holomorphic)

    @partial(watched, named=fun)
    def computed(*args: P.args, **kwargs: P.kwargs) -> tuple[R, Any]:
        value, gradient, aux = _gradient(choice, args, kwargs, has_aux, allow_int)
        result: Any = (value, aux) if has_aux else value
        return result, gradient

    return computed


@checked
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the gradient of a scalar function.

    Args:
        fun: returns a scalar float (or a pair of one and auxiliary data).
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns a pair, of which the second part is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        allow_int: whether integer arguments may be differentiated; their gradient is of dtype
            float0.

    Returns:
        A function of the same signature that returns the gradient: a tree like the argument, or a
        tuple of such for several; with ``has_aux`` the pair ``(gradient, aux)``.

    Raises:
        DifferentiationError: when called, if the value is not a scalar float, or an argument is not
            float (or complex, with ``holomorphic``).

    Example:
        >>> import tinyjax
        >>> float(tinyjax.grad(lambda x: x**3 if x > 0 else -x)(2.0))
        12.0
    """
    choice = choose("grad", fun, argnums, holomorphic)

    @partial(watched, named=fun)
    def computed(*args: P.args, **kwargs: P.kwargs) -> Any:
        _, gradient, aux = _gradient(choice, args, kwargs, has_aux, allow_int)
        return (gradient, aux) if has_aux else gradient

    return computed


def _gradient(
    choice: Choice,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_aux: bool,
    allow_int: bool,
) -> tuple[Array, Any, Any]:
    """The value, the gradient, and the auxiliary data."""
    chosen = choice.take(args, kwargs)
    chosen.check(allow_int)
    primals = chosen.primals
    flat = FlatFunction(chosen, chosen.in_tree, has_aux, choice.fun)
    linearized = linearize_flat(flat, primals, None, choice.fun)
    if flat.out_tree is not tree.LEAF or linearized.primals_out[0].shape:
        raise DifferentiationError(
            f"{choice.name} needs a scalar result, but {describe_function(choice.fun)} returned "
            f"{_describe_result(linearized.primals_out, flat.out_tree)}. Reduce it, for instance "
            "with jnp.sum, or use tinyjax.jacrev or tinyjax.vjp."
        )
    (out,) = linearized.primals_out
    choice.check_result(out)
    found: list[Tangent] = [ZERO] * len(primals)
    if linearized.nonzero_out[0]:
        found = linearized.pull_back([full_like(out, 1)])
    gradient = chosen.result(
        [zero_tangent(x.aval) if ct is ZERO else ct for x, ct in zip(primals, found, strict=True)]
    )
    return out, gradient, without_tracers(flat.aux) if has_aux else None


def _describe_result(outs: Sequence[Array], out_tree: PyTreeDef) -> str:
    if out_tree is tree.LEAF:
        return f"an array of type {outs[0].aval}"
    return f"{out_tree}"
