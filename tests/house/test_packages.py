"""The table of packages, tests/packages/results.tsv, and docs/packages.md belong together.

The packages are not installed here: rows are read from their source.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

import attrs
import numpy as np
import pytest

from packages import checks, pages, table
from packages.checks import Result
from packages.row import Row
from website.blocks import PACKAGES, needs_packages

ROOT: Final = Path(__file__).resolve().parents[2]


def written_rows() -> Iterator[tuple[str, str, str]]:
    """Return the set, package and function of each row from the source of its module."""
    for module in table.modules():
        path = table.FOLDER / f"{module.replace('.', '/')}.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Row":
                package, name, *_ = (ast.literal_eval(x) for x in node.args[:2])
                yield module.partition(".")[0], package, name


def test_the_page_is_up_to_date() -> None:
    written = table.DOCUMENT.read_text(encoding="utf-8")
    assert written == table.text(table.read()), "run `python -m packages.table` in tests/"


def test_all_functions_have_results() -> None:
    recorded = [(x.set, x.package, x.function) for x in table.read()]
    assert sorted(written_rows()) == sorted(recorded)


def pins() -> dict[str, str]:
    """Return the versions of the packages that the session installs."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "dependency-groups"
    ]
    return dict(x.split("==") for x in (*groups["packages"], *groups["packages-apart"]))


def test_results_are_of_the_versions_that_are_installed() -> None:
    assert {x.package: x.version for x in table.read()}.items() <= pins().items()


def test_pages_that_need_packages_are_run_with_them() -> None:
    """The plain run leaves out their blocks."""
    pinned = {*pins()}
    assert pages.PAGES.keys() == PACKAGES.keys()
    assert {*PACKAGES.values()} <= pinned
    for page in (ROOT / "docs" / "gallery").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        imported = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
        assert needs_packages(page) == bool(imported & {*PACKAGES.values()}), page.name


def test_results_survive_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "RECORD", tmp_path / "results.tsv")
    result = Result("first", "p", "1", "f", "", grad="right", after="wrong", error='a "b"\tc')
    table.write([result])
    assert table.read() == [result]
    better = attrs.evolve(result, after="right")
    assert table.merged([result], [better]) == [better]
    assert table.losses([better], [result]) == ["p f: after is wrong: " + result.error]
    assert not table.losses([result], [better])


# The checks themselves, on functions that are right and wrong


def checked(row: Row, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.setattr(metadata, "version", lambda name: "1")
    return checks.check("first", row)


def test_a_function_of_numpy_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = (np.array([1.0, 2.0]), np.array([0.5, 1.5]), np.array([3.0, 0.1]))
    result = checked(Row("p", "f", lambda x: np.sum(x**3), inputs), monkeypatch)
    assert result.is_right, result.error
    assert all(float(t) > 0 for t in (result.us_function, result.us_first, result.us_grad))


def test_a_lost_derivative_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row("p", "f", lambda x: np.floor(1e6 * x) / 1e6, (1.5, 2.5, 3.5))
    result = checked(row, monkeypatch)
    assert (result.value, result.grad, result.jit, result.vmap) == (
        "right",
        "wrong",
        "wrong",
        "right",
    )


def test_what_stays_behind_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counting(x: float) -> float:
        calls.append(x)
        return x * len(calls)

    assert checked(Row("p", "f", counting, (1.0, 2.0, 3.0)), monkeypatch).after == "wrong"


def test_late_and_raising_checks_are_told_apart() -> None:
    def late() -> str:
        while True:
            pass

    def raising() -> str:
        raise ValueError("a\nb")

    assert checks.attempt(late, limit=0.1)[0] == "late"
    status, error = checks.attempt(raising)
    assert status == "error"
    assert error.startswith("ValueError: a b [")
    assert checks.attempt(lambda: "gap") == ("wrong", "gap")


def test_central_differences_are_of_fourth_order() -> None:
    point = np.array([0.3, 1.2])
    found = checks.central(lambda x: float(np.sum(np.sin(x))), point, 1e-3)
    np.testing.assert_allclose(found, np.cos(point), rtol=1e-10)
