"""The texts of programs, adjoints and jaxprs, as mypy sees them."""

import subprocess
import sys
from pathlib import Path

import pytest
from test_adjoint_source import EVERYTHING, NAMES
from test_jaxpr_source import PROGRAMS

import tinyjax
from tinyjax import source


@pytest.mark.slow
def test_texts_type_check(tmp_path: Path) -> None:
    """All of them in one run of mypy --strict; the programs' own modules are not checked."""
    for name, (fun, args) in zip(NAMES, EVERYTHING, strict=True):
        path = tmp_path / f"adjoint_of_{name.replace('-', '_')}.py"
        path.write_text(source.adjoint_source(fun, *args), encoding="utf-8")
    for i, (fun, args) in enumerate(PROGRAMS):
        text = source.jaxpr_source(tinyjax.make_jaxpr(fun)(*args), {})
        (tmp_path / f"program_{i}.py").write_text(text, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\n[mypy-programs.*,test_adjoint_source]\nfollow_imports = skip\n", encoding="utf-8"
    )
    mypy = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}/cache"]
    found = subprocess.run(
        [*mypy, *map(str, sorted(tmp_path.glob("*.py")))],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"MYPYPATH": str(Path(__file__).parent)},
    )
    assert found.returncode == 0, found.stdout
