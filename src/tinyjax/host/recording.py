"""Programs of eager calls that are repeated: recorded, written, and compared with a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tinyjax import dtypes, frames, tree
from tinyjax.core.names import Array, ConcreteArray, jx, stg, tr
from tinyjax.core.values.operands import raw_host
from tinyjax.host import LARGEST, Program, plans


class Replay(stg.StagingTrace):
    """Records what evaluation would do: it looks into functions that have rules of their own."""

    __slots__ = ()

    transformation = "evaluation"
    replays = True

    def process_custom_call(self, call: tr.CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        with tr.use_trace(self):
            return call.fun(*args)


def make_program(
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    hosts: Sequence[dtypes.HostArray],
    result: Any,
) -> Program | None:
    """Make the program of calls like one that was made, if it can be made and repeats that one."""
    leaves = tree.leaves(result)
    if not all(type(x) is ConcreteArray for x in leaves):
        return None
    flat, structure = tree.flatten((list(args), list(kwargs.values())))
    trace = Replay(tr.EVAL, fun)
    try:
        with frames.STAGING_LEVEL, tr.Running(trace):
            # in the order in which ``_add`` takes the data
            arrays = iter(trace.new_inputs([x.aval for x in flat if isinstance(x, ConcreteArray)]))
            inputs = [next(arrays) if isinstance(x, ConcreteArray) else x for x in flat]
            positional, named = tree.unflatten(structure, inputs)
            out = fun(*positional, **dict(zip(kwargs, named, strict=True)))
            staged = trace.build(tree.leaves(out))
        body = write_staged(staged)
        if body is None:
            return None
        program = _function(body, result, len(staged.jaxpr.in_binders) - len(staged.consts))
        again = tree.leaves(program(*hosts))
    except Exception:  # what needs data cannot be staged
        return None
    if len(again) != len(leaves) or not all(map(same, leaves, again)):
        return None
    shared = any(np.may_share_memory(x.concrete("data"), c) for x in again for c in body.constants)
    return None if shared else program


def same(x: Array, y: Array) -> bool:
    """Say whether two arrays are the same to the last bit."""
    return x.aval is y.aval and plans.same_bits(x.concrete("data"), y.concrete("data"))


def write_staged(staged: stg.Staged) -> plans.Body | None:
    """Write a program whose results are expressions of arrays, if it can be replayed."""
    jaxpr = staged.jaxpr
    largest = max(
        (x.aval.nbytes for e in jaxpr.eqns for x in (*e.inputs, *e.out_binders)), default=0
    )
    if staged.notes or jx.effects(jaxpr).any or largest > LARGEST:
        return None
    body = plans.Body(jaxpr, staged.consts)
    if not {f"a{i}" for i in range(len(jaxpr.in_binders))}.isdisjoint(body.results):
        return None
    for i, (x, constant) in enumerate(zip(jaxpr.outs, body.constant_results, strict=True)):
        if constant is not None and not _can_be_copied(constant):
            return None
        body.scope[f"t{i}"] = x.aval
        copied = "" if constant is None else ".copy()"
        body.results[i] = f"ConcreteArray({body.results[i]}{copied}, t{i})"
    return body


def _function(body: plans.Body, result: Any, arity: int) -> Program:
    """Make the function of a program; the results go into containers like those of ``result``."""
    results, scope = body.results, body.scope
    shown = ", ".join(results)
    match result:
        case ConcreteArray():
            pass
        case tuple() | list() if type(result) in (tuple, list) and len(result) == len(results):
            shown = f"({shown},)" if isinstance(result, tuple) else f"[{shown}]"
        case tuple() if hasattr(result, "_fields") and len(result) == len(results):
            scope["kind"] = type(result)
            shown = f"kind({shown})"
        case _:
            scope |= {"unflatten": tree.unflatten, "structure": tree.structure(result)}
            shown = f"unflatten(structure, [{shown}])"
    parameters = ", ".join([f"a{i}" for i in range(arity)])
    return body.function("program", parameters, [f"return {shown}"])


def _can_be_copied(x: Array) -> bool:
    """Say whether a constant is given out as a copy: of one value everywhere, a copy says less."""
    return isinstance(x, ConcreteArray) and all(raw_host(x).strides) and not hasattr(x, "_number")
