"""Every example that a reader meets runs: in README.md, in docs/, and in the docstrings.

The ``python`` blocks of a Markdown file share one namespace and run in order. A block with prompts
(``>>>``) is compared with the output it shows; any other must run without an error.
"""

import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from tinyjax.core.primitive import registry

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [
    ".".join(file.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    for file in sorted((ROOT / "src" / "tinyjax").rglob("*.py"))
    if file.name != "as_jax.py"  # which is for processes without jax
]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@attrs.frozen
class Block:
    """One fenced block: its text, and the line above it."""

    text: str
    line: int


def blocks_in(text: str) -> list[Block]:
    return [Block(m.group(1), text.count("\n", 0, m.start()) + 1) for m in FENCE.finditer(text)]


def failures_of(test: doctest.DocTest) -> str:
    said: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
    return "".join(said)


@pytest.fixture
def primitives_put_back() -> Iterator[None]:
    """The primitives that an example declares go with it: the suite's table has no row for them."""
    for module in MODULES:  # those loaded on first use declare some that are to stay
        importlib.import_module(module)
    before = dict(registry)
    yield
    registry.clear()
    registry.update(before)


@pytest.mark.usefixtures("primitives_put_back")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page(page: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_in(page.read_text()):
        if ">>>" in block.text:
            parsed = doctest.DocTestParser().get_doctest(
                block.text, namespace, page.name, str(page), block.line
            )
            if failed := failures_of(parsed):
                pytest.fail(failed, pytrace=False)
            namespace = parsed.globs
        else:
            padded = "\n" * block.line + block.text
            exec(compile(padded, str(page), "exec"), namespace)


@pytest.mark.usefixtures("primitives_put_back")
@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module: str) -> None:
    found = doctest.DocTestFinder().find(importlib.import_module(module), module)
    if failed := "".join(failures_of(test) for test in found):
        pytest.fail(failed, pytrace=False)


def test_blocks_are_found_with_their_lines() -> None:
    text = "# Title\n\n```python\nx = 1\n```\n\n```\nno\n```\n```python\n>>> x\n1\n```\n"
    assert blocks_in(text) == [Block("x = 1\n", 3), Block(">>> x\n1\n", 10)]


def test_an_example_that_is_wrong_is_found() -> None:
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert "Expected:" in failures_of(test)
