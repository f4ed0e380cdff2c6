"""The budgets of the package: lines, calls and files of five walks, words of extensions.

``python -m tools.budgets`` in ``tests/`` writes what is measured to budgets.json and to the table
in docs/contributing.md. The numbers are ceilings: what falls below them needs no change here. A
commit that raises one says in its message what the reader gets for it.
"""

import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypedDict

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "src" / "tinyjax"
NOTES: Final = Path(__file__).with_name("budgets.json")
DOCUMENT: Final = ROOT / "docs" / "contributing.md"
HEADING: Final = "## Budgets\n"
TEXT: Final = f"""{HEADING}
Lines are a cost. `tests/house/test_budgets.py` holds each folder to a number of code lines (no
blanks, comments or docstrings), and five walks through the package to numbers of calls and of
files, all of them at most. It also counts where the core speaks of devices, NaNs and callbacks.

`python -m tools.budgets` in `tests/` measures all of it and writes the file and this section, which
shows the figures of the day it was made. A commit that raises a number says in its message what the
reader gets for it. `nox -s compare -- main . --programs` names the programs of `tests/specs` and
`benchmarks` whose jaxprs or StableHLO a change alters; a commit that alters some says which."""
#: The name of the files that lie in no folder.
TOP: Final = "files at the top"

#: importlib's functions that load a module.
_LOADING: Final = ("_find_and_load", "_handle_fromlist")
_SILENT: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


class Budgets(TypedDict):
    """Code lines by folder, and (calls, files) of each walk.

    And by word, how often each file of the core uses it, though an extension has what it names.
    """

    folders: dict[str, int]
    walks: dict[str, list[int]]
    words: dict[str, dict[str, int]]


# Lines


def code_lines(text: str) -> int:
    """Count the lines that are neither blank nor comment nor docstring."""
    strings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), end_lineno=int(end)):
                strings.update(range(node.lineno, end + 1))
            case _:
                pass
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - strings)


def _sources() -> Iterator[tuple[str, str]]:
    """Yield folder and text of each file: the inner folder below the core and private ones."""
    for path in sorted(PACKAGE.rglob("*.py")):
        *parents, _ = path.relative_to(PACKAGE).parts
        is_nested = parents and (parents[0] == "core" or parents[0].startswith("_"))
        folder = "/".join(parents[: 2 if is_nested else 1])
        yield folder or TOP, path.read_text(encoding="utf-8")


def folders() -> dict[str, int]:
    """Count the code lines of each folder."""
    lines: Counter[str] = Counter()
    for folder, text in _sources():
        lines[folder] += code_lines(text)
    return dict(sorted(lines.items()))


# Words

#: Subjects of extensions that the core should not mention, and a pattern for each.
WORDS: Final[dict[str, str]] = {
    "device set": "(?i)device.?(set|list)",
    "key reuse": "(?i)key.?reuse",
    "mesh": "(?i)mesh",
    "NaN debugging": r"debug_(nans|infs)|NanError|NaNs|[Dd]ebugger",
    "progress": "(?i)progress",
    "Ref": r"\bRefs?\b|RefError",
    "sharding": "(?i)shard",
    "symbolic dimension": "(?i)symbolic.?(size|dim)|InconclusiveDimension",
}


def words() -> dict[str, dict[str, int]]:
    """Count how often each file of the core uses words of the extensions."""
    core = PACKAGE / "core"
    texts = {
        path.relative_to(core).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(core.rglob("*.py"))
    }
    return {
        word: {
            name: count
            for name, text in texts.items()
            if (count := sum(1 for _ in re.finditer(pattern, text)))
        }
        for word, pattern in WORDS.items()
    }


# Walks, each in a process of its own


def _second_gradient() -> Callable[[], object]:
    import tinyjax.numpy as jnp
    from tinyjax import grad

    x = jnp.ones(3)

    def walk() -> object:
        return grad(lambda x: jnp.sum(jnp.sin(x) * x))(x)

    walk()
    return walk


def _first_jit() -> Callable[[], object]:
    import tinyjax.numpy as jnp
    from tinyjax import jit

    x = jnp.ones(3)
    return lambda: jit(lambda x: jnp.sin(x) * x)(x)


