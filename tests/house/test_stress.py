"""Threads, failures and interrupts: ``nox -s stress`` takes many more programs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = int(os.environ.get("TINYJAX_STRESS_PROGRAMS") or 32)
#: What an interned type, a name or a fragment between pages may leave of a program.
BYTES_PER_PROGRAM = 60_000


@pytest.mark.slow
def test_threads_failures_and_interrupts_leave_nothing_wrong_and_nothing_behind() -> None:
    script = Path(__file__).with_name("stress.py")
    run = subprocess.run(
        [sys.executable, str(script), str(PROGRAMS)],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["wrong"] == []
    assert found["counts"]["programs"] >= PROGRAMS
    assert found["counts"]["failed compilations"] > PROGRAMS / 10
    before, after = found["before"], found["after"]
    assert after["executables"] == 0
    assert after["threads"] <= before["threads"] + 1  # a second compiler
    if PROGRAMS >= 1000:
        assert after["bytes"] - before["bytes"] < BYTES_PER_PROGRAM * PROGRAMS
