"""The lines of a generated text."""

from __future__ import annotations

import attrs

from tinyjax.source.layout import Doc, flat, laid_out


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
    found: list[str] = []
    origins: dict[int, int] = {}
    for line in lines:
        start = len(found) + 1
        found += laid_out(line.text, 4 * line.depth)
        if line.origin:
            origins.update(dict.fromkeys(range(start, len(found) + 1), line.origin))
    return "\n".join(found) + "\n", origins


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
