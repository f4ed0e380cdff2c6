"""What every program in static single assignment form must satisfy.

Each variable is defined once; each use is dominated by its definition; each branch gives as many
values as its target has parameters; each block ends with a return, with a branch, or with a
conditional branch and one that is taken otherwise; and nothing branches to the first block.
"""

from __future__ import annotations

from tinyjax.errors import JaxprTypeError
from tinyjax.source.ir.analysis import dominators
from tinyjax.source.ir.program import IR, Atom, Branch, Return, Variable


def verify(ir: IR) -> IR:
    """Check a program, and return it.

    Raises:
        JaxprTypeError: the program is ill-formed.
    """
    defined: dict[Variable, tuple[int, int]] = {}

    def define(variable: Variable, at: tuple[int, int]) -> None:
        if variable in defined:
            raise JaxprTypeError(f"{variable} is defined twice in\n{ir}")
        defined[variable] = at

    for index, block in enumerate(ir.blocks):
        for variable in block.arguments:
            define(variable, (index, -1))
        for place, statement in enumerate(block.statements):
            define(statement.variable, (index, place))
    dominating = dominators(ir.blocks)

    def use(atom: Atom, block: int, place: int) -> None:
        if not isinstance(atom, Variable):
            return
        if atom not in defined:
            raise JaxprTypeError(f"{atom} is used in block {block + 1} but not defined in\n{ir}")
        home, position = defined[atom]
        if position >= place if home == block else home not in dominating[block]:
            raise JaxprTypeError(
                f"{atom} is used in block {block + 1} where it may not be defined, in\n{ir}"
            )

    for index, block in enumerate(ir.blocks):
        for place, statement in enumerate(block.statements):
            for atom in statement.call.atoms:
                use(atom, index, place)
        _check_exits(ir, index)
        for exit_ in block.exits:
            for atom in exit_.atoms:
                use(atom, index, len(block.statements))
    return ir


def _check_exits(ir: IR, index: int) -> None:
    match ir.blocks[index].exits:
        case (Return(),) | (Branch(unless=None),):
            pass
        case (Branch() as first, Branch(unless=None)) if first.unless is not None:
            pass
        case _:
            raise JaxprTypeError(f"block {index + 1} does not end as a block must, in\n{ir}")
    for branch in ir.blocks[index].branches:
        if not 0 < branch.target < len(ir.blocks):
            raise JaxprTypeError(f"block {index + 1} branches to no block, in\n{ir}")
        expected = len(ir.blocks[branch.target].arguments)
        if len(branch.args) != expected:
            raise JaxprTypeError(
                f"block {index + 1} gives block {branch.target + 1} {len(branch.args)} values for "
                f"{expected} parameters, in\n{ir}"
            )
