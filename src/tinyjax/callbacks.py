"""Callbacks: Python functions called with the data of a program, eagerly and from compiled code.

A callback sees NumPy arrays that it must not write to, and runs outside every transformation. Three
primitives differ in what may be done with a call: ``pure_callback`` may be dropped or repeated,
``io_callback`` and ``debug_callback`` may not; and a debug callback, having no results, is in
nobody's way when a derivative is taken.

Under ``vmap`` the parameters say over which leading axes of the operands a call runs (``Lanes``),
and the call itself deals with them on the host. So no loop is compiled, and every transformation of
a batched callback is the one of the plain callback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from types import MethodType
from typing import Any, Final, Literal, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes, tree
from tinyjax.core.array import Array, ConcreteArray, as_array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.checking import checked
from tinyjax.core.jaxpr import Var
from tinyjax.core.primitive import ZERO, HostArray, MappedAxis, Primitive, Tangent
from tinyjax.core.stablehlo import Lowering
from tinyjax.core.trace import EVAL, bind, use_trace
from tinyjax.dtypes import DType, is_inexact
from tinyjax.errors import (
    ArgumentError,
    CallbackError,
    CheckFailedError,
    DifferentiationError,
    DtypeError,
)
from tinyjax.frames import Location, describe_function, user_location
from tinyjax.primitives.shape import move_batch_axis, zeros_like
from tinyjax.transforms.batching import batch_flat
from tinyjax.tree import PyTreeDef

T = TypeVar("T")
V = TypeVar("V")


class Identity:
    """An object as a parameter of a program: the same parameter only where it is the same object.

    Bound methods are made anew whenever they are asked for, and are told apart by what they bind;
    numbers and strings are told apart by value.
    """

    __slots__ = ("__weakref__", "key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        match value:
            case MethodType():
                self.key: tuple[object, ...] = (id(value.__self__), id(value.__func__))
            case bool() | int() | str():
                self.key = (type(value), value)
            case _:
                self.key = (id(value),)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return describe_function(self.value) if callable(self.value) else repr(self.value)


class VmapMethod(Enum):
    """What a callback is given under ``vmap``."""

    SEQUENTIAL = "sequential"
    EXPAND_DIMS = "expand_dims"
    BROADCAST_ALL = "broadcast_all"


@attrs.frozen
class Lanes:
    """A mapped axis: its size, and which operands have it in front."""

    size: int
    mapped: tuple[bool, ...]


@attrs.frozen
class CallbackParams:
    """A Python function to be called with arrays.

    Attributes:
        callback: the function, of containers.
        in_tree: the structure of its ``(args, kwargs)``.
        static: those of its leaves that are no operands, with their positions.
        out_tree: the structure of its result.
        out_avals: the types of that result's leaves, without the mapped axes; None where the
            result is thrown away.
        lanes: the mapped axes, the outermost first; they lead the operands' axes.
        method: how they are dealt with; None where there may be none.
        ordered: whether calls keep the order of the program.
        derivative: the function that was declared as its derivative.
        location: the user's line, for messages; two programs that differ in it are the same.
    """

    callback: Identity
    in_tree: PyTreeDef
    static: tuple[tuple[int, Identity], ...] = ()
    out_tree: PyTreeDef | None = None
    out_avals: tuple[ShapedArray, ...] = ()
    lanes: tuple[Lanes, ...] = ()
    method: VmapMethod | None = VmapMethod.SEQUENTIAL
    ordered: bool = False
    derivative: Identity | None = None
    location: Location | None = attrs.field(default=None, eq=False)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The lengths of the mapped axes."""
        return tuple(lane.size for lane in self.lanes)


# Calling


