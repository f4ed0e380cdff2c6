"""The supported releases of jaxlib, and the place that names them."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from raising import raises
from tinyjax.core.xla.versions import SUPPORTED, check, release_of
from tinyjax.errors import UnsupportedVersionError

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "src" / "tinyjax"


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("0.10.2", (0, 10, 2)),
        ("0.11.0", (0, 11, 0)),
        ("0.12.0.1", (0, 12, 0, 1)),
        ("0.12.1.dev20261001+abc", (0, 12, 1)),
    ],
)
def test_releases_that_are_taken(version: str, release: tuple[int, ...]) -> None:
    assert check(version) == release_of(version) == release


@pytest.mark.parametrize("version", ["0.9.2", "0.10.1", "0.13.0", "0.13.0.dev1", "1.0", "unknown"])
def test_releases_that_are_refused(version: str) -> None:
    with raises(UnsupportedVersionError, match=f"jaxlib {version} is installed.*pip") as at:
        check(version)
    assert isinstance(at.value, ImportError)


def test_the_package_asks_for_the_releases_that_are_taken() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest, beyond = (".".join(map(str, release)) for release in SUPPORTED)
    assert f"jaxlib>={oldest},<{beyond}" in project["dependencies"]


def test_a_release_that_is_too_new_is_refused_before_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "jaxlib").mkdir()
    (tmp_path / "jaxlib" / "__init__.py").write_text('__version__ = "0.99.0"', encoding="utf-8")
    program = (
        "import tinyjax; print(tinyjax.numpy.sin(0.0)); "
        "tinyjax.jit(lambda x: x, tier='compiled')(1.0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{tmp_path}:{SOURCE.parent}"},
    )
    assert done.stdout == "0.0\n"  # which takes NumPy alone
    assert "UnsupportedVersionError: tinyjax runs on jaxlib>=" in done.stderr
    assert "but jaxlib 0.99.0 is installed" in done.stderr


def test_one_module_alone_asks_for_the_release() -> None:
    asking = [
        file
        for file in SOURCE.rglob("*.py")
        if "jaxlib.__version__" in file.read_text(encoding="utf-8")
    ]
    assert asking == [SOURCE / "core" / "xla" / "versions.py"]
