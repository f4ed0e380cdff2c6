"""The gallery: ``python -m tools.gallery_pages`` in ``tests/`` draws pictures and writes pages.

Given names of examples, it draws and writes these alone. A page is its script, whose cells
(``# %%``) begin with the page's text as comments, and what the script prints.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import attrs
from PIL import Image

from website.blocks import PACKAGES

ROOT: Final = Path(__file__).parents[2]
SCRIPTS: Final = ROOT / "examples" / "gallery"
PAGES: Final = ROOT / "docs" / "gallery"

#: In the order of the index.
NAMES: Final = (
    "ink",
    "mandelbrot",
    "pendulum",
    "digits",
    "convolution",
    "gaussian_process",
    "neural_ode",
    "hamiltonian",
    "laplace",
    "ground_state",
    "transport",
    "adjoint",
    "heaters",
    "stencil",
    "rover",
    "arrhenius",
    "memory_budget",
    "new_primitive",
    "controller",
    "digit_hunt",
    *PACKAGES,
)
COLUMNS: Final = 3
#: Pictures of more bytes are reduced to few colours.
LARGE: Final = 45_000
#: Pictures of lines alone, which few colours draw.
LINES: Final = ("arrhenius", "controller", "digit_hunt", "vapour", "noise", "orbit", "wind_farm")
INDEX: Final = """# Gallery

Short programs, each with the picture that it draws. You run one by `python
examples/gallery/NAME.py picture.png`; it needs matplotlib, and some need SciPy or scikit-learn
(`pip install matplotlib scikit-learn`). The last five call packages as they are, by
`tinyjax.source.capture`, and need these. Each page shows the whole program, with a word on each of
its parts, and is a notebook to download on the site. Most others run on JAX too: change the
imports, and set `jax_enable_x64` where they use float64.

"""


@attrs.frozen
class Script:
    """A script: its title, what is seen, and its cells as pairs of text and code."""

    name: str
    title: str
    text: str
    cells: tuple[tuple[str, str], ...]

    @property
    def line(self) -> str:
        """The first sentence of the text."""
        return re.split(r"(?<=[.?])\s", self.text, maxsplit=1)[0].replace("\n", " ")


def read(name: str) -> Script:
    source = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(source))
    assert docstring is not None, name
    title, _, text = docstring.partition("\n\n")
    program = source.split('"""', 2)[2].split("\nif __name__ ==", 1)[0]
    cells: list[tuple[str, str]] = []
    for cell in re.split(r"^# %%\n", program, flags=re.MULTILINE):
        comment = re.match(r"(#.*\n)*", cell)
        assert comment is not None, "it matches nothing at least"
        said = re.sub(r"^# ?", "", comment[0], flags=re.MULTILINE)
        cells.append((said.strip(), cell[comment.end() :].strip()))
    return Script(name, title.rstrip("."), text, tuple(cells))


def page(script: Script, printed: str) -> str:
    """The page of a script that prints so."""
    parts = [
        f"# {script.title}",
        script.text,
        f"![{script.title}](pictures/{script.name}.png)",
    ]
    for said, code in script.cells:
        parts += [said] if said else []
        parts += [f"```python\n{code}\n```"] if code else []
    path = f"examples/gallery/{script.name}.py"
    install = f"pip install matplotlib {PACKAGES[script.name]}\n" if script.name in PACKAGES else ""
    parts += [
        f"Run [the script](../../{path}):",
        f"```sh\n{install}python {path} {script.name}.png\n```",
        f"It draws the picture above, and prints:\n\n```text\n{printed}```",
        "On the site this page can be downloaded as a notebook, which shows the picture.",
        "[All of the gallery](index.md)",
    ]
    return "\n\n".join(parts) + "\n"


def printed_on(text: str) -> str:
    """Return the output of the script that a page shows."""
    found = re.search(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None, "the page has no such block"
    return found[1]


def index() -> str:
    scripts = [read(name) for name in NAMES]
    cells = [
        f"[![{s.title}](pictures/{s.name}.png)]({s.name}.md)<br>[{s.title}]({s.name}.md). {s.line}"
        for s in scripts
    ]
    head = "|" + " |" * COLUMNS + "\n|" + "---|" * COLUMNS + "\n"
    starts = range(0, len(cells), COLUMNS)
    rows = (f"| {' | '.join(cells[start : start + COLUMNS])} |\n" for start in starts)
    return INDEX + head + "".join(rows)


def draw(name: str) -> None:
    """Run a script, and write its page."""
    picture = PAGES / "pictures" / f"{name}.png"
    command = [sys.executable, str(SCRIPTS / f"{name}.py"), str(picture)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    with Image.open(picture) as drawn:
        reduced = drawn.copy()
    if name in LINES or picture.stat().st_size > LARGE:  # 256 colours are a third of the size
        count = 32 if name in LINES else 256
        reduced = reduced.convert("RGB").quantize(count, dither=Image.Dither.NONE)
    reduced.save(picture, optimize=True)
    (PAGES / f"{name}.md").write_text(page(read(name), done.stdout), encoding="utf-8")


if __name__ == "__main__":
    (PAGES / "pictures").mkdir(parents=True, exist_ok=True)
    for chosen in sys.argv[1:] or NAMES:
        draw(chosen)
    (PAGES / "index.md").write_text(index(), encoding="utf-8")
