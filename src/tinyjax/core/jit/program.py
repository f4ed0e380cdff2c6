"""The primitive ``jit``: a program that is compiled as a unit, and its rules."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tinyjax import config
from tinyjax.core import xla
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing.jaxpr import Jaxpr
from tinyjax.core.tracing.primitive import Arrays, LinearizeResult, Params, Primitive
from tinyjax.core.tracing.program_rules import INLINED
from tinyjax.core.tracing.staging import Staged
from tinyjax.core.transforms.calls import def_call
from tinyjax.core.transforms.linearize import linearize_jaxpr


@attrs.frozen(eq=False, repr=False)
class JitParams(Params):
    """A program to be compiled as a unit.

    Attributes:
        jaxpr: the program.
        name: the function's name; programs that differ in name only are the same.
        donated: the parameters whose memory may be reused.
        tier: what computes it where it is not part of another; None for what the settings say.
        flags: what XLA is told when it is compiled as a unit.
    """

    jaxpr: Jaxpr
    name: str = attrs.field(default="f", eq=False)
    donated: tuple[int, ...] = ()
    tier: config.Tier | None = attrs.field(default=None, eq=False)
    flags: xla.Flags = attrs.field(default=(), eq=False)

    @property
    def compilation(self) -> xla.Compilation:
        """What is compiled where it is not part of another program."""
        return xla.Compilation(self.jaxpr, self.name, self.donated, self.flags)

    def run(self, args: Arrays) -> tuple[Arrays, xla.Executable | None]:
        """Evaluate it, or run the compiled program, as ``xla.run`` does."""
        return xla.run(self.compilation, args, self.tier or config.settings().tier)


jit_p: Primitive[JitParams] = Primitive("jit", JitParams)


@jit_p.def_evaluate
def _jit_evaluate(args: Arrays, params: JitParams) -> Arrays:
    return params.run(args)[0]


@jit_p.def_lowering
def _jit_lowering(b: Lowering, operands: Values, params: JitParams) -> Values:
    return call_jaxpr(b, params.jaxpr, params.name, operands)


jit_p.def_rule(INLINED)(lambda params: params.jaxpr)


_bind_jit = def_call(
    jit_p, "a compiled program", lambda params, jaxpr: attrs.evolve(params, jaxpr=jaxpr, donated=())
)


@jit_p.def_linearize
def _jit_linearize(primals: Arrays, nonzero: Sequence[bool], params: JitParams) -> LinearizeResult:
    linearized = linearize_jaxpr(params.jaxpr, tuple(nonzero))
    outs = _bind_jit(linearized.primal, primals, params)
    n = len(linearized.nonzero_out)
    residuals = linearized.residuals(primals, outs[n:])

    def tangent_map(tangents: Arrays) -> Arrays:
        return _bind_jit(Staged(linearized.tangent, ()), [*residuals, *tangents], params)

    return outs[:n], linearized.nonzero_out, tangent_map
