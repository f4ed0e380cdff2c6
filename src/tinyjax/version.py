"""The version, by the names of ``jax.version``."""

from typing import Final

__version__: Final = "0.1.0"
#: Its numbers.
__version_info__: Final = tuple(int(part) for part in __version__.split("."))

__all__ = ["__version__", "__version_info__"]
