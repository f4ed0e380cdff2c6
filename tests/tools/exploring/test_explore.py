"""The explorer: costs held against XLA's count, links against each other, pages in a browser."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import digits
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.real_programs import PROGRAMS
from raising import raises
from tinyjax import lax
from tinyjax._extensions.costs import Work
from tinyjax._tools.exploring import Exploration, command
from tinyjax._tools.exploring.costs import compiled_times
from tinyjax._tools.exploring.model import Computation, Instruction
from tinyjax.core.xla.backend import backend
from tinyjax.errors import ArgumentError
from tinyjax.profiler.xla import OpEvent

XLA: Any = import_module("jaxlib._jax")

W, X = np.ones((4, 4), np.float32), np.ones((5, 4), np.float32)


def recurrent(w: Any, x: Any) -> Any:
    y = jnp.tanh(x @ w)  # products of (5, 4) and (4, 4)

    def body(c: Any, t: Any) -> Any:
        c = jnp.sin(c @ w)  # five products of (4,) and (4, 4)
        return c * t, c

    return lax.scan(body, y[0], y)[1].sum()


@pytest.fixture(scope="module")
def of_gradient() -> Exploration:
    return tinyjax.explore(tinyjax.grad(recurrent), measured=True, runs=2)(W, X)


def line_with(text: str) -> int:
    """The number of the line of this file that has a comment."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"# {text}"))


# Costs


def once(seen: Exploration) -> tuple[float, float]:
    """Operations and functions of a program with one iteration of each loop, as XLA counts."""
    calls = [0.0] * len(seen.programs)
    calls[0] = 1.0
    for eqn in seen.equations:
        for inner in eqn.nested:
            calls[inner] += calls[eqn.program] * (eqn.times > 0)
    runs = [(e, calls[e.program] / e.times) for e in seen.equations if e.times]
    return (
        sum(e.work.flops * share for e, share in runs),
        sum(e.work.functions * share for e, share in runs),
    )


def xla_counts(f: Any, data: Any) -> tuple[float, float]:
    """XLA's count for the program before it is compiled."""
    text = tinyjax.jit(f).lower(*data).as_text().encode()
    computation = XLA.mlir.mlir_module_to_xla_computation(
        text, use_tuple_args=False, return_tuple=False
    )
    found = XLA.hlo_module_cost_analysis(backend().client, computation.get_hlo_module())
    return float(found.get("flops", 0.0)), float(found.get("transcendentals", 0.0))


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.title)
def test_costs_of_real_programs(program: Any) -> None:
    f, data = program.build(tinyjax), program.data()
    with tinyjax.config.scoped(effort="low"):
        seen = tinyjax.explore(f, runs=0)(*data)
    flops, functions = xla_counts(f, data)
    np.testing.assert_allclose(once(seen), (flops, functions), rtol=0.1)
    for measure in ("flops", "bytes"):
        shares = seen.shares(measure)
        assert sum(shares.values()) == pytest.approx(1.0, abs=0.05)
        assert [*shares.values()] == sorted(shares.values(), reverse=True)
    check_links(seen)


