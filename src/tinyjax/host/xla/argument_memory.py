"""Memory that NumPy arguments of compiled programs are copied into.

Memory that the device sees already, made for an earlier call, takes a copy of 4 MB in 0.1 ms; fresh
memory, whose pages the system has yet to provide, takes it in 0.7 ms, and a transfer makes another
copy of what is not aligned. The memory of a call is used again when its program has ended, which
its token tells.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from threading import Lock
from typing import Any, Final
from weakref import WeakSet

from jaxlib._jax import ShardedToken

from tinyjax.core.values import operands as opd
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.xla import backend, threads
from tinyjax.dtypes import PHYSICAL

_MIB: Final = 1024 * 1024
#: So many bytes the arguments of one call may have that are copied into such memory.
_LARGEST: Final = 8 * _MIB
#: So many bytes the calls of one program may have that are under way, or two calls: what stays in
#: the processor's cache is copied, and read, in half the time.
_IN_CACHE: Final = 2 * _MIB
#: So many calls XLA has under way before it makes the next one wait.
_MOST_CALLS: Final = 32
#: So many bytes all programs may have together.
_MOST_OF_ALL: Final = 64 * _MIB


class ArgumentMemory:
    """Memory for the arguments of one program's calls, in sets of a piece for each argument.

    Attributes:
        free: sets that no program reads: of each piece the host's view, then the device's.
        in_use: sets that programs may still read, with what says that these have ended; the
            earliest first.
        notes: whether calls note when their programs end. Those of small programs do not, which
            have ended when the call returns; a token takes 0.5 us.
    """

    __slots__ = ("__weakref__", "_avals", "_nbytes", "_on", "free", "in_use", "notes")

    def __init__(self, on: backend.Backend) -> None:
        self._on = on
        self._avals: list[ShapedArray] = []
        self._nbytes: int = 0
        self.free: list[list[Any]] = []
        self.in_use: deque[tuple[ShardedToken, list[Any]]] = deque()
        self.notes: bool = False

    def add(self, aval: ShapedArray) -> bool:
        """Have a piece for an argument, too; say whether it may have one."""
        nbytes = self._nbytes + aval.nbytes
        if nbytes > _LARGEST or aval.dtype in PHYSICAL:
            return False
        self._avals.append(aval)
        self._nbytes = nbytes
        return True

    def take(self) -> list[Any]:
        """Return a set where none is free: that of a call that has ended, or a new one.

        With as many calls under way as may be, this waits for half of them: to wait for each alone
        takes the system 20 us.
        """
        most = max(2, min(_MOST_CALLS, _IN_CACHE // max(self._nbytes, 1)))
        if len(self.in_use) >= most:
            # another thread took them; a program failed
            with suppress(IndexError, RuntimeError):
                earliest = [self.in_use.popleft() for _ in range(most // 2)]
                for token, _ in reversed(earliest):
                    token.block_until_ready()
                self.free += [pieces for _, pieces in earliest]
                return self.free.pop()
        _budget.spend(self._nbytes, self)
        hosts = [opd.aligned(aval.shape, aval.dtype) for aval in self._avals]
        pairs = zip(hosts, self._avals, strict=True)
        return [x for host, aval in pairs for x in (host, self._on.put(host, aval))]

    def clear(self) -> None:
        """Leave the memory to the programs that still read it."""
        self.free.clear()
        self.in_use.clear()


class _Budget:
    """What all memory for arguments may take together."""

    def __init__(self) -> None:
        self._memories: WeakSet[ArgumentMemory] = WeakSet()
        self._made: int = 0
        self._lock: Lock = Lock()
        threads.hold_at_forks(self._lock)

    def spend(self, nbytes: int, by: ArgumentMemory) -> None:
        """Note that a set is made; where too many were, give up all that were made before."""
        with self._lock:
            self._memories.add(by)
            self._made += nbytes
            if self._made > _MOST_OF_ALL:
                self._made = nbytes
                for memory in self._memories:
                    memory.clear()


_budget: Final = _Budget()
