"""``draw``: a jaxpr as a graph, its nested programs as boxes, laid out by Graphviz."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs

from tinyjax import errors
from tinyjax.core.jit import JitFunction, jit
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.values import integers as ints
from tinyjax.exploring import numbering
from tinyjax.tree.node import check_callable

#: A graph of more equations cannot be read, and takes Graphviz long.
_MOST_EQUATIONS: Final = 1_000
_LAYOUT_SECONDS: Final = 60

_HEAD: Final = """digraph {
  rankdir=TB; nodesep=0.2; ranksep=0.3; fontname="sans-serif"; fontsize=10; bgcolor="transparent";
  node [fontname="sans-serif", fontsize=10, shape=box, style="rounded,filled",
        fillcolor="#eef3fa", color="#5f6b7d", height=0.3, margin="0.1,0.04"];
  edge [fontname="sans-serif", fontsize=8, color="#5f6b7d", arrowsize=0.6];
"""


@attrs.frozen(eq=False, repr=False)
class Drawing:
    """A program as a graph; in a notebook it shows itself.

    Attributes:
        dot: the graph in Graphviz's language, which many programs read.
    """

    dot: str

    def svg(self) -> str:
        """Lay the graph out, and return it as SVG.

        Raises:
            ArgumentError: Graphviz's program ``dot`` is not installed.
        """
        program = shutil.which("dot")
        if program is None:
            raise errors.ArgumentError(
                "to lay out a graph takes Graphviz's program 'dot', which is not here. Install "
                "Graphviz (apt, brew, conda or winget have it), or take the graph's text, '.dot'."
            )
        run = subprocess.run(
            [program, "-Tsvg"],
            input=self.dot,
            capture_output=True,
            text=True,
            check=True,
            timeout=_LAYOUT_SECONDS,
            encoding="utf-8",
        )
        return run.stdout[run.stdout.index("<svg") :]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the graph to a file: as its text where the name ends in ``.dot``, else as SVG.

        Args:
            path: the file, such as ``"step.svg"``.

        Returns:
            The path.

        Raises:
            ArgumentError: Graphviz's program ``dot`` is not installed.
        """
        file = Path(path)
        file.write_text(self.dot if file.suffix == ".dot" else self.svg(), encoding="utf-8")
        return file

    def _repr_svg_(self) -> str | None:
        return self.svg() if shutil.which("dot") else None

    def __repr__(self) -> str:
        return self.dot


def draw(fun: Callable[..., Any], *, depth: int = 3) -> Callable[..., Drawing]:
    r"""Return a function that draws the jaxpr of ``fun`` as a graph.

    Equations are nodes, values are edges with their types, and the programs in loops, branches and
    calls are boxes around theirs.

    Args:
        fun: the function, jitted or not.
        depth: how deep within each other boxes are drawn; programs deeper down are left out.

    Returns:
        Takes the arguments of ``fun``, for which a ``ShapeDtypeStruct`` may stand, and returns a
        ``Drawing``, which has ``dot``, ``svg()`` and ``save(path)``, and shows itself in a
        notebook where Graphviz is installed.

    Raises:
        ArgumentError: when called, if the program has too many equations to be drawn.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> drawing = tinyjax.draw(lambda x: jnp.sin(x) * 2.0)(1.0)
        >>> print(*[line for line in drawing.dot.splitlines() if "->" in line], sep="\n")
          v0 -> e1 [label="float32[]"];
          e1 -> e2 [label="float32[]"];
          e2 -> r3 [label="float32[]"];
    """
    check_callable("draw", "its first argument", fun)
    depth = ints.integer(depth, "depth")
    wrapped: JitFunction[..., Any] = fun if isinstance(fun, JitFunction) else jit(fun)

    def make(*args: Any, **kwargs: Any) -> Drawing:
        lowered = wrapped.lower(*args, **kwargs)
        return Drawing(_Graph(lowered.name, depth).text(lowered.jaxpr))

    return make


class _Graph:
    """A graph under construction."""

    def __init__(self, name: str, depth: int) -> None:
        self._name = name
        self._depth = depth
        self._lines: list[str] = []
        self._count = 0
        self._equations = 0

    def text(self, jaxpr: jx.Jaxpr) -> str:
        """The graph of a program."""
        nodes: dict[jx.Var, str] = {}
        for var in jaxpr.in_binders:
            nodes[var] = self._node("v", str(var.aval), 'shape=ellipse, fillcolor="#e9f5e9"')
        self._equations_of(jaxpr, nodes, 0)
        for x in jaxpr.outs:
            label = "result" if isinstance(x, jx.Var) else f"result {x}"
            self._edges(nodes, [x], self._node("r", label, 'shape=ellipse, fillcolor="#fbeee6"'))
        body = "\n".join(f"  {line}" for line in self._lines)
        return f"{_HEAD}  label={_quoted(self._name)}; labelloc=t;\n{body}\n}}\n"

    def _node(self, kind: str, label: str, attributes: str = "", tip: str = "") -> str:
        name = f"{kind}{self._count}"
        self._count += 1
        attributes_text = [f"label={_quoted(label)}", *([attributes] if attributes else [])]
        if tip:
            attributes_text.append(f"tooltip={_quoted(tip)}")
        self._lines.append(f"{name} [{', '.join(attributes_text)}];")
        return name

    def _edges(self, nodes: dict[jx.Var, str], atoms: list[jx.Atom], to: str) -> None:
        for x in atoms:
            if isinstance(x, jx.Var):
                self._lines.append(f"{nodes[x]} -> {to} [label={_quoted(str(x.aval))}];")

    def _equations_of(self, jaxpr: jx.Jaxpr, nodes: dict[jx.Var, str], depth: int) -> None:
        self._equations += len(jaxpr.eqns)
        if self._equations > _MOST_EQUATIONS:
            raise errors.ArgumentError(
                f"'{self._name}' has more than {_MOST_EQUATIONS:,} equations, too many to be "
                "drawn. Draw a part of it, leave nested programs out (depth=0), or explore it."
            )
        for eqn in jaxpr.eqns:
            inner = numbering.programs_run(eqn) if depth < self._depth else []
            if not inner:
                node = self._equation(eqn)
                self._edges(nodes, [*eqn.inputs], node)
                nodes.update((var, node) for var in eqn.out_binders)
                continue
            with self._box(eqn.primitive.name):
                head = self._equation(eqn)
                ends = [self._program(program, head, depth) for program in inner]
                tail = self._node("t", "results", 'shape=plaintext, style=""')
                for end in ends:
                    self._lines.append(f"{end} -> {tail} [style=dotted];")
            self._edges(nodes, [*eqn.inputs], head)
            nodes.update((var, tail) for var in eqn.out_binders)

    def _program(self, jaxpr: jx.Jaxpr, head: str, depth: int) -> str:
        """Draw a program within an equation's box, and return the node of its results."""
        inner: dict[jx.Var, str] = {}
        with self._box(""):
            for var in jaxpr.in_binders:
                inner[var] = self._node("v", str(var.aval), 'shape=ellipse, fillcolor="#e9f5e9"')
            entries = [*inner.values()]
            self._equations_of(jaxpr, inner, depth + 1)
            end = self._node("r", "results", 'shape=ellipse, fillcolor="#fbeee6"')
            self._edges(inner, [*jaxpr.outs], end)
        # a node belongs to the first box that mentions it
        self._lines += [f"{head} -> {entry} [style=dotted];" for entry in entries or [end]]
        return end

    def _equation(self, eqn: jx.JaxprEqn) -> str:
        literals = [str(x) for x in eqn.inputs if isinstance(x, jx.Lit)]
        label = " ".join([eqn.primitive.name, *literals])
        return self._node("e", label, tip="" if eqn.source is None else str(eqn.source.location))

    @contextmanager
    def _box(self, label: str) -> Iterator[None]:
        self._lines.append(f"subgraph cluster_{self._count} {{")
        self._count += 1
        self._lines.append(f'label={_quoted(label)}; color="#9aa5b5"; style=rounded;')
        yield
        self._lines.append("}")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
