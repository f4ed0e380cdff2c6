"""Programs in static single assignment form: blocks with parameters, statements, branches.

Every variable is defined once: as a parameter of a block, or by a statement, which is always a call
(operators, attributes, subscripts and displays are calls of functions). Control flow is branches
between blocks, and what a variable is after two paths have met is a parameter of the block where
they meet. The first parameter of the first block is the function itself, which is where the values
that it closes over are read from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import attrs


@attrs.frozen(eq=False)
class Variable:
    """A value of a program, defined at one place; it is itself.

    Attributes:
        number: what a listing prints.
        name: what the user calls it, if anything.
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
        line: the user's line, 0 where there is none.
    """

    value: Any
    text: str
    line: int = 0

    def __repr__(self) -> str:
        return self.text


Atom: TypeAlias = Variable | Constant


def value_of(atom: Atom) -> Any:
    """What a constant is; None for a variable."""
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
        return (self.function, *self.args, *(value for _, value in self.keywords))

    @property
    def variables(self) -> list[Variable]:
        """The variables among them."""
        return [atom for atom in self.atoms if isinstance(atom, Variable)]

    def map(self, of: Callable[[Atom], Atom]) -> Call:
        """The same call with every atom replaced."""
        return Call(
            of(self.function),
            tuple([of(arg) for arg in self.args]),
            tuple([(name, of(value)) for name, value in self.keywords]),
        )


@attrs.frozen(eq=False)
class Statement:
    """The definition of a variable.

    Attributes:
        variable: what is defined.
        call: its value.
        line: the user's line, 0 where there is none.
    """

    variable: Variable
    call: Call
    line: int = 0


@attrs.frozen(eq=False)
class Branch:
    """A jump to another block.

    Attributes:
        target: the index of the block.
        args: the values of its parameters.
        unless: the jump is taken where this is false; always, where there is None.
    """

    target: int
    args: tuple[Atom, ...] = ()
    unless: Atom | None = None


@attrs.frozen(eq=False)
class Return:
    """The end of a program."""

    value: Atom


@attrs.frozen(eq=False)
class Block:
    """Statements that run one after the other.

    Attributes:
        parameters: the variables that branches to the block give values.
        statements: the definitions.
        exits: one return, one unconditional branch, or a conditional branch and one that is taken
            otherwise.
    """

    parameters: tuple[Variable, ...]
    statements: tuple[Statement, ...]
    exits: tuple[Branch | Return, ...]

    @property
    def branches(self) -> Iterator[Branch]:
        """The branches to other blocks."""
        return (exit_ for exit_ in self.exits if isinstance(exit_, Branch))

    @property
    def uses(self) -> Iterator[Variable]:
        """The variables that it uses, as often as it does."""
        for statement in self.statements:
            yield from statement.call.variables
        for exit_ in self.exits:
            atoms = (exit_.value,) if isinstance(exit_, Return) else (*exit_.args, exit_.unless)
            yield from [atom for atom in atoms if isinstance(atom, Variable)]


@attrs.frozen(eq=False)
class IR:
    """A function as a program in static single assignment form.

    Attributes:
        name: the function's name.
        function: the function.
        blocks: the first is where the program begins; no branch leads there.
        filename: where the function was written.
    """

    name: str
    function: Callable[..., Any] | None
    blocks: tuple[Block, ...]
    filename: str

    def __str__(self) -> str:
        from tinyjax.source.printing import listing  # noqa: PLC0415 - printing needs this module

        return listing(self)

    def __repr__(self) -> str:
        return str(self)


def predecessors(blocks: tuple[Block, ...]) -> list[list[int]]:
    """The blocks that branch to each block, each once."""
    found: list[list[int]] = [[] for _ in blocks]
    for index, block in enumerate(blocks):
        for branch in block.branches:
            if index not in found[branch.target]:
                found[branch.target].append(index)
    return found


def in_order(blocks: tuple[Block, ...]) -> list[int]:
    """The blocks, each after those that lead to it, loops aside."""
    order: list[int] = []
    seen = {0}
    path = [(0, iter([b.target for b in blocks[0].branches][::-1]))]
    while path:
        index, rest = path[-1]
        target = next(rest, None)
        if target is None:
            order.append(index)
            path.pop()
        elif target not in seen:
            seen.add(target)
            path.append((target, iter([b.target for b in blocks[target].branches][::-1])))
    return order[::-1]


def renumbered(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """The blocks that can be reached, in order, with their variables numbered in order."""
    reached = [0]
    for index in reached:
        reached += [b.target for b in blocks[index].branches if b.target not in reached]
    order = {old: new for new, old in enumerate(sorted(reached))}
    names: dict[Variable, Variable] = {}

    def define(variable: Variable) -> Variable:
        names[variable] = Variable(len(names) + 1, variable.name)
        return names[variable]

    kept = [blocks[old] for old in order]
    for block in kept:
        for variable in block.parameters:
            define(variable)
        for statement in block.statements:
            define(statement.variable)

    def rename(atom: Atom) -> Atom:
        return names[atom] if isinstance(atom, Variable) else atom

    def leave(exit_: Branch | Return) -> Branch | Return:
        if isinstance(exit_, Return):
            return Return(rename(exit_.value))
        return Branch(
            order[exit_.target],
            tuple([rename(arg) for arg in exit_.args]),
            None if exit_.unless is None else rename(exit_.unless),
        )

    return tuple(
        [
            Block(
                tuple([names[v] for v in block.parameters]),
                tuple(
                    [
                        Statement(names[s.variable], s.call.map(rename), s.line)
                        for s in block.statements
                    ]
                ),
                tuple([leave(exit_) for exit_ in block.exits]),
            )
            for block in kept
        ]
    )