def call_host(params: CallbackParams, operands: Sequence[HostArray]) -> Sequence[HostArray]:
    """Call the function, for every lane, and return arrays of exactly the types declared."""
    sizes = params.sizes
    if params.method is not VmapMethod.SEQUENTIAL or not sizes:
        return _call_once(params, [_widened(params, x, i) for i, x in enumerate(operands)], sizes)
    outs = [np.empty((*sizes, *a.shape), a.dtype) for a in params.out_avals]
    for lane in np.ndindex(*sizes):
        args = []
        for i, x in enumerate(operands):
            where = tuple(k for k, axis in zip(lane, params.lanes, strict=True) if axis.mapped[i])
            args.append(np.asarray(x[where]) if where else x)
        for out, value in zip(outs, _call_once(params, args, ()), strict=True):
            out[lane] = value
    return outs


def _widened(params: CallbackParams, x: HostArray, position: int) -> HostArray:
    """Give an operand every mapped axis, of length one or repeated where it had none."""
    for i, lane in enumerate(params.lanes):
        if not lane.mapped[position]:
            x = np.expand_dims(x, i)
            if params.method is VmapMethod.BROADCAST_ALL:
                x = np.broadcast_to(x, (*x.shape[:i], lane.size, *x.shape[i + 1 :]))
    return x


def _call_once(
    params: CallbackParams, operands: Sequence[HostArray], sizes: tuple[int, ...]
) -> list[HostArray]:
    given = iter([_read_only(x) for x in operands])
    static = dict(params.static)
    leaves = [
        static[i].value if i in static else next(given) for i in range(params.in_tree.num_leaves)
    ]
    args, kwargs = tree.unflatten(params.in_tree, leaves)
    with use_trace(EVAL):
        out = params.callback(*args, **kwargs)
        if params.out_tree is None:
            return []
        try:
            return _results(params, params.out_tree, out, sizes)
        except CallbackError as error:
            error.location = params.location
            raise


def _read_only(x: HostArray) -> HostArray:
    view = np.asarray(x).view()
    view.flags.writeable = False
    return view


def _results(
    params: CallbackParams, out_tree: PyTreeDef, out: object, sizes: tuple[int, ...]
) -> list[HostArray]:
    leaves, found_tree = tree.flatten(out)
    name = describe_function(params.callback.value)
    if found_tree != out_tree:
        raise CallbackError(
            f"callback {name} returned the structure {found_tree}, but result_shape_dtypes "
            f"declares {out_tree}. Return the containers that were declared."
        )
    results: list[HostArray] = []
    for i, (leaf, aval) in enumerate(zip(leaves, params.out_avals, strict=True)):
        expected = aval.with_shape((*sizes, *aval.shape))
        value = _as_declared(leaf, expected.dtype)
        if value.shape != expected.shape or value.dtype != expected.dtype:
            path, _ = tree.leaves_with_path(tree.unflatten(out_tree, range(len(leaves))))[i]
            under = f" under vmap over axes of length {sizes}" if sizes else ""
            raise CallbackError(
                f"callback {name} returned at {tree.path_str('result', path)} an array of type "
                f"{value.dtype.name}[{','.join(map(str, value.shape))}], but {expected} was "
                f"declared in result_shape_dtypes{under}. Return what was declared, with "
                f".astype(...) or .reshape(...) where needed, or declare what is returned."
            )
        results.append(value)
    return results


_KINDS: Final = "biufc"


def _as_declared(leaf: object, dtype: DType) -> HostArray:
    """A result as an array; a Python number takes the declared type if that can hold its kind."""
    value = np.asarray(leaf)
    if isinstance(leaf, bool | int | float | complex) and not isinstance(leaf, np.generic):
        kinds = _KINDS.index(value.dtype.kind), _KINDS.index(dtypes.kind(dtype))
        if kinds[0] <= kinds[1]:
            return value.astype(dtype)
    return value


def _evaluate(args: Sequence[Array], params: CallbackParams) -> Sequence[Array]:
    hosts = [arg.concrete("data") for arg in args]
    # What the function returned it may still write to.
    return [ConcreteArray(np.array(out)) for out in call_host(params, hosts)]


