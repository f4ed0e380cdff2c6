"""Every example that a reader meets runs: in README.md, in docs/, and in the docstrings.

The ``python`` blocks of a Markdown file share one namespace and run in order. A block with prompts
(``>>>``) is compared with the output it shows; any other must run without an error. The site
(``nox -s docs``) runs them in the same way, and shows what they show.
"""

import doctest
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from tinyjax import config
from tinyjax.core.jit.function import JitFunction
from tinyjax.core.values.array import IndexUpdate
from website import reference
from website.blocks import (
    BlockError,
    blocks_in,
    failures_of,
    modules,
    needs_packages,
    primitives_put_back,
    run,
)

ROOT = Path(__file__).resolve().parents[2]
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
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if not needs_packages(page)],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_page(page: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_in(page.read_text(encoding="utf-8")):
        try:
            run(block, page, namespace)
        except BlockError as error:
            pytest.fail(str(error), pytrace=False)


def examples_of(name: str) -> list[doctest.DocTest]:
    """Find the examples of a module, and of the classes that say they are a namespace's."""
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", ()):
        getattr(module, public)  # is loaded when it is first read
    return doctest.DocTestFinder().find(module, name)


#: The sections of a docstring, in their order.
SECTIONS = ["Args:", "Attributes:", "Returns:", "Raises:", "Example:"]


#: Modules of whose examples some pass what annotations refuse: errors, and lists for arrays.
WRONG_TYPES = {
    "tinyjax.errors",
    "tinyjax.experimental.sparse.bcoo",
    "tinyjax.experimental.sparse.bcsr",
    "tinyjax._library.sparsity.pattern",
}


@pytest.mark.usefixtures("own_primitives")
@pytest.mark.parametrize(
    "module",
    [
        pytest.param(name, marks=[pytest.mark.wrong_types] * (name in WRONG_TYPES))
        for name in modules()
    ],
)
def test_docstrings(module: str) -> None:
    tests = examples_of(module)
    if failed := "".join(map(failures_of, tests)):
        pytest.fail(failed, pytrace=False)
    for test in tests:
        sections = [x for x in map(str.strip, (test.docstring or "").splitlines()) if x in SECTIONS]
        assert sections == sorted(sections, key=SECTIONS.index), test.name


def shown() -> set[str | None]:
    """Return the docstrings of which an example runs in `test_docstrings`."""
    return {test.docstring for name in modules() for test in examples_of(name) if test.examples}


def public() -> list[reference.Entry]:
    """List the public functions and classes of the package, each where it is described."""
    return [
        entry
        for entries in reference.entries().values()
        for entry in entries
        if inspect.isroutine(entry.value) or inspect.isclass(entry.value)
        if (entry.value.__module__ or "").startswith("tinyjax") and entry.elsewhere is None
    ]


#: Classes whose methods are the words in which rules are lowered, or what rules and calls of
#: functions with rules override: the examples of the classes show them in use.
VOCABULARIES = {
    "tinyjax.experimental.hijax.VJPHiPrimitive",
    "tinyjax.extend.CustomCall",
    "tinyjax.extend.Lowering",
}


def methods() -> Iterator[tuple[str, set[str | None]]]:
    """Name the public methods, each with the docstrings that describe it: its own or inherited."""
    kinds = {entry.path: entry.value for entry in public() if inspect.isclass(entry.value)}
    kinds |= {"IndexUpdate": IndexUpdate, "JitFunction": JitFunction}
    for path in kinds.keys() - VOCABULARIES:
        for name in dir(kinds[path]):
            method = getattr(kinds[path], name, None)
            if name.startswith("_") or not inspect.isroutine(method):
                continue
            if (getattr(method, "__module__", None) or "").startswith("tinyjax"):
                homes = [vars(base)[name] for base in kinds[path].__mro__ if name in vars(base)]
                yield f"{path}.{name}", {method.__doc__, *[home.__doc__ for home in homes]}


@pytest.mark.skipif(sys.flags.optimize > 1, reason="python -OO drops docstrings")
@pytest.mark.usefixtures("own_primitives")
def test_what_is_public_shows_an_example() -> None:
    run = shown()
    missing = sorted(entry.path for entry in public() if entry.value.__doc__ not in run)
    assert missing == [], "give their docstrings an example (`>>>`)"
    texts = dict(methods())
    assert len(texts) > 400
    missing = sorted(path for path in texts if not texts[path] & run)
    assert missing == [], "give the docstrings of these methods an example (`>>>`)"


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
