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
