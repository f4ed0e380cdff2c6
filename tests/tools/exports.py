"""Tables of exports: ``python -m tools.exports`` in ``tests/`` writes stubs for type checkers.

A public name stands where it is defined and in the table of a namespace
(``tinyjax._base.lazy.namespace``). What type checkers read of it, a stub beside the namespace, is
written from the table; so is, from the functions, what they read of those that arrays call.
"""

import ast
import builtins
import inspect
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import tinyjax
import tinyjax.numpy as jnp
from tinyjax._base.lazy import HOMES, UNLISTED
from tinyjax.core.values.array import METHODS, OPERATORS

PACKAGE: Final = Path(tinyjax.__file__).parent
#: How a table begins.
_TABLE: Final = "namespace(\n    __name__,\n"
_HEAD: Final = (
    "# Written by `python -m tools.exports` in tests/, from the table of the module beside it.\n"
)
#: The stub of what ``core.values.array`` is handed: there is no module beside it.
FUNCTIONS: Final = PACKAGE / "core" / "values" / "functions.pyi"
_HEAD_OF_FUNCTIONS: Final = (
    "# Written by `python -m tools.exports` in tests/, from the functions of tinyjax.numpy that "
    "arrays call.\n"
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


# What arrays call


class _Bare(str):
    """An annotation that is written without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def _bare(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(annotation=_Bare(parameter.annotation))


def _homes_of_names(home: str) -> dict[str, tuple[str, str]]:
    """Say where what a module names is defined: in a module that it imports, or in itself."""
    tree = ast.parse(SOURCES[home].read_text("utf-8"))
    homes = {node.id: (home, node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            homes |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    return homes


def stub_of_functions() -> str:
    """Write the stub of the functions that arrays are handed, and of their methods that are these.

    The annotations are those of the functions; the names in them are imported as where they are
    defined.
    """
    tree = ast.parse(SOURCES["tinyjax.core.values.array"].read_text("utf-8"))
    called = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        if isinstance(node.value, ast.Name)
        if node.value.id == "_numpy" and node.attr != "Methods"  # which is the stub's
    }
    imports: set[tuple[str, str, str]] = set()
    functions, methods = [], []
    for name in sorted(called | {*METHODS}):
        function = getattr(jnp, name)
        homes = _homes_of_names(function.__module__)
        signature = inspect.signature(function)
        for annotation in function.__annotations__.values():
            names = {x.id for x in ast.walk(ast.parse(annotation)) if isinstance(x, ast.Name)}
            imports |= {(*homes[x], x) for x in names & homes.keys() if not hasattr(builtins, x)}
        first, *others = map(_bare, signature.parameters.values())
        written = signature.replace(
            parameters=[first, *others], return_annotation=_Bare(signature.return_annotation)
        )
        if name in called:
            functions.append(f"def {name}{written}: ...")
        if name in METHODS:
            itself = inspect.Parameter("self", first.kind)
            methods.append(f"    def {name}{written.replace(parameters=[itself, *others])}: ...")
    reflected = {other for _, other in OPERATORS.values()} - OPERATORS.keys() - {"__rmul__"}
    methods += [
        f"    def {name}(self, other: ArrayLike) -> Array: ..."
        for name in (*OPERATORS, *sorted(reflected))
    ]
    lines = [f"from {home} import {there} as {name}" for home, there, name in sorted(imports)]
    return "\n".join(
        [_HEAD_OF_FUNCTIONS, *lines, "", *functions, "", "class Methods:", *methods, ""]
    )


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
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # as a lazy loader takes it


def forgotten() -> list[str]:
    """List the lines to write: of what homes define, no table has, and no file uses."""
    tables = namespaces()
    exported: dict[str, set[str]] = defaultdict(set)
    owners: dict[str, str] = {}
    for table in tables:
        for home, there in HOMES[table].values():
            exported[home].add(there)
            if home.startswith(f"{table}.") and home.rpartition(".")[2] not in HOMES[table]:
                owners[home] = table
    trees = {name: ast.parse(path.read_text("utf-8")) for name, path in SOURCES.items()}
    used = {name for tree in trees.values() for name in _uses(tree)}
    return [
        f'add "{defined}" to "{home.removeprefix(f"{table}.")}" in the table of {table}'
        for home, table in sorted(owners.items())
        for defined in sorted(_definitions(trees[home]) - exported[home] - used)
    ]


def path_of(name: str) -> Path:
    """Say where the stub of a namespace lies."""
    return SOURCES[name].with_suffix(".pyi")


if __name__ == "__main__":
    for module in namespaces():
        path_of(module).write_text(stub(module), encoding="utf-8")
    FUNCTIONS.write_text(stub_of_functions(), encoding="utf-8")
