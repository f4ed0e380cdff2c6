"""The site: its parts, and its pages opened in Chromium."""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
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
from website import links, reference
from website.blocks import BlockError, Shown, blocks_in, run
from website.notebooks import cells_of, is_notebook, notebook, written
from website.staging import DOCS, ROOT, inclusions, names_listed, source_of

PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


# What blocks show


def shown(code: str) -> Shown:
    (block,) = blocks_in(f"```python\n{code}\n```\n")
    return run(block, Path("page.md"), {"__name__": "__main__"})


def test_a_block_shows_what_it_prints_and_its_last_value() -> None:
    assert shown("print(1)\n2 + 3") == Shown("1\n5\n")
    assert shown("x = 1") == shown("None") == shown(">>> 1 + 1\n2") == Shown()
    assert "sin" in shown("import tinyjax\ntinyjax.make_jaxpr(tinyjax.numpy.sin)(1.0)").html


def test_a_block_shows_its_figures_by_their_titles() -> None:
    plot = "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\n"
    (picture,) = shown(plot + 'axes.set(title="A line")\naxes.plot([1, 2])').pictures
    assert picture.alt == "A line"
    assert "<svg" in picture.svg
    with pytest.raises(BlockError, match="title"):
        shown(plot)


def test_a_block_is_compared_with_the_output_it_shows() -> None:
    with pytest.raises(BlockError, match="Expected"):
        shown(">>> 1 + 1\n3")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_block_of_python_is_found(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^[ >]*(?:`{3,}|~{3,}) *py", text, re.MULTILINE | re.IGNORECASE)
    assert len(blocks_in(text)) == len(fences), "a block that is written otherwise does not run"


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
    cells = json.loads(written(page))["cells"]
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
#: Pages with more elements are left out of the search for what some readers cannot read: they are
#: made as the others are, and would take minutes.
LARGEST = 6000
#: Of the pages of names and of files, which are made alike, one in so many is looked at closely.
SAMPLE = 40
#: So that errors are known that happen before a page is loaded.
LISTENER = (
    b"<head><script>window.errors = []; addEventListener('error', "
    b"(e) => errors.push(e.message || e.target.src || e.target.href), true);</script>"
)


@attrs.frozen
class Found:
    """What the browser sends: what is on each page, and at the end what went wrong."""

    pages: list[dict[str, Any]] = attrs.field(factory=list[dict[str, Any]])
    failed: list[str] = attrs.field(factory=list[str])
    done: Event = attrs.field(factory=Event)


class Handler(SimpleHTTPRequestHandler):
    """Serves the site, the page that opens its pages, and takes what that finds."""

    def __init__(self, *args: Any, pages: list[str], found: Found, **options: Any) -> None:
        self.pages, self.found = pages, found
        super().__init__(*args, **options)

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if path == "/check.html":
            self.answer((Path(__file__).parent / "check.html").read_bytes(), "text/html")
        elif path == "/axe.js":
            axe = resources.files("axe_core_python") / "axe.min.js"
            self.answer(axe.read_bytes(), "text/javascript")
        elif path == "/pages.json":
            asked = {"pages": self.pages, "closely": closely(self.pages), "largest": LARGEST}
            self.answer(json.dumps(asked).encode(), "application/json")
        elif path.endswith(".html"):
            text = (Path(self.directory) / path[1:]).read_bytes()
            self.answer(text.replace(b"<head>", LISTENER, 1), "text/html")
        else:
            super().do_GET()

    def do_POST(self) -> None:
        what = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(b"", "text/plain")
        if self.path == "/found":
            self.found.pages.append(what)
        else:
            self.found.failed.extend(what.values())
            self.found.done.set()

    def answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def closely(pages: list[str]) -> list[str]:
    """Choose the pages that are searched for what some readers cannot read, at all widths."""
    alike = [page for page in pages if page.startswith(("/reference/", "/src/"))]
    return [page for page in pages if page not in alike] + alike[::SAMPLE]


@contextmanager
def served(site: Path, pages: list[str], found: Found) -> Iterator[str]:
    handler = partial(Handler, pages=pages, found=found, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built unless TINYJAX_SITE names a folder that has it."""
    folder = tmp_path_factory.mktemp("site")
    if given := os.environ.get("TINYJAX_SITE"):
        return Path(given)
    command = [sys.executable, "-m", "website", str(folder)]
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    run = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "XLA_FLAGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr  # a warning is an error
    return folder


def opened(site: Path, pages: list[str], profile: Path) -> list[dict[str, Any]]:
    """Open pages in Chromium, and return what is on each."""
    assert BROWSER is not None, "needs Chromium"
    found = Found()
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    with served(site, pages, found) as address:
        browser = subprocess.Popen(
            [BROWSER, *options, f"{address}/check.html"], stderr=subprocess.DEVNULL
        )
        try:
            assert found.done.wait(1500), f"only {len(found.pages)} of {len(pages)} pages opened"
        finally:
            browser.terminate()
            browser.wait()
    assert found.failed == []
    return found.pages


@pytest.mark.browser
@pytest.mark.timeout(2400)
def test_pages_in_a_browser(site: Path, tmp_path: Path) -> None:
    pages = sorted(f"/{file.relative_to(site).as_posix()}" for file in site.rglob("*.html"))
    pages = [page for page in pages if not page.startswith("/_static/")]
    found = opened(site, pages, tmp_path / "profile")
    assert [page["page"] for page in found] == pages
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
    assert not faults, "\n".join(faults)
    (home,) = (page for page in found if page["page"] == "/index.html")
    assert home["bytes"] < 300_000
    assert sum(page["elements"] <= LARGEST for page in found) > len(found) / 2
    outputs = {page["page"]: page["outputs"] for page in found}
    assert outputs["/docs/tutorials/first-steps.html"] >= 8
    assert outputs["/docs/how-it-works.html"] >= 2


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
