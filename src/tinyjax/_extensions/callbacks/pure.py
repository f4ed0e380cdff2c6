"""``pure_callback``: a Python function without side effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import attrs

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames
from tinyjax._extensions.callbacks import common
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing import calling, jaxpr as jx, primitive as prim, staging, trace as tr
from tinyjax.core.transforms.batching import batch_flat
from tinyjax.core.values import Array, avals as av, operands as opd
from tinyjax.custom_derivatives import closures


def _check_batch(params: common.CallbackParams) -> None:
    if params.method is None:
        raise errors.CallbackError(
            f"pure_callback of {params.callback!r} is under vmap, but does not say what to do "
            'there. Pass vmap_method="sequential" to call it once for each example, '
            '"expand_dims" or "broadcast_all" to call it once with one axis more in front.'
        ).at(params.location)


pure_callback_p: prim.Primitive[common.CallbackParams] = prim.Primitive(
    "pure_callback", common.CallbackParams
)
common.declare(pure_callback_p, _check_batch)
prim.mark(prim.MATERIALIZES, False, pure_callback_p)


@pure_callback_p.def_jvp
def _pure_callback_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: common.CallbackParams
) -> prim.JvpResult:
    outs = tr.bind(pure_callback_p, primals, params)
    if not any(dtypes.is_inexact(a.dtype) for a in params.out_avals):
        return outs, [prim.ZERO] * len(outs)
    if params.derivative is None:
        raise common.not_differentiable("pure_callback", params)
    filled = [
        sh.zeros_like(x) if t is prim.ZERO else t for x, t in zip(primals, tangents, strict=True)
    ]
    derivative = _declared_derivative(params, params.derivative)
    for axis in reversed(params.leading_axes):
        derivative = _over_axis(derivative, axis)
    out_tangents = derivative(*primals, *filled)
    return outs, [t if dtypes.is_inexact(t.dtype) else prim.ZERO for t in out_tangents]


def _declared_derivative(
    params: common.CallbackParams, derivative: common.Identity
) -> Callable[..., Sequence[Array]]:
    """Return the declared derivative as a function of flat primals and tangents, with checks."""
    n = params.in_tree.num_leaves

    def fun(*flat: Array) -> Sequence[Array]:
        half = len(flat) // 2  # what the derivative closes over has come along with tangents
        primals, _ = tree.unflatten(params.in_tree, flat[:n])
        tangents, _ = tree.unflatten(params.in_tree, flat[half : half + n])
        leaves, actual = tree.flatten(derivative(primals, tangents, *flat[n:half]))
        outs = [opd.as_array(leaf) for leaf in leaves]
        types = [(x.shape, x.dtype) for x in outs]
        if actual != params.out_tree or types != [(a.shape, a.dtype) for a in params.out_avals]:
            raise errors.CallbackError(
                f"the derivative of callback {params.callback!r} returned {actual} of "
                f"({', '.join(str(x.aval) for x in outs)}), but the callback is declared to "
                f"return {params.out_tree} of ({', '.join(map(str, params.out_avals))}). Return "
                "one tangent for each result, of its type."
            )
        return outs

    return fun


def _over_axis(
    fun: Callable[..., Sequence[Array]], leading: common.LeadingAxis
) -> Callable[..., Sequence[Array]]:
    axes = [0 if mapped else None for mapped in leading.mapped] * 2
    # the tangent of an operand that is not mapped is not mapped either

    def batched(*args: Array) -> Sequence[Array]:
        outs, out_axes = batch_flat(fun, prim.MappedAxis(leading.size), args, axes)
        return [
            sh.move_batch_axis(out, axis, 0, leading.size)
            for out, axis in zip(outs, out_axes, strict=True)
        ]

    return batched


@overload
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: av.ShapeDtypeStruct,
    *args: Any,
    vmap_method: common.MethodName | None = ...,
    derivative: Callable[..., Any] | None = ...,
    **kwargs: Any,
) -> Array: ...
@overload
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: object,
    *args: Any,
    vmap_method: common.MethodName | None = ...,
    derivative: Callable[..., Any] | None = ...,
    **kwargs: Any,
) -> Any: ...
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    vmap_method: common.MethodName | None = None,
    derivative: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function that has no side effects, from eager or compiled code.

    The call may be repeated, and it may be dropped if its results are not used. The caller gets the
    exceptions that the function raises.

    Args:
        callback: takes NumPy arrays, read-only, in the containers of ``args`` and ``kwargs``, and
            returns NumPy arrays or Python numbers.
        result_shape_dtypes: the types of its results: arrays or ``ShapeDtypeStruct`` in any
            containers. The function may return others that hold as many arrays, such as the named
            tuple of ``np.linalg.eigh`` for a tuple.
        args: its arguments: arrays in any containers.
        vmap_method: how to call it under ``vmap``. ``"sequential"`` and ``"sequential_unrolled"``
            call it once for each example. ``"expand_dims"`` calls it once, with one more axis in
            front of every argument, of length one if the argument is not mapped.
            ``"broadcast_all"`` does so with every argument repeated to full length, and
            ``"legacy_vectorized"`` gives the axis to mapped arguments alone. By default ``vmap``
            is an error.
        derivative: takes the tuple of ``args`` and the tuple of their tangents, as arrays, and
            returns the tangent of the result. It must be linear in the tangents, which are zeros
            for arguments without tangents. It may close over traced values, and serves forward and
            reverse mode. Without it, a derivative is an error.
        kwargs: more arguments for ``callback``.

    Returns:
        The results of the function, as arrays.

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
    errors.check_function("pure_callback", callback, "callback")
    if derivative is not None and kwargs:
        raise errors.ArgumentError(
            "a callback with a declared derivative takes positional arguments only, but got "
            f"{', '.join(kwargs)}."
        )
    method = common.vmap_method_of(vmap_method)
    out_tree, out_avals = common.declared_results(result_shape_dtypes)
    leaves, in_tree = tree.flatten_arguments(args, kwargs)
    params = common.CallbackParams(
        common.Identity(callback),
        in_tree,
        out_tree=out_tree,
        out_avals=out_avals,
        method=method,
        location=frames.user_location(),
    )
    operands = [opd.as_array(x) for x in leaves]
    if derivative is not None:
        consts: Sequence[Array] = ()
        if closures.holds_tracer(derivative):  # which may be gone when a derivative is taken
            derivative, consts = _closed(derivative, in_tree, operands)
        params = attrs.evolve(params, derivative=common.Identity(derivative))
        operands += consts
    outs = tr.bind(pure_callback_p, operands, params)
    return tree.unflatten(out_tree, outs)


def _closed(
    derivative: Callable[..., Any], in_tree: tree.PyTreeDef, operands: Sequence[Array]
) -> tuple[Callable[..., Any], Sequence[Array]]:
    """Stage a declared derivative; its closed-over values become its last arguments."""
    primals, _ = tree.unflatten(in_tree, operands)
    flat = calling.FlatFunction(derivative, tree.structure(((primals, primals), {})))
    staged = staging.stage(flat, [x.aval for x in (*operands, *operands)], derivative)
    # the derivative outlives the trace, whose tracers it must not hold
    jaxpr, out_tree = staged.jaxpr, flat.out_tree

    def closed(primals: Any, tangents: Any, *consts: Array) -> Any:
        outs = jx.eval_jaxpr(jaxpr, [*consts, *tree.leaves((primals, tangents))])
        return tree.unflatten(out_tree, outs)

    return closed, staged.consts
