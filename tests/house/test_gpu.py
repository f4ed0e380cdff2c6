"""The check for a GPU, ``tests/tools/gpu.py``, on devices of the processor: nothing stops it."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "tools" / "gpu.py"

#: A step in place of one of the script's: of its items one is done, one fails, one ends its
#: process, one hangs, and the last is done all the same.
STEP = """
import os, runpy, sys, time

def wrong(): raise ValueError("told")
def items(pretend):
    return {"first": lambda: {"is": pretend}, "wrong": wrong, "crash": lambda: os._exit(3),
            "hang": lambda: time.sleep(60), "last": lambda: {}}

sys.argv = sys.argv[1:]
gpu = runpy.run_path(sys.argv[0], run_name="gpu")
gpu["STEPS"]["memory"] = gpu["Step"]("mistakes", "the same", items, (30, 30), 3)
if "--work" not in sys.argv:
    run = gpu["subprocess"].Popen
    gpu["subprocess"].Popen = lambda command, **options: run(
        [sys.executable, os.environ["STEP"], *command[1:]], **options)
sys.exit(gpu["main"]())
"""


def run(tmp_path: Path, *command: str, **environment: str) -> dict[str, object]:
    out = tmp_path / "gpu.json"
    options = ["--pretend", "--out", str(out), "--steps"]
    done = subprocess.run(
        [sys.executable, *command, *options, "environment", "memory"],
        capture_output=True,
        text=True,
        env={"PATH": "", "PYTHONPATH": str(ROOT / "src"), **environment},
        check=False,
    )
    assert "environment" in done.stdout, done.stderr
    report: dict[str, object] = json.loads(out.read_text(encoding="utf-8"))
    assert done.returncode == bool(report["failed"]), done.stdout
    return report


def test_the_check_runs_where_there_is_no_card(tmp_path: Path) -> None:
    report = run(tmp_path, str(SCRIPT))
    assert report["pretended"]
    assert not report["failed"], report


def test_what_fails_does_not_stop_the_rest(tmp_path: Path) -> None:
    step = tmp_path / "step.py"
    step.write_text(STEP, encoding="utf-8")
    report = run(tmp_path, str(step), str(SCRIPT), STEP=str(step))
    found = json.loads(json.dumps(report["steps"]))["memory"]
    assert found["failed"] == ["wrong", "crash", "hang"]
    assert found["ended"] == "done"
    items = found["items"]
    assert items["first"]["is"] is True
    assert items["wrong"]["failed"] == "ValueError: told"
    assert items["crash"]["failed"] == "the process ended: exit status 3"
    assert items["hang"]["failed"] == "the process ended: it took over 3 s"
    assert list(items) == ["first", "wrong", "crash", "hang", "last"]
