"""Programs in static single assignment form: blocks with arguments, statements, branches.

Every variable is defined once: as an argument of a block, or by a statement, which is always a
call. (Operators, attributes, subscripts and displays are calls of functions.) Control flow consists
of branches between blocks. The value of a variable after two paths have met is an argument of the
block where they meet. The first argument of the first block is the function itself, from which its
closed-over values are read.
"""

from __future__ import annotations

import functools
import keyword
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from tinyjax._base import pycode
from tinyjax._base.pycode import Expression
from tinyjax.source.ir import runtime, syntax


@attrs.frozen(eq=False)
class Variable:
    """A value of a program, defined at one place; it is itself.

    Attributes:
        number: its number in a listing.
        name: its name in the user's program, if it has one.
    """

    number: int
    name: str | None = None

    def __repr__(self) -> str:
        return f"%{self.number}"


@attrs.frozen(eq=False)
class Constant:
    """A value known when the program was read: a literal, or a function or module by its name.

    Attributes:
        value: the value.
        text: how the user wrote it.
    """

    value: Any
    text: str

    def __repr__(self) -> str:
        return self.text


Atom: TypeAlias = Variable | Constant


def literal(value: Any) -> Constant:
    """Return a constant that is printed as its repr."""
    return Constant(value, repr(value))


@functools.cache
def function(fun: Callable[..., Any]) -> Constant:
    """Return a function by its name, which texts import; NumPy's functions by that in NumPy."""
    prefix = "np." if getattr(np, fun.__name__, None) is fun else ""
    return Constant(fun, f"{prefix}{fun.__name__}")


#: What a program without a result returns.
NONE: Final = literal(None)


def value_of(atom: Atom) -> Any:
    """Return the value of a constant; None for a variable."""
    return atom.value if isinstance(atom, Constant) else None


@attrs.frozen(eq=False)
class Call:
    """A function applied to arguments."""

    function: Atom
    args: tuple[Atom, ...]
    keywords: tuple[tuple[str, Atom], ...] = ()

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The function, the arguments and the values of the keywords."""
        return (self.function, *self.args, *[value for _, value in self.keywords])

    @property
    def variables(self) -> list[Variable]:
        """The variables among them."""
        return [atom for atom in self.atoms if isinstance(atom, Variable)]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the keyword arguments."""
        return tuple([name for name, _ in self.keywords])

    def map(self, replace: Callable[[Atom], Atom]) -> Call:
        """Return the same call with every atom replaced."""
        keywords = tuple([(name, replace(value)) for name, value in self.keywords])
        return Call(replace(self.function), tuple([replace(arg) for arg in self.args]), keywords)


@attrs.frozen(eq=False)
class Statement:
    """The definition of a variable.

    Attributes:
        variable: the variable.
        call: the call whose value it is.
        line: the user's line, 0 where there is none.
    """

    variable: Variable
    call: Call
    line: int = 0

    @property
    def function(self) -> Any:
        """The function that it calls, if that is known; None if it is a variable."""
        return value_of(self.call.function)


def call(fun: Callable[..., Any], *args: Atom) -> Call:
    """Return a call of a known function."""
    return Call(function(fun), args)


class StatementWriter:
    """A builder that appends statements one after the other.

    Attributes:
        statements: the statements so far.
        line: the user's line that the next ones come from.
    """

    statements: list[Statement]
    line: int

    def emit(self, fun: Callable[..., Any], *args: Atom, name: str | None = None) -> Variable:
        """Write a call of a known function, and give the variable that it defines."""
        return self.emit_call(call(fun, *args), name)

    def emit_call(self, call: Call, name: str | None = None) -> Variable:
        """Write a call, likewise."""
        variable = Variable(0, name)
        self.statements.append(Statement(variable, call, self.line))
        return variable


