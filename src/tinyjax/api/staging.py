"""A function's program and types, without running it: make_jaxpr, eval_shape, closure_convert."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar, overload

from tinyjax import tree
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapeDtypeStruct
from tinyjax.core.calling import FlatFunction, argument_path, as_arrays, as_avals
from tinyjax.core.checking import checked
from tinyjax.core.jaxpr import ClosedJaxpr, eval_jaxpr
from tinyjax.core.staging import Staged, stage
from tinyjax.core.trace import Tracer
from tinyjax.dtypes import is_inexact
from tinyjax.errors import ArgumentError
from tinyjax.frames import describe_function
from tinyjax.signatures import Parameters

P = ParamSpec("P")
R = TypeVar("R")


def _stage_call(
    parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Staged, FlatFunction]:
    fun = parameters.fun
    leaves, in_tree, static = parameters.split(args, kwargs)
    avals = as_avals(leaves, fun, in_tree, static.positions)
    of_dynamic = fun if parameters.all_dynamic else static.bind(fun)
    flat = FlatFunction(of_dynamic, in_tree, user_fun=fun)
    return stage(flat, avals, fun), flat


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
        static_argnums: positional arguments that are not arrays: hashable Python values.
        return_shape: whether to return, as well, the shapes and dtypes of the result in its tree.

    Raises:
        StaticArgumentError: the function has no such argument; or when called, if one is an array
            or not hashable.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.make_jaxpr(lambda x: jnp.sin(x) * 2.0)(3.0)
        { lambda a:float32[] .
          let b:float32[] = sin a
              c:float32[] = mul b 2.0
          in ( c ) }
    """
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    parameters = Parameters(fun, static)

    @wraps(fun)
    def make(*args: P.args, **kwargs: P.kwargs) -> Any:
        staged, flat = _stage_call(parameters, args, kwargs)
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
    staged, flat = _stage_call(Parameters(fun), args, kwargs)
    return tree.unflatten(flat.out_tree, _structs(staged))


def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Array]]:
    """Make arguments of the traced values that a function closes over.

    A rule of ``custom_vjp`` or ``custom_jvp`` differentiates in its arguments. Where a function is
    handed to one, what it closes over becomes an argument by this.

    Args:
        fun: takes and returns arrays in any containers. It is staged, once.
        example_args: arguments of the types that it will be called with.

    Returns:
        ``(converted, closed_over)``: ``converted(*args, *closed_over)`` is ``fun(*args)``.
        ``closed_over`` are the floats and complex numbers that are being traced; whatever else the
        function closes over stays in it, since no derivative is taken in it.

    Raises:
        ArgumentError: when ``converted`` is called with another number of arguments, or with
            arrays of other types.
        TreeMismatchError: when it is called with arguments of another structure.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> def slope_of_product(a):
        ...     times, closed_over = tinyjax.closure_convert(lambda x: a * x, 2.0)
        ...     return tinyjax.grad(times, 1)(2.0, *closed_over)
        >>> float(tinyjax.jit(slope_of_product)(3.0))
        2.0
    """
    leaves, in_tree = tree.flatten((example_args, {}))
    flat = FlatFunction(fun, in_tree)
    avals = as_avals(leaves, fun, in_tree)
    staged = stage(flat, avals, fun)
    jaxpr, consts = staged.jaxpr, staged.consts
    traced = [isinstance(x, Tracer) and is_inexact(x.dtype) for x in consts]
    closed_over = [x for x, is_traced in zip(consts, traced, strict=True) if is_traced]
    kept = [None if is_traced else x for x, is_traced in zip(consts, traced, strict=True)]
    out_tree, n = flat.out_tree, len(example_args)

    def converted(*args: Any) -> Any:
        if len(args) != n + len(closed_over):
            raise ArgumentError(
                f"{describe_function(fun)}, converted by closure_convert, takes {n} arguments and "
                f"the {len(closed_over)} values that it closed over, but got {len(args)} arguments."
            )
        given = in_tree.flatten_up_to((args[:n], {}), "args")
        arrays = as_arrays(given, fun, in_tree)
        for i, (x, aval) in enumerate(zip(arrays, avals, strict=True)):
            if x.shape != aval.shape or x.dtype != aval.dtype:
                raise ArgumentError(
                    f"{argument_path(fun, in_tree, i)} of {describe_function(fun)}, converted by "
                    f"closure_convert for {aval}, is {x.aval}."
                )
        rest = iter(as_arrays(args[n:], fun, tree.structure((args[n:], {}))))
        values = [next(rest) if x is None else x for x in kept]
        return tree.unflatten(out_tree, eval_jaxpr(jaxpr, [*values, *arrays]))

    return converted, closed_over
