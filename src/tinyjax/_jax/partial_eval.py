"""``jax.interpreters.partial_eval``: which results of a function need its unknown arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tinyjax._jax.linear_util import WrappedFun
from tinyjax.core.tracing import jaxpr as jx, program_rules
from tinyjax.core.tracing.staging import StagingTracer as DynamicJaxprTracer, stage
from tinyjax.core.values import Array, avals as av, operands as opd

__all__ = ["DynamicJaxprTracer", "PartialVal", "trace_to_jaxpr_nounits"]


class PartialVal(NamedTuple):
    """A value that is known, or the type of one that is not; None is in the other's place."""

    aval: av.ShapedArray | None
    value: Any

    @classmethod
    def known(cls, value: Any) -> PartialVal:
        """Take a value."""
        return cls(None, value)

    @classmethod
    def unknown(cls, aval: av.ShapedArray) -> PartialVal:
        """Take the type of a value that is not known."""
        return cls(aval, None)

    def is_known(self) -> bool:
        """Return whether the value is known."""
        return self.aval is None


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool = False
) -> tuple[jx.Jaxpr, list[PartialVal], list[Array]]:
    """Stage a function of leaves, and compute those of its results that need no unknown argument.

    Args:
        fun: takes one array for each of ``pvals``, and returns a list of arrays.
        pvals: the arguments.
        instantiate: of no account: the program gives all results.

    Returns:
        The program of the constants and the unknown arguments; the results; and the constants.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax._jax.linear_util import wrap_init
        >>> from tinyjax._jax.partial_eval import PartialVal, trace_to_jaxpr_nounits
        >>> fun = wrap_init(lambda x, y: [x * 2, x + y])
        >>> pvals = [PartialVal.known(3), PartialVal.unknown(jnp.ones(2).aval)]
        >>> twice, total = trace_to_jaxpr_nounits(fun, pvals)[1]
        >>> twice.value, total.aval
        (Array(6, dtype=int32, weak_type=True), ShapedArray(float32[2]))
    """

    def of_unknown(*unknown: Array) -> list[Array]:
        rest = iter(unknown)
        results = fun.call_wrapped(*[p.value if p.is_known() else next(rest) for p in pvals])
        return [opd.as_array(x) for x in results]

    staged = stage(of_unknown, [p.aval for p in pvals if p.aval is not None])
    jaxpr, consts = staged.jaxpr, staged.consts
    constant = tuple([i < len(consts) for i in range(len(jaxpr.in_binders))])
    independent = tuple([not d for d in program_rules.depends(jaxpr, [not c for c in constant])])
    values = iter(jx.eval_jaxpr(program_rules.shorten(jaxpr, independent, constant), consts))
    results = [
        PartialVal.known(next(values)) if known else PartialVal.unknown(aval)
        for known, aval in zip(independent, jaxpr.out_avals, strict=True)
    ]
    return jaxpr, results, [*consts]
