"""The primitive ``jit``, a program that is compiled as a unit, and the rules of all such calls.

Primitives that call a program share their rules: a transformed call is a call of the transformed
program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import attrs

from tinyjax import config
from tinyjax.core import xla
from tinyjax.core.control_flow.primitives import trip_counts
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, staging
from tinyjax.core.tracing.program_rules import CALLED, INLINING, def_evaluated
from tinyjax.core.tracing.trace import bind
from tinyjax.core.transforms.batching import batch_jaxpr
from tinyjax.core.transforms.jvp import jvp_jaxpr
from tinyjax.core.transforms.linearize import linearize_jaxpr
from tinyjax.core.transforms.transpose import transpose_jaxpr
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray, same_types
from tinyjax.errors import ArgumentError


class CallParams(Protocol):
    """The parameters of a call."""

    @property
    def jaxpr(self) -> jx.Jaxpr:
        """The program that is called."""


C = TypeVar("C", bound=CallParams)
#: Applies a program to arguments, after what it closes over.
Apply = Callable[[staging.Staged, Sequence[Array]], Sequence[Array]]


def inline(staged: staging.Staged, args: Sequence[Array]) -> Sequence[Array]:
    """Apply a program, equation by equation."""
    return jx.eval_jaxpr(staged.jaxpr, [*staged.consts, *args])


def check_call(called: str, jaxpr: jx.Jaxpr, avals: prim.Avals) -> Sequence[ShapedArray]:
    """Return the types of a program's results.

    Raises:
        ArgumentError: the operands are of other types than its parameters.
    """
    if not same_types(avals, jaxpr.in_avals):
        raise ArgumentError(
            f"{called} of type {jaxpr.type} was applied to ({', '.join(map(str, avals))})."
        )
    return jaxpr.out_avals


def jvp_of_call(
    jaxpr: jx.Jaxpr, primals: prim.Arrays, tangents: prim.Tangents, apply: Apply = inline
) -> prim.JvpResult:
    """Apply the jvp of a program."""
    staged, nonzero_out = jvp_jaxpr(jaxpr, prim.nonzeros(tangents))
    outs = apply(staged, [*primals, *prim.present(tangents)])
    n = len(nonzero_out)
    return outs[:n], prim.with_zeros(nonzero_out, outs[n:])


def linearize_of_call(
    jaxpr: jx.Jaxpr, primals: prim.Arrays, nonzero: Sequence[bool], apply: Apply = inline
) -> prim.LinearizeResult:
    """Apply a program split in two: the part independent of the tangents, and the rest."""
    if counting := trip_counts(jaxpr):
        jaxpr = counting.with_trip_counts(jaxpr)
    linearized = linearize_jaxpr(jaxpr, tuple(nonzero))
    outs = apply(linearized.primal, primals)
    n = len(linearized.nonzero_out)
    residuals = linearized.residuals(primals, outs[n:])

    def tangent_map(tangents: prim.Arrays) -> prim.Arrays:
        return apply(staging.Staged(linearized.tangent, ()), [*residuals, *tangents])

    return outs[:n], linearized.nonzero_out, tangent_map


def transpose_of_call(
    jaxpr: jx.Jaxpr, cotangents: prim.Tangents, operands: prim.Operands, apply: Apply = inline
) -> prim.Cotangents:
    """Apply the transpose of a program."""
    transposed = transpose_jaxpr(jaxpr, prim.are_undefined(operands), prim.nonzeros(cotangents))
    outs = apply(transposed.staged, [*prim.defined(operands), *prim.present(cotangents)])
    return prim.fill_list(
        prim.are_undefined(operands), prim.with_zeros(transposed.nonzero_out, outs), None
    )


def def_call(
    primitive: prim.Primitive[C], called: str, rebuild: Callable[[C, jx.Jaxpr], C]
) -> Callable[[staging.Staged, Sequence[Array], C], Sequence[Array]]:
    """Register the rules of a call that stays a call when it is transformed.

    Args:
        primitive: the primitive.
        called: the name of the program in messages.
        rebuild: returns the parameters for another program.

    Returns:
        A function that binds the call of another program, given its closed-over values and the
        arguments.
    """

    def bind_call(staged: staging.Staged, args: Sequence[Array], params: C) -> Sequence[Array]:
        return bind(primitive, (*staged.consts, *args), rebuild(params, staged.jaxpr))

    def_evaluated(primitive, lambda params: params.jaxpr)
    primitive.def_rule(CALLED)(rebuild)
    primitive.def_abstract_eval(lambda avals, params: check_call(called, params.jaxpr, avals))

    @primitive.def_jvp
    def call_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: C) -> prim.JvpResult:
        return jvp_of_call(
            params.jaxpr, primals, tangents, lambda staged, args: bind_call(staged, args, params)
        )

    @primitive.def_transpose
    def call_transpose(
        cotangents: prim.Tangents, operands: prim.Operands, params: C
    ) -> prim.Cotangents:
        return transpose_of_call(
            params.jaxpr, cotangents, operands, lambda staged, args: bind_call(staged, args, params)
        )

    @primitive.def_batch
    def call_batch(
        mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: C
    ) -> prim.BatchResult:
        staged, out_axes = batch_jaxpr(params.jaxpr, mapped, tuple(axes))
        return bind_call(staged, values, params), out_axes

    return bind_call


# The primitive


@attrs.frozen(eq=False, repr=False)
class JitParams(prim.Params):
    """A program to be compiled as a unit.

    Attributes:
        jaxpr: the program.
        name: the function's name; programs that differ in name only are the same.
        donated: the parameters whose memory may be reused.
        tier: the evaluator, if it is not part of another program; None for that of the settings.
        flags: the flags for XLA when it is compiled as a unit.
    """

    jaxpr: jx.Jaxpr
    name: str = attrs.field(default="f", eq=False)
    donated: tuple[int, ...] = ()
    tier: config.Tier | None = attrs.field(default=None, eq=False)
    flags: xla.Flags = attrs.field(default=(), eq=False)

    @property
    def compilation(self) -> xla.Compilation:
        """The request to compile it where it is not part of another program."""
        return xla.Compilation(self.jaxpr, self.name, self.donated, self.flags)

    def run(self, args: prim.Arrays) -> tuple[prim.Arrays, xla.Executable | None]:
        """Evaluate it, or run the compiled program, as ``xla.run`` does."""
        return xla.run(self.compilation, args, self.tier or config.settings().tier)


jit_p: prim.Primitive[JitParams] = prim.Primitive("jit", JitParams)


@jit_p.def_evaluate
def _jit_evaluate(args: prim.Arrays, params: JitParams) -> prim.Arrays:
    return params.run(args)[0]


@jit_p.def_lowering
def _jit_lowering(b: Lowering, operands: Values, params: JitParams) -> Values:
    return call_jaxpr(b, params.jaxpr, params.name, operands)


jit_p.def_rule(INLINING)(lambda params: params.jaxpr)


_bind_jit = def_call(
    jit_p, "a compiled program", lambda params, jaxpr: attrs.evolve(params, jaxpr=jaxpr, donated=())
)


@jit_p.def_linearize
def _jit_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: JitParams
) -> prim.LinearizeResult:
    return linearize_of_call(
        params.jaxpr, primals, nonzero, lambda staged, args: _bind_jit(staged, args, params)
    )
