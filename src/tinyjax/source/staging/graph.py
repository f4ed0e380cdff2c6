"""The graph of a program's blocks for staging: where paths meet, and its loops."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Container, Iterable
from functools import cache

import attrs

from tinyjax.source.ir import analysis, program as ir, runtime


@attrs.frozen(eq=False)
class Counting:
    """The counter of a ``for`` loop.

    Attributes:
        items: the variable that it iterates over.
        counter: the place of the counter among the parameters of the loop's first block.
        out: the branch after the last item.
        inside: where its body begins.
    """

    items: ir.Variable
    counter: int
    out: ir.Branch
    inside: ir.Branch


@attrs.frozen(eq=False)
class Test:
    """The condition at the beginning of a loop, which may be several blocks (``and``, ``or``).

    Attributes:
        out: the branch that is taken if the condition does not hold.
        inside: the beginning of its body.
        shares: whether values of the condition are used elsewhere.
    """

    out: ir.Branch
    inside: ir.Branch
    shares: bool


@attrs.frozen(eq=False)
class LoopBlocks:
    """A loop: the blocks from which its first one is reached again.

    Attributes:
        header: its first block.
        blocks: all of them.
        exits: the blocks outside that it leads to.
        counting: its counter, if it is a ``for`` loop.
        test: its condition, if it begins with one.
        line: the user's line.
    """

    header: int
    blocks: frozenset[int]
    exits: frozenset[int]
    counting: Counting | None
    test: Test | None
    line: int


class ControlFlowGraph:
    """The blocks of a program, and how they are connected.

    Attributes:
        blocks: the blocks.
        loops: by their first block.
        order: the position of each block in an order in which only repeated branches lead back.
    """

    def __init__(self, program: ir.IR) -> None:
        blocks = program.blocks
        self.blocks: tuple[ir.Block, ...] = blocks
        self.predecessors: list[list[int]] = analysis.predecessors(blocks)
        places = enumerate(analysis.reverse_postorder(blocks))
        self.order: dict[int, int] = {block: place for place, block in places}
        self.order[ir.RETURN] = len(blocks)
        self._gone_through = gone_through(program)
        loops = analysis.natural_loops(blocks)
        self.loops: dict[int, LoopBlocks] = {
            head: self._loop(head, body) for head, body in loops.items()
        }
        #: The blocks that are reached from a block without passing some others.
        self.reach: Callable[[int, frozenset[int]], frozenset[int]] = cache(self._reach)
        #: The variables that hold the items of a comprehension so far.
        self.collecting: set[ir.Atom] = _collecting_variables(program)
        live = zip(blocks, analysis.liveness(blocks).entry, strict=True)
        #: The variables that a run from a block needs: its parameters, and those used later.
        self.live_in: list[tuple[ir.Variable, ...]] = [
            (*b.arguments, *ir.in_order(v)) for b, v in live
        ]
        self._lines: dict[ir.Atom, int] = {s.variable: s.line for s in program.statements}
        for block in sorted(self.order, key=self.order.__getitem__)[:-1]:
            for parameter, atom in itertools.chain(*map(program.passed, blocks[block].branches)):
                self._lines.setdefault(parameter, self.line_of(atom))

    def line_of(self, atom: ir.Atom) -> int:
        """Return the line where a value is computed; 0 where it is not known."""
        return self._lines.get(atom, 0)

    def first_line(self, index: int) -> int:
        """Return the first line of the user's in a block; 0 where there is none."""
        return next((s.line for s in self.blocks[index].statements if s.line), 0)

    def raises(self, index: int) -> bool:
        """Return whether a block ends with an exception."""
        return any(s.function is runtime.thrown for s in self.blocks[index].statements)

    def _reach(self, start: int, stops: frozenset[int]) -> frozenset[int]:
        """Return the blocks reachable from one, itself included, but not through a stop."""
        work = [start]
        for index in work:
            if index not in stops and index != ir.RETURN:
                targets = [branch.target for branch in self.blocks[index].branches]
                work += [target for target in targets if target not in work]
        return frozenset(work)

    def joins(self, start: int, others: Iterable[int], stops: frozenset[int]) -> frozenset[int]:
        """Return the blocks where the paths from one block first meet those from others."""
        here = self.reach(start, stops)
        firsts = {start, *others}
        reached: frozenset[int] = frozenset().union(*(self.reach(o, stops) for o in others))
        both = here & reached
        apart = (here | reached) - both
        return frozenset(
            [i for i in both - stops if i in firsts or apart & {*self.predecessors[i]}]
        )

    def _loop(self, header: int, body: frozenset[int]) -> LoopBlocks:
        exits = frozenset(b.target for i in body for b in self.blocks[i].branches) - body
        lines = [s.line for i in body for s in self.blocks[i].statements if s.line]
        line = self.first_line(header) or min(lines, default=0)
        counts = counting(self.blocks[header], self._gone_through)
        return LoopBlocks(header, body, exits, counts, self._test(header, body, exits), line)

    def _test(self, header: int, body: frozenset[int], exits: frozenset[int]) -> Test | None:
        region = {header}
        while more := [i for i in self._leading_out(region, body) if self._is_mere_test(i)]:
            region.add(more[0])
        edges = [b for i in region for b in self.blocks[i].branches if b.target not in region]
        outs = [b for b in edges if b.target in exits]
        ins = [b for b in edges if b.target in body]
        if (
            len({(b.target, b.args) for b in outs}) != 1
            or len({(b.target, b.args) for b in ins}) != 1
        ):
            return None
        inner = {s.variable for i in region - {header} for s in self.blocks[i].statements}
        if not inner.isdisjoint((*outs[0].args, *ins[0].args)):
            return None
        own = {s.variable for s in self.blocks[header].statements}
        return Test(outs[0], ins[0], bool(own & self._used_outside(region, outs)))

    def _leading_out(self, region: set[int], body: frozenset[int]) -> list[int]:
        """Return blocks of a loop that follow its test so far, and may belong to the test."""
        targets = {b.target for i in region for b in self.blocks[i].branches}
        next_to = [i for i in sorted(targets & body - region) if {*self.predecessors[i]} <= region]
        return [i for i in next_to if any(b.target not in body for b in self.blocks[i].branches)]

    def _is_mere_test(self, index: int) -> bool:
        """Return whether no other block uses a block's results."""
        own = {s.variable for s in self.blocks[index].statements}
        return not self.blocks[index].arguments and not own & self._used_outside({index}, ())

    def _used_outside(self, region: set[int], but: Iterable[ir.Branch]) -> set[ir.Atom]:
        """Return the atoms used outside some blocks, and by branches out of them but some."""
        skipped = set(map(id, but))
        used: set[ir.Atom] = set()
        for index, block in enumerate(self.blocks):
            outside = index not in region
            used.update([atom for s in block.statements if outside for atom in s.call.atoms])
            for exit_ in block.exits:
                if id(exit_) not in skipped:
                    used.update(exit_.atoms if outside else exit_.args)
        return used