def _type(avals: Sequence[ShapedArray], params: CallbackParams) -> Sequence[ShapedArray]:
    return [a.with_shape((*params.sizes, *a.shape)) for a in params.out_avals]


def _batched(
    mapped: MappedAxis,
    values: Sequence[Array],
    axes: Sequence[int | None],
    params: CallbackParams,
) -> tuple[list[Array], CallbackParams]:
    """The operands with their batch axes in front, and the parameters that say so."""
    operands = [
        x if axis is None else move_batch_axis(x, axis, 0, mapped.size)
        for x, axis in zip(values, axes, strict=True)
    ]
    lanes = Lanes(mapped.size, tuple(axis is not None for axis in axes))
    return operands, attrs.evolve(params, lanes=(lanes, *params.lanes))


def _declare(primitive: Primitive[CallbackParams]) -> None:
    """Register what all three have in common."""
    primitive.def_evaluate(_evaluate)
    primitive.def_abstract_eval(_type)

    @primitive.def_lowering
    def lowering_rule(
        lowering: Lowering, operands: Sequence[str], params: CallbackParams
    ) -> Sequence[str]:
        def call(*args: HostArray) -> Sequence[HostArray]:
            return call_host(params, args)

        return lowering.host_call(call, operands, primitive.effectful, params.ordered)

    @primitive.def_transpose
    def transpose_rule(
        cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: CallbackParams
    ) -> Sequence[Tangent | None]:
        raise DifferentiationError(
            f"a derivative depends on tangents through {primitive.name} of {params.callback!r}, "
            "which cannot be transposed for reverse mode. Compute what does not depend on the "
            "tangents in the callback, and what is linear in them with tinyjax.numpy."
        )


# Pure callbacks

pure_callback_p: Primitive[CallbackParams] = Primitive("pure_callback", CallbackParams)
_declare(pure_callback_p)


@pure_callback_p.def_jvp
def _pure_callback_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: CallbackParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    outs = bind(pure_callback_p, primals, params)
    if not any(is_inexact(a.dtype) for a in params.out_avals):
        return outs, [ZERO] * len(outs)
    if params.derivative is None:
        raise _not_differentiable("pure_callback", params)
    filled = [zeros_like(x) if t is ZERO else t for x, t in zip(primals, tangents, strict=True)]
    derivative = _declared_derivative(params, params.derivative)
    for lane in reversed(params.lanes):
        derivative = _over_lane(derivative, lane)
    found = derivative(*primals, *filled)
    return outs, [t if is_inexact(t.dtype) else ZERO for t in found]


def _not_differentiable(name: str, params: CallbackParams) -> DifferentiationError:
    error = DifferentiationError(
        f"{name} of {params.callback!r} has no derivative: Python code cannot be differentiated. "
        "Declare one with pure_callback(..., derivative=...), wrap the function that makes the "
        "call in custom_jvp or custom_vjp, or put stop_gradient around the arguments."
    )
    error.location = params.location
    return error


def _declared_derivative(
    params: CallbackParams, derivative: Identity
) -> Callable[..., Sequence[Array]]:
    """The declared derivative as a function of flat primals and tangents, its results checked."""
    n = params.in_tree.num_leaves

    def fun(*flat: Array) -> Sequence[Array]:
        primals, _ = tree.unflatten(params.in_tree, flat[:n])
        tangents, _ = tree.unflatten(params.in_tree, flat[n:])
        leaves, found_tree = tree.flatten(derivative(primals, tangents))
        found = [as_array(leaf) for leaf in leaves]
        given = [(x.shape, x.dtype) for x in found]
        if found_tree != params.out_tree or given != [(a.shape, a.dtype) for a in params.out_avals]:
            raise CallbackError(
                f"the derivative of callback {params.callback!r} returned {found_tree} of "
                f"({', '.join(str(x.aval) for x in found)}), but the callback is declared to "
                f"return {params.out_tree} of ({', '.join(map(str, params.out_avals))}). Return "
                "one tangent for each result, of its type."
            )
        return found

    return fun


