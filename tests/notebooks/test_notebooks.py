"""The output of notebooks: run by nbclient in a fresh kernel (``nox -s notebooks``)."""

import re
from importlib import import_module
from typing import Any

import pytest

nbformat: Any = import_module("nbformat")
nbclient: Any = import_module("nbclient")

START = """
import os, signal, threading, time
import tinyjax, tinyjax.numpy as jnp
from tinyjax import lax
A = jnp.ones((200, 200)) * 0.005
def interrupt(seconds):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
"""

CELLS = {
    "array": "jnp.linspace(0.0, 1.0, 400).reshape(20, 20)",
    "scalar": "jnp.sin(1.0)",
    "explored": "tinyjax.explore(lambda x: jnp.sin(x) @ x, runs=1)(jnp.ones(3))",
    "drawn": "tinyjax.draw(lambda x: jnp.sin(x) @ x)(jnp.ones(3))",
    "jaxpr": "tinyjax.make_jaxpr(jnp.sin)(1.0)",
    "residuals": "tinyjax.saved_residuals(lambda x: jnp.sin(x) * x, jnp.ones(3))",
    "picture": "tinyjax.debug.visualize_array(A)",
    "inspected": ("def f(x):\n    y = x + 1\n    return 2 * y\ntinyjax.debug.inspect(f)(1.0)"),
    "progress": (
        "with tinyjax.debug.progress():\n"
        "    step = lambda i, x: jnp.tanh(x @ A)\n"
        "    tinyjax.jit(lambda x: lax.fori_loop(0, 100_000, step, x))(A).block_until_ready()"
    ),
    "interrupted loop": (
        "interrupt(3)\n"
        "with tinyjax.debug.progress():\n"
        "    tinyjax.jit(lambda x: lax.fori_loop(0, 2_000_000_000, step, x))(A)"
    ),
    "interrupted program": (
        "interrupt(1)\n"
        "with tinyjax.config.scoped(interruptible=True):\n"
        "    tinyjax.jit(lambda x: lax.fori_loop(0, 60_000, step, x))(A).block_until_ready()"
    ),
    "interrupted tracing": (
        "interrupt(1)\n"
        "def slow(x):\n"
        "    while True:\n"
        "        x = jnp.sin(x)\n"
        "tinyjax.jit(slow)(1.0)"
    ),
    "interrupted compilation": (
        "def large(x):\n"
        "    for k in range(400):\n"
        "        x = jnp.sin(x * (k + 1)) @ jnp.ones((4, 4))\n"
        "    return x\n"
        "lowered = tinyjax.jit(large).lower(jnp.ones(4))\n"
        "interrupt(0.5)\n"
        "lowered.compile()"
    ),
    "after": "jnp.arange(3) + 1",
    "mistake": (
        "def wrong(x):\n    y = x + 1\n    return y @ jnp.ones(7)\ntinyjax.jit(wrong)(jnp.ones(3))"
    ),
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, list[Any]]:
    """Return the output of each cell."""
    cells = [nbformat.v4.new_code_cell(text) for text in (START, *CELLS.values())]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(
        notebook, timeout=240, allow_errors=True, kernel_name="python3"
    ).execute()
    return {
        name: cell.outputs for name, cell in zip(("start", *CELLS), notebook.cells, strict=True)
    }


def data_of(outputs: list[Any], kind: str) -> str:
    (text,) = [out.data[kind] for out in outputs if kind in out.get("data", {})]
    return str(text)


def error_of(outputs: list[Any]) -> str:
    (error,) = [out for out in outputs if out.output_type == "error"]
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))


def test_the_start_says_nothing(outputs: dict[str, list[Any]]) -> None:
    assert outputs["start"] == []


def test_values_are_shown(outputs: dict[str, list[Any]]) -> None:
    shown = data_of(outputs["array"], "text/html")
    assert "float32[20,20]" in shown
    assert "<img" in shown
    (scalar,) = outputs["scalar"]
    assert [*scalar.data] == ["text/plain"]
    assert "<iframe" in data_of(outputs["explored"], "text/html")
    assert any("image/svg+xml" in out.data or "text/plain" in out.data for out in outputs["drawn"])
    assert "lambda" in data_of(outputs["jaxpr"], "text/html")
    assert "<table>" in data_of(outputs["residuals"], "text/html")
    assert "float32[200,200]" in data_of(outputs["picture"], "text/html")


def test_lines_are_named_by_their_cells(outputs: dict[str, list[Any]]) -> None:
    printed = outputs["inspected"][0].text
    assert re.match(r"f \(Cell In\[\d+\], line 2\)\n", printed)
    assert "    2  y = x + 1\n       → 2.\n" in printed


def test_a_loop_has_a_bar_below_its_cell(outputs: dict[str, list[Any]]) -> None:
    (bar,) = outputs["progress"]
    assert "100,000/100,000" in bar.data["text/html"]
    assert '<progress value="1.0000">' in bar.data["text/html"]
    assert "Cell In[" in bar.data["text/plain"]


@pytest.mark.parametrize("name", [name for name in CELLS if name.startswith("interrupted")])
def test_ctrl_c_is_heard(outputs: dict[str, list[Any]], name: str) -> None:
    assert "KeyboardInterrupt" in error_of(outputs[name])
    if name in ("interrupted loop", "interrupted tracing"):
        assert "tinyjax/" not in error_of(outputs[name])


def test_an_interrupted_loop_says_that_it_is_stopped(outputs: dict[str, list[Any]]) -> None:
    bar = outputs["interrupted loop"][0]
    assert bar.data["text/plain"].endswith(" stopped")


def test_work_goes_on_after_interrupts(outputs: dict[str, list[Any]]) -> None:
    assert data_of(outputs["after"], "text/plain") == "Array([1, 2, 3], dtype=int32)"


def test_a_mistake_shows_the_users_lines_alone(outputs: dict[str, list[Any]]) -> None:
    told = error_of(outputs["mistake"])
    assert re.search(r"Cell In\[\d+\], line 3", told)
    assert "return y @ jnp.ones(7)" in told
    assert "tinyjax/" not in told
    assert len(told.splitlines()) < 40
