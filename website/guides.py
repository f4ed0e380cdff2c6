"""The guides to a public name: those whose code names it, in the section that does so most.

A guide is looked through if a topic names it (``topics``).
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Final

import attrs

from website.blocks import FENCE, blocks_in

ROOT: Final = Path(__file__).resolve().parent.parent
#: A name that more guides have is one that they use, and do not treat.
_MOST: Final = 4
#: How many guides are listed.
_LISTED: Final = 3
#: What a section must have, to be listed though no topic of the name's has its guide.
_LEAST: Final = 3

_FENCED: Final = re.compile(r"^(```+).*?^\1$", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^#+ (.*)$", re.MULTILINE)
_WORD: Final = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*\w")
_INLINE: Final = re.compile(r"`([^`\n]+)`")
_IMPORT: Final = re.compile(r"from tinyjax import (.*)")


@attrs.frozen
class Section:
    """A part of a guide under one heading.

    Attributes:
        guide: the file, without its suffix, as ``docs/toolbox``.
        title: that of the guide.
        heading: its own; that of the first part is the title.
        words: the names in its code, and how much it says of each.
    """

    guide: str
    title: str
    heading: str
    words: Counter[str]

    @property
    def link(self) -> str:
        """The section as a link of a page of the reference."""
        text, place = self.title.partition(":")[0], ""
        if self.heading != self.title:
            place = "#" + re.sub(r"[^\w\- ]", "", self.heading.strip().lower()).replace(" ", "-")
            text = f"{text}: {self.heading.replace('`', '')}"
        return f"`{text} <../{self.guide}.html{place}>`__"


def sections_of(guide: str) -> list[Section]:
    """Read the sections of a guide."""
    text = (ROOT / f"{guide}.md").read_text(encoding="utf-8")
    # what a comment in code begins with is no heading
    heads = [*_HEADING.finditer(_FENCED.sub(lambda m: m[0].replace("#", ";"), text))]
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [
        Section(guide, heads[0][1], head[1], _words(head[1], text[head.end() : end]))
        for head, end in zip(heads, ends, strict=True)
    ]


def _words(heading: str, body: str) -> Counter[str]:
    """Count the names in code: in the heading ten times, in sentences twice, in blocks once."""
    words = Counter[str]()
    for weight, texts in (
        (10, _INLINE.findall(heading)),
        (2, _INLINE.findall(FENCE.sub("", body))),
    ):
        for word in _WORD.findall(" ".join(texts)):
            words[_plain(word)] += weight
    code = "\n".join(block.text for block in blocks_in(body))
    imported = {*_WORD.findall(" ".join(_IMPORT.findall(code)))}
    words.update(_plain(w) for w in _WORD.findall(code) if "." in w or w in imported)
    return words


def _plain(word: str) -> str:
    return re.sub(r"^(tinyjax|jax)\.", "", word).replace("jnp.", "numpy.")


@attrs.frozen
class Guides:
    """The guides that topics name."""

    guides: tuple[str, ...]

    @cached_property
    def sections(self) -> list[Section]:
        return [section for guide in self.guides for section in sections_of(guide)]

    @cached_property
    def titles(self) -> dict[str, str]:
        """Each guide as a link."""
        first = {s.guide: s for s in reversed(self.sections)}
        return {guide: first[guide].link for guide in self.guides}

    def sections_for(self, paths: list[str], topic: tuple[str, ...]) -> list[str]:
        """Return links to the sections that treat a name: first those of its topic's guides.

        Args:
            paths: the paths of the name, without ``tinyjax.``.
            topic: the guides of its topic.
        """
        best: dict[str, tuple[int, Section]] = {}
        for section in self.sections:
            score = sum(section.words[path] for path in paths)
            if score > best.get(section.guide, (0,))[0]:
                best[section.guide] = score, section
        others = [*best] if len(best) <= _MOST else []
        rows = [
            guide
            for guide in dict.fromkeys((*topic, *others))
            if guide in best and (guide in topic or best[guide][0] >= _LEAST)
        ]
        return [best[guide][1].link for guide in rows[:_LISTED]]