def _over_lane(fun: Callable[..., Sequence[Array]], lane: Lanes) -> Callable[..., Sequence[Array]]:
    axes = [0 if mapped else None for mapped in lane.mapped] * 2
    # the tangent of an operand that is not mapped is not mapped either

    def batched(*args: Array) -> Sequence[Array]:
        outs, out_axes = batch_flat(fun, MappedAxis(lane.size), args, axes)
        return [
            move_batch_axis(out, axis, 0, lane.size)
            for out, axis in zip(outs, out_axes, strict=True)
        ]

    return batched


@pure_callback_p.def_batch
def _pure_callback_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: CallbackParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    if params.method is None:
        error = CallbackError(
            f"pure_callback of {params.callback!r} is under vmap, but does not say what to do "
            'there. Pass vmap_method="sequential" to call it once for each example, '
            '"expand_dims" or "broadcast_all" to call it once with one axis more in front.'
        )
        error.location = params.location
        raise error
    operands, batched = _batched(mapped, values, axes, params)
    outs = bind(pure_callback_p, operands, batched)
    return outs, [0] * len(outs)


_Method = Literal["sequential", "expand_dims", "broadcast_all"]


def _declared_results(declared: object) -> tuple[PyTreeDef, tuple[ShapedArray, ...]]:
    leaves, out_tree = tree.flatten(declared)
    avals: list[ShapedArray] = []
    for leaf in leaves:
        shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
        if shape is None or dtype is None:
            raise ArgumentError(
                "result_shape_dtypes must hold what has a shape and a dtype, such as "
                f"ShapeDtypeStruct((3,), jnp.float32), but it holds {leaf!r} "
                f"({type(leaf).__name__})."
            )
        avals.append(ShapedArray(tuple(shape), dtypes.check(dtype)))
    return out_tree, tuple(avals)


