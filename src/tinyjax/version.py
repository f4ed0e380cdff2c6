"""The version, by the names of ``jax.version``."""

#: Read by the build, which takes this line without an annotation.
__version__ = "0.1.0"
#: Its numbers.
__version_info__: tuple[int, ...] = tuple(int(part) for part in __version__.split("."))

__all__ = ["__version__", "__version_info__"]
