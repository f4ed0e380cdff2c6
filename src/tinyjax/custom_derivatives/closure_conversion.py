"""``closure_convert``: what a function closes over, as arguments of a function with rules."""

from collections.abc import Callable
from typing import Any

from tinyjax import dtypes, errors, frames, tree
from tinyjax.core.tracing import calling, jaxpr as jx, staging as stg, trace as tr
from tinyjax.core.values.array import Array


def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Array]]:
    """Turn the traced values that a function closes over into arguments.

    The rules of ``custom_vjp`` and ``custom_jvp`` give derivatives in arguments only. Convert a
    function before you pass it to such a function, to differentiate in what it closes over.

    Args:
        fun: takes and returns arrays in any containers. It is staged, once.
        example_args: arguments of the types that it will be called with.

    Returns:
        ``(converted, closed_over)``: ``converted(*args, *closed_over)`` is ``fun(*args)``.
        ``closed_over`` are the traced floats and complex numbers. The function keeps everything
        else that it closes over, since no derivative is taken in that.

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
    flat = calling.FlatFunction(fun, in_tree)
    avals = calling.as_avals(leaves, fun, in_tree)
    staged = stg.stage(flat, avals, fun)
    jaxpr, consts = staged.jaxpr, staged.consts
    traced = [isinstance(x, tr.Tracer) and dtypes.is_inexact(x.dtype) for x in consts]
    closed_over = [x for x, is_traced in zip(consts, traced, strict=True) if is_traced]
    constants = [None if is_traced else x for x, is_traced in zip(consts, traced, strict=True)]
    out_tree, n = flat.out_tree, len(example_args)

    def converted(*args: Any) -> Any:
        if len(args) != n + len(closed_over):
            raise errors.ArgumentError(
                "The inputs to the closure produced by closure_convert must have the same Pytree "
                f"structure as the example arguments: {frames.describe_function(fun)} takes {n} "
                f"arguments and the {len(closed_over)} values that it closed over, but got "
                f"{len(args)}."
            )
        own_leaves = in_tree.flatten_up_to((args[:n], {}), "args")
        arrays = calling.as_arrays(own_leaves, fun, in_tree)
        for i, (x, aval) in enumerate(zip(arrays, avals, strict=True)):
            if x.shape != aval.shape or x.dtype != aval.dtype:
                raise errors.ArgumentError(
                    f"{calling.argument_path(fun, in_tree, i)} of {frames.describe_function(fun)}, "
                    f"converted by closure_convert for {aval}, is {x.aval}."
                )
        rest = iter(calling.as_arrays(args[n:], fun, tree.structure((args[n:], {}))))
        values = [next(rest) if x is None else x for x in constants]
        return tree.unflatten(out_tree, jx.eval_jaxpr(jaxpr, [*values, *arrays]))

    return converted, closed_over