def _check_callable(callback: object, name: str) -> None:
    if not callable(callback):
        raise ArgumentError(
            f"{name} takes a function to call, but got {callback!r} ({type(callback).__name__})."
        )


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    vmap_method: _Method | None = None,
    derivative: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function that has no side effects, from eager or compiled code.

    The call may be dropped where its results are not used, and repeated. An exception that the
    function raises reaches the caller as it is.

    Args:
        callback: takes NumPy arrays, read-only, in the containers of ``args`` and ``kwargs``, and
            returns NumPy arrays or Python numbers.
        result_shape_dtypes: what it returns: arrays or ``ShapeDtypeStruct`` in any containers.
        args: what it is called with: arrays in any containers.
        vmap_method: what is done under ``vmap``: ``"sequential"`` calls it for each example in
            turn; ``"expand_dims"`` calls it once with one axis more in front of everything, of
            length one where an argument is not mapped; ``"broadcast_all"`` does so with every
            argument repeated to full length. By default ``vmap`` is an error.
        derivative: takes the tuple of ``args`` and the tuple of their tangents, as arrays, and
            returns the tangent of the result; linear in the tangents. Arguments that have no
            tangent come with zeros. It serves forward and reverse mode. Without it, a derivative
            is an error.
        kwargs: more arguments for ``callback``.

    Returns:
        What the function returned, as arrays.

    Raises:
        CallbackError: the result is not what was declared; or there is a ``vmap`` around a call
            without ``vmap_method``.
        DifferentiationError: a derivative is taken that was not declared.
        ArgumentError: an argument is of the wrong type.

    Example:
        >>> import numpy as np
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.jit
        ... def sorted_on_host(x):
        ...     return tinyjax.pure_callback(np.sort, x, x, vmap_method="broadcast_all")
        >>> sorted_on_host(jnp.array([3.0, 1.0, 2.0]))
        Array([1., 2., 3.], dtype=float32)
    """
    _check_callable(callback, "pure_callback")
    if derivative is not None and kwargs:
        raise ArgumentError(
            "a callback with a declared derivative takes positional arguments only, but got "
            f"{', '.join(kwargs)}."
        )
    methods = [m.value for m in VmapMethod]
    if vmap_method is not None and vmap_method not in methods:
        raise ArgumentError(f"vmap_method must be one of {methods}, but got {vmap_method!r}.")
    out_tree, out_avals = _declared_results(result_shape_dtypes)
    leaves, in_tree = tree.flatten((args, kwargs))
    params = CallbackParams(
        Identity(callback),
        in_tree,
        out_tree=out_tree,
        out_avals=out_avals,
        method=None if vmap_method is None else VmapMethod(vmap_method),
        derivative=None if derivative is None else Identity(derivative),
        location=user_location(),
    )
    outs = bind(pure_callback_p, [as_array(x) for x in leaves], params)
    return tree.unflatten(out_tree, outs)


# Callbacks with effects

io_callback_p: Primitive[CallbackParams] = Primitive("io_callback", CallbackParams, effectful=True)
_declare(io_callback_p)


@io_callback_p.def_jvp
def _io_callback_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: CallbackParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    if any(is_inexact(a.dtype) for a in params.out_avals):
        raise _not_differentiable("io_callback", params)
    outs = bind(io_callback_p, primals, params)
    return outs, [ZERO] * len(outs)


@io_callback_p.def_batch
def _io_callback_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: CallbackParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    if params.ordered:
        error = CallbackError(
            f"an ordered io_callback of {params.callback!r} is under vmap, which does each step "
            "for all examples before the next, so that no order of the examples can be kept. "
            "Use ordered=False, or a loop in place of vmap."
        )
        error.location = params.location
        raise error
    operands, batched = _batched(mapped, values, axes, params)
    outs = bind(io_callback_p, operands, batched)
    return outs, [0] * len(outs)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function for its side effects, from eager or compiled code.

    The call is made exactly once for each time the program comes to it, whether or not its results
    are used; under ``vmap``, once for each example. A compiled program that makes such calls
    returns when they are done.

    Args:
        callback: takes NumPy arrays, read-only, in the containers of ``args`` and ``kwargs``, and
            returns NumPy arrays or Python numbers.
        result_shape_dtypes: what it returns: arrays or ``ShapeDtypeStruct`` in any containers;
            None for nothing.
        args: what it is called with: arrays in any containers.
        ordered: whether it is called after the ordered calls that the program makes before it.
        kwargs: more arguments for ``callback``.

    Returns:
        What the function returned, as arrays.

    Raises:
        CallbackError: the result is not what was declared, or an ordered call is under ``vmap``.
        DifferentiationError: a derivative of the results is taken.
        EffectOrderError: a compiled program has ordered calls inside a loop or branch and others
            outside.
        ArgumentError: an argument is of the wrong type.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> seen = []
        >>> @tinyjax.jit
        ... def f(x):
        ...     tinyjax.io_callback(lambda x: seen.append(x.item()), None, x, ordered=True)
        ...     return 2 * x
        >>> f(jnp.array([3.0]))
        Array([6.], dtype=float32)
        >>> seen
        [3.0]
    """
    _check_callable(callback, "io_callback")
    out_tree, out_avals = _declared_results(result_shape_dtypes)
    leaves, in_tree = tree.flatten((args, kwargs))
    params = CallbackParams(
        Identity(callback),
        in_tree,
        out_tree=out_tree,
        out_avals=out_avals,
        ordered=ordered,
        location=user_location(),
    )
    outs = bind(io_callback_p, [as_array(x) for x in leaves], params)
    return tree.unflatten(out_tree, outs)


debug_callback_p: Primitive[CallbackParams] = Primitive(
    "debug_callback", CallbackParams, effectful=True
)
_declare(debug_callback_p)


@debug_callback_p.def_jvp
def _debug_callback_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: CallbackParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    return bind(debug_callback_p, primals, params), ()


