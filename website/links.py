"""Links of a site that lead to no page, or to no place on one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Final
from urllib.parse import unquote

_LINK: Final = re.compile(r"<a\b[^>]*?\shref=\"([^\"]*)\"")
_PLACE: Final = re.compile(r"\s(?:id|name)=\"([^\"]*)\"")


@cache
def _places(page: str) -> frozenset[str]:
    """List the places on a page that a link may lead to."""
    return frozenset(_PLACE.findall(Path(page).read_text(encoding="utf-8")))


def broken(site: Path) -> Iterator[str]:
    """Tell of each link on the pages of a folder that leads to nothing there."""
    site = site.resolve()
    files = {str(file) for file in site.rglob("*") if file.is_file()}
    pages = sorted(site.rglob("*.html"))
    for number, page in enumerate(pages, 1):
        if number % 200 == 0 or number == len(pages):
            print(f"checking links... [{number:4}/{len(pages)}]", flush=True)
        links = {unescape(link) for link in _LINK.findall(page.read_text(encoding="utf-8"))}
        for link in sorted(links):
            path, _, place = link.partition("#")
            if ":" in path:
                continue
            target = os.path.normpath(page.parent / unquote(path)) if path else str(page)
            if target not in files:
                yield f"{page.relative_to(site)} links to {link}: no such page"
            elif place and target.endswith(".html") and unquote(place) not in _places(target):
                yield f"{page.relative_to(site)} links to {link}: no such place"
