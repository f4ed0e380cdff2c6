"""Layout of generated Python: calls and displays broken over lines where they are too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import attrs

WIDTH: Final = 100


@attrs.frozen
class Group:
    """Something in brackets.

    Attributes:
        opening: what it begins with, the bracket included.
        items: what is in it.
        closing: the bracket at the end.
        bare: whether there are no brackets where it is on one line.
    """

    opening: str
    items: tuple[Doc, ...]
    closing: str
    bare: bool = False

    @property
    def is_call(self) -> bool:
        """Whether it holds the arguments of a call, which may share a line of their own."""
        before = self.opening[-2:-1]
        return self.closing[:1] == ")" and (before.isalnum() or before in ("_", "]", ")"))

    def flat(self) -> str:
        """On one line."""
        lone = len(self.items) == 1 and self.closing[:1] == ")" and not self.is_call
        inside = ", ".join([flat(item) for item in self.items])
        if self.bare:
            comma = "," if len(self.items) == 1 else ""
            return f"{self.opening[:-1]}{inside}{comma}{self.closing[1:]}"
        return f"{self.opening}{inside}{',' if lone else ''}{self.closing}"


Doc: TypeAlias = str | Group


def flat(doc: Doc) -> str:
    """A text on one line."""
    return doc if isinstance(doc, str) else doc.flat()


def prefixed(prefix: str, doc: Doc) -> Doc:
    """A text with something before it."""
    if isinstance(doc, str):
        return prefix + doc
    return Group(prefix + doc.opening, doc.items, doc.closing)


def group(opening: str, items: Sequence[Doc], closing: str) -> Group:
    """Something in brackets."""
    return Group(opening, tuple(items), closing)


def laid_out(doc: Doc, indent: int = 0, reserved: int = 0) -> list[str]:
    """Break a text into lines that are not too long, where it can be broken.

    Args:
        doc: the text.
        indent: how far it stands to the right.
        reserved: how much of the last line is needed for what comes behind it.
    """
    margin = " " * indent
    if isinstance(doc, str) or indent + len(doc.flat()) + reserved <= WIDTH or not doc.items:
        return [margin + flat(doc)]
    inner = indent + 4
    inside = ", ".join([flat(item) for item in doc.items])
    if doc.is_call and inner + len(inside) <= WIDTH:
        return [margin + doc.opening, " " * inner + inside, margin + doc.closing]
    lines = [margin + doc.opening]
    for item in doc.items:
        *before, last = laid_out(item, inner, 1)
        lines += [*before, f"{last},"]
    return [*lines, margin + doc.closing]


@attrs.frozen
class Line:
    """A line of a text.

    Attributes:
        depth: how deep it stands.
        text: what it says; it may be broken over several.
        origin: the user's line that it came from, 0 where there is none.
        targets: the names that it assigns.
    """

    depth: int
    text: Doc
    origin: int = 0
    targets: tuple[str, ...] = ()

    def outwards(self) -> Line:
        """The same, one level further out."""
        return attrs.evolve(self, depth=self.depth - 1)


def rendered(lines: list[Line]) -> tuple[str, dict[int, int]]:
    """Lay a text out; also give the user's lines that its lines came from."""
    text_lines: list[str] = []
    origins: dict[int, int] = {}
    for line in lines:
        start = len(text_lines) + 1
        text_lines += laid_out(line.text, 4 * line.depth)
        if line.origin:
            origins.update(dict.fromkeys(range(start, len(text_lines) + 1), line.origin))
    return "\n".join(text_lines) + "\n", origins


def is_chain(lines: list[Line]) -> bool:
    """Whether lines are one ``if`` statement, and nothing else."""
    heads = [flat(line.text) for line in lines if line.depth == lines[0].depth]
    return heads[0].startswith("if ") and all(h.startswith(("elif ", "else:")) for h in heads[1:])


def inserted(text: Doc, place: int, more: str) -> Doc:
    """A text with something put in."""
    if isinstance(text, str):
        return text[:place] + more + text[place:]
    return attrs.evolve(text, opening=text.opening[:place] + more + text.opening[place:])


def appended(text: Doc, more: str) -> Doc:
    """A text with something behind it."""
    return text + more if isinstance(text, str) else attrs.evolve(text, closing=text.closing + more)
