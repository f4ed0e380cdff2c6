"""Kernels of calls that are made again, by what decides their work.

The types of operands, static arguments and settings decide most of what an eager call does. A
``KernelCache`` keeps what was made for such a key. Evaluation has one for each primitive, operators
and functions of the library have one each, and so have linearization and transposition.

All users do the same: look a kernel up by the key, run it, and do without it where there is none or
where it refuses the data (``KernelError``). What is worth a kernel is decided by counting calls.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import count
from typing import Any, Final, Generic, ParamSpec, TypeAlias, TypeVar
from weakref import WeakSet

from tinyjax.errors import TinyjaxError

#: Settings, static arguments and types.
Key: TypeAlias = tuple[object, ...]
P = ParamSpec("P")
K = TypeVar("K")

#: A kernel is made at one of these calls with the same key: that takes as long as some twenty
#: calls. Of two products of matrices that lie elsewhere BLAS may round one otherwise.
CALLS: Final = (16, 64, 256)


class KernelError(Exception):
    """A kernel does not support the data of its operands, or cannot be made of a call."""


class _Counters(dict[Hashable, Iterator[int]]):
    """The counters of calls, by key. They are C's, which threads share."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __missing__(self, key: Hashable) -> Iterator[int]:
        if len(self) >= self._most:
            self.clear()
        return self.setdefault(key, count(1))


class KernelCache(Generic[K]):
    """Kernels by the keys of calls. All caches are emptied when a rule is replaced.

    Args:
        most: the number of keys that are remembered.

    Attributes:
        kernels: the kernels, by key.
        calls: counters of the calls that had no kernel, by key.

    Example:
        >>> from tinyjax.core.tracing import kernels
        >>> cache, key = kernels.KernelCache(), ("sum", "float32[3]")
        >>> for _ in range(16):
        ...     if next(cache.calls[key]) in kernels.CALLS:
        ...         cache.make(key, lambda: sum)
        >>> cache.kernels[key]((1, 2, 3))
        6
    """

    def __init__(self, most: int = 256) -> None:
        self.kernels: dict[Hashable, K] = {}
        self.calls = _Counters(most)
        self._most = most
        _caches.add(self)

    def clear(self) -> None:
        """Forget all kernels, and the calls that were counted."""
        self.kernels.clear()
        self.calls.clear()

    def keep(self, key: Hashable, kernel: K) -> None:
        """Keep the kernel of calls with a key."""
        if len(self.kernels) >= self._most:
            self.clear()
        self.kernels[key] = kernel

    def make(
        self, key: Hashable, make: Callable[P, K | None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Make the kernel of calls with a key, if that is possible."""
        try:
            kernel = make(*args, **kwargs)
        except (KernelError, TinyjaxError):  # what needs data cannot be staged
            return
        if kernel is not None:
            self.keep(key, kernel)


#: Stands for the rules in force: what was derived from a program by them has it as its key.
current_rules: Final = [object()]
_caches: Final[WeakSet[KernelCache[Any]]] = WeakSet()


def forget_kernels() -> None:
    """Empty all caches, since a rule was replaced."""
    current_rules[0] = object()
    for cache in [*_caches]:
        cache.clear()
