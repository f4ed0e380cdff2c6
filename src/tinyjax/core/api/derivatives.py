"""The two products from which derivatives are built: jvp and vjp, and linearize.

All are thin: they flatten containers, run a transformation of ``tinyjax.core.transforms`` on
functions of arrays, and rebuild containers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Required, TypedDict, TypeVar, TypeVarTuple, Unpack, overload

from tinyjax import tree
from tinyjax._base.frames import Applied
from tinyjax.core.api import arguments
from tinyjax.core.api.pullbacks import PullBack, Saveable, Structure, TangentMap, drop_unsaved
from tinyjax.core.primitives.shape import zero_tangent
from tinyjax.core.tracing import calling
from tinyjax.core.tracing.primitive import ZERO
from tinyjax.core.tracing.watching import watched
from tinyjax.core.transforms.jvp import jvp_flat
from tinyjax.core.transforms.linearize import linearize_flat
from tinyjax.core.values.array import Array, ArrayLike

R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
X = TypeVar("X")
Ts = TypeVarTuple("Ts")


class WithoutAux(TypedDict, total=False):
    """Options of ``vjp`` where the function returns its value alone."""

    has_aux: Literal[False]
    saveable_args: Saveable


class WithAux(TypedDict, total=False):
    """Options of ``vjp`` where the function returns auxiliary data, too."""

    has_aux: Required[Literal[True]]
    saveable_args: Saveable


@overload
def jvp(
    fun: Callable[[Array], R],
    primals: tuple[ArrayLike],
    tangents: tuple[ArrayLike],
    has_aux: Literal[False] = ...,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[[float], R],
    primals: tuple[float],
    tangents: tuple[float],
    has_aux: Literal[False] = ...,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[[Array, Array], R],
    primals: tuple[ArrayLike, ArrayLike],
    tangents: tuple[ArrayLike, ArrayLike],
    has_aux: Literal[False] = ...,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[[float, float], R],
    primals: tuple[float, float],
    tangents: tuple[float, float],
    has_aux: Literal[False] = ...,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[[*Ts], R],
    primals: tuple[*Ts],
    tangents: tuple[*Ts],
    has_aux: Literal[False] = ...,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[[*Ts], tuple[R, X]],
    primals: tuple[*Ts],
    tangents: tuple[*Ts],
    has_aux: Literal[True],
) -> tuple[R, R, X]: ...
@overload
def jvp(
    fun: Callable[[*tuple[A, ...]], R],
    primals: tuple[A, ...],
    tangents: tuple[A, ...] | list[A],
    has_aux: Literal[False] = ...,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., R],
    primals: list[Any],
    tangents: list[Any] | tuple[Any, ...],
    has_aux: Literal[False] = ...,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[R, X]],
    primals: list[Any],
    tangents: list[Any] | tuple[Any, ...],
    has_aux: Literal[True],
) -> tuple[R, R, X]: ...
@overload
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool
) -> tuple[Any, ...]: ...
@watched
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """Push a tangent through a function: its value, and its derivative in one direction.

    Args:
        fun: takes and returns arrays in any containers.
        primals: the point: a tuple or list of the positional arguments of ``fun``.
        tangents: the direction: a tuple or list with a tree like each primal, whose leaves have the
            primal's shapes and dtypes (dtype ``float0`` for integers and bools).
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.

    Returns:
        ``(value, tangent)``, or ``(value, tangent, aux)``. It takes a small multiple of the work
        of ``fun``.

    Raises:
        ArgumentError: primals or tangents are not tuples or lists.
        TreeMismatchError: the trees of primals and tangents differ.
        DifferentiationError: a tangent is not of its primal's type.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> value, tangent = tinyjax.jvp(jnp.sin, (0.0,), (2.0,))
        >>> float(value), float(tangent)
        (0.0, 2.0)
    """
    arguments.check_per_argument("jvp", primals=primals, tangents=tangents)
    leaves, in_tree = tree.flatten_arguments(tuple(primals), {})
    if refs := calling.whole_places(leaves):
        return calling.HOLDERS[type(leaves[refs[0]])].jvp(fun, primals, tangents, has_aux)
    args = calling.as_arrays(leaves, fun, in_tree)

    def path(i: int) -> str:
        return calling.argument_path(fun, in_tree, i)

    trees, avals = in_tree.children()[0], [x.aval for x in args]
    directions = arguments.as_tangents(tuple(tangents), trees, avals, "tangents", fun, path, "jvp")
    flat = calling.FlatFunction(fun, in_tree, has_aux)
    outs, out_tangents = jvp_flat(flat, args, directions, fun)
    value = tree.unflatten(flat.out_tree, outs)
    pairs = zip(outs, out_tangents, strict=True)
    filled = [zero_tangent(o.aval) if t is ZERO else t for o, t in pairs]
    tangent = tree.unflatten(flat.out_tree, filled)
    return (value, tangent, arguments.without_tracers(flat.aux)) if has_aux else (value, tangent)


@overload
def linearize(
    fun: Callable[[Array], R], x: ArrayLike, /, *, has_aux: Literal[False] = ...
) -> tuple[R, Callable[[ArrayLike], R]]: ...
@overload
def linearize(
    fun: Callable[[float], R], x: float, /, *, has_aux: Literal[False] = ...
) -> tuple[R, Callable[[float], R]]: ...
@overload
def linearize(
    fun: Callable[[Array, Array], R],
    x: ArrayLike,
    y: ArrayLike,
    /,
    *,
    has_aux: Literal[False] = ...,
) -> tuple[R, Callable[[ArrayLike, ArrayLike], R]]: ...
@overload
def linearize(
    fun: Callable[[float, float], R], x: float, y: float, /, *, has_aux: Literal[False] = ...
) -> tuple[R, Callable[[float, float], R]]: ...
@overload
def linearize(
    fun: Callable[[A], R], x: A, /, *, has_aux: Literal[False] = ...
) -> tuple[R, Callable[[A], R]]: ...
@overload
def linearize(
    fun: Callable[[A, B], R], x: A, y: B, /, *, has_aux: Literal[False] = ...
) -> tuple[R, Callable[[A, B], R]]: ...
@overload
def linearize(
    fun: Callable[[A, B, C], R], x: A, y: B, z: C, /, *, has_aux: Literal[False] = ...
) -> tuple[R, Callable[[A, B, C], R]]: ...
@overload
def linearize(
    fun: Callable[[A, B, C, D], R], x: A, y: B, z: C, u: D, /, *, has_aux: Literal[False] = ...
) -> tuple[R, Callable[[A, B, C, D], R]]: ...
@overload
def linearize(
    fun: Callable[[A, B, C, D, E], R],
    x: A,
    y: B,
    z: C,
    u: D,
    v: E,
    /,
    *,
    has_aux: Literal[False] = ...,
) -> tuple[R, Callable[[A, B, C, D, E], R]]: ...
@overload
def linearize(
    fun: Callable[[A], tuple[R, X]], x: A, /, *, has_aux: Literal[True]
) -> tuple[R, Callable[[A], R], X]: ...
@overload
def linearize(
    fun: Callable[[A, B], tuple[R, X]], x: A, y: B, /, *, has_aux: Literal[True]
) -> tuple[R, Callable[[A, B], R], X]: ...
@overload
def linearize(
    fun: Callable[[A, B, C], tuple[R, X]], x: A, y: B, z: C, /, *, has_aux: Literal[True]
) -> tuple[R, Callable[[A, B, C], R], X]: ...
@overload
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool) -> tuple[Any, ...]: ...
@watched
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Evaluate a function and return its derivative there as a linear function.

    You can apply the tangent map many times, and ``fun`` is evaluated once; the map keeps the
    residuals in memory.

    Args:
        fun: takes and returns arrays in any containers.
        primals: the point: the positional arguments of ``fun``.
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.

    Returns:
        ``(value, tangent_map)``, or ``(value, tangent_map, aux)``. ``tangent_map`` takes one
        tangent per argument and returns the tangent of the value. It is a tree of its residuals, so
        functions under ``jit`` can return it and take it.

    Raises:
        TreeMismatchError: when the map is applied to tangents of another structure.
        DifferentiationError: when it is applied to tangents of another type.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> value, tangent_map = tinyjax.linearize(lambda x: x**2, 3.0)
        >>> float(value), float(tangent_map(1.0)), float(tangent_map(2.0))
        (9.0, 6.0, 12.0)
    """
    leaves, in_tree = tree.flatten_arguments(primals, {})
    args = calling.as_arrays(leaves, fun, in_tree)
    flat = calling.FlatFunction(fun, in_tree, has_aux)
    linearized = linearize_flat(flat, args, None, fun)
    value = tree.unflatten(flat.out_tree, linearized.primals_out)
    structure = Structure.describe(linearized, args, in_tree, flat, fun)
    tangent_map = TangentMap(linearized.residuals, structure)
    if has_aux:
        return value, tangent_map, arguments.without_tracers(flat.aux)
    return value, tangent_map


