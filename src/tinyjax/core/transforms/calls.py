"""Rules shared by primitives that call a program: a transformed call is one of what it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from tinyjax.core.tracing import (
    jaxpr as jx,
    list_partition as lp,
    primitive as prim,
    staging as stg,
)
from tinyjax.core.tracing.list_partition import fill_list
from tinyjax.core.tracing.program_rules import CALLED, def_program
from tinyjax.core.tracing.trace import bind
from tinyjax.core.transforms.batching import batch_jaxpr
from tinyjax.core.transforms.jvp import jvp_jaxpr
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
Apply = Callable[[stg.Staged, Sequence[Array]], Sequence[Array]]


def inline(staged: stg.Staged, args: Sequence[Array]) -> Sequence[Array]:
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
    staged, nonzero_out = jvp_jaxpr(jaxpr, lp.nonzeros(tangents))
    outs = apply(staged, [*primals, *lp.present(tangents)])
    n = len(nonzero_out)
    return outs[:n], lp.with_zeros(nonzero_out, outs[n:])


def transpose_of_call(
    jaxpr: jx.Jaxpr, cotangents: prim.Tangents, operands: prim.Operands, apply: Apply = inline
) -> prim.Cotangents:
    """Apply the transpose of a program."""
    transposed = transpose_jaxpr(jaxpr, lp.are_undefined(operands), lp.nonzeros(cotangents))
    outs = apply(transposed.staged, [*lp.defined(operands), *lp.present(cotangents)])
    return fill_list(lp.are_undefined(operands), lp.with_zeros(transposed.nonzero_out, outs), None)


def def_call(
    primitive: prim.Primitive[C], called: str, rebuild: Callable[[C, jx.Jaxpr], C]
) -> Callable[[stg.Staged, Sequence[Array], C], Sequence[Array]]:
    """Register the rules of a call that stays a call when it is transformed.

    Args:
        primitive: the primitive.
        called: what messages call the program.
        rebuild: the parameters for another program.

    Returns:
        Binds the call of another program, of what that closes over and of arguments.
    """

    def bind_call(staged: stg.Staged, args: Sequence[Array], params: C) -> Sequence[Array]:
        return bind(primitive, (*staged.consts, *args), rebuild(params, staged.jaxpr))

    def_program(primitive, lambda args, params, run: run(params.jaxpr, args))
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
