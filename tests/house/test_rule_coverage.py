"""tests/tables/coverage.md tells what is checked of each primitive."""

from tools.rule_coverage import CHECKED, COLUMNS, DOCUMENT, REASONS, matrix, text


def test_the_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == text(), (
        "run `python -m tools.rule_coverage` in tests/"
    )


def test_every_empty_cell_has_a_reason() -> None:
    found = matrix()
    letters = {cell for cells in found.values() for cell in cells} - {CHECKED}
    assert letters <= {*REASONS}


def test_what_every_primitive_has() -> None:
    places = [list(COLUMNS).index(name) for name in ("impl", "types")]
    missing = [name for name, cells in matrix().items() if any(cells[i] != CHECKED for i in places)]
    assert not missing
