"""Alias analysis: the variables that may share an array's memory, and those written to.

Two variables are of one class where one may be the other, a view of it, a part of it or a container
of it (Steensgaard, "Points-to Analysis in Almost Linear Time", 1996). Arguments and closed-over
values come from outside the function, and all are of one class.
"""

from __future__ import annotations

import operator
from collections.abc import Container, Iterable
from typing import Any, Final

import numpy as np

from tinyjax.source import facts
from tinyjax.source.adjoint.kinds import Kind
from tinyjax.source.adjoint.rules import arrays, registry
from tinyjax.source.ir import analysis, program as ir, runtime, syntax

#: What writes to its first argument.
WRITING: Final = frozenset(
    (runtime.exchange, runtime.replaced, runtime.increased, runtime.accumulate_at)
)
#: What gives a part of its first argument, whatever the others are.
TAKING: Final = frozenset((operator.getitem, getattr, runtime.defined, runtime.items_of))
#: Operators that may put containers together, whose items are then shared.
_JOINING: Final = frozenset((operator.add, operator.mul))
#: What indices and results are made of.
_PARTS: Final = frozenset((runtime.make_tuple, slice))
#: Parameters of ``np.ndarray`` with which it makes an array of its own.
_OF_NEW: Final = ("shape", "dtype", "order")
#: Functions of the front end and of rules whose results share no memory with their arguments.
_COPYING: Final[frozenset[Any]] = frozenset((arrays.copied, runtime.fitting))


class Aliases:
    """The classes of a program's variables.

    Args:
        program: the program.
        arguments: the kinds of its arguments.
        numbers: the variables that are numbers, or shapes, which share no memory.
        own: the places of the arguments that are arrays of tinyjax's.
        is_cautious: whether functions that are called may change their arguments.

    Attributes:
        written_variables: the variables of the classes that it writes to.
        values: the arrays that it writes to, with the stored values.
        writes_outside: whether it writes to values from outside.
        own: the variables that are arrays of tinyjax's, which never change.
        made: the written variables that are new arrays, as results of calls.
        unknown: the written variables that are results of functions which are not known.
    """

    def __init__(
        self,
        program: ir.IR,
        arguments: tuple[Kind, ...],
        numbers: Container[ir.Variable] = (),
        *,
        own: Container[int] = (),
        is_cautious: bool = False,
    ) -> None:
        self._numbers = numbers
        self.values: list[tuple[ir.Variable, ir.Atom]] = []
        self._parents: dict[ir.Variable, ir.Variable] = {}
        self._made: set[ir.Variable] = set()
        self._unknown: set[ir.Variable] = set()
        self._arrays: dict[ir.Atom, bool] = _arrays(program, arguments)
        self._methods: dict[ir.Atom, Any] = {
            s.variable: ir.value_of(s.call.args[1])
            for s in program.statements
            if s.function is getattr and len(s.call.args) == 2
        }
        self.own: frozenset[ir.Variable] = _own(program, own)
        self._is_cautious = is_cautious
        self._outside: ir.Variable = program.blocks[0].arguments[0]
        pairs = zip(program.blocks[0].arguments, arguments, strict=True)
        self._join([self._outside, *[v for v, kind in pairs if not kind.numeric]])
        for statement in program.statements:
            self._enter(statement)
        for pair in program.passes:
            self._join(pair)
        written = {self.class_of(array) for array, _ in self.values}
        self.writes_outside: bool = self.class_of(self._outside) in written
        self.written_variables: frozenset[ir.Variable] = frozenset(
            [v for v in program.variables if self.class_of(v) in written]
        )
        self.made: frozenset[ir.Variable] = self.written_variables & self._made
        self.unknown: frozenset[ir.Variable] = self.written_variables & self._unknown

    def reads_only(self, call: ir.Call) -> bool:
        """Return whether a call only reads its arguments: it neither keeps nor changes them."""
        return ir.value_of(call.function) not in WRITING and self.copies(call)

    def is_reading(self, statement: ir.Statement) -> bool:
        """Return whether a statement changes nothing and hands on nothing but to NumPy."""
        function = statement.function
        if function in TAKING or runtime.is_in(function, _PARTS):
            return True
        is_view = self.method_of(statement.call) in facts.VIEW_METHODS
        return is_view or self.reads_only(statement.call)

    def is_native(self, atom: ir.Atom) -> bool:
        """Return whether a value is certainly an array or a number, and no object."""
        return self._arrays.get(atom, False)

    def method_of(self, call: ir.Call) -> Any:
        """Return the name of the method that is called; None for a call of another function."""
        return self._methods.get(call.function)

    def is_outside(self, variable: ir.Variable) -> bool:
        """Return whether a variable may share memory with what the program has not made."""
        return self.class_of(variable) is self.class_of(self._outside)

    def members(self, variables: Iterable[ir.Variable]) -> set[ir.Variable]:
        """Return the variables of written classes that may alias one of the given variables."""
        classes = set(map(self.class_of, variables))
        return {v for v in self.written_variables if self.class_of(v) in classes}

    def _enter(self, statement: ir.Statement) -> None:
        """Join the classes that a statement lets share memory, and record what it writes to."""
        call, function, variable = statement.call, statement.function, statement.variable
        if variable in self.own:
            return
        if function in WRITING:
            self._write(call.args[0], call.args[2])
        elif function in runtime.AUGMENTING:
            self._join([variable, call.args[1]])
            if function is runtime.augmented or self._is_cautious:
                self._write(call.args[1], call.args[2])
        elif function in TAKING:
            if variable not in self._numbers:
                owner = call.args[0]
                self._join([variable, owner if isinstance(owner, ir.Variable) else self._outside])
        elif function in (runtime.captured, runtime.global_value):
            self._join([variable, self._outside])
        elif self.copies(call):
            self._made.add(variable)
        elif self.method_of(call) in facts.VIEW_METHODS:
            self._join([variable, call.function])
        else:
            self._join([variable, *call.atoms])
            if function in _JOINING:  # what is an array, and no container, is its own
                self._made.add(variable)
            if _may_write(call):  # nor is it known that it gives what it has made
                self._unknown.add(variable)
                self._join([variable, self._outside])
                if self._is_cautious:
                    self._made.add(variable)
                    self._write(self._outside, variable)

    def _write(self, array: ir.Atom, value: ir.Atom) -> None:
        if isinstance(array, ir.Variable):
            self.values.append((array, value))

    def class_of(self, variable: ir.Variable) -> ir.Variable:
        """Return the variable that stands for the class of another one."""
        while variable in self._parents:
            variable = self._parents[variable]
        return variable

    def _join(self, atoms: Iterable[ir.Atom]) -> None:
        """Let variables be of one class."""
        classes = {self.class_of(x) for x in atoms if isinstance(x, ir.Variable)}
        if classes:
            first = classes.pop()
            self._parents.update(dict.fromkeys(classes, first))

    def copies(self, call: ir.Call) -> bool:
        """Return whether the result of a call shares no memory with its arguments."""
        function = ir.value_of(call.function)
        if function is None:
            is_array = self._arrays.get(call.function, False)
            return is_array and facts.is_fresh(self.method_of(call), len(call.args), call.names)
        if function in _JOINING:
            return all(_is_number(x) or self._arrays.get(x, False) for x in call.args)
        if function is np.ndarray:  # of a shape and a dtype, and of no buffer
            return len(call.args) <= 2 and {*call.names} <= {*_OF_NEW}
        return _copies(function, len(call.args), call.names) or registry.is_inert(function)


