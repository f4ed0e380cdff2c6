"""Programs as Python functions: their calls as expressions, their blocks as statements."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import attrs

from tinyjax._base import pycode
from tinyjax._base.pycode import Expression, Name, StatementNode
from tinyjax.source.ir import analysis, program as ir, runtime
from tinyjax.source.ir.syntax import INFIX, PREFIX
from tinyjax.source.text.names import (
    STACK,
    Annotations,
    Coalescing,
    Conventions,
    Names,
    choose_inlined,
    taken_items,
)

# Calls as Python expressions.


@attrs.frozen(eq=False)
class ExpressionWriter:
    """The expressions of one program.

    Attributes:
        names: of the text.
        called: the names of variables.
        inlined: the calls of variables without a name, which are inlined where they are used.
    """

    names: Names
    called: dict[ir.Variable, str]
    inlined: dict[ir.Variable, ir.Call]

    def atom(self, atom: ir.Atom) -> Expression:
        """Write a value."""
        if isinstance(atom, ir.Constant):
            return self.names.constant(atom)
        call = self.inlined.get(atom)
        return Name(self.called[atom]) if call is None else self.call(call)

    def call(self, call: ir.Call) -> Expression:
        """Write a call."""
        call = self._shown(call)
        args = [self.atom(x) for x in call.args]
        if ir.value_of(call.function) is operator.getitem:
            args[1] = self._subscript(call.args[1])
        function = pycode.NONE if is_syntax(call) else self.atom(call.function)
        return ir.as_expression(call, function, args, [self.atom(x) for _, x in call.keywords])

    def item(self, call: ir.Call) -> Expression:
        """Write the item of an array that a call writes to."""
        return pycode.Subscript(self.atom(call.args[0]), self._subscript(call.args[1]))

    def _shown(self, call: ir.Call) -> ir.Call:
        """Return the call to print: a loop over a range iterates over the range itself."""
        if ir.value_of(call.function) is runtime.items_of and isinstance(call.args[0], ir.Variable):
            inlined_call = self.inlined.get(call.args[0])
            if inlined_call is not None and ir.value_of(inlined_call.function) is range:
                return inlined_call
        return call

    def _subscript(self, atom: ir.Atom) -> Expression:
        """Write an index: slices with colons."""
        call = self.inlined.get(atom) if isinstance(atom, ir.Variable) else None
        if call is None or ir.value_of(call.function) is not slice:
            return self.atom(atom)
        return pycode.Slice(tuple([self.atom(x) for x in call.args]))


def is_syntax(call: ir.Call) -> bool:
    """Return whether a call is printed without the name of its function."""
    function = ir.value_of(call.function)
    displays = (operator.getitem, runtime.make_tuple, runtime.make_list)
    is_operation = function in INFIX or function in PREFIX
    return is_operation or ir.is_attribute(call) or function in displays


# Programs as Python functions: blocks as ``if`` and ``while`` statements.
#
# A program whose branches cross otherwise is emitted as a loop that goes to the block whose number
# a variable holds.


#: The maximal nesting of blocks: Python accepts 20 nested loops.
_DEEPEST: Final = 15
#: Holds the number of the block that comes next.
LABEL: Final = "block"

#: The block after which a program goes on, and the header and the exit of the loop around.
Follow = int | None
Around = tuple[int, int | None] | None


class NotStructuredError(Exception):
    """The blocks of a program are not those of ``if`` and ``while`` statements."""


class Text:
    """The text of one program."""

    def __init__(self, program: ir.IR, names: Names, conventions: Conventions) -> None:
        self.ir: ir.IR = program
        self.conventions = conventions
        self.code: list[StatementNode] = []
        self.depth: int = 1
        self.predecessors: list[list[int]] = analysis.predecessors(program.blocks)
        self.dominating: list[set[int]] = analysis.dominators(program.blocks)
        self.loops: dict[int, frozenset[int]] = analysis.natural_loops(program.blocks)
        self.order: list[int] = analysis.reverse_postorder(program.blocks)
        self.merges: dict[int, list[int]] = self._merges()
        self.labels: list[int] = []
        self._reserve(names)
        inlined = choose_inlined(program, conventions)
        self.coalescing: Coalescing = Coalescing(program, inlined, conventions)
        self.called: dict[ir.Variable, str] = self.coalescing.names(names)
        self.expressions: ExpressionWriter = ExpressionWriter(names, self.called, inlined)

    def _reserve(self, names: Names) -> None:
        """Let constants have their names before variables do."""
        for statement in self.ir.statements:
            call = statement.call
            is_stored = statement.function in (operator.setitem, runtime.increased)
            for atom in call.atoms[1:] if is_stored or is_syntax(call) else call.atoms:
                if isinstance(atom, ir.Constant):
                    names.constant(atom)

    def function(self, annotations: Annotations | None) -> pycode.FunctionDefinition:
        """Write the whole."""
        parameters = tuple([self.called[v] for v in self.ir.blocks[0].arguments])
        try:
            self.structured(0, None, None)
        except NotStructuredError:
            self.code, self.depth = [], 1
            self.dispatched()
        if annotations is None:
            return pycode.FunctionDefinition(self.ir.name, parameters, self.code)
        types, undeclared = annotations.of_names(self.called)
        undeclared -= {*parameters}
        if self.labels:  # what comes first in the text need not come first
            first = [name for name in types if name in undeclared]
            body = [*[pycode.Assign(Name(name), None, types[name]) for name in first], *self.code]
        else:
            body = _declared(self.code, types, undeclared)
        typed = tuple([f"{name}: {types[name]}" for name in parameters])
        return pycode.FunctionDefinition(self.ir.name, typed, body, annotations.result)

    def block(self, write: Callable[[], bool]) -> tuple[list[StatementNode], bool]:
        """Write statements one level deeper; return whether control falls through."""
        outer, self.code = self.code, []
        self.depth += 1
        falls = write()
        self.depth -= 1
        inner, self.code = self.code, outer
        return inner, falls

    # Statements

    def put(self, target: str | Sequence[str], value: Expression, origin: int = 0) -> None:
        """Write an assignment to a name, or to several."""
        names = Name(target) if isinstance(target, str) else pycode.tuple_of(map(Name, target))
        self.code.append(pycode.Assign(names, value, origin=origin))

    def statements(self, block: ir.Block) -> None:
        statements = [s for s in block.statements if s.variable not in self.expressions.inlined]
        i = 0
        while i < len(statements):
            count = self._taken_apart(statements, i) or self._unpacked(statements, i)
            if count:
                i += count
                continue
            v, line = statements[i].variable, statements[i].line
            if self._stored(statements[i]):
                i += 1
                continue
            value = self.expressions.call(statements[i].call)
            if v in self.coalescing.unused:
                self.code.append(pycode.evaluated(value, line))
            else:
                self.put(self.called[v], value, line)
            i += 1

    def _stored(self, statement: ir.Statement) -> bool:
        """Write an assignment to an item, if a statement is one."""
        function, call = statement.function, statement.call
        if function not in (operator.setitem, runtime.increased):
            return False
        if statement.variable not in self.coalescing.unused:
            return False
        item = self.expressions.item(call)
        value = self.expressions.atom(call.args[2])
        if function is runtime.increased:
            self.code.append(pycode.AugmentedAssignment(item, value, statement.line))
        else:
            self.code.append(pycode.Assign(item, value, origin=statement.line))
        return True

    def _taken_apart(self, statements: list[ir.Statement], start: int) -> int:
        """Write the unpacking of a stack, if it begins here; return the number of its statements.

        A block does so at once, to its last item.
        """
        source = statements[start].call.args[0] if statements[start].call.args else None
        if not isinstance(source, ir.Variable) or source.name != STACK:
            return 0
        items = taken_items(statements[start:], source)
        if items:
            names = [self.called[v] for _, v in items]
            self.put(["_"] * items[0][0] + names, self.expressions.atom(source))
        return len(items)

    def _unpacked(self, statements: list[ir.Statement], start: int) -> int:
        """Write a call whose items are used and nothing else, if one is here."""
        whole = statements[start]
        if whole.variable not in self.coalescing.apart:
            return 0
        first, count = self.coalescing.apart[whole.variable]
        names = [self.called[s.variable] for s in statements[start + 1 : start + 1 + count]]
        value = self.expressions.call(whole.call)
        if count == 1:
            self.put(names[0], pycode.Subscript(value, pycode.value(first)), whole.line)
        else:
            if self.conventions.count(whole.call) != first + count:
                taken = pycode.Slice((pycode.NONE, pycode.value(first + count)))
                value = pycode.Subscript(value, taken)
            self.put(["_"] * first + names, value, whole.line)
        return 1 + count

    def assign(self, branch: ir.Branch) -> None:
        """Give the parameters of a block their values."""
        passed = [(self.called[p], atom) for p, atom in self.ir.passed(branch)]
        values = {name: self.expressions.atom(atom) for name, atom in passed}
        pairs = [(name, atom) for name, atom in passed if values[name].text() != name]
        reads = {name: self._read(atom) for name, atom in pairs}
        free = True
        while pairs and free:
            free = False
            for name, atom in pairs:  # first those whose name no other value needs
                if not any(name in reads[other] for other, _ in pairs if other != name):
                    self.put(name, values[name])
                    pairs.remove((name, atom))
                    free = True
                    break
        if pairs:
            names = [name for name, _ in pairs]
            self.put(names, pycode.tuple_of([values[name] for name in names]))

    def _read(self, atom: ir.Atom) -> set[str]:
        """Return the names in the expression of an atom."""
        variables = [atom] if isinstance(atom, ir.Variable) else []
        return {self.called[v] for v in self.coalescing.used(variables)}

    # Structured programs

    def _merges(self) -> dict[int, list[int]]:
        """By block, those where paths meet that all go through it, and through no later one."""
        merges: dict[int, list[int]] = {}
        for index, before in enumerate(self.predecessors):
            if len(before) > 1 and len(self._entries(index)) > 1:
                above = self.dominating[index] - {index}
                nearest = max(above, key=lambda i: len(self.dominating[i]))
                merges.setdefault(nearest, []).append(index)
        return {index: sorted(blocks, key=self.order.index) for index, blocks in merges.items()}

    def _entries(self, index: int) -> list[int]:
        """Return the blocks that lead to a block, but for those that repeat its loop."""
        return [p for p in self.predecessors[index] if index not in self.dominating[p]]

    def structured(self, index: int, follow: Follow, loop: Around) -> bool:
        """Write a block and those it dominates; return whether control falls through."""
        if self.depth > _DEEPEST:
            raise NotStructuredError
        merges = self.merges.get(index, [])
        inside = self.loops.get(index)
        if inside is None:
            return self._sequence(index, merges, follow, loop)
        after = [m for m in merges if m not in inside]
        within = [m for m in merges if m in inside]
        exits = [b.target for b in self.ir.blocks[index].branches if b.target not in inside]
        if not after and exits and exits[0] != follow:
            after = exits
        out = after[0] if after else follow
        body, _ = self.block(lambda: self._sequence(index, within, index, (index, out)))
        self.code.append(_loop(body))
        return self._rest(after, follow, loop) if after else out is not None

    def _sequence(self, index: int, merges: list[int], follow: Follow, loop: Around) -> bool:
        falls = self.content(index, merges[0] if merges else follow, loop)
        return self._rest(merges, follow, loop) if merges else falls

    def _rest(self, blocks: list[int], follow: Follow, loop: Around) -> bool:
        falls = True
        for i, block in enumerate(blocks):
            falls = self.structured(block, blocks[i + 1] if i + 1 < len(blocks) else follow, loop)
        return falls

    def content(self, index: int, follow: Follow, loop: Around) -> bool:
        block = self.ir.blocks[index]
        self.statements(block)
        last = block.exits[-1]
        if last.target == ir.RETURN:
            self.code.append(pycode.returned(self.expressions.atom(last.args[0])))
            return False
        first = block.exits[0]
        if first.unless is not None:
            return self.choice(first.unless, last, first, follow, loop)
        return self.jump(last, follow, loop)

    def choice(
        self, condition: ir.Atom, yes: ir.Branch, no: ir.Branch, follow: Follow, loop: Around
    ) -> bool:
        then, falls_then = self.block(lambda: self.jump(yes, follow, loop))
        otherwise, falls_otherwise = self.block(lambda: self.jump(no, follow, loop))
        test = self.expressions.atom(condition)
        if otherwise and (not then or (falls_then and not falls_otherwise)):
            self.code += [pycode.If(pycode.negated(test), otherwise), *then]
        elif falls_then:
            self.code.append(pycode.If(test, then or [pycode.PASS], otherwise))
        else:
            self.code += [pycode.If(test, then), *otherwise]
        return falls_then or falls_otherwise

    def jump(self, branch: ir.Branch, follow: Follow, loop: Around) -> bool:
        self.assign(branch)
        target = branch.target
        if self.labels:
            return self.go_to(target)
        if target == follow:
            return True
        if loop is not None and target in loop:
            self.code.append(pycode.CONTINUE if target == loop[0] else pycode.BREAK)
            return False
        if len(self.predecessors[target]) == 1 or len(self._entries(target)) == 1:
            return self.structured(target, follow, loop)
        raise NotStructuredError

    # Programs of any other form

    def dispatched(self) -> None:
        """Write the blocks that several others lead to under their numbers."""
        self.labels = [i for i in range(len(self.ir.blocks)) if len(self.predecessors[i]) > 1]
        self.content(0, None, None)
        self.depth += 1
        # while these are emitted, there may become more
        bodies = [self.block(partial(self.content, i, None, None))[0] for i in self.labels]
        self.depth -= 1
        chain: list[StatementNode] = []
        for label, body in zip(reversed(self.labels), reversed(bodies), strict=True):
            test = Name(LABEL).binary("==", pycode.value(label + 1))
            chain = [pycode.If(test, body, chain)]
        self.code.append(pycode.While(_TRUE, chain))

    def go_to(self, target: int) -> bool:
        """Write the next block, or a jump to it; return whether control falls through."""
        if len(self.predecessors[target]) == 1 and self.depth <= _DEEPEST:
            return self.content(target, None, None)
        self.put(LABEL, pycode.value(target + 1))
        if target not in self.labels:
            self.labels.append(target)
        return True


_TRUE: Final = pycode.value(True)


def _loop(body: list[StatementNode]) -> pycode.While:
    """Write a loop; one that begins with the test whether to leave it begins with that."""
    match body:
        case [
            pycode.If(pycode.OperatorExpression("not " | "==") as test, [pycode.BREAK], []),
            *rest,
        ]:
            return pycode.While(pycode.negated(test), rest or [pycode.PASS])
        case _:
            return pycode.While(_TRUE, body)


def _declared(
    code: pycode.Block, types: dict[str, str], undeclared: set[str]
) -> list[StatementNode]:
    """Annotate names where they are first assigned."""
    declared: list[StatementNode] = []
    for statement in code:
        match statement:
            case pycode.If(test, body, orelse):
                then = _declared(body, types, undeclared)
                declared.append(pycode.If(test, then, _declared(orelse, types, undeclared)))
            case pycode.While(test, body):
                declared.append(pycode.While(test, _declared(body, types, undeclared)))
            case pycode.Assign(Name(name)) if name in undeclared:
                undeclared.remove(name)
                declared.append(attrs.evolve(statement, annotation=types[name]))
            case pycode.Assign(target):
                new = [name for name in target.names() if name in undeclared]
                undeclared.difference_update(new)
                declared += [pycode.Assign(Name(name), None, types[name]) for name in new]
                declared.append(statement)
            case _:
                declared.append(statement)
    return declared


def write(
    program: ir.IR,
    scope: Callable[[str], Any],
    namespace: dict[str, Any],
    conventions: Conventions,
    annotations: Annotations | None = None,
) -> tuple[str, dict[str, Any], dict[int, int]]:
    """Write a program as Python; return also the names in its text, and its lines' origins."""
    names = Names(scope)
    names.namespace.update(namespace)
    names.used_names |= {program.name, LABEL}
    function = Text(program, names, conventions).function(annotations)
    lines = pycode.printed([function], pycode.WIDTH)
    return str(lines), names.namespace, lines.origins