def _first_gradient_of_scan() -> Callable[[], object]:
    import tinyjax.numpy as jnp
    from tinyjax import grad, jit, lax

    x = jnp.ones(3)

    def loss(x: Any) -> Any:
        return lax.scan(lambda c, _: (jnp.sin(c) * x, None), x, None, length=5)[0].sum()

    return lambda: jit(grad(loss))(x)


def _row_and_column() -> Callable[[], object]:
    import tinyjax.numpy as jnp

    row, column = jnp.arange(3), jnp.ones((4, 1))

    def walk() -> object:
        return jnp.add(row, column)

    walk()
    return walk


def _source_gradient() -> Callable[[], object]:
    from tinyjax import source

    def power(x: float) -> float:
        y = 1.0
        while y < 10.0:
            y = y * x
        return y

    return lambda: source.grad(power)(2.0)


WALKS: Final[dict[str, Callable[[], Callable[[], object]]]] = {
    "the second `grad(sum(sin(x) * x))`": _second_gradient,
    "the first `jit(f)(x)`": _first_jit,
    "the first `jit(grad(scan))`": _first_gradient_of_scan,
    "`jnp.add` of a row of ints and a column of floats": _row_and_column,
    "the first `source.grad(f)(x)`": _source_gradient,
}


def count(walk: Callable[[], object]) -> tuple[int, int]:
    """Count the calls of the package's functions, and their files, without what loading takes."""
    calls = 0
    files: set[str] = set()
    loading = 0  # how many imports are under way

    def hook(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls, loading
        code = frame.f_code
        if (
            code.co_name in ("_find_and_load", "_handle_fromlist")
            and "importlib" in code.co_filename
        ):
            loading += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not loading and code.co_filename.startswith(str(PACKAGE)):
            calls += 1
            files.add(code.co_filename)

    sys.setprofile(hook)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return calls, len(files)


def walk(name: str) -> list[int]:
    """Count the calls and files of a walk, in a new process."""
    program = [sys.executable, "-m", "tools.budgets", name]
    compiled = os.environ | {"TINYJAX_TIER": "compiled"}
    output = subprocess.check_output(program, cwd=ROOT / "tests", text=True, env=compiled)
    return [int(number) for number in output.split()]


# The table


def measure() -> Budgets:
    """Measure everything that has a budget."""
    walks = {name: walk(name) for name in WALKS}
    return {"folders": folders(), "walks": walks, "words": words()}


def stored_budgets() -> Budgets:
    """Read the budgets."""
    budgets: Budgets = json.loads(NOTES.read_text(encoding="utf-8"))
    return budgets


def table(budgets: Budgets) -> str:
    """Write the section of docs/contributing.md."""
    total = sum(budgets["folders"].values())
    core = sum(n for folder, n in budgets["folders"].items() if folder.partition("/")[0] == "core")
    lines = [
        TEXT,
        "",
        f"{total:,} lines, {core:,} of them the core's:",
        "",
        "| folder | lines | folder | lines | folder | lines |",
        "|---|---|---|---|---|---|",
    ]
    cells = [f"{folder} | {number:,}" for folder, number in budgets["folders"].items()]
    cells += [" | "] * (-len(cells) % 3)
    lines += [f"| {' | '.join(cells[i : i + 3])} |" for i in range(0, len(cells), 3)]
    lines += ["", "| walk | calls | files |", "|---|---|---|"]
    lines += [
        f"| {name} | {calls:,} | {files} |" for name, (calls, files) in budgets["walks"].items()
    ]
    return "\n".join(lines) + "\n"


def with_table(page: str, budgets: Budgets) -> str:
    """Put the section into the page, in place of the one that is there."""
    before, _, rest = page.partition(HEADING)
    return f"{before}{table(budgets)}\n## {rest.partition(chr(10) + '## ')[2]}"


def main(arguments: list[str]) -> None:
    if arguments:
        print(*count(WALKS[arguments[0]]()))
        return
    budgets = measure()
    text = re.sub(r"\[\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2]", json.dumps(budgets, indent=1))
    NOTES.write_text(text + "\n", encoding="utf-8")
    DOCUMENT.write_text(with_table(DOCUMENT.read_text(encoding="utf-8"), budgets), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
