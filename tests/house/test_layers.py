"""No file imports, by whatever way, a file that imports it; functions are short."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import tinyjax

ROOT = Path(tinyjax.__file__).parent
#: The most lines of a function, without signature and docstring, and the most places where it
#: branches. A docstring that says "It is one function, since ..." gives a reason for more.
MOST_LINES, MOST_BRANCHES = 60, 25
BRANCHES = (
    *(ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.BoolOp, ast.comprehension),
    ast.match_case,
)


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(text: str, files: Collection[str]) -> Iterator[str]:
    """The modules that a file imports: within functions, for type checkers only, by name, too."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(ast.Name("import_module"), [ast.Constant(str(name))]):
                yield name
            case _:
                pass
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            # a module of a package is not the package, which gathers what its modules define
            for alias in node.names:
                yield name if (name := f"{node.module}.{alias.name}") in files else node.module


def graph() -> dict[str, set[str]]:
    """The modules that each module imports."""
    files = {_module(path): path for path in ROOT.rglob("*.py")}
    return {
        name: {
            found
            for found in imports(path.read_text(encoding="utf-8"), files.keys())
            if found in files
        }
        for name, path in files.items()
    }


def strong_components(edges: Mapping[str, set[str]]) -> list[set[str]]:
    """The sets of nodes that reach each other (R. Tarjan, SIAM J. Computing 1(2), 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components: list[set[str]] = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(edges[node]):
            if other not in number:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            place = stack.index(node)
            components.append(set(stack[place:]))
            del stack[place:]

    for node in sorted(edges):
        if node not in number:
            visit(node)
    return components


def test_functions_are_short() -> None:
    long = []
    for path in sorted(ROOT.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            text = ast.get_docstring(node) or ""
            body = node.body[1:] if text else node.body
            lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
            branches = sum(isinstance(part, BRANCHES) for part in ast.walk(node))
            is_long = lines > MOST_LINES or branches > MOST_BRANCHES
            if is_long and "It is one function, since" not in text:
                long.append(f"{node.name} of {file}: {lines} lines, {branches} branches")
    assert not long, "take these apart"


def test_no_file_imports_itself_by_way_of_others() -> None:
    circles = [sorted(nodes) for nodes in strong_components(graph()) if len(nodes) > 1]
    assert not circles, "files that import each other: see docs/design.md for the order"
