"""Modules of programs that tests write: their functions have a source that can be read."""

import importlib.util
from pathlib import Path
from types import ModuleType


def module_of(text: str, path: Path) -> ModuleType:
    """Write a module to a file, and import it from there."""
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
