"""The caches of compiled programs: ``tinyjax.cache``.

A process keeps the programs that it has compiled. With the setting ``cache_dir`` (or the variable
``TINYJAX_CACHE_DIR`` in the environment), it keeps them in that folder as well, for the processes
that come after it.
"""

from __future__ import annotations

import attrs

from tinyjax import xla

__all__ = ["CacheInfo", "clear", "info"]


@attrs.frozen
class CacheInfo:
    """What the caches hold, and how they have served this process.

    Attributes:
        memory: the programs in this process.
        disk: those in the folder of the setting ``cache_dir``. A program that is not found in
            memory is looked for there.
    """

    memory: xla.CacheInfo
    disk: xla.DiskCacheInfo


def info() -> CacheInfo:
    """Return what the caches of compiled programs hold, and how they have served this process.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.cache.clear()
        >>> for _ in range(3):
        ...     _ = tinyjax.jit(lambda x: jnp.sin(x) * 2)(1.0)
        >>> memory = tinyjax.cache.info().memory
        >>> memory.misses, memory.hits
        (1, 2)
    """
    return CacheInfo(xla.cache_info(), xla.disk_cache_info())


def clear() -> None:
    """Forget every compiled program: those in memory, and those in the folder of ``cache_dir``.

    What the setting ``tier`` evaluates at first is evaluated anew. In the folder, nothing but
    programs is removed. Functions that were jitted keep the programs
    that they have called.
    """
    xla.cache_clear()
    xla.forget()
    xla.disk_cache_clear()
