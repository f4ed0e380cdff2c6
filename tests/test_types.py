"""What a type checker sees of us: ``tests/typing`` is checked, and what it must reject is."""

import inspect
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import tinyjax
from tinyjax import api

TYPING = Path(__file__).parent / "typing"
ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(TYPING.glob("*.py")), ids=lambda path: path.stem)
def test_mypy_sees_what_the_file_says(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "mypy.ini"), str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_says_that_it_is_typed() -> None:
    assert tinyjax.__file__ is not None
    assert (Path(tinyjax.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    "name",
    [n for n in (*api.__all__, "jit", "default_dtypes") if inspect.isfunction(getattr(tinyjax, n))],
)
def test_public_functions_are_annotated_and_their_annotations_resolve(name: str) -> None:
    function = getattr(tinyjax, name)
    original = inspect.unwrap(function)
    hints = typing.get_type_hints(original)
    assert set(hints) == {*inspect.signature(original).parameters, "return"}
