"""``jax.interpreters.mlir``: the registration of lowerings of primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._jax import primitives
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import Primitive, trace as tr
from tinyjax.core.values import avals as av

__all__ = ["LoweringRuleContext", "emit_python_callback", "lower_fun", "register_lowering"]


@attrs.frozen
class ModuleContext:
    """The module that a lowering rule writes to.

    Attributes:
        platforms: what the program is to run on.
    """

    platforms: tuple[str, ...]

    def add_keepalive(self, keepalive: object) -> None:
        """Do nothing: the callees of a program live as long as the program."""


@attrs.frozen(eq=False)
class LoweringRuleContext:
    """The context of a lowering rule, besides its operands.

    Attributes:
        builder: the builder of StableHLO.
        avals_in: the types of the operands.
        avals_out: the types of the results.
        module_context: the module.
    """

    builder: Lowering
    avals_in: tuple[av.ShapedArray, ...]
    avals_out: tuple[av.ShapedArray, ...]
    module_context: ModuleContext


def _avals(types: Sequence[hlo.TensorType]) -> tuple[av.ShapedArray, ...]:
    return tuple(av.ShapedArray(of.shape, of.dtype) for of in types)


@attrs.frozen(eq=False)
class lower_fun:  # noqa: N801 (its name in JAX)
    """Make a lowering rule from a function of arrays, whose program replaces the primitive.

    Attributes:
        fun: takes the operands, and the parameters by keywords.
        multiple_results: whether it returns a sequence of results, or one.
    """

    fun: Callable[..., Any]
    multiple_results: bool = True


def register_lowering(
    prim: Primitive[Any], rule: object, platform: str | None = None, **options: object
) -> None:
    """Register the lowering of a primitive.

    Args:
        prim: the primitive.
        rule: what ``lower_fun`` made, or a rule that takes a context and values and calls back to
            Python by ``emit_python_callback``. One that writes MLIR by jaxlib's builders cannot.
        platform: the only platform that it is for; one that is not the CPU is of no account.
        options: of no account.
    """
    if platform not in (None, "cpu"):
        return
    if isinstance(rule, lower_fun):
        primitives.register_lowering_of(prim, rule.fun, rule.multiple_results)
        return

    if not callable(rule):
        raise errors.ArgumentError(
            f"register_lowering takes a rule for '{prim}', but got {errors.shortened(rule)}."
        )

    def lowering(b: Lowering, operands: hlo.Values, params: Any) -> hlo.Values:
        context = LoweringRuleContext(
            b, _avals([x.type for x in operands]), _avals(b.results), ModuleContext((b.platform,))
        )
        outs: hlo.Values = rule(context, *operands, **dict(params.items()))
        return outs

    prim.def_lowering(lowering)


def emit_python_callback(
    ctx: LoweringRuleContext,
    callback: Callable[..., Any],
    token: object,
    operands: hlo.Values,
    operand_avals: Sequence[av.ShapedArray],
    result_avals: Sequence[av.ShapedArray],
    *,
    has_side_effect: bool,
    **options: object,
) -> tuple[hlo.Values, None, Callable[..., Any]]:
    """Write a call of a Python function, in the lowering rule of a primitive.

    Args:
        ctx: what the rule was given.
        callback: takes NumPy arrays and returns a sequence of arrays.
        token: of no account, like the options.
        operands: what the program calls it with.
        operand_avals: their types.
        result_avals: the types of what it returns: those of the primitive's results.
        has_side_effect: whether it is called even if the results are not used.
        options: of no account.

    Returns:
        The results, no token, and the function.
    """

    def call(*args: dtypes.HostArray) -> list[dtypes.HostArray]:
        with tr.use_trace(tr.EVAL):
            return [np.asarray(out) for out in callback(*args)]

    b = ctx.builder
    return b.host_call(call, operands, b.results, has_side_effect), None, callback
