"""Every module has tests, and they run it: tests/tables/module_tests.tsv."""

from pathlib import Path

import pytest

from tools import module_tests

ROWS = module_tests.table()
FILES = sorted({file for _, files in ROWS.values() for file in files})
REMEDY = "run `python -m tools.module_tests --write FILES-OF-ITS-TESTS` in tests/"


def test_every_module_has_a_row_and_no_other_has() -> None:
    assert [*ROWS] == module_tests.modules(), REMEDY
    assert [name for name, (_, files) in ROWS.items() if not files] == [], REMEDY
    assert [file for file in FILES if not (module_tests.TESTS / file).exists()] == []


@pytest.mark.slow
@pytest.mark.sampled(240)
@pytest.mark.parametrize("file", FILES)
def test_a_file_runs_the_modules_that_it_is_named_for(file: str, tmp_path: Path) -> None:
    names = [name for name, (share, files) in ROWS.items() if file in files and share != "-"]
    module_tests.run([f"tests/{file}"], tmp_path / "record", names)
    blocks = module_tests.read(tmp_path / "record")[f"tests/{file}"]
    assert [name for name in names if name not in blocks] == []
