"""From programs in static single assignment form back to Python.

Where the blocks are those of ``if`` and ``while`` statements they are written so; a program whose
branches cross otherwise is written as a loop that goes to the block whose number a variable holds.
A value that is used once, and that the user has no name for, is written where it is used.
"""

from __future__ import annotations

import builtins
import keyword
import math
import operator
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, Final

import attrs
import numpy as np

from tinyjax.source import runtime
from tinyjax.source.adjoint import STACK, Adjoint
from tinyjax.source.ir import (
    IR,
    Atom,
    Block,
    Branch,
    Call,
    Constant,
    Return,
    Statement,
    Variable,
    predecessors,
)
from tinyjax.source.origins import Origin, write_function
from tinyjax.source.printing import INFIX, PREFIX, show_call
from tinyjax.source.rules import rule_of
from tinyjax.source.verify import dominators

_STANDARD: Final[dict[str, ModuleType]] = {"math": math, "np": np, "operator": operator}
#: How deeply blocks are written into blocks: Python takes 20 loops in each other.
_DEEPEST: Final = 15


class NotStructuredError(Exception):
    """The blocks of a program are not those of ``if`` and ``while`` statements."""


class Names:
    """The names of a text, and what those are that it does not define itself."""

    def __init__(self, scope: Callable[[str], Any]) -> None:
        self.scope = scope
        self.namespace: dict[str, Any] = {}
        self.taken: set[str] = set()

    def fresh(self, wanted: str) -> str:
        name, count = wanted, 0
        while (
            name in self.taken
            or name in self.namespace
            or keyword.iskeyword(name)
            or hasattr(builtins, name)
        ):
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name

    def constant(self, constant: Constant) -> str:
        """How a constant is written."""
        value = constant.value
        if _is_literal(value):
            return repr(value)
        root, *rest = constant.text.split(".")
        for found in (self.namespace.get(root), self.scope(root), _STANDARD.get(root)):
            if found is not None and _follow(found, rest) is value and self._free(root, found):
                if not (hasattr(builtins, root) and getattr(builtins, root) is found):
                    self.namespace[root] = found
                return constant.text
        own = "".join(c if c.isalnum() or c == "_" else "_" for c in constant.text).strip("_")
        own = own if own.isidentifier() else "constant"
        for name, found in self.namespace.items():
            if found is value:
                return name
        if not self._free(own, value):
            own = self.fresh(own)
        self.namespace[own] = value
        return own

    def _free(self, name: str, value: Any) -> bool:
        if name in self.taken or not name.isidentifier() or keyword.iskeyword(name):
            return False
        if name in self.namespace:
            return self.namespace[name] is value
        return not hasattr(builtins, name) or getattr(builtins, name) is value


def _is_literal(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_is_literal(item) for item in value) and type(value) is tuple
    if isinstance(value, float):
        return type(value) is float and math.isfinite(value)
    return type(value) in (int, str, bytes, bool, type(None)) or value is Ellipsis


def _follow(value: Any, names: list[str]) -> Any:
    for name in names:
        value = getattr(value, name, None)
    return value


