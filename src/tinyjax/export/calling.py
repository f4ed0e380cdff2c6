"""The primitives that call an exported program and its derivative."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import attrs

from tinyjax import errors
from tinyjax.core import jit
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.primitives import shape as sh
from tinyjax.core.primitives.rules import instantiate, instantiate_all
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, staging, trace as tr
from tinyjax.core.values import Array, avals as av
from tinyjax.dtypes import is_inexact
from tinyjax.export.symbolic_programs import ExportedProgram
from tinyjax.lax import scans


@attrs.frozen(eq=False, repr=False)
class CallExportedParams(prim.Params):
    """An exported program to be called."""

    program: ExportedProgram


call_exported_p: prim.Primitive[CallExportedParams] = prim.Primitive(
    "call_exported", CallExportedParams
)


@call_exported_p.def_evaluate
def _call_evaluate(args: prim.Arrays, params: CallExportedParams) -> prim.Arrays:
    return tr.bind(jit.jit_p, args, jit.JitParams(calling(params.program), params.program.name))


@call_exported_p.def_abstract_eval
def _call_type(avals: prim.Avals, params: CallExportedParams) -> prim.Avals:
    program = params.program
    actual, expected = ([(a.shape, a.dtype) for a in types] for types in (avals, program.in_avals))
    if actual != expected:
        raise errors.ArgumentError(
            f"'{program.name}' was exported for ({', '.join(map(str, program.in_avals))}), but was "
            f"applied to ({', '.join(map(str, avals))})."
        )
    return program.out_avals


@call_exported_p.def_lowering
def _call_lowering(b: Lowering, operands: hlo.Values, params: CallExportedParams) -> hlo.Values:
    program = params.program
    if program.divided is not None:
        return call_jaxpr(b, program.divided, program.name, operands)
    entry = b.module.embed(program.portable.encode(), program.text, program.name)
    return b.emit("func.call", operands, b.results, {"callee": f"@{entry}"})


@call_exported_p.def_jvp
def _call_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: CallExportedParams
) -> prim.JvpResult:
    program = params.program
    if program.pull_back is None:
        raise errors.DifferentiationError(
            f"'{program.name}' is an exported program without its derivative. Where it is "
            "exported, keep that with it: exported.serialize(vjp_order=1), or a higher order for "
            "derivatives of derivatives. Or use tinyjax.lax.stop_gradient on its arguments."
        )
    outs = tr.bind(call_exported_p, primals, params)
    n = program.num_consts
    args = primals[n:]
    tangents_in = [
        instantiate(t, x) for x, t in zip(args, tangents[n:], strict=True) if is_inexact(x.dtype)
    ]
    out_avals = tuple([a for a in program.out_avals if is_inexact(a.dtype)])
    map_params = ExportedTangentParams(program.name, program.pull_back, len(args), out_avals)
    tangents_out = tr.bind(exported_tangent_p, (*args, *tangents_in), map_params)
    return outs, prim.with_zeros([is_inexact(a.dtype) for a in program.out_avals], tangents_out)


@call_exported_p.def_batch
def _call_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: CallExportedParams
) -> prim.BatchResult:
    # Its shapes are fixed, so it is called for one example after the other.
    examples = [sh.moveaxis(x, i, 0) for x, i in zip(values, axes, strict=True) if i is not None]

    def one(example: list[Array]) -> list[Array]:
        rest = iter(example)
        args = [x if i is None else next(rest) for x, i in zip(values, axes, strict=True)]
        return list(tr.bind(call_exported_p, args, params))

    outs = scans.map_(one, examples)
    return outs, [0] * len(outs)


@attrs.frozen(eq=False, repr=False)
class ExportedTangentParams(prim.Params):
    """The tangent map of an exported program, which is known by its transpose only.

    Attributes:
        name: the program's name.
        pull_back: calls the program of the transpose, with the operands of the first kind and the
            cotangents.
        num_args: the number of the first operands, in which the map is not linear.
        out_avals: the types of its results.
    """

    name: str = attrs.field(eq=False)
    pull_back: Callable[..., Any]
    num_args: int
    out_avals: tuple[av.ShapedArray, ...]


exported_tangent_p: prim.Primitive[ExportedTangentParams] = prim.Primitive(
    "exported_tangent", ExportedTangentParams
)


exported_tangent_p.def_abstract_eval(lambda avals, params: params.out_avals)


def _refuse_forward_mode(*operands: Any) -> Any:
    params: ExportedTangentParams = operands[-1]
    raise errors.DifferentiationError(
        f"'{params.name}' is an exported program, whose derivative serves reverse mode (grad, vjp, "
        "jacrev), but was asked for in forward mode (jvp, jacfwd, or a linearized function "
        "applied). Use reverse mode, or export what jvp of the function gives."
    )


exported_tangent_p.def_evaluate(_refuse_forward_mode)
exported_tangent_p.def_lowering(_refuse_forward_mode)
exported_tangent_p.def_jvp(_refuse_forward_mode)
exported_tangent_p.def_batch(_refuse_forward_mode)


@exported_tangent_p.def_transpose
def _tangent_transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: ExportedTangentParams
) -> prim.Cotangents:
    n = params.num_args
    args = prim.defined(operands[:n])
    assert len(args) == n, "the program's arguments are no tangents"
    results = params.pull_back(*args, *instantiate_all(cotangents, params.out_avals))
    return [*[None] * n, *prim.of_undefined(operands[n:], results)]


@lru_cache(maxsize=256)
def calling(program: ExportedProgram) -> jx.Jaxpr:
    """Return a jaxpr that does nothing but call a program."""

    def call(*args: Array) -> list[Array]:
        return list(tr.bind(call_exported_p, args, CallExportedParams(program)))

    return staging.stage(call, program.in_avals, call).jaxpr
