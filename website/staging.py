"""The folder that Sphinx reads: the pages as they lie in the repository, and more.

The folder mirrors the repository, so that links between pages hold as they are. docs/index.md
becomes the first page. A link to a file that is no page leads to one that shows it, and a link with
the title "reference of NAME" to what the reference says of it. A paragraph that is one link with a
title "source of NAME" becomes the source of that function or class.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import textwrap
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs

from website import finding
from website.blocks import Output, blocks_in, needs_packages, primitives_put_back, run
from website.name_pages import Reference
from website.notebooks import is_notebook, render

ROOT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = ROOT / "docs"

#: The pages in the order of reading, some with a title for the navigation. A folder's index.md
#: brings the pages that it links to, but for those that stand here.
NAVIGATION: Final[dict[str, tuple[str, ...]]] = {
    "Start": (
        "docs/installation",
        "docs/tutorials/first-steps",
        "docs/thinking",
        "docs/tutorials/traps",
        "How it works <docs/how-it-works>",
        "docs/five-ideas",
    ),
    "Learn": (
        "docs/tutorials/index",
        "docs/gallery/index",
        "docs/why",
        "docs/which",
    ),
    "Coming from JAX": (
        "The same, and what differs <docs/from-jax>",
        "All differences <docs/differences>",
        "docs/jax_api",
        "docs/scipy_api",
        "Libraries <docs/libraries>",
    ),
    "Guides": (
        "By question <docs/guides>",
        "docs/faq",
        "docs/glossary",
        "docs/numpy",
        "docs/packages",
        "docs/toolbox",
        "docs/implicit",
        "docs/source",
        "Compiled programs <docs/compilation>",
        "docs/c",
        "docs/accuracy",
        "docs/timing",
        "docs/exploring",
        "docs/sharding",
        "docs/types",
        "docs/testing",
    ),
    "Reference": ("Every public name <reference/index>",),
    "Inside": (
        "docs/reading",
        "docs/design",
        "docs/new-primitive",
        "A new transformation <docs/transformations>",
        "docs/derivations",
        "docs/inside/extensions",
        "docs/inside/compilation",
        "docs/inside/devices",
        "docs/inside/debugging",
        "docs/inside/source",
        "docs/inside/package",
        "docs/jaxlib",
    ),
    "Evidence": (
        "docs/performance",
        "docs/performance-tables",
        "docs/evidence",
        "docs/scale",
    ),
    "Project": ("docs/changelog", "docs/contributing"),
}

_LINK: Final = re.compile(r"(\]\()([^)\s]+)((?:\s+\"[^\"]*\")?\))")
_SOURCE: Final = re.compile(r"^\[[^\]]*\]\(([^)\s]+)\s+\"source of ([\w.]+)\"\)$", re.MULTILINE)
_REFERENCE: Final = re.compile(r"\[([^\]]*)\]\([^)\s]+\s+\"reference(?: of ([\w.]+))?\"\)")
_CODE: Final = re.compile(r"(`[^`]+`)")
_FENCED: Final = re.compile(r"^(```+)[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
_FENCE: Final = "``````"


class PageError(Exception):
    """A page links to something that is not there."""


def source_of(name: str) -> str:
    """Return the source of what has this name, such as ``tinyjax.core.tracing.trace.Trace``."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            module = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        value: Any = module
        for part in parts[cut:]:
            value = inspect.getattr_static(value, part)
        if inspect.isclass(value) or inspect.isroutine(value):
            return textwrap.dedent(inspect.getsource(inspect.unwrap(value)))
        return _statement(module, parts[-1])
    raise PageError(f"there is no {name}")


def _statement(module: ModuleType, name: str) -> str:
    """Return the statement of a module that gives a name its value."""
    text = inspect.getsource(module)
    for node in ast.parse(text).body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=found)]) | ast.AnnAssign(target=ast.Name(id=found))
            ):
                if found == name:
                    return "".join(
                        text.splitlines(keepends=True)[node.lineno - 1 : node.end_lineno]
                    )
            case _:
                pass
    raise PageError(f"{module.__name__} does not define {name}")


