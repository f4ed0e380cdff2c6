"""The caches of compiled programs: ``tinyjax.cache``.

A process keeps the programs that it has compiled. With the setting ``cache_dir`` (or the
environment variable ``TINYJAX_CACHE_DIR``), it also keeps them in that folder, for later processes.
"""

from __future__ import annotations

import attrs

from tinyjax._base.lazy import answer_for
from tinyjax.core import xla

answer_for(__name__, "CacheInfo clear info")


@attrs.frozen
class CacheInfo:
    """The contents of the caches, and their hits.

    Attributes:
        memory: the programs in this process.
        disk: those in the folder of the setting ``cache_dir``, which is searched for a program that
            is not in memory.

    Example:
        >>> import tinyjax
        >>> info = tinyjax.cache.info()
        >>> info.memory.size <= info.memory.capacity
        True
    """

    memory: xla.CacheInfo
    disk: xla.DiskCacheInfo


def info() -> CacheInfo:
    """Return the contents of the caches of compiled programs, and their hits.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.cache.clear()
        >>> for _ in range(3):
        ...     _ = tinyjax.jit(lambda x: jnp.sin(x) * 2, tier="compiled")(1.0)
        >>> memory = tinyjax.cache.info().memory
        >>> memory.misses, memory.hits
        (1, 2)
    """
    return CacheInfo(xla.cache_info(), xla.disk_cache_info())


def clear() -> None:
    """Forget every compiled program: those in memory, and those in the folder of ``cache_dir``.

    NumPy evaluates first calls again (see the setting ``tier``). Other files in the folder stay.
    Jitted functions keep the programs that they have called.

    Example:
        >>> import tinyjax
        >>> tinyjax.cache.clear()
        >>> tinyjax.cache.info().memory.size
        0
    """
    xla.forget_programs()
    xla.disk_cache_clear()
