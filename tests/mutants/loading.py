"""Imports of modules with another syntax tree, in a process that has not imported ``tinyjax``."""

import ast
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from mutants.population import PACKAGE

#: Makes the tree of a module, given its path in the package; ``None`` leaves the module as it is.
Change = Callable[[str], ast.Module | None]


class _Loader(SourceFileLoader):
    def __init__(self, spec: ModuleSpec, tree: ast.Module, names: dict[str, object]) -> None:
        assert spec.origin is not None, "a module of the package is a file"
        super().__init__(spec.name, spec.origin)
        self.tree = tree
        self.names = names

    def get_code(self, fullname: str) -> CodeType:
        with warnings.catch_warnings(action="ignore"):  # such as of a number that is compared by is
            return compile(self.tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self.names)
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def __init__(self, change: Change, names: dict[str, object]) -> None:
        self.change = change
        self.names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("tinyjax."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or PACKAGE not in Path(spec.origin).parents:
            return spec
        tree = self.change(str(Path(spec.origin).relative_to(PACKAGE)))
        if tree is not None:
            spec.loader = _Loader(spec, tree, self.names)
        return spec


def change_imports(change: Change, names: dict[str, object] | None = None) -> None:
    """Change modules that are imported from now on.

    Args:
        change: gives the tree of a changed module.
        names: what changed modules find among their names.
    """
    assert "tinyjax" not in sys.modules, "its modules are imported already"
    sys.meta_path.insert(0, _Finder(change, names or {}))
