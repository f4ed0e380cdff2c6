"""The site: its parts, and its pages opened in Chromium."""

import inspect
import json
import os
import random
import re
import shutil
import subprocess
from codeop import compile_command
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import attrs
import numpy as np
import pytest

import tinyjax
from raising import raises
from website import links, reference
from website.blocks import BlockError, Output, blocks_in, run
from website.notebooks import cells_of, is_notebook, notebook, render
from website.staging import DOCS, ROOT, inclusions, names_listed, source_of

PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


# What blocks show


def shown(code: str) -> Output:
    (block,) = blocks_in(f"```python\n{code}\n```\n")
    return run(block, Path("page.md"), {"__name__": "__main__"})


def test_a_block_shows_what_it_prints_and_its_last_value() -> None:
    assert shown("print(1)\n2 + 3") == Output("1\n5\n")
    assert shown("x = 1") == shown("None") == shown(">>> 1 + 1\n2") == Output()
    assert "sin" in shown("import tinyjax\ntinyjax.make_jaxpr(tinyjax.numpy.sin)(1.0)").html


def test_a_block_shows_its_figures_by_their_titles() -> None:
    plot = "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\n"
    (picture,) = shown(plot + 'axes.set(title="A line")\naxes.plot([1, 2])').pictures
    assert picture.alt == "A line"
    assert "<svg" in picture.svg
    with raises(BlockError, match="title"):
        shown(plot)


