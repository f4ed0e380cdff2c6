"""Which cotangents that a rule gives are certainly not None."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, Final

import numpy as np

from tinyjax.errors import ArgumentError, SourceError
from tinyjax.source.adjoint.cotangents import reduce_to
from tinyjax.source.adjoint.rules.arrays import on_diagonal
from tinyjax.source.adjoint.rules.registry import Rule
from tinyjax.source.ir import runtime
from tinyjax.source.ir.program import IR, Atom, Call, Constant, value_of
from tinyjax.source.ir.read import ir_of
from tinyjax.source.ir.syntax import BINARY, UNARY


@cache
def certain(rule: Rule) -> frozenset[int]:
    """The places at which a rule gives a number or an array, whatever its arguments.

    The rule's own program tells: what is computed by an operator or by a function of NumPy is not
    None, nor is the cotangent that it was given.
    """
    ir = _program(rule.adjoint)
    if ir is None:
        return frozenset()
    tuples = [_call_of(ir, value) for value in _returned(ir)]
    if any(t is None or value_of(t.function) is not runtime.make_tuple for t in tuples):
        return frozenset()
    items = [t.args for t in tuples if t is not None]
    given = ir.blocks[0].parameters[1]
    return frozenset(
        i
        for i in range(min(map(len, items), default=0))
        if all(parts[i] is given or _is_certain(ir, parts[i]) for parts in items)
    )


@cache
def length(adjoint: FunctionType) -> int | None:
    """How many cotangents the function of a rule gives, where that is always as many."""
    ir = _program(adjoint)
    tuples = [] if ir is None else [_call_of(ir, value) for value in _returned(ir)]
    lengths = {
        len(t.args) if t is not None and value_of(t.function) is runtime.make_tuple else -1
        for t in tuples
    }
    (found,) = lengths if len(lengths) == 1 else (-1,)
    return None if found == -1 else found


@cache
def _gives_value(fun: FunctionType) -> bool:
    """Whether a helper of the rules never gives None."""
    ir = _program(fun)
    return ir is not None and all(_is_certain(ir, value) for value in _returned(ir))


def _program(fun: Callable[..., Any]) -> IR | None:
    """The program of a rule; None where it is no program, but has a rule itself."""
    try:
        return ir_of(fun)
    except (ArgumentError, SourceError):
        return None


def _is_certain(ir: IR, atom: Atom) -> bool:
    call = _call_of(ir, atom)
    if call is None:
        return isinstance(atom, Constant) and atom.value is not None
    function = value_of(call.function)
    if function in _VALUES or isinstance(function, np.ufunc):
        return True
    if isinstance(function, FunctionType) and function.__module__.startswith(_RULES):
        return _gives_value(function)
    return getattr(function, "__module__", None) == "numpy"


_RULES: Final = "tinyjax.source.adjoint.rules."
_VALUES: Final[frozenset[Callable[..., Any]]] = frozenset(
    (reduce_to, on_diagonal, *BINARY.values(), *UNARY.values())
)


def _call_of(ir: IR, atom: Atom) -> Call | None:
    """The call that defines a value."""
    return next((s.call for s in ir.statements if s.variable is atom), None)


def _returned(ir: IR) -> list[Atom]:
    """What a program returns, but where it has raised an error before."""
    blocks = [b for b in ir.blocks if not any(s.function is runtime.thrown for s in b.statements)]
    return [block.returned for block in blocks if block.returned is not None]