class Text:
    """The text of one program."""

    def __init__(self, ir: IR, names: Names, parameters: int) -> None:
        self.ir = ir
        self.names = names
        self.lines: list[str] = []
        self.depth = 1
        self.parameters = parameters
        self.before = predecessors(ir.blocks)
        self.dominating = dominators(ir.blocks)
        self.order = _order(ir.blocks)
        self.labels: list[int] = []
        self.called: dict[Variable, str] = {}
        self.inlined: dict[Variable, Call] = {}
        self._reserve()
        self._choose_inlined()
        for block in ir.blocks:
            for variable in (*block.parameters, *[s.variable for s in block.statements]):
                if variable not in self.inlined:
                    self.called[variable] = names.fresh((variable.name or "v").lstrip("."))

    def _reserve(self) -> None:
        """Let constants have their names before variables do."""
        for block in self.ir.blocks:
            for statement in block.statements:
                call = statement.call
                for atom in call.atoms[1:] if _is_syntax(call) else call.atoms:
                    if isinstance(atom, Constant):
                        self.names.constant(atom)

    def _choose_inlined(self) -> None:
        uses: dict[Variable, int] = {}
        for block in self.ir.blocks:
            for atom in _atoms(block):
                if isinstance(atom, Variable):
                    uses[atom] = uses.get(atom, 0) + 1
        for block in self.ir.blocks:
            here = {s.variable for s in block.statements}
            used_here: dict[Variable, int] = {}
            for atom in _atoms(block):
                if isinstance(atom, Variable):
                    used_here[atom] = used_here.get(atom, 0) + 1
            for statement in block.statements:
                v = statement.variable
                if (
                    v in here
                    and v.name in (None, STACK)
                    and uses.get(v) == 1
                    and used_here.get(v) == 1
                    and _is_pure(statement.call)
                    and not _reads_stack(statement.call)
                ):
                    self.inlined[v] = statement.call

    # Expressions

    def atom(self, atom: Atom, binding: float = 0) -> str:
        """Write a value, in parentheses unless it binds at least as tightly as it has to."""
        if isinstance(atom, Constant):
            text = self.names.constant(atom)
            return f"({text})" if text.startswith("-") and binding else text
        if atom in self.inlined:
            call = self.inlined[atom]
            text = self.call(call)
            return f"({text})" if _precedence(call) < binding else text
        return self.called[atom]

    def call(self, call: Call) -> str:
        function = call.function.value if isinstance(call.function, Constant) else None
        if function is operator.getitem and isinstance(call.args[1], Variable):
            index = self.inlined.get(call.args[1])
            if index is not None and _value(index.function) is slice:
                return f"{self.atom(call.args[0], _TIGHT)}[{self._slice(index)}]"
        if _is_operation(call):
            own = _precedence(call)
            closer = own + 0.5
            left, right = (closer, own) if function is operator.pow else (own, closer)
            if own <= _COMPARISON:  # comparisons would become a chain
                left = closer
            args = [self.atom(a, left if i == 0 else right) for i, a in enumerate(call.args)]
        else:
            base = function is operator.getitem or function is runtime.attribute
            args = [self.atom(a, _TIGHT if base and i == 0 else 0) for i, a in enumerate(call.args)]
        return show_call(
            call,
            args,
            "" if _is_syntax(call) else self.atom(call.function, _TIGHT),
            [self.atom(value) for _, value in call.keywords],
        )

    def _slice(self, call: Call) -> str:
        parts = [
            "" if _value(a) is None and isinstance(a, Constant) else self.atom(a) for a in call.args
        ]
        return f"{parts[0]}:{parts[1]}" + (f":{parts[2]}" if parts[2] else "")

    # Statements

    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def definition(self) -> str:
        first = self.ir.blocks[0].parameters
        given = ", ".join(f"{self.called[v]}: Any" for v in first)
        try:
            self.structured(0, None, None)
        except NotStructuredError:
            self.lines, self.depth = [], 1
            self.dispatched()
        body = "\n".join(self.lines)
        return f"def {self.ir.name}({given}) -> Any:\n{body}\n"

    def statements(self, block: Block) -> None:
        statements = [s for s in block.statements if s.variable not in self.inlined]
        i = 0
        while i < len(statements):
            unpacked = self._unpacking(statements, i)
            if unpacked > 1:
                source = statements[i].call.args[0]
                targets = ", ".join(self.called[s.variable] for s in statements[i : i + unpacked])
                start = _value(statements[i].call.args[1])
                prefix = "_, " * start
                self.put(f"{prefix}{targets} = {self.atom(source)}")
                i += unpacked
                continue
            statement = statements[i]
            mark = f"{_MARK}{statement.line}" if statement.line else ""
            self.put(f"{self.called[statement.variable]} = {self.call(statement.call)}{mark}")
            i += 1

    def _unpacking(self, statements: list[Statement], start: int) -> int:
        """How many statements from here on take a stack or a pair apart from its first item."""
        opening = statements[start].call
        source = opening.args[0] if opening.args else None
        if not isinstance(source, Variable) or source.name != STACK:
            return 0
        count, first = 0, 0
        for statement in statements[start:]:
            call = statement.call
            if _value(call.function) is not operator.getitem or call.args[0] is not source:
                break
            index = _value(call.args[1])
            if not isinstance(index, int) or (count and index != first + count):
                break
            if not count:
                first = index
            count += 1
        return count if count and self._frame_size(source) == first + count else 0

    def _frame_size(self, source: Variable) -> int:
        """The length of what a reverse block takes from the stack."""
        indices = [
            _value(s.call.args[1])
            for b in self.ir.blocks
            for s in b.statements
            if _value(s.call.function) is operator.getitem and s.call.args[0] is source
        ]
        return 1 + int(max(indices))

    def assign(self, branch: Branch) -> None:
        """Give the parameters of a block their values."""
        pairs = [
            (self.called[p], self.atom(a))
            for p, a in zip(self.ir.blocks[branch.target].parameters, branch.args, strict=True)
        ]
        pairs = [(p, a) for p, a in pairs if p != a]
        if pairs:
            names = ", ".join(p for p, _ in pairs)
            self.put(f"{names} = {', '.join(a for _, a in pairs)}")

    # Structured programs

    def is_head(self, index: int) -> bool:
        return any(index in self.dominating[p] for p in self.before[index])

    def inside(self, head: int) -> set[int]:
        """The blocks of the loop that begins with a block."""
        found = {head}
        todo = [p for p in self.before[head] if head in self.dominating[p]]
        while todo:
            index = todo.pop()
            if index not in found:
                found.add(index)
                todo += self.before[index]
        return found

    def merges(self, index: int) -> list[int]:
        """The blocks where paths meet that all go through a block, and through no later one."""
        return [
            other
            for other in range(len(self.ir.blocks))
            if other != index
            and len([p for p in self.before[other] if other not in self.dominating[p]]) > 1
            and self._immediate(other) == index
        ]

    def _immediate(self, index: int) -> int:
        above = self.dominating[index] - {index}
        return max(above, key=lambda i: len(self.dominating[i]))

    def structured(
        self, index: int, follow: int | None, loop: tuple[int, int | None] | None
    ) -> bool:
        """Write a block and those it dominates; say whether it goes on behind what is written."""
        if self.depth > _DEEPEST:
            raise NotStructuredError
        merges = self._ordered(self.merges(index))
        if not self.is_head(index):
            return self._sequence(index, merges, follow, loop)
        inside = self.inside(index)
        if any(
            i not in inside and self.before[i] and index not in self.dominating[i] for i in inside
        ):
            raise NotStructuredError
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
        if not after:
            return out is not None
        return self._rest(after, follow, loop)

    def _say_while(self, start: int) -> None:
        """Let a loop that begins with the test whether to leave it begin with that."""
        indent = "    " * self.depth
        opening = f"{indent}if not "
        first, second, *_ = [*self.lines[start : start + 2], "", ""]
        if first.startswith(opening) and second == f"{indent}    break":
            condition = first.removeprefix(opening).removesuffix(":")
            self.lines[start - 1 : start + 2] = [f"{indent[4:]}while {condition}:"]
            if len(self.lines) == start:
                self.put("pass")

    def _ordered(self, blocks: list[int]) -> list[int]:
        """Blocks in an order in which none is before one that leads to it."""
        return sorted(blocks, key=self.order.index)

    def _sequence(
        self,
        index: int,
        merges: list[int],
        follow: int | None,
        loop: tuple[int, int | None] | None,
    ) -> bool:
        falls = self.content(index, merges[0] if merges else follow, loop)
        return self._rest(merges, follow, loop) if merges else falls

    def _rest(
        self, blocks: list[int], follow: int | None, loop: tuple[int, int | None] | None
    ) -> bool:
        falls = True
        for i, block in enumerate(blocks):
            falls = self.structured(block, blocks[i + 1] if i + 1 < len(blocks) else follow, loop)
        return falls

    def content(self, index: int, follow: int | None, loop: tuple[int, int | None] | None) -> bool:
        block = self.ir.blocks[index]
        self.statements(block)
        last = block.exits[-1]
        if isinstance(last, Return):
            self.put(f"return {self.atom(last.value)}")
            return False
        first = block.exits[0]
        if isinstance(first, Branch) and first.unless is not None:
            return self.choice(first.unless, last, first, follow, loop)
        return self.jump(last, follow, loop)

    def choice(
        self,
        condition: Atom,
        yes: Branch,
        no: Branch,
        follow: int | None,
        loop: tuple[int, int | None] | None,
    ) -> bool:
        then, falls_then = self.indented(yes, follow, loop)
        otherwise, falls_otherwise = self.indented(no, follow, loop)
        test = self.atom(condition)
        if otherwise and (not then or (falls_then and not falls_otherwise)):
            self.put(f"if {self._negated(condition)}:")
            self.lines += otherwise
            if falls_otherwise:
                return True
            self.lines += [line.removeprefix("    ") for line in then]
            return falls_then
        self.put(f"if {test}:")
        self.lines += then or ["    " * (self.depth + 1) + "pass"]
        if otherwise and not falls_then:
            self.lines += [line.removeprefix("    ") for line in otherwise]
        elif otherwise:
            self.put("else:")
            self.lines += otherwise
        return falls_then or falls_otherwise

    def _negated(self, condition: Atom) -> str:
        call = self.inlined.get(condition) if isinstance(condition, Variable) else None
        if call is not None and _value(call.function) is operator.eq:
            return self.call(attrs.evolve(call, function=Constant(operator.ne, "operator.ne")))
        return f"not {self.atom(condition, _COMPARISON)}"

    def indented(
        self, branch: Branch, follow: int | None, loop: tuple[int, int | None] | None
    ) -> tuple[list[str], bool]:
        outer, self.lines = self.lines, []
        self.depth += 1
        falls = self.jump(branch, follow, loop)
        self.depth -= 1
        found, self.lines = self.lines, outer
        return found, falls

    def jump(self, branch: Branch, follow: int | None, loop: tuple[int, int | None] | None) -> bool:
        self.assign(branch)
        target = branch.target
        if target == follow:
            return True
        if loop is not None and target == loop[0]:
            self.put("continue")
            return False
        if loop is not None and target == loop[1]:
            self.put("break")
            return False
        if len(self.before[target]) == 1 or (
            self.is_head(target)
            and len([p for p in self.before[target] if target not in self.dominating[p]]) == 1
        ):
            return self.structured(target, follow, loop)
        raise NotStructuredError

    # Programs of any other form

    def dispatched(self) -> None:
        """Write the blocks that several others lead to under their numbers."""
        self.labels = [i for i in range(len(self.ir.blocks)) if len(self.before[i]) > 1]
        self.goto(0)
        self.put("while True:")
        self.depth += 1
        for i, label in enumerate(self.labels):  # which may become more
            self.put(f"{'if' if i == 0 else 'elif'} block == {label + 1}:")
            self.depth += 1
            self.goto(label)
            self.depth -= 1
        self.depth -= 1

    def goto(self, index: int) -> None:
        """Write a block, and those that only it leads to."""
        block = self.ir.blocks[index]
        self.statements(block)
        *conditional, last = block.exits
        for exit_ in conditional:
            assert isinstance(exit_, Branch), "what is conditional is a branch"
            assert exit_.unless is not None, "what is conditional has a condition"
            self.put(f"if {self._negated(exit_.unless)}:")
            self.depth += 1
            self.leave(exit_)
            self.depth -= 1
            self.put("else:")
        self.depth += len(conditional)
        self.leave(last)
        self.depth -= len(conditional)

    def leave(self, exit_: Branch | Return) -> None:
        if isinstance(exit_, Return):
            self.put(f"return {self.atom(exit_.value)}")
            return
        self.assign(exit_)
        if len(self.before[exit_.target]) == 1 and self.depth <= _DEEPEST:
            start = len(self.lines)
            self.goto(exit_.target)
            if len(self.lines) == start:
                self.put("pass")
        else:
            self.put(f"block = {exit_.target + 1}")
            if exit_.target not in self.labels:
                self.labels.append(exit_.target)


