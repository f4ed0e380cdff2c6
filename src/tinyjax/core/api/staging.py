"""A function's program and types, without running it: make_jaxpr, eval_shape."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar, overload

from tinyjax import tree
from tinyjax._base.frames import Applied, imitate
from tinyjax._base.tracebacks import folded
from tinyjax.core.api.mapping import vmap
from tinyjax.core.jit.signatures import Parameters
from tinyjax.core.primitives.identities import optimization_barrier
from tinyjax.core.tracing.calling import FlatFunction, as_avals, opened
from tinyjax.core.tracing.checking import checked
from tinyjax.core.tracing.jaxpr import ClosedJaxpr, close
from tinyjax.core.tracing.staging import Staged, placeholders, stage
from tinyjax.core.tracing.trace import assigned, is_known
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.core.values.avals import ShapedArray, ShapeDtypeStruct
from tinyjax.core.values.operands import of_type, splat
from tinyjax.errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")


def _stage_call(
    api_name: str,
    parameters: Parameters,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    of_result: Callable[[Any], Any] | None = None,
    opens: bool = False,
) -> tuple[Staged, FlatFunction]:
    fun = parameters.fun
    leaves, in_tree, static = parameters.split(args, kwargs)
    if opens:
        leaves, in_tree, _ = opened(leaves, in_tree)
    avals = as_avals(leaves, fun, in_tree, static.positions)
    of_dynamic = static.bind(fun)
    if of_result is not None:
        call, convert = of_dynamic, of_result
        of_dynamic = imitate(lambda *args, **kwargs: convert(call(*args, **kwargs)), fun)
    flat = FlatFunction(of_dynamic, in_tree, user_fun=fun, static=static.positions)
    return stage(flat, avals, Applied(api_name, fun)), flat


def _stage_within(
    axes: Sequence[tuple[Hashable, int]],
    parameters: Parameters,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Staged, FlatFunction]:
    """Stage a call under named axes, over which no argument is mapped."""
    results: list[tuple[Staged, FlatFunction]] = []

    def run() -> None:
        results.append(_stage_call("make_jaxpr", parameters, args, kwargs))

    call: Callable[[], None] = run
    for name, size in axes:
        call = vmap(call, axis_name=name, axis_size=size, out_axes=None)
    call()
    return results[0]


@overload
def make_jaxpr(
    fun: Callable[P, Any],
    static_argnums: int | Sequence[int] = ...,
    axis_env: Sequence[tuple[Hashable, int]] | None = ...,
    *,
    return_shape: Literal[False] = ...,
) -> Callable[P, ClosedJaxpr]: ...
@overload
def make_jaxpr(
    fun: Callable[P, Any],
    static_argnums: int | Sequence[int] = ...,
    axis_env: Sequence[tuple[Hashable, int]] | None = ...,
    *,
    return_shape: Literal[True],
) -> Callable[P, tuple[ClosedJaxpr, Any]]: ...
@checked
def make_jaxpr(
    fun: Callable[P, Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    *,
    return_shape: bool = False,
) -> Callable[P, ClosedJaxpr] | Callable[P, tuple[ClosedJaxpr, Any]]:
    """Return a function that gives the jaxpr of ``fun`` for its arguments.

    All operations on arrays in ``fun`` are staged, even those on constants. Arrays that ``fun``
    closes over become the first parameters of the jaxpr; scalars become literals.

    Args:
        fun: the function.
        static_argnums: positional arguments that are not arrays: hashable Python values.
        axis_env: names of axes, and their sizes, that ``vmap``s around ``fun`` would give.
        return_shape: whether to return a pair of the jaxpr and the result's shapes and dtypes.

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

    @partial(folded, named=fun)
    def make(*args: P.args, **kwargs: P.kwargs) -> Any:
        if axis_env:
            staged, flat = _stage_within(axis_env, parameters, args, kwargs)
        else:
            staged, flat = _stage_call("make_jaxpr", parameters, args, kwargs)
        closed = close(staged.jaxpr, staged.consts)
        if return_shape:
            return closed, tree.unflatten(flat.out_tree, _structs(staged))
        return closed

    return make


def _structs(staged: Staged) -> list[ShapeDtypeStruct]:
    return [ShapeDtypeStruct.like(aval) for aval in staged.jaxpr.out_avals]


#: A placeholder for an argument whose data does not matter.
Shaped: TypeAlias = (
    ShapeDtypeStruct
    | ArrayLike
    | Mapping[Any, "Shaped"]
    | list["Shaped"]
    | tuple["Shaped", ...]
    | None
)


@overload
def eval_shape(fun: Callable[[Any], Array], x: Shaped, /) -> ShapeDtypeStruct: ...
@overload
def eval_shape(fun: Callable[[Any], object], x: Shaped, /) -> Any: ...
@overload
def eval_shape(fun: Callable[[Any, Any], Array], x: Shaped, y: Shaped, /) -> ShapeDtypeStruct: ...
@overload
def eval_shape(fun: Callable[[Any, Any], object], x: Shaped, y: Shaped, /) -> Any: ...
@overload
def eval_shape(
    fun: Callable[[Any, Any, Any], object], x: Shaped, y: Shaped, z: Shaped, /, *rest: Shaped
) -> Any: ...
@overload
def eval_shape(fun: Callable[P, Array], *args: P.args, **kwargs: P.kwargs) -> ShapeDtypeStruct: ...
@overload
def eval_shape(fun: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> Any: ...
@folded
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and dtypes of ``fun(*args, **kwargs)`` without computing it.

    Args:
        fun: the function. Within it a ``ShapeDtypeStruct`` may replace an array, also as the
            result.
        args: arrays, or ``ShapeDtypeStruct`` or other objects with a shape and a dtype in their
            place; and references, which are not written to.
        kwargs: likewise.

    Returns:
        The tree of the result, with a ``ShapeDtypeStruct`` for each array.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.eval_shape(jnp.sum, jnp.ones((2, 3)))
        ShapeDtypeStruct(shape=(), dtype=float32)
    """
    with assigned(of_type, _placeholder):
        staged, flat = _stage_call(
            "eval_shape", Parameters(fun), args, kwargs, of_result=_filled, opens=True
        )
    return tree.unflatten(flat.out_tree, _structs(staged))


def _placeholder(aval: ShapedArray) -> Array:
    """Make a traced value of a type; no program that holds it is kept for later calls."""
    placeholders.set(placeholders.get() + 1)
    (traced,) = optimization_barrier([splat(0, aval)])
    if is_known(traced):
        raise ArgumentError(f"a ShapeDtypeStruct of type {aval} has no data to compute with.")
    return traced


def _filled(result: Any) -> Any:
    """Return a result with placeholders for its types, of which only the type is used."""
    return tree.map(
        lambda leaf: splat(0, leaf.aval) if isinstance(leaf, ShapeDtypeStruct) else leaf, result
    )
