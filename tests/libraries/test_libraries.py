"""Libraries written for JAX, unmodified, on tinyjax beside jax: ``nox -s libraries``.

Each file in ``programs`` is a program. It is run in two processes, on either, by ``runner.py``, and
what it returns is compared. docs/libraries.md says what of which libraries works.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))


def run(backend: str, program: Path, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The results of a program, and its record of seconds and tolerance."""
    out = folder / backend
    command = [sys.executable, str(HERE / "runner.py"), backend, str(program), str(out), "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, f"on {backend}: {done.stderr[-4000:]}"
    with np.load(f"{out}.npz") as found:
        return dict(found), json.loads(Path(f"{out}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_it_computes_what_it_does_on_jax(
    program: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    wanted, theirs = run("jax", program, tmp_path)
    got, ours = run("tinyjax", program, tmp_path)
    for name, seconds in (("jax", theirs), ("tinyjax", ours)):
        record_property(name, {key: seconds[key] for key in ("load", "first", "later")})
    assert got.keys() == wanted.keys()
    for name, value in wanted.items():
        assert got[name].shape == value.shape, name
        assert got[name].dtype == value.dtype, name
        tolerance = theirs["tolerance"]
        np.testing.assert_allclose(
            got[name], value, rtol=tolerance, atol=tolerance / 10, err_msg=name
        )


def test_the_network_of_the_tutorial() -> None:
    page = HERE.parent.parent / "docs" / "tutorials" / "networks.md"
    found = re.search(r"^```text\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found
    command = [sys.executable, "-c", found[1]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-4000:]
    printed = re.fullmatch(r"loss ([\d.]+), on [\d.]+\+tinyjax\S+\n", done.stdout)
    assert printed, done.stdout
    assert float(printed[1]) < 0.1
