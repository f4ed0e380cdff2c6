"""Running programs on traced values: operations on them become part of the traced program.

Statements run in Python, on tracers. Where a condition is traced, both paths are staged up to the
blocks where they meet, and one ``cond`` chooses between them. Where a loop's end is traced, the
loop becomes a ``while_loop`` (``staging.loops``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, Final

import attrs
import numpy as np

from tinyjax._base.frames import PACKAGE_DIRECTORY, Location, Source, is_ours, user_location
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array, operands as opd
from tinyjax.core.values.array import IndexUpdate
from tinyjax.errors import TinyjaxError
from tinyjax.source.adjoint.aliases import Aliases
from tinyjax.source.adjoint.lookups import KeySearch
from tinyjax.source.ir import find, program as ir, runtime
from tinyjax.source.staging import arrays, graph, keys, values
from tinyjax.source.staging.exits import (
    COLLECTED,
    Arrival,
    Outcome,
    StagedPiece,
    choose,
    stage_piece,
)
from tinyjax.source.staging.session import RaisedError, Session, TracedEndError, raised_by

_NOWHERE: Final[frozenset[int]] = frozenset()


class ProgramRun:
    """A run of a function's program.

    Attributes:
        session: the staging that it belongs to.
        ir: the program.
        graph: its graph.
        env: the values of its variables.
        located: whether the function is the user's, so that errors are at its lines.
        aliases: which of its variables share memory, and which arrays it changes in place.
        lookups: what it looks for in what it may have kept, by the results.
    """

    def __init__(
        self,
        session: Session,
        program: ir.IR,
        graph: graph.ControlFlowGraph,
        aliases: Aliases,
        lookups: Mapping[ir.Variable, Sequence[KeySearch]],
    ) -> None:
        self.session = session
        self.lookups = lookups
        self.aliases = aliases
        self.ir = program
        self.graph = graph
        self.env: dict[ir.Variable, Any] = {}
        self.located: bool = not program.filename.startswith(PACKAGE_DIRECTORY)

    # What values are called

    @property
    def function(self) -> FunctionType:
        assert isinstance(self.ir.function, FunctionType), "a program that is run is a function's"
        return self.ir.function

    def location(self, line: int) -> Location:
        return Location(self.ir.filename, line, self.function.__qualname__)

    def name_of(self, block: int, position: int) -> str:
        if block == ir.RETURN:
            return f"what {self.function.__name__} returns"
        variable = self.graph.live_in[block][position]
        if variable in self.graph.collecting:
            return COLLECTED
        return variable.name or "the value chosen"

    def lines_of_sides(self, block: int, position: int, line: int) -> tuple[int, int]:
        if block == ir.RETURN:
            return find.side_lines(self.function.__code__, line, None)
        name = self.graph.live_in[block][position].name
        return (line, line) if name is None else find.side_lines(self.function.__code__, line, name)

    def lines_of_loop(self, block: int, position: int, line: int) -> tuple[int, int]:
        name = self.graph.live_in[block][position].name
        return (0, 0) if name is None else find.loop_lines(self.function.__code__, line, name)

    # Values

    def read(self, atom: ir.Atom) -> Any:
        return self.env[atom] if isinstance(atom, ir.Variable) else atom.value

    def arrival(self, atoms: tuple[ir.Atom, ...]) -> Arrival:
        return tuple([self.read(atom) for atom in atoms])

    def enter(self, block: int, arrival: Arrival) -> None:
        """Assign the parameters of a block, and apply the other changes of an arrival."""
        self.env.update(zip(self.graph.live_in[block], arrival, strict=False))

    def complete(self, block: int, arrival: Arrival) -> Arrival:
        """Add the variables used from a block on, so that it can be run from somewhere else."""
        return (*arrival, *self.arrival(self.graph.live_in[block][len(arrival) :]))

    def aside(self) -> ProgramRun:
        """Return an independent run of the same function that goes on from here."""
        run = ProgramRun(self.session, self.ir, self.graph, self.aliases, self.lookups)
        run.env = {**self.env}
        return run

    def forget(self, blocks: Iterable[int]) -> None:
        """Drop the values that blocks have computed in an abandoned iteration."""
        for index in blocks:
            for variable in self.graph.blocks[index].defined:
                self.env.pop(variable, None)

    # Statements

    def run_statements(self, block: int) -> None:
        before = tr.evaluated_source()
        try:
            for statement in self.graph.blocks[block].statements:
                if self.located:
                    tr.set_evaluated_source(self.source(statement.line))
                self.env[statement.variable] = self.evaluate(statement)
        finally:
            tr.set_evaluated_source(before)

    def source(self, line: int) -> Source:
        return Source(self.function.__code__, _instruction(self.function.__code__, line))

    def evaluate(self, statement: ir.Statement) -> Any:
        call = statement.call
        function = self.read(call.function)
        args = tuple([self.read(arg) for arg in call.args])
        kwargs = {name: self.read(value) for name, value in call.keywords}
        if function is runtime.thrown and self.session.conditions:
            raise raised_by(args[0], self.location(statement.line))
        try:
            if function is runtime.apply:
                function, args, kwargs = args
            layouts = self.session.layouts
            if function is runtime.updated and any(map(layouts.is_own, args)):
                function, args = args[0], args[1:]
            result = self.session.call(function, args, kwargs)
            for lookup in self.lookups.get(statement.variable, ()):
                result = self.as_checked(lookup, result)
            result = layouts.after(function, args, kwargs, result)
            arrays.note_name(function, args, result)
            arrays.note_mask(function, args, result)
            variable = statement.variable
            is_of_tinyjax = isinstance(getattr(function, "__self__", None), IndexUpdate)
            if isinstance(result, Array) and (is_of_tinyjax or variable in self.aliases.own):
                result = layouts.as_own(function, args, kwargs, result)
            if layouts.is_own(result) or variable not in self.aliases.written_variables:
                return result
            if variable in self.aliases.unknown and isinstance(result, np.ndarray):
                return result  # an object that outlives the program may hold the array
            layouts.check_no_view_of_point(function, args, kwargs, result)
            is_new = variable in self.aliases.made or arrays.is_new(function, args)
            return self.as_made(args, result) if is_new else result
        except (RaisedError, TracedEndError, runtime.InPlaceError):
            raise
        except values.NotStagedError as error:
            self.locate(error.reason, statement.line)
            raise
        except Exception as error:
            self.session.error = error
            here, where = self.location(statement.line), _raised_at(error)
            if isinstance(error, TinyjaxError):
                self.locate(error, statement.line)
                raise
            if isinstance(error, (ArithmeticError, LookupError, NameError)):
                where = here
            if self.session.conditions and where is not None:  # as in Python, only if it comes here
                raise raised_by(error, where) from None
            _note(error, here)
            raise

    def as_checked(self, lookup: KeySearch, result: Any) -> Any:
        """Return the result of a search of which no derivative is taken where it finds its key."""
        key, table = self.read(lookup.key), self.read(lookup.table)
        if not isinstance(result, Array) or (lookup.is_part and values.holds_tracer(table)):
            return result
        where = self.location(lookup.statement.line)
        return keys.result_of_search(lookup.statement.function, key, table, result, where)

    def locate(self, error: TinyjaxError, line: int) -> None:
        """Let an error without a line of its own be at one of the function, if it is located."""
        if self.located and error.location in (None, user_location()):
            error.location = self.location(line)

    def as_made(self, args: Sequence[Any], result: Any) -> Any:
        """Return an array that a call has made as one that may be changed in place.

        Raises:
            InPlaceError: an operator that is a method may return an array that its object holds.
        """
        if not self.session.is_cautious and any(map(values.is_object, args)):
            raise runtime.InPlaceError
        return arrays.as_staged(result)

    # Blocks

    def execute(
        self,
        index: int,
        arrival: Arrival,
        stops: frozenset[int] = _NOWHERE,
        *,
        iteration_of: int | None = None,
        inside: bool = False,
    ) -> Outcome:
        """Run from a block on, to the blocks at which to stop and to the end.

        Args:
            index: the first block.
            arrival: the values of its parameters.
            stops: the blocks at which to stop.
            iteration_of: the loop of which this is an iteration in Python.
            inside: whether to run the first block even if it is among the stops.
        """
        while True:
            if not inside and index in stops:
                return Outcome({index: self.complete(index, arrival)})
            if not inside and index in self.graph.loops:
                outcome = self.session.run_loop(self, index, arrival, stops)
            else:
                outcome = self.run_block(index, arrival, stops, iteration_of)
            outcome = self.settle(outcome, stops)
            only = outcome.only
            if only is None or only == ir.RETURN:
                return outcome
            inside, index, arrival = False, only, outcome.arrivals[only]

    def run_block(
        self, index: int, arrival: Arrival, stops: frozenset[int], iteration_of: int | None
    ) -> Outcome:
        """Run a block, and the code that depends on its condition if that is traced."""
        self.enter(index, arrival)
        self.run_statements(index)
        first, *others = self.graph.blocks[index].exits
        if first.unless is None:
            return self.come_to(first)
        (otherwise,) = others
        held = self.truth(first.unless)
        if isinstance(held, bool):
            return self.come_to(otherwise if held else first)
        passed = self.pass_check(held, otherwise, first)
        if passed is not None:
            return self.come_to(passed)
        if iteration_of is not None:
            blocks = self.graph.loops[iteration_of].blocks
            if (first.target in blocks) != (otherwise.target in blocks):
                raise TracedEndError
        until = stops | self.graph.joins(otherwise.target, [first.target], stops)
        sides = (otherwise, first)
        yes, no = [self.piece(b.target, self.arrival(b.args), until) for b in sides]
        return self.choose(held, yes, no, self.graph.line_of(first.unless))

    def come_to(self, branch: ir.Branch) -> Outcome:
        return Outcome({branch.target: self.arrival(branch.args)})

    def follow(self, branch: ir.Branch, stops: frozenset[int], inside: bool = False) -> Outcome:
        """Run from where a branch leads to."""
        return self.execute(branch.target, self.arrival(branch.args), stops, inside=inside)

    def truth(self, condition: ir.Atom) -> bool | Array:
        try:
            return values.truth(arrays.at_now(self.read(condition)))
        except TinyjaxError as error:
            error.location = self.location(self.graph.line_of(condition))
            raise

    def pass_check(self, holds: Array, yes: ir.Branch, no: ir.Branch) -> ir.Branch | None:
        """Turn a condition that only decides on an exception into a check, and go on behind it."""
        for bad, good in ((yes, no), (no, yes)):
            if self.graph.raises(bad.target) and not self.graph.raises(good.target):
                raised = self.exception_of(bad)
                if raised is not None:
                    self.session.check(holds if bad is yes else ew.not_(holds), raised)
                    return good
        return None

    def exception_of(self, branch: ir.Branch) -> RaisedError | None:
        """Return the exception that a block ends with."""
        return self.part(lambda: self.aside().follow(branch, _NOWHERE, inside=True)).raised

    def piece(self, index: int, arrival: Arrival, stops: frozenset[int]) -> StagedPiece:
        """Stage the program from a block on."""
        return self.part(lambda: self.aside().execute(index, arrival, stops))

    def part(self, go_on: Callable[[], Outcome]) -> StagedPiece:
        """Stage a part that may end with an exception."""
        raised: list[RaisedError] = []

        def attempt() -> Outcome:
            managers, buffers = len(self.session.managers), len(self.session.buffers)
            try:
                outcome, changes = go_on(), self.session.changes()
                made = frozenset(self.session.buffers[buffers:])
                return attrs.evolve(outcome, changes=changes, made=made)
            except RaisedError as error:
                self.session.leave_all(managers)
                raised.append(RaisedError(error.message, error.location))  # without its frames
                return Outcome({})

        piece = stage_piece(self.session.conditional(attempt), self.function)
        return attrs.evolve(piece, raised=raised[0] if raised else None)

    def choose(self, pred: Array, yes: StagedPiece, no: StagedPiece, line: int) -> Outcome:
        before = tr.evaluated_source()
        tr.set_evaluated_source(self.source(line))
        self.session.choices += 1
        try:
            if yes.raised is not None:
                self.session.check(pred, yes.raised)
            if no.raised is not None:
                self.session.check(ew.not_(pred), no.raised)
            return choose(pred, yes, no, self, line)
        finally:
            tr.set_evaluated_source(before)

    def settle(self, outcome: Outcome, stops: frozenset[int]) -> Outcome:
        """Run on from the blocks of an outcome until one is left, or all are stops."""
        while outcome.only is None:
            pending = [k for k in outcome.arrivals if k not in stops and k != ir.RETURN]
            if not pending:
                return outcome
            pending.sort(key=self.graph.order.__getitem__)
            key = pending[0]
            others = [k for k in outcome.arrivals if k != key]
            chosen = self.chosen(outcome, key)
            joins = self.graph.joins(key, [k for k in others if k != ir.RETURN], stops)
            until = stops | joins | frozenset(others)
            yes = self.piece(key, outcome.arrivals[key], until)
            if len(others) == len(pending) - 1 == 1:
                no = self.piece(others[0], outcome.arrivals[others[0]], stops | joins)
            else:
                no = self.part(functools.partial(outcome.excluding, key))
            outcome = self.choose(chosen, yes, no, self.graph.first_line(key))
        return outcome

    def resume(self, outcome: Outcome, key: int, go_on: Callable[[], Outcome]) -> Outcome:
        """Go on from one block of an outcome."""
        yes, no = self.part(go_on), self.part(lambda: outcome.excluding(key))
        return self.choose(self.chosen(outcome, key), yes, no, self.graph.first_line(key))

    def chosen(self, outcome: Outcome, key: int) -> Array:
        """Return whether an outcome reaches this block."""
        assert outcome.exit_index is not None, "there are several"
        return ew.eq(outcome.exit_index, opd.as_array(np.int32(key)))


def _raised_at(error: Exception) -> Location | None:
    """Return the user's line where an exception was raised; None if by this package."""
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    if entry is None or is_ours(entry.tb_frame):
        return None
    code = entry.tb_frame.f_code
    return Location(code.co_filename, entry.tb_lineno, code.co_qualname)


def _note(error: Exception, where: Location) -> None:
    """Say where an exception comes from, whose traceback does not show it."""
    if not getattr(error, "__notes__", None):
        error.add_note(f"  at {where}: {where.text}")


@functools.cache
def _instruction(code: CodeType, line: int) -> int:
    starts = [start for start, _, number in code.co_lines() if number == line]
    return starts[0] if starts else 0
