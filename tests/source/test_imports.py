"""No two files of ``tinyjax.source`` import each other, inside of functions neither."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

from tinyjax import source

HOME = Path(source.__file__).parent


def test_imports_have_no_circles() -> None:
    names = {}
    for path in HOME.rglob("*.py"):
        parts = ("tinyjax", "source", *path.relative_to(HOME).with_suffix("").parts)
        names[".".join(parts).removesuffix(".__init__")] = path
    imported: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported[name] |= {alias.name for alias in node.names} & {*names}
            elif isinstance(node, ast.ImportFrom):
                whole = {f"{node.module}.{alias.name}" for alias in node.names} & {*names}
                imported[name] |= whole or {str(node.module)} & {*names}
    order = [*TopologicalSorter(imported).static_order()]
    assert len(order) == len(names) > 40
