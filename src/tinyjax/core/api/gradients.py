"""``grad`` and ``value_and_grad``: the derivative of a scalar, by one pull-back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import NoneType
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from tinyjax import errors, tree
from tinyjax._base import frames
from tinyjax.core.api import arguments, typed
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing import calling, checking, primitive as prim
from tinyjax.core.tracing.watching import watched
from tinyjax.core.transforms.linearize import linearize_flat
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.tree.treedef import in_words

P = ParamSpec("P")
R = TypeVar("R", bound=ArrayLike)
X = TypeVar("X")
# Bounds, so that the parameters of a lambda are Any and not of an unknown type.
A = TypeVar("A", bound=Any)
B = TypeVar("B", bound=Any)
C = TypeVar("C", bound=Any)


@overload
def value_and_grad(
    fun: typed.L | typed.Unannotated,
    argnums: Literal[0] = ...,
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
) -> typed.ValueAndGradientOfNumber: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[A, P], R],
    argnums: Literal[0] = ...,
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
) -> Callable[Concatenate[A, P], tuple[R, A]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[A, P], tuple[R, X]],
    argnums: Literal[0] = ...,
    *,
    has_aux: Literal[True],
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
) -> Callable[Concatenate[A, P], tuple[tuple[R, X], A]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[A, B, P], R],
    argnums: Literal[1],
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
) -> Callable[Concatenate[A, B, P], tuple[R, B]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[A, B, P], R],
    argnums: tuple[Literal[0], Literal[1]],
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
) -> Callable[Concatenate[A, B, P], tuple[R, tuple[A, B]]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[A, B, C, P], R],
    argnums: tuple[Literal[0], Literal[2]],
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
) -> Callable[Concatenate[A, B, C, P], tuple[R, tuple[A, C]]]: ...
@overload
def value_and_grad(
    fun: Callable[..., ArrayLike],
    argnums: int | Sequence[int] = ...,
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
    memory_budget: int | None = ...,
) -> Any: ...
@overload
def value_and_grad(
    fun: Callable[..., tuple[ArrayLike, object]],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: bool,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
    memory_budget: int | None = ...,
) -> Any: ...
@checking.checked
def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: tuple[()] = (),
    memory_budget: int | None = None,
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes both the value and the gradient of a scalar function.

    Args:
        fun: returns a scalar float (or a pair of a scalar float and auxiliary data).
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        allow_int: whether integer arguments may be differentiated; their gradient is of dtype
            float0.
        reduce_axes: must be empty: sum over a mapped axis within ``fun``, by ``lax.psum``.
        memory_budget: the bytes that the compiled program may need besides the arguments, for the
            gradient and in between. What does not fit is computed again: which values, the library
            chooses (``autodiff.memory_plan`` shows it). None to keep all that is needed.

    Returns:
        A function of the same signature that returns ``(value, gradient)``, where ``value`` is what
        ``fun`` returns. The gradient is a tree like the argument; with several ``argnums``, a tuple
        of such trees.
        For complex arguments it is the conjugate of the direction of steepest ascent, as in JAX.

    Raises:
        DifferentiationError: when called, if the value is not a scalar float, or an argument is not
            float (or complex, with ``holomorphic``).
        ArgumentError: ``reduce_axes`` is not empty; or, when called, ``memory_budget`` is less than
            the least possible one, which the message gives.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> value, gradient = tinyjax.value_and_grad(lambda w: jnp.sum(w**2))(jnp.array([1.0, 2.0]))
        >>> float(value), gradient
        (5.0, Array([2., 4.], dtype=float32))
    """
    if reduce_axes:
        raise _axes_are_not_reduced("value_and_grad", reduce_axes)
    choice = arguments.DifferentiatedArguments(
        "value_and_grad", fun, argnums, holomorphic, memory_budget
    )

    @partial(watched, named=fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        value, gradient, aux = _gradient(choice, args, kwargs, has_aux, allow_int)
        result: Any = (value, aux) if has_aux else value
        return result, gradient

    return value_and_gradient


@overload
def grad(
    fun: typed.L | typed.Unannotated,
    argnums: Literal[0] = ...,
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
) -> typed.GradientOfNumber: ...
@overload
def grad(
    fun: Callable[Concatenate[A, P], ArrayLike],
    argnums: Literal[0] = ...,
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
) -> Callable[Concatenate[A, P], A]: ...
@overload
def grad(
    fun: Callable[Concatenate[A, P], tuple[ArrayLike, X]],
    argnums: Literal[0] = ...,
    *,
    has_aux: Literal[True],
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
) -> Callable[Concatenate[A, P], tuple[A, X]]: ...
@overload
def grad(
    fun: Callable[Concatenate[A, B, P], ArrayLike],
    argnums: Literal[1],
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
) -> Callable[Concatenate[A, B, P], B]: ...
@overload
def grad(
    fun: Callable[Concatenate[A, B, P], ArrayLike],
    argnums: tuple[Literal[0], Literal[1]],
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
) -> Callable[Concatenate[A, B, P], tuple[A, B]]: ...
@overload
def grad(
    fun: Callable[Concatenate[A, B, C, P], ArrayLike],
    argnums: tuple[Literal[0], Literal[2]],
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
) -> Callable[Concatenate[A, B, C, P], tuple[A, C]]: ...
@overload
def grad(
    fun: Callable[..., ArrayLike],
    argnums: int | Sequence[int] = ...,
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
    memory_budget: int | None = ...,
) -> Any: ...
@overload
def grad(
    fun: Callable[..., tuple[ArrayLike, object]],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: bool,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: tuple[()] = ...,
    memory_budget: int | None = ...,
) -> Any: ...
@checking.checked
def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: tuple[()] = (),
    memory_budget: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes the gradient of a scalar function.

    Args:
        fun: returns a scalar float (or a pair of a scalar float and auxiliary data).
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        allow_int: whether integer arguments may be differentiated; their gradient is of dtype
            float0.
        reduce_axes: must be empty: sum over a mapped axis within ``fun``, by ``lax.psum``.
        memory_budget: the bytes that the compiled program may need besides the arguments, for the
            gradient and in between. What does not fit is computed again: which values, the library
            chooses (``autodiff.memory_plan`` shows it). None to keep all that is needed.

    Returns:
        A function of the same signature that returns the gradient: a tree like the argument; with
        several ``argnums``, a tuple of such trees; with ``has_aux``, the pair ``(gradient, aux)``.

    Raises:
        DifferentiationError: when called, if the value is not a scalar float, or an argument is not
            float (or complex, with ``holomorphic``).
        ArgumentError: ``reduce_axes`` is not empty; or, when called, ``memory_budget`` is less than
            the least possible one, which the message gives.

    Example:
        >>> import tinyjax
        >>> float(tinyjax.grad(lambda x: x**3 if x > 0 else -x)(2.0))
        12.0
    """
    if reduce_axes:
        raise _axes_are_not_reduced("grad", reduce_axes)
    choice = arguments.DifferentiatedArguments("grad", fun, argnums, holomorphic, memory_budget)

    @partial(watched, named=fun)
    def gradient_at(*args: Any, **kwargs: Any) -> Any:
        _, gradient, aux = _gradient(choice, args, kwargs, has_aux, allow_int)
        return (gradient, aux) if has_aux else gradient

    return gradient_at


def _axes_are_not_reduced(name: str, reduce_axes: Sequence[Any]) -> errors.ArgumentError:
    return errors.ArgumentError(
        f"reduce_axes of {name} must be empty, but it is {reduce_axes!r}. Sum the function's "
        "result over the axis: lax.psum(result, axis_name)."
    )


def _gradient(
    choice: arguments.DifferentiatedArguments,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_aux: bool,
    allow_int: bool,
) -> tuple[Array, Any, Any]:
    """Return the value, the gradient, and the auxiliary data."""
    chosen = arguments.DifferentiatedCall(choice, args, kwargs)
    chosen.check(allow_int)
    primals, budget = chosen.primals, choice.memory_budget
    fun = chosen if budget is None else chosen.with_budget(budget)
    flat = calling.FlatFunction(fun, chosen.in_tree, has_aux, choice.fun)
    linearized = linearize_flat(flat, primals, None, choice.applied, transposed=True)
    if flat.out_tree is not tree.LEAF or (aval := linearized.primals_out[0].aval).shape:
        raise errors.DifferentiationError(
            f"{choice.name} is only defined for scalar-output functions, but "
            f"{frames.describe_function(choice.fun)} returned "
            f"{_describe_result(linearized.primals_out, flat.out_tree)}"
        )
    (out,) = linearized.primals_out
    choice.check_result(aval)
    cotangents: list[prim.Tangent] = [prim.ZERO] * len(primals)
    if linearized.nonzero_out[0]:
        one = opd.splat(1, aval)
        if aval.where is not None:
            one = aval.cotangent().with_layout_of(one)
        cotangents = linearized.pull_back([one])
    for i, ct in enumerate(cotangents):
        if ct is prim.ZERO:
            cotangents[i] = sh.zero_tangent(primals[i].aval.cotangent())
    gradient = chosen.result(cotangents)
    return out, gradient, arguments.without_tracers(flat.aux) if has_aux else None


def _describe_result(outs: Sequence[Array], out_tree: tree.PyTreeDef) -> str:
    if out_tree.node_type is NoneType:
        return "None. Is a return statement missing?"
    if out_tree.node_type is tuple and outs and not outs[0].shape:
        return f"{in_words(out_tree)}. To return more than the value, pass has_aux=True."
    kind = f"an array of type {outs[0].aval}" if out_tree is tree.LEAF else in_words(out_tree)
    return f"{kind}. Reduce it, for instance with jnp.sum, or use tinyjax.jacrev or tinyjax.vjp."
