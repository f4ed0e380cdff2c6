"""The navigation beside a page: all sections, and what is in the section where the page is.

Sphinx would copy and write the whole tree for each page, which took half of a build.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import attrs
from sphinx import addnodes


@attrs.frozen
class Navigation:
    """The navigation of a page.

    Attributes:
        app: Sphinx, with what it has read.
        page: the page's name.
        current: the page, and those under which it is.
    """

    app: Any
    page: str
    current: frozenset[str]

    @classmethod
    def for_page(cls, app: Any, page: str) -> Navigation:
        """Make that of a page."""
        included = app.env.toctree_includes
        parents = {child: parent for parent, children in included.items() for child in children}
        topic = app.env.metadata.get(page, {}).get("topic")  # of a page that no tree lists
        current = [page, f"reference/{topic}"] if topic else [page]
        while (parent := parents.get(current[-1])) is not None:
            current.append(parent)
        return cls(app, page, frozenset(current))

    def render(self) -> str:
        """Write it as the theme does."""
        return "".join(self._sections(self.app.config.root_doc, 1))

    def _sections(self, page: str, level: int) -> Iterator[str]:
        for section in self.app.env.tocs[page].findall(addnodes.toctree):
            if caption := section.get("caption"):
                text = f'<span class="caption-text">{escape(caption)}</span>'
                yield f'<p class="caption" role="heading" aria-level="2">{text}</p>'
            yield "<ul>"
            for title, name in section["entries"]:
                yield self._entry(title or self.app.env.titles[name].astext(), name, level)
            yield "</ul>"

    def _entry(self, title: str, page: str, level: int) -> str:
        here = page in self.current
        kinds = f"toctree-l{level}{' current' * here}{' current-page' * (page == self.page)}"
        address = self.app.builder.get_relative_uri(self.page, page) or "#"
        inside = "".join(self._sections(page, level + 1)) if here else ""
        link = f'<a class="{"current " * here}reference internal" href="{address}">'
        return f'<li class="{kinds}">{link}{escape(title)}</a>{inside}</li>'
