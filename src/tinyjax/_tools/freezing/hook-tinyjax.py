"""The files that PyInstaller adds to a frozen program that imports tinyjax.

These are all modules, since they are loaded by name when they are needed, and data. The libraries
that only some tools import are left out, unless the program imports them itself.
"""

from __future__ import annotations

from pathlib import Path

_package = Path(__file__).parents[2]
_root = _package.parent

hiddenimports = [
    ".".join(path.relative_to(_root).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(_package.rglob("*.py"))
    if "-" not in path.name
]
excludedimports = ["IPython", "hypothesis", "jax", "optax"]
datas = [
    (str(path), str(path.parent.relative_to(_root))) for path in sorted(_package.rglob("*.html"))
]
#: As files: errors name lines of the user's, which are those outside of the package's folder.
module_collection_mode = {"tinyjax": "py"}