@overload
def vjp(
    fun: Callable[[Array], R], x: ArrayLike, /, **options: Unpack[WithoutAux]
) -> tuple[R, PullBack[R, Array]]: ...
@overload
def vjp(
    fun: Callable[[float], R], x: float, /, **options: Unpack[WithoutAux]
) -> tuple[R, PullBack[R, Array]]: ...
@overload
def vjp(
    fun: Callable[[Array, Array], R], x: ArrayLike, y: ArrayLike, /, **options: Unpack[WithoutAux]
) -> tuple[R, PullBack[R, Array, Array]]: ...
@overload
def vjp(
    fun: Callable[[float, float], R], x: float, y: float, /, **options: Unpack[WithoutAux]
) -> tuple[R, PullBack[R, Array, Array]]: ...
@overload
def vjp(
    fun: Callable[[A], R], x: A, /, **options: Unpack[WithoutAux]
) -> tuple[R, PullBack[R, A]]: ...
@overload
def vjp(
    fun: Callable[[A, B], R], x: A, y: B, /, **options: Unpack[WithoutAux]
) -> tuple[R, PullBack[R, A, B]]: ...
@overload
def vjp(
    fun: Callable[[A, B, C], R], x: A, y: B, z: C, /, **options: Unpack[WithoutAux]
) -> tuple[R, PullBack[R, A, B, C]]: ...
@overload
def vjp(
    fun: Callable[[A, B, C, D], R], x: A, y: B, z: C, u: D, /, **options: Unpack[WithoutAux]
) -> tuple[R, PullBack[R, A, B, C, D]]: ...
@overload
def vjp(
    fun: Callable[[A, B, C, D, E], R],
    x: A,
    y: B,
    z: C,
    u: D,
    v: E,
    /,
    **options: Unpack[WithoutAux],
) -> tuple[R, PullBack[R, A, B, C, D, E]]: ...
@overload
def vjp(
    fun: Callable[[A], tuple[R, X]], x: A, /, **options: Unpack[WithAux]
) -> tuple[R, PullBack[R, A], X]: ...
@overload
def vjp(
    fun: Callable[[A, B], tuple[R, X]], x: A, y: B, /, **options: Unpack[WithAux]
) -> tuple[R, PullBack[R, A, B], X]: ...
@overload
def vjp(
    fun: Callable[[A, B, C], tuple[R, X]], x: A, y: B, z: C, /, **options: Unpack[WithAux]
) -> tuple[R, PullBack[R, A, B, C], X]: ...
@overload
def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool,
    saveable_args: Saveable = ...,
    memory_budget: int | None = ...,
) -> tuple[Any, ...]: ...
@overload
def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = ...,
    saveable_args: Saveable = ...,
    memory_budget: int | None,
) -> tuple[Any, ...]: ...
@watched
def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    saveable_args: Saveable = True,
    memory_budget: int | None = None,
) -> tuple[Any, ...]:
    """Evaluate a function and return the map that pulls cotangents back to its arguments.

    Args:
        fun: takes and returns arrays in any containers.
        primals: its positional arguments.
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.
        saveable_args: whether ``pull_back`` may keep arguments that it needs as they are: a bool
            for all, or a tuple with one for each argument, or tuples of them for containers. What
            it may not keep you restore before you apply it: ``pull_back.args_res[0] = x``.
        memory_budget: the bytes that both passes may need, as those of ``grad``.

    Returns:
        ``(value, pull_back)``, or ``(value, pull_back, aux)``. ``pull_back`` takes a cotangent of
        the value and returns a tuple with a cotangent for each argument (dtype ``float0`` for
        integers). It takes a small multiple of the work of ``fun``, whatever the number of
        arguments. ``pull_back`` is a tree of its residuals, so functions under ``jit`` can return
        it and take it.

    Raises:
        TreeMismatchError: ``saveable_args`` does not fit the arguments; or when the map is applied
            to a cotangent of another structure.
        DifferentiationError: when it is applied to one of another type.
        ArgumentError: when it is applied while arguments are missing that it may not keep; or
            ``memory_budget`` is less than the least possible one, which the message gives.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> value, pull_back = tinyjax.vjp(lambda x, y: x * y, 2.0, 3.0)
        >>> [float(ct) for ct in pull_back(1.0)]
        [3.0, 2.0]
    """
    leaves, in_tree = tree.flatten_arguments(primals, {})
    args = calling.as_arrays(leaves, fun, in_tree)
    applied = Applied("vjp", fun)
    budgeted = fun if memory_budget is None else arguments.within_budget(applied, memory_budget)
    flat = calling.FlatFunction(budgeted, in_tree, has_aux)
    linearized = linearize_flat(flat, args, None, applied, transposed=True)
    structure = Structure.describe(linearized, args, in_tree, flat, fun)
    residuals: Sequence[Any] = linearized.residuals
    if saveable_args is not True:
        residuals = drop_unsaved(residuals, structure, saveable_args)
    value = tree.unflatten(flat.out_tree, linearized.primals_out)
    pull_back: PullBack[Any, *tuple[Any, ...]] = PullBack(tuple(residuals), structure)
    return (
        (value, pull_back, arguments.without_tracers(flat.aux)) if has_aux else (value, pull_back)
    )