COUNTED: dict[str, Any] = {
    "product": lambda x: x @ x,
    "power": lambda x: x**5 + x**-3,
    "reductions": lambda x: x.sum(0) + x.max(1),
    "place": lambda x: x.argmax(1),
    "functions": lambda x: jnp.exp(jnp.sqrt(x)) + lax.rsqrt(x),
    "choice": lambda x: jnp.where(x > 0, x, 2.0),
    "moved": lambda x: jnp.concatenate([x, x.T])[::2].reshape(-1),
    "unused": lambda x: (jnp.sin(x) + x @ x, x)[1],
    "loop": lambda x: lax.fori_loop(0, 7, lambda i, c: c * 2 + x, x),
    "convolution": lambda x: jnp.convolve(x[0], x[1], "same"),
    "convolution, backward": tinyjax.grad(
        lambda x: lax.conv_general_dilated(
            x[None, None], x[None, None, :3, :3], (2, 2), "SAME", rhs_dilation=(2, 1)
        ).sum()
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_counts_are_xlas(name: str) -> None:
    x = np.linspace(0.1, 1, 256, dtype=np.float32).reshape(16, 16)
    with tinyjax.config.scoped(effort="low"):
        seen = tinyjax.explore(COUNTED[name], runs=0)(x)
    np.testing.assert_allclose(once(seen), xla_counts(COUNTED[name], (x,)), rtol=0.1, atol=20)


def test_work_is_counted_by_line_and_iteration(of_gradient: Exploration) -> None:
    shares = of_gradient.shares()
    by_line = {line.number: line.work.flops for line in of_gradient.lines}
    # forward and for the one operand of the first product, and for both of the second
    assert by_line[line_with("products of (5, 4) and (4, 4)")] >= 2 * (2 * 5 * 4 * 4)
    assert by_line[line_with("five products of (4,) and (4, 4)")] >= 3 * 5 * (2 * 4 * 4)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert {file for file, _ in shares} == {__file__}


def test_times_are_measured(of_gradient: Exploration) -> None:
    names = [timing.name for timing in of_gradient.timings]
    assert names == ["trace", "lower", "compile", "first run", "later runs"]
    assert all(timing.seconds > 0 for timing in of_gradient.timings)
    measured = [e.work.seconds for e in of_gradient.equations]
    assert all(seconds is not None and seconds > 0 for seconds in measured)
    assert sum(of_gradient.shares("seconds").values()) == pytest.approx(1.0)
    timed = [i.seconds for c in of_gradient.hlo for i in c.instructions if i.seconds is not None]
    assert of_gradient.work.xla_seconds is not None
    assert of_gradient.untold_seconds is not None
    told = of_gradient.work.xla_seconds + of_gradient.untold_seconds
    assert sum(timed) == pytest.approx(told)
    assert sum(of_gradient.shares("xla_seconds").values()) == pytest.approx(1.0)
    unmeasured = tinyjax.explore(jnp.sin)(tinyjax.ShapeDtypeStruct((3,), "float32"))
    assert [timing.name for timing in unmeasured.timings] == names[:3]
    with raises(ArgumentError, match="measured=True"):
        unmeasured.shares("seconds")
    with raises(ArgumentError, match="measured=True"):
        unmeasured.shares("xla_seconds")
    with raises(ArgumentError, match="an argument has no data"):
        tinyjax.explore(jnp.sin, measured=True)(tinyjax.ShapeDtypeStruct((3,), "float32"))


@pytest.mark.wrong_types
def test_a_measure_that_is_not_there() -> None:
    seen = tinyjax.explore(jnp.sin, runs=0)(1.0)
    with raises(ArgumentError, match="measure is 'flops', 'bytes'"):
        seen.shares(unchecked("time"))


def test_xla_times_are_those_of_the_lines_that_take_long() -> None:
    def unequal(x: Any) -> Any:
        y = jnp.tanh(x)  # 90,000 functions
        z = lax.fori_loop(0, 20, lambda i, c: c @ y, y)  # 20 products
        return z.sum()

    x = np.full((300, 300), 1e-3, np.float32)
    seen = tinyjax.explore(unequal, measured=True, runs=0)(x)
    shares = {line: share for (_, line), share in seen.shares("xla_seconds").items()}
    assert shares[line_with("20 products")] > 0.5
    # of the loop's time what runs in it has most
    (loop,) = [i for c in seen.hlo for i in c.instructions if " while(" in i.text]
    assert loop.seconds is not None
    assert seen.work.xla_seconds is not None
    assert loop.seconds < 0.5 * seen.work.xla_seconds


EVENTS = [
    # a loop of two iterations; in each a copy and a product, which goes on beside the copy
    *(("while", 0.0, 10.0), ("copy", 1.0, 3.0), ("dot", 2.0, 4.0), ("copy", 5.0, 7.0)),
    *(("dot", 7.0, 9.0), ("tail", 10.0, 11.0)),
]


def test_time_is_divided_among_instructions_and_equations() -> None:
    def instruction(name: str, text: str, line: int | None, *calls: int) -> Instruction:
        return Instruction(name, f"%{name} = f32[] {text}", line, calls)

    hlo = (
        Computation(
            "entry",
            "",
            (instruction("while", "while()", 0, 1), instruction("tail", "fusion()", None, 2)),
        ),
        Computation(
            "body", "", (instruction("copy", "copy()", None), instruction("dot", "dot()", 1))
        ),
        Computation("fused", "", (instruction("a", "add()", 2), instruction("b", "sine()", 3))),
    )
    events = [
        OpEvent(op, "f", run, 20 * run + s, 20 * run + e) for run in (0, 1) for op, s, e in EVENTS
    ]
    works = [Work(), Work(9.0), Work(9.0), Work(0.0, 2.9)]
    found = compiled_times(events, hlo, [(0,), (1,), (2,), (3,)], works)
    assert found.instructions == {"while": 3.0, "copy": 4.0, "dot": 4.0, "tail": 1.0}
    assert found.unattributed == 4.0
    assert found.equations == pytest.approx({0: 3.0, 1: 4.0, 2: 0.25, 3: 0.75})


# Memory


def test_what_waits_for_the_backward_pass(of_gradient: Exploration) -> None:
    """It is what ``saved_residuals`` lists, by the lines that it names."""
    expected = tinyjax.saved_residuals(recurrent, W, X)
    assert sum(v.nbytes for v in of_gradient.waiting) == sum(r.nbytes for r in expected)
    by_line: defaultdict[int, int] = defaultdict(int)
    for residual in expected:
        if residual.location is not None:
            by_line[residual.location.lineno] += residual.nbytes
    found = {line.number: line.residual_bytes for line in of_gradient.lines if line.residual_bytes}
    assert found == by_line


def test_memory_is_that_of_values_that_are_still_needed() -> None:
    def f(x: Any) -> Any:
        y = x + 1  # x, y
        z = y * 2  # x, y, z: x is an argument
        return z.sum()  # z, the sum

    seen = tinyjax.explore(f, runs=0)(np.ones(256, np.float32))
    assert [m.nbytes for m in seen.memory] == [2048, 2048, 1028]


def test_checkpoint_is_seen_in_memory() -> None:
    def chain(x: Any) -> Any:
        for _ in range(6):
            x = jnp.sin(x)
        return x.sum()

    x = np.ones(1024, np.float32)
    plain, kept = (
        tinyjax.explore(tinyjax.grad(f), runs=0)(x) for f in (chain, tinyjax.checkpoint(chain))
    )
    assert sum(v.nbytes for v in kept.waiting) < sum(v.nbytes for v in plain.waiting) / 3


# Links


def check_links(seen: Exploration) -> None:
    """Check that what pieces name is there, and that both sides agree."""
    numbered = [i for program in seen.programs for i in program.equations]
    assert numbered == [*range(len(seen.equations))]
    for number, eqn in enumerate(seen.equations):
        assert number in seen.programs[eqn.program].equations
        assert all(0 < inner < len(seen.programs) for inner in eqn.nested)
        assert all(0 <= line < len(seen.stablehlo) for line in eqn.stablehlo)
        assert eqn.line is None or number in seen.lines[eqn.line].equations
    for line in seen.lines:
        assert line.equations or line.residual_bytes
    for computation in seen.hlo:
        for instruction in computation.instructions:
            assert instruction.stablehlo is None or instruction.stablehlo < len(seen.stablehlo)
            assert all(0 < called < len(seen.hlo) for called in instruction.calls)
    written = [eqn for eqn in seen.equations if eqn.stablehlo]
    assert len(written) > len(seen.equations) / 2
    for moment in seen.memory:
        assert moment.equation < len(seen.equations)


def test_pieces_name_what_they_became(of_gradient: Exploration) -> None:
    check_links(of_gradient)
    names = {"tanh": "stablehlo.tanh", "sin": "stablehlo.sine", "dot_general": "dot_general"}
    operations = {"tanh": "tanh(", "sin": "sine(", "dot_general": "dot("}
    instructions = [i for c in of_gradient.hlo for i in c.instructions]
    for primitive, operation in names.items():
        eqns = [e for e in of_gradient.equations if e.primitive == primitive]
        assert eqns
        for eqn in eqns:
            assert any(f"{operation}" in of_gradient.stablehlo[i] for i in eqn.stablehlo)
            became = [i.text for i in instructions if i.stablehlo in eqn.stablehlo]
            # of products of vectors, XLA does not say where they come from
            found = any(operations[primitive] in text for text in became)
            assert found or (primitive == "dot_general" and eqn.times == 5)
    scan = next(e for e in of_gradient.equations if e.primitive == "scan")
    assert any("stablehlo.while" in of_gradient.stablehlo[i] for i in scan.stablehlo)
    assert all(of_gradient.equations[i].times == 5 for i in of_gradient.programs[1].equations)


def test_functions_called_twice_are_linked_at_both_places() -> None:
    inner = tinyjax.jit(lambda x: jnp.sin(x) * 2)
    seen = tinyjax.explore(lambda x: inner(x) + inner(x + 1), runs=0)(np.ones(3, np.float32))
    assert all(eqn.stablehlo for eqn in seen.equations)
    check_links(seen)


# Pages


class Page(HTMLParser):
    """The contents of a page: elements by their names, loaded files, and the data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.loaded: list[str] = []
        self.labels: list[str] = []
        self.data: Any = None
        self._element: tuple[str, dict[str, str | None]] = ("", {})
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self._element = (tag, given)
        self.ids += [x for x in [given.get("id")] if x]
        self.labels += [x for x in [given.get("aria-labelledby")] if x]
        self.loaded += [x for x in (given.get("src"), given.get("href")) if x]

    def handle_data(self, text: str) -> None:
        if self._element[0] == "script" and self._element[1].get("id") == "data":
            self.data = json.loads(text)
            self._element = ("", {})


def test_a_page_is_whole_and_needs_nothing_else(of_gradient: Exploration, tmp_path: Path) -> None:
    saved = of_gradient.save(tmp_path / "step.html")
    text = saved.read_text(encoding="utf-8")
    page = Page(text)
    assert page.loaded == []
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text)
    assert len(set(page.ids)) == len(page.ids)
    assert {*page.labels, *re.findall(r'at\("([\w-]+)"\)', text)} <= {*page.ids}
    data = page.data
    assert len(data["equations"]) == len(of_gradient.equations)
    shown = {line for file in data["files"] for _, _, line in file["rows"] if line >= 0}
    assert shown == {*range(len(of_gradient.lines))}
    for _, line, program, nested, _, _, _, written in data["equations"]:
        assert line == -1 or line in shown
        assert {program, *nested} <= {*range(len(data["programs"]))}
        assert all(i < len(data["stablehlo"]) for i in written)
    for computation in data["hlo"]:
        for _, written, calls, _ in computation["rows"]:
            assert -1 <= written < len(data["stablehlo"])
            assert all(i < len(data["hlo"]) for i in calls)
    assert max(size for _, size in data["memory"]) == max(m.nbytes for m in of_gradient.memory)
    assert sum(size for _, size, _ in data["waiting"]) == sum(v.nbytes for v in of_gradient.waiting)
    assert '<iframe title="recurrent, explored" srcdoc="' in of_gradient._repr_html_()
    assert "</script>" not in of_gradient._repr_html_()


def test_text_of_users_is_no_markup(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return x * len("</script><script>alert(1)</script><!--")

    text = tinyjax.explore(f, runs=0)(2.0).html()
    assert text.count("</script>") == 2
    assert any("<script>alert(1)" in str(row) for row in Page(text).data["files"][0]["rows"])


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)

CLICKS = """
<script>
const lit = (id) => [...at(id).querySelectorAll(".row.lit")].map((row) => row.textContent);
const all = () => ({ source: lit("source"), jaxpr: lit("jaxpr"), stablehlo: lit("stablehlo"),
  hlo: lit("hlo") });
document.querySelectorAll(".block").forEach((block) => block.fill());
const found = {};
const rowWith = (id, text) =>
  [...document.querySelectorAll(`#${id} .row`)].find((row) => row.textContent.includes(text));
rowWith("source", "tanh(").click();
found.line = all();
const fold = document.querySelector("#jaxpr [aria-expanded=false]");
fold.click();
found.folded = all();
const press = (key) =>
  at("jaxpr").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
press("ArrowRight");
press("ArrowDown");
press("ArrowDown");
press("Enter");
found.within = all();
press("Escape");
found.none = all();
rowWith("hlo", " tanh(").click();
found.instruction = all();
at("measure").value = 2;
at("measure").dispatchEvent(new Event("change"));
found.costs = [...document.querySelectorAll("#source .cost")].map((cell) => cell.title);
at("moment").value = 3;
at("moment").dispatchEvent(new Event("input"));
found.moment = all();
found.wide = document.documentElement.scrollWidth > innerWidth;
found.errors = errors;
document.body.dataset.found = JSON.stringify(found);
</script>
"""


def in_browser(text: str, script: str, folder: Path, *options: str) -> Any:
    """Open a page in Chromium with a script at its end, and return what that has found."""
    assert BROWSER is not None, "install Chromium"
    watch = '<script>const errors=[];addEventListener("error",(e)=>errors.push(e.message))</script>'
    text = text.replace("<body>", f"<body>{watch}").replace("</body>", f"{script}</body>")
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    always = ("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom")
    profile = f"--user-data-dir={folder / 'profile'}"
    run = subprocess.run(
        [BROWSER, *always, *options, profile, file.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    answer = re.search(r'data-found="([^"]*)"', run.stdout)
    assert answer is not None
    return json.loads(answer[1].replace("&quot;", '"').replace("&lt;", "<").replace("&amp;", "&"))


@pytest.mark.browser
def test_views_are_linked_in_a_browser(of_gradient: Exploration, tmp_path: Path) -> None:
    found = in_browser(of_gradient.html(), CLICKS, tmp_path, "--virtual-time-budget=2000")
    assert found["errors"] == []
    assert not found["wide"]
    line = found["line"]
    assert len(line["source"]) == 1
    assert any("= tanh" in row for row in line["jaxpr"])
    assert any("stablehlo.tanh" in row for row in line["stablehlo"])
    assert any(" tanh(" in row for row in line["hlo"])
    assert not any("stablehlo.sine" in row for row in line["stablehlo"])
    assert any("stablehlo.sine" in row for row in found["folded"]["stablehlo"])
    assert len(found["within"]["jaxpr"]) == 1
    assert "sin" in found["within"]["jaxpr"][0]
    assert len(found["within"]["source"]) == 1
    assert "jnp.sin(" in found["within"]["source"][0]
    assert not any(found["none"].values())
    assert any("jnp.tanh(" in row for row in found["instruction"]["source"])
    assert any("bytes" in cost for cost in found["costs"])
    assert found["moment"]["jaxpr"]


def digits_step() -> Exploration:
    key = tinyjax.random.key(0)
    network = digits.initial(key)
    zeros = tinyjax.tree.map(jnp.zeros_like, network)
    state = digits.State(network, zeros, zeros, jnp.asarray(0.0))
    batch = digits.Digits(jnp.ones((64, 64)), jnp.zeros(64, "int32"))
    return tinyjax.explore(digits.train_step, measured=True, runs=1)(state, batch, key, 1e-3)


def scan_under_grad() -> Exploration:
    return tinyjax.explore(tinyjax.grad(recurrent), measured=True, runs=1)(W, X)


def of_5_000_equations() -> Exploration:
    def large(x: Any) -> Any:
        for k in range(850):
            x = jnp.sin(x * (k + 1.5)) + x
        return x.sum()

    with tinyjax.config.scoped(effort="low"):
        return tinyjax.explore(tinyjax.grad(large), runs=0)(np.ones(8, np.float32))


#: Says how long a page takes to be shown, what failed in it, and whether a click lights all views.
OPENED = """
<script>
document.body.offsetHeight; // lays the page out
const found = { seconds: performance.now() / 1000, errors };
document.querySelector("#source .row[data-kind]").click();
found.lit = ["source", "jaxpr", "stablehlo"].map((id) => at(id).querySelectorAll(".lit").length);
document.body.dataset.found = JSON.stringify(found);
</script>
"""
EMPTY = """
<script>
document.body.dataset.found = JSON.stringify({ seconds: performance.now() / 1000 });
</script>
"""
LARGEST = 5_000_000


@pytest.mark.browser
@pytest.mark.parametrize("made", [digits_step, scan_under_grad, of_5_000_equations])
def test_pages_open_soon(made: Callable[[], Exploration], tmp_path: Path) -> None:
    seen = made()
    if made is of_5_000_equations:
        assert len(seen.equations) > 5000
    assert len(seen.html().encode()) < LARGEST
    found = in_browser(seen.html(), OPENED, tmp_path)
    assert found["errors"] == []
    assert all(found["lit"]), found["lit"]
    if in_browser("<body></body>", EMPTY, tmp_path)["seconds"] > 0.5:
        pytest.skip("the machine is busy: even an empty page takes long to open")
    assert found["seconds"] < 3


# Other functions, and the shell


def test_jitted_functions_static_arguments_effects_and_donations() -> None:
    x = jnp.ones(3)
    seen = tinyjax.explore(tinyjax.jit(lambda x, n: x * n, static_argnums=1))(x, 3)
    assert [e.primitive for e in seen.equations] == ["mul"]
    assert len(seen.timings) == 5
    given = tinyjax.jit(lambda x: x + 1, donate_argnums=0)
    assert len(tinyjax.explore(given)(x).timings) == 5
    np.testing.assert_array_equal(x, np.ones(3))  # not given up
    values: list[float] = []

    def telling(x: Any) -> Any:
        tinyjax.debug.callback(values.append, x)
        return x

    noisy = tinyjax.explore(telling)(2.0)
    assert values == []
    assert [timing.name for timing in noisy.timings] == ["trace", "lower", "compile"]
    endless = tinyjax.explore(lambda x: lax.while_loop(lambda c: c < 9.0, lambda c: c * 2, x))(1.0)
    assert not endless.bounded
    for program in (seen, noisy, endless):
        check_links(program)


def test_methods_and_loops_of_branches() -> None:
    def f(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            return lax.cond(i % 2 == 0, jnp.sin, lambda c: c @ c, c)

        return lax.fori_loop(0, 6, body, x)

    check_links(tinyjax.explore(tinyjax.vmap(f))(np.ones((2, 3, 3), np.float32)))


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.py").write_text(
        "import tinyjax.numpy as jnp\nW = jnp.ones((4, 2))\n"
        "def loss(w, x):\n    return jnp.tanh(x @ w).sum()\n",
        encoding="utf-8",
    )
    path = (str(Path(tinyjax.__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    options = ("--args", "W", "np.ones((3, 4), np.float32)", "--runs", "1")
    done = subprocess.run(
        [sys.executable, "-m", "tinyjax.explore", "model:loss", *options],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "model.py:4: return jnp.tanh(x @ w).sum()" in done.stdout
    assert Page((tmp_path / "loss.html").read_text(encoding="utf-8")).data["name"] == "loss"
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for arguments, message in (
        (("model",), "name one of the functions in 'model': model:loss"),
        (("model:loss",), "missing a required argument: 'w'"),
        (("model.py:lost",), "Its functions: model:loss"),
        (("other.py:loss",), "there is no file 'other.py'"),
        (("model:W",), "'W' is no function"),
        (("model:loss", "--args", "W", "W", "--output", "no/x.html"), "no folder 'no'"),
        (("model:lost",), "'model' has no 'lost'"),
        (("modle:loss",), "No module named 'modle'"),
        (("model:loss", "--args", "V"), "name 'V' is not defined"),
    ):
        with pytest.raises(SystemExit) as ended:
            command.main(arguments)
        assert ended.value.code == 2
        assert message in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "model")


def test_the_module_is_called_like_the_function() -> None:
    import tinyjax.explore

    assert tinyjax.explore(jnp.sin, runs=0)(1.0).equations[0].primitive == "sin"


def test_names_and_sources_in_a_page_are_text() -> None:
    def sine(x: Any) -> Any:
        return jnp.sin(x)  # </script><script>harm()</script><img src=x onerror=harm()>

    sine.__name__ = sine.__qualname__ = "<img src=x onerror=harm()>"
    page = tinyjax.explore(sine)(1.0).html()
    assert "onerror=harm()" in page
    assert re.findall("<img|<script>harm", page) == []
