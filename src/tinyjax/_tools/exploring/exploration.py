"""``draw``: a jaxpr as a graph, its nested programs as boxes, laid out by Graphviz."""

from __future__ import annotations

import html
import os
import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Literal, TypeVar, get_args

import attrs

from tinyjax import config, errors
from tinyjax._base import frames, tracebacks
from tinyjax._extensions.costs import Work, programs_run, work_of
from tinyjax._tools.exploring import costs, model, numbering
from tinyjax._tools.exploring.compiled import (
    EquationMarks,
    StableHLO,
    read_hlo,
    read_stablehlo,
    with_products,
)
from tinyjax._tools.exploring.measuring import measure
from tinyjax.core import jit, xla
from tinyjax.core.jit import stages
from tinyjax.core.tracing import calling, checking, jaxpr as jx, trace as tr
from tinyjax.core.values import Array, avals as av, concrete, integers as ints
from tinyjax.profiler.xla import profile_of

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
    errors.check_function("draw", fun)
    depth = ints.integer(depth, "depth")
    wrapped: jit.JitFunction[..., Any] = fun if isinstance(fun, jit.JitFunction) else jit.jit(fun)

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
        """Return the graph of a program."""
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

    def _edges(self, nodes: dict[jx.Var, str], atoms: list[jx.Atom], head: str) -> None:
        for x in atoms:
            if isinstance(x, jx.Var):
                self._lines.append(f"{nodes[x]} -> {head} [label={_quoted(str(x.aval))}];")

    def _equations_of(self, jaxpr: jx.Jaxpr, nodes: dict[jx.Var, str], depth: int) -> None:
        self._equations += len(jaxpr.eqns)
        if self._equations > _MOST_EQUATIONS:
            raise errors.ArgumentError(
                f"'{self._name}' has more than {_MOST_EQUATIONS:,} equations, too many to be "
                "drawn. Draw a part of it, leave nested programs out (depth=0), or explore it."
            )
        for eqn in jaxpr.eqns:
            inner = programs_run(eqn) if depth < self._depth else []
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


# ``explore``: a function traced, lowered, compiled and run, and all of it kept to look at.


T = TypeVar("T")

Measure = Literal["flops", "bytes", "seconds", "xla_seconds"]
_MOST_SHOWN: Final = 8
_MOST_PROFILED: Final = 10
_SECONDS_PROFILED: Final = 0.3
_MOST_RUNS: Final = 10**6


