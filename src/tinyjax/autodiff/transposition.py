"""``linear_transpose``: a linear function backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames, records
from tinyjax.core.api import arguments
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing import calling, jaxpr as jx, primitive as prim
from tinyjax.core.tracing.watching import watched
from tinyjax.core.transforms.linearize import stage_linear
from tinyjax.core.transforms.transpose import pull_back
from tinyjax.core.values import Array


def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Return the transpose of a linear function.

    The function is traced once, so its arguments have types but no values. Complex numbers are not
    conjugated, as in all derivatives.

    Args:
        fun: takes and returns arrays of floats or complex numbers in any containers, and is linear
            in all its arguments together. It need not be linear in what it closes over.
        primals: example arguments: arrays, or ``ShapeDtypeStruct`` or other objects with a shape
            and a dtype in their place.

    Returns:
        A function that takes a cotangent of the result and returns a tuple with a cotangent for
        each argument. It is a tree of what it keeps, so functions under ``jit`` can return it and
        take it.

    Raises:
        DifferentiationError: an argument or a result is neither float nor complex. When the
            transpose is called: ``fun`` is not linear, or the cotangent is of another type.
        TreeMismatchError: when called with a cotangent of another structure.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> differences = lambda x: x[1:] - x[:-1]
        >>> transpose = tinyjax.linear_transpose(differences, jnp.zeros(3))
        >>> transpose(jnp.array([1.0, 10.0]))
        (Array([-1., -9., 10.], dtype=float32),)
    """
    leaves, in_tree = tree.flatten_arguments(primals, {})
    in_avals = calling.as_avals(leaves, fun, in_tree)
    flat = calling.FlatFunction(fun, in_tree)
    # no staging: what does not depend on the arguments is computed now, programs in it included
    staged = stage_linear(flat, in_avals, frames.Applied("linear_transpose", fun))
    jaxpr, out_tree = staged.jaxpr, flat.out_tree
    for i, aval in enumerate(in_avals):
        if not dtypes.is_inexact(aval.dtype):
            place = calling.argument_path(fun, in_tree, i)
            raise _no_transpose(f"{place} of {frames.describe_function(fun)} is {aval}")
    for i, aval in enumerate(jaxpr.out_avals):
        if not dtypes.is_inexact(aval.dtype):
            place = calling.leaf_path("result", out_tree, i)
            raise _no_transpose(f"{frames.describe_function(fun)} returned {aval} at {place}")

    return LinearTranspose(staged.consts, _Linear(jaxpr, in_tree, out_tree, fun))


@attrs.frozen(eq=False, repr=False)
class _Linear(records.Record):
    """A linear function, less the arrays it closes over; equal for equal programs."""

    jaxpr: jx.Jaxpr
    in_tree: tree.PyTreeDef
    out_tree: tree.PyTreeDef
    fun: Callable[..., Any] = attrs.field(eq=False)

    def __repr__(self) -> str:
        return frames.describe_function(self.fun)


@attrs.frozen(eq=False, repr=False)
class LinearTranspose:
    """The transpose of a linear function, a tree of the arrays it keeps.

    Attributes:
        consts: what the function closes over.
        linear: the function.
    """

    consts: tuple[Any, ...]
    linear: _Linear

    @watched
    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        jaxpr, fun, out_tree = self.linear.jaxpr, self.linear.fun, self.linear.out_tree
        cotangents_out = arguments.as_cotangents(
            cotangent, out_tree, jaxpr.out_avals, fun, "linear_transpose"
        )
        known = dict(zip(jaxpr.in_binders, self.consts, strict=False))
        inputs = jaxpr.in_binders[len(known) :]
        try:
            cotangents_in = pull_back(jaxpr.eqns, known, inputs, jaxpr.outs, cotangents_out)
        except errors.MissingRuleError as error:
            if error.rule != "transpose":
                raise
            raise errors.DifferentiationError(
                f"linear_transpose takes linear functions, but {frames.describe_function(fun)} "
                f"applies '{error.primitive}' to what depends on its arguments."
            ) from None
        arrays: list[Array] = [
            sh.full(x.aval.shape, 0, x.aval.dtype) if ct is prim.ZERO else ct
            for ct, x in zip(cotangents_in, inputs, strict=True)
        ]
        cotangents: tuple[Any, ...] = tree.unflatten(self.linear.in_tree, arrays)[0]
        return cotangents

    def __repr__(self) -> str:
        return f"<transpose of {self.linear}>"


tree.register_dataclass(LinearTranspose, ["consts"], ["linear"])


def _no_transpose(what: str) -> errors.DifferentiationError:
    return errors.DifferentiationError(
        f"linear_transpose takes functions of floats and complex numbers, but {what}."
    )