def _order(blocks: tuple[Block, ...]) -> list[int]:
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


def _value(atom: Atom) -> Any:
    return atom.value if isinstance(atom, Constant) else None


def _atoms(block: Block) -> list[Atom]:
    atoms: list[Atom] = []
    for statement in block.statements:
        atoms += statement.call.atoms
    for exit_ in block.exits:
        if isinstance(exit_, Return):
            atoms.append(exit_.value)
        else:
            atoms += [*exit_.args, *([] if exit_.unless is None else [exit_.unless])]
    return atoms


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
_TIGHT: Final = len(_LEVELS) + 1


def _precedence(call: Call) -> int:
    """How tightly what a call is written as binds."""
    function = _value(call.function)
    if function in INFIX and len(call.args) == 2:
        return _BINDING[INFIX[function]]
    if function in PREFIX:
        return _BINDING.get(PREFIX[function] if function is operator.not_ else "unary", _TIGHT)
    return _TIGHT


def _is_operation(call: Call) -> bool:
    function = _value(call.function)
    return function in INFIX or function in PREFIX


def _is_syntax(call: Call) -> bool:
    """Whether a call is written without the name of its function."""
    function = _value(call.function)
    return _is_operation(call) or function in (
        operator.getitem, runtime.attribute, runtime.make_tuple, runtime.make_list
    )  # fmt: skip