def inclusions(text: str) -> list[tuple[str, str]]:
    """List what a page includes of the library: the file that it names, and the name there."""
    return [(m[1], m[2]) for m in _SOURCE.finditer(text)]


@attrs.frozen
class Staging:
    """A folder that Sphinx is to read.

    Attributes:
        folder: the folder, which is made anew.
    """

    folder: Path
    _pages: set[Path] = attrs.field(factory=set[Path])

    def write(self) -> None:
        """Write all pages, and run their code."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        print("reading the package", flush=True)
        reference = Reference()
        print(f"writing pages of {len(reference.names)} names", flush=True)
        for name, text in reference.pages().items():
            self._put(Path("reference", f"{name}.rst"), text)
        self._put(Path("static", "names.js"), reference.script())
        self._put(Path("static", "sections.js"), finding.script())
        for file in reference.sources():
            self._shown(file)
        for file in sorted(DOCS.rglob("*")):
            if file.is_file() and file.suffix != ".md":
                self._put(file.relative_to(ROOT), file.read_bytes())
        for file in sorted(DOCS.rglob("*.md")):
            self._page(file)

    def _put(self, name: Path, content: str | bytes) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    def _page(self, file: Path) -> None:
        """Write a page of the repository, once."""
        if file in self._pages:
            return
        self._pages.add(file)
        print(f"running pages... [{len(self._pages)}] {file.relative_to(ROOT)}", flush=True)
        name = _staged(file)
        text = file.read_text(encoding="utf-8")
        documents = file.parent.is_relative_to(DOCS)
        if documents and not needs_packages(file):
            text = self._with_output(text, file)
        text = self._linked(text, file)
        if documents and is_notebook(file):
            beside = name.with_suffix(".ipynb")
            self._put(beside, render(file))
            link = f"{{download}}`Download this page as a notebook <{beside.name}>`"
            text = re.sub(
                r"^(# .*)$", lambda m: f"{m[1]}\n\n{link}", text, count=1, flags=re.MULTILINE
            )
        if name == Path("index.md"):
            text += _contents()
        elif file.name == "index.md" and file.parent != DOCS:
            text += _toctree(None, _linked_pages(file))
        self._put(name, text if documents else f"---\norphan: true\n---\n{text}")

    def _with_output(self, text: str, file: Path) -> str:
        """Run the blocks of a page and put what they showed below each."""
        namespace: dict[str, Any] = {"__name__": "__main__"}
        parts: list[str] = []
        end = 0
        blocks = blocks_in(text)
        with primitives_put_back():
            shown = [run(block, file, namespace) for block in blocks]
        for block, what in zip(blocks, shown, strict=True):
            parts += [text[end : block.end], self._render(what, file, f"{block.line}")]
            end = block.end
        return "".join((*parts, text[end:]))

    def _render(self, shown: Output, file: Path, place: str) -> str:
        """Write what a block showed in MyST's Markdown."""
        parts: list[str] = []
        if shown.text:
            options = ":class: output"
            parts.append(
                f"{_FENCE}{{code-block}} text\n{options}\n\n{shown.text.rstrip()}\n{_FENCE}"
            )
        if shown.html:
            html = f'<div class="output rich">{shown.html}</div>'
            parts.append(f"{_FENCE}{{raw}} html\n{html}\n{_FENCE}")
        for number, picture in enumerate(shown.pictures):
            name = Path(f"{_staged(file).with_suffix('').as_posix()}-{place}-{number}.svg")
            self._put(name, picture.svg)
            parts.append(f"{_FENCE}{{figure}} {name.name}\n:alt: {picture.alt}\n{_FENCE}")
        return "".join(f"\n\n{part}" for part in parts)

    def _linked(self, text: str, file: Path) -> str:
        """Lead links to where their targets lie in the folder; include what the page includes."""
        parts: list[str] = []
        end = 0
        for fenced in _FENCED.finditer(text):
            parts += [self._prose(text[end : fenced.start()], file), fenced[0]]
            end = fenced.end()
        return "".join((*parts, self._prose(text[end:], file)))

    def _prose(self, text: str, file: Path) -> str:
        text = _SOURCE.sub(
            lambda m: (
                f"{_FENCE}{{code-block}} python\n:caption: {m[2]}\n\n{source_of(m[2])}{_FENCE}"
            ),
            text,
        )
        text = _REFERENCE.sub(_to_reference, text)
        parts = _CODE.split(text)  # every other one is code
        parts[::2] = [
            _LINK.sub(lambda m: f"{m[1]}{self._target(m[2], file)}{m[3]}", part)
            for part in parts[::2]
        ]
        return "".join(parts)

    def _target(self, link: str, file: Path) -> str:
        path, mark, section = link.partition("#")
        if not path or ":" in path:
            return link
        target = (file.parent / path).resolve()
        if not target.exists():
            raise PageError(f"{file.relative_to(ROOT)} links to {link}, which is not there")
        if target.is_dir():
            target /= "README.md"
        if not target.exists():
            self._folder(target)
        elif target.suffix == ".md":
            self._page(target)
        elif not target.is_relative_to(DOCS):
            self._shown(target)
        staged = os.path.relpath(_staged(target), _staged(file).parent)
        return f"{Path(staged).as_posix()}{mark}{section}"

    def _folder(self, index: Path) -> None:
        """Write a page that lists the files of a folder without a page of its own."""
        if index in self._pages:
            return
        self._pages.add(index)
        files = sorted(file.name for file in index.parent.iterdir() if file.is_file())
        rows = "".join(f"- [{name}]({name})\n" for name in files)
        head = f"---\norphan: true\n---\n# {index.parent.relative_to(ROOT).as_posix()}\n\n"
        self._put(_staged(index), head + self._linked(rows, index))

    def _shown(self, file: Path) -> None:
        """Write a page that shows a file, once; search leaves it out."""
        if file in self._pages:
            return
        self._pages.add(file)
        name = file.relative_to(ROOT).as_posix()
        language = "python" if file.suffix == ".py" else "text"
        head = f"---\norphan: true\nnosearch: true\n---\n# {name}\n\n"
        body = f"{_FENCE}{{code-block}} {language}\n\n{file.read_text(encoding='utf-8')}{_FENCE}\n"
        self._put(_staged(file), head + body)


