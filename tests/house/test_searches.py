"""tests/tables/searches.md tells what random searches tried."""

from pathlib import Path

import pytest

from hostile import SURVEYS
from tools import searches


def test_the_document_is_up_to_date() -> None:
    written = searches.DOCUMENT.read_text(encoding="utf-8")
    assert written == searches.text(), "run `python -m tools.searches` in tests/"


def test_what_is_noted_exists() -> None:
    files = Path(__file__).parents[1].rglob("test_*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    assert {*SURVEYS} <= {*searches.TRIED}
    assert not [x for x in {*searches.TRIED} - {*SURVEYS} if f"def {x}(" not in text]


def test_runs_add_up_until_one_finds_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = "- during generate phase (1 s):\n    - 1200 passing, 0 failing, and 2 invalid test cases"
    notes, document = tmp_path / "searches.json", tmp_path / "searches.md"
    notes.write_text("{}", encoding="utf-8")
    monkeypatch.setattr(searches, "NOTES", notes)
    monkeypatch.setattr(searches, "DOCUMENT", document)
    searches.note("exports", searches.examples(told), 125.0)
    searches.note("exports", 1100, 60.0)
    row = document.read_text(encoding="utf-8").splitlines()[-1]
    assert row.startswith(f"| {searches.TRIED['exports']} | 2,300 | 3 | ")
    assert searches.tried("exports") == 2300
    searches.note_mistake("exports")
    assert searches.tried("exports") == 0
    assert searches.TRIED["exports"] not in document.read_text(encoding="utf-8")
