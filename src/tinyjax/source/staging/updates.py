"""Writes under a traced condition: of elements, in place of whole arrays.

A ``cond`` that returns a changed array copies it. If each branch only writes elements, the ``cond``
returns the elements and their indices, and one write follows it. A branch with fewer writes repeats
its last one; a branch without writes returns an element of the array and its index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

import tinyjax.numpy as jnp
from tinyjax._primitives import dynamic_slice, gather_scatter
from tinyjax.core.tracing import jaxpr as jx, program_rules, staging, trace as tr
from tinyjax.core.values import Array

#: A branch may have at most so many writes, one after the other, that follow the ``cond``.
_MOST: Final = 4
_WRITING: Final = (gather_scatter.scatter_p, dynamic_slice.dynamic_update_slice_p)


def writes_of(program: staging.Staged, out: int, content: Array) -> list[jx.JaxprEqn] | None:
    """Return the writes that make a result of a program from an array; None if others do.

    Args:
        program: the program.
        out: the place of the result.
        content: the array that is written to, a constant of the program.
    """
    by_result = {v: eqn for eqn in program.jaxpr.eqns for v in eqn.out_binders}
    atom, writes = program.jaxpr.outs[out], list[jx.JaxprEqn]()
    while isinstance(atom, jx.Var) and atom in by_result and len(writes) < _MOST:
        writes.append(by_result[atom])
        if writes[-1].primitive not in _WRITING:
            return None
        atom = writes[-1].inputs[0]
    constants = dict(zip(program.jaxpr.in_binders, program.consts, strict=False))
    start = constants.get(atom) if isinstance(atom, jx.Var) else atom.value
    return writes[::-1] if start is content and 0 not in content.shape else None


def are_alike(first: Sequence[jx.JaxprEqn], second: Sequence[jx.JaxprEqn]) -> bool:
    """Return whether all writes of two branches are of one kind."""
    kinds = [(w.primitive, w.params, [x.aval for x in w.inputs]) for w in (*first, *second)]
    return bool(kinds) and all(kind == kinds[0] for kind in kinds)


def nothing(write: jx.JaxprEqn, content: Array) -> list[Array]:
    """Return the operands, after the array, of a write that changes nothing."""
    fresh = [jx.Var(x.aval) for x in write.inputs]
    equal = attrs.evolve(write, inputs=tuple(fresh))
    reading, _ = write.primitive.rule(program_rules.OVERWRITTEN)(equal, jx.Var(content.aval))
    operands = {v: jnp.zeros(v.aval.shape, v.aval.dtype) for v in fresh[1:]} | {fresh[0]: content}
    (new,) = [v for v in fresh if v not in reading.inputs]
    binders = tuple([v for v in fresh if v is not new])
    program = jx.Jaxpr(binders, (reading,), reading.out_binders)
    (operands[new],) = jx.eval_jaxpr(program, [operands[v] for v in binders])
    return [operands[v] for v in fresh[1:]]


def applied(writes: Sequence[jx.JaxprEqn], content: Array, operands: Sequence[Array]) -> Array:
    """Return an array after writes with other operands."""
    rest = iter(operands)
    for write in writes:
        args = (content, *[next(rest) for _ in write.inputs[1:]])
        (content,) = tr.bind(write.primitive, args, write.params)
    return content
