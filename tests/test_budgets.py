"""The package keeps to its budgets, and programs are what they were: ``budgets``, ``replay``."""

import json

import pytest
from budgets import DOCUMENT, WALKS, imports, kept, rooms, table, walk, words
from replay import NOTES, replayed

BUDGETS = kept()
REMEDY = "say why, and run `python -m budgets` in tests/"


def test_no_room_grows() -> None:
    assert rooms() == BUDGETS["rooms"], REMEDY


def test_imports_do_not_grow() -> None:
    assert imports() == BUDGETS["imports"], REMEDY


def test_the_core_speaks_of_nothing_that_planes_have() -> None:
    assert words() == BUDGETS["words"], REMEDY


@pytest.mark.counts
@pytest.mark.parametrize("name", WALKS)
def test_no_walk_becomes_longer(name: str) -> None:
    calls, files = walk(name)
    most_calls, most_files = BUDGETS["walks"][name]
    assert calls <= most_calls, REMEDY
    assert files <= most_files, REMEDY


def test_the_table_is_up_to_date() -> None:
    assert table(BUDGETS) in DOCUMENT.read_text(encoding="utf-8"), REMEDY


def test_programs_are_what_they_were() -> None:
    before, after = json.loads(NOTES.read_text(encoding="utf-8")), json.loads(replayed())
    assert sorted(after) == sorted(before), REMEDY
    assert [name for name in after if after[name] != before[name]] == [], REMEDY
