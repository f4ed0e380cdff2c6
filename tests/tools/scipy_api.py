"""The table of SciPy's arguments, in docs/scipy_api.md.

``python -m tools.scipy_api`` in ``tests/`` writes it.

Signatures are compared with those of the installed SciPy. Its universal functions, which take
arguments by position, and its distributions, which name none, have no rows.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from website import reference

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "scipy_api.md"
HEAD: Final = """# SciPy's arguments

The functions of `tinyjax.scipy` take what SciPy's take, by SciPy's names and in SciPy's order:
arrays, numbers, and lists in place of arrays. (To type checkers a list is no array: they want
`np.asarray(...)`.) This table has the arguments that differ. One that is not there is refused by a
`TypeError` that names it, and none is ignored. Derivatives are computed, so that `jac`, `fprime`
and the like have to be left out. `overwrite_a`, `check_finite`, `workers` and other hints of speed
have no effect. Made by `tests/tools/scipy_api.py`, and held by a test against SciPy {version}.

| function | not taken | by keyword only | besides | other defaults |
|---|---|---|---|---|
"""
#: SciPy's, of which no array of tinyjax's can make use, or which it does not need.
NEVER: Final = {"xp", "device", "out"}


def parameters(function: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


def find(path: str) -> Any:
    """Look up SciPy's object of the same path; None where there is none."""
    home, _, name = path.removeprefix("tinyjax.").rpartition(".")
    try:
        return getattr(import_module(home), name, None)
    except ImportError:
        return None


def pairs() -> Iterator[tuple[str, Any, Any]]:
    """Return the functions that both libraries have, with their paths."""
    for module, rows in reference.entries().items():
        for entry in rows if module.startswith("tinyjax.scipy") else []:
            theirs = find(entry.path)
            if callable(entry.value) and callable(theirs) and not isinstance(theirs, np.ufunc):
                yield entry.path.removeprefix("tinyjax.scipy."), entry.value, theirs


def row(path: str, function: Any, other: Any) -> str:
    """Return a row of the table; nothing where all arguments are the same."""
    try:
        ours, theirs = parameters(function), parameters(other)
    except ValueError:  # a function in C says nothing of its arguments
        return ""
    by_name = inspect.Parameter.KEYWORD_ONLY
    absent = [name for name in theirs if name not in ours and name not in NEVER]
    more = [name for name in ours if name not in theirs]
    shared = [(name, ours[name], p) for name, p in theirs.items() if name in ours]
    named = [name for name, own, p in shared if own.kind == by_name != p.kind]
    defaults = [
        f"`{name}={own.default!r}`" if own.default is not own.empty else f"`{name}` has none"
        for name, own, p in shared
        if repr(own.default) != repr(p.default)
    ]
    if not (absent or more or named or defaults):
        return ""
    cells = [*(", ".join(f"`{name}`" for name in names) for names in (absent, named, more))]
    return f"| `{path}` | {' | '.join(cells)} | {', '.join(defaults)} |"


def misplaced() -> list[str]:
    """List the functions where a position means another argument than in SciPy."""
    wrong = []
    for path, function, other in pairs():
        try:
            ours, theirs = ([*parameters(f).values()] for f in (function, other))
        except ValueError:
            continue
        for own, p in zip(ours, theirs, strict=False):
            if own.kind > own.POSITIONAL_OR_KEYWORD or p.kind > p.POSITIONAL_OR_KEYWORD:
                break
            if own.name != p.name:
                wrong.append(path)
                break
    return wrong


def text() -> str:
    """Return the document."""
    rows = sorted(filter(None, (row(*pair) for pair in pairs())))
    version = import_module("scipy").__version__
    return HEAD.format(version=version) + "\n".join(rows) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(text(), encoding="utf-8")
