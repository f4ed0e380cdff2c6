"""The tangent map of a ``custom_vjp`` function: known only by its transpose."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import attrs

from tinyjax.core.primitives import broadcast as bc, elementwise as ew, shape as sh
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.tracing.primitive import marked
from tinyjax.core.tracing.program_rules import ASKED, depends
from tinyjax.core.tracing.staging import stage
from tinyjax.core.transforms import batching as bt
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array
from tinyjax.custom_derivatives.batched_calls import tell
from tinyjax.errors import DifferentiationError

#: Residuals and the cotangents of the results to those of the linear operands.
Backward = Callable[[Sequence[Array], Sequence[prim.Tangent]], Sequence[prim.Tangent]]


@attrs.frozen(eq=False, repr=False)
class PullBackParams(prim.Params):
    """A linear map that is given by its transpose.

    Attributes:
        backward: the transpose.
        num_residuals: how many operands come first in which it is not linear.
        out_avals: the types of its results.
        name: the function whose derivative it is.
    """

    backward: Backward
    num_residuals: int
    out_avals: tuple[av.ShapedArray, ...]
    name: str = attrs.field(eq=False)


custom_vjp_tangent_p: prim.Primitive[PullBackParams] = prim.Primitive(
    "custom_vjp_tangent", PullBackParams
)


def _refuse_forward_mode(*operands: Any) -> NoReturn:
    params: PullBackParams = operands[-1]
    raise DifferentiationError(
        "can't apply forward-mode autodiff (jvp) to a custom_vjp function: the rule of "
        f"{params.name} serves reverse mode (grad, vjp, jacrev), but its derivative was asked for "
        "in forward mode (jvp, jacfwd, or a linearized function applied). Define it with "
        "custom_derivative or custom_jvp, whose rules serve both."
    )


custom_vjp_tangent_p.def_evaluate(_refuse_forward_mode)
custom_vjp_tangent_p.def_lowering(_refuse_forward_mode)
custom_vjp_tangent_p.def_jvp(_refuse_forward_mode)


# The transpose is the user's: of each operand it gives the cotangent as it is, summed or not.


custom_vjp_tangent_p.def_rule(ASKED)(lambda params: True)


@custom_vjp_tangent_p.def_abstract_eval
def _tangent_type(avals: prim.Avals, params: PullBackParams) -> prim.Avals:
    return params.out_avals


@custom_vjp_tangent_p.def_transpose
def _tangent_transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: PullBackParams
) -> prim.Cotangents:
    n = params.num_residuals
    residuals = prim.defined(operands[:n])
    assert len(residuals) == n, "residuals are no tangents"
    of_operands = params.backward(residuals, cotangents)
    return [*[None] * n, *prim.of_undefined(operands[n:], of_operands)]


def _gather(ct: Array, axis: int | None, to: int | None, size: int) -> Array:
    """Bring a cotangent to the operand's batch axis; where it has none, all examples add."""
    if to is not None:
        return sh.move_batch_axis(ct, axis, to, size)
    return ew.mul(ct, sh.full_like(ct, size)) if axis is None else bc.reduce_sum(ct, (axis,))


def pull_back_batch(
    pull: Callable[..., Sequence[prim.Tangent]],
    mapped: prim.MappedAxis,
    values: prim.Arrays,
    axes: prim.BatchAxes,
    to: prim.BatchAxes,
) -> list[prim.Tangent]:
    """Pull cotangents back for each example.

    Args:
        pull: takes arrays of one example, and returns cotangents of its operands.
        mapped: the batch.
        values: the arrays, of all examples.
        axes: their batch axes.
        to: the batch axes of the operands.
    """
    run, nonzero = prim.only_present(pull)
    results, result_axes = bt.batch_flat(run, mapped, values, axes)
    pairs = iter(zip(results, result_axes, strict=True))
    return [
        _gather(*next(pairs), axis, mapped.size) if has else prim.ZERO
        for has, axis in zip(nonzero, to, strict=True)
    ]


@custom_vjp_tangent_p.def_batch
def _tangent_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: PullBackParams
) -> prim.BatchResult:
    n, size = params.num_residuals, mapped.size

    def backward(
        residuals: Sequence[Array], cotangents: Sequence[prim.Tangent]
    ) -> list[prim.Tangent]:
        nonzero, cts = prim.nonzeros(cotangents), prim.present(cotangents)

        def pull(*operands: Array) -> Sequence[prim.Tangent]:
            return params.backward(operands[:n], prim.with_zeros(nonzero, operands[n:]))

        at = [*axes[:n], *([0] * len(cts))]
        return pull_back_batch(pull, mapped, [*residuals, *cts], at, axes[n:])

    tell(mapped, lambda: _varying([x.aval for x in values], axes, params))
    out_avals = tuple(bt.batched_aval(a, 0, size) for a in params.out_avals)
    outs = tr.bind(
        custom_vjp_tangent_p, values, PullBackParams(backward, n, out_avals, params.name)
    )
    return outs, [0] * len(outs)


def _varying(avals: prim.Avals, axes: prim.BatchAxes, params: PullBackParams) -> list[bool]:
    """Find of which results the cotangents are pulled back by numbers of each example's own."""
    n, count = params.num_residuals, len(params.out_avals)
    run, nonzero = prim.only_present(lambda *xs: params.backward(xs[:n], xs[n:]))
    residuals = [
        a if axis is None else bt.unbatched_aval(a, axis)
        for a, axis in zip(avals[:n], axes[:n], strict=True)
    ]
    try:
        staged = stage(run, [*residuals, *params.out_avals])
    except Exception:
        return [True] * count
    batched = [axis is not None for axis in axes]
    from_outside = [isinstance(x, tr.Tracer) for x in staged.consts]
    none = [False] * count
    own = depends(staged.jaxpr, [*from_outside, *batched[:n], *none])
    there = marked(batched[n:], nonzero)
    flags = []
    for i in range(count):
        alone = [False] * (len(from_outside) + n) + [i == j for j in range(count)]
        reached = depends(staged.jaxpr, alone)
        flags.append(any(r and (a or b) for r, a, b in zip(reached, own, there, strict=True)))
    return flags
