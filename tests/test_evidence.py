"""The figures of docs/evidence.md are those of the tables."""

from tools import evidence


def test_the_figures_are_up_to_date() -> None:
    assert evidence.DOCUMENT.read_text(encoding="utf-8") == evidence.text(), (
        "run `python -m tools.evidence` in tests/"
    )
