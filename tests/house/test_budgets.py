"""The package keeps to its budgets."""

import pytest

from tools.budgets import WALKS, folders, stored_budgets, walk, words

BUDGETS = stored_budgets()
REMEDY = "say why, and run `python -m tools.budgets` in tests/"


def test_no_folder_grows() -> None:
    most = BUDGETS["folders"]
    assert {folder: n for folder, n in folders().items() if n > most.get(folder, 0)} == {}, REMEDY


def test_the_core_speaks_of_nothing_that_extensions_have() -> None:
    most = BUDGETS["words"]
    for word, files in words().items():
        assert {name: n for name, n in files.items() if n > most[word].get(name, 0)} == {}, REMEDY


@pytest.mark.counts
@pytest.mark.parametrize("name", WALKS)
def test_no_walk_becomes_longer(name: str) -> None:
    calls, files = walk(name)
    most_calls, most_files = BUDGETS["walks"][name]
    assert calls <= most_calls, REMEDY
    assert files <= most_files, REMEDY
