"""The repository's statements on a release are true of the tree; ``nox -s release`` builds it."""

import re
import subprocess
from pathlib import Path

import pytest

import tinyjax
from release import build

ROOT = build.ROOT
ADVICE = re.compile(r"pip install(?: --?[\w-]+)* [\"']?tinyjax")


def test_lists_are_those_of_the_tree() -> None:
    """Else run ``python -m release.build --write`` in ``tests/``."""
    assert build.version() == tinyjax.__version__
    assert build.CONTENTS.read_text("utf-8") == build.listing(build.source_names())
    assert build.SBOM.read_text("utf-8") == build.bill_of_materials()


def test_the_changelog_is_one_page() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert text == (ROOT / "docs" / "changelog.md").read_text("utf-8")
    assert len(text.split()) <= 900
    assert f"\n## {tinyjax.__version__.removesuffix('.0')}\n" in text


def test_what_cites_the_package_names_its_version() -> None:
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {tinyjax.__version__}\n" in text


def workflows() -> list[Path]:
    return sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("workflow", workflows(), ids=lambda path: path.stem)
def test_workflows_run_sessions_and_nothing_else(workflow: Path) -> None:
    runs = re.findall(r"^ *(?:- )?run: (.*)$", workflow.read_text("utf-8"), re.MULTILINE)
    (sessions,) = (re.fullmatch(r"pipx run nox --non-interactive -s ([\w ]+)", x) for x in runs)
    assert sessions
    text = (ROOT / "noxfile.py").read_text("utf-8")
    assert all(f"\ndef {name}(session: nox.Session)" in text for name in sessions[1].split())


def test_nothing_advises_an_install_by_a_name_that_no_index_has() -> None:
    command = ["git", "ls-files", "-z", "src", "docs", "examples", "*.md", ".github"]
    names = subprocess.check_output(command, cwd=ROOT, text=True).split("\0")
    files = [ROOT / name for name in names if Path(name).suffix in {".py", ".md", ".yml"}]
    assert [file for file in files if ADVICE.search(file.read_text("utf-8"))] == []
