"""Bars of progress: what is drawn of which loops, and that nothing else changes."""

import _thread
import io
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import NamedSharding, P, config, debug, lax
from tinyjax._extensions.progress import runs


def body(c: Any, x: Any) -> Any:
    return jnp.sin(c) + x, c


def scanned(c: Any) -> Any:
    return lax.scan(body, c, jnp.arange(30.0))[0].sum()


def checkpointed(c: Any) -> Any:
    return lax.scan(body, c, jnp.arange(30.0), checkpoints=3)[0].sum()


def unrolled(c: Any) -> Any:
    return lax.scan(body, c, jnp.arange(30.0), unroll=7, reverse=True)[0].sum()


def counted(c: Any) -> Any:
    return lax.fori_loop(3, 33, lambda i, c: jnp.sin(c) + i, c).sum()


def searched(c: Any) -> Any:
    def step(state: Any) -> Any:
        return state[0] + 1, jnp.sin(state[1])

    return lax.while_loop(lambda state: state[0] < 30, step, (0, c))[1].sum()


def mapped(c: Any) -> Any:
    return lax.map(lambda x: c * x, jnp.arange(30.0)).sum()


def nested(c: Any) -> Any:
    return lax.fori_loop(0, 30, lambda i, c: c + tinyjax.jit(scanned)(c), c).sum()


def drawn(call: Callable[[], Any]) -> list[str]:
    """The lines of ends of loops, without times."""
    stream = io.StringIO()
    with debug.progress(file=stream, after=0):
        tinyjax.block_until_ready(call())
    assert not runs._screens
    lines = [line for line in stream.getvalue().splitlines() if "<" not in line.split("[")[-1]]
    found = [re.sub(r" \[.*?\]", "", line) for line in lines if line]
    # a counter has no other mark of its end than being the last of its name
    last = {line.rsplit(":", 1)[0]: line for line in found}
    return [
        re.sub(r"\(.*?\)|test_\w+\.<locals>\.|<locals>|█|░", "", line) for line in last.values()
    ]


X = np.linspace(0.1, 1.0, 3, dtype=np.float32)


