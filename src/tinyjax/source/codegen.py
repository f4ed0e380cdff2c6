"""From programs in static single assignment form back to Python."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final

from tinyjax.source.adjoint import Adjoint
from tinyjax.source.annotations import ANY, Annotations, annotated, joined, type_of
from tinyjax.source.imports import header
from tinyjax.source.ir import IR, Atom, Block, Constant, Return, Statement, Variable, value_of
from tinyjax.source.kinds import Kind, kind_of
from tinyjax.source.lines import rendered
from tinyjax.source.names import Names
from tinyjax.source.origins import Origin, write_function
from tinyjax.source.runtime import make_tuple
from tinyjax.source.structure import LABEL, Text


def write(
    ir: IR,
    scope: Callable[[str], Any],
    given: dict[str, Any],
    annotations: Annotations | None = None,
    is_pullback: bool = False,
) -> tuple[str, dict[str, Any], dict[int, int]]:
    """Write a program as Python; also give what its text names, and its lines' origins."""
    names = Names(scope)
    names.namespace.update(given)
    names.taken |= {ir.name, LABEL}
    text, origins = rendered(Text(ir, names, is_pullback).function(annotations))
    return text, names.namespace, origins


def scope_of(fun: FunctionType) -> Callable[[str], Any]:
    """What a name is where a function was written."""
    return lambda name: fun.__globals__.get(name, getattr(builtins, name, None))


def compile_adjoint(adjoint: Adjoint, fun: FunctionType) -> FunctionType:
    """Compile both halves of an adjoint; give the forward one."""
    scope = scope_of(fun)
    where = fun.__code__.co_filename, fun.__code__.co_qualname
    pullback, names, lines = write(adjoint.pullback, scope, {}, is_pullback=True)
    back = write_function(adjoint.pullback.name, pullback, dict(names), Origin(*where, lines))
    patched = _with_pullback(adjoint.forward, adjoint.pullback, back)
    forward, more, lines = write(patched, scope, {adjoint.pullback.name: back})
    return write_function(adjoint.forward.name, forward, dict(more), Origin(*where, lines))


def adjoint_text(adjoint: Adjoint, fun: FunctionType, values: tuple[Any, ...]) -> str:
    """Write both halves of an adjoint as a module, annotated for arguments such as these."""
    scope = scope_of(fun)
    kinds = annotated(adjoint.forward, [ANY, *map(type_of, values)], "")
    value = _value_type(kinds)
    result = _cotangents(adjoint, fun, values)
    back = annotated(adjoint.pullback, [_stack_type(kinds), value], result)
    pullback, names, _ = write(adjoint.pullback, scope, {}, back, True)
    annotations = Annotations(kinds.ir, kinds.types, f"tuple[{value}, Pullback]")
    own = adjoint.pullback
    forward, more, _ = write(adjoint.forward, scope, {own.name: own}, annotations)
    del more[own.name]
    body = f"{pullback}\n\n{forward}"
    return f"{header({**names, **more}, body, fun)}\n\n\n{body}"


def _returned(ir: IR) -> list[tuple[Atom, ...]]:
    """The items of the tuples that a program returns."""
    tuples = {
        s.variable: s.call.args
        for block in ir.blocks
        for s in block.statements
        if value_of(s.call.function) is make_tuple
    }
    exits = [block.exits[-1] for block in ir.blocks]
    return [
        tuples[e.value]
        for e in exits
        if isinstance(e, Return) and isinstance(e.value, Variable) and e.value in tuples
    ]


def _value_type(forward: Annotations) -> str:
    """The type of the value that the forward half gives with its pullback."""
    return joined([forward.of(items[0]) for items in _returned(forward.ir)])


def _cotangents(adjoint: Adjoint, fun: FunctionType, values: tuple[Any, ...]) -> str:
    """The type of what the pullback returns."""
    returned = _returned(adjoint.pullback)
    if len(returned) != 1:
        return ANY
    types = [_cotangent(*pair) for pair in zip(returned[0], (fun, *values), strict=True)]
    return _tuple_of(types)


def _cotangent(atom: Atom, given: Any) -> str:
    """The type of the cotangent of an argument."""
    if isinstance(atom, Constant) and atom.value is None:
        return "None"
    if kind_of(given) is Kind.FLOAT:
        return "float"
    kind = type_of(given)
    return ANY if kind == ANY else f"{kind} | None"


def _stack_type(forward: Annotations) -> str:
    """The type of what a program without branches keeps."""
    if len(forward.ir.blocks) > 1:
        return ANY
    calls = {s.variable: s.call for s in forward.ir.blocks[0].statements}
    ((_, back),) = _returned(forward.ir)
    assert isinstance(back, Variable), "the pullback is made just before"
    kept = calls[back].args[1]
    if isinstance(kept, Constant):
        return "tuple[()]"
    return _tuple_of([joined([forward.of(atom)]) for atom in calls[kept].args])


#: How long the type of a tuple may be.
_LONGEST: Final = 80


def _tuple_of(types: Sequence[str]) -> str:
    """The type of a tuple, in short where it has many items."""
    text = f"tuple[{', '.join(types)}]"
    return text if len(text) <= _LONGEST else "tuple[Any, ...]"


def _with_pullback(forward: IR, pullback: IR, back: FunctionType) -> IR:
    """The forward program with the compiled pullback in place of its program."""

    def replace(atom: Atom) -> Atom:
        if isinstance(atom, Constant) and atom.value is pullback:
            return Constant(back, pullback.name)
        return atom

    blocks = [
        Block(
            b.parameters,
            tuple([Statement(s.variable, s.call.map(replace), s.line) for s in b.statements]),
            b.exits,
        )
        for b in forward.blocks
    ]
    return IR(forward.name, forward.function, tuple(blocks), forward.filename)
