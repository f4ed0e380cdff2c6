"""Python code as a tree: the names that expressions and statements read, and their printing.

Host functions, calls of compiled programs, derivatives from source and jaxprs as text are all
written as such trees. Python's own ``ast`` would take longer: to build and compile its objects
takes 420 us where the text of the same 20 lines takes 350, and debuggers want the text as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import inf
from string import Formatter
from typing import Any, Final, TypeAlias

import attrs

from tinyjax._base.records import fields

#: How wide lines are that people read.
WIDTH: Final = 100
#: How tightly operators bind; negative numbers stand behind sums, but not in products.
_LEVELS: Final[tuple[tuple[str, ...], ...]] = (
    ("if",),
    ("or",),
    ("and",),
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
_BINDING: Final = {text: float(level) for level, texts in enumerate(_LEVELS) for text in texts}
_COMPARISON: Final = _BINDING["=="]
_NEGATIVE: Final = _BINDING["+"] + 0.5
_TIGHT: Final = float(len(_LEVELS))
_ALONE: Final = -1.0
#: Operands that powers stand close to.
_SIMPLE: Final = re.compile(r"-?[\w.]+")
#: So many expressions are put into each other: Python's compiler refuses 200 brackets.
_DEEPEST: Final = 40


@attrs.frozen(eq=False)
class Node:
    """A part of a program: its fields hold others, tuples or lists of others, and texts."""

    def names(self) -> list[str]:
        """Return the names in it, each as often as it is there."""
        names: list[str] = []
        self.collect(names)
        return names

    def collect(self, names: list[str]) -> None:
        """Add the names in it to a list."""
        for name in _inner(type(self)):
            _collect(getattr(self, name), names)

    def replaced(self, substitution: Mapping[str, Expression]) -> Any:
        """Return the same with expressions in place of some names."""
        new = {name: _replaced(getattr(self, name), substitution) for name in _inner(type(self))}
        return attrs.evolve(self, **new)


def _inner(kind: type) -> list[str]:
    """Name the fields of a class that hold other parts."""
    if kind not in _fields:
        some = [field.name for field in fields(kind) if str(field.type) not in ("str", "int")]
        _fields[kind] = some
    return _fields[kind]


_fields: Final[dict[type, list[str]]] = {}


def _collect(field: object, names: list[str]) -> None:
    if isinstance(field, Node):
        field.collect(names)
    elif isinstance(field, (tuple, list)):
        for x in field:
            _collect(x, names)


def _replaced(field: Any, substitution: Mapping[str, Expression]) -> Any:
    if isinstance(field, Node):
        return field.replaced(substitution)
    if isinstance(field, (tuple, list)):
        return tuple([_replaced(x, substitution) for x in field])
    return field


# Expressions


class Expression(Node):
    """An expression."""

    __slots__ = ()

    @property
    def brackets(self) -> Brackets | None:
        """The brackets where a long line is broken, or None."""
        return None

    def text(self, binding: float = 0.0) -> str:
        """Print it on one line, in parentheses unless it binds at least as tightly as this."""
        raise NotImplementedError

    def attr(self, path: str) -> Expression:
        """Read an attribute, or one of an attribute, with points between."""
        expression: Expression = self
        for name in path.split("."):
            expression = Attribute(expression, name)
        return expression

    def call(self, *args: Expression) -> CallExpression:
        """Call it."""
        return CallExpression(self, args)

    def binary(self, operator: str, other: Expression) -> OperatorExpression:
        """Write an operator between it and another expression."""
        return OperatorExpression(operator, (self, other))


#: What opens, the items with what stands before each, and what closes.
Brackets: TypeAlias = tuple[str, Sequence[tuple[str, Expression]], str]


@attrs.frozen(eq=False)
class Name(Expression):
    """A variable, or a value in the scope, perhaps with attributes."""

    name: str

    def collect(self, names: list[str]) -> None:
        names.append(self.name)

    def replaced(self, substitution: Mapping[str, Expression]) -> Expression:
        return substitution.get(self.name, self)

    def text(self, binding: float = 0.0) -> str:
        return self.name


@attrs.frozen(eq=False)
class Literal(Expression):
    """A literal, in its source form."""

    source: str

    def text(self, binding: float = 0.0) -> str:
        is_open = binding > _NEGATIVE and self.source.startswith("-")
        return f"({self.source})" if is_open else self.source


@attrs.frozen(eq=False)
class Attribute(Expression):
    """An attribute of a value."""

    value: Expression
    name: str

    def text(self, binding: float = 0.0) -> str:
        value = self.value.text(_TIGHT)
        return f"({value}).{self.name}" if value.isdecimal() else f"{value}.{self.name}"


@attrs.frozen(eq=False)
class Subscript(Expression):
    """A part of a value."""

    value: Expression
    index: Expression

    def text(self, binding: float = 0.0) -> str:
        match self.index:
            case CollectionDisplay("()", (_, _, *_)):
                index = self.index.bare()
            case _:
                index = self.index.text()
        return f"{self.value.text(_TIGHT)}[{index}]"

    @property
    def brackets(self) -> Brackets | None:
        inner = self.value.brackets
        return inner and (*inner[:2], f"{inner[2]}[{self.index.text()}]")


@attrs.frozen(eq=False)
class Slice(Expression):
    """A slice with colons, in a subscript: start, stop and step, or the first two."""

    bounds: tuple[Expression, ...]

    def text(self, binding: float = 0.0) -> str:
        start, stop, *step = ["" if (t := x.text()) == "None" else t for x in self.bounds]
        return f"{start}:{stop}" + (f":{step[0]}" if step and step[0] else "")


@attrs.frozen(eq=False)
class CallExpression(Expression):
    """A call."""

    function: Expression
    args: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...] = ()

    def collect(self, names: list[str]) -> None:  # most often called, and so is ``replaced``
        self.function.collect(names)
        for x in self.args:
            x.collect(names)
        for _, x in self.keywords:
            x.collect(names)

    def replaced(self, substitution: Mapping[str, Expression]) -> CallExpression:
        args = tuple([x.replaced(substitution) for x in self.args])
        keywords = tuple([(name, x.replaced(substitution)) for name, x in self.keywords])
        return CallExpression(self.function.replaced(substitution), args, keywords)

    def text(self, binding: float = 0.0) -> str:
        items = [x.text() for x in self.args]
        if self.keywords:
            items += [f"{name}={x.text()}" for name, x in self.keywords]
        return f"{self.function.text(_TIGHT)}({', '.join(items)})"

    @property
    def brackets(self) -> Brackets:
        items = [*[("", x) for x in self.args], *[(f"{name}=", x) for name, x in self.keywords]]
        return f"{self.function.text(_TIGHT)}(", items, ")"


@attrs.frozen(eq=False)
class CollectionDisplay(Expression):
    """A tuple, list, or dict of ``Pair``s, by its brackets."""

    kind: str
    items: tuple[Expression, ...]

    def text(self, binding: float = 0.0) -> str:
        return f"{self.kind[0]}{self.bare()}{self.kind[1]}"

    def bare(self) -> str:
        """Print the items alone."""
        comma = "," if len(self.items) == 1 and self.kind == "()" else ""
        return f"{', '.join([x.text() for x in self.items])}{comma}"

    @property
    def brackets(self) -> Brackets:
        return self.kind[0], [("", x) for x in self.items], self.kind[1]


@attrs.frozen(eq=False)
class Pair(Expression):
    """A key and its value, in a dict."""

    key: Expression
    value: Expression

    def text(self, binding: float = 0.0) -> str:
        return f"{self.key.text()}: {self.value.text()}"


@attrs.frozen(eq=False)
class OperatorExpression(Expression):
    """An operator before its operand, or between two; ``and`` and ``or`` between any number."""

    operator: str
    operands: tuple[Expression, ...]

    def text(self, binding: float = 0.0) -> str:
        is_unary = len(self.operands) == 1
        own = _BINDING["unary" if is_unary and self.operator != "not " else self.operator]
        if is_unary:
            text = f"{self.operator}{self.operands[0].text(own)}"
        elif own <= _COMPARISON:  # comparisons would become a chain
            text = f" {self.operator} ".join([x.text(own + 0.5) for x in self.operands])
        else:
            is_power = self.operator == "**"
            left = self.operands[0].text(own + 0.5 if is_power else own)
            right = self.operands[1].text(own if is_power else own + 0.5)
            is_close = is_power and _SIMPLE.fullmatch(left) and _SIMPLE.fullmatch(right)
            text = f"{left}**{right}" if is_close else f"{left} {self.operator} {right}"
        return f"({text})" if own < binding else text


@attrs.frozen(eq=False)
class Conditional(Expression):
    """One of two values."""

    value: Expression
    test: Expression
    other: Expression

    def text(self, binding: float = 0.0) -> str:
        closer = _BINDING["if"] + 0.5
        text = f"{self.value.text(closer)} if {self.test.text(closer)} else {self.other.text()}"
        return f"({text})" if binding >= closer else text


@attrs.frozen(eq=False)
class Template(Expression):
    """A text with braces for its operands, for the NumPy or Python code of primitives."""

    source: str
    operands: tuple[Expression, ...]

    def collect(self, names: list[str]) -> None:
        for i in _places(self.source):
            self.operands[i].collect(names)

    def text(self, binding: float = 0.0) -> str:
        text = self.source.format(*[x.text(_TIGHT) for x in self.operands])
        return text if binding == _ALONE else f"({text})"


@lru_cache(maxsize=1024)
def _places(template: str) -> tuple[int, ...]:
    """Return which operands a template reads, each as often as it stands there."""
    numbers = [field for _, field, *_ in Formatter().parse(template) if field is not None]
    return tuple([int(number) if number else i for i, number in enumerate(numbers)])


NONE: Final = Literal("None")


def value(obj: object) -> Literal:
    """Write a value as it prints itself."""
    return Literal(repr(obj))


def call(function: str, *args: Expression) -> CallExpression:
    """Call a function that the scope holds."""
    return CallExpression(Name(function), args)


def tuple_of(items: Iterable[Expression]) -> CollectionDisplay:
    """Write a tuple."""
    return CollectionDisplay("()", tuple(items))


def list_of(items: Iterable[Expression]) -> CollectionDisplay:
    """Write a list."""
    return CollectionDisplay("[]", tuple(items))


def names(letter: str, numbers: Iterable[int]) -> tuple[Name, ...]:
    """Name a variable for each number."""
    return tuple([Name(f"{letter}{i}") for i in numbers])


def negated(condition: Expression) -> Expression:
    """Write that a condition does not hold."""
    match condition:
        case OperatorExpression("not ", (operand,)):
            return operand
        case OperatorExpression("==", operands):
            return OperatorExpression("!=", operands)
        case _:
            return OperatorExpression("not ", (condition,))


# Statements


class StatementNode(Node):
    """A statement."""

    __slots__ = ()

    def print(self, lines: PrintedLines, depth: int) -> None:
        """Print it at a depth."""
        raise NotImplementedError


Block: TypeAlias = Sequence[StatementNode]


@attrs.frozen(eq=False)
class Assign(StatementNode):
    """An assignment, or a declaration where there is no value.

    Attributes:
        target: a name, a tuple of names, or a place.
        value: what is assigned.
        annotation: of the name.
        origin: the user's line that it came from, 0 where there is none.
    """

    target: Expression
    value: Expression | None
    annotation: str = ""
    origin: int = 0

    def collect(self, names: list[str]) -> None:
        self.target.collect(names)
        if self.value is not None:
            self.value.collect(names)

    def replaced(self, substitution: Mapping[str, Expression]) -> Assign:
        value = None if self.value is None else self.value.replaced(substitution)
        return Assign(self.target.replaced(substitution), value, self.annotation, self.origin)

    def print(self, lines: PrintedLines, depth: int) -> None:
        bare = (
            self.target.bare() if isinstance(self.target, CollectionDisplay) else self.target.text()
        )
        prefix = f"{bare}: {self.annotation}" if self.annotation else bare
        match self.target, self.value:
            case _, None:
                lines.add(prefix, depth)
            case CollectionDisplay(), CollectionDisplay("()", (_, _, *_)):
                lines.add(f"{prefix} = {self.value.bare()}", depth, self.origin)
            case CollectionDisplay(), Expression(brackets=None):
                text = self.value.text(_ALONE)
                if 4 * depth + len(prefix) + 3 + len(text) <= lines.width:
                    lines.add(f"{prefix} = {text}", depth, self.origin)
                else:
                    lines.put("", self.target, f" = {text}", depth, self.origin)
            case _:
                lines.put(f"{prefix} = ", self.value, "", depth, self.origin)


@attrs.frozen(eq=False)
class AugmentedAssignment(StatementNode):
    """An addition in place.

    Attributes:
        target: a place.
        value: what is added.
        origin: the user's line that it came from, 0 where there is none.
    """

    target: Expression
    value: Expression
    origin: int = 0

    def print(self, lines: PrintedLines, depth: int) -> None:
        lines.put(f"{self.target.text()} += ", self.value, "", depth, self.origin)


@attrs.frozen(eq=False)
class Simple(StatementNode):
    """A statement of one word, such as ``pass``; of one and a value; or a value that is evaluated.

    Attributes:
        word: the word, if there is one.
        value: the value, if there is one.
        origin: the user's line that it came from, 0 where there is none.
    """

    word: str
    value: Expression | None = None
    origin: int = 0

    def print(self, lines: PrintedLines, depth: int) -> None:
        if self.value is None:
            lines.add(self.word, depth)
        else:
            lines.put(f"{self.word} " if self.word else "", self.value, "", depth, self.origin)


PASS: Final = Simple("pass")
BREAK: Final = Simple("break")
CONTINUE: Final = Simple("continue")


def evaluated(value: Expression, origin: int = 0) -> Simple:
    """Evaluate a value for its effect."""
    return Simple("", value, origin)


def returned(value: Expression) -> Simple:
    """Return a value."""
    return Simple("return", value)


@attrs.frozen(eq=False)
class If(StatementNode):
    """Statements that run where a condition holds, and those that run where it does not."""

    test: Expression
    body: Block
    orelse: Block = ()

    def print(self, lines: PrintedLines, depth: int) -> None:
        word: str = "if"
        rest: Block = (self,)
        while len(rest) == 1 and isinstance(rest[0], If):
            lines.add(f"{word} {rest[0].test.text()}:", depth)
            lines.block(rest[0].body, depth + 1)
            word, rest = "elif", rest[0].orelse
        if rest:
            lines.add("else:", depth)
            lines.block(rest, depth + 1)


@attrs.frozen(eq=False)
class While(StatementNode):
    """A loop."""

    test: Expression
    body: Block

    def print(self, lines: PrintedLines, depth: int) -> None:
        lines.add(f"while {self.test.text()}:", depth)
        lines.block(self.body, depth + 1)


@attrs.frozen(eq=False)
class Try(StatementNode):
    """Statements with handlers for their errors, by class, and a final block."""

    body: Block
    handlers: tuple[tuple[str, Block], ...] = ()
    final: Block = ()

    def print(self, lines: PrintedLines, depth: int) -> None:
        lines.add("try:", depth)
        lines.block(self.body, depth + 1)
        for error, block in self.handlers:
            lines.add(f"except {error}:", depth)
            lines.block(block, depth + 1)
        if self.final:
            lines.add("finally:", depth)
            lines.block(self.final, depth + 1)


@attrs.frozen(eq=False)
class FunctionDefinition(StatementNode):
    """A function.

    Attributes:
        name: the function's.
        parameters: their names, with annotations if they have any.
        body: what it does.
        result: the annotation of what it returns, if there is one.
        decorators: of which it is the argument.
    """

    name: str
    parameters: tuple[str, ...]
    body: Block
    result: str = ""
    decorators: tuple[Expression, ...] = ()

    def print(self, lines: PrintedLines, depth: int) -> None:
        if depth and lines.texts[-1]:
            lines.add("", 0)
        for decorator in self.decorators:
            lines.put("@", decorator, "", depth)
        head = call(self.name, *map(Name, self.parameters))
        lines.put("def ", head, f" -> {self.result}:" if self.result else ":", depth)
        lines.block(self.body, depth + 1)
        if depth:
            lines.add("", 0)


# Printing


@attrs.define(eq=False)
class PrintedLines:
    """Lines that are being printed.

    Attributes:
        width: longer ones are broken in brackets.
        texts: the lines.
        origins: the user's lines that they came from, by their numbers.
    """

    width: float
    texts: list[str] = attrs.field(factory=list[str])
    origins: dict[int, int] = attrs.field(factory=dict[int, int])

    def __str__(self) -> str:
        return "\n".join(self.texts) + "\n"

    def add(self, text: str, depth: int, origin: int = 0) -> None:
        """Print a line."""
        self.texts.append("    " * depth + text if text else "")
        if origin:
            self.origins[len(self.texts)] = origin

    def block(self, statements: Block, depth: int) -> None:
        """Print statements."""
        for statement in statements:
            statement.print(self, depth)

    def put(
        self, prefix: str, expression: Expression, suffix: str, depth: int, origin: int = 0
    ) -> None:
        """Print an expression, broken over lines where it is too long.

        Args:
            prefix: what stands before it.
            expression: the expression.
            suffix: what stands behind it.
            depth: how deep it stands.
            origin: the user's line.
        """
        text = f"{prefix}{expression.text(_ALONE)}{suffix}"
        brackets = None
        if 4 * depth + len(text) > self.width or "\n" in text:
            brackets = expression.brackets
        if brackets is None or not brackets[1]:
            for line in text.splitlines():
                self.add(line, depth, origin)
            return
        opening, items, closing = brackets
        self.add(f"{prefix}{opening}", depth, origin)
        inside = ", ".join([f"{name}{item.text()}" for name, item in items])
        fits = 4 * depth + 4 + len(inside) <= self.width and "\n" not in inside
        if fits and closing[0] == ")" and len(opening) > 1:  # those of a call
            self.add(inside, depth + 1, origin)
        else:
            for name, item in items:
                self.put(name, item, ",", depth + 1, origin)
        self.add(f"{closing}{suffix}", depth, origin)


def printed(statements: Block, width: float = inf) -> PrintedLines:
    """Print statements, in lines of some width if people are to read them."""
    lines = PrintedLines(width)
    lines.block(statements, 0)
    return lines


# Passes over straight-line code, whose names are assigned once


def inlined(statements: Block, after: Block) -> list[StatementNode]:
    """Write single-use values where they are read.

    Memory of intermediate results is then free for the next ones, of which NumPy keeps few for
    reuse.

    Args:
        statements: assignments, and what changes values in place or gives names other values,
            behind which no value is moved.
        after: the statement after them, where nothing is emitted.
    """
    kept = {name for s in after for name in s.names()}
    mentioned = [s.names() for s in statements]
    counts = Counter(name for some in mentioned for name in some)
    waiting: dict[str, Expression] = {}
    sizes: dict[str, int] = {}
    out: list[StatementNode] = []
    for original, some in zip(statements, mentioned, strict=True):
        read = {name: waiting.pop(name) for name in some if name in waiting}
        statement = original.replaced(read) if read else original
        match statement:
            case Assign(Name(name), Expression() as value):
                size = 1 + sum([sizes[x] for x in read])
                if counts[name] == 2 and name not in kept and size < _DEEPEST:
                    waiting[name], sizes[name] = value, size
                    continue
            case _:
                out += [Assign(Name(name), value) for name, value in waiting.items()]
                waiting.clear()
        out.append(statement)
    return out


def freeing(statements: Block, after: Block, large: set[str]) -> list[StatementNode]:
    """Delete names of large values behind the statements that read them last.

    Args:
        statements: straight-line code.
        after: what comes after them, where nothing is deleted.
        large: the names.
    """
    if not large:
        return [*statements]
    kept = {name for s in after for name in s.names()}
    out: list[StatementNode] = []
    for statement in reversed(statements):
        mentioned = large.intersection(statement.names())
        last_read = sorted(mentioned - kept, reverse=True)
        kept |= mentioned
        out += [Simple("del", Name(name)) for name in last_read]
        out.append(statement)
    out.reverse()
    return out