def test_a_block_is_compared_with_the_output_it_shows() -> None:
    with raises(BlockError, match="Expected"):
        shown(">>> 1 + 1\n3")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_block_of_python_is_found(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^[ >]*(?:`{3,}|~{3,}) *py", text, re.MULTILINE | re.IGNORECASE)
    assert len(blocks_in(text)) == len(fences), "a block that is written otherwise does not run"


FIRST = ("README", "docs/index", "docs/installation", "docs/thinking", "docs/tutorials/first-steps")


@pytest.mark.parametrize("name", FIRST)
def test_blocks_can_be_pasted_into_an_interpreter(name: str) -> None:
    """An empty line ends what is indented, and nothing else does."""
    for block in blocks_in((ROOT / f"{name}.md").read_text(encoding="utf-8")):
        shown = block.text.splitlines()
        typed = [x[4:] for x in shown if x[:3] in {">>>", "...", ""}] if block.prompts else shown
        statement: list[str] = []
        for line in (*typed, ""):
            statement.append(line)
            if compile_command("\n".join(statement), symbol="single") is not None:
                statement.clear()
        assert not statement


# What pages include


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_listings_are_of_the_files_they_link_to(page: Path) -> None:
    for link, name in inclusions(page.read_text(encoding="utf-8")):
        assert source_of(name).splitlines()[0].strip() in (page.parent / link).read_text(
            encoding="utf-8"
        )


def test_a_listing_is_of_a_definition_or_a_statement() -> None:
    assert source_of("tinyjax.core.tracing.trace.bind") == inspect.getsource(tinyjax.extend.bind)
    assert source_of("tinyjax.core.primitives.elementwise.sin").startswith("sin: Elementwise")
    assert source_of("tinyjax.core.tracing.trace.Trace.owns").startswith("def owns")


def test_every_page_is_listed() -> None:
    listed = names_listed() | {"docs/index"}
    folders = {str(Path(page).parent) for page in listed if page.endswith("/index")}
    for page in PAGES[1:]:
        name = page.relative_to(ROOT).with_suffix("")
        by_index = str(name.parent) in folders - {"docs"}
        assert str(name) in listed or by_index, f"{name} is not in NAVIGATION"


def test_no_two_pages_have_one_title() -> None:
    titles = [page.read_text(encoding="utf-8").partition("\n")[0] for page in PAGES[1:]]
    assert len({*titles}) == len(titles)


# Notebooks


def test_a_notebook_has_the_code_of_its_page_and_runs() -> None:
    page = DOCS / "tutorials" / "containers.md"
    cells = json.loads(render(page))["cells"]
    codes = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    assert codes == [block.text.strip() for block in blocks_in(page.read_text(encoding="utf-8"))]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for code in codes:
        exec(code, namespace)
    assert namespace["vector"].size == sum(map(np.size, tinyjax.tree.leaves(namespace["params"])))


def test_a_notebook_goes_on_after_an_error_that_it_shows() -> None:
    (block,) = blocks_in(
        "```python\n>>> x = 1\n>>> x.y\nTraceback (most recent call last):\nE\n```\n"
    )
    assert [cell["metadata"] for cell in cells_of(block)] == [{}, {"tags": ["raises-exception"]}]


@pytest.mark.parametrize("page", [p for p in PAGES if is_notebook(p)], ids=lambda p: p.stem)
def test_notebooks_have_no_links_that_lead_nowhere(page: Path) -> None:
    cells = notebook(page)["cells"]
    prose = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    assert prose[0].startswith("# ")
    assert not re.findall(r"\]\((?!https:)", "".join(prose))


# The reference


def test_the_reference_has_every_public_name() -> None:
    entries = reference.entries()
    for module in reference.public_modules():
        wanted = {f"{module.__name__}.{name}" for name in reference.public_names(module)}
        assert {entry.path for entry in entries.get(module.__name__, ())} == wanted
    assert {"grad", "jit", "vmap"} <= {entry.name for entry in entries["tinyjax"]}
    assert {"tinyjax.numpy.linalg", "tinyjax.errors", "tinyjax.extend.core"} <= entries.keys()


# The links


def test_links_to_nothing_are_told(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "one.html").write_text(
        '<h1 id="top"></h1><a href="#top"></a><a class="x" href="inside/two.html#there"></a>'
        '<a href="inside/three.html"></a><a href="https://elsewhere.org/#x"></a><a href="#end"></a>'
    )
    (tmp_path / "inside" / "two.html").write_text('<a href="../one.html#bottom"></a><p id="there">')
    assert [*links.broken(tmp_path)] == [
        "inside/two.html links to ../one.html#bottom: no such place",
        "one.html links to #end: no such place",
        "one.html links to inside/three.html: no such page",
    ]


# The pages, in a browser

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
#: How many pages of names and files are drawn besides the longest of each shape.
DRAWN = 24
#: The pages are divided among so many tests.
PARTS = 4
#: The longest that a page may take, in seconds, on a busy machine.
LONGEST = 120
#: What pages show of what their code does, at least.
OUTPUTS = {"/docs/tutorials/first-steps.html": 8, "/docs/how-it-works.html": 2}
#: So that errors are known that happen before a page is loaded.
LISTENER = (
    b"<head><script>window.errors = []; addEventListener('error', "
    b"(e) => errors.push(e.message || e.target.src || e.target.href), true);</script>"
)


@attrs.frozen
class Found:
    """The browser's report: the contents of each page, and at the end the errors."""

    pages: list[dict[str, Any]] = attrs.field(factory=list[dict[str, Any]])
    failed: list[str] = attrs.field(factory=list[str])
    finished: Event = attrs.field(factory=Event)


class Handler(SimpleHTTPRequestHandler):
    """Serves the site, the page that opens its pages, and takes what that finds."""

    def __init__(
        self, *args: Any, pages: list[tuple[str, bool]], report: Found, **options: Any
    ) -> None:
        self.pages, self.report = pages, report
        super().__init__(*args, **options)

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if path == "/check.html":
            self.answer((Path(__file__).parent / "check.html").read_bytes(), "text/html")
        elif path == "/axe.js":
            axe = resources.files("axe_core_python") / "axe.min.js"
            self.answer(axe.read_bytes(), "text/javascript")
        elif path == "/pages.json":
            self.answer(json.dumps(self.pages).encode(), "application/json")
        elif path.endswith(".html"):
            text = (Path(self.directory) / path[1:]).read_bytes()
            self.answer(text.replace(b"<head>", LISTENER, 1), "text/html")
        else:
            super().do_GET()

    def do_POST(self) -> None:
        what = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(b"", "text/plain")
        if self.path == "/found":
            self.report.pages.append(what)
        else:
            self.report.failed.extend(what.values())
            self.report.finished.set()

    def answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def shape(page: Path) -> frozenset[str]:
    """The kinds of elements on a page: tags with classes, but for those of text and code."""
    _, _, rest = page.read_text(encoding="utf-8").partition("<article")
    kinds = re.findall(r"<(\w+(?: class=[\"'][^\"'>]*)?)", rest.partition("</article>")[0])
    return frozenset(x for x in kinds if x.partition(" ")[0] not in {"a", "em", "span"})


def chosen(site: Path, every: bool) -> list[tuple[str, bool]]:
    """Choose pages to open, and say of each whether it is searched for what some cannot read.

    Pages that people wrote are all opened and searched. Of those that programs write, of names and
    of files, the longest of each shape is opened, and some that are drawn; those are searched that
    have a kind of element that none before has.
    """
    files = sorted(file for file in site.rglob("*.html") if "_static" not in file.parts)
    alike = [f for f in files if f.relative_to(site).parts[0] in {"reference", "src"}]
    longest = {shape(file): file for file in sorted(alike, key=lambda file: file.stat().st_size)}
    searched = {*files} - {*alike}
    seen = frozenset[str]()
    for kinds in sorted(longest, key=len, reverse=True):
        searched |= set() if kinds <= seen else {longest[kinds]}
        seen |= kinds
    drawn = alike if every else random.Random(0).sample(alike, DRAWN)
    opened = searched.union(longest.values(), drawn)
    return [(f"/{f.relative_to(site).as_posix()}", f in searched) for f in sorted(opened)]


@contextmanager
def served(site: Path, pages: list[tuple[str, bool]], report: Found) -> Iterator[str]:
    handler = partial(Handler, pages=pages, report=report, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@pytest.fixture(scope="session")
def site() -> Path:
    """The site, which the session builds before the tests."""
    folder = ROOT / "build" / "site"
    assert (folder / "index.html").exists(), "`nox -s docs` builds it"
    return folder


def opened(site: Path, pages: list[tuple[str, bool]], profile: Path) -> list[dict[str, Any]]:
    """Open pages in Chromium, and return what is on each."""
    assert BROWSER is not None, "needs Chromium"
    found = Found()
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    with served(site, pages, found) as address:
        browser = subprocess.Popen(
            [BROWSER, *options, f"{address}/check.html"], stderr=subprocess.DEVNULL
        )
        try:
            before = -1
            while not found.finished.wait(LONGEST):
                assert len(found.pages) > before, f"{pages[before][0]} takes over {LONGEST} s"
                before = len(found.pages)
        finally:
            browser.terminate()
            browser.wait()
    assert found.failed == []
    return found.pages


@pytest.mark.browser
@pytest.mark.timeout(0)  # each page has a time of its own
@pytest.mark.parametrize("part", range(PARTS))
def test_pages_in_a_browser(site: Path, tmp_path: Path, part: int) -> None:
    pages = chosen(site, every="TINYJAX_EVERY_PAGE" in os.environ)[part::PARTS]
    found = opened(site, pages, tmp_path / "profile")
    assert [page["page"] for page in found] == [page for page, _ in pages]
    faults: list[str] = []
    for page in found:
        name = page["page"]
        faults += [f"{name}: {v}" for v in (*page["violations"], *page["overflows"])]
        faults += [f"{name}: script: {error}" for error in page["errors"]]
        faults += [f"{name} loads {address}" for address in page["elsewhere"]]
        if page["headings"] != 1:
            faults.append(f"{name} has {page['headings']} headings of the first level")
        if not page["title"] or page["lang"] != "en":
            faults.append(f"{name} has title {page['title']!r}, language {page['lang']!r}")
        if page["outputs"] < OUTPUTS.get(name, 0):
            faults.append(f"{name} shows {page['outputs']} outputs")
        if name == "/index.html" and page["bytes"] > 300_000:
            faults.append(f"{name} loads {page['bytes']} bytes")
    assert not faults, "\n".join(faults)


@pytest.mark.browser
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("query", "leads_to"),
    [
        ("lax.scan", "tinyjax.lax.scan"),
        ("jax.lax.scan", "tinyjax.lax.scan"),
        ("jnp.linalg.norm", "tinyjax.numpy.linalg.norm"),
        ("from jax import vmap", "tinyjax.vmap"),
        ("jax.numpy.absolute(", "tinyjax.numpy.abs"),
        ("norm", "tinyjax.numpy.linalg.norm"),
        ("tree_map", "tinyjax.tree.map"),
        ("TracerBoolConversionError", "tinyjax.errors.TracerBoolConversionError"),
        ("UnexpectedTracerError", "tinyjax.errors.LeakedTracerError"),
        ("Python bool needs the data of an array", "tinyjax.errors.TracerBoolConversionError"),
        ("incompatible shapes for broadcasting", "tinyjax.errors.ShapeError"),
        ("carry input and carry output must have equal types", "tinyjax.errors.CarryTypeError"),
    ],
)
def test_search_leads_to_the_page(site: Path, tmp_path: Path, query: str, leads_to: str) -> None:
    assert BROWSER is not None, "needs Chromium"
    address = f"{(site / 'search.html').as_uri()}?q={quote(query)}"
    options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}")
    dump = ("--virtual-time-budget=20000", "--dump-dom", address)
    page = subprocess.run([BROWSER, *options, *dump], capture_output=True, text=True, check=True)
    _, _, results = page.stdout.partition('id="names"')
    pages = re.findall(r'href="reference/([^"#]+)\.html', results)
    assert leads_to in pages[: 1 if "." in query or "_" in query else 8]
