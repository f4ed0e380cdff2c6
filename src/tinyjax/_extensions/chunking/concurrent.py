"""The primitive ``concurrent``: a program whose compiled parts are run at the same time.

It holds calls of compiled programs (``jit``), the preparation of their operands, and the joining of
their results. When it is evaluated, each call that waits for no other gets a thread; XLA releases
Python's lock while it runs. In a compiled program it is inlined. A transformed ``concurrent`` is
one of the transformed program, whose calls are as independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextvars import copy_context
from functools import partial
from typing import Final

import attrs

from tinyjax._base import cores
from tinyjax.core.jit import program
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.stablehlo import Lowering, Values
from tinyjax.core.tracing import bind, jaxpr as jx, primitive as prim, program_rules
from tinyjax.core.values import Array


@attrs.frozen(eq=False, repr=False)
class ConcurrentParams(prim.Params):
    """A program with calls that may be run at the same time.

    Attributes:
        jaxpr: the program.
        threads: the number of calls that run at the same time. It does not change the compiled
            code.
        name: the name of the function that it was made of.
    """

    jaxpr: jx.Jaxpr
    threads: int = attrs.field(eq=False)
    name: str = attrs.field(default="f", eq=False)


concurrent_p: prim.Primitive[ConcurrentParams] = prim.Primitive("concurrent", ConcurrentParams)


@concurrent_p.def_evaluate
def _evaluate(args: prim.Arrays, params: ConcurrentParams) -> prim.Arrays:
    jaxpr = params.jaxpr
    values = dict(zip(jaxpr.in_binders, args, strict=True))

    def read(atom: jx.Atom) -> Array:
        return atom.value if isinstance(atom, jx.Lit) else values[atom]

    def is_ready(eqn: jx.JaxprEqn) -> bool:
        return all(isinstance(x, jx.Lit) or x in values for x in eqn.inputs)

    running: dict[Future[Sequence[Array]], jx.JaxprEqn] = {}
    with cores.pool_of(params.threads) as pool:
        left = [*jaxpr.eqns]
        while left or running:
            later: list[jx.JaxprEqn] = []
            for eqn in left:
                if not is_ready(eqn):
                    later.append(eqn)
                elif eqn.primitive is program.jit_p:
                    operands = [read(x) for x in eqn.inputs]
                    call = partial(bind, eqn.primitive, operands, eqn.params)
                    running[pool.submit(copy_context().run, _call_and_wait, call)] = eqn
                else:
                    outs = bind(eqn.primitive, [read(x) for x in eqn.inputs], eqn.params)
                    values.update(zip(eqn.out_binders, outs, strict=True))
            left = later
            for end in wait(running, return_when=FIRST_COMPLETED).done:
                values.update(zip(running.pop(end).out_binders, end.result(), strict=True))
    return [read(x) for x in jaxpr.outs]


def together(calls: Sequence[Callable[[], Sequence[Array]]]) -> list[Sequence[Array]]:
    """Call compiled programs that wait for no other, each in a thread."""
    with cores.pool_of(len(calls)) as pool:
        running = [pool.submit(copy_context().run, _call_and_wait, call) for call in calls]
        return [call.result() for call in running]


def _call_and_wait(call: Callable[[], Sequence[Array]]) -> Sequence[Array]:
    """Call a compiled program and wait for its results, so that the thread is its own meanwhile."""
    outs = call()
    for out in outs:
        out.block_until_ready()
    return outs


@concurrent_p.def_lowering
def _lowering(b: Lowering, operands: Values, params: ConcurrentParams) -> Values:
    return call_jaxpr(b, params.jaxpr, params.name, operands)


concurrent_p.def_rule(program_rules.INLINING)(lambda params: params.jaxpr)


bind_concurrent: Final = program.def_call(
    concurrent_p, "a concurrent program", lambda params, jaxpr: attrs.evolve(params, jaxpr=jaxpr)
)


@concurrent_p.def_linearize
def _linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: ConcurrentParams
) -> prim.LinearizeResult:
    return program.linearize_of_call(
        params.jaxpr, primals, nonzero, lambda staged, args: bind_concurrent(staged, args, params)
    )
