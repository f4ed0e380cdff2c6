"""What is known of a program that is differentiated: active values, and how each call is pulled.

A value is inert where it has no derivative: an integer, a string, the result of a comparison, and
whatever is made of such. Of an active one it is known whether it is a float, since then its
cotangent is one, and nothing was broadcast.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Iterable
from enum import IntEnum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final, TypeGuard

import attrs
import numpy as np

from tinyjax._base.frames import Location
from tinyjax.source.adjoint import equivalents
from tinyjax.source.adjoint.rules import registry
from tinyjax.source.ir import analysis, program as ir, runtime


class Kind(IntEnum):
    """What is known of a value."""

    #: A number without a derivative.
    NUMBER = 0
    #: Anything without a derivative.
    INERT = 1
    #: A float with a derivative.
    FLOAT = 2
    #: Anything that may have a derivative.
    ACTIVE = 3

    @property
    def active(self) -> bool:
        """Whether the value has a cotangent."""
        return self >= Kind.FLOAT

    @property
    def numeric(self) -> bool:
        """Whether the value is a Python number or a NumPy scalar."""
        return self in (Kind.NUMBER, Kind.FLOAT)


def join(x: Kind, y: Kind) -> Kind:
    """What is known of a value that is one or the other."""
    if x is y:
        return x
    if x.numeric and y.numeric:
        return Kind.FLOAT
    return Kind.ACTIVE if x.active or y.active else Kind.INERT


#: An enumeration's members take longer to look up.
_ACTIVE: Final = Kind.ACTIVE
_INERT: Final = Kind.INERT
#: Asked first, since it is asked of every argument of every call.
_BY_TYPE: Final[dict[type, Kind]] = {
    float: Kind.FLOAT,
    complex: Kind.ACTIVE,
    int: Kind.NUMBER,
    **dict.fromkeys((bool, str, bytes, type(None), range, slice), Kind.INERT),
}
_INERT_TYPES: Final = (str, bytes, type, ModuleType, np.dtype, np.bool_, np.ufunc)


def kind_of(value: Any) -> Kind:
    """What is to be known of an argument."""
    kind = type(value)
    if kind is np.ndarray:
        return _ACTIVE if value.dtype.kind in "fcO" else _INERT
    by_type = _BY_TYPE.get(kind)
    if by_type is not None:
        return by_type
    if kind is FunctionType:
        return _of_function(value)
    if isinstance(value, np.ndarray):
        return Kind.ACTIVE if value.dtype.kind in "fcO" else Kind.INERT
    if isinstance(value, np.floating):
        return Kind.FLOAT
    if isinstance(value, np.integer):
        return Kind.NUMBER
    if isinstance(value, _INERT_TYPES) or value is Ellipsis or value is runtime.UNDEFINED:
        return Kind.INERT
    if isinstance(value, BuiltinFunctionType):
        return Kind.ACTIVE if kind_of(value.__self__).active else Kind.INERT
    if isinstance(value, (tuple, list)):
        few = len(value) <= _FEW and not any(isinstance(item, (tuple, list)) for item in value)
        return Kind.INERT if few and not any(kind_of(i).active for i in value) else Kind.ACTIVE
    return Kind.ACTIVE


def _of_function(fun: FunctionType) -> Kind:
    """A function has a derivative where it closes over anything, or has defaults that have one."""
    if fun.__closure__ is None and fun.__defaults__ is None and fun.__kwdefaults__ is None:
        return _INERT
    defaults = (*(fun.__defaults__ or ()), *(fun.__kwdefaults__ or {}).values())
    if fun.__closure__ is not None or any(kind_of(value).active for value in defaults):
        return Kind.ACTIVE
    return Kind.INERT


#: Longer containers, and those of containers, are not looked through: a stack is a deep one.
_FEW: Final = 8


def literal_kind(value: Any) -> Kind:
    """The kind of a constant of a program, which has no derivative."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Kind.NUMBER if number else Kind.INERT


_ARITHMETIC: Final = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos,
     operator.mod, operator.floordiv, builtins.abs)
)  # fmt: skip
#: What gives a float of numbers. Looked up by hash, since ``jnp.float64 == float``.
_FLOATS: Final = frozenset((float, math.log, min, max))


def infer(program: ir.IR, arguments: tuple[Kind, ...]) -> dict[ir.Variable, Kind]:
    """Find the kind of every variable of a program from those of its arguments."""
    known = dict(zip(program.blocks[0].arguments, arguments, strict=True))
    return analysis.propagate(
        program, known, lambda constant: literal_kind(constant.value), _of_call, join
    )


