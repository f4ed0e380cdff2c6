"""The ``python`` blocks of a Markdown page: found, and run for what they show.

The blocks of a page share one namespace and run in order. A block with prompts (``>>>``) is
compared with the output it shows. Any other block shows, as a cell of a notebook does, what it
printed, its last expression, and the figures of matplotlib that it drew.
"""

from __future__ import annotations

import ast
import doctest
import io
import os
import pkgutil
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import attrs

import tinyjax
from tinyjax.core.tracing.primitive import registry

# Figures are drawn into files, and never in a window.
os.environ.setdefault("MPLBACKEND", "agg")

FENCE: Final = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Pages of the gallery whose programs call packages, and these. ``nox -s packages`` installs them,
#: and runs the programs.
PACKAGES: Final = {
    "vapour": "thermo",  # brings chemicals
    "noise": "filterpy",
    "orbit": "sgp4",
    "wind_farm": "windpowerlib",
    "sound": "librosa",
}
FLAGS: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class BlockError(Exception):
    """A block does not do what its page says."""


@attrs.frozen
class Block:
    """One fenced block: its text, the line above it, and where the fences begin and end."""

    text: str
    line: int
    start: int
    end: int

    @property
    def prompts(self) -> bool:
        """The flag for a block with prompts, which shows its output itself."""
        return ">>>" in self.text


@attrs.frozen
class Picture:
    """A picture as SVG, and what to read out in its place."""

    svg: str
    alt: str


@attrs.frozen
class Output:
    """The output of a block: text that it printed, its last value, and pictures.

    Attributes:
        text: what was printed, and the ``repr`` of the last value if it has no other form.
        html: the last value as HTML, or an empty string.
        pictures: the last value if it is a picture, and the figures drawn.
    """

    text: str = ""
    html: str = ""
    pictures: tuple[Picture, ...] = ()


def needs_packages(page: Path) -> bool:
    """Return whether the blocks of a page run in the environment of ``nox -s packages`` alone."""
    return page.parent.name == "gallery" and page.stem in PACKAGES


def blocks_in(text: str) -> list[Block]:
    """Find the ``python`` blocks of a page."""
    return [
        Block(m.group(1), text.count("\n", 0, m.start()) + 1, m.start(), m.end())
        for m in FENCE.finditer(text)
    ]


def failures_of(test: doctest.DocTest) -> str:
    """Run an example with prompts; say where it shows another output than it gives."""
    messages: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=messages.append, clear_globs=False)
    return "".join(messages)


def run(block: Block, page: Path, namespace: dict[str, Any]) -> Output:
    """Run a block of a page in the page's namespace.

    Raises:
        BlockError: the output is another than the block shows, or a figure has no title.
    """
    if block.prompts:
        parsed = doctest.DocTestParser().get_doctest(
            block.text, namespace, page.name, str(page), block.line
        )
        if failed := failures_of(parsed):
            raise BlockError(failed)
        namespace.update(parsed.globs)
        return Output()
    # Lines as in the page, so that what reads a function's source finds it there.
    tree = ast.parse("\n" * block.line + block.text, str(page))
    last: ast.expr | None = None
    if tree.body and isinstance(final := tree.body[-1], ast.Expr):
        last = final.value
        del tree.body[-1]
    printed = io.StringIO()
    value: Any = None
    with redirect_stdout(printed):
        exec(compile(tree, str(page), "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last), str(page), "eval"), namespace)
    return _shown(value, printed.getvalue(), tuple(_figures(f"{page.name}:{block.line}")))


def modules() -> list[str]:
    """List the modules of the package, but for the one that is for processes without jax."""
    names = (module.name for module in pkgutil.walk_packages(tinyjax.__path__, "tinyjax."))
    return ["tinyjax", *(name for name in names if name != "tinyjax.as_jax")]


@contextmanager
def primitives_put_back() -> Iterator[None]:
    """Take back at the end what primitives a page declares: others may use their names."""
    for module in modules():  # those loaded on first use declare some that are to stay
        import_module(module)
    before = dict(registry)
    try:
        yield
    finally:
        registry.clear()
        registry.update(before)


def _shown(value: Any, text: str, figures: tuple[Picture, ...]) -> Output:
    """Choose the form of a block's last value: a picture, HTML or text."""
    module = type(value).__module__.partition(".")[0]
    if value is None or module == "matplotlib" or _holds_artists(value):
        return Output(text, "", figures)
    if svg := _form_of(value, "_repr_svg_"):
        return Output(text, "", (Picture(svg, _title_of(svg)), *figures))
    if html := _form_of(value, "_repr_html_"):
        return Output(text, html, figures)
    return Output(f"{text}{value!r}\n", "", figures)


def _form_of(value: Any, method: str) -> str | None:
    form: str | None = getattr(value, method)() if hasattr(type(value), method) else None
    return form


def _holds_artists(value: Any) -> bool:
    """Tell whether a value is what functions of matplotlib return: a list or tuple of lines."""
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(type(item).__module__.partition(".")[0] == "matplotlib" for item in value)


def _title_of(svg: str) -> str:
    match = re.search(r"<title>([^<]+)</title>", svg)
    return match[1] if match else "A drawing of the program"


def _figures(place: str) -> Iterator[Picture]:
    """Draw and close the figures that are open; a figure's title is what is read out for it."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
        alt = "; ".join(filter(None, titles))
        file = io.StringIO()
        with pyplot.rc_context({"svg.hashsalt": place}):  # the same names in every build
            figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
        pyplot.close(figure)
        if not alt:
            raise BlockError(f"{place}: give the figure a title, which is read out to the blind")
        yield Picture(file.getvalue(), alt)
