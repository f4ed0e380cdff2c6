"""Calls as Python expressions."""

from __future__ import annotations

import operator
import re
from typing import Final

import attrs

from tinyjax.source.ir import program as ir, runtime
from tinyjax.source.ir.syntax import INFIX, PREFIX
from tinyjax.source.text import layout
from tinyjax.source.text.names import Names

#: How tightly operators bind, the comparisons first.
_LEVELS: Final[tuple[tuple[str, ...], ...]] = (
    ("not ",),
    ("<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in"),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "//", "%", "@"),
    ("unary",),
    ("**",),
)
_BINDING: Final = {text: level for level, texts in enumerate(_LEVELS, 1) for text in texts}
_COMPARISON: Final = _BINDING["=="]
_SUM: Final = _BINDING["+"]
_TIGHT: Final = len(_LEVELS) + 1
#: Operands that powers stand close to.
_SIMPLE: Final = re.compile(r"-?[\w.]+")


@attrs.frozen(eq=False)
class ExpressionWriter:
    """Writes the values of one program.

    Attributes:
        names: of the text.
        called: what variables are called.
        inlined: the calls of those that have no name, and are written where they are used.
    """

    names: Names
    called: dict[ir.Variable, str]
    inlined: dict[ir.Variable, ir.Call]

    def atom(self, atom: ir.Atom, binding: float = 0) -> str:
        """Write a value, in parentheses unless it binds at least as tightly as it has to."""
        if isinstance(atom, ir.Constant):
            text = self.names.constant(atom)
            return f"({text})" if text.startswith("-") and binding > _SUM + 0.5 else text
        if atom in self.inlined:
            call = self.inlined[atom]
            text = self.call(call)
            return f"({text})" if precedence(self.shown(call)) < binding else text
        return self.called[atom]

    def shown(self, call: ir.Call) -> ir.Call:
        """What a call is written as: a range is gone through as it is."""
        if ir.value_of(call.function) is runtime.items_of and isinstance(call.args[0], ir.Variable):
            inlined_call = self.inlined.get(call.args[0])
            if inlined_call is not None and ir.value_of(inlined_call.function) is range:
                return inlined_call
        return call

    def call(self, call: ir.Call) -> str:
        """Write a call."""
        call = self.shown(call)
        function, args, keywords = self.parts(call)
        if ir.value_of(call.function) is operator.pow and all(map(_SIMPLE.fullmatch, args)):
            return "**".join(args)
        return ir.show_call(call, args, function, keywords)

    def doc(self, prefix: str, call: ir.Call) -> layout.Doc:
        """Write a call so that it can be broken over lines."""
        call = self.shown(call)
        if is_syntax(call) and ir.value_of(call.function) is not runtime.make_tuple:
            return prefix + self.call(call)
        function, args, keywords = self.parts(call)
        named = [f"{name}={v}" for (name, _), v in zip(call.keywords, keywords, strict=True)]
        wide = [self.display(atom, text) for atom, text in zip(call.args, args, strict=True)]
        return layout.group(f"{prefix}{function}(", [*wide, *named], ")")

    def display(self, atom: ir.Atom, text: str) -> layout.Doc:
        """A tuple that is an argument, so that it can be broken over lines."""
        call = self.inlined.get(atom) if isinstance(atom, ir.Variable) else None
        if call is None or ir.value_of(call.function) is not runtime.make_tuple:
            return text
        return layout.group("(", [self.atom(arg) for arg in call.args], ")")

    def parts(self, call: ir.Call) -> tuple[str, list[str], list[str]]:
        """Write the function, the arguments and the keyword arguments of a call."""
        function = ir.value_of(call.function)
        if is_operation(call):
            own = precedence(call)
            closer = own + 0.5
            left, right = (closer, own) if function is operator.pow else (own, closer)
            if own <= _COMPARISON:  # comparisons would become a chain
                left = closer
            args = [self.atom(a, left if i == 0 else right) for i, a in enumerate(call.args)]
        elif function is operator.getitem:
            args = [self.atom(call.args[0], _TIGHT), self.subscript(call.args[1])]
        else:
            base = ir.is_attribute(call)
            args = [self.atom(a, _TIGHT if base and i == 0 else 0) for i, a in enumerate(call.args)]
            if base and args[0].isdecimal():  # 1.real would be a float
                args[0] = f"({args[0]})"
        name = "" if is_syntax(call) else self.atom(call.function, _TIGHT)
        return name, args, [self.atom(value) for _, value in call.keywords]

    def subscript(self, atom: ir.Atom) -> str:
        """Write what stands in brackets: slices with colons."""
        call = self.inlined.get(atom) if isinstance(atom, ir.Variable) else None
        if call is None or ir.value_of(call.function) is not slice:
            return self.atom(atom)
        parts = [
            "" if isinstance(a, ir.Constant) and a.value is None else self.atom(a)
            for a in call.args
        ]
        return f"{parts[0]}:{parts[1]}" + (f":{parts[2]}" if parts[2] else "")

    def negated(self, condition: ir.Atom) -> str:
        """Write that something is not so."""
        call = self.inlined.get(condition) if isinstance(condition, ir.Variable) else None
        if call is not None and ir.value_of(call.function) is operator.eq:
            return self.call(attrs.evolve(call, function=ir.Constant(operator.ne, "operator.ne")))
        return f"not {self.atom(condition, _COMPARISON)}"


def precedence(call: ir.Call) -> int:
    """How tightly what a call is written as binds."""
    function = ir.value_of(call.function)
    if function in INFIX and len(call.args) == 2:
        return _BINDING[INFIX[function]]
    if function in PREFIX:
        return _BINDING.get(PREFIX[function] if function is operator.not_ else "unary", _TIGHT)
    return _TIGHT


def is_operation(call: ir.Call) -> bool:
    """Whether a call is written as an operator."""
    function = ir.value_of(call.function)
    return function in INFIX or function in PREFIX


def is_syntax(call: ir.Call) -> bool:
    """Whether a call is written without the name of its function."""
    function = ir.value_of(call.function)
    displays = (operator.getitem, runtime.make_tuple, runtime.make_list)
    return is_operation(call) or ir.is_attribute(call) or function in displays
