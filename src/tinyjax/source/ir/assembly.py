"""Simplification and verification of programs of blocks.

Simplification merges chains of blocks and removes blocks that only jump. Verification checks these
invariants. Each variable is defined once, and its definition dominates each use. Each branch passes
as many values as its target has parameters. Each block ends with a return, with a branch, or with a
conditional branch and an unconditional one. Nothing branches to the first block.
"""

from __future__ import annotations

import attrs

from tinyjax.errors import JaxprTypeError
from tinyjax.source.ir.analysis import dominators, predecessors
from tinyjax.source.ir.program import IR, RETURN, Atom, Block, Branch, Statement, Variable


def assembled(name: str, blocks: tuple[Block, ...], filename: str) -> IR:
    """Return the program of some blocks."""
    return verify(IR(name, None, simplified(blocks), filename))


def renumbered(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the blocks that can be reached, in order, with their variables numbered in order."""
    reached = [0]
    for index in reached:
        reached += [b.target for b in blocks[index].branches if b.target not in reached]
    rest = [blocks[old] for old in sorted(reached)]
    order = {RETURN: RETURN} | {old: new for new, old in enumerate(sorted(reached))}
    names: dict[Variable, Variable] = {}
    for variable in [v for block in rest for v in block.defined]:
        names[variable] = Variable(len(names) + 1, variable.name)

    def rename(atom: Atom) -> Atom:
        return names[atom] if isinstance(atom, Variable) else atom

    results = []
    for block in [block.map(rename) for block in rest]:
        statements = [Statement(names[s.variable], s.call, s.line) for s in block.statements]
        parameters = tuple([names[v] for v in block.arguments])
        exits = [attrs.evolve(exit_, target=order[exit_.target]) for exit_ in block.exits]
        results.append(Block(parameters, tuple(statements), tuple(exits)))
    return tuple(results)


def simplified(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the same program with as few blocks as its branches need, numbered in order."""
    work = renumbered(blocks)
    while True:
        before = work
        for simplify in (_without_chains, _without_jumps):
            simpler = simplify(work)
            work = work if simpler is work else renumbered(simpler)
        if work is before:
            return work


def _without_jumps(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Let branches to a block that only jumps go to where it jumps to."""
    results, changed = [], False
    for index, block in enumerate(blocks):
        exits = list(block.exits)
        for place, branch in enumerate(exits):
            if branch.target != RETURN:
                taken = {RETURN, index, branch.target, *[e.target for e in exits]}
                match blocks[branch.target]:
                    case Block((), (), (Branch(target=target, args=args),)) if target not in taken:
                        exits[place], changed = Branch(target, args, branch.unless), True
                    case _:
                        pass
        results.append(attrs.evolve(block, exits=tuple(exits)))
    return tuple(results) if changed else blocks


def _without_chains(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Remove the parameters of a block that one branch leads to, and append it there."""
    before = predecessors(blocks)
    only = [p[0] if len(p) == 1 and p != [i] else None for i, p in enumerate(before)]
    values: dict[Variable, Atom] = {}
    changed = False
    for index, block in enumerate(blocks):
        for branch in block.branches:
            if only[branch.target] == index:
                changed = changed or bool(branch.args) or len(block.exits) == 1
                values.update(zip(blocks[branch.target].arguments, branch.args, strict=True))
    if not changed:
        return blocks

    def replace(atom: Atom) -> Atom:
        while isinstance(atom, Variable) and atom in values:
            atom = values[atom]
        return atom

    results = []
    for index, block in enumerate(blocks):
        statements, last = block.statements, index
        while len(follower := blocks[last].branches) == 1 and only[follower[0].target] == last:
            last = follower[0].target
            statements += blocks[last].statements
        exits = list(blocks[last].exits)
        for place, branch in enumerate(exits):
            if branch.target != RETURN and only[branch.target] == last:
                exits[place] = attrs.evolve(branch, args=())
        arguments = block.arguments if only[index] is None else ()
        results.append(Block(arguments, statements, tuple(exits)).map(replace))
    return tuple(results)


def verify(ir: IR) -> IR:
    """Check a program, and return it.

    Raises:
        JaxprTypeError: the program is ill-formed.
    """
    defined: dict[Variable, tuple[int, int]] = {}

    def define(variable: Variable, place: tuple[int, int]) -> None:
        if variable in defined:
            raise JaxprTypeError(f"{variable} is defined twice in\n{ir}")
        defined[variable] = place

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
        match block.exits:
            case (Branch(unless=None),):
                pass
            case (first, Branch(unless=None)) if first.unless is not None:
                pass
            case _:
                raise JaxprTypeError(f"block {index + 1} does not end as a block must, in\n{ir}")
        for exit_ in block.exits:
            for atom in exit_.atoms:
                use(atom, index, len(block.statements))
        for branch in block.branches:
            if not 0 < branch.target < len(ir.blocks):
                raise JaxprTypeError(f"block {index + 1} branches to no block, in\n{ir}")
            expected = len(ir.blocks[branch.target].arguments)
            if len(branch.args) != expected:
                raise JaxprTypeError(
                    f"block {index + 1} gives block {branch.target + 1} {len(branch.args)} values "
                    f"for {expected} parameters, in\n{ir}"
                )
    return ir
