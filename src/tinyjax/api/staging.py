"""``make_jaxpr`` and ``eval_shape``: a function's program and types, without running it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar, overload

from tinyjax import tree
from tinyjax.core.avals import ShapeDtypeStruct
from tinyjax.core.calling import FlatFunction, as_avals
from tinyjax.core.checking import checked
from tinyjax.core.jaxpr import ClosedJaxpr
from tinyjax.core.staging import Staged, stage

P = ParamSpec("P")
R = TypeVar("R")


def _stage_call(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], static: tuple[int, ...]
) -> tuple[Staged, FlatFunction]:
    user_fun = fun
    chosen: dict[int, Any] = {}
    if static:
        chosen = {i if i >= 0 else i + len(args): args[i] for i in static}
        full, original = list(args), fun

        def with_static(*dynamic: Any, **dynamic_kwargs: Any) -> Any:
            rest = iter(dynamic)
            values = [chosen[i] if i in chosen else next(rest) for i in range(len(full))]
            return original(*values, **dynamic_kwargs)

        fun = with_static
        args = tuple(a for i, a in enumerate(args) if i not in chosen)
    leaves, in_tree = tree.flatten((args, kwargs))
    avals = as_avals(leaves, user_fun, in_tree, chosen)
    flat = FlatFunction(fun, in_tree, user_fun=user_fun)
    return stage(flat, avals, user_fun), flat


@overload
def make_jaxpr(
    fun: Callable[P, Any],
    static_argnums: int | tuple[int, ...] = ...,
    *,
    return_shape: Literal[False] = ...,
) -> Callable[P, ClosedJaxpr]: ...
@overload
def make_jaxpr(
    fun: Callable[P, Any],
    static_argnums: int | tuple[int, ...] = ...,
    *,
    return_shape: Literal[True],
) -> Callable[P, tuple[ClosedJaxpr, Any]]: ...
@checked
def make_jaxpr(
    fun: Callable[P, Any],
    static_argnums: int | tuple[int, ...] = (),
    *,
    return_shape: bool = False,
) -> Callable[P, ClosedJaxpr] | Callable[P, tuple[ClosedJaxpr, Any]]:
    """Return a function that gives the jaxpr of ``fun`` for its arguments.

    Everything ``fun`` does with arrays is staged, operations on constants too. Arrays that it
    closes over become the first parameters of the jaxpr; scalars become literals.

    Args:
        fun: the function.
        static_argnums: positional arguments that are not arrays.
        return_shape: whether to return, as well, the shapes and dtypes of the result in its tree.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.make_jaxpr(lambda x: jnp.sin(x) * 2.0)(3.0)
        { lambda a:float32[] .
          let b:float32[] = sin a
              c:float32[] = mul b 2.0
          in ( c ) }
    """
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)

    @wraps(fun)
    def make(*args: P.args, **kwargs: P.kwargs) -> Any:
        staged, flat = _stage_call(fun, args, kwargs, static)
        closed = ClosedJaxpr(staged.jaxpr, staged.consts)
        if return_shape:
            return closed, tree.unflatten(flat.out_tree, _structs(staged))
        return closed

    return make


def _structs(staged: Staged) -> list[ShapeDtypeStruct]:
    return [ShapeDtypeStruct(a.shape, a.dtype, a.weak_type) for a in staged.jaxpr.out_avals]


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and dtypes of ``fun(*args, **kwargs)`` without computing it.

    Args:
        fun: the function.
        args: arrays, or ``ShapeDtypeStruct`` in their place.
        kwargs: likewise.

    Returns:
        The tree of the result, with a ``ShapeDtypeStruct`` for each array.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.eval_shape(jnp.sum, jnp.ones((2, 3)))
        ShapeDtypeStruct(shape=(), dtype=dtype('float32'), weak_type=False)
    """
    staged, flat = _stage_call(fun, args, kwargs, ())
    return tree.unflatten(flat.out_tree, _structs(staged))