#: What is computed alike wherever in a block it stands.
_PURE: Final = frozenset(
    (*INFIX, *PREFIX, slice, len, operator.getitem, runtime.make_tuple, runtime.attribute)
)


def _reads_stack(call: Call) -> bool:
    return any(isinstance(a, Variable) and a.name == STACK for a in call.args) and (
        _value(call.function) is operator.getitem
    )


def _is_pure(call: Call) -> bool:
    function = _value(call.function)
    rule = rule_of(function)
    return function in _PURE or (rule is not None and rule.scalar)


#: Stands between a line and the user's line that it came from while a text is written.
_MARK: Final = "\x00"


def write(
    ir: IR, scope: Callable[[str], Any], given: dict[str, Any]
) -> tuple[str, dict[str, Any], dict[int, int]]:
    """Write a program as Python; also give what its text names, and its lines' origins."""
    names = Names(scope)
    names.namespace.update(given)
    names.taken.add(ir.name)
    names.taken.add("block")
    text = Text(ir, names, len(ir.blocks[0].parameters)).definition()
    lines: list[str] = []
    origins: dict[int, int] = {}
    for number, marked in enumerate(text.split("\n"), 1):
        line, _, origin = marked.partition(_MARK)
        lines.append(line)
        if origin:
            origins[number] = int(origin)
    return "\n".join(lines), names.namespace, origins