def gone_through(program: ir.IR) -> set[ir.Atom]:
    """Return the variables that the ``for`` loops of a program iterate over."""
    return {s.variable for s in program.statements if s.function is runtime.items_of}


def counting(block: ir.Block, snapshots: Container[ir.Atom]) -> Counting | None:
    """Return the counter of a loop's first block, if the loop iterates over a snapshot."""
    match block:
        case ir.Block(
            statements=(length, test), exits=(ir.Branch() as out, ir.Branch() as inside)
        ) if length.function is len and test.function is operator.lt:
            (items,), (counter, limit) = length.call.args, test.call.args
            counts = limit is length.variable and out.unless is test.variable
            if counts and items in snapshots and counter in block.arguments:
                assert isinstance(items, ir.Variable), "a snapshot is one"
                return Counting(items, block.arguments.index(counter), out, inside)
    return None


def _collecting_variables(program: ir.IR) -> set[ir.Atom]:
    """Return the variables whose values become lists and dicts at the ends of comprehensions."""
    branches = [branch for block in program.blocks for branch in block.branches]
    passed = [pair for branch in branches for pair in program.passed(branch)]
    variables = {s.call.args[0] for s in program.statements if s.function is runtime.collected}
    while more := {a for p, a in passed if p in variables} - variables:
        variables |= more
    return variables