@debug_callback_p.def_batch
def _debug_callback_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: CallbackParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    operands, batched = _batched(mapped, values, axes, params)
    return bind(debug_callback_p, operands, batched), ()


def debug_callback(
    callback: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], ordered: bool
) -> None:
    """Call a function with the arrays among its arguments as NumPy arrays, the rest as it is."""
    _check_callable(callback, "debug.callback")
    leaves, in_tree = tree.flatten((args, kwargs))
    operands: list[Array] = []
    static: list[tuple[int, Identity]] = []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Array | np.ndarray | np.generic):
            operands.append(as_array(leaf))
        else:
            static.append((i, Identity(leaf)))
    params = CallbackParams(
        Identity(callback), in_tree, tuple(static), ordered=ordered, location=user_location()
    )
    bind(debug_callback_p, operands, params)


# Errors


@attrs.frozen
class ErrorIfParams:
    """What to say where the operand is true, and the user's line that checks it."""

    message: str
    location: Location | None


error_if_p: Primitive[ErrorIfParams] = Primitive("error_if", ErrorIfParams, effectful=True)


@error_if_p.def_impl
def _error_if_impl(operands: Sequence[HostArray], params: ErrorIfParams) -> Sequence[HostArray]:
    (failed,) = operands
    if failed.any():
        where = ""
        if failed.ndim:
            first = tuple(int(i) for i in np.argwhere(failed)[0])
            where = (
                f" (in {int(failed.sum())} of {failed.size} places, the first at index "
                f"{first if len(first) > 1 else first[0]})"
            )
        error = CheckFailedError(f"{params.message}{where}")
        error.location = params.location
        raise error
    return ()


@error_if_p.def_abstract_eval
def _error_if_type(avals: Sequence[ShapedArray], params: ErrorIfParams) -> Sequence[ShapedArray]:
    return ()


@error_if_p.def_lowering
def _error_if_lowering(
    lowering: Lowering, operands: Sequence[str], params: ErrorIfParams
) -> Sequence[str]:
    def check(*args: HostArray) -> Sequence[HostArray]:
        _error_if_impl(args, params)
        return ()

    return lowering.host_call(check, operands, effectful=True)


@error_if_p.def_jvp
def _error_if_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: ErrorIfParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    return bind(error_if_p, primals, params), ()


@error_if_p.def_batch
def _error_if_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: ErrorIfParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    operands = [
        x if axis is None else move_batch_axis(x, axis, 0, mapped.size)
        for x, axis in zip(values, axes, strict=True)
    ]
    return bind(error_if_p, operands, params), ()


@checked
def error_if(x: V, predicate: Any, message: str) -> V:
    """Raise an error at run time where ``predicate`` is true, and return ``x``.

    Works under every transformation: compiled code raises when the call returns, ``vmap`` when it
    is true for any example, and derivatives pass through ``x``.

    Args:
        x: what to return, unchanged: arrays in any containers.
        predicate: a bool, or an array of them of any shape.
        message: what the error says.

    Returns:
        ``x``.

    Raises:
        CheckFailedError: at run time, if an element of ``predicate`` is true; it names the line
            that called this function.
        DtypeError: ``predicate`` is not of type bool.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.jit
        ... def safe_log(x):
        ...     return jnp.log(tinyjax.error_if(x, x <= 0, "log of what is not positive"))
        >>> safe_log(jnp.array([1.0, -1.0]))
        Traceback (most recent call last):
            ...
        tinyjax.errors.CheckFailedError: log of what is not positive (in 1 of 2 places, ...
    """
    failed = as_array(predicate)
    if failed.dtype != dtypes.bool_:
        raise DtypeError(
            f"the predicate of error_if must be of type bool, but got {failed.aval}. Write a "
            "comparison, such as x < 0."
        )
    bind(error_if_p, (failed,), ErrorIfParams(message, user_location()))
    return x
