"""Discovery of XLA's plugins for other platforms, without loading any of them, nor jaxlib.

A plugin is a package with a shared library, which jax would import to get the library's path. The
package imports jax, so its folder is found here by name.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

import attrs

from tinyjax._base.records import Record


@attrs.frozen(eq=False, repr=False)
class Plugin(Record):
    """An installed plugin for GPUs by Nvidia.

    Attributes:
        library: XLA's compiler and runtime.
        extensions: the package of functions for its programs: of linear algebra, callbacks.
        cuda: the major version of CUDA that it was built for.
    """

    library: Path
    extensions: str
    cuda: int


#: The plugins of which one is loaded, the first that is there.
_VERSIONS: Final = (13, 12)


def installed() -> Plugin | None:
    """Return the plugin for GPUs that is installed, if one is."""
    for cuda in _VERSIONS:
        folder = folder_of(f"jax_plugins.xla_cuda{cuda}")
        library = None if folder is None else folder / "xla_cuda_plugin.so"
        if library is not None and library.exists():
            return Plugin(library, f"jax_cuda{cuda}_plugin", cuda)
    return None


def folder_of(package: str) -> Path | None:
    """Return the folder of a package in a namespace, if it is installed; nothing of it is run.

    Args:
        package: its name, such as "nvidia.cublas"; each distribution has a part of the namespace.
    """
    namespace, _, name = package.partition(".")
    spec = find_spec(namespace)
    parts = None if spec is None else spec.submodule_search_locations
    folders = [Path(part, name) for part in parts or ()]
    return next((folder for folder in folders if folder.is_dir()), None)