def _to_reference(link: re.Match[str]) -> str:
    """Lead a link to an entry of the reference, or to the list of its modules."""
    text = link[1].replace("`", "")
    if link[2] is None:
        return f"{{doc}}`{text} </reference/index>`"
    return f"{{py:obj}}`{text} <{link[2]}>`"


def _staged(file: Path) -> Path:
    """Say where in the folder the page of a file is."""
    name = file.relative_to(ROOT)
    if file == DOCS / "index.md":
        return Path("index.md")
    if file.suffix == ".md" or file.is_relative_to(DOCS):
        return name
    return name.with_name(f"{name.name}.md")


def _linked_pages(index: Path) -> list[str]:
    """List the pages that an index brings, in its order: those that it links to, beside it."""
    folder, listed = index.parent.relative_to(ROOT).as_posix(), names_listed()
    links = (m[2].partition("#")[0] for m in _LINK.finditer(index.read_text(encoding="utf-8")))
    pages = (link.removesuffix(".md") for link in links if re.fullmatch(r"[^/]+\.md", link))
    return [page for page in dict.fromkeys(pages) if f"{folder}/{page}" not in listed]


def names_listed() -> set[str]:
    """List the pages of the navigation by their names."""
    entries = (entry for entries in NAVIGATION.values() for entry in entries)
    return {re.sub(r".*<(.*)>", r"\1", entry) for entry in entries}


def _contents() -> str:
    """Write the navigation, which the first page carries."""
    return "".join(_toctree(caption, list(entries)) for caption, entries in NAVIGATION.items())


def _toctree(caption: str | None, pages: list[str]) -> str:
    options = ":hidden:\n" + (f":caption: {caption}\n" if caption else "")
    return f"\n```{{toctree}}\n{options}\n" + "".join(f"{page}\n" for page in pages) + "```\n"
