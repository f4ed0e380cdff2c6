"""Profiles that XLA records."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import profiler
from tinyjax.errors import ArgumentError, ProfilerError


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
    with pytest.raises(ProfilerError, match="Call start_trace first"):
        profiler.stop_trace()
    profiler.start_trace(tmp_path, create_perfetto_trace=True)
    with pytest.raises(ProfilerError, match="Call stop_trace first"):
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
    with pytest.raises(ArgumentError, match="create_perfetto_link: tinyjax opens no page"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)
    with pytest.raises(ArgumentError, match="profiler_options"):
        profiler.start_trace(tmp_path, profiler_options=unchecked(3))
