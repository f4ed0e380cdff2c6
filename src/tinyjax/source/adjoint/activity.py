"""What is known of a program that is differentiated: active values, and how each call is pulled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from tinyjax.frames import Location
from tinyjax.source.adjoint.counterparts import counterpart
from tinyjax.source.adjoint.kinds import Kind, infer, literal_kind
from tinyjax.source.adjoint.rules.registry import Rule, fits, places, rule_of
from tinyjax.source.ir.analysis import liveness, predecessors
from tinyjax.source.ir.program import IR, Atom, Block, Branch, Call, Constant, Statement, Variable


@attrs.frozen(eq=False)
class Callees:
    """The functions that adjoints call (``pullbacks``).

    Attributes:
        pull: a call with its pullback.
        pull_back: applies a pullback, unless the cotangent is zero.
        guarded: applies a rule, unless the cotangent is zero.
        pullback: makes a pullback of its program and the residuals.
    """

    pull: Callable[..., Any]
    pull_back: Callable[..., Any]
    guarded: Callable[..., Any]
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

    def __init__(self, ir: IR, arguments: tuple[Kind, ...], callees: Callees) -> None:
        self.ir = ir
        self.callees = callees
        self.kinds: dict[Variable, Kind] = infer(ir, arguments)
        self.predecessors: list[list[int]] = predecessors(ir.blocks)
        self.returns: list[int] = [
            i for i, block in enumerate(ir.blocks) if block.returned is not None
        ]
        self.single: bool = len(ir.blocks) == 1
        self.residuals: list[list[Variable]] = [[] for _ in ir.blocks]
        #: The pullbacks of calls, which only the forward program has.
        self._backs: dict[Variable, Variable] = {}
        live = liveness(ir.blocks, self._used, self._used_at_end)
        leaving = [
            out.union(self._used_at_end(block))
            for out, block in zip(live.exit, ir.blocks, strict=True)
        ]
        self.live_in: list[list[Variable]]
        self.live_out: list[list[Variable]]
        self.live_in, self.live_out = (
            [sorted(variables, key=lambda v: v.number) for variables in sets]
            for sets in (live.entry, leaving)
        )

    def kind(self, atom: Atom) -> Kind:
        if isinstance(atom, Variable):
            return self.kinds.get(atom, Kind.INERT)
        return literal_kind(atom.value)

    def active(self, atom: Atom) -> bool:
        return isinstance(atom, Variable) and self.kind(atom).active

    def _active(self, atoms: Iterable[Atom]) -> list[Variable]:
        return [atom for atom in atoms if isinstance(atom, Variable) and self.active(atom)]

    def _used(self, statement: Statement) -> list[Variable]:
        return self._active(statement.call.atoms) if self.active(statement.variable) else []

    def _used_at_end(self, block: Block) -> list[Variable]:
        if block.returned is not None:
            return self._active([block.returned])
        passed = [pair for branch in block.branches for pair in self.ir.passed(branch)]
        return self._active([atom for argument, atom in passed if self.active(argument)])

    def rule(self, call: Call) -> Rule | None:
        """The rule of a call, if its function has one that takes these arguments."""
        if not isinstance(call.function, Constant):
            return None
        fun, names = call.function.value, tuple([name for name, _ in call.keywords])
        rule = rule_of(fun)
        taken = rule is None or fits(fun, len(call.args), names) or counterpart(fun) is None
        return rule if taken else None

    def pulled(self, statement: Statement) -> bool:
        """Whether the forward program keeps the pullback of a call."""
        return self.active(statement.variable) and self.rule(statement.call) is None

    def places(self, statement: Statement) -> tuple[int | None, ...]:
        """Where the rule of a call gives the cotangents of arguments given by keyword."""
        call = statement.call
        here = Location(self.ir.filename, statement.line, self.ir.name)
        names = tuple([name for name, _ in call.keywords])
        return places(statement.function, len(call.args), names, here)

    def back_of(self, variable: Variable) -> Variable:
        """The variable that holds the pullback of the call that defines another one."""
        if variable not in self._backs:
            name = f"back_of_{variable.name}" if variable.name else "back"
            self._backs[variable] = Variable(0, name)
        return self._backs[variable]

    def framed(self, index: int) -> bool:
        """Whether a block has to leave something on the stack: residuals, or that it was there."""
        block = self.ir.blocks[index]
        if self.residuals[index]:
            return True
        if block.returned is not None:
            return len(self.returns) > 1
        return any(len(self.predecessors[branch.target]) > 1 for branch in block.branches)

    def branch_between(self, source: int, target: int) -> Branch:
        """The branch from one block to another."""
        (branch,) = [b for b in self.ir.blocks[source].branches if b.target == target]
        return branch
