"""``tools.words`` finds what breaks the rules of docstrings and names, and nothing else."""

from pathlib import Path

import pytest

from tools import words

MODULE = '''"""Functions of numbers.

A plane of the core.
"""

#: The rooms of the table.
SIZE = 3


def given(at: int, size: int) -> int:
    """What is returned.

    Args:
        size: {long}.

    Example:
        >>> portions = 1
    """
    return at


class Point:
    """A point in the plane."""

    kept: int

    def __init__(self) -> None:
        self.found: int = 0
        self.given = self.found

    async def wanted(self) -> None: ...
'''


def test_findings() -> None:
    source = MODULE.replace("{long}", "word " * words.MOST_WORDS + "more")
    found = {(rule, line) for rule, _, line, _ in words.findings(source, "module.py")}
    assert found == {
        *(("house word", 1), ("house word", 6), ("house word", 22)),
        *(("name", 10), ("name", 25), ("name", 28), ("name", 29), ("name", 31)),
        *(("first word", 10), ("long sentence", 10)),
    }


def test_exceptions_are_for_one_file() -> None:
    source = '"""Rotate in the plane."""\n'
    assert not [*words.findings(source, "numpy/manipulation.py")]
    assert len([*words.findings(source, "numpy/indexing.py")]) == 1


def test_sentences_are_told_apart() -> None:
    docstring = "Return it. Sizes are ints; e.g. 3.\n\n- one\n- two\n\nArgs:\n    x: a.\n    y: b."
    assert [*words.sentences(docstring)] == [
        *("Return it.", "Sizes are ints; e.g. 3.", "- one", "- two", "Args:"),
        *("x: a.", "y: b."),
    ]


def test_ceilings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tinyjax").mkdir()
    (tmp_path / "tinyjax" / "module.py").write_text('"""How it works."""\n', "utf-8")
    assert words.main({"first word": 1}, tmp_path) == 0
    assert words.main({"first word": 0, "name": 0}, tmp_path) == 1
    assert "module.py:1: How it works." in capsys.readouterr().out