@attrs.frozen(eq=False, repr=False)
class Exploration(model.Explored):
    """A program to look at; in a notebook it shows itself."""

    def shares(self, measure: Measure = "flops") -> dict[tuple[str, int], float]:
        """Return the share of each line in the cost of the whole program.

        Args:
            measure: ``"flops"``, ``"bytes"``, or, where they were measured, ``"seconds"``, which
                are NumPy's, and ``"xla_seconds"``, those of the compiled program.

        Returns:
            For each line, by file and number, its share, the largest first. They add up to less
            than one where equations come from no line of yours.

        Raises:
            ArgumentError: there is no such measure, or the seconds were not measured.
        """
        total = amount(self.work, measure)
        amounts = {(x.file, x.number): amount(x.work, measure) for x in self.lines}
        largest = sorted(amounts.items(), key=lambda item: -item[1])
        return {key: value / total if total else 0.0 for key, value in largest}

    def html(self) -> str:
        """Return the page: one HTML document that needs nothing else."""
        return numbering.page(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, which any browser opens from disk.

        Args:
            path: the file, such as ``"step.html"``.

        Returns:
            The path.
        """
        file = Path(path)
        file.write_text(self.html(), encoding="utf-8")
        return file

    def _repr_html_(self) -> str:
        # in a frame of its own, whose styles and scripts do not meet those of the notebook
        inner = html.escape(self.html())
        return (
            f'<iframe title="{html.escape(self.name)}, explored" srcdoc="{inner}" '
            'style="width:100%;height:760px;border:1px solid #8888"></iframe>'
        )

    def __repr__(self) -> str:
        work = self.work
        times = ", ".join([f"{t.name} {seconds_text(t.seconds)}" for t in self.timings])
        head = (
            f"{self.name}: {len(self.equations)} equations, {work.flops:.3g} flops, "
            f"{work.nbytes:.3g} bytes"
        )
        shares = list(self.shares("flops" if work.flops else "bytes").items())[:_MOST_SHOWN]
        texts = {(line.file, line.number): line.text.strip() for line in self.lines}
        rows = [f"{share:6.1%}  {frames.place(*key)}: {texts[key]}" for key, share in shares]
        return "\n".join([head, *([times] if times else []), *rows])


def amount(work: Work, measure: Measure) -> float:
    """Return the part of some work that a measure is about.

    Raises:
        ArgumentError: it was not measured.
    """
    measures = get_args(Measure)
    if measure not in measures:
        raise errors.ArgumentError(
            f"measure is {', '.join(map(repr, measures))}, but got {errors.shortened(measure)}."
        )
    value: float | None = getattr(work, "nbytes" if measure == "bytes" else measure)
    if value is None:
        raise errors.ArgumentError(
            "the time of equations was not measured: explore(f, measured=True)(...) does."
        )
    return value


def seconds_text(seconds: float) -> str:
    """Write a time with its unit."""
    if seconds < 1e-3:
        return f"{1e6 * seconds:.3g} us"
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


@checking.explained
def explore(
    fun: Callable[..., Any], *, measured: bool = False, runs: int = 10
) -> Callable[..., Exploration]:
    """Return a function that traces, compiles and runs ``fun``, and gives all of it to look at.

    The page that it makes shows your lines with their share of the cost, the jaxpr, StableHLO and
    compiled HLO. Pointing at a piece lights what it came from and what it became.

    Args:
        fun: the function, jitted or not; ``grad(f)`` and other transformed functions are explored
            with their derivatives.
        measured: whether to measure each equation: evaluated with NumPy, one by one, and in the
            compiled program, as XLA's profile tells. Where a profile is being recorded, XLA records
            no other.
        runs: how often the compiled program is run for its time; 0 for not at all. It is not run
            where it has effects, or where arguments are ``ShapeDtypeStruct``.

    Returns:
        Takes the arguments of ``fun``, for which a ``ShapeDtypeStruct`` may stand, and returns an
        ``Exploration``, which shows itself in a notebook and has ``save(path)``.

    Raises:
        ArgumentError: when called, if ``measured`` is set and the program cannot be run.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> def loss(w, x):
        ...     return jnp.tanh(x @ w).sum()
        >>> seen = tinyjax.explore(tinyjax.grad(loss), runs=0)(jnp.ones((4, 2)), jnp.ones((3, 4)))
        >>> seen.work.flops
        102.0
        >>> [(value.type, value.nbytes) for value in seen.waiting]
        [('float32[3,2]', 24), ('float32[3,4]', 48)]
    """
    if ints.integer(runs, "runs") > _MOST_RUNS:
        raise errors.ArgumentError(
            f"explore runs at most {_MOST_RUNS:,} times, but got {errors.shortened(runs)}."
        )
    errors.check_function("explore", fun)
    wrapped: jit.JitFunction[..., Any] = fun if isinstance(fun, jit.JitFunction) else jit.jit(fun)

    @tracebacks.folded
    def look(*args: Any, **kwargs: Any) -> Exploration:
        timings: list[model.Timing] = []
        fresh = wrapped if wrapped is fun else jit.jit(fun)
        lowered = _timed(timings, "trace", lambda: fresh.lower(*args, **kwargs))
        # The debugger of NaNs has equations of backward passes say which line they belong to.
        with config.scoped(debug_nans=True):
            traced = wrapped.lower(*args, **kwargs)
        operands = _operands(wrapped, lowered, args, kwargs)
        if measured and operands is None:
            raise errors.ArgumentError(
                f"'{lowered.name}' cannot be measured: it has effects, or an argument has no data."
            )
        with tr.use_trace(tr.EVAL), config.scoped(cache_dir="", debug_nans=False, debug_infs=False):
            return _explored(lowered, traced, operands, measured, runs, timings)

    return look


def _timed(timings: list[model.Timing], name: str, call: Callable[[], T]) -> T:
    start = perf_counter()
    result = call()
    timings.append(model.Timing(name, perf_counter() - start))
    return result


def _repeat(run: Callable[[], None]) -> None:
    """Run a program a few times for its profile, or once if that takes long."""
    start = perf_counter()
    for _ in range(_MOST_PROFILED):
        run()
        if perf_counter() - start > _SECONDS_PROFILED:
            break


def _operands(
    wrapped: jit.JitFunction[..., Any], lowered: stages.Lowered, args: Any, kwargs: Any
) -> list[Array] | None:
    """Return the data that the program is run on; None where it has effects or no data."""
    leaves, in_tree, _ = wrapped._parameters.split(args, kwargs)
    if jx.effects(lowered.jaxpr).any or any(isinstance(x, av.ShapeDtypeStruct) for x in leaves):
        return None
    leaves, in_tree, _ = calling.opened(leaves, in_tree)
    operands = lowered.operands(calling.as_arrays(leaves, wrapped, in_tree))
    return [*operands] if all(isinstance(x, concrete.ConcreteArray) for x in operands) else None


def _views(programs: numbering.ProgramTree) -> tuple[model.ProgramView, ...]:
    texts = [jx.jaxpr_text(jaxpr) for jaxpr in programs.jaxprs]
    return tuple(
        [
            model.ProgramView(text.binders, text.outs, tuple(range(first, first + len(text.eqns))))
            for text, first in zip(texts, programs.first, strict=True)
        ]
    )


def _explored(
    lowered: stages.Lowered,
    traced: stages.Lowered,
    operands: Sequence[Array] | None,
    measured: bool,
    runs: int,
    timings: list[model.Timing],
) -> Exploration:
    compilation = attrs.evolve(lowered.compilation, donated=())
    _timed(timings, "lower", lambda: xla.lowered(lowered.jaxpr, lowered.name))
    programs = numbering.programs_of(traced.jaxpr)
    marked, _ = xla.lowered(traced.jaxpr, traced.name, (), EquationMarks(programs))
    stablehlo = read_stablehlo(marked, programs)
    compilation = attrs.evolve(compilation, jaxpr=traced.jaxpr)
    executable = _timed(timings, "compile", lambda: xla.compile_anew(compilation))
    hlo = with_products(read_hlo(executable.loaded.get_hlo_text()), stablehlo.lines)
    arrays = operands or []

    def run() -> None:
        for out in executable(arrays):
            out.block_until_ready()

    if operands is not None and runs:
        _timed(timings, "first run", run)
        later: list[model.Timing] = []
        for _ in range(runs):
            _timed(later, "later runs", run)
        timings.append(model.Timing("later runs", statistics.median([t.seconds for t in later])))
    works = [work_of(eqn) for _, eqn in programs.equations()]
    seconds: dict[int, float] | None = None
    times: costs.CompiledTimes | None = None
    if measured and operands is not None:
        # nothing else evaluates programs equation by equation
        seconds = measure(traced.jaxpr, operands)
        profile = profile_of(lambda: _repeat(run))
        if profile is not None:
            times = costs.compiled_times(profile.ops, hlo, stablehlo.of_equation, works)
            hlo = costs.with_times(hlo, times)
    lines = numbering.LineNumbers()
    equations = _equations(programs, stablehlo, lines, works, seconds, times)
    waiting = costs.waiting(programs, lines)
    return Exploration(
        traced.name,
        lines.finish(equations, waiting),
        _views(programs),
        equations,
        stablehlo.lines,
        hlo,
        costs.moments(programs),
        waiting,
        tuple(timings),
        programs.bounded,
        None if times is None else times.unattributed,
    )


def _equations(
    programs: numbering.ProgramTree,
    stablehlo: StableHLO,
    lines: numbering.LineNumbers,
    works: Sequence[Work],
    seconds: dict[int, float] | None,
    compiled: costs.CompiledTimes | None,
) -> tuple[model.EquationView, ...]:
    texts = [text for jaxpr in programs.jaxprs for text in jx.jaxpr_text(jaxpr).eqns]
    views: list[model.EquationView] = []
    idle = [x for jaxpr in programs.jaxprs for x in numbering.unused(jaxpr)]
    for number, (program, eqn) in enumerate(programs.equations()):
        times = 0.0 if idle[number] else programs.times[program]
        work = works[number].repeated(times)
        if seconds is not None:
            # programs that share an equation share its time
            passed = seconds.get(id(eqn), 0.0) / len(programs.of_eqn[id(eqn)])
            work = attrs.evolve(work, seconds=passed)
        if compiled is not None:
            work = attrs.evolve(work, xla_seconds=compiled.equations.get(number, 0.0))
        location = None if eqn.source is None else eqn.source.location
        views.append(
            model.EquationView(
                program,
                eqn.primitive.name,
                texts[number],
                lines.number(location),
                costs.direction_of(eqn),
                programs.nested(eqn),
                times,
                work,
                stablehlo.of_equation[number],
            )
        )
    return tuple(views)
