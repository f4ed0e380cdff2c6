"""Pages as notebooks: their text, and a cell for each block of code."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from typing import Any, Final

from website.blocks import Block, blocks_in

#: The folders whose pages can be downloaded.
FOLDERS: Final = ("tutorials", "gallery")
KERNEL: Final = {"name": "python3", "display_name": "Python 3", "language": "python"}

_PICTURE: Final = re.compile(r"^!\[[^\]]*\]\([^)]*\)$\n*", re.MULTILINE)
_LINK: Final = re.compile(r"(?<!!)\[([^\]]*)\]\((?!\w+:)[^)]*\)")


def is_notebook(page: Path) -> bool:
    """Tell whether a page can be downloaded as a notebook."""
    return page.parent.name in FOLDERS and page.name != "index.md"


def notebook(page: Path) -> dict[str, Any]:
    """Make a notebook of a page. A program of the gallery is run at its end.

    What leads to other pages becomes text, since they are not beside the notebook.
    """
    text = page.read_text(encoding="utf-8")
    cells: list[dict[str, Any]] = []
    end = 0
    for block in blocks_in(text):
        cells += [*_prose(text[end : block.start]), *cells_of(block)]
        end = block.end
    if page.parent.name == "gallery":
        cells.append(_code("main()"))
    else:
        cells += _prose(text[end:])
    metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}


def render(page: Path) -> str:
    """Write a page as the file of a notebook."""
    return json.dumps(notebook(page), indent=1, ensure_ascii=False)


def cells_of(block: Block) -> list[dict[str, Any]]:
    """Make cells of a block: of one with prompts a cell for each of its examples."""
    if not block.prompts:
        return [_code(block.text)]
    examples = doctest.DocTestParser().get_examples(block.text)
    return [_code(example.source, raises=bool(example.exc_msg)) for example in examples]


def _code(source: str, *, raises: bool = False) -> dict[str, Any]:
    """Make a cell of code; where one that raises an error is marked, the next ones are run."""
    metadata = {"tags": ["raises-exception"]} if raises else {}
    cell = {"cell_type": "code", "metadata": metadata, "source": source.rstrip("\n")}
    return {**cell, "execution_count": None, "outputs": []}


def _prose(text: str) -> list[dict[str, Any]]:
    """Make a cell of what stands between two blocks, if there is anything."""
    text = _LINK.sub(r"\1", _PICTURE.sub("", text)).strip()
    return [{"cell_type": "markdown", "metadata": {}, "source": text}] if text else []
