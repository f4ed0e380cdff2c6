"""Analyses of programs: predecessors, dominators, natural loops, live variables, data flow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TypeVar

import attrs

from tinyjax.source.ir.program import IR, Atom, Block, Call, Constant, Statement, Variable

T = TypeVar("T")


def predecessors(blocks: tuple[Block, ...]) -> list[list[int]]:
    """Return the blocks that branch to each block, each once."""
    before: list[list[int]] = [[] for _ in blocks]
    for index, block in enumerate(blocks):
        for branch in block.branches:
            if index not in before[branch.target]:
                before[branch.target].append(index)
    return before


def reverse_postorder(blocks: tuple[Block, ...]) -> list[int]:
    """Return the blocks, each after its predecessors, the edges that close loops aside."""
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


def dominators(blocks: tuple[Block, ...]) -> list[set[int]]:
    """For each block, the blocks that every path to it goes through."""
    before = predecessors(blocks)
    everything = set(range(len(blocks)))
    dominating = [{0}] + [set(everything) for _ in blocks[1:]]
    order = [index for index in reverse_postorder(blocks) if index]
    previous: list[set[int]] = []
    while previous != dominating:
        previous = [*dominating]
        for index in order:  # so that few rounds are needed
            paths = [dominating[p] for p in before[index]]
            dominating[index] = {index} | (set.intersection(*paths) if paths else set())
    return dominating


def natural_loops(blocks: tuple[Block, ...]) -> dict[int, frozenset[int]]:
    """Return the loops, by their headers: the blocks from which the header is reached again."""
    before, dominating = predecessors(blocks), dominators(blocks)
    loops: dict[int, frozenset[int]] = {}
    for head, leading in enumerate(before):
        body = [index for index in leading if head in dominating[index]]
        for index in body:
            if index != head:
                body += [p for p in before[index] if p not in body]
        if body:
            loops[head] = frozenset((head, *body))
    return loops


@attrs.frozen(eq=False)
class Liveness:
    """The live variables at the entry and the exit of each block.

    Attributes:
        entry: for each block its live-in variables, without its arguments.
        exit: the live-in variables of the blocks that it branches to.
    """

    entry: list[set[Variable]]
    exit: list[set[Variable]]


def liveness(
    blocks: tuple[Block, ...],
    used: Callable[[Statement], Iterable[Variable]] = attrgetter("call.variables"),
    used_at_end: Callable[[Block], Iterable[Variable]] = attrgetter("used_at_end"),
) -> Liveness:
    """Find the live variables of a program.

    Args:
        blocks: the program.
        used: the variables that a statement uses, where some do not count.
        used_at_end: the variables that the exits of a block use.
    """
    entry: list[set[Variable]] = [set() for _ in blocks]
    exit_: list[set[Variable]] = [set() for _ in blocks]
    order = reverse_postorder(blocks)[::-1]
    previous: list[set[Variable]] | None = None
    while previous != entry:
        previous = [*entry]
        for index in order:
            block = blocks[index]
            exit_[index] = {v for b in block.branches for v in entry[b.target]}
            live = exit_[index].union(used_at_end(block))
            for statement in reversed(block.statements):
                live.discard(statement.variable)
                live.update(used(statement))
            live.difference_update(block.arguments)
            entry[index] = live
    return Liveness(entry, exit_)


def propagate(
    ir: IR,
    arguments: dict[Variable, T],
    of_constant: Callable[[Constant], T],
    of_call: Callable[[Call, list[T]], T],
    join: Callable[[T, T], T],
) -> dict[Variable, T]:
    """Propagate the facts about the first block's variables to all variables.

    Args:
        ir: the program.
        arguments: the facts about the arguments of its first block.
        of_constant: returns the facts about a constant.
        of_call: returns the facts about a result, from those about the atoms of its call.
        join: returns the facts about an argument of a block, from those about two of its values.
    """
    facts = dict(arguments)

    def fact_of(atom: Atom) -> T | None:
        return facts.get(atom) if isinstance(atom, Variable) else of_constant(atom)

    before: dict[Variable, T] = {}
    while facts != before:
        before = dict(facts)
        for block in ir.blocks:
            for statement in block.statements:
                operands = [one for one in map(fact_of, statement.call.atoms) if one is not None]
                if len(operands) == len(statement.call.atoms):
                    facts[statement.variable] = of_call(statement.call, operands)
            for argument, atom in [pair for branch in block.branches for pair in ir.passed(branch)]:
                one = fact_of(atom)
                if one is not None:
                    facts[argument] = join(facts.get(argument, one), one)
    return facts


def is_used_before_changes(
    following: Iterable[Statement],
    variable: Variable,
    uses: Counter[Variable],
    may_use: Callable[[Statement, Variable], bool],
    keeps: Callable[[Statement], bool],
) -> bool:
    """Return whether only statements of its block use a variable, before anything changes.

    Args:
        following: the statements of the block after the one that defines the variable.
        variable: the variable.
        uses: how often each variable is used.
        may_use: whether a statement may use the variable.
        keeps: whether a statement changes nothing.
    """
    count, is_kept = 0, True
    for statement in following:
        if count == uses[variable] or not is_kept:
            break
        if variable in statement.call.variables:
            count += statement.call.variables.count(variable)
            if not may_use(statement, variable):
                return False
        is_kept = keeps(statement)
    return count == uses[variable]