def test_bars_below_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell of a notebook shows one thing for each loop, which changes until the loop ends."""
    shown: list[list[str]] = []

    class Handle:
        def update(self, bar: Any) -> None:
            shown[-1].append(bar._repr_html_())
            assert "progress" not in repr(bar)

    def display(bar: Any, display_id: bool) -> Handle:
        assert display_id
        shown.append([bar._repr_html_()])
        return Handle()

    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(runs, "in_notebook", lambda: True)
    for total, end in ((4, '<progress value="1.0000">'), (None, "<span")):
        drawing = runs.choose_display()
        assert drawing is not None
        bar = runs.Bar("scan of <lambda>", total)
        for bar.completed in (1, 2, 4):
            drawing.draw(bar)
        bar.ended = "done"
        drawing.draw(bar)
        assert len(shown[-1]) == 4
        assert all("scan of &lt;lambda&gt;: <progress" in html for html in shown[-1][:-1])
        assert f"scan of &lt;lambda&gt;: {end}" in shown[-1][-1]
    assert len(shown) == 2


FORWARD: list[tuple[Callable[[Any], Any], str]] = [
    (scanned, "scan of body : 100%  30/30"),
    (checkpointed, "scan of body : 100%  30/30"),
    (unrolled, "scan of body : 100%  30/30"),
    (counted, "fori_loop of counted..<lambda> : 100%  30/30"),
    (searched, "while_loop of searched..step : 30"),
    (mapped, "map of mapped..<lambda> : 100%  30/30"),
    (nested, "fori_loop of nested..<lambda> : 100%  30/30"),
]


def backward_of(forward: str) -> str:
    return forward.replace(" :", " , backward:")


TRANSFORMATIONS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "eager": lambda f: f,
    "jit": tinyjax.jit,
    "vmap": lambda f: lambda x: tinyjax.jit(tinyjax.vmap(f))(jnp.stack([x, x])),
    "jvp": lambda f: tinyjax.jit(lambda x: tinyjax.jvp(f, (x,), (x,))),
    "grad": tinyjax.grad,
    "jit of grad": lambda f: tinyjax.jit(tinyjax.grad(f)),
    "vmap of grad": lambda f: lambda x: tinyjax.vmap(tinyjax.grad(f))(jnp.stack([x, x])),
    "tier first": lambda f: tinyjax.jit(f, tier="first"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", TRANSFORMATIONS)
@pytest.mark.parametrize(("f", "line"), FORWARD)
def test_loops_have_one_bar_in_each_direction(f: Callable[[Any], Any], line: str, how: str) -> None:
    call = TRANSFORMATIONS[how](f)
    lines = drawn(lambda: call(X))
    assert lines == ([line, backward_of(line)] if "grad" in how else [line])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", ["jit", "jit of grad", "tier first"])
@pytest.mark.parametrize(("f", "line"), FORWARD)
def test_results_are_those_without_bars(f: Callable[[Any], Any], line: str, how: str) -> None:
    with debug.progress(file=io.StringIO(), after=0):
        shown = TRANSFORMATIONS[how](f)(X)
    np.testing.assert_allclose(shown, TRANSFORMATIONS[how](f)(X), rtol=1e-6)


@pytest.mark.parametrize("changes", [{"disable_jit": True}, {"debug_nans": True}])
@pytest.mark.parametrize(("f", "line"), FORWARD[:5])
def test_loops_that_python_makes_have_bars(
    f: Callable[[Any], Any], line: str, changes: dict[str, bool]
) -> None:
    with config.scoped(**changes):
        assert drawn(lambda: f(X)) == [line]


def test_examples_that_end_at_different_times_have_one_counter() -> None:
    def f(n: Any) -> Any:
        return lax.while_loop(lambda i: i < n, lambda i: i + 1, 0)

    assert drawn(lambda: tinyjax.vmap(f)(jnp.array([3, 30, 7]))) == [
        "while_loop of f..<lambda> : 30"
    ]


def test_loops_that_do_not_run_draw_nothing_wrong() -> None:
    def f(c: Any, n: Any) -> Any:
        return lax.while_loop(lambda i: i < n, lambda i: i + 1, c)

    assert drawn(lambda: tinyjax.jit(f)(3, 3)) == ["while_loop of f..<lambda> : 0"]
    empty = lax.scan(body, jnp.float32(1), jnp.zeros(0))[0]
    assert drawn(lambda: lax.scan(body, jnp.float32(1), jnp.zeros(0))[0]) == []
    assert float(empty) == 1.0


def test_ordered_callbacks_keep_their_order() -> None:
    seen: list[int] = []

    def goes_on(i: Any) -> Any:
        debug.callback(lambda i: seen.append(-int(i)), i, ordered=True)
        return i < 5

    def step(i: Any) -> Any:
        debug.callback(lambda i: seen.append(int(i)), i, ordered=True)
        return i + 1

    @tinyjax.jit
    def f() -> Any:
        return lax.while_loop(goes_on, step, 1)

    assert drawn(f) == ["while_loop of step : 4"]
    assert seen == [-1, 1, -2, 2, -3, 3, -4, 4, -5]


def fails_at(n: int) -> Callable[[Any], Any]:
    def check(i: Any) -> None:
        if i == n:
            raise ZeroDivisionError(f"at {n}")

    def step(i: Any, c: Any) -> Any:
        debug.callback(check, i)
        return c + 1

    return lambda c: lax.fori_loop(0, 30, step, c)


@pytest.mark.parametrize("changes", [{}, {"disable_jit": True}, {"tier": "first"}])
def test_a_loop_that_fails_closes_its_bar(changes: dict[str, Any]) -> None:
    stream = io.StringIO()
    with debug.progress(file=stream, after=0), config.scoped(**changes):
        with pytest.raises(ZeroDivisionError):
            tinyjax.jit(fails_at(7))(1.0)
        assert stream.getvalue().endswith(" stopped\n")
        assert not runs._screens[-1].runs
        tinyjax.jit(fails_at(40))(1.0)  # the next is none the worse
    assert " 30/30 " in stream.getvalue().splitlines()[-1]


@pytest.fixture
def heard() -> Iterator[None]:
    """Have Ctrl-C raise, which a shell switches off for what it runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_ctrl_c_stops_a_loop_that_has_a_bar() -> None:
    made: list[int] = []

    def slowly(i: Any) -> None:
        made.append(int(i))
        time.sleep(0.01)

    def step(i: Any, c: Any) -> Any:
        debug.callback(slowly, i)
        return c + 1

    stream = io.StringIO()
    with debug.progress(file=stream, after=0):
        f = tinyjax.jit(lambda c: lax.fori_loop(0, 100_000, step, c))
        threading.Timer(0.7, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            f(1.0)
        assert stream.getvalue().endswith(" stopped\n")
        time.sleep(1.5)
        last = len(made)
        time.sleep(0.2)
    assert len(made) == last < 1000


def test_nothing_is_compiled_or_drawn_where_nobody_sees_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    traced: list[int] = []

    @tinyjax.jit
    def f(x: Any) -> Any:
        traced.append(1)
        return scanned(x)

    f(X)
    with debug.progress(after=0):
        f(X)
    assert len(traced) == 1
    with config.scoped(progress=True):
        f(X)
        f(X)
    assert len(traced) == 2
    assert capsys.readouterr() == ("", "")


def test_short_loops_have_no_bars() -> None:
    stream = io.StringIO()
    with debug.progress(file=stream, after=60):
        tinyjax.jit(scanned)(X)
    assert stream.getvalue() == ""


def test_loops_on_several_devices_have_no_bars() -> None:
    rows = NamedSharding(tinyjax.make_mesh((2,), ("rows",)), P("rows"))
    x = tinyjax.device_put(np.ones(4, np.float32), rows)
    assert drawn(lambda: tinyjax.jit(scanned)(x)) == []


def test_exported_programs_have_no_bars() -> None:
    with config.scoped(progress=True):
        exported = tinyjax.export.export(tinyjax.jit(scanned))(X)
    np.testing.assert_allclose(exported.call(X), scanned(X), rtol=1e-6)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_for_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    with debug.progress(file=stream, after=0):  # by rich
        tinyjax.jit(scanned)(X)
    assert "30/30" in stream.getvalue()
    monkeypatch.setattr(runs, "find_spec", lambda name: None)
    stream = Terminal()
    with debug.progress(file=stream, after=0):
        tinyjax.jit(scanned)(X)
    *lines, end = stream.getvalue().split("\r")[1:]
    assert lines
    assert end.endswith("\n")
    assert "30/30" in end
    assert not any("\n" in line for line in lines)


def test_reports_are_few_however_short_iterations_are() -> None:
    screen = runs.Screen(runs.TextDisplay(io.StringIO()), 60.0)
    with runs.shown_on(screen):
        run, count = runs.ObservedLoop("a loop", None), 0
        reports = 0
        while count < 10**9:
            count = run.report(count, count)
            reports += 1
        assert reports < 20
        run.end(count)
    assert sys.getrefcount(run) < 5  # nothing keeps what has ended
