"""Python where jaxlib cannot be loaded: a plugin of pytest, and a program that runs another.

``pytest -p tools.without_jaxlib`` runs tests so, and ``python tools/without_jaxlib.py PROGRAM`` a
program. jax, which tests compare with, still finds jaxlib.
"""

import builtins
import runpy
import sys
from importlib import import_module
from types import ModuleType
from typing import Any, Final

_import: Final = builtins.__import__


def _import_other(name: str, *args: Any, **kwargs: Any) -> ModuleType:
    """Import a module as Python does, but not jaxlib for tinyjax."""
    importer = str(sys._getframe(1).f_globals.get("__name__"))
    if name.partition(".")[0] == "jaxlib" and importer.startswith("tinyjax"):
        raise ModuleNotFoundError("No module named 'jaxlib'", name=name)
    return _import(name, *args, **kwargs)


if __name__ != "__main__":
    import_module("tools.quick")  # as tests/conftest.py does
    del sys.modules["tinyjax.core.xla.versions"]

builtins.__import__ = _import_other

if __name__ == "__main__":
    del sys.argv[0]
    sys.path[0] = sys.argv[0].rpartition("/")[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
