"""Docstrings, with their sections, as the reStructuredText of a description."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs

_HEAD: Final = re.compile(r"^(Args|Returns|Yields|Raises|Attributes|Reference|Source|Examples?):$")
#: What begins a line of a list of parameters, attributes or errors.
_ITEM: Final = re.compile(r"^(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*): ?(.*)$")


@attrs.frozen
class Docstring:
    """The contents of a docstring: its text, and its sections by name.

    Attributes:
        text: what stands before the first section.
        sections: the names and texts of sections, in order.
    """

    text: str
    sections: tuple[tuple[str, str], ...] = ()

    @property
    def first(self) -> str:
        """The first paragraph, on one line."""
        return " ".join(self.text.partition("\n\n")[0].split())

    @property
    def example(self) -> bool:
        """The flag for a docstring with an example that is run."""
        return any(">>>" in text for text in (self.text, *(body for _, body in self.sections)))


def docstring_of(value: Any) -> Docstring:
    """Read the docstring of a value of the package; those of other packages are not ours."""
    kind = value if inspect.isclass(value) or inspect.isroutine(value) else type(value)
    if not (getattr(kind, "__module__", None) or "").startswith("tinyjax"):
        return Docstring("")
    return parsed(inspect.getdoc(value) or "")


def parsed(text: str) -> Docstring:
    """Find the sections of a docstring, whose margin is gone."""
    before: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if head := _HEAD.match(line):
            sections.append((head[1], []))
        elif sections and (not line or line.startswith(" ")):
            sections[-1][1].append(line)
        elif sections:  # text after a section
            sections.append(("", [line]))
        else:
            before.append(line)
    bodies = ((name, textwrap.dedent("\n".join(body)).strip("\n")) for name, body in sections)
    return Docstring("\n".join(before).strip(), tuple(bodies))


def items(body: str) -> Iterator[tuple[str, str]]:
    """Read the names of a section, and what it says of each."""
    name, lines = "", list[str]()
    for line in body.splitlines():
        if match := _ITEM.match(line):
            if name:
                yield name, textwrap.dedent("\n".join(lines)).strip()
            name, lines = match[1], [f"    {match[2]}"]
        else:
            lines.append(line)
    if name:
        yield name, textwrap.dedent("\n".join(lines)).strip()


_FIELDS: Final = {"Args": "param", "Raises": "raises", "Attributes": "ivar"}


def render(doc: Docstring, error: Callable[[str], str]) -> str:
    """Write a docstring in reStructuredText.

    Args:
        doc: the docstring.
        error: the public path of the class of an error, by its name.
    """
    parts = [doc.text]
    for name, body in doc.sections:
        if name in _FIELDS:
            rows = (
                f":{_FIELDS[name]} {_escaped(key if name != 'Raises' else error(key))}: "
                + textwrap.indent(text, "    ").strip()
                for key, text in items(body)
            )
            parts.append("\n".join(rows))
        elif name in ("Returns", "Yields"):
            parts.append(f":{name.lower()}: {textwrap.indent(body, '    ').strip()}")
        elif name:
            parts.append(f".. rubric:: {name}\n\n{body}")
        else:
            parts.append(body)
    return "\n\n".join(part for part in parts if part) + "\n"


def _escaped(name: str) -> str:
    return name.replace("*", "\\*")