def may_change(call: ir.Call, *, is_cautious: bool) -> bool:
    """Return whether a call may change an array."""
    function = ir.value_of(call.function)
    if function in WRITING or function is runtime.augmented:
        return True
    known = _copies(function, len(call.args)) or registry.is_inert(function) or function in TAKING
    return is_cautious and not known and _may_write(call)


def _may_write(call: ir.Call) -> bool:
    """Return whether a call may write to its arguments, because its function is unknown."""
    function = ir.value_of(call.function)
    module = getattr(function, "__module__", None) or ""
    is_known = isinstance(function, np.ufunc) or module.partition(".")[0] == "numpy"
    of_library = module.startswith("tinyjax.") and not module.startswith("tinyjax.source")
    known = is_known or of_library or registry.rule_of(function) is not None
    return function is None or not known


def _is_number(atom: ir.Atom) -> bool:
    return isinstance(ir.value_of(atom), (bool, int, float, complex))


def _copies(function: Any, count: int = 1, names: tuple[str, ...] = ()) -> bool:
    """Return whether a function's results share no memory with its arguments."""
    if any(runtime.is_in(function, known) for known in (syntax.ARITHMETIC, _COPYING)):
        return True
    is_mathematical = getattr(function, "__module__", "") in ("math", "cmath")
    return is_mathematical or (callable(function) and facts.is_fresh(function, count, names))


def _is_of_arrays(name: Any) -> bool:
    """Return whether what arrays have of a name is an array, or a method that gives arrays."""
    known = (facts.VIEW_ATTRIBUTES, facts.VIEW_METHODS, facts.FRESH_METHODS, facts.FRESH_WITHOUT)
    return any(name in names for names in known)


def _arrays(program: ir.IR, arguments: tuple[Kind, ...]) -> dict[ir.Atom, bool]:
    """Return the variables that are certainly arrays or numbers, or methods of these that copy."""

    def of_call(call: ir.Call, operands: list[bool]) -> bool:
        function, (of_function, *args) = ir.value_of(call.function), operands
        if function is None:
            return of_function
        if function is getattr and len(call.args) == 2:
            name = ir.value_of(call.args[1])
            return args[0] and _is_of_arrays(name)
        if function in TAKING:
            return args[0]
        if function in runtime.AUGMENTING:
            return args[1]
        if function in _JOINING:
            return all(args)
        return _copies(function, len(call.args), call.names)

    pairs = zip(program.blocks[0].arguments, arguments, strict=True)
    known = {v: kind.numeric or kind.is_array for v, kind in pairs}
    facts = analysis.propagate(program, known, _is_number, of_call, operator.and_)
    return dict(facts.items())


#: Modules of tinyjax whose functions give arrays of tinyjax's.
_OF_ARRAYS: Final = tuple(f"tinyjax.{name}." for name in ("lax", "nn", "numpy", "random", "scipy"))


def _own(program: ir.IR, places: Container[int]) -> frozenset[ir.Variable]:
    """Return the variables that are certainly arrays of tinyjax's, or what these have."""

    def of_call(call: ir.Call, operands: list[bool]) -> bool:
        function, (of_function, *args) = ir.value_of(call.function), operands
        if function is None:
            return of_function
        if function in TAKING or function is runtime.unpacked:
            return args[0]
        if function is runtime.updated or runtime.is_in(function, syntax.ARITHMETIC):
            return any(args)
        return f"{getattr(function, '__module__', '')}.".startswith(_OF_ARRAYS)

    arguments = {v: i in places for i, v in enumerate(program.blocks[0].arguments)}
    own = analysis.propagate(program, arguments, lambda _: False, of_call, operator.and_)
    return frozenset([variable for variable, is_own in own.items() if is_own])