def compile_adjoint(adjoint: Adjoint, fun: FunctionType) -> tuple[FunctionType, str]:
    """Compile both halves of an adjoint; give the forward one, and the text of both."""

    def scope(name: str) -> Any:
        return fun.__globals__.get(name, getattr(builtins, name, None))

    pullback, names, _ = write(adjoint.pullback, scope, {"Any": Any})
    back = write_function(adjoint.pullback.name, pullback, dict(names))
    patched = _with_pullback(adjoint.forward, adjoint.pullback, back)
    forward, more, lines = write(patched, scope, {"Any": Any, adjoint.pullback.name: back})
    origin = Origin(fun.__code__.co_filename, fun.__code__.co_qualname, lines)
    compiled = write_function(adjoint.forward.name, forward, dict(more), origin)
    text = _imports({**names, **more}, adjoint.pullback.name)
    return compiled, f"{text}\n\n\n{pullback}\n\n{forward}"


def _with_pullback(forward: IR, pullback: IR, back: FunctionType) -> IR:
    """The forward program with the compiled pullback in place of its program."""

    def replace(atom: Atom) -> Atom:
        if isinstance(atom, Constant) and atom.value is pullback:
            return Constant(back, pullback.name)
        return atom

    return IR(
        forward.name,
        forward.function,
        tuple(
            [
                Block(
                    b.parameters,
                    tuple(
                        [Statement(s.variable, s.call.map(replace), s.line) for s in b.statements]
                    ),
                    b.exits,
                )
                for b in forward.blocks
            ]
        ),
        forward.filename,
    )


def _imports(names: dict[str, Any], own: str) -> str:
    """What a text has to import, sorted as import statements are."""
    plain, named = [], []
    for name, value in sorted(names.items()):
        if name == own:
            continue
        if isinstance(value, ModuleType):
            whole = value.__name__
            plain.append(f"import {whole}" if whole == name else f"import {whole} as {name}")
        elif getattr(value, "__module__", None):
            real = getattr(value, "__qualname__", None) or getattr(value, "__name__", name)
            alias = "" if real == name else f" as {name}"
            named.append(f"from {value.__module__.lstrip('_')} import {real}{alias}")
    return "\n".join([*sorted(plain), *sorted(named)])
