"""docs/jax_api.md tells what of JAX's public names there is."""

from typing import Final

from jax_api import DIFFERS, DOCUMENT, MISSING, entries, missing_share, text

#: What the share of missing names is taken of: all but array functions, primitives and devices.
ARRAYS: Final = ("lax", "nn", "numpy", "random", "scipy", "sharding", "extend", "core")


def test_the_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == text(), "run `python -m jax_api` in tests/"


def test_every_missing_name_has_a_reason() -> None:
    assert [entry.path for entry in entries() if not entry.is_there and not entry.note] == []


def test_nothing_is_said_of_what_is_not_there() -> None:
    rows = entries()
    assert {*DIFFERS} == {entry.path for entry in rows if entry.is_there and entry.note}
    notes = {entry.note for entry in rows if not entry.is_there}
    assert [why for _, why in MISSING if why not in notes] == []


def test_most_names_are_there() -> None:
    rows = entries()
    assert missing_share(rows) <= 0.05
    counted = [e for e in rows if e.module and e.module.partition(".")[0] not in ARRAYS]
    missing = [e.path for e in counted if not e.is_there]
    assert len(missing) <= len(counted) * 0.2, missing
