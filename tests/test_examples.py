"""The programs in examples/ run, as a user would run them, and do what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / program), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


def test_tour() -> None:
    done = run("tour.py")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    sections = [text.split("\n", 1) for text in done.stdout.split("\n# ")[1:]]
    shown = {title: body.strip() for title, body in sections}
    assert shown["grad through a while loop"].startswith("0.35355")
    assert shown["The sixth derivative of x^8 at 1"] == "20160.0"
    assert shown["Its type"] == "(float32[5]) -> (float32[])"
    assert "stablehlo.cosine" in shown["The same as StableHLO, for XLA"]
    assert shown["Eager"] == shown["Compiled"]
    assert "ring_shift" in shown["The jaxpr of its derivative"]


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "status"), [(2, 1), (600, 0)])
def test_digits(steps: int, status: int, tmp_path: Path) -> None:
    picture = tmp_path / "made" / "digits.png"
    done = run("digits.py", "--steps", str(steps), "--out", str(picture))
    assert done.returncode == status, done.stdout + done.stderr
    found = re.search(r"([\d.]+)% of 449 held-out digits", done.stdout)
    assert found is not None, done.stdout
    assert (float(found[1]) >= 97) == (status == 0)
    assert picture.read_bytes().startswith(b"\x89PNG")
