"""Linear maps that are given with their transposes, as two programs; ``linear_call``.

The transpose of such a map is the same with the two exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

import attrs

from tinyjax import errors, tree
from tinyjax._base import frames, lazy
from tinyjax.core.jit import program
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.primitives import rules, shape as sh
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import calling, primitive as prim, program_rules, trace as tr
from tinyjax.core.tracing.jaxpr import Jaxpr, eval_jaxpr
from tinyjax.core.tracing.staging import Staged, close_over, stage
from tinyjax.core.transforms import batching
from tinyjax.core.transforms.jvp import jvp_flat, jvp_jaxpr
from tinyjax.core.transforms.linearize import linearize_flat
from tinyjax.core.values import Array, ShapedArray, operands as opd
from tinyjax.tree.treedef import in_words


@attrs.frozen(eq=False, repr=False)
class MaskedPullBack:
    """A pull-back of cotangents with masks of their selected elements, as numbers.

    Attributes:
        body: the linear program that the map runs again and again.
        linear: which of its last parameters the map has as operands.
        sizes_in: of the groups of linear operands; the masks of each come after it.
        sizes_out: of the groups of results, likewise.
        pull: residuals, cotangents and masks of the results to those of the linear operands.
    """

    body: Jaxpr
    linear: tuple[bool, ...]
    sizes_in: tuple[int, ...]
    sizes_out: tuple[int, ...]
    pull: Callable[..., Sequence[Array]]

    def restricted(
        self, operands: Sequence[bool], results: Sequence[bool], avals: Sequence[ShapedArray]
    ) -> MaskedPullBack:
        """Return the pull-back of some cotangents, where the others are zero and not selected.

        Args:
            operands: the linear operands that the map still has.
            results: the results that it still has.
            avals: the types of all results.
        """
        inner, outer = _slices(self.sizes_in), _slices(self.sizes_out)
        returned = [mark for group in inner for mark in [*operands[group]] * 2]
        present = [mark for group in outer for mark in [*results[group]] * 2]

        def pull(*args: Array) -> Sequence[Array]:
            with_masks = lazy.hook("selections").programs.with_masks
            types = [aval for group in outer for aval in with_masks(avals[group])]
            n = len(args) - sum(present)
            rest = iter(args[n:])
            cotangents = [
                next(rest) if mark else opd.splat(0, aval.cotangent())
                for aval, mark in zip(types, present, strict=True)
            ]
            return prim.marked(self.pull(*args[:n], *cotangents), returned)

        return MaskedPullBack(
            self.body,
            tuple(prim.fill_list(self.linear, operands, False)),
            tuple([sum(operands[group]) for group in inner]),
            tuple([sum(results[group]) for group in outer]),
            pull,
        )


def _slices(sizes: Sequence[int]) -> list[slice]:
    return [slice(*ends) for ends in pairwise(accumulate(sizes, initial=0))]


@attrs.frozen(eq=False, repr=False)
class LinearMapParams(prim.Params):
    """A linear map and its transpose.

    Attributes:
        forward: residuals and operands, in which it is linear, to results.
        backward: residuals and the results' cotangents to the operands'.
        num_residuals: the number of residuals.
        masked: the transpose with masks, if it has such a form.
    """

    forward: Jaxpr
    backward: Jaxpr
    num_residuals: int
    masked: MaskedPullBack | None = attrs.field(default=None, eq=False, repr=False)

    def restricted(
        self, operands: tuple[bool, ...], results: tuple[bool, ...]
    ) -> LinearMapParams | None:
        """Return the map of some operands, where the others are zero, to some of the results.

        None where it is not to be had: a program does something else with its operands as well.
        """
        n = self.num_residuals
        forward = _restricted(self.forward, n, operands, results)
        backward = _restricted(self.backward, n, results, operands)
        if forward is None or backward is None:
            return None
        avals = self.forward.out_avals
        masked = self.masked and self.masked.restricted(operands, results, avals)
        return LinearMapParams(forward, backward, n, masked)


def _restricted(
    jaxpr: Jaxpr, num_residuals: int, nonzero: tuple[bool, ...], used: tuple[bool, ...]
) -> Jaxpr | None:
    """Return a program that is linear in its last parameters, for some of these and some results.

    It is the derivative along these parameters, in which zeros are not computed with.
    """
    n, m = num_residuals, len(nonzero)

    def make() -> Jaxpr | None:
        shorter, needed = program_rules.prune_results(jaxpr, used)
        if all(mark or not need for mark, need in zip(nonzero, needed[n:], strict=True)):
            binders = (*shorter.in_binders[:n], *prim.marked(shorter.in_binders[n:], nonzero))
            return Jaxpr(binders, shorter.eqns, shorter.outs)
        staged, present = jvp_jaxpr(jaxpr, (*[False] * n, *nonzero), used)
        tangents = prim.marked(used, present)
        program, needed = program_rules.prune_results(
            staged.jaxpr, (*[False] * len(used), *tangents)
        )
        if staged.consts or any(needed[n : n + m]):
            return None
        binders = (*program.in_binders[:n], *program.in_binders[n + m :])
        return Jaxpr(binders, program.eqns, program.outs)

    return jaxpr.derive(("restricted", n, nonzero, used), make)


def bind_linear_map(
    primitive: prim.Primitive[LinearMapParams],
    forward: Staged,
    backward: Staged,
    operands: Sequence[Array],
    num_residuals: int,
    masked: MaskedPullBack | None = None,
) -> Sequence[Array]:
    """Bind a linear map; the closed-over values of both programs become residuals."""
    (there, back), consts = close_over([forward, backward])
    if masked is not None and consts:
        pull, skip = masked.pull, len(consts)
        masked = attrs.evolve(masked, pull=lambda *operands: pull(*operands[skip:]))
    params = LinearMapParams(there, back, len(consts) + num_residuals, masked)
    return tr.bind(primitive, (*consts, *operands), params)


def def_linear_map(primitive: prim.Primitive[LinearMapParams], called: str, residuals: str) -> None:
    """Register the type, the transpose and the batched form of a linear map.

    Args:
        primitive: the primitive.
        called: what messages call the map.
        residuals: what they call its residuals.
    """
    primitive.def_abstract_eval(
        lambda avals, params: program.check_call(called, params.forward, avals)
    )

    @primitive.def_transpose
    def map_transpose(
        cotangents: prim.Tangents, operands: prim.Operands, params: LinearMapParams
    ) -> prim.Cotangents:
        n = params.num_residuals
        known = prim.defined(operands[:n])
        if len(known) < n:
            raise rules.not_linear(primitive.name, residuals)
        cotangents_out = rules.instantiate_all(
            cotangents, [a.cotangent() for a in params.forward.out_avals]
        )
        if program_rules.contains_live_root(params.backward):
            # a pull-back by a rule for reverse mode alone, whose transpose is its own derivative's
            zeros = [opd.splat(0, var.aval) for var in params.forward.in_binders[n:]]
            pull = linearize_flat(lambda *xs: eval_jaxpr(params.forward, [*known, *xs]), zeros)
            pulled = pull.pull_back(cotangents_out)
            return [*[None] * n, *prim.of_undefined(operands[n:], pulled)]
        turned = LinearMapParams(params.backward, params.forward, n)
        cotangents_in = tr.bind(primitive, (*known, *cotangents_out), turned)
        return [*[None] * n, *prim.of_undefined(operands[n:], cotangents_in)]

    @primitive.def_batch
    def map_batch(
        mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: LinearMapParams
    ) -> prim.BatchResult:
        # All tangents and cotangents are batched, so that the two stay each other's transpose.
        n = params.num_residuals
        operands = [
            sh.move_batch_axis(x, axis, 0, mapped.size)
            for x, axis in zip(values[n:], axes[n:], strict=True)
        ]

        def batched(jaxpr: Jaxpr) -> Staged:
            in_axes = (*axes[:n], *[0] * (len(jaxpr.in_binders) - n))
            return batching.batch_jaxpr(jaxpr, mapped, in_axes, (True,) * len(jaxpr.outs))[0]

        def pull(*operands: Array) -> list[Array]:
            assert params.masked is not None, "asked only where it is"
            in_axes = (*axes[:n], *[0] * (len(operands) - n))
            outs, out_axes = batching.batch_flat(params.masked.pull, mapped, operands, in_axes)
            pairs = zip(outs, out_axes, strict=True)
            return [sh.move_batch_axis(x, axis, 0, mapped.size) for x, axis in pairs]

        forward, backward = batched(params.forward), batched(params.backward)
        masked = params.masked and attrs.evolve(params.masked, pull=pull)
        outs = bind_linear_map(primitive, forward, backward, [*values[:n], *operands], n, masked)
        return outs, [0] * len(outs)


linear_call_p: Final = prim.Primitive("linear_call", LinearMapParams, repeatable=True)
def_linear_map(linear_call_p, "a linear function", "its residuals")


def linear_call(
    fun: Callable[[Any, Any], Any],
    fun_transpose: Callable[[Any, Any], Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """Apply a linear function whose transpose is given for reverse mode.

    Use it where transposing the single operations fails or is inefficient. An example is the flow
    of a differential equation, whose transpose is another flow.

    Args:
        fun: takes residuals and operands; it may be applied to any residuals.
        fun_transpose: takes residuals and cotangents of the result, and returns cotangents of the
            operands, in their structure.
        residual_args: the arguments in which it is not linear: arrays in any containers.
        linear_args: the arguments in which it is linear.

    Raises:
        TreeMismatchError: the transpose returns another structure than that of the operands.

    Example:
        >>> import tinyjax
        >>> from tinyjax.custom_derivatives import linear_call
        >>> def scale(x):
        ...     return linear_call(lambda r, x: x / r, lambda r, ct: 10.0 * ct / r, 2.0, x)
        >>> float(scale(6.0)), float(tinyjax.grad(scale)(6.0))
        (3.0, 5.0)
    """
    residuals, residual_tree = tree.flatten(residual_args)
    operands, operand_tree = tree.flatten(linear_args)
    n = len(residuals)
    in_tree = tree.structure(((residual_args, linear_args), {}))
    arrays = calling.as_arrays([*residuals, *operands], fun, in_tree)
    forward = calling.FlatFunction(fun, in_tree)
    there = stage(forward, [x.aval for x in arrays], fun)
    out_tree = forward.out_tree

    def backward(*values: Array) -> list[Array]:
        result = fun_transpose(residual_tree.unflatten(values[:n]), out_tree.unflatten(values[n:]))
        leaves, result_tree = tree.flatten(result)
        if result_tree != operand_tree:
            raise errors.DifferentiationError(
                "transpose output pytree structure must match that of linear inputs, but "
                f"{frames.describe_function(fun_transpose)} returned "
                f"{in_words(result_tree)}, and they are {in_words(operand_tree)}."
            )
        return [opd.as_array(x) for x in leaves]

    back = stage(backward, [*(x.aval for x in arrays[:n]), *there.jaxpr.out_avals], fun_transpose)
    return tree.unflatten(out_tree, bind_linear_map(linear_call_p, there, back, arrays, n))


program_rules.def_evaluated(linear_call_p, lambda params: params.forward)
linear_call_p.def_rule(program_rules.LOWERED)(lambda eqn: eqn.params.forward)


@linear_call_p.def_lowering
def _call_lowering(b: Lowering, operands: hlo.Values, params: LinearMapParams) -> hlo.Values:
    return call_jaxpr(b, params.forward, "linear_call", operands)


@linear_call_p.def_jvp
def _call_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: LinearMapParams
) -> prim.JvpResult:
    n = params.num_residuals
    outs = tr.bind(linear_call_p, primals, params)
    _, change = jvp_flat(
        lambda *rs: eval_jaxpr(params.forward, [*rs, *primals[n:]]), primals[:n], list(tangents[:n])
    )
    return outs, _add_own(primals, tangents[n:], change, params)


def _add_own(
    primals: Sequence[Array],
    tangents: Sequence[prim.Tangent],
    change: Sequence[prim.Tangent],
    params: LinearMapParams,
) -> list[prim.Tangent]:
    """Add the terms of the operands' tangents to those of the residuals' tangents."""
    n = params.num_residuals
    if all(t is prim.ZERO for t in tangents):
        return list(change)
    tangents_in = [rules.instantiate(t, x) for t, x in zip(tangents, primals[n:], strict=True)]
    own = tr.bind(linear_call_p, (*primals[:n], *tangents_in), params)
    return [
        b if a is prim.ZERO else rules.add_arrays(a, b) for a, b in zip(change, own, strict=True)
    ]


@linear_call_p.def_linearize
def _call_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: LinearMapParams
) -> prim.LinearizeResult:
    n = params.num_residuals
    outs = tr.bind(linear_call_p, primals, params)
    change = linearize_flat(
        lambda *rs: eval_jaxpr(params.forward, [*rs, *primals[n:]]), primals[:n], list(nonzero[:n])
    )
    own = any(nonzero[n:])
    nonzero_out = [own or has for has in change.nonzero_out]

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        of_residuals, of_operands = prim.split_list(tangents, sum(nonzero[:n]))
        own_tangents = prim.with_zeros(nonzero[n:], of_operands)
        return prim.present(_add_own(primals, own_tangents, change.apply(of_residuals), params))

    return outs, nonzero_out, tangent_map
