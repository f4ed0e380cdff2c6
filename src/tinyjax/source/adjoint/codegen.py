"""From programs in static single assignment form back to Python."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final

import attrs

from tinyjax.source.adjoint import cotangents as ct, differentiate
from tinyjax.source.adjoint.kinds import Kind, kind_of
from tinyjax.source.adjoint.rules.registry import length, rule_of
from tinyjax.source.ir.origins import Origin, write_function
from tinyjax.source.ir.program import IR, Atom, Call, Constant, Variable, value_of
from tinyjax.source.ir.runtime import make_tuple
from tinyjax.source.text.annotations import ANY, Annotations, annotated, joined, type_of
from tinyjax.source.text.coalescing import Conventions
from tinyjax.source.text.imports import header
from tinyjax.source.text.structure import write


def _is_scalar(function: Any) -> bool:
    rule = rule_of(function)
    return rule is not None and rule.scalar


def _count(call: Call) -> int | None:
    """How many items a call of one of tinyjax's own functions gives, if that is known."""
    function = value_of(call.function)
    home, name = getattr(function, "__module__", None) or "", getattr(function, "__name__", "")
    if home == _CALLEES and name == "pull":
        return 2
    if home == _CALLEES and name == "guarded":
        known = length(value_of(call.args[0]))
        return known if known == value_of(call.args[1]) else None
    is_rule = home.startswith("tinyjax.source.") and name.endswith("_adjoint")
    return length(function) if is_rule else None


#: The module of what adjoints call (``activity.Callees``).
_CALLEES: Final = "tinyjax.source.adjoint.pullbacks"
FORWARD: Final = Conventions(_is_scalar, frozenset((operator.add, ct.accumulate)), _count, False)
PULLBACK: Final = attrs.evolve(FORWARD, only_floats=True)


def scope_of(fun: FunctionType) -> Callable[[str], Any]:
    """What a name is where a function was written."""
    return lambda name: fun.__globals__.get(name, getattr(builtins, name, None))


def compile_adjoint(adjoint: differentiate.Adjoint, fun: FunctionType) -> FunctionType:
    """Compile both halves of an adjoint; give the forward one."""
    scope = scope_of(fun)
    where = fun.__code__.co_filename, fun.__code__.co_qualname
    pullback, names, lines = write(adjoint.pullback, scope, {}, PULLBACK)
    back = write_function(adjoint.pullback.name, pullback, dict(names), Origin(*where, lines))
    patched = _with_pullback(adjoint.forward, adjoint.pullback, back)
    forward, more, lines = write(patched, scope, {adjoint.pullback.name: back}, FORWARD)
    return write_function(adjoint.forward.name, forward, dict(more), Origin(*where, lines))


def adjoint_text(adjoint: differentiate.Adjoint, fun: FunctionType, values: tuple[Any, ...]) -> str:
    """Write both halves of an adjoint as a module, annotated for arguments such as these."""
    scope = scope_of(fun)
    kinds = annotated(adjoint.forward, [ANY, *map(type_of, values)], "", FORWARD)
    value = _value_type(kinds)
    result = _cotangents(adjoint, fun, values)
    back = annotated(adjoint.pullback, [_stack_type(kinds), value], result, PULLBACK)
    pullback, names, _ = write(adjoint.pullback, scope, {}, PULLBACK, back)
    annotations = Annotations(kinds.ir, kinds.types, f"tuple[{value}, Pullback]")
    own = adjoint.pullback
    forward, more, _ = write(adjoint.forward, scope, {own.name: own}, FORWARD, annotations)
    del more[own.name]
    body = f"{pullback}\n\n{forward}"
    return f"{header({**names, **more}, body, fun)}\n\n\n{body}"


def _returned(ir: IR) -> list[tuple[Atom, ...]]:
    """The items of the tuples that a program returns."""
    tuples = {s.variable: s.call.args for s in ir.statements if s.function is make_tuple}
    values = [block.returned for block in ir.blocks]
    return [tuples[v] for v in values if isinstance(v, Variable) and v in tuples]


def _value_type(forward: Annotations) -> str:
    """The type of the value that the forward half gives with its pullback."""
    return joined([forward.of(items[0]) for items in _returned(forward.ir)])


def _cotangents(adjoint: differentiate.Adjoint, fun: FunctionType, values: tuple[Any, ...]) -> str:
    """The type of what the pullback returns."""
    returned = _returned(adjoint.pullback)
    if len(returned) != 1:
        return ANY
    types = [_cotangent(*pair) for pair in zip(returned[0], (fun, *values), strict=True)]
    return _tuple_of(types)


def _cotangent(atom: Atom, argument: Any) -> str:
    """The type of the cotangent of an argument."""
    if isinstance(atom, Constant) and atom.value is None:
        return "None"
    if kind_of(argument) is Kind.FLOAT:
        return "float"
    kind = type_of(argument)
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

    return attrs.evolve(forward, blocks=tuple([b.map(replace) for b in forward.blocks]))
