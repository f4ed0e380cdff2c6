"""The second run of a script loads at once what the first came to compile."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import config
from tinyjax._extensions.host import runs
from tinyjax.core import xla
from tinyjax.core.xla import disk_cache

X = np.linspace(0.1, 0.9, 9, dtype=np.float32).reshape(3, 3)
LOADED = "the last run compiled it"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    chosen = tmp_path / "programs"
    with config.scoped(cache_dir=chosen):
        yield chosen
        tinyjax.clear_caches()
        runs.log_of.cache_clear()


def script(folder: Path, calls: int, tier: config.Tier = "first") -> tuple[str, int, bytes]:
    """Call a program as a new process does; return the reason first, what was loaded, and the bits.

    The program takes 60 ms or so to compile, and is evaluated some hundreds of times before.
    """
    tinyjax.clear_caches()
    runs.log_of.cache_clear()
    loaded = xla.disk_cache_info().hits
    square = tinyjax.jit(lambda x: jnp.exp(jnp.sin(x) @ x) / jnp.cosh(x).sum(), tier=tier)
    reason = square.explain(X).reasons[-1]
    bits = b"".join([np.asarray(square(X + np.float32(i))).tobytes() for i in range(calls)])
    runs.log_of(str(folder)).write()
    return reason, xla.disk_cache_info().hits - loaded, bits


def test_the_second_run_loads_what_the_first_compiled(folder: Path) -> None:
    reason, loaded, _ = script(folder, 3000)
    assert "are evaluated" in reason
    assert loaded == 0
    reason, loaded, bits = script(folder, 3000)
    assert reason.startswith(LOADED)
    assert loaded == 1
    # all runs from the second on are alike
    assert script(folder, 3000) == (reason, loaded, bits)


def test_what_the_first_run_did_not_compile_is_evaluated_again(folder: Path) -> None:
    script(folder, 3000)
    tinyjax.cache.clear()
    first, second = script(folder, 5), script(folder, 5)
    assert "are evaluated" in second[0]
    assert first == second
    assert [x.name for x in folder.iterdir()] == [disk_cache.RUNS]


@pytest.mark.parametrize("tier", ["host", "ready"])
def test_other_tiers_take_no_advice(folder: Path, tier: config.Tier) -> None:
    script(folder, 3000)
    _, loaded, _ = script(folder, 5, tier)
    assert loaded == 0


def _damages(folder: Path) -> dict[str, Any]:
    record = folder / disk_cache.RUNS
    content = record.read_bytes()
    flipped = bytearray(content)
    flipped[60] ^= 1
    return {
        "empty": lambda: record.write_bytes(b""),
        "cut": lambda: record.write_bytes(content[:-7]),
        "another bit": lambda: record.write_bytes(flipped),
        "text": lambda: record.write_bytes(b"tinyjax" * 100),
        "nothing": record.unlink,
        "a folder": lambda: [f(record) for f in (os.unlink, os.mkdir)],
        "others may write": lambda: record.chmod(0o666),
        "another version": lambda: None,
        "programs dropped": lambda: [*map(os.unlink, {*folder.iterdir()} - {record})],
    }


@pytest.mark.filterwarnings("ignore::tinyjax.errors.DiskCacheWarning")
def test_a_record_that_is_of_no_use_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(folder, 3000)
    whole = {x.name: x.read_bytes() for x in folder.iterdir()}
    for kind in [*_damages(folder)]:
        for path in folder.iterdir():
            path.rmdir() if path.is_dir() else path.unlink()
        for name, content in whole.items():
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)
        _damages(folder)[kind]()
        with monkeypatch.context() as patch:
            if kind == "another version":
                patch.setattr(runs, "_KEY", bytes(32))
            reason, loaded, _ = script(folder, 2)
        assert "are evaluated" in reason, kind
        assert loaded == 0, kind


def test_programs_that_take_little_load_no_jaxlib(folder: Path, monkeypatch: Any) -> None:
    """All programs of a process together must save more than loading jaxlib takes."""
    script(folder, 3000)
    monkeypatch.setattr(xla, "has_started", lambda: False)
    key, run = next(iter(runs.UseLog(str(folder)).last.items()))
    few = runs.EarlierUse(run.entry, 0.03, bytes(8))
    log = runs.UseLog(str(folder))
    log.last = {key: few}
    assert not log.is_worth_loading(few)
    log = runs.UseLog(str(folder))
    log.last = {bytes([i] * 32): few for i in range(4)}
    assert log.is_worth_loading(few)
    log = runs.UseLog(str(folder))
    log.last = {bytes([i] * 32): runs.EarlierUse(run.entry, 0.03, bytes([i] * 8)) for i in range(4)}
    assert not log.is_worth_loading(few)


def test_the_record_goes_with_the_cache(folder: Path) -> None:
    script(folder, 3000)
    assert (folder / disk_cache.RUNS).exists()
    tinyjax.cache.clear()
    assert not [*folder.iterdir()]
    assert "are evaluated" in script(folder, 2)[0]
    folder.joinpath("mine").write_text("", encoding="utf-8")
    tinyjax.cache.clear()
    assert [x.name for x in folder.iterdir()] == ["mine"]


def test_a_folder_that_was_removed_does_not_come_back(folder: Path) -> None:
    script(folder, 3000)
    shutil.rmtree(folder)
    runs.log_of(str(folder)).write()
    assert not folder.exists()
