"""Profiles that XLA records."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax, profiler
from tinyjax._extensions.host.xla.fast_calls import SpecializedCalls
from tinyjax.core.jit import JitFunction
from tinyjax.errors import ArgumentError, ProfilerError
from tinyjax.profiler.run_log import SPANS
from tinyjax.profiler.xla import read_profile

pytestmark = pytest.mark.usefixtures("compiled")  # XLA's profiles tell of what XLA runs


def spans(folder: Path, name: str = "*.trace.json.gz") -> list[dict[str, Any]]:
    """The spans of the one profile in a folder."""
    (file,) = folder.glob(f"plugins/profile/*/{name}")
    told = json.loads(gzip.decompress(file.read_bytes()))
    return [event for event in told["traceEvents"] if event.get("ph") == "X"]


def test_a_profile_has_the_users_spans(tmp_path: Path) -> None:
    @profiler.annotate_function
    def reading() -> int:
        return 1

    program = tinyjax.jit(lambda x: jnp.sin(x @ x).sum())
    with profiler.trace(tmp_path), profiler.TraceAnnotation("outer", epoch=7):
        reading()
        for step in range(2):
            with profiler.StepTraceAnnotation("train", step_num=step):
                program(jnp.ones((50, 50))).block_until_ready()
    found = {span["name"]: span for span in spans(tmp_path)}
    own = [span for span in spans(tmp_path) if span["name"].startswith(("outer", "train"))]
    outer, *steps = sorted(own, key=lambda span: (span["ts"], -span["dur"]))
    assert outer["args"]["epoch"] == "7"
    assert [span["args"]["step_num"] for span in steps] == ["0", "1"]
    for span in steps:
        assert outer["ts"] <= span["ts"]
        assert span["ts"] + span["dur"] <= outer["ts"] + outer["dur"]
    assert any("reading" in name for name in found)
    assert any("dot" in name for name in found), "operations of the compiled program"
    assert len(list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))) == 1


def test_starting_and_stopping(tmp_path: Path) -> None:
    with raises(ProfilerError, match="Call start_trace first"):
        profiler.stop_trace()
    profiler.start_trace(tmp_path, create_perfetto_trace=True)
    with raises(ProfilerError, match="Call stop_trace first"):
        profiler.start_trace(tmp_path)
    with profiler.TraceAnnotation("mine"):
        pass
    profiler.stop_trace()
    assert [s["name"] for s in spans(tmp_path, "perfetto_trace.json.gz")].count("mine") == 1
    with pytest.raises(KeyError), profiler.trace(tmp_path / "other"):
        raise KeyError
    assert list((tmp_path / "other").glob("plugins/profile/*/*.xplane.pb"))


@pytest.mark.wrong_types
def test_what_is_not_there(tmp_path: Path) -> None:
    with raises(ArgumentError, match="create_perfetto_link: tinyjax opens no page"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)
    with raises(ArgumentError, match="profiler_options is a tinyjax"):
        profiler.start_trace(tmp_path, profiler_options=unchecked(3))


def test_python_frames_are_recorded_if_asked_for(tmp_path: Path) -> None:
    options = profiler.ProfileOptions()
    for level in (0, 1):
        options.python_tracer_level = level
        with profiler.trace(tmp_path / str(level), profiler_options=options):
            json.dumps({})
        told = [span["name"] for span in spans(tmp_path / str(level))]
        assert any("dumps" in name for name in told) == bool(level)


# tinyjax's own spans


def loss(w: Any, x: Any) -> Any:
    h = jnp.tanh(x @ w)

    def body(c: Any, t: Any) -> Any:
        c = jnp.sin(c @ w)  # in a loop
        return c * t, c

    return lax.scan(body, h[0], h)[1].sum() + jnp.exp(h).sum()


def new_step() -> Any:
    def step(w: Any, x: Any) -> Any:
        return w - 0.1 * tinyjax.vmap(tinyjax.grad(loss), (None, 0))(w, x).mean(0)

    return tinyjax.jit(step)


W, X = np.ones((40, 40), np.float32), np.ones((3, 50, 40), np.float32)


def tracks(events: list[dict[str, Any]]) -> Iterator[list[tuple[float, float, str]]]:
    """The spans of each thread: begin, end and name, those around others before them."""
    by_thread: defaultdict[tuple[int, int], list[tuple[float, float, str]]] = defaultdict(list)
    for span in events:
        begin = span["ts"]
        by_thread[span["pid"], span["tid"]].append((begin, begin + span["dur"], span["name"]))
    for track in by_thread.values():
        yield sorted(track, key=lambda span: (span[0], -span[1]))


def parents(track: list[tuple[float, float, str]]) -> list[tuple[str, str]]:
    """Each span with the one around it. Spans must lie within each other or side by side."""
    pairs: list[tuple[str, str]] = []
    around: list[tuple[float, float, str]] = []
    for begin, end, name in track:
        while around and around[-1][1] <= begin + 1e-3:
            around.pop()
        if around:
            assert end <= around[-1][1] + 1e-3, f"{name} ends after {around[-1][2]}"
        pairs.append((around[-1][2] if around else "", name))
        around.append((begin, end, name))
    return pairs


def test_spans_nest_in_both_files(tmp_path: Path) -> None:
    step = new_step()
    x = jnp.asarray(X)
    with profiler.trace(tmp_path), profiler.TraceAnnotation("mine"):
        w = step(W, x)
        for _ in range(2):
            w = step(W, x)
        np.asarray(w)
    every = [pair for track in tracks(spans(tmp_path)) for pair in parents(track)]
    assert len(every) > 100  # XLA's, too
    own = [s for s in spans(tmp_path) if s["name"] in {*SPANS, "mine"}]
    (track,) = tracks(own)
    found = parents(track)
    for pair in (
        *(("mine", "trace"), ("trace", "transform"), ("transform", "trace")),
        *(("mine", "lower"), ("mine", "compile"), ("mine", "transfer"), ("mine", "execute")),
    ):
        assert pair in found, f"{pair[1]} within {pair[0]}"
    assert [name for _, name in found].count("execute") == 3
    kinds = {s["args"]["kind"] for s in own if s["name"] == "transform"}
    assert kinds == {"vmap", "linearize", "transpose"}
    for name in ("trace", "lower", "compile", "execute"):
        assert any(s["args"]["program"] == "step" for s in own if s["name"] == name)
    moved = {(s["args"]["bytes"], s["args"]["to"]) for s in own if s["name"] == "transfer"}
    assert {(str(W.nbytes), "device"), (str(W.nbytes), "host")} <= moved
    # the XPlane file has the same
    (file,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    planes = read_profile(file.read_bytes(), SPANS).spans
    written = [(s.name, s.end - s.start) for s in planes]
    read = [(s["name"], 1e-6 * s["dur"]) for s in own if s["name"] != "mine"]
    assert len(written) == len(read)
    for (name, seconds), (other, told) in zip(sorted(written), sorted(read), strict=True):
        assert name == other
        assert seconds == pytest.approx(told, abs=1e-8)


def test_programs_that_are_loaded_have_spans(tmp_path: Path) -> None:
    with tinyjax.config.scoped(cache_dir=tmp_path / "kept"):
        for name, wanted in (("first", ["load", "compile"]), ("second", ["load"])):
            tinyjax.core.xla.cache_clear()
            with profiler.trace(tmp_path / name):
                new_step()(W, X).block_until_ready()
            told = [s["name"] for s in spans(tmp_path / name) if s["name"] in ("load", "compile")]
            assert told == wanted


def test_callbacks_and_compiled_functions_have_spans(tmp_path: Path) -> None:
    def calls(x: Any) -> Any:
        return tinyjax.pure_callback(np.sin, tinyjax.ShapeDtypeStruct((), "float32"), x)

    compiled = new_step().lower(W, X).compile()
    with profiler.trace(tmp_path):
        tinyjax.jit(calls)(1.0)
        compiled(W, X).block_until_ready()
    programs = [s["args"]["program"] for s in spans(tmp_path) if s["name"] == "execute"]
    assert programs == ["calls", "step"]


def test_nothing_is_left_when_a_profile_ends(tmp_path: Path) -> None:
    from tinyjax.profiler.run_log import RunLog
    from tinyjax.profiler.xla import attaching

    table = [(owner, name) for owner, name, _ in attaching._table(RunLog())]
    before = [vars(owner)[name] for owner, name in table]
    f = tinyjax.jit(lambda x: x * 2)
    x = jnp.ones(3)
    f(x)
    f(x)
    short = f._traces.short
    assert isinstance(short, SpecializedCalls)
    calls = dict(short.calls)
    assert calls
    with profiler.trace(tmp_path):
        assert all(vars(o)[n] is not b for (o, n), b in zip(table, before, strict=True))
        f(x)
        with raises(TypeError, match="missing"):
            unchecked(f)()
    assert [vars(owner)[name] for owner, name in table] == before
    assert f._traces.short is short
    assert short.calls == calls
    assert import_module("tinyjax.core.xla.compilation").spans == []
    assert JitFunction.__call__.__qualname__ == "Called.__call__"


# The dearest lines


def line_with(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"# {text}"))


@pytest.mark.parametrize("located", [False, True], ids=["", "locations"])
def test_a_summary_names_the_dearest_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], located: bool
) -> None:
    def step(w: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            return jnp.tanh(c @ w)  # dear, and its backward pass

        return lax.fori_loop(0, 20, body, w).sum() + jnp.sin(w).sum()  # cheap

    # large, so that it stays the dearest where another program takes the processor for a while
    w = np.full((400, 400), 1e-3, np.float32)
    name = f"step_{located}"
    step.__name__ = name
    tinyjax.core.xla.cache_clear()
    with tinyjax.config.scoped(locations=located):
        program = tinyjax.jit(tinyjax.grad(step))
        program(w).block_until_ready()  # compiled before the profile
        with profiler.trace(tmp_path):
            for _ in range(3):
                program(w).block_until_ready()
    profiler.summary(most=2)
    head, *rows, told = capsys.readouterr().out.splitlines()
    assert head.startswith(f"{name}: 3 runs, ")
    shares = [float(row.split("%")[0]) for row in rows]
    assert sum(shares) == pytest.approx(100, abs=0.3)
    assert f"{__file__}:{line_with('dear, and its backward pass')}: return jnp.tanh" in rows[0]
    assert shares[0] > 20  # the first copies of memory take long, too
    assert told.startswith("Spans: execute 3 (")
    with raises(ArgumentError, match="most"):
        profiler.summary(0)


def test_there_is_no_summary_without_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tinyjax.profiler import recording

    monkeypatch.setattr(recording, "_recorded", [])
    with raises(ProfilerError, match="has recorded no profile"):
        profiler.summary()
    with (
        profiler.trace(tmp_path),
        raises(ProfilerError, match="still being recorded"),
    ):
        profiler.summary()
    profiler.summary()
    assert capsys.readouterr().out.startswith("No compiled program of a jitted function ran")
