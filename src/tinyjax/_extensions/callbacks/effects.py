"""``io_callback`` and the debug callback: Python functions called for their side effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base.frames import user_location
from tinyjax._extensions.callbacks import common
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av, operands as opd


def _check_io_batch(params: common.CallbackParams) -> None:
    if params.ordered:
        raise errors.CallbackError(
            f"an ordered io_callback of {params.callback!r} is under vmap, which does each step "
            "for all examples before the next, so that no order of the examples can be kept. "
            "Use ordered=False, or a loop in place of vmap."
        ).at(params.location)


io_callback_p: prim.Primitive[common.CallbackParams] = prim.Primitive(
    "io_callback", common.CallbackParams, effectful=True
)
common.declare(io_callback_p, _check_io_batch)


@io_callback_p.def_jvp
def _io_callback_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: common.CallbackParams
) -> prim.JvpResult:
    if any(dtypes.is_inexact(a.dtype) for a in params.out_avals):
        raise common.not_differentiable("io_callback", params)
    outs = tr.bind(io_callback_p, primals, params)
    return outs, [prim.ZERO] * len(outs)


@overload
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: av.ShapeDtypeStruct,
    *args: Any,
    ordered: bool = ...,
    **kwargs: Any,
) -> Array: ...
@overload
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: object,
    *args: Any,
    ordered: bool = ...,
    **kwargs: Any,
) -> Any: ...
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function for its side effects, from eager or compiled code.

    Each execution of the operation calls the function exactly once, whether or not its results are
    used. Under ``vmap`` it calls it once for each example that takes the branch or iteration; other
    examples get zeros. A compiled program returns when its calls are done.

    Args:
        callback: takes NumPy arrays, read-only, in the containers of ``args`` and ``kwargs``, and
            returns NumPy arrays or Python numbers.
        result_shape_dtypes: the types of its results: arrays or ``ShapeDtypeStruct`` in any
            containers; None for no result. The function may return others that hold as many arrays.
        args: its arguments: arrays in any containers.
        ordered: whether to keep the program's order among ordered calls.
        kwargs: more arguments for ``callback``.

    Returns:
        The results of the function, as arrays.

    Raises:
        CallbackError: the result is not what was declared, or an ordered call is under ``vmap``.
        DifferentiationError: a derivative of the results is taken.
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
    errors.check_function("io_callback", callback, "callback")
    out_tree, out_avals = common.declared_results(result_shape_dtypes)
    leaves, in_tree = tree.flatten_arguments(args, kwargs)
    params = common.CallbackParams(
        common.Identity(callback),
        in_tree,
        out_tree=out_tree,
        out_avals=out_avals,
        ordered=ordered,
        location=user_location(),
    )
    outs = tr.bind(io_callback_p, [opd.as_array(x) for x in leaves], params)
    return tree.unflatten(out_tree, outs)


debug_callback_p: prim.Primitive[common.CallbackParams] = prim.Primitive(
    "debug_callback", common.CallbackParams, effectful=True
)
common.declare(debug_callback_p)


debug_callback_p.def_jvp(
    lambda primals, tangents, params: (tr.bind(debug_callback_p, primals, params), ())
)


def debug_callback(
    callback: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], ordered: bool
) -> None:
    """Call a function with the arrays among its arguments as NumPy arrays, the rest as it is."""
    errors.check_function("debug.callback", callback, "callback")
    leaves, in_tree = tree.flatten_arguments(args, kwargs)
    operands: list[Array] = []
    static: list[tuple[int, common.Identity]] = []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Array | np.ndarray | np.generic):
            operands.append(opd.as_array(leaf))
        else:
            static.append((i, common.Identity(leaf)))
    params = common.CallbackParams(
        common.Identity(callback), in_tree, tuple(static), ordered=ordered, location=user_location()
    )
    tr.bind(debug_callback_p, operands, params)
