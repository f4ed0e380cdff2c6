"""Pages of the site as a newcomer uses them: the notebooks that it offers, run in fresh kernels.

Of the gallery the last cell is a call of ``main``, here with small settings; its result is held
against what is known of it.
"""

import base64
import doctest
import io
import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from website.blocks import FLAGS, blocks_in
from website.notebooks import notebook
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
    "rover": (
        "main(count=61, beacons=12)",
        lambda x: x["error of the path found"] < x["error of the path by its wheels"],
    ),
    "arrhenius": ("main(count=6)", lambda x: x["measurements at the coldest"] == 3),
    "heaters": (
        "main(size=21, steps=60, rounds=80)",
        lambda x: x["part of it within two cells of a heater"] > 0.8,
    ),
    "adjoint": ("main(rounds=40)", lambda x: 0 < x["best angle in degrees"] < 45),
    "mandelbrot": (
        "main(pixels=60, limit=100)",
        lambda x: abs(x["area of the set"] / 1.5066 - 1) < 0.1,
    ),
    "new_primitive": (
        "main(size=24, sigma=1.0, steps=60)",
        lambda x: x["error of the sharpened one"] < 0.8 * x["error of the blurred photograph"],
    ),
    "digit_hunt": ("main(count=30)", lambda x: x["digits that are right"] < 5),
    "controller": ("main(steps=400)", lambda x: x["degrees from the goal"] < 20),
    "pendulum": ("main(count=25, steps=20)", lambda x: x["loss"] > 0),
    "ink": ("main(size=16, steps=5, rounds=30)", lambda x: all(np.isfinite([*x.values()]))),
}
TUTORIALS = sorted(p for p in (DOCS / "tutorials").glob("*.md") if p.name != "index.md")
TEXTS = [ROOT / "README.md", DOCS / "thinking.md", *TUTORIALS]


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have kernels choose how figures are shown; the site's blocks draw into files."""
    monkeypatch.delenv("MPLBACKEND", raising=False)


def run(page: Path, folder: Path, *last: str) -> list[list[Any]]:
    """Return the output of a page's cells of code, the last of which may be replaced by others."""
    made = nbformat.reads(json.dumps(notebook(page)), as_version=4)
    nbformat.validate(made)
    if last:
        made.cells[-1:] = [nbformat.v4.new_code_cell(text) for text in last]
    client = nbclient.NotebookClient(
        made, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()  # an error in a cell that is not marked to raise one is one here
    return [cell.outputs for cell in made.cells if cell.cell_type == "code"]


def shown(outputs: list[Any]) -> str:
    """Return a cell's prints, and its last value, as a terminal would show them."""
    return "".join(
        out.text if out.output_type == "stream" else out.data["text/plain"] + "\n"
        for out in outputs
        if out.output_type in {"stream", "execute_result"}
    )


@pytest.mark.parametrize("name", TASKS)
def test_a_task_of_the_gallery(name: str, tmp_path: Path) -> None:
    call, holds = TASKS[name]
    page = DOCS / "gallery" / f"{name}.md"
    *before, drawn, told = run(page, tmp_path, f"found = {call}", "found")
    for outputs in (*before, drawn):  # warnings, and what XLA would say
        assert not [out for out in outputs if out.output_type == "stream"]
    assert holds(eval(shown(told), {"inf": np.inf})), shown(told)
    (picture,) = [out.data["image/png"] for out in drawn if "image/png" in out.get("data", {})]
    pixels = np.asarray(pictures.open(io.BytesIO(base64.b64decode(picture))).convert("RGB"))
    assert min(pixels.shape[:2]) > 200
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50  # something is drawn


def expected_outputs(page: Path) -> list[doctest.Example]:
    """Return the expected output of each cell: cells without prompts have none."""
    parser, found = doctest.DocTestParser(), list[doctest.Example]()
    for block in blocks_in(page.read_text(encoding="utf-8")):
        examples = parser.get_examples(block.text)
        found += examples if block.prompts else [doctest.Example(block.text, "")]
    return found


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_a_page_in_a_notebook(page: Path, tmp_path: Path) -> None:
    checker = doctest.OutputChecker()
    for example, found in zip(expected_outputs(page), run(page, tmp_path), strict=True):
        assert not [out for out in found if out.get("name") == "stderr"], example.source
        if example.exc_msg:
            (error,) = [out for out in found if out.output_type == "error"]
            assert error.ename == example.exc_msg.partition(":")[0].rpartition(".")[2]
        elif example.want:
            got = re.sub(r"\x1b\[[0-9;]*m", "", shown(found))
            same = checker.check_output(example.want, got, FLAGS)
            assert same, f"{example.source}shows\n{got}and not\n{example.want}"