def _of_call(call: ir.Call, kinds: list[Kind]) -> Kind:
    """The kind of a result, from the kinds of the function and the arguments."""
    function = ir.value_of(call.function)
    args = kinds[1:]
    if function is runtime.updated and isinstance(call.args[0], ir.Constant):
        function, args = call.args[0].value, args[1:]
    if function is not None and registry.is_inert(function):
        whole = function in runtime.WHOLE or (
            function in (operator.floordiv, round) and all(kind.numeric for kind in args)
        )
        return Kind.NUMBER if whole else Kind.INERT
    if function is runtime.captured:
        return Kind.ACTIVE
    if function is runtime.defined:
        return args[0]
    if function is operator.getitem and call.args and args[0] is Kind.INERT and not args[1].active:
        return Kind.INERT
    if not any(kind.active for kind in kinds):
        scalar = function in _ARITHMETIC and all(kind.numeric for kind in args)
        return Kind.NUMBER if scalar else Kind.INERT
    if all(kind.numeric for kind in args) and not call.keywords:
        if function in (operator.pow, math.pow, np.power):
            exponent = call.args[-1]
            whole = isinstance(exponent, ir.Constant) and isinstance(exponent.value, int)
            return Kind.FLOAT if whole else Kind.ACTIVE
        rule = registry.rule_of(function)
        if (rule is not None and rule.scalar) or function in _FLOATS:
            return Kind.FLOAT
    return Kind.ACTIVE


# Activity


@attrs.frozen(eq=False)
class Callees:
    """The functions that adjoints call (``pullbacks``).

    Attributes:
        pull: a call with its pullback.
        pull_back: applies a pullback or a rule, unless the cotangent is zero.
        pullback: makes a pullback of its program and the residuals.
    """

    pull: Callable[..., Any]
    pull_back: Callable[..., Any]
    pullback: type


class Activity:
    """The active values of a program, and where they are live.

    Attributes:
        ir: the program.
        callees: what its adjoint calls.
        predecessors: of each block.
        returns: the blocks that end with a return.
        live_in: for each block, the active variables from before that the reverse of it and of
            what comes after it needs.
        live_out: for each block, those that its exits and what comes after it use.
        residuals: for each block, the values that its reverse reads, found when that is written.
    """

    def __init__(self, program: ir.IR, arguments: tuple[Kind, ...], callees: Callees) -> None:
        self.ir = program
        self.callees = callees
        self.kinds: dict[ir.Variable, Kind] = infer(program, arguments)
        blocks = program.blocks
        self.predecessors: list[list[int]] = analysis.predecessors(blocks)
        self.returns: list[int] = [i for i, b in enumerate(blocks) if b.returned is not None]
        self.residuals: list[list[ir.Variable]] = [[] for _ in blocks]
        #: The pullbacks of calls, which only the forward program has.
        self._backs: dict[ir.Variable, ir.Variable] = {}
        live = analysis.liveness(blocks, self._used, self._used_at_end)
        out = [v.union(self._used_at_end(b)) for v, b in zip(live.exit, blocks, strict=True)]
        self.live_in: list[list[ir.Variable]] = list(map(ir.in_order, live.entry))
        self.live_out: list[list[ir.Variable]] = list(map(ir.in_order, out))

    def kind(self, variable: ir.Variable) -> Kind:
        return self.kinds.get(variable, Kind.INERT)

    def active(self, atom: ir.Atom) -> TypeGuard[ir.Variable]:
        return isinstance(atom, ir.Variable) and self.kind(atom).active

    def _active(self, atoms: Iterable[ir.Atom]) -> list[ir.Variable]:
        return [atom for atom in atoms if self.active(atom)]

    def _used(self, statement: ir.Statement) -> list[ir.Variable]:
        return self._active(statement.call.atoms) if self.active(statement.variable) else []

    def _used_at_end(self, block: ir.Block) -> list[ir.Variable]:
        if block.returned is not None:
            return self._active([block.returned])
        passed = [pair for branch in block.branches for pair in self.ir.passed(branch)]
        return self._active([atom for argument, atom in passed if self.active(argument)])

    def rule(self, call: ir.Call) -> registry.Rule | None:
        """The rule of a call, if its function has one that takes these arguments."""
        if not isinstance(call.function, ir.Constant):
            return None
        names = tuple([name for name, _ in call.keywords])
        return equivalents.rule_of_call(call.function.value, len(call.args), names)

    def pulled(self, statement: ir.Statement) -> bool:
        """Whether the forward program keeps the pullback of a call."""
        return self.active(statement.variable) and self.rule(statement.call) is None

    def places(self, statement: ir.Statement) -> tuple[int | None, ...]:
        """Where the rule of a call gives the cotangents of arguments given by keyword."""
        call = statement.call
        here = Location(self.ir.filename, statement.line, self.ir.name)
        names = tuple([name for name, _ in call.keywords])
        return registry.places(statement.function, len(call.args), names, here)

    def back_of(self, variable: ir.Variable) -> ir.Variable:
        """The variable that holds the pullback of the call that defines another one."""
        if variable not in self._backs:
            name = f"back_of_{variable.name}" if variable.name else "back"
            self._backs[variable] = ir.Variable(0, name)
        return self._backs[variable]

    def framed(self, index: int) -> bool:
        """Whether a block has to leave something on the stack: residuals, or that it was there."""
        return bool(self.residuals[index]) or self.tagged(index)

    def tagged(self, index: int) -> bool:
        """Whether a block has to say that it was there: others lead to where it leads."""
        block = self.ir.blocks[index]
        if block.returned is not None:
            return len(self.returns) > 1
        return any(len(self.predecessors[branch.target]) > 1 for branch in block.branches)
