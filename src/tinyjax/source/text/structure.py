"""Programs as Python functions: their calls as expressions, their blocks as statements."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from tinyjax.source.ir import analysis, program as ir, runtime
from tinyjax.source.ir.syntax import INFIX, PREFIX
from tinyjax.source.text import layout, names as nm

# Calls as Python expressions.


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

    names: nm.Names
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


# Programs as Python functions: blocks as ``if`` and ``while`` statements.
#
# A program whose branches cross otherwise is written as a loop that goes to the block whose number
# a variable holds.


#: How deeply blocks are written into blocks: Python takes 20 loops in each other.
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

    def __init__(self, program: ir.IR, names: nm.Names, conventions: nm.Conventions) -> None:
        self.ir: ir.IR = program
        self.conventions = conventions
        self.lines: list[layout.Line] = []
        self.depth: int = 1
        self.predecessors: list[list[int]] = analysis.predecessors(program.blocks)
        self.dominating: list[set[int]] = analysis.dominators(program.blocks)
        self.loops: dict[int, frozenset[int]] = analysis.natural_loops(program.blocks)
        self.order: list[int] = analysis.reverse_postorder(program.blocks)
        self.merges: dict[int, list[int]] = self._merges()
        self.labels: list[int] = []
        self._reserve(names)
        inlined = nm.choose_inlined(program, conventions)
        self.coalescing: nm.Coalescing = nm.Coalescing(program, inlined, conventions)
        self.called: dict[ir.Variable, str] = self.coalescing.names(names)
        self.written: ExpressionWriter = ExpressionWriter(names, self.called, inlined)

    def _reserve(self, names: nm.Names) -> None:
        """Let constants have their names before variables do."""
        for statement in self.ir.statements:
            call = statement.call
            for atom in call.atoms[1:] if is_syntax(call) else call.atoms:
                if isinstance(atom, ir.Constant):
                    names.constant(atom)

    def function(self, annotations: nm.Annotations | None) -> list[layout.Line]:
        """Write the whole."""
        first = self.ir.blocks[0].arguments
        try:
            self.structured(0, None, None)
        except NotStructuredError:
            self.lines, self.depth = [], 1
            self.dispatched()
        parameters: list[layout.Doc] = [self.called[v] for v in first]
        if annotations is None:
            head = layout.group(f"def {self.ir.name}(", parameters, "):")
            return [layout.Line(0, head), *self.lines]
        types, undeclared = annotations.of_names(self.called)
        typed = {name: f"{name}: {types[name]}" for name in types}
        parameters = [typed[self.called[v]] for v in first]
        head = layout.group(f"def {self.ir.name}(", parameters, f") -> {annotations.result}:")
        undeclared -= {self.called[v] for v in first}
        lines = [layout.Line(0, head)]
        if self.labels:  # what comes first in the text need not come first
            lines += [layout.Line(1, typed[name]) for name in types if name in undeclared]
            undeclared = set()
        for line in self.lines:
            new = [name for name in line.targets if name in undeclared]
            undeclared.difference_update(new)
            unpacks = isinstance(line.text, layout.Group) and line.text.bare
            if len(line.targets) == 1 and new and not unpacks:
                text = layout.inserted(line.text, len(new[0]), typed[new[0]].removeprefix(new[0]))
                lines.append(attrs.evolve(line, text=text))
            else:
                lines += [*[layout.Line(line.depth, typed[name]) for name in new], line]
        return lines

    # Statements

    def put(self, text: layout.Doc, origin: int = 0, targets: Sequence[str] = ()) -> None:
        self.lines.append(layout.Line(self.depth, text, origin, tuple(targets)))

    def statements(self, block: ir.Block) -> None:
        statements = [s for s in block.statements if s.variable not in self.written.inlined]
        i = 0
        while i < len(statements):
            count = self._taken_apart(statements, i) or self._unpacked(statements, i)
            if count:
                i += count
                continue
            v = statements[i].variable
            names = [] if v in self.coalescing.unused else [self.called[v]]
            prefix = f"{names[0]} = " if names else ""
            self.put(self.written.doc(prefix, statements[i].call), statements[i].line, names)
            i += 1

    def _taken_apart(self, statements: list[ir.Statement], start: int) -> int:
        """Write what takes a stack apart, if that begins here; say how many statements it is.

        A block does so at once, to its last item.
        """
        source = statements[start].call.args[0] if statements[start].call.args else None
        if not isinstance(source, ir.Variable) or source.name != nm.STACK:
            return 0
        items = nm.taken_items(statements[start:], source)
        if items:
            names = [self.called[v] for _, v in items]
            targets = ("_",) * items[0][0] + tuple(names)
            closing = f") = {self.written.atom(source)}"
            self.put(layout.Group("(", targets, closing, bare=True), 0, names)
        return len(items)

    def _unpacked(self, statements: list[ir.Statement], start: int) -> int:
        """Write a call whose items are used and nothing else, if one is here."""
        whole = statements[start]
        if whole.variable not in self.coalescing.apart:
            return 0
        first, count = self.coalescing.apart[whole.variable]
        names = [self.called[s.variable] for s in statements[start + 1 : start + 1 + count]]
        if count == 1:
            text = layout.appended(self.written.doc(f"{names[0]} = ", whole.call), f"[{first}]")
        else:
            targets = ", ".join(["_"] * first + names)
            text = self.written.doc(f"{targets} = ", whole.call)
            if self.conventions.count(whole.call) != first + count:
                text = layout.appended(text, f"[:{first + count}]")
        self.put(text, whole.line, names)
        return 1 + count

    def assign(self, branch: ir.Branch) -> None:
        """Give the parameters of a block their values."""
        passed = [(self.called[p], atom) for p, atom in self.ir.passed(branch)]
        pairs = [(name, atom) for name, atom in passed if self.written.atom(atom) != name]
        reads = {name: self._read(atom) for name, atom in pairs}
        free = True
        while pairs and free:
            free = False
            for name, atom in pairs:  # first those whose name no other value needs
                if not any(name in reads[other] for other, _ in pairs if other != name):
                    self.value(f"{name} = ", atom, [name])
                    pairs.remove((name, atom))
                    free = True
                    break
        if pairs:
            names = [name for name, _ in pairs]
            values = ", ".join([self.written.atom(atom) for _, atom in pairs])
            self.put(f"{', '.join(names)} = {values}", 0, names)

    def value(self, prefix: str, atom: ir.Atom, targets: Sequence[str] = ()) -> None:
        """Write a value behind something, so that it can be broken over lines."""
        call = self.written.inlined.get(atom) if isinstance(atom, ir.Variable) else None
        text = self.written.doc(prefix, call) if call else prefix + self.written.atom(atom)
        self.put(text, 0, targets)

    def _read(self, atom: ir.Atom) -> set[str]:
        """The names that the value of an atom is written with."""
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
        """The blocks that lead to a block, but for those that repeat its loop."""
        return [p for p in self.predecessors[index] if index not in self.dominating[p]]

    def structured(self, index: int, follow: Follow, loop: Around) -> bool:
        """Write a block and those it dominates; say whether it goes on behind what is written."""
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
        self.put("while True:")
        self.depth += 1
        start = len(self.lines)
        self._sequence(index, within, index, (index, out))
        self._say_while(start)
        self.depth -= 1
        return self._rest(after, follow, loop) if after else out is not None

    def _say_while(self, start: int) -> None:
        """Let a loop that begins with the test whether to leave it begin with that."""
        if len(self.lines) < start + 2:
            return
        first, second = self.lines[start : start + 2]
        test = layout.flat(first.text)
        if not test.startswith("if ") or (second.depth, second.text) != (self.depth + 1, "break"):
            return
        condition = test.removeprefix("if ").removesuffix(":")
        if condition.startswith("not "):
            condition = condition.removeprefix("not ")
        elif " == " in condition and condition.count("=") == 2:
            condition = condition.replace(" == ", " != ")
        else:
            return
        self.lines[start - 1 : start + 2] = [layout.Line(self.depth - 1, f"while {condition}:")]
        if len(self.lines) == start:
            self.put("pass")

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
            self.value("return ", last.args[0])
            return False
        first = block.exits[0]
        if first.unless is not None:
            return self.choice(first.unless, last, first, follow, loop)
        return self.jump(last, follow, loop)

    def choice(
        self, condition: ir.Atom, yes: ir.Branch, no: ir.Branch, follow: Follow, loop: Around
    ) -> bool:
        then, falls_then = self.indented(yes, follow, loop)
        otherwise, falls_otherwise = self.indented(no, follow, loop)
        if otherwise and (not then or (falls_then and not falls_otherwise)):
            self.put(f"if {self.written.negated(condition)}:")
            self.lines += otherwise
            if falls_otherwise:
                return True
            self.lines += [line.outwards() for line in then]
            return falls_then
        self.put(f"if {self.written.atom(condition)}:")
        self.lines += then or [layout.Line(self.depth + 1, "pass")]
        if otherwise and not falls_then:
            self.lines += [line.outwards() for line in otherwise]
        elif otherwise and layout.is_chain(otherwise):
            first, *rest = [line.outwards() for line in otherwise]
            self.lines += [attrs.evolve(first, text=f"el{layout.flat(first.text)}"), *rest]
        elif otherwise:
            self.put("else:")
            self.lines += otherwise
        return falls_then or falls_otherwise

    def indented(
        self, branch: ir.Branch, follow: Follow, loop: Around
    ) -> tuple[list[layout.Line], bool]:
        outer, self.lines = self.lines, []
        self.depth += 1
        falls = self.jump(branch, follow, loop)
        self.depth -= 1
        lines, self.lines = self.lines, outer
        return lines, falls

    def jump(self, branch: ir.Branch, follow: Follow, loop: Around) -> bool:
        self.assign(branch)
        target = branch.target
        if self.labels:
            return self.go_to(target)
        if target == follow:
            return True
        if loop is not None and target == loop[0]:
            self.put("continue")
            return False
        if loop is not None and target == loop[1]:
            self.put("break")
            return False
        if len(self.predecessors[target]) == 1 or len(self._entries(target)) == 1:
            return self.structured(target, follow, loop)
        raise NotStructuredError

    # Programs of any other form

    def dispatched(self) -> None:
        """Write the blocks that several others lead to under their numbers."""
        self.labels = [i for i in range(len(self.ir.blocks)) if len(self.predecessors[i]) > 1]
        self.content(0, None, None)
        self.put("while True:")
        self.depth += 1
        for i, label in enumerate(self.labels):  # which may become more
            self.put(f"{'if' if i == 0 else 'elif'} {LABEL} == {label + 1}:")
            self.depth += 1
            self.content(label, None, None)
            self.depth -= 1
        self.depth -= 1

    def go_to(self, target: int) -> bool:
        """Write the block that comes next if only this one leads to it; else say which it is."""
        if len(self.predecessors[target]) == 1 and self.depth <= _DEEPEST:
            return self.content(target, None, None)
        self.put(f"{LABEL} = {target + 1}")
        if target not in self.labels:
            self.labels.append(target)
        return True


def write(
    program: ir.IR,
    scope: Callable[[str], Any],
    namespace: dict[str, Any],
    conventions: nm.Conventions,
    annotations: nm.Annotations | None = None,
) -> tuple[str, dict[str, Any], dict[int, int]]:
    """Write a program as Python; also give what its text names, and its lines' origins."""
    names = nm.Names(scope)
    names.namespace.update(namespace)
    names.taken |= {program.name, LABEL}
    text, origins = layout.rendered(Text(program, names, conventions).function(annotations))
    return text, names.namespace, origins
