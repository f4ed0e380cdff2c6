"""docs/jax_api.md tells what of JAX's public names there is."""

from typing import Final

import jax

from tools.jax_api import DIFFERS, DOCUMENT, MISSING, entries, missing_share, text

#: What the share of missing names is taken of: all but array functions, primitives and devices.
ARRAYS: Final = ("lax", "nn", "numpy", "random", "scipy", "sharding", "extend", "core")


#: Of the names in the document.
RELEASE: Final = "0.10.2"


def test_the_document_is_up_to_date() -> None:
    is_its_release = jax.__version__ == RELEASE
    written = DOCUMENT.read_text(encoding="utf-8")
    assert not is_its_release or written == text(), "run `python -m tools.jax_api` in tests/"


def test_every_missing_name_has_a_reason() -> None:
    unexplained = [entry.path for entry in entries() if not entry.is_there and not entry.note]
    # later releases of jax have more names, and the document is of one
    assert jax.__version__ > RELEASE or unexplained == []


def test_nothing_is_said_of_what_is_not_there() -> None:
    rows = entries()
    if jax.__version__ > RELEASE:  # which has lost names, too
        assert {*DIFFERS} >= {entry.path for entry in rows if entry.is_there and entry.note}
        return
    assert {*DIFFERS} == {entry.path for entry in rows if entry.is_there and entry.note}
    notes = {entry.note for entry in rows if not entry.is_there}
    assert [why for _, why in MISSING if why not in notes] == []


def test_most_names_are_there() -> None:
    rows = entries()
    assert jax.__version__ > RELEASE or missing_share(rows) <= 0.05
    counted = [e for e in rows if e.module and e.module.partition(".")[0] not in ARRAYS]
    missing = [e.path for e in counted if not e.is_there]
    assert len(missing) <= len(counted) * 0.2, missing
