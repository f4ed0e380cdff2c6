"""The package's hook for PyInstaller, by the entry point ``pyinstaller40``.

The package loads its modules by name when they are needed, which PyInstaller does not see.
"""

from __future__ import annotations

from pathlib import Path


def hook_directories() -> list[str]:
    """Return the directory of ``hook-tinyjax.py``.

    Example:
        >>> from pathlib import Path
        >>> from tinyjax._tools.freezing import hook_directories
        >>> [path.name for path in Path(*hook_directories()).glob("hook-*")]
        ['hook-tinyjax.py']
    """
    return [str(Path(__file__).parent)]
