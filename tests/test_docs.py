"""Every example that a reader meets runs: in README.md, in docs/, and in the docstrings.

The ``python`` blocks of a Markdown file share one namespace and run in order. A block with prompts
(``>>>``) is compared with the output it shows; any other must run without an error. The site
(``nox -s docs``) runs them in the same way, and shows what they show.
"""

import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from tinyjax import config
from website.blocks import (
    BlockError,
    blocks_in,
    failures_of,
    modules,
    primitives_put_back,
    run,
)

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(autouse=True)
def as_installed() -> Iterator[None]:
    """The tier is what it is where nothing is set."""
    with config.scoped(tier=attrs.fields(config.Settings).tier.default):
        yield


@pytest.fixture
def own_primitives() -> Iterator[None]:
    """The primitives that an example declares go with it: the suite's table has no row for them."""
    with primitives_put_back():
        yield


@pytest.mark.usefixtures("own_primitives")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page(page: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_in(page.read_text(encoding="utf-8")):
        try:
            run(block, page, namespace)
        except BlockError as error:
            pytest.fail(str(error), pytrace=False)


@pytest.mark.usefixtures("own_primitives")
@pytest.mark.parametrize("module", modules())
def test_docstrings(module: str) -> None:
    found = doctest.DocTestFinder().find(importlib.import_module(module), module)
    if failed := "".join(failures_of(test) for test in found):
        pytest.fail(failed, pytrace=False)


def test_files_that_pages_name_exist() -> None:
    """Of a file that is moved, pages name the new place; the changelog may name the old one."""
    paths = [
        f"/{path.relative_to(ROOT).as_posix()}"
        for folder in ("src", "tests", "docs", "benchmarks", "examples", "website")
        for path in (ROOT / folder).rglob("*.py*")
    ]
    named = [
        (page.name, name)
        for page in PAGES
        if page.name != "changelog.md"
        for name in re.findall(r"`([\w/]+\.pyi?)`", page.read_text(encoding="utf-8"))
    ]
    assert len(named) > 50
    missing = [
        (page, name)
        for page, name in named
        if not (ROOT / name).exists() and not any(path.endswith(f"/{name}") for path in paths)
    ]
    assert not missing


def test_blocks_are_found_with_their_lines() -> None:
    text = "# Title\n\n```python\nx = 1\n```\n\n```\nno\n```\n```python\n>>> x\n1\n```\n"
    assert [(block.text, block.line) for block in blocks_in(text)] == [
        ("x = 1\n", 3),
        (">>> x\n1\n", 10),
    ]


def test_an_example_that_is_wrong_is_found() -> None:
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert "Expected:" in failures_of(test)
