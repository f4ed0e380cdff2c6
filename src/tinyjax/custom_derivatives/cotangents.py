"""The tangent map of a ``custom_vjp`` function: known only by its transpose."""

from collections.abc import Callable, Sequence

import attrs

from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.dependence import depends
from tinyjax.core.list_partition import marked
from tinyjax.core.primitive import (
    FITS,
    ZERO,
    Arrays,
    Avals,
    BatchAxes,
    BatchResult,
    Cotangents,
    JvpResult,
    MappedAxis,
    Operands,
    Params,
    Primitive,
    Tangent,
    Tangents,
)
from tinyjax.core.program_rules import ASKED
from tinyjax.core.staging import stage
from tinyjax.core.tangents import (
    defined,
    nonzeros,
    of_undefined,
    only_present,
    present,
    with_zeros,
)
from tinyjax.core.trace import Tracer, bind
from tinyjax.errors import DifferentiationError
from tinyjax.primitives.broadcast import reduce_sum
from tinyjax.primitives.elementwise import mul
from tinyjax.primitives.shape import full_like, move_batch_axis
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values
from tinyjax.transforms.batching import batch_flat, batched_aval, tell, unbatched_aval

#: Residuals and the cotangents of the results to those of the linear operands.
Backward = Callable[[Sequence[Array], Sequence[Tangent]], Sequence[Tangent]]


@attrs.frozen(eq=False, repr=False)
class PullBackParams(Params):
    """A linear map that is given by its transpose.

    Attributes:
        backward: the transpose.
        num_residuals: how many operands come first in which it is not linear.
        out_avals: the types of its results.
        name: the function whose derivative it is.
    """

    backward: Backward
    num_residuals: int
    out_avals: tuple[ShapedArray, ...]
    name: str = attrs.field(eq=False)


custom_vjp_tangent_p: Primitive[PullBackParams] = Primitive("custom_vjp_tangent", PullBackParams)


def _forward_mode(name: str) -> DifferentiationError:
    return DifferentiationError(
        f"{name} is a custom_vjp function, whose rule serves reverse mode (grad, vjp, jacrev), but "
        "its derivative was asked for in forward mode (jvp, jacfwd, or a linearized function "
        "applied). Define it with custom_derivative or custom_jvp, whose rules serve both."
    )


@custom_vjp_tangent_p.def_evaluate
def _tangent_evaluate(args: Arrays, params: PullBackParams) -> Arrays:
    raise _forward_mode(params.name)


# The transpose is the user's: of each operand it gives the cotangent as it is, summed or not.
custom_vjp_tangent_p.def_rule(FITS)(lambda params, axes: (axes, params))


custom_vjp_tangent_p.def_rule(ASKED)(lambda params: True)


@custom_vjp_tangent_p.def_abstract_eval
def _tangent_type(avals: Avals, params: PullBackParams) -> Avals:
    return params.out_avals


@custom_vjp_tangent_p.def_lowering
def _tangent_lowering(b: Lowering, operands: Values, params: PullBackParams) -> Values:
    raise _forward_mode(params.name)


@custom_vjp_tangent_p.def_jvp
def _tangent_jvp(primals: Arrays, tangents: Tangents, params: PullBackParams) -> JvpResult:
    raise _forward_mode(params.name)


@custom_vjp_tangent_p.def_transpose
def _tangent_transpose(
    cotangents: Tangents, operands: Operands, params: PullBackParams
) -> Cotangents:
    n = params.num_residuals
    residuals = defined(operands[:n])
    assert len(residuals) == n, "residuals are no tangents"
    of_operands = params.backward(residuals, cotangents)
    return [*[None] * n, *of_undefined(operands[n:], of_operands)]


def _gather(ct: Array, axis: int | None, to: int | None, size: int) -> Array:
    """Bring a cotangent to the operand's batch axis; where it has none, all examples add."""
    if to is not None:
        return move_batch_axis(ct, axis, to, size)
    return mul(ct, full_like(ct, size)) if axis is None else reduce_sum(ct, (axis,))


def pull_back_batch(
    pull: Callable[..., Sequence[Tangent]],
    mapped: MappedAxis,
    values: Arrays,
    axes: BatchAxes,
    to: BatchAxes,
) -> list[Tangent]:
    """Pull cotangents back for each example.

    Args:
        pull: takes arrays of one example, and returns cotangents of its operands.
        mapped: the batch.
        values: the arrays, of all examples.
        axes: their batch axes.
        to: the batch axes of the operands.
    """
    run, nonzero = only_present(pull)
    results, result_axes = batch_flat(run, mapped, values, axes)
    pairs = iter(zip(results, result_axes, strict=True))
    return [
        _gather(*next(pairs), axis, mapped.size) if has else ZERO
        for has, axis in zip(nonzero, to, strict=True)
    ]


@custom_vjp_tangent_p.def_batch
def _tangent_batch(
    mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: PullBackParams
) -> BatchResult:
    n, size = params.num_residuals, mapped.size

    def backward(residuals: Sequence[Array], cotangents: Sequence[Tangent]) -> list[Tangent]:
        nonzero, cts = nonzeros(cotangents), present(cotangents)

        def pull(*operands: Array) -> Sequence[Tangent]:
            return params.backward(operands[:n], with_zeros(nonzero, operands[n:]))

        at = [*axes[:n], *([0] * len(cts))]
        return pull_back_batch(pull, mapped, [*residuals, *cts], at, axes[n:])

    tell(mapped, lambda: _varying([x.aval for x in values], axes, params))
    out_avals = tuple(batched_aval(a, 0, size) for a in params.out_avals)
    outs = bind(custom_vjp_tangent_p, values, PullBackParams(backward, n, out_avals, params.name))
    return outs, [0] * len(outs)


def _varying(avals: Avals, axes: BatchAxes, params: PullBackParams) -> list[bool]:
    """Find of which results the cotangents are pulled back by numbers of each example's own."""
    n, count = params.num_residuals, len(params.out_avals)
    run, nonzero = only_present(lambda *xs: params.backward(xs[:n], xs[n:]))
    residuals = [
        a if axis is None else unbatched_aval(a, axis)
        for a, axis in zip(avals[:n], axes[:n], strict=True)
    ]
    try:
        staged = stage(run, [*residuals, *params.out_avals])
    except Exception:
        return [True] * count
    batched = [axis is not None for axis in axes]
    from_outside = [isinstance(x, Tracer) for x in staged.consts]
    none = [False] * count
    own = depends(staged.jaxpr, [*from_outside, *batched[:n], *none])
    there = marked(batched[n:], nonzero)
    flags = []
    for i in range(count):
        alone = [False] * (len(from_outside) + n) + [i == j for j in range(count)]
        reached = depends(staged.jaxpr, alone)
        flags.append(any(r and (a or b) for r, a, b in zip(reached, own, there, strict=True)))
    return flags
