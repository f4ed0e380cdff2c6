"""Set the folder of the cache of compiled programs, by JAX's names."""

from __future__ import annotations

import os

from tinyjax import config
from tinyjax._base import lazy

lazy.answer_for(__name__, "reset_cache set_cache_dir")


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Keep compiled programs in a folder, for later processes: the setting ``cache_dir``.

    Raises:
        ArgumentError: this is no path.

    Example:
        >>> import tempfile, tinyjax
        >>> from tinyjax.experimental.compilation_cache import compilation_cache
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     compilation_cache.set_cache_dir(folder)
        ...     compilation_cache.reset_cache()
        >>> tinyjax.config.read("cache_dir")
        ''
    """
    config.update("cache_dir", path)


def reset_cache() -> None:
    """Stop keeping programs on disk; the contents of the folder stay."""
    config.update("cache_dir", "")
