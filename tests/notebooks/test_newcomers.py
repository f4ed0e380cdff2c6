"""Pages of the site as a newcomer uses them: their code, copied into a fresh notebook.

What is run is what the copy buttons of the site copy, so no page can say what does not work. Of the
gallery the last cell is a call of ``main``, with small settings; its result is held against what is
known of it.
"""

import base64
import doctest
import io
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from website.blocks import FLAGS, Block, blocks_in
from website.staging import DOCS, ROOT

nbformat: Any = import_module("nbformat")
nbclient: Any = import_module("nbclient")
pictures: Any = import_module("PIL.Image")

#: Of pages of the gallery: how ``main`` is called, and what holds for what it returns.
TASKS: dict[str, tuple[str, Callable[[dict[str, float]], bool]]] = {
    "digits": ("main(steps=150, width=32)", lambda x: x["misread"] < 100),
    "convolution": ("main(steps=60)", lambda x: x["read correctly, in percent"] > 85),
    "gaussian_process": (
        "main(count=80, steps=15)",
        lambda x: x["log likelihood after"] > x["log likelihood before"],
    ),
    "hamiltonian": (
        "main(steps=400)",
        lambda x: abs(x["mean spread"] / x["mean spread, exactly"] - 1) < 0.25,
    ),
    "neural_ode": (
        "main(steps=25, width=8, length=3.0)",
        lambda x: x["root mean square error of the pieces"] < 0.6,
    ),
    "laplace": ("main(steps=150, width=8)", lambda x: x["greatest error"] < 0.25),
    "transport": (
        "main(count=60, blur=0.02, steps=2)",
        lambda x: x["mean distance from the letters' points"] < 0.15,
    ),
    "stencil": ("main(side=8, end=1.0)", lambda x: x["products for a Jacobian"] == 8),
    "adjoint": ("main(rounds=40)", lambda x: 0 < x["best angle in degrees"] < 45),
    "mandelbrot": (
        "main(pixels=60, limit=100)",
        lambda x: abs(x["area of the set"] / 1.5066 - 1) < 0.1,
    ),
    "new_primitive": (
        "main(size=24, sigma=1.0, steps=60)",
        lambda x: x["error of the sharpened one"] < 0.8 * x["error of the blurred photograph"],
    ),
    "pendulum": ("main(count=25, steps=20)", lambda x: x["loss"] > 0),
    "ink": ("main(size=16, steps=5, rounds=30)", lambda x: all(np.isfinite([*x.values()]))),
}
TUTORIALS = ("first-steps", "derivatives", "loops")
TEXTS = [ROOT / "README.md", *[DOCS / "tutorials" / f"{name}.md" for name in TUTORIALS]]


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have kernels choose how figures are shown; the site's blocks draw into files."""
    monkeypatch.delenv("MPLBACKEND", raising=False)


def run(cells: list[str], folder: Path) -> list[list[Any]]:
    """What cells show in a fresh notebook."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    client = nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()  # an error in a cell is one here
    return [cell.outputs for cell in notebook.cells]


def shown(outputs: list[Any]) -> str:
    """What a cell printed, and its last value, as a terminal would show them."""
    return "".join(
        out.text if out.output_type == "stream" else out.data["text/plain"] + "\n"
        for out in outputs
        if out.output_type in {"stream", "execute_result"}
    )


@pytest.mark.parametrize("name", TASKS)
def test_a_task_of_the_gallery(name: str, tmp_path: Path) -> None:
    text = (DOCS / "gallery" / f"{name}.md").read_text(encoding="utf-8")
    call, holds = TASKS[name]
    blocks = [block.text for block in blocks_in(text)]
    *before, drawn, told = run([*blocks, f"found = {call}", "found"], tmp_path)
    for outputs in (*before, drawn):  # warnings, and what XLA would say
        assert not [out for out in outputs if out.output_type == "stream"]
    assert holds(eval(shown(told), {"inf": np.inf})), shown(told)
    (picture,) = [out.data["image/png"] for out in drawn if "image/png" in out.get("data", {})]
    pixels = np.asarray(pictures.open(io.BytesIO(base64.b64decode(picture))).convert("RGB"))
    assert min(pixels.shape[:2]) > 200
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50  # something is drawn


def cells_of(block: Block) -> list[tuple[str, str]]:
    """The cells that a block is copied into, each with what is to be shown."""
    if not block.prompts:
        return [(block.text, "")]
    examples = doctest.DocTestParser().get_examples(block.text)
    return [(example.source, example.want) for example in examples]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_a_page_in_a_notebook(page: Path, tmp_path: Path) -> None:
    cells = [
        cell for block in blocks_in(page.read_text(encoding="utf-8")) for cell in cells_of(block)
    ]
    outputs = run([source for source, _ in cells], tmp_path)
    checker = doctest.OutputChecker()
    for (source, want), found in zip(cells, outputs, strict=True):
        assert not [out for out in found if out.get("name") == "stderr"], source
        if want:
            got = re.sub(r"\x1b\[[0-9;]*m", "", shown(found))
            assert checker.check_output(want, got, FLAGS), f"{source}shows\n{got}and not\n{want}"
