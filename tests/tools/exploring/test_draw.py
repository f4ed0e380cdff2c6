"""Jaxprs as graphs: what is in their text, and that Graphviz takes it."""

import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax
from tinyjax.core.tracing.jaxpr import Jaxpr, subjaxprs
from tinyjax.errors import ArgumentError

X = np.ones((3, 3), np.float32)


def choosing(x: Any) -> Any:
    return lax.while_loop(
        lambda c: c.sum() < 9,
        lambda c: lax.cond(c[0, 0] > 1, lambda c: c * 2, jnp.ones_like, c),
        x,
    )


def scanning(x: Any) -> Any:
    return lax.scan(lambda c, t: (c @ t, t), x, jnp.stack([x, x]))[0]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "flat": lambda x: (jnp.sin(x) * 2.0 + x, 3),
    "jitted": tinyjax.jit(jnp.sin),
    "loops and branches": choosing,
    "gradient of a loop": tinyjax.grad(lambda x: scanning(x).sum()),
    "no equations": lambda x: (x, x),
}


def equations(jaxpr: Jaxpr, depth: int) -> int:
    inner = sum(equations(j, depth - 1) for e in jaxpr.eqns for j in subjaxprs(e.params))
    return len(jaxpr.eqns) + (inner if depth else 0) if depth >= 0 else 0


@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_equation_is_a_node(name: str, depth: int, tmp_path: Path) -> None:
    f = FUNCTIONS[name]
    drawing = tinyjax.draw(f, depth=depth)(X)
    lines = [line.strip() for line in drawing.dot.splitlines()]
    nodes = [found[1] for line in lines if (found := re.match(r"([vert]\d+) \[", line))]
    edges = [found.groups() for line in lines if (found := re.match(r"(\w+) -> (\w+) \[", line))]
    assert len({*nodes}) == len(nodes)
    assert {end for edge in edges for end in edge} <= {*nodes}
    jaxpr = tinyjax.jit(f).lower(X).jaxpr if name != "jitted" else None
    if jaxpr is not None:
        assert sum(node.startswith("e") for node in nodes) == equations(jaxpr, depth)
    assert sum(line.count("{") - line.count("}") for line in lines) == 0
    assert drawing.save(tmp_path / "f.dot").read_text(encoding="utf-8") == drawing.dot


@pytest.mark.browser
def test_graphviz_lays_it_out(tmp_path: Path) -> None:
    drawing = tinyjax.draw(choosing)(X)
    root = ET.fromstring(drawing.svg())
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    nodes = re.findall(r"^\s*([vert]\d+) \[", drawing.dot, re.MULTILINE)
    assert nodes
    assert {*nodes} <= {*titles}
    assert drawing.save(tmp_path / "f.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_drawing_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    drawing = tinyjax.draw(jnp.sin)(1.0)
    assert drawing._repr_svg_() is None
    with raises(ArgumentError, match="Install Graphviz"):
        drawing.svg()


def test_large_programs_are_not_drawn() -> None:
    def f(x: Any) -> Any:
        for i in range(600):
            x = jnp.sin(x) * float(i)
        return x

    with raises(ArgumentError, match=r"more than 1,000 equations"):
        tinyjax.draw(f)(1.0)