@attrs.frozen(eq=False)
class Branch:
    """A jump to another block.

    Attributes:
        target: the index of the block; ``RETURN`` at the end of the program.
        args: the values of its arguments.
        unless: the jump is taken if this is false; None for a jump that is always taken.
    """

    target: int
    args: tuple[Atom, ...] = ()
    unless: Atom | None = None

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The values that it uses."""
        return self.args if self.unless is None else (*self.args, self.unless)

    def map(self, replace: Callable[[Atom], Atom]) -> Branch:
        """Return the same branch with every atom replaced."""
        unless = None if self.unless is None else replace(self.unless)
        return Branch(self.target, tuple([replace(arg) for arg in self.args]), unless)


#: Stands for the block behind every return, whose argument is the value returned.
RETURN: Final = -1


def returning(value: Atom) -> Branch:
    """Return the end of a program."""
    return Branch(RETURN, (value,))


@attrs.frozen(eq=False)
class Block:
    """Statements that run one after the other.

    Attributes:
        arguments: the variables that branches to the block give values.
        statements: the definitions.
        exits: one return, one unconditional branch, or a conditional branch and one that is taken
            otherwise.
    """

    arguments: tuple[Variable, ...]
    statements: tuple[Statement, ...]
    exits: tuple[Branch, ...]

    @property
    def branches(self) -> list[Branch]:
        """The branches to other blocks."""
        return [exit_ for exit_ in self.exits if exit_.target != RETURN]

    @property
    def returned(self) -> Atom | None:
        """The value that it returns, if it ends with a return."""
        last = self.exits[-1]
        return last.args[0] if last.target == RETURN else None

    @property
    def defined(self) -> list[Variable]:
        """The variables that it defines."""
        return [*self.arguments, *[s.variable for s in self.statements]]

    @property
    def used_at_end(self) -> list[Variable]:
        """The variables that its exits use, as often as they do."""
        return [a for e in self.exits for a in e.atoms if isinstance(a, Variable)]

    @property
    def uses(self) -> list[Variable]:
        """The variables that it uses, as often as it does."""
        return [*[v for s in self.statements for v in s.call.variables], *self.used_at_end]

    def map(self, replace: Callable[[Atom], Atom]) -> Block:
        """Return the same block with every atom that it uses replaced."""
        statements = [Statement(s.variable, s.call.map(replace), s.line) for s in self.statements]
        return Block(self.arguments, tuple(statements), tuple([e.map(replace) for e in self.exits]))


@attrs.frozen(eq=False)
class IR:
    """A function as a program in static single assignment form.

    Attributes:
        name: the function's name.
        function: the function.
        blocks: the first is where the program begins; no branch leads there.
        filename: where the function was written.
        variadic: the position of the tuple ``*args`` among the first block's arguments, if it is.
        derived: cached results of analyses and transformations of the program: adjoints, the graph.

    Example:
        >>> from tinyjax import source
        >>> def fun(x):
        ...     return x + 1
        >>> ir = source.ir_of(fun)
        >>> isinstance(ir, source.IR), ir.name, len(ir.blocks)
        (True, 'fun', 1)
    """

    name: str
    function: Callable[..., Any] | None
    blocks: tuple[Block, ...]
    filename: str
    variadic: int | None = None
    derived: dict[Any, Any] = attrs.field(factory=dict)

    @property
    def statements(self) -> list[Statement]:
        """The statements of all blocks."""
        return [statement for block in self.blocks for statement in block.statements]

    @property
    def variables(self) -> list[Variable]:
        """The variables that it defines."""
        return [variable for block in self.blocks for variable in block.defined]

    @property
    def calls(self) -> dict[Atom, Call]:
        """The calls of its statements, by the variables that they define."""
        return {statement.variable: statement.call for statement in self.statements}

    @property
    def uses(self) -> Counter[Variable]:
        """The number of uses of each variable."""
        return Counter([variable for block in self.blocks for variable in block.uses])

    @property
    def passes(self) -> list[tuple[Variable, Atom]]:
        """The arguments of blocks, each with a value that a branch gives it."""
        branches = [branch for block in self.blocks for branch in block.branches]
        return [pair for branch in branches for pair in self.passed(branch)]

    def __str__(self) -> str:
        return _listing(self.blocks)

    def __repr__(self) -> str:
        return str(self)

    def passed(self, branch: Branch) -> list[tuple[Variable, Atom]]:
        """Return the arguments of the block that a branch leads to, with their values.

        Example:
            >>> from tinyjax import source
            >>> def larger(x, y):
            ...     return x if x > y else y
            >>> ir = source.ir_of(larger)
            >>> branches = [branch for block in ir.blocks for branch in block.branches]
            >>> [[name for name, _ in ir.passed(branch)] for branch in branches]
            [[%5], [], [%5]]
        """
        return list(zip(self.blocks[branch.target].arguments, branch.args, strict=True))


def item_of(atom: Atom, index: int) -> Call:
    """Return an item of a tuple."""
    return Call(function(operator.getitem), (atom, Constant(index, str(index))))


def index_parts(index: Atom, calls: dict[Atom, Call]) -> tuple[Atom, ...]:
    """Return the items of an index that is a tuple, by the calls of its program; or the index."""
    call = calls.get(index)
    if call is not None and value_of(call.function) is runtime.make_tuple:
        return call.args
    if isinstance(index, Constant) and isinstance(index.value, tuple):
        return tuple(map(literal, index.value))
    return (index,)


def name_last(statements: list[Statement], variable: Variable, name: str) -> Variable:
    """Give a variable a name if the last of some statements defines it; the variable that does."""
    if not name or not statements or statements[-1].variable is not variable:
        return variable
    statements[-1] = attrs.evolve(statements[-1], variable=Variable(0, name))
    return statements[-1].variable


def in_order(variables: Iterable[Variable]) -> list[Variable]:
    """Variables in the order in which a program defines them."""
    return sorted(variables, key=lambda v: v.number)


def is_attribute(call: Call) -> bool:
    """Return whether a call reads an attribute of a known name."""
    if value_of(call.function) is not getattr or len(call.args) != 2:
        return False
    name = value_of(call.args[1])
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


def as_expression(
    call: Call, function: Expression, args: Sequence[Expression], keywords: Sequence[Expression]
) -> Expression:
    """Return a call as an expression of Python.

    Args:
        call: the call.
        function: the expression of its function.
        args: the expressions of its arguments.
        keywords: the expressions of its keyword arguments.
    """
    operation = value_of(call.function)
    if operation in syntax.INFIX and len(args) == 2:
        return pycode.OperatorExpression(syntax.INFIX[operation], tuple(args))
    if operation in syntax.PREFIX:
        return pycode.OperatorExpression(syntax.PREFIX[operation], tuple(args))
    if operation is operator.getitem:
        return pycode.Subscript(*args)
    if is_attribute(call):
        return pycode.Attribute(args[0], value_of(call.args[1]))
    if operation is runtime.make_tuple:
        return pycode.tuple_of(args)
    if operation is runtime.make_list:
        return pycode.list_of(args)
    pairs = zip(call.keywords, keywords, strict=True)
    return pycode.CallExpression(
        function, tuple(args), tuple([(name, x) for (name, _), x in pairs])
    )


def _listing(blocks: tuple[Block, ...]) -> str:
    lines = []
    for index, block in enumerate(blocks):
        parameters = ", ".join(map(repr, block.arguments))
        lines.append(f"{index + 1}: ({parameters})" if parameters else f"{index + 1}:")
        for statement in block.statements:
            call = statement.call
            function = repr(call.function)
            if isinstance(call.function, Constant):
                function = f"({function})"
            args, keywords = [
                [pycode.Name(repr(x)) for x in some]
                for some in (call.args, [value for _, value in call.keywords])
            ]
            written = as_expression(call, pycode.Name(function), args, keywords)
            lines.append(f"  {statement.variable!r} = {written.text()}")
        if not block.exits:
            continue
        *conditional, last = block.exits
        lines += [f"  {_show_exit(exit_)}" for exit_ in conditional]
        falls = not last.args and last.target == index + 1
        if not (conditional and falls):  # a block goes on to the next
            lines.append(f"  {_show_exit(last)}")
    return "\n".join(lines)


def _show_exit(exit_: Branch) -> str:
    if exit_.target == RETURN:
        return f"return {exit_.args[0]!r}"
    args = f" ({', '.join(map(repr, exit_.args))})" if exit_.args else ""
    unless = "" if exit_.unless is None else f" unless {exit_.unless!r}"
    return f"br {exit_.target + 1}{args}{unless}"
