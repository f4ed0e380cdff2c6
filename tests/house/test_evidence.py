"""The figures of docs/evidence.md are those of the tables."""

from tools import evidence


def test_the_figures_are_up_to_date() -> None:
    assert evidence.DOCUMENT.read_text(encoding="utf-8") == evidence.text(), (
        "run `python -m tools.evidence` in tests/"
    )


def test_invariants_name_tests_and_files_that_are_there() -> None:
    """Of each row of the table of invariants in docs/design.md."""
    text = (evidence.ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = text.partition("## Invariants")[2].partition("\n## ")[0].splitlines()
    cells = [[x.strip() for x in row.split("|")[1:-1]] for row in rows if row.startswith("| ")][1:]
    assert len(cells) > 15
    project = (evidence.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for invariant, test, file in cells:
        assert (evidence.ROOT / file.strip("`")).exists(), invariant
        if test.startswith("`lint-imports`"):
            assert f"name = {test.partition('contract ')[2]}" in project, invariant
        else:
            path, _, name = test.strip("`").partition("::")
            source = (evidence.ROOT / path).read_text(encoding="utf-8")
            assert f"def {name}(" in source, invariant
