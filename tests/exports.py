"""Tables of exports: ``python -m exports`` in ``tests/`` writes their stubs for type checkers.

A public name stands where it is defined and in the table of a namespace
(``tinyjax.lazy.namespace``). What type checkers read of it, a stub beside the namespace, is written
from the table.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import tinyjax
from tinyjax.lazy import HOMES, UNLISTED

PACKAGE: Final = Path(tinyjax.__file__).parent
#: How a table begins.
_TABLE: Final = "namespace(\n    __name__,\n"
_HEAD: Final = (
    "# Written by `python -m exports` in tests/, from the table of the module beside it.\n"
)


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES: Final = {_module(path): path for path in PACKAGE.rglob("*.py")}


def namespaces() -> list[str]:
    """Load every module that has a table, and name them."""
    tables = [name for name, path in SOURCES.items() if _TABLE in path.read_text("utf-8")]
    for name in tables:
        import_module(name)
    return tables


def stub(name: str) -> str:
    """Write the stub of a namespace."""
    lines = [
        f"from {home} import {there} as {public}"
        for public, (home, there) in sorted(
            HOMES[name].items(), key=lambda row: (row[1][0], row[0])
        )
    ]
    if name in UNLISTED:
        lines.append(f"from {UNLISTED[name]} import *")
    names = [f"    {public!r}," for public in sorted(HOMES[name])]
    return "\n".join([_HEAD, *lines, "", "__all__ = [", *names, "]", ""])


# What is defined and never exported


def _definitions(tree: ast.Module) -> set[str]:
    """Name the public functions and classes that a module defines."""
    defined = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    return {node.name for node in defined if not node.name.startswith("_")}


def _uses(tree: ast.Module) -> Iterator[str]:
    """Name what a file uses, of its own or of others."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id


def forgotten() -> list[str]:
    """List the lines to write: of what homes define, no table has, and no file uses."""
    tables = namespaces()
    exported: dict[str, set[str]] = defaultdict(set)
    rooms: dict[str, str] = {}
    for table in tables:
        for home, there in HOMES[table].values():
            exported[home].add(there)
            if home.startswith(f"{table}.") and home.rpartition(".")[2] not in HOMES[table]:
                rooms[home] = table
    trees = {name: ast.parse(path.read_text("utf-8")) for name, path in SOURCES.items()}
    used = {name for tree in trees.values() for name in _uses(tree)}
    return [
        f'add "{defined}" to "{home.removeprefix(f"{table}.")}" in the table of {table}'
        for home, table in sorted(rooms.items())
        for defined in sorted(_definitions(trees[home]) - exported[home] - used)
    ]


def path_of(name: str) -> Path:
    """Say where the stub of a namespace lies."""
    return SOURCES[name].with_suffix(".pyi")


if __name__ == "__main__":
    for module in namespaces():
        path_of(module).write_text(stub(module), encoding="utf-8")
